package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// SyncGroup, versions 0 to 5. Followers wait for the leader's assignments, and all of them for
// these to be committed.

func (b *Broker) syncGroup(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.SyncGroupRequest)
	body.Version = r.Version
	reply := func(response *kmsg.SyncGroupResponse) {
		b.answer(call, response, answered{code: response.ErrorCode})
	}
	refuse := func(code int16) {
		response := body.ResponseKind().(*kmsg.SyncGroupResponse)
		response.ErrorCode, response.MemberAssignment = code, []byte{}
		reply(response)
	}
	if body.Group == "" {
		refuse(kerr.InvalidGroupID.Code)
		return
	}
	c, code := b.coordinator(body.Group)
	if code == kerr.CoordinatorLoadInProgress.Code {
		// Whoever syncs has to join anew, which older clients know only by this code.
		code = kerr.RebalanceInProgress.Code
	}
	if code != 0 {
		refuse(code)
		return
	}
	c.Sync(body, reply)
}
