package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// ListGroups, versions 0 to 5: the groups that this broker coordinates, by id within each partition
// of __consumer_offsets; filters by state (version 4) and by type (version 5). While a coordinator
// loads, the list would not be whole and is refused.

func (b *Broker) listGroups(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ListGroupsRequest)
	response := kmsg.NewPtrListGroupsResponse()
	response.Version = r.Version
	for _, p := range b.groups.list {
		if !p.active {
			response.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			response.Groups = nil
			break
		}
		response.Groups = append(response.Groups,
			p.groups.List(body.StatesFilter, body.TypesFilter)...)
	}
	b.answer(call, response, answered{code: response.ErrorCode})
}
