package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
)

// Committer is who commits offsets.
type Committer struct {
	Group      string
	Generation int32 // -1 for a simple consumer
	Member     string
	Instance   *string
	// Version is the request's: from 9 on an unknown group has an error of its own.
	Version int16
}

// Commit is one offset to commit.
type Commit struct {
	Partition Partition
	Committed Committed
}

// knownGroupsFrom is the version of OffsetCommit from which an unknown group is called that.
const knownGroupsFrom = 9

// CheckCommit says whether somebody may commit for a group; being heard from keeps a member alive.
func (c *Coordinator) CheckCommit(who Committer) int16 {
	g := c.find(who.Group)
	if g == nil {
		switch {
		case who.Generation < 0:
			return 0 // a simple consumer makes its group by committing
		case who.Version >= knownGroupsFrom:
			return kerr.GroupIDNotFound.Code
		}
		return kerr.IllegalGeneration.Code
	}
	if who.Generation < 0 && g.state == Empty {
		return 0
	}
	if who.Generation < 0 && who.Member == "" && who.Instance == nil {
		return kerr.UnknownMemberID.Code
	}
	if code := g.check(who.Member, who.Instance); code != 0 {
		return code
	}
	if who.Generation != g.generation {
		return kerr.IllegalGeneration.Code
	}
	if g.state == CompletingRebalance {
		return kerr.RebalanceInProgress.Code
	}
	m := g.member(who.Member)
	c.armSession(g, m, m.sessionTimeout)
	return 0
}

// Commit writes offsets of somebody who may; done hears when they are committed.
func (c *Coordinator) Commit(who Committer, commits []Commit, done func(code int16)) {
	records := make([]Record, 0, len(commits))
	for i := range commits {
		records = append(records, offsetRecord(who.Group, commits[i].Partition, commits[i].Committed))
	}
	c.log.Append(records, Author{Member: who.Member}, done)
}

// Offset is what a group has committed for a partition.
func (c *Coordinator) Offset(group string, p Partition) (Committed, bool) {
	g := c.find(group)
	if g == nil {
		return Committed{}, false
	}
	committed, ok := g.offsets[p]
	return committed, ok
}

// Offsets lists the partitions that a group has committed offsets for, by topic and index.
func (c *Coordinator) Offsets(group string) []Partition {
	g := c.find(group)
	if g == nil {
		return nil
	}
	return g.partitions()
}

func (g *group) partitions() []Partition { return sortedPartitions(g.offsets) }

// forgetOffset takes over a tombstone. What open transactions would commit goes, too.
func (g *group) forgetOffset(p Partition) {
	delete(g.offsets, p)
	for producer, offsets := range g.open {
		delete(offsets, p)
		if len(offsets) == 0 {
			delete(g.open, producer)
		}
	}
}

// CheckOffsetDelete says whether offsets of a group may be deleted at all.
func (c *Coordinator) CheckOffsetDelete(group string) int16 {
	g := c.find(group)
	if g == nil {
		return kerr.GroupIDNotFound.Code
	}
	if g.state != Empty && g.protocolType != consumerProtocol {
		return kerr.NonEmptyGroup.Code // who is not a consumer does not say what it reads
	}
	return 0
}

// Subscribed says whether members of the group consume the topic.
func (c *Coordinator) Subscribed(group, topic string) bool {
	g := c.find(group)
	return g != nil && g.subscribed(topic)
}

// DeleteOffsets writes tombstones for offsets of a group.
func (c *Coordinator) DeleteOffsets(group string, partitions []Partition, done func(code int16)) {
	records := make([]Record, 0, len(partitions))
	for _, p := range partitions {
		records = append(records, Record{Key: offsetRecordKey(group, p)})
	}
	if len(records) == 0 {
		done(0)
		return
	}
	c.log.Append(records, Author{}, done)
}

// Sweep writes tombstones for offsets of topics that are no longer there, those of open transactions
// included; exists says whether one is, by name and, unless that is zero, by id.
func (c *Coordinator) Sweep(exists func(topic string, id [16]byte) bool) {
	var records []Record
	for _, g := range c.ordered {
		gone := map[Partition]Committed{}
		for p, offset := range g.offsets {
			if !exists(p.Topic, offset.TopicID) {
				gone[p] = offset
			}
		}
		for _, offsets := range g.open {
			for p, offset := range offsets {
				if !exists(p.Topic, offset.TopicID) {
					gone[p] = offset
				}
			}
		}
		for _, p := range sortedPartitions(gone) {
			records = append(records, Record{Key: offsetRecordKey(g.id, p)})
		}
	}
	c.bury(records)
}

// buryBytesMax bounds a batch of tombstones well below what the topic takes.
const buryBytesMax = 64 << 10

// bury appends tombstones, of which each is true without the others: in as many batches as they
// take, since one that is too large would be refused, and again at each later attempt.
func (c *Coordinator) bury(records []Record) {
	for len(records) > 0 {
		n, bytes := 0, 0
		for n < len(records) && (n == 0 || bytes+len(records[n].Key) <= buryBytesMax) {
			bytes += len(records[n].Key)
			n++
		}
		c.log.Append(records[:n], Author{}, func(int16) {})
		records = records[n:]
	}
}

// Expire forgets offsets that nobody has used for their retention, and then groups without any.
func (c *Coordinator) Expire() {
	var records []Record
	for _, g := range c.ordered {
		kept := 0
		for _, p := range g.partitions() {
			if c.expired(g, p, g.offsets[p]) {
				records = append(records, Record{Key: offsetRecordKey(g.id, p)})
			} else {
				kept++
			}
		}
		if kept == 0 && g.state == Empty && len(g.pending) == 0 && len(g.open) == 0 {
			records = append(records, Record{Key: groupRecordKey(g.id)})
		}
	}
	c.bury(records)
}

// expired says whether an offset's time is over: counted from when a group of consumers became
// empty, and for a simple consumer, or a topic that nobody subscribes to any more, from the commit.
func (c *Coordinator) expired(g *group, p Partition, offset Committed) bool {
	now := c.env.UnixMilli()
	if offset.Expires >= 0 {
		return now >= offset.Expires
	}
	base := offset.Timestamp
	switch {
	case g.state == Empty && g.protocolType != "":
		base = max(base, g.since)
	case g.state == Stable && g.protocolType == consumerProtocol && !g.subscribed(p.Topic):
	case g.state != Empty:
		return false
	}
	return now-base >= c.settings.OffsetsRetention.Milliseconds()
}
