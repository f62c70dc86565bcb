package partition

import (
	"highwater/cluster/event"
	"highwater/cluster/record"
)

// TakeFetched appends what the leader sent and takes over its high watermark, which is as the
// leader knew it when it answered: one fetch behind. Batches of a newer epoch than the one this
// replica follows are left for later.
func (p *Partition) TakeFetched(batches []record.Buffer, leaderHighWatermark,
	leaderStart event.Offset) error {
	grew := false
	for _, b := range batches {
		h, err := record.ParseHeader(b.Bytes)
		if err != nil {
			return err
		}
		if event.Epoch(h.PartitionLeaderEpoch) > p.leaderEpoch {
			break
		}
		if err := p.append(b, h); err != nil {
			return err
		}
		grew = true
	}
	if grew {
		p.host.LogChanged(p)
	}
	if leaderStart > p.Log.LogStartOffset() && leaderStart <= p.Log.LogEndOffset() {
		if err := p.Log.AdvanceStart(leaderStart, event.RuleRetentionStartOffset); err != nil {
			return err
		}
	}
	if to := min(leaderHighWatermark, p.Log.LogEndOffset()); to > p.highWatermark {
		p.moveHighWatermark(to, event.RuleHighWatermarkFromLeader)
	}
	return nil
}

// append appends a batch, also the first one of an empty log that begins in the middle of it,
// because DeleteRecords took a part of that batch (UnexpectedAppendOffsetException in Partition).
func (p *Partition) append(b record.Buffer, h record.Header) error {
	base, start := event.Offset(h.BaseOffset), p.Log.LogStartOffset()
	if start != p.Log.LogEndOffset() || base >= start || start > event.Offset(h.LastOffset()) {
		return p.Log.AppendAsFollower(b, h)
	}
	if err := p.Log.TruncateFullyAndStartAt(base); err != nil {
		return err
	}
	if err := p.Log.AppendAsFollower(b, h); err != nil {
		return err
	}
	return p.Log.AdvanceStart(start, event.RuleRetentionStartOffset)
}

// LastFetchedEpoch is what a follower says of its log's end, so that the leader can tell it where
// they part. Before Kafka 0.11 it said nothing.
func (p *Partition) LastFetchedEpoch() event.Epoch {
	if p.Settings.TruncateToHW {
		return -1
	}
	return p.Log.LastEpoch()
}

// TruncateDiverged cuts the log where it left the leader's: epoch and end are what the leader
// knows of the epoch of this replica's last batch. The cut is the smaller of both logs' ends of
// that epoch; a replica that lacks the epoch cuts to the end of the next lower one it has and
// will be told again.
func (p *Partition) TruncateDiverged(epoch event.Epoch, end event.Offset) error {
	event.FollowerDiverged{Topic: p.Topic, Partition: p.Index, Leader: p.leader,
		FetchOffset: p.Log.LogEndOffset(), LastEpoch: p.Log.LastEpoch(), LeaderEpoch: epoch,
		EndOffset: end}.Emit(p.env.Events, event.RuleTruncateToEndOfEpoch)
	to := end
	if own, ownEnd, ok := p.Log.EndOffsetForEpoch(epoch); ok {
		to = min(end, ownEnd)
		if own != epoch {
			to = ownEnd
		}
	}
	return p.truncate(max(to, p.Log.LogStartOffset()), event.RuleTruncateToEndOfEpoch)
}

// OutOfRange handles a fetch offset outside the leader's log: a log that is too long is cut to the
// leader's end; one that ends before the leader's start begins anew there.
func (p *Partition) OutOfRange(leaderStart, leaderEnd event.Offset) error {
	if leaderEnd < p.Log.LogEndOffset() {
		return p.truncate(leaderEnd, event.RuleTruncateToEndOfEpoch)
	}
	if leaderStart > p.Log.LogEndOffset() {
		before := p.highWatermark
		if err := p.Log.TruncateFullyAndStartAt(leaderStart); err != nil {
			return err
		}
		p.highWatermark = leaderStart
		p.emitHighWatermark(before, event.RuleRetentionStartOffset)
	}
	return nil
}
