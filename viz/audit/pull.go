package audit

import (
	"sort"

	"highwater/cluster/event"
)

// The newest messages and deliveries are remembered; a follower appends in the instant in which the
// answer to its fetch is delivered. What was forgotten is believed.
const (
	messagesKept   = 1 << 14 // by id; ids are given to other things, too
	deliveriesKept = 1 << 10
)

// word is what is known of a message.
type word uint8

const (
	forgotten word = iota
	anything
	fetchAnswer
)

func wordOf(api string, answers int64) word {
	if api == "Fetch" && answers != 0 {
		return fetchAnswer
	}
	return anything
}

// pull tells whether an append rests on the answer to a fetch. Its rings are arrays because it hears
// of every message of a cluster under load.
type pull struct {
	ids   [messagesKept]int64
	words [messagesKept]word

	delivered [deliveriesKept]event.Seq
	brought   [deliveriesKept]word
	count     int // deliveries ever
}

func (p *pull) sent(id int64, of word) {
	at := id & (messagesKept - 1)
	p.ids[at], p.words[at] = id, of
}

func (p *pull) deliver(seq event.Seq, id int64) {
	of := forgotten
	if at := id & (messagesKept - 1); p.ids[at] == id {
		of = p.words[at]
	}
	at := p.count & (deliveriesKept - 1)
	p.delivered[at], p.brought[at] = seq, of
	p.count++
}

// cause is what was delivered by the event seq.
func (p *pull) cause(seq event.Seq) word {
	kept := min(p.count, deliveriesKept)
	place := func(i int) int { return (p.count - kept + i) & (deliveriesKept - 1) }
	i := sort.Search(kept, func(i int) bool { return p.delivered[place(i)] >= seq })
	switch {
	case i < kept && p.delivered[place(i)] == seq:
		return p.brought[place(i)]
	case i == 0 && p.count > kept:
		return forgotten
	}
	return anything // no delivery at all
}
