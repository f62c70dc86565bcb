package broker

import (
	"time"

	"highwater/cluster/controller"
	"highwater/cluster/event"
)

const (
	controllerTimeout = 5 * time.Second
	controllerBackoff = 100 * time.Millisecond
)

// controllerChannel finds the active controller and sends requests to it.
type controllerChannel struct {
	b      *Broker
	active event.NodeID // the last known, or a guess
	next   int          // which controller to try after a failure
}

func (c *controllerChannel) init(b *Broker) {
	c.b = b
	c.active = b.config.Controllers[0]
}

// call sends a request to the active controller, looking for it until the deadline. done gets
// world.ErrTimedOut when there was none.
func (c *controllerChannel) call(api string, body any, timeout time.Duration,
	done func(body any, err error)) {
	c.try(api, body, c.b.env.VirtualNow()+int64(timeout), done)
}

func (c *controllerChannel) try(api string, body any, deadline int64,
	done func(body any, err error)) {
	to := c.active
	left := time.Duration(deadline - c.b.env.VirtualNow())
	c.b.env.Request(to, api, body, min(controllerTimeout, max(left, 0)),
		func(answer any, err error) {
			redirect, refused := answer.(*controller.NotController)
			if err == nil && !refused {
				done(answer, nil)
				return
			}
			if c.b.env.VirtualNow() >= deadline {
				done(nil, errNoController)
				return
			}
			if c.lookElsewhere(to, redirect) {
				c.try(api, body, deadline, done)
				return
			}
			c.b.env.AfterQuiet("controller-backoff", controllerBackoff, func() {
				c.try(api, body, deadline, done)
			})
		})
}

// lookElsewhere picks whom to ask next; it says whether that is worth doing at once.
func (c *controllerChannel) lookElsewhere(asked event.NodeID, redirect *controller.NotController) bool {
	if c.active != asked {
		return true // another request has found it meanwhile
	}
	if redirect != nil && redirect.Leader != event.NoNode && redirect.Leader != asked {
		c.active = redirect.Leader
		return true
	}
	c.next = (c.next + 1) % len(c.b.config.Controllers)
	c.active = c.b.config.Controllers[c.next]
	return false
}
