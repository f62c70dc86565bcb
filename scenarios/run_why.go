package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"highwater/viz/explain"
)

// whyCommands ask the recording and change nothing.
func whyCommands() []spec {
	return []spec{
		{name: "why", run: runWhy, arguments: []argument{
			{name: "what", kind: kindChoice, required: true, choices: explain.Subjects(),
				help: "high watermark, log end, in-sync replicas, leader, produces that wait for " +
					"their acknowledgement, fetches that wait"},
			{name: "partition", kind: kindPartition, required: true, help: "such as orders-0"}},
			help: "say why a value is what it is, why it has not moved yet, and from which events " +
				"that is known",
			example: "why hw orders-0"},
	}
}

// Asks says whether a step asks why, which takes a recording to answer.
func (s *Scenario) Asks() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Command.Name() == "why" })
}

// unexplained is an error of explain with what there is now; a topic of the past can be asked about too.
func (x *execution) unexplained(v value, err error) *Error {
	e := &Error{Kind: Refused, Position: v.position, Message: err.Error()}
	topics := x.config.Cluster.Topics()
	if !slices.Contains(topics, v.text) {
		return e.meant(v.text, topics)
	}
	if count := x.config.Cluster.PartitionCount(v.text); int(v.partition) >= count {
		e.Hint = fmt.Sprintf("%s has %s, counted from 0", v.text, counted(count, "partition"))
	}
	return e
}

// runWhy answers from the events up to the command. A run that keeps none goes on all the same: the
// question changes nothing.
func runWhy(x *execution) {
	if x.config.Recording == nil {
		x.ok("no events are kept here, so nothing can be explained")
		return
	}
	_, last := x.config.Recording.Range()
	partition := x.command.value("partition")
	answer, err := explain.Why(x.config.Recording, explain.Question{
		Of: x.command.value("what").text, Topic: partition.text, Partition: partition.partition,
		At: last})
	if err != nil {
		x.end(Result{}, x.unexplained(partition, err))
		return
	}
	lines := []string{answer.Title}
	for _, s := range answer.Why {
		lines = append(lines, s.Text)
	}
	for _, s := range answer.NotYet {
		lines = append(lines, "Not yet: "+s.Text)
	}
	x.end(Result{Text: strings.Join(lines, "\n"), Value: answer}, nil)
}
