package group

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
)

// CheckCommitInTransaction says whether somebody may commit for a group within a transaction. Unlike
// another commit it may come while the group rebalances, and from a producer that names no member.
func (c *Coordinator) CheckCommitInTransaction(who Committer) int16 {
	g := c.find(who.Group)
	switch {
	case g == nil && who.Generation < 0:
		return 0 // the commit makes the group
	case g == nil:
		return kerr.IllegalGeneration.Code
	case who.Generation < 0 && (g.state == Empty || who.Member == "" && who.Instance == nil):
		return 0
	}
	if code := g.check(who.Member, who.Instance); code != 0 {
		return code
	}
	if who.Generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	return 0
}

// CommitInTransaction writes offsets that count once the producer's transaction is committed; done
// hears when they are in the log.
func (c *Coordinator) CommitInTransaction(group string, commits []Commit, producer int64, epoch int16,
	done func(code int16)) {
	records := make([]Record, 0, len(commits))
	for i := range commits {
		records = append(records, offsetRecord(group, commits[i].Partition, commits[i].Committed))
	}
	c.log.AppendInTransaction(records, producer, epoch, done)
}

// ReplayInTransaction takes over one committed record that waits for its transaction's end.
func (c *Coordinator) ReplayInTransaction(producer int64, r Record) error {
	d, known, err := decode(r)
	if err != nil || !known || !d.isOffset || d.offset == nil {
		return err
	}
	g := c.findOrCreate(d.group)
	if g.open[producer] == nil {
		g.open[producer] = map[Partition]Committed{}
	}
	c.replayed++
	offset := *d.offset
	offset.order = c.replayed
	g.open[producer][d.partition] = offset
	return nil
}

// EndTransaction takes over the end of a producer's transaction: its offsets count, unless a later
// commit is there already, or are dropped.
func (c *Coordinator) EndTransaction(producer int64, commit bool) {
	for _, g := range slices.Clone(c.ordered) {
		offsets, has := g.open[producer]
		if !has {
			continue
		}
		delete(g.open, producer)
		for _, p := range sortedPartitions(offsets) {
			old, known := g.offsets[p]
			if commit && (!known || old.order < offsets[p].order) {
				c.settle(g, p, offsets[p], Author{})
			}
		}
	}
}

func sortedPartitions(offsets map[Partition]Committed) []Partition {
	list := make([]Partition, 0, len(offsets))
	for p := range offsets {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Index, b.Index))
	})
	return list
}

// Unstable says whether an open transaction may yet change a group's offset of a partition.
func (c *Coordinator) Unstable(group string, p Partition) bool {
	g := c.find(group)
	if g == nil {
		return false
	}
	for _, offsets := range g.open {
		if _, has := offsets[p]; has {
			return true
		}
	}
	return false
}
