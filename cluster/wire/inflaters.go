package wire

import (
	"sync"

	"highwater/cluster/record"
)

// inflatersMax is how many idle inflaters are kept: each may hold the memory of its largest batch.
const inflatersMax = 2

// inflaters checks batches, and shares the memory in which compressed ones are inflated.
type inflaters struct {
	bytesMax int
	mu       sync.Mutex
	idle     []*record.Inflater
}

func newInflaters(bytesMax int) *inflaters { return &inflaters{bytesMax: bytesMax} }

// attributesEnd is where a batch's attributes end, whose lowest bits are its codec.
const attributesEnd = 23

func (f *inflaters) validate(batch []byte) (record.Facts, *record.InvalidError) {
	rules := record.Validation{InflatedMax: f.bytesMax}
	if len(batch) >= attributesEnd && batch[attributesEnd-1]&7 != 0 {
		rules.Inflater = f.get()
		defer f.put(rules.Inflater)
	}
	return record.Validate(batch, rules)
}

func (f *inflaters) get() *record.Inflater {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.idle) - 1
	if last < 0 {
		return record.NewInflater(f.bytesMax)
	}
	inflater := f.idle[last]
	f.idle[last] = nil
	f.idle = f.idle[:last]
	return inflater
}

func (f *inflaters) put(inflater *record.Inflater) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.idle) < inflatersMax {
		f.idle = append(f.idle, inflater)
	}
}

func (f *inflaters) trim() {
	f.mu.Lock()
	f.idle = nil
	f.mu.Unlock()
}
