package broker

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// ListConfigResources, versions 0 and 1: what there is to describe configurations of. All topics
// and brokers have some; of groups and client metrics only those where something was set. Version 0
// lists client metrics only.

// listedResources are the types that may be asked for, and what no type at all stands for.
var listedResources = [...]int8{
	int8(kmsg.ConfigResourceTypeTopic), int8(kmsg.ConfigResourceTypeBroker),
	int8(kmsg.ConfigResourceTypeBrokerLogger), metadata.ResourceClientMetrics,
	metadata.ResourceGroup,
}

func (b *Broker) listConfigResources(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ListConfigResourcesRequest)
	response := kmsg.NewPtrListConfigResourcesResponse()
	response.Version = r.Version
	kinds := body.ResourceTypes
	switch {
	case r.Version == 0:
		kinds = []int8{metadata.ResourceClientMetrics}
	case len(kinds) == 0:
		kinds = listedResources[:]
	}
	for i, kind := range kinds {
		if !slices.Contains(listedResources[:], kind) {
			response.ErrorCode = kerr.UnsupportedVersion.Code
			response.ConfigResources = nil
			break
		}
		if slices.Contains(kinds[:i], kind) {
			continue
		}
		for _, name := range b.configResources(kind) {
			row := kmsg.NewListConfigResourcesResponseConfigResource()
			row.Type, row.Name = kind, name
			response.ConfigResources = append(response.ConfigResources, row)
		}
	}
	b.answer(call, response, answered{code: response.ErrorCode})
}

func (b *Broker) configResources(kind int8) []string {
	var names []string
	switch kind {
	case int8(kmsg.ConfigResourceTypeTopic):
		for _, t := range b.metadata.image.Topics() {
			names = append(names, t.Name)
		}
	case int8(kmsg.ConfigResourceTypeBroker), int8(kmsg.ConfigResourceTypeBrokerLogger):
		for _, known := range b.metadata.image.Brokers() {
			names = append(names, strconv.Itoa(int(known.ID)))
		}
	default:
		names = b.metadata.image.ConfigResources(kind)
	}
	return names
}
