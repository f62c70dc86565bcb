package broker

import "highwater/cluster/world"

// Placeholders so that the package builds while the API files are written; delete each as it lands.
type producerIDs struct{}

func (b *Broker) listOffsets(call *world.Call, r *Request)             { call.Reply(&Close{}) }
func (b *Broker) metadataRequest(call *world.Call, r *Request)         { call.Reply(&Close{}) }
func (b *Broker) apiVersions(call *world.Call, r *Request)             { call.Reply(&Close{}) }
func (b *Broker) createTopics(call *world.Call, r *Request)            { call.Reply(&Close{}) }
func (b *Broker) deleteTopics(call *world.Call, r *Request)            { call.Reply(&Close{}) }
func (b *Broker) initProducerID(call *world.Call, r *Request)          { call.Reply(&Close{}) }
func (b *Broker) offsetForLeaderEpoch(call *world.Call, r *Request)    { call.Reply(&Close{}) }
func (b *Broker) describeConfigs(call *world.Call, r *Request)         { call.Reply(&Close{}) }
func (b *Broker) alterConfigs(call *world.Call, r *Request)            { call.Reply(&Close{}) }
func (b *Broker) createPartitions(call *world.Call, r *Request)        { call.Reply(&Close{}) }
func (b *Broker) electLeaders(call *world.Call, r *Request)            { call.Reply(&Close{}) }
func (b *Broker) incrementalAlterConfigs(call *world.Call, r *Request) { call.Reply(&Close{}) }
func (b *Broker) describeQuorum(call *world.Call, r *Request)          { call.Reply(&Close{}) }
func (b *Broker) describeCluster(call *world.Call, r *Request)         { call.Reply(&Close{}) }
func (b *Broker) describeProducers(call *world.Call, r *Request)       { call.Reply(&Close{}) }
func (b *Broker) describeTopicPartitions(call *world.Call, r *Request) { call.Reply(&Close{}) }
