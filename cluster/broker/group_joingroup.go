package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// JoinGroup, versions 0 to 9: dynamic members, who from version 4 on first get an id to come back
// with, and static ones. Answered when the join phase ends.

func (b *Broker) joinGroup(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.JoinGroupRequest)
	body.Version = r.Version
	reply := func(response *kmsg.JoinGroupResponse) {
		b.answer(call, response, answered{code: response.ErrorCode})
	}
	refuse := func(code int16) {
		response := body.ResponseKind().(*kmsg.JoinGroupResponse)
		response.ErrorCode, response.MemberID = code, body.MemberID
		if r.Version < 7 {
			response.Protocol = new(string)
		}
		reply(response)
	}
	if body.Group == "" {
		refuse(kerr.InvalidGroupID.Code)
		return
	}
	c, code := b.coordinator(body.Group)
	if code != 0 {
		refuse(code)
		return
	}
	c.Join(b.groupClient(call, r), body, reply)
}
