package main

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var framingProbes = []kit.Probe{
	{
		Name:   "framing/length-zero",
		Intent: "a frame of no bytes",
		Run:    func(p *kit.P) { showRaw(p, []byte{0, 0, 0, 0}) },
	},
	{
		Name:   "framing/length-negative",
		Intent: "a negative frame length closes the connection",
		Run:    func(p *kit.P) { showRaw(p, []byte{0xff, 0xff, 0xff, 0xff}) },
	},
	{
		Name:   "framing/length-huge",
		Intent: "a frame length of 2^31-1 closes the connection at once",
		Run:    func(p *kit.P) { showRaw(p, []byte{0x7f, 0xff, 0xff, 0xff}) },
	},
	{
		Name:   "framing/length-over-limit",
		Intent: "one byte over socket.request.max.bytes (100 MiB) closes the connection",
		Run:    func(p *kit.P) { showRaw(p, binary.BigEndian.AppendUint32(nil, 100<<20+1)) },
	},
	{
		Name:   "framing/tls",
		Intent: "a TLS client hello closes the connection",
		Run: func(p *kit.P) {
			showRaw(
				p,
				[]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x00},
			)
		},
	},
	{
		Name:   "framing/garbage-body",
		Intent: "a Metadata request whose array is longer than the frame closes the connection",
		Run: func(p *kit.P) {
			showRaw(p, kit.Frame(3, 1, false, []byte{0x7f, 0xff, 0xff, 0xff}))
		},
	},
	{
		Name:   "framing/empty-body",
		Intent: "a Metadata request without a body closes the connection",
		Run:    func(p *kit.P) { showRaw(p, kit.Frame(3, 1, false, nil)) },
	},
	{
		Name:   "framing/unknown-key",
		Intent: "an unknown api key closes the connection",
		Run: func(p *kit.P) {
			for _, key := range []int16{95, 999, 32767, -1} {
				c := p.Dial(0)
				_, _ = c.Write(kit.Frame(key, 0, false, nil))
				p.ShowSilence(fmt.Sprintf("key %d", key), c)
			}
		},
	},
	{
		Name:   "framing/half-frame",
		Intent: "a client that goes away inside a frame does not disturb others",
		Run: func(p *kit.P) {
			for range 3 {
				c := p.Dial(0)
				_, _ = c.Write(kit.Frame(3, 1, false, []byte{0, 0, 0, 0})[:9])
				c.Close()
			}
			response := kit.Ask[*kmsg.ApiVersionsResponse](p, p.Dial(0), 0, kit.ApiVersions("", ""))
			p.NoteError("another connection", response.ErrorCode)
		},
	},
	{
		Name:   "framing/slow-frame",
		Intent: "a frame that arrives byte by byte is answered",
		Run: func(p *kit.P) {
			c := p.Dial(0)
			for _, b := range kit.Frame(3, 1, false, []byte{0, 0, 0, 0}) {
				_, _ = c.Write([]byte{b})
				time.Sleep(2 * time.Millisecond)
			}
			frame, err := c.ReadFrame(3 * time.Second)
			p.Note("answered", err == nil && binary.BigEndian.Uint32(frame) == 1)
		},
	},
	{
		Name:   "framing/pipelined",
		Intent: "requests sent together are answered in the order sent",
		Run: func(p *kit.P) {
			c := p.Dial(0)
			requests := []kmsg.Request{
				kit.Metadata(), kit.ApiVersions("probe", "1.0"), kit.ListOffsets("nowhere", 0, -1),
				kit.Metadata(), kit.ApiVersions("probe", "1.0"),
			}
			versions := []int16{1, 3, 1, 9, 0}
			var correlations []int32
			for i, request := range requests {
				correlation, err := c.Send(versions[i], request)
				if err != nil {
					p.Fail("send: %v", err)
				}
				correlations = append(correlations, correlation)
			}
			for i, request := range requests {
				_, err := c.Receive(request, correlations[i])
				p.Note(fmt.Sprintf("answer %d", i+1), kit.Outcome(err))
			}
		},
	},
	{
		Name:   "framing/pipelined-behind-wait",
		Intent: "a request behind a fetch that waits is answered after it, not before",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			c := p.Dial(0)
			fetch := kit.Fetch(topic, 0, 0)
			fetch.MaxWaitMillis = 500
			began := time.Now()
			first, _ := c.Send(12, fetch)
			metadata := kit.Metadata()
			second, _ := c.Send(1, metadata)
			_, err := c.Receive(fetch, first)
			p.Note("fetch", kit.Outcome(err))
			_, err = c.Receive(metadata, second)
			p.Note("metadata", kit.Outcome(err))
			p.Note("waited", time.Since(began) >= 400*time.Millisecond)
		},
	},
	{
		Name:   "framing/client-id",
		Intent: "null, empty and long client ids are accepted",
		Run: func(p *kit.P) {
			for _, id := range []*string{nil, new(""), new(string(make([]byte, 300)))} {
				c := p.Dial(0)
				c.ClientID = id
				response := kit.Ask[*kmsg.MetadataResponse](p, c, 9, kit.Metadata())
				p.Note("brokers", len(response.Brokers))
			}
		},
	},
	{
		Name:   "framing/sasl-without-sasl",
		Intent: "SaslHandshake on a listener without SASL",
		Run: func(p *kit.P) {
			c := p.Dial(0)
			request := kmsg.NewPtrSASLHandshakeRequest()
			request.Mechanism = "PLAIN"
			p.Show("handshake v1", c, 1, request)
			p.Show("handshake v0", c, 0, request)
			authenticate := kmsg.NewPtrSASLAuthenticateRequest()
			authenticate.SASLAuthBytes = []byte("\x00user\x00password")
			p.Show("authenticate v2", c, 2, authenticate)
		},
	},
}

// showRaw sends bytes on a fresh connection and records whether the broker closes it.
func showRaw(p *kit.P, data []byte) {
	c := p.Dial(0)
	_, _ = c.Write(data)
	p.ShowSilence("answer", c)
	response := kit.Ask[*kmsg.ApiVersionsResponse](p, p.Dial(0), 0, kit.ApiVersions("", ""))
	p.NoteError("another connection", response.ErrorCode)
}
