package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// LeaveGroup, versions 0 to 5: one member before version 3, then any number, static ones by their
// instance id alone.

const leaveManyFrom = 3

func (b *Broker) leaveGroup(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.LeaveGroupRequest)
	response := kmsg.NewPtrLeaveGroupResponse()
	response.Version = r.Version
	c, code := b.coordinator(body.Group)
	if body.Group == "" {
		code = kerr.InvalidGroupID.Code
	}
	if code != 0 {
		response.ErrorCode = code
		b.answer(call, response, answered{code: code})
		return
	}
	leaving := body.Members
	if r.Version < leaveManyFrom {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = body.MemberID
		leaving = []kmsg.LeaveGroupRequestMember{one}
	}
	codes := c.Leave(body.Group, leaving)
	if r.Version < leaveManyFrom {
		response.ErrorCode = codes[0]
		b.answer(call, response, answered{code: codes[0]})
		return
	}
	for i, left := range leaving {
		m := kmsg.NewLeaveGroupResponseMember()
		m.MemberID, m.InstanceID, m.ErrorCode = left.MemberID, left.InstanceID, codes[i]
		response.Members = append(response.Members, m)
	}
	b.answer(call, response, answered{})
}
