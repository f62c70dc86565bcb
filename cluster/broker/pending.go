package broker

import "highwater/cluster/world"

// Placeholders so that the package builds while the API files are written; delete each as it lands.

func (b *Broker) offsetForLeaderEpoch(call *world.Call, r *Request)    { call.Reply(&Close{}) }
func (b *Broker) describeConfigs(call *world.Call, r *Request)         { call.Reply(&Close{}) }
func (b *Broker) describeCluster(call *world.Call, r *Request)         { call.Reply(&Close{}) }
func (b *Broker) describeProducers(call *world.Call, r *Request)       { call.Reply(&Close{}) }
func (b *Broker) describeTopicPartitions(call *world.Call, r *Request) { call.Reply(&Close{}) }
