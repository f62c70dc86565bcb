package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// partitionsOfRequestMax bounds what may be created of one topic at a time, as Kafka bounds its
// batches.
const partitionsOfRequestMax = 10_000

// createTopics makes topics; each is decided on its own, seeing those before it in the image, but
// colliding names within one request are both created, as in Kafka. A name given twice is refused
// and answered once.
func (a *active) createTopics(call *world.Call, req *kmsg.CreateTopicsRequest) {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	ch := a.decide()
	names := map[string]int{}
	for _, t := range req.Topics {
		names[t.Topic]++
	}
	before := ch.image
	for i := range req.Topics {
		t := &req.Topics[i]
		if names[t.Topic] == answeredTwice {
			continue
		}
		answer := kmsg.NewCreateTopicsResponseTopic()
		answer.Topic = t.Topic
		e := refuseTwice(names, t.Topic)
		if e == nil {
			e = a.createTopic(ch, before, t, &answer)
		}
		if e != nil {
			answer.ErrorCode, answer.ErrorMessage = e.code, e.text()
			answer.NumPartitions, answer.ReplicationFactor = -1, -1
			answer.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
		}
		resp.Topics = append(resp.Topics, answer)
	}
	a.conclude(ch, call, resp, req.ValidateOnly)
}

// answeredTwice marks a name that a request has more than once and that is answered already.
const answeredTwice = -1

// refuseTwice refuses a name that the request has more than once, and marks it, because Kafka
// answers it only once.
func refuseTwice(names map[string]int, name string) *answerError {
	if names[name] <= 1 {
		return nil
	}
	names[name] = answeredTwice
	return refuse(kerr.InvalidRequest.Code, "Duplicate topic name.")
}

// createTopic decides one topic. Nothing is added to ch unless all of it is right.
func (a *active) createTopic(ch *changes, before *metadata.Image,
	req *kmsg.CreateTopicsRequestTopic, answer *kmsg.CreateTopicsResponseTopic) *answerError {
	if e := checkNewName(before, req.Topic); e != nil {
		return e
	}
	entries, e := newTopicConfigs(req.Configs)
	if e != nil {
		return e
	}
	assignments, e := a.assignmentsOf(ch.image, req)
	if e == nil {
		e = a.checkRoom(ch.image, assignments)
	}
	if e != nil {
		return e
	}
	id := a.freshTopicID(ch.image)
	topic := []metadata.Record{&metadata.TopicRecord{Name: req.Topic, TopicID: id}}
	for _, entry := range entries {
		topic = append(topic, configRecord(metadata.ResourceTopic, req.Topic, entry.Name,
			&entry.Value))
		if entry.Name == configMinIsr {
			topic = append(topic, &metadata.ClearElrRecord{TopicName: req.Topic})
		}
	}
	for i, replicas := range assignments {
		p, e := newPartition(ch.image, id, int32(i), replicas)
		if e != nil {
			return e
		}
		topic = append(topic, p)
	}
	for _, r := range topic {
		ch.add(r, event.RuleNone)
	}
	answer.TopicID = id
	answer.NumPartitions = int32(len(assignments))
	answer.ReplicationFactor = int16(len(assignments[0]))
	answer.Configs = a.describeConfigs(ch.image, req.Topic)
	return nil
}

// checkRoom refuses more replicas than the nodes can have files open for, as a policy of Kafka's
// would: brokers that run out of them go down.
func (a *active) checkRoom(image *metadata.Image, assignments [][]event.NodeID) *answerError {
	if a.c.cfg.ReplicasMax == 0 {
		return nil
	}
	var present, further int64
	for _, replicas := range assignments {
		further += int64(len(replicas))
	}
	for _, t := range image.Topics() {
		for _, p := range t.Partitions {
			present += int64(len(p.Replicas))
		}
	}
	if present+further <= a.c.cfg.ReplicasMax {
		return nil
	}
	return refuse(kerr.PolicyViolation.Code, fmt.Sprintf("There are %d replicas, and %d more are "+
		"asked for: together more than the %d for which this process may have files open (ulimit -n).",
		present, further, a.c.cfg.ReplicasMax))
}

// freshTopicID throws an id that no topic has.
func (a *active) freshTopicID(image *metadata.Image) event.UUID {
	for {
		if id := a.c.env.UUID(); image.TopicByID(id) == nil {
			return id
		}
	}
}

func checkNewName(image *metadata.Image, name string) *answerError {
	if image.TopicByName(name) != nil {
		return refuse(kerr.TopicAlreadyExists.Code, fmt.Sprintf("Topic '%s' already exists.", name))
	}
	if err := metadata.ValidateTopicName(name); err != nil {
		return refuse(kerr.InvalidTopicException.Code, err.Error())
	}
	if name == metadataTopic {
		// Its folder on every broker is the metadata log itself.
		return refuse(kerr.InvalidRequest.Code, "Creation of internal topic "+name+" is prohibited.")
	}
	for _, t := range image.Topics() {
		if metadata.Collides(t.Name, name) {
			return refuse(kerr.InvalidTopicException.Code,
				fmt.Sprintf("Topic '%s' collides with existing topic: %s", name, t.Name))
		}
	}
	return nil
}

const (
	configRemoteStorage    = "remote.storage.enable"
	messageNoRemoteStorage = "Tiered Storage functionality is disabled in the broker. Topic cannot " +
		"be configured with remote log storage."
)

// newTopicConfigs checks the configuration of a new topic, sorted by name.
func newTopicConfigs(configs []kmsg.CreateTopicsRequestTopicConfig) (
	[]metadata.ConfigEntry, *answerError,
) {
	var entries []metadata.ConfigEntry
	for _, c := range configs {
		if c.Value == nil {
			return nil, refuse(kerr.InvalidConfig.Code,
				"Null value not supported for topic configs: "+c.Name)
		}
		entries = append(entries, metadata.ConfigEntry{Name: c.Name, Value: *c.Value})
	}
	slices.SortFunc(entries, func(x, y metadata.ConfigEntry) int {
		return strings.Compare(x.Name, y.Name)
	})
	if err := metadata.ValidateTopicConfigs(entries); err != nil {
		return nil, refuse(kerr.InvalidConfig.Code, err.Error())
	}
	for i := range entries {
		e := &entries[i]
		e.Value = metadata.NormalConfig(metadata.ResourceTopic, e.Name, e.Value)
		if e.Name == configRemoteStorage && e.Value == "true" {
			return nil, refuse(kerr.InvalidConfig.Code, messageNoRemoteStorage)
		}
	}
	return entries, nil
}

// newPartition is a partition whose ISR is all replicas that are active.
func newPartition(image *metadata.Image, topic event.UUID, index int32, replicas []event.NodeID) (
	*metadata.PartitionRecord, *answerError,
) {
	isr := slices.DeleteFunc(slices.Clone(replicas), func(id event.NodeID) bool {
		return !mayLead(image, event.NoNode)(id)
	})
	if len(isr) == 0 {
		return nil, refuse(kerr.InvalidReplicaAssignment.Code, fmt.Sprintf(
			"All brokers specified in the manual partition assignment for partition %d are fenced "+
				"or in controlled shutdown.", index))
	}
	p := &metadata.PartitionRecord{PartitionID: index, TopicID: topic, Replicas: replicas, Isr: isr,
		RemovingReplicas: []event.NodeID{}, AddingReplicas: []event.NodeID{}, Leader: isr[0]}
	directory := directoryOf(image)
	for _, id := range replicas {
		p.Directories = append(p.Directories, directory(id))
	}
	return p, nil
}

// assignmentsOf takes the assignment of the request, or makes one.
func (a *active) assignmentsOf(image *metadata.Image, req *kmsg.CreateTopicsRequestTopic) (
	[][]event.NodeID, *answerError,
) {
	if len(req.ReplicaAssignment) > 0 {
		return manualAssignment(image, req)
	}
	partitions, factor := int(req.NumPartitions), int(req.ReplicationFactor)
	if partitions == -1 {
		partitions = int(a.c.cfg.NumPartitions)
	}
	if factor == -1 {
		factor = int(a.c.cfg.DefaultReplicationFactor)
	}
	switch {
	case factor <= 0:
		return nil, refuse(kerr.InvalidReplicationFactor.Code,
			"Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions <= 0:
		return nil, refuse(kerr.InvalidPartitions.Code,
			"Number of partitions was set to an invalid non-positive value.")
	case partitions > partitionsOfRequestMax:
		return nil, refuse(kerr.InvalidPartitions.Code, fmt.Sprintf(
			"Number of partitions is larger than the maximum of %d.", partitionsOfRequestMax))
	}
	return a.place(image, partitions, factor)
}

// place spreads replicas over the brokers. Leaders are on unfenced brokers only; fenced ones are
// taken for further copies when there are too few others (Kafka's StripedReplicaPlacer).
func (a *active) place(image *metadata.Image, partitions, factor int) (
	[][]event.NodeID, *answerError,
) {
	cannot := fmt.Sprintf("Unable to replicate the partition %d time(s): ", factor)
	var unfenced, fenced []event.NodeID
	for _, b := range image.Brokers() {
		if b.Fenced {
			fenced = append(fenced, b.ID)
		} else {
			unfenced = append(unfenced, b.ID)
		}
	}
	switch {
	case len(unfenced) == 0:
		return nil, refuse(kerr.InvalidReplicationFactor.Code, cannot+
			"All brokers are currently fenced or have all their log directories cordoned.")
	case factor > len(unfenced)+len(fenced):
		return nil, refuse(kerr.InvalidReplicationFactor.Code, cannot+fmt.Sprintf("The target "+
			"replication factor of %d cannot be reached because only %d broker(s) are registered "+
			"or some brokers have all their log directories cordoned.",
			factor, len(unfenced)+len(fenced)))
	}
	alive := min(factor, len(unfenced))
	assignments := metadata.AssignReplicas(unfenced, partitions, alive,
		a.c.env.Dice().IntN(len(unfenced)))
	for i := range assignments {
		for more := range factor - alive {
			assignments[i] = append(assignments[i], fenced[(i+more)%len(fenced)])
		}
	}
	return assignments, nil
}

// manualAssignment checks an assignment that the request names.
func manualAssignment(image *metadata.Image, req *kmsg.CreateTopicsRequestTopic) (
	[][]event.NodeID, *answerError,
) {
	switch {
	case req.ReplicationFactor != -1:
		return nil, refuse(kerr.InvalidRequest.Code, "A manual partition assignment was specified, "+
			"but replication factor was not set to -1.")
	case req.NumPartitions != -1:
		return nil, refuse(kerr.InvalidRequest.Code, "A manual partition assignment was specified, "+
			"but numPartitions was not set to -1.")
	case len(req.ReplicaAssignment) > partitionsOfRequestMax:
		return nil, refuse(kerr.InvalidPartitions.Code, fmt.Sprintf(
			"Number of partitions is larger than the maximum of %d.", partitionsOfRequestMax))
	}
	assignments := make([][]event.NodeID, len(req.ReplicaAssignment))
	for _, given := range req.ReplicaAssignment {
		if int(given.Partition) >= len(assignments) || given.Partition < 0 {
			return nil, refuse(kerr.InvalidReplicaAssignment.Code,
				"partitions should be a consecutive 0-based integer sequence")
		}
		if assignments[given.Partition] != nil {
			return nil, refuse(kerr.InvalidReplicaAssignment.Code, fmt.Sprintf(
				"Found multiple manual partition assignments for partition %d", given.Partition))
		}
		replicas, e := checkReplicas(image, given.Replicas, len(req.ReplicaAssignment[0].Replicas))
		if e != nil {
			return nil, e
		}
		assignments[given.Partition] = replicas
	}
	return assignments, nil
}

func checkReplicas(image *metadata.Image, given []int32, factor int) (
	[]event.NodeID, *answerError,
) {
	if len(given) == 0 {
		return nil, refuse(kerr.InvalidReplicaAssignment.Code,
			"The manual partition assignment includes an empty replica list.")
	}
	var replicas []event.NodeID
	for _, n := range given {
		id := event.NodeID(n)
		if image.Broker(id) == nil {
			return nil, refuse(kerr.InvalidReplicaAssignment.Code, fmt.Sprintf("The manual partition "+
				"assignment includes broker %d, but no such broker is registered.", id))
		}
		if slices.Contains(replicas, id) {
			return nil, refuse(kerr.InvalidReplicaAssignment.Code, fmt.Sprintf("The manual partition "+
				"assignment includes the broker %d more than once.", id))
		}
		replicas = append(replicas, id)
	}
	if len(replicas) != factor {
		return nil, refuse(kerr.InvalidReplicaAssignment.Code, fmt.Sprintf("The manual partition "+
			"assignment includes a partition with %d replica(s), but this is not consistent with "+
			"previous partitions, which have %d replica(s).", len(replicas), factor))
	}
	return replicas, nil
}

// describeConfigs lists every setting of a topic as CreateTopics answers them.
func (a *active) describeConfigs(image *metadata.Image, topic string) (
	configs []kmsg.CreateTopicsResponseTopicConfig) {
	for _, d := range metadata.TopicConfigs() {
		if d.Has(metadata.Internal) {
			continue
		}
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		value, source := a.c.cfg.Properties.configOf(image, topic, d.Name)
		c.Name, c.Source, c.IsSensitive = d.Name, source, d.Sensitive()
		if !(d.Has(metadata.Null) && source == sourceDefault) && !d.Sensitive() {
			c.Value = &value
		}
		configs = append(configs, c)
	}
	return configs
}
