package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill gives a message's fields random values; arrays get up to two elements.
func fill(v reflect.Value, dice *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if name != "Version" && name != "UnknownTags" {
				fill(v.Field(i), dice)
			}
		}
	case reflect.Slice:
		n := dice.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), dice)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), dice)
		}
	case reflect.Pointer:
		if dice.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), dice)
		}
	case reflect.String:
		v.SetString("some text"[:dice.IntN(9)])
	case reflect.Bool:
		v.SetBool(dice.IntN(2) == 1)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(int8(dice.Uint32())))
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(dice.IntN(128)))
	}
}

// eachVersion visits every served key and version with a request that visit may change.
func eachVersion(visit func(key, version int16, request kmsg.Request)) {
	for _, r := range allServed() {
		for version := r.Min; version <= r.Max; version++ {
			request := kmsg.RequestForKey(r.Key)
			request.SetVersion(version)
			visit(r.Key, version, request)
		}
	}
}

func TestLayoutsEndWhereKmsgsEncodersEnd(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	eachVersion(func(key, version int16, request kmsg.Request) {
		for range 50 {
			fill(reflect.ValueOf(request).Elem(), dice)
			body := request.AppendTo(nil)
			w := walk{reader: reader{b: body}, version: version, flexible: request.IsFlexible()}
			w.fields(layoutOf(key))
			if w.err != nil || len(w.b) > 0 {
				t.Fatalf("%s version %d: %d of %d bytes are left, %v", Name(key), version,
					len(w.b), len(body), w.err)
			}
		}
	})
}

func TestProduceParsesAsKmsgDoes(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	p := parser{inflaters: newInflaters(1 << 20)}
	for version := int16(3); version <= 13; version++ {
		for range 300 {
			request := kmsg.NewPtrProduceRequest()
			request.Version = version
			fill(reflect.ValueOf(request).Elem(), dice)
			body := request.AppendTo(nil)
			got, err := parseProduce(version, body, &p)
			if err != nil {
				t.Fatalf("version %d: %v", version, err)
			}
			want := kmsg.NewPtrProduceRequest()
			want.Version = version
			if err := want.ReadFrom(body); err != nil {
				t.Fatal(err)
			}
			if again := got.Body.AppendTo(nil); !bytes.Equal(again, want.AppendTo(nil)) {
				t.Fatalf("version %d: parsed as %+v, kmsg says %+v", version, got.Body, want)
			}
			rows := 0
			for i := range want.Topics {
				for j := range want.Topics[i].Partitions {
					if !bytes.Equal(got.Batches[rows].Buffer.Bytes,
						want.Topics[i].Partitions[j].Records) {
						t.Fatalf("version %d: batch %d is another one's", version, rows)
					}
					rows++
				}
			}
			if len(got.Batches) != rows {
				t.Fatalf("%d batches for %d partitions", len(got.Batches), rows)
			}
		}
	}
}

const hostileBytes = 16 << 10

// hostileBodies makes malformed bodies from a good one: at each of its bytes a count that is far
// too large, and behind it bytes that make decoders go on.
func hostileBodies(good []byte, visit func(body []byte)) {
	counts := [][]byte{
		{0x7f, 0xff, 0xff, 0xff}, {0x00, 0x00, 0x1f, 0xff}, {0xff, 0xff, 0xff, 0xfe},
		{0xff, 0xff, 0xff, 0xff, 0x0f}, binary.AppendUvarint(nil, hostileBytes/2),
	}
	body := make([]byte, hostileBytes)
	for at := 0; at <= len(good); at += 1 + at/12 {
		for _, count := range counts {
			for _, filler := range []byte{0, 1, 2} {
				n := copy(body, good[:at])
				n += copy(body[n:], count)
				for i := n; i < len(body)-1; i++ {
					body[i] = filler
				}
				body[len(body)-1] = 0xff
				visit(body)
			}
		}
	}
}

// TestMalformedBodiesAllocateNoMoreThanTwiceTheirBytes holds for every served key and version.
func TestMalformedBodiesAllocateNoMoreThanTwiceTheirBytes(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	p := parser{inflaters: newInflaters(1 << 20)}
	refused, total := 0, 0
	eachVersion(func(key, version int16, request kmsg.Request) {
		fill(reflect.ValueOf(request).Elem(), dice)
		hostileBodies(request.AppendTo(nil), func(body []byte) {
			h := header{key: key, version: version, body: body}
			var before, after runtime.MemStats
			total++
			if total%16 == 0 { // measuring stops the world
				runtime.ReadMemStats(&before)
			}
			var err error
			if key == keyProduce {
				_, err = p.produce(&h, nil)
			} else {
				_, err = p.other(&h)
			}
			if err == nil {
				return // its last bytes count as more than the decoder wants, as in Kafka
			}
			refused++
			if total%16 == 0 {
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > 2*hostileBytes+64<<10 {
					t.Fatalf("%s version %d allocated %d bytes for %d: %v", Name(key), version,
						got, len(body), err)
				}
			}
			if errors.Is(err, errDecoder) {
				t.Fatalf("%s version %d: only the decoder noticed: %v", Name(key), version, err)
			}
		})
	})
	if refused < total/4 {
		t.Errorf("only %d of %d hostile bodies were refused", refused, total)
	}
}

func TestNullIsRefusedWhereKafkaKnowsNone(t *testing.T) {
	p := parser{inflaters: newInflaters(1 << 20)}
	null := []byte{0xff, 0xff, 0xff, 0xff}
	group := []byte("\x00\x01g\x00\x00\x00\x01\x00\x01m") // a generation and a member
	for _, c := range []struct {
		key, version int16
		body         []byte
		refused      bool
	}{
		{3, 0, null, true}, // before version 1 an empty array meant all topics
		{3, 1, null, false},
		{9, 1, append([]byte("\x00\x01g"), null...), true},
		{9, 2, append([]byte("\x00\x01g"), null...), false},
		{14, 0, append(group, null...), true},
		{14, 0, append(group, 0, 0, 0, 0), false},
		{20, 1, append(null, 0, 0, 0, 9), true},
	} {
		_, err := p.other(&header{key: c.key, version: c.version, body: c.body})
		if (err != nil) != c.refused || err != nil && !errors.Is(err, errNull) {
			t.Errorf("%s version %d of % x: %v", Name(c.key), c.version, c.body, err)
		}
	}
}

func TestManyUnknownTagsAndElementsAreRefused(t *testing.T) {
	p := parser{inflaters: newInflaters(1 << 20)}
	request := kmsg.NewPtrMetadataRequest()
	request.Version = 12
	request.Topics = make([]kmsg.MetadataRequestTopic, elementsMax+1)
	h := header{key: 3, version: 12, body: request.AppendTo(nil)}
	if _, err := p.other(&h); err == nil || !strings.Contains(err.Error(), "elements") {
		t.Errorf("%d elements: %v", elementsMax+1, err)
	}
	request.Topics = nil
	body := request.AppendTo(nil)
	h.body = binary.AppendUvarint(body[:len(body)-1], 10_000)
	for i := range uint64(10_000) {
		h.body = append(binary.AppendUvarint(h.body, i), 0)
	}
	if _, err := p.other(&h); err == nil || !strings.Contains(err.Error(), "tagged") {
		t.Errorf("10,000 tagged fields: %v", err)
	}
}

func TestRequestsParseAgainFromTheInputLog(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 8))
	eachVersion(func(key, version int16, request kmsg.Request) {
		fill(reflect.ValueOf(request).Elem(), dice)
		frame := encodeRequest(9, request)[lengthBytes:]
		api, body, err := ParseRaw(frame)
		if err != nil || api != Name(key) {
			t.Fatalf("%s version %d: %q, %v", Name(key), version, api, err)
		}
		r := requestOf(body)
		if r.Key != key || r.Version != version || r.ClientID != "tester" {
			t.Fatalf("%s version %d came back as %+v", Name(key), version, r)
		}
		if !bytes.Equal(r.Body.AppendTo(nil), request.AppendTo(nil)) {
			t.Fatalf("%s version %d has another body", Name(key), version)
		}
		for _, b := range r.Batches {
			clear(b.Buffer.Bytes) // as a leader writes an offset
		}
		if !bytes.Equal(frame, encodeRequest(9, request)[lengthBytes:]) {
			t.Fatalf("%s version %d: the log was changed", Name(key), version)
		}
	})
	if _, _, err := ParseRaw([]byte{0, 3, 0}); err == nil {
		t.Error("a cut entry was parsed")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(encodeRequest(1, metadataRequest(12)))
	f.Add(encodeRequest(1, produceRequest(9, 1, "orders", batch(f, "hello"))))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	table := newServed(allServed())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < lengthBytes {
			return
		}
		length, err := frameLength(b, 1<<20, true)
		if err != nil || length > len(b)-lengthBytes {
			return
		}
		frame := b[lengthBytes : lengthBytes+length]
		h, err := parseHeader(frame, table.flexible)
		if err != nil || table.admits(&h) != nil {
			return
		}
		p := parser{inflaters: newInflaters(1 << 20)}
		if h.key == keyProduce {
			_, _ = p.produce(&h, nil)
		} else {
			_, _ = p.other(&h)
		}
	})
}
