package wire

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

const (
	codeUnsupportedVersion = 35
	// scratchBytesMax is how much memory for encoding a connection keeps between turns.
	scratchBytesMax = 64 << 10
)

// part is a piece of this turn's answers: encoded bytes, or record bytes by reference.
type part struct {
	from, to int // in the connection's scratch
	buffer   record.Buffer
	file     commitlog.FileRange
}

// Respond takes the answer to a request. Answers leave in the order of the requests, at the end of
// the turn.
func (c *connection) Respond(call *world.Call, body any) {
	if c.closed.Load() {
		discard(body)
		return
	}
	c.window[call.Token%requestsInFlightMax].answer = body
	// What lies behind the newest request that the loop has met is the reader's, who may be
	// writing there.
	c.met = max(c.met, call.Token+1)
	next := c.answered.Load()
	first := next
	for next < c.met {
		s := &c.window[next%requestsInFlightMax]
		if s.answer == nil {
			break
		}
		answer := s.answer
		s.answer = nil
		c.edge.inFlight.give(s.bytes)
		s.bytes = 0
		if c.closing == "" {
			c.encode(s, answer)
		} else {
			discard(answer)
		}
		next++
	}
	if next == first {
		return
	}
	// From here on the slots are the reader's again.
	c.answered.Store(next)
	if c.waiting.Load() {
		select {
		case c.room <- struct{}{}:
		default:
		}
	}
	if !c.dirty {
		c.dirty = true
		c.edge.dirty = append(c.edge.dirty, c)
	}
}

// discard lets go of what an answer holds that nobody will get.
func discard(body any) {
	if fetch, is := body.(*broker.FetchAnswer); is {
		for i := range fetch.Records {
			fetch.Records[i].Release()
		}
	}
}

// encode appends one answer to the turn's parts.
func (c *connection) encode(s *slot, answer any) {
	switch answer := answer.(type) {
	case world.Nothing:
	case *broker.Close:
		c.closing = answer.Reason
	case *broker.FetchAnswer:
		answer.Response.SetVersion(s.version)
		start := c.beginFrame(s, answer.Response)
		c.encodeFetch(answer, start)
		c.endFrame(start)
	case kmsg.Response:
		if hello, is := answer.(*kmsg.ApiVersionsResponse); is && s.unsupported {
			// Whoever asks in a version from the future learns which ones of this key there are,
			// and asks again.
			hello.SetVersion(0)
			hello.ErrorCode = codeUnsupportedVersion
			hello.ApiKeys = slices.DeleteFunc(hello.ApiKeys,
				func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey != keyApiVersions })
		} else {
			answer.SetVersion(s.version)
		}
		start := c.beginFrame(s, answer)
		c.scratch = answer.AppendTo(c.scratch)
		c.endFrame(start)
	default:
		panic("wire: a broker answered with something that is no answer")
	}
}

// frameStart is where the answer being encoded begins.
type frameStart struct{ scratch, parts int }

func (c *connection) beginFrame(s *slot, response kmsg.Response) frameStart {
	start := frameStart{len(c.scratch), len(c.parts)}
	c.scratch = append(c.scratch, 0, 0, 0, 0)
	c.scratch = binary.BigEndian.AppendUint32(c.scratch, uint32(s.correlation))
	// ApiVersions keeps the old header, for clients that do not know the new one yet (KIP-511).
	if response.IsFlexible() && s.key != keyApiVersions {
		c.scratch = append(c.scratch, 0)
	}
	return start
}

// endFrame writes the frame's length in front of it, and makes its last encoded bytes a part.
func (c *connection) endFrame(start frameStart) {
	c.cutPart(start)
	length := -lengthBytes
	for i := start.parts; i < len(c.parts); i++ {
		length += c.parts[i].size()
	}
	binary.BigEndian.PutUint32(c.scratch[start.scratch:], uint32(length))
	c.longest = max(c.longest, length)
}

// cutPart makes a part of what was encoded since the last one.
func (c *connection) cutPart(start frameStart) {
	from := start.scratch
	for i := len(c.parts) - 1; i >= start.parts; i-- {
		if c.parts[i].encoded() {
			from = c.parts[i].to
			break
		}
	}
	if from < len(c.scratch) {
		c.parts = append(c.parts, part{from: from, to: len(c.scratch)})
	}
}

func (p *part) encoded() bool { return p.file.File == nil && p.buffer.Bytes == nil }

func (p *part) size() int {
	switch {
	case p.file.File != nil:
		return int(p.file.Length)
	case p.buffer.Bytes != nil:
		return len(p.buffer.Bytes)
	}
	return p.to - p.from
}

// release lets go of the bytes that a part refers to. A file's last reader closes it, so this may
// take long for a file: only the writer goroutine does it for those that were sent.
func (p *part) release() {
	if p.file.File != nil {
		_ = p.file.File.Release() // closing a file that was only read loses nothing
	}
	p.buffer.Release()
	*p = part{}
}

// dropParts forgets the answers of this turn.
func (c *connection) dropParts() {
	for i := range c.parts {
		c.parts[i].release()
	}
	c.resetParts()
}

func (c *connection) resetParts() {
	clear(c.parts)
	c.parts, c.scratch, c.longest = c.parts[:0], c.scratch[:0], 0
	if cap(c.scratch) > scratchBytesMax {
		c.scratch, c.parts = nil, nil
	}
}

// abandon lets go of everything that a closed connection still holds. Its goroutines have ended.
func (c *connection) abandon() {
	c.dropParts()
	for next := c.answered.Load(); next < c.asked; next++ {
		s := &c.window[next%requestsInFlightMax]
		c.edge.inFlight.give(s.bytes)
		discard(s.answer)
		*s = slot{}
	}
	c.answered.Store(c.asked)
}
