package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// DescribeGroups, versions 0 to 6: a group nobody knows is dead, and from version 6 on an error.

func (b *Broker) describeGroups(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DescribeGroupsRequest)
	response := kmsg.NewPtrDescribeGroupsResponse()
	response.Version = r.Version
	var told int16
	for _, id := range body.Groups {
		c, code := b.coordinator(id)
		if id == "" {
			code = kerr.InvalidGroupID.Code
		}
		if code != 0 {
			told = code
			out := kmsg.NewDescribeGroupsResponseGroup()
			out.Group, out.ErrorCode = id, code
			response.Groups = append(response.Groups, out)
			continue
		}
		response.Groups = append(response.Groups,
			c.Describe(id, r.Version, body.IncludeAuthorizedOperations))
	}
	b.answer(call, response, answered{code: told})
}
