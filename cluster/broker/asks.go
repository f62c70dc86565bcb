package broker

import (
	"slices"

	"highwater/cluster/event"
	"highwater/cluster/replica"
)

// asks is what events have told of the partitions that a connection fetches, so that they tell only
// what changed: nothing of an idle fetch, and of one partition no more than its request does.
type asks struct {
	at      map[replica.PartitionKey]event.Offset
	session int32 // in which the partitions were told, 0 outside sessions
}

// tellAsks emits what the fetch asks for and RequestReceived, which knows one partition, does not
// say.
func (f *fetchWait) tellAsks() {
	b := f.b
	if !b.env.Events.On() {
		return
	}
	a := &b.client(f.call.From).asks
	if a.at == nil {
		a.at = map[replica.PartitionKey]event.Offset{}
	}
	topics := f.request.Topics
	if len(topics) > 0 && len(topics[0].Partitions) > 0 {
		p := &topics[0].Partitions[0]
		name := b.topicName(topics[0].Topic, topics[0].TopicID)
		if name != "" {
			a.at[replica.PartitionKey{Topic: name, Index: p.Partition}] = event.Offset(p.FetchOffset)
		}
	}
	session := int32(0)
	if f.session != nil {
		session = f.session.id
	}
	if session == 0 || !f.session.incremental || session != a.session {
		a.session = session
		f.tellAll(a)
		return
	}
	for i := range f.request.ForgottenTopics {
		t := &f.request.ForgottenTopics[i]
		name := b.topicName(t.Topic, t.TopicID)
		for _, index := range t.Partitions {
			f.tellDropped(a, replica.PartitionKey{Topic: name, Index: index})
		}
	}
	for i := range topics {
		name := b.topicName(topics[i].Topic, topics[i].TopicID)
		for j := range topics[i].Partitions {
			p := &topics[i].Partitions[j]
			f.tell(a, replica.PartitionKey{Topic: name, Index: p.Partition},
				event.Offset(p.FetchOffset))
		}
	}
}

// tellAll tells of a fetch that does not build on the one before: what it does not want is dropped.
func (f *fetchWait) tellAll(a *asks) {
	for _, w := range f.wanted {
		f.tell(a, keyOf(w), w.offset)
	}
	if len(a.at) <= len(f.wanted) && !slices.ContainsFunc(f.wanted, (*wanted).isUnknown) {
		return
	}
	wants := make(map[replica.PartitionKey]bool, len(f.wanted))
	for _, w := range f.wanted {
		wants[keyOf(w)] = true
	}
	var dropped []replica.PartitionKey
	for key := range a.at {
		if !wants[key] {
			dropped = append(dropped, key)
		}
	}
	slices.SortFunc(dropped, replica.PartitionKey.Compare)
	for _, key := range dropped {
		f.tellDropped(a, key)
	}
}

func (w *wanted) isUnknown() bool { return w.unknownID }

func (f *fetchWait) tell(a *asks, key replica.PartitionKey, offset event.Offset) {
	if before, known := a.at[key]; known && before == offset || key.Topic == "" {
		return
	}
	a.at[key] = offset
	event.FetchPositionChanged{Connection: f.call.From, Topic: key.Topic, Partition: key.Index,
		Offset: offset}.Emit(f.b.env.Events, event.RuleNone)
}

func (f *fetchWait) tellDropped(a *asks, key replica.PartitionKey) {
	if _, known := a.at[key]; !known {
		return
	}
	delete(a.at, key)
	event.FetchPartitionDropped{Connection: f.call.From, Topic: key.Topic, Partition: key.Index}.
		Emit(f.b.env.Events, event.RuleNone)
}
