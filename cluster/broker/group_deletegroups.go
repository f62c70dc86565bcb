package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// DeleteGroups, versions 0 to 3: groups without members go with their offsets. Answered when the
// tombstones of all of them are committed.

func (b *Broker) deleteGroups(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DeleteGroupsRequest)
	response := kmsg.NewPtrDeleteGroupsResponse()
	response.Version = r.Version
	response.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(body.Groups))
	open := len(body.Groups)
	if open == 0 {
		b.answer(call, response, answered{})
		return
	}
	for i, id := range body.Groups {
		out := &response.Groups[i]
		*out = kmsg.NewDeleteGroupsResponseGroup()
		out.Group = id
		done := func(code int16) {
			out.ErrorCode = code
			if open--; open == 0 {
				b.answer(call, response, answered{code: code})
			}
		}
		c, code := b.coordinator(id)
		if id == "" {
			code = kerr.InvalidGroupID.Code
		}
		if code != 0 {
			done(code)
			continue
		}
		c.Delete(id, done)
	}
}
