package audit

import (
	"strings"

	"highwater/cluster/event"
)

const instanceSetting = "group.instance.id="

// instance notes which static member of a group a client is.
func (a *Auditor) instance(node event.NodeID, e event.ClientStarted) {
	delete(a.instances, node)
	for setting := range strings.FieldsSeq(e.Settings) {
		if id, ok := strings.CutPrefix(setting, instanceSetting); ok {
			a.instances[node] = e.Group + "/" + id
		}
	}
}

// generationsKept bounds how many generations of a group are remembered.
const generationsKept = 8

// assigned checks that a partition has one owner in a generation of its group.
func (a *Auditor) assigned(node event.NodeID, e event.PartitionAssigned) {
	if e.Generation < 0 {
		return // by hand: whoever does that answers for it
	}
	g := generation{e.Group, e.Generation}
	owners := a.owners[g]
	if owners == nil {
		owners = map[key]event.NodeID{}
		a.owners[g] = owners
		delete(a.owners, generation{e.Group, e.Generation - generationsKept})
	}
	k := key{topic: e.Topic, index: e.Partition}
	// A process that takes over the instance id of another one has its partitions without a
	// rebalance; the other one learns of it with its next heartbeat.
	isTaken := a.instances[node] != "" && a.instances[node] == a.instances[owners[k]]
	if other, owned := owners[k]; owned && other != node && !isTaken {
		a.blame("group.one-owner", "nodes %d and %d both own %s-%d in generation %d of group %s",
			other, node, e.Topic, e.Partition, e.Generation, e.Group)
	}
	owners[k] = node
}
