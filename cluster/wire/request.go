package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/record"
)

const (
	keyProduce     = 0
	keyApiVersions = 18
)

// softwareBytesMax bounds what is kept of a client's own name and version.
const softwareBytesMax = 128

// Name is the name of an API key, as in "Produce".
func Name(key int16) string { return kmsg.NameForKey(key) }

// header is a request's header. What follows it in the frame is its body.
type header struct {
	key, version int16
	correlation  int32
	clientID     []byte // in the frame
	body         []byte // in the frame
	size         int    // of the frame
}

var (
	errCutShort = errors.New("the request ends too early")
	errDecoder  = errors.New("the request holds what its type does not allow")
	errNull     = errors.New("the request has null for an array that may not be null")
	errCount    = errors.New("the request counts more elements than its bytes can hold")
)

// parseHeader reads a header of version 1, or 2 when flexible says so for the key and version.
func parseHeader(frame []byte, flexible func(key, version int16) bool) (header, error) {
	r := reader{b: frame}
	h := header{key: r.int16(), version: r.int16(), correlation: r.int32()}
	h.clientID = r.bytes(int(r.int16()))
	if flexible(h.key, h.version) {
		r.tags()
	}
	h.body, h.size = r.b, len(frame)
	return h, r.err
}

// served is the table of what a world's brokers answer.
type served map[int16]servedKey

type servedKey struct {
	min, max int16
	flexible int16 // first flexible version, max+1 when there is none
}

func newServed(ranges []broker.Range) served {
	table := served{}
	for _, r := range ranges {
		table[r.Key] = servedKey{r.Min, r.Max, firstFlexible(r.Key, r.Max)}
	}
	return table
}

func firstFlexible(key, versionMax int16) int16 {
	request := kmsg.RequestForKey(key)
	if request == nil {
		return versionMax + 1
	}
	for version := int16(0); version <= versionMax; version++ {
		request.SetVersion(version)
		if request.IsFlexible() {
			return version
		}
	}
	return versionMax + 1
}

func (s served) flexible(key, version int16) bool {
	k, known := s[key]
	return known && version >= k.flexible
}

// admits says whether a request is one that brokers answer. An ApiVersions of a version yet
// unknown is one: it is answered in version 0 (KIP-511).
func (s served) admits(h *header) error {
	k, known := s[h.key]
	switch {
	case known && h.version >= k.min && (h.version <= k.max || h.key == keyApiVersions):
		return nil
	case known:
		return fmt.Errorf("%s version %d, but versions %d to %d are served",
			Name(h.key), h.version, k.min, k.max)
	case kmsg.RequestForKey(h.key) != nil:
		return fmt.Errorf("%s, which is not served here", Name(h.key))
	}
	return fmt.Errorf("API key %d, which does not exist", h.key)
}

// parser makes requests from frames. It is for one goroutine at a time; what it remembers only
// saves memory.
type parser struct {
	inflaters *inflaters
	clientID  string
	topic     string
}

// produce parses a Produce in place: the batches lie in the frame, and hold one reference to the
// slab each.
func (p *parser) produce(h *header, slab *record.Slab) (*broker.Request, error) {
	request, err := parseProduce(h.version, h.body, p)
	if err != nil {
		return nil, err
	}
	request.ClientID = p.intern(&p.clientID, h.clientID)
	request.Key, request.Version, request.Bytes = h.key, h.version, h.size
	for i := range request.Batches {
		batch := &request.Batches[i]
		batch.Buffer.Slab = slab
		batch.Buffer.Retain()
		batch.Facts, batch.Err = p.inflaters.validate(batch.Buffer.Bytes)
	}
	return request, nil
}

// other parses any other request. Its frame must be a copy that nobody changes, since byte fields
// of the body lie in it.
func (p *parser) other(h *header) (*broker.Request, error) {
	body := kmsg.RequestForKey(h.key)
	if body == nil {
		return nil, fmt.Errorf("API key %d does not exist", h.key)
	}
	body.SetVersion(h.version)
	if err := checkCounts(h.key, h.version, body.IsFlexible(), h.body); err != nil {
		return nil, err
	}
	if err := body.ReadFrom(h.body); err != nil {
		return nil, fmt.Errorf("%s version %d: %w", Name(h.key), h.version, errDecoder)
	}
	request := &broker.Request{Key: h.key, Version: h.version, Body: body,
		Bytes: h.size, ClientID: p.intern(&p.clientID, h.clientID)}
	if hello, is := body.(*kmsg.ApiVersionsRequest); is && h.version >= 3 {
		request.Software = software(hello)
	}
	return request, nil
}

func software(hello *kmsg.ApiVersionsRequest) string {
	name := hello.ClientSoftwareName + " " + hello.ClientSoftwareVersion
	return name[:min(len(name), softwareBytesMax)]
}

// intern makes a string of bytes, mostly the one made last.
func (p *parser) intern(last *string, b []byte) string {
	if string(b) != *last {
		*last = string(b)
	}
	return *last
}

// ParseRaw makes a request again from what the input log kept of it. It copies the bytes, because
// a leader writes offsets into batches and the log must stay as it is.
func ParseRaw(raw []byte) (api string, body any, err error) {
	raw = bytes.Clone(raw)
	flexible := func(key, version int16) bool { return version >= firstFlexible(key, version) }
	h, err := parseHeader(raw, flexible)
	if err != nil {
		return "", nil, fmt.Errorf("wire: input log: %w", err)
	}
	p := parser{inflaters: newInflaters(Config{}.withDefaults().InflatedBytesMax)}
	var request *broker.Request
	if h.key == keyProduce {
		request, err = p.produce(&h, nil)
	} else {
		request, err = p.other(&h)
	}
	if err != nil {
		return "", nil, fmt.Errorf("wire: input log: %w", err)
	}
	return Name(h.key), request, nil
}

// asVersionZero makes an ApiVersions of unknown version one of version 0, whose body is empty. What
// lies behind its correlation id is not looked at: nobody knows yet what that will be.
func asVersionZero(frame []byte) []byte {
	frame = frame[:frameBytesMin:frameBytesMin]
	binary.BigEndian.PutUint16(frame[2:], 0)
	return append(frame, 0xff, 0xff) // no client id
}
