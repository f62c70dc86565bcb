package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// DescribeCluster, versions 0 to 2: the cluster's id and its brokers, fenced ones only when they
// are asked for. Controllers have no listener of their own here, so endpoint type 2 is refused.

// The types of endpoints that a client may ask for.
const (
	endpointBrokers     = 1
	endpointControllers = 2
)

func (b *Broker) describeCluster(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DescribeClusterRequest)
	response := kmsg.NewPtrDescribeClusterResponse()
	response.Version = r.Version
	response.ClusterAuthorizedOperations = noOperations
	if body.IncludeClusterAuthorizedOperations {
		response.ClusterAuthorizedOperations = clusterOperations
	}
	response.ControllerID = -1
	response.EndpointType = endpointBrokers
	if r.Version >= 1 && body.EndpointType != endpointBrokers {
		response.ErrorCode = kerr.MismatchedEndpointType.Code
		message := "The request was sent to an endpoint of the wrong type."
		if body.EndpointType != endpointControllers {
			response.ErrorCode = kerr.UnsupportedEndpointType.Code
			message = fmt.Sprintf("Unsupported endpoint type %d", body.EndpointType)
		}
		response.ErrorMessage = &message
		b.answer(call, response, answered{code: response.ErrorCode})
		return
	}
	response.ClusterID = b.config.ClusterID
	for _, known := range b.metadata.image.Brokers() {
		at, ok := known.Endpoint(ListenerName)
		if !ok || known.Fenced && !body.IncludeFencedBrokers {
			continue
		}
		n := kmsg.NewDescribeClusterResponseBroker()
		n.NodeID, n.Host, n.Port, n.Rack = int32(known.ID), at.Host, int32(at.Port), known.Rack
		n.IsFenced = known.Fenced
		response.Brokers = append(response.Brokers, n)
		if response.ControllerID < 0 && !known.Fenced {
			response.ControllerID = n.NodeID
		}
	}
	b.answer(call, response, answered{})
}
