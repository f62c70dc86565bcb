package audit

import "highwater/cluster/event"

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
	if other, owned := owners[k]; owned && other != node {
		a.blame("group.one-owner", "nodes %d and %d both own %s-%d in generation %d of group %s",
			other, node, e.Topic, e.Partition, e.Generation, e.Group)
	}
	owners[k] = node
}
