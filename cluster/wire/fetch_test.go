package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// bytesOf joins the parts of a turn as a socket would get them.
func (c *connection) bytesOf() []byte {
	var b []byte
	for i := range c.parts {
		p := &c.parts[i]
		if p.encoded() {
			b = append(b, c.scratch[p.from:p.to]...)
		} else {
			b = append(b, p.buffer.Bytes...)
		}
	}
	return b
}

func TestFetchResponsesAreThoseOfKmsg(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for version := int16(4); version <= 18; version++ {
		for range 300 {
			response := kmsg.NewPtrFetchResponse()
			response.Version = version
			fill(reflect.ValueOf(response).Elem(), dice)
			want := response.AppendTo(nil)
			answer := &broker.FetchAnswer{Response: response}
			for i := range response.Topics {
				for j := range response.Topics[i].Partitions {
					p := &response.Topics[i].Partitions[j]
					b := p.RecordBatches
					s := commitlog.Slices{}
					if len(b) > 0 { // split in two, as batches of a log's tail are
						half := len(b) / 2
						s.Bytes = len(b)
						s.Buffers = []record.Buffer{{Bytes: b[:half:half]}, {Bytes: b[half:]}}
						p.RecordBatches = nil
					}
					answer.Records = append(answer.Records, s)
				}
			}
			c := &connection{}
			s := slot{key: 1, version: version, correlation: 7}
			c.encode(&s, world.Nothing{})
			c.encode(&s, answer)
			c.encode(&s, &kmsg.HeartbeatResponse{})
			got := c.bytesOf()
			header := []byte{0, 0, 0, 7}
			if version >= 12 {
				header = append(header, 0)
			}
			want = append(header, want...)
			want = append(binary.BigEndian.AppendUint32(nil, uint32(len(want))), want...)
			if !bytes.HasPrefix(got, want) {
				t.Fatalf("version %d: wrote %x, kmsg %x", version, got, want)
			}
		}
	}
}
