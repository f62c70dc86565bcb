package scenarios

import (
	"time"

	"highwater/cluster/client"
)

// trickle is a send whose records go one after the other, a while apart, as orders come in. It ends
// early when its producer does.
type trickle struct {
	x       *execution
	request client.SendRequest
	every   time.Duration
	sent    int
	open    int // records without a belief
	outcome client.SendOutcome
	done    func(client.SendOutcome)
}

// sendEvery sends through a producer, the first record at once; done hears what became of all.
func (x *execution) sendEvery(request client.SendRequest, done func(client.SendOutcome)) {
	t := &trickle{x: x, request: request, every: x.command.value("every").duration, done: done,
		open: max(request.Times, 1)}
	t.next()
}

func (t *trickle) next() {
	p := t.x.producer(t.x.command.value("by"))
	if p == nil {
		return // it was killed meanwhile, and that ended the command
	}
	t.sent++
	n, one := t.sent, t.request
	one.Times = 1
	one.Make = func(int) (key, value *string) { return t.request.Make(n) }
	if n < t.request.Times {
		t.x.client.After(t.every, t.next)
	}
	p.Send(one, t.settled)
}

// settled adds what became of one record.
func (t *trickle) settled(r client.SendOutcome) {
	all := &t.outcome
	all.Acknowledged += r.Acknowledged
	all.Failed += r.Failed
	all.Unknown += r.Unknown
	all.Landed = all.Landed.Join(r.Landed)
	if all.Code == 0 {
		all.Code, all.Message = r.Code, r.Message
	}
	if t.open--; t.open == 0 {
		t.done(*all)
	}
}
