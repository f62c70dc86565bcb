package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

const messageUnknownTopic = "This server does not host this topic-partition."

// deleteTopics removes topics, named in versions up to 5, by name or id from 6 on.
func (a *active) deleteTopics(call *world.Call, req *kmsg.DeleteTopicsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	ch := a.decide()
	wanted := req.Topics
	for _, name := range req.TopicNames {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		wanted = append(wanted, t)
	}
	for _, w := range wantedOnce(ch.image, wanted, resp) {
		answer := kmsg.NewDeleteTopicsResponseTopic()
		answer.Topic, answer.TopicID = w.Topic, w.TopicID
		t, e := findTopic(ch.image, w)
		if e != nil {
			answer.ErrorCode, answer.ErrorMessage = e.code, e.text()
		} else {
			answer.Topic, answer.TopicID = &t.Name, t.ID
			ch.add(&metadata.RemoveTopicRecord{TopicID: t.ID}, event.RuleNone)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	a.commit(ch, call, func() any { return resp })
}

// wantedOnce drops topics that the request has more than once, by the same or by different means,
// and answers each of them once: with its name where it was named, else with its id.
func wantedOnce(image *metadata.Image, wanted []kmsg.DeleteTopicsRequestTopic,
	resp *kmsg.DeleteTopicsResponse) []kmsg.DeleteTopicsRequestTopic {
	key := func(w *kmsg.DeleteTopicsRequestTopic) string {
		if t, _ := findTopic(image, *w); t != nil {
			return t.Name
		}
		if w.Topic != nil {
			return *w.Topic
		}
		return event.UUID(w.TopicID).String()
	}
	counts := map[string]int{}
	for i := range wanted {
		counts[key(&wanted[i])]++
	}
	var once []kmsg.DeleteTopicsRequestTopic
	for i := range wanted {
		w := &wanted[i]
		name := key(w)
		if counts[name] == 1 {
			once = append(once, *w)
			continue
		}
		if e := refuseTwice(counts, name); e != nil {
			answer := kmsg.NewDeleteTopicsResponseTopic()
			answer.Topic, answer.TopicID = w.Topic, w.TopicID
			answer.ErrorCode, answer.ErrorMessage = e.code, e.text()
			resp.Topics = append(resp.Topics, answer)
		}
	}
	return once
}

func findTopic(image *metadata.Image, w kmsg.DeleteTopicsRequestTopic) (
	*metadata.Topic, *answerError,
) {
	id := event.UUID(w.TopicID)
	switch {
	case w.Topic != nil && !id.IsZero():
		return nil, refuse(kerr.InvalidRequest.Code, "You may not specify both topic name and topic id.")
	case w.Topic != nil:
		if t := image.TopicByName(*w.Topic); t != nil {
			return t, nil
		}
		return nil, refuse(kerr.UnknownTopicOrPartition.Code, messageUnknownTopic)
	case id.IsZero():
		return nil, refuse(kerr.InvalidRequest.Code, "Neither topic name nor id were specified.")
	}
	if t := image.TopicByID(id); t != nil {
		return t, nil
	}
	return nil, refuse(kerr.UnknownTopicID.Code, "This server does not host this topic ID.")
}

// createPartitions adds partitions to topics.
func (a *active) createPartitions(call *world.Call, req *kmsg.CreatePartitionsRequest) {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	ch := a.decide()
	names := map[string]int{}
	for _, t := range req.Topics {
		names[t.Topic]++
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if names[t.Topic] == answeredTwice {
			continue
		}
		answer := kmsg.NewCreatePartitionsResponseTopic()
		answer.Topic = t.Topic
		e := refuseTwice(names, t.Topic)
		if e == nil {
			e = a.addPartitions(ch, t)
		}
		if e != nil {
			answer.ErrorCode, answer.ErrorMessage = e.code, e.text()
		}
		resp.Topics = append(resp.Topics, answer)
	}
	a.conclude(ch, call, resp, req.ValidateOnly)
}

func (a *active) addPartitions(ch *changes, req *kmsg.CreatePartitionsRequestTopic) *answerError {
	t := ch.image.TopicByName(req.Topic)
	if t == nil {
		return refuse(kerr.UnknownTopicOrPartition.Code, "")
	}
	present, wanted := len(t.Partitions), int(req.Count)
	switch {
	case wanted == present:
		return refuse(kerr.InvalidPartitions.Code,
			fmt.Sprintf("Topic already has %d partition(s).", present))
	case wanted < present:
		return refuse(kerr.InvalidPartitions.Code, fmt.Sprintf("The topic %s currently has %d "+
			"partition(s); %d would not be an increase.", req.Topic, present, wanted))
	case wanted-present > partitionsOfRequestMax:
		return refuse(kerr.InvalidPartitions.Code, fmt.Sprintf(
			"Number of partitions is larger than the maximum of %d.", partitionsOfRequestMax))
	}
	factor := len(t.Partitions[0].Replicas)
	assignments, e := a.furtherAssignments(ch.image, req, wanted-present, factor)
	if e == nil {
		e = a.checkRoom(ch.image, assignments)
	}
	if e != nil {
		return e
	}
	var records []*metadata.PartitionRecord
	for i, replicas := range assignments {
		p, e := newPartition(ch.image, t.ID, int32(present+i), replicas)
		if e != nil {
			return e
		}
		records = append(records, p)
	}
	for _, p := range records {
		ch.add(p, event.RuleNone)
	}
	return nil
}

func (a *active) furtherAssignments(image *metadata.Image, req *kmsg.CreatePartitionsRequestTopic,
	more, factor int) ([][]event.NodeID, *answerError) {
	if req.Assignment == nil {
		return a.place(image, more, factor)
	}
	if len(req.Assignment) != more {
		return nil, refuse(kerr.InvalidReplicaAssignment.Code, fmt.Sprintf("Attempted to add %d "+
			"additional partition(s), but only %d assignment(s) were specified.",
			more, len(req.Assignment)))
	}
	var assignments [][]event.NodeID
	for _, given := range req.Assignment {
		replicas, e := checkReplicas(image, given.Replicas, factor)
		if e != nil {
			return nil, e
		}
		assignments = append(assignments, replicas)
	}
	return assignments, nil
}
