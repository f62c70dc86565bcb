package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// Heartbeat, versions 0 to 4. While the coordinator still loads the answer is good news, so that
// nobody rejoins because its coordinator moved.

func (b *Broker) heartbeat(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.HeartbeatRequest)
	response := kmsg.NewPtrHeartbeatResponse()
	response.Version = r.Version
	c, code := b.coordinator(body.Group)
	switch {
	case body.Group == "":
		code = kerr.InvalidGroupID.Code
	case code == kerr.CoordinatorLoadInProgress.Code:
		code = 0
	case code == 0:
		code = c.Heartbeat(body)
	}
	response.ErrorCode = code
	b.answer(call, response, answered{code: code, idle: code == 0})
}
