package event

// Rule names which rule of Kafka's fired. The zero Rule says that none is worth naming.
type Rule uint16

// The rules. Their order is not part of any format: traces carry names.
const (
	RuleNone Rule = iota
	RuleHighWatermarkMinOfIsr
	RuleHighWatermarkFromLeader
	RuleHighWatermarkFrozenUnderMinIsr
	RuleNotEnoughReplicas
	RuleNotEnoughReplicasAfterAppend
	RuleAcksAllWaitsForHighWatermark
	RuleAcksOneAfterLeaderAppend
	RuleAcksZeroAtOnce
	RuleIsrShrinkLag
	RuleIsrShrinkFenced
	RuleIsrExpandCaughtUp
	RuleIsrOnlyByController
	RuleElectionInAssignmentOrder
	RuleElectionFromElr
	RuleElectionLastKnownLeader
	RuleElectionUnclean
	RuleElectionPreferred
	RuleNoLeader
	RuleSessionTimeout
	RuleUncleanShutdown
	RuleBrokerEpochFencing
	RuleControlledShutdown
	RuleCaughtUpWithMetadata
	RuleTruncateToEndOfEpoch
	RuleTruncateToHighWatermark
	RuleTruncateTornTail
	RuleLeaderEpochBump
	RuleRollBySize
	RuleRollByTime
	RuleRollByIndex
	RuleRetentionTime
	RuleRetentionSize
	RuleRetentionStartOffset
	RuleDuplicateOfLastFive
	RuleSequenceGap
	RuleProducerEpochFencing
	RuleElectionTimeout
	RuleQuorumMajority
	RuleDiskFailClosed
	RuleLongPoll
	RuleReplicaPulls
	RuleGroupInitialDelay
	RuleGroupRebalanceTimeout
	RuleGroupSessionTimeout
	RuleGroupAssignmentStored
	RuleOffsetCommitted
	RuleCleanerLastValue
	RuleCleanerDirtyRatio
	RuleCleanerMaxLag
	RuleBatchFull
	RuleLinger
	RuleDrainNow
	RuleDeliveryTimeout
	RuleMaxBlock
	RuleProducerEpochBump
	RuleAutoCommit
	RuleAutoOffsetReset
	RuleMaxPollInterval
	RuleTransactionEpochBump
	RuleTransactionFencing
	RuleTransactionTimeout
	RuleTransactionAllMarkers
	RuleLastStableOffset
	RuleUnverifiedTransaction
	ruleCount
)

// RuleRow is what is known about a rule: its name in traces, one sentence, and where it comes from.
type RuleRow struct {
	Name, Text, Source string
}

var ruleRows = [ruleCount]RuleRow{
	RuleNone: {"", "", ""},
	RuleHighWatermarkMinOfIsr: {"hw.min-of-isr",
		"The high watermark is the smallest log end offset of the in-sync replicas.", "KIP-101"},
	RuleHighWatermarkFromLeader: {"hw.from-leader",
		"A follower takes the leader's high watermark from a fetch response, capped at its own end.",
		"ReplicaFetcherThread"},
	RuleHighWatermarkFrozenUnderMinIsr: {"hw.frozen-under-min-isr",
		"The high watermark stands still while the ISR is smaller than min.insync.replicas.",
		"KIP-966"},
	RuleNotEnoughReplicas: {"produce.not-enough-replicas",
		"acks=all is refused before the append when the ISR is smaller than min.insync.replicas.",
		"Partition.appendRecordsToLeader"},
	RuleNotEnoughReplicasAfterAppend: {"produce.not-enough-replicas-after-append",
		"The record is committed, but the ISR shrank below min.insync.replicas meanwhile.",
		"Partition.checkEnoughReplicasReachOffset"},
	RuleAcksAllWaitsForHighWatermark: {"acks.all",
		"acks=all answers once the high watermark has passed the last record.", "DelayedProduce"},
	RuleAcksOneAfterLeaderAppend: {"acks.1",
		"acks=1 answers after the leader's own append.", "ReplicaManager"},
	RuleAcksZeroAtOnce: {"acks.0", "acks=0 gets no answer at all.", "KafkaApis"},
	RuleIsrShrinkLag: {"isr.shrink-lag",
		"A follower that has not caught up for replica.lag.time.max.ms leaves the ISR.",
		"Partition.maybeShrinkIsr"},
	RuleIsrShrinkFenced: {"isr.shrink-fenced",
		"A broker that is fenced or shuts down is taken out of every ISR.", "ReplicationControlManager"},
	RuleIsrExpandCaughtUp: {"isr.expand-caught-up",
		"A follower at the high watermark, unfenced and of the current broker epoch, may rejoin.",
		"KIP-903"},
	RuleIsrOnlyByController: {"isr.only-by-controller",
		"The leader proposes an ISR; it is one once the controller has committed it.", "KIP-497"},
	RuleElectionInAssignmentOrder: {"election.assignment-order",
		"The first live replica of the assignment that is in the ISR leads.",
		"PartitionChangeBuilder"},
	RuleElectionFromElr: {"election.from-elr",
		"With an empty ISR a live eligible leader replica leads.", "KIP-966"},
	RuleElectionLastKnownLeader: {"election.last-known-leader",
		"ISR and ELR are empty, so whoever led last leads again, although it may lack records.",
		"KIP-966"},
	RuleElectionUnclean: {"election.unclean",
		"No safe replica lives; unclean.leader.election.enable, or who asked, takes any that lives.",
		"KIP-106"},
	RuleElectionPreferred: {"election.preferred",
		"Leadership returns to the first replica of the assignment.", "KIP-460"},
	RuleNoLeader: {"election.nobody",
		"No live replica may lead, so the partition is offline.", "PartitionChangeBuilder"},
	RuleSessionTimeout: {"broker.session-timeout",
		"No heartbeat for broker.session.timeout.ms.", "BrokerHeartbeatManager"},
	RuleUncleanShutdown: {"broker.unclean-shutdown",
		"A broker that registers without its last epoch may have lost its tail.", "KIP-966"},
	RuleBrokerEpochFencing: {"broker.epoch-fencing",
		"A new incarnation fences the old one before anything else.", "KIP-631"},
	RuleControlledShutdown: {"broker.controlled-shutdown",
		"A stopping broker hands its leaderships over first.", "KIP-631"},
	RuleCaughtUpWithMetadata: {"broker.caught-up-with-metadata",
		"A broker is unfenced once it has replayed its own registration.", "KIP-631"},
	RuleTruncateToEndOfEpoch: {"truncate.end-of-epoch",
		"A follower cuts its log where the leader says that its last epoch ended.",
		"KIP-101, KIP-279"},
	RuleTruncateToHighWatermark: {"truncate.high-watermark",
		"The rule before Kafka 0.11: cut the log at the own high watermark.", "KIP-101"},
	RuleTruncateTornTail: {"truncate.torn-tail",
		"After an unclean stop the log ends at its last valid batch.", "LogLoader"},
	RuleLeaderEpochBump: {"epoch.bump", "Every election begins a leader epoch.", "KIP-101"},
	RuleRollBySize: {"roll.segment-bytes", "The batch does not fit below segment.bytes.",
		"LogSegment.shouldRoll"},
	RuleRollByTime: {"roll.segment-ms", "The segment's records span more than segment.ms.",
		"LogSegment.shouldRoll"},
	RuleRollByIndex: {"roll.index-full", "An index of the segment is full.",
		"LogSegment.shouldRoll"},
	RuleRetentionTime: {"retention.ms", "Every record of the segment is older than retention.ms.",
		"UnifiedLog.deleteOldSegments"},
	RuleRetentionSize: {"retention.bytes", "The partition is larger than retention.bytes.",
		"UnifiedLog.deleteOldSegments"},
	RuleRetentionStartOffset: {"retention.log-start-offset",
		"The segment ends below the log start offset.", "UnifiedLog.deleteOldSegments"},
	RuleDuplicateOfLastFive: {"idempotence.duplicate",
		"The batch's sequence is one of the producer's last five, so it is there already.",
		"KIP-98"},
	RuleSequenceGap: {"idempotence.sequence-gap",
		"The batch does not follow the producer's last sequence.", "KIP-98"},
	RuleProducerEpochFencing: {"idempotence.epoch-fencing",
		"A producer with an older epoch may not write.", "KIP-98"},
	RuleElectionTimeout: {"quorum.election-timeout",
		"A controller that hears from no leader campaigns.", "Raft"},
	RuleQuorumMajority: {"quorum.majority",
		"A metadata record counts once a majority of the voters stored it.", "Raft, KIP-595"},
	RuleDiskFailClosed: {"disk.fail-closed",
		"After the first failed write or sync nothing more is written to that directory.",
		"LogDirFailureChannel"},
	RuleLongPoll: {"fetch.long-poll",
		"A fetch with nothing to return waits for data or for its time to pass.", "DelayedFetch"},
	RuleReplicaPulls: {"replica.pulls",
		"A follower's fetch offset says what it has; nobody pushes and nothing else tells.",
		"Partition.updateFollowerFetchState"},
	RuleGroupInitialDelay: {"group.initial-delay",
		"An empty group waits group.initial.rebalance.delay.ms for more members.", "KIP-134"},
	RuleGroupRebalanceTimeout: {"group.rebalance-timeout",
		"Who has not joined or synced within the rebalance timeout is out.", "KIP-62"},
	RuleGroupSessionTimeout: {"group.session-timeout",
		"Who is not heard from for session.timeout.ms is out.", "ClassicGroup"},
	RuleGroupAssignmentStored: {"group.assignment-stored",
		"Members get their assignments once these are committed.", "GroupMetadataManager"},
	RuleCleanerLastValue: {"cleaner.last-value",
		"Compaction keeps the newest record of each key; a deletion goes after its horizon.",
		"KIP-534"},
	RuleCleanerDirtyRatio: {"cleaner.dirty-ratio",
		"The never compacted part of the log is larger than min.cleanable.dirty.ratio.",
		"LogCleanerManager"},
	RuleCleanerMaxLag: {"cleaner.max-lag",
		"A record has waited longer than max.compaction.lag.ms.", "KIP-354"},
	RuleOffsetCommitted: {"group.offset-under-high-watermark",
		"An offset is committed once the high watermark has passed its record.",
		"CoordinatorRuntime"},
	RuleBatchFull: {"producer.batch-full",
		"A batch that has no room for another record is sent without waiting.", "batch.size"},
	RuleLinger: {"producer.linger",
		"A batch is sent once linger.ms have passed since it was begun, full or not.", "linger.ms"},
	RuleDrainNow: {"producer.drain-now",
		"A flush, a close, the end of a transaction or a full buffer sends every batch at once.",
		"RecordAccumulator.ready"},
	RuleDeliveryTimeout: {"producer.delivery-timeout",
		"delivery.timeout.ms after a batch was begun the producer gives it up.", "KIP-91"},
	RuleMaxBlock: {"producer.max-block",
		"send() fails when it has waited max.block.ms for room or for metadata.", "BufferPool"},
	RuleProducerEpochBump: {"producer.epoch-bump",
		"An idempotent producer that cannot know what was appended goes on in a new epoch.", "KIP-360"},
	RuleAutoCommit: {"consumer.auto-commit",
		"poll() commits what earlier polls returned when auto.commit.interval.ms have passed.",
		"ConsumerCoordinator.maybeAutoCommitOffsetsAsync"},
	RuleAutoOffsetReset: {"consumer.auto-offset-reset",
		"Without a valid committed offset the position is where auto.offset.reset says.",
		"OffsetFetcher.resetPositionsIfNeeded"},
	RuleMaxPollInterval: {"consumer.max-poll-interval",
		"A consumer that has not polled for max.poll.interval.ms leaves its group.", "KIP-62"},
	RuleTransactionEpochBump: {"txn.epoch-bump",
		"Every transaction ends with the next producer epoch, so a late write is refused.", "KIP-890"},
	RuleTransactionFencing: {"txn.fencing",
		"A second producer with the same transactional.id ends the first one's transaction.", "KIP-98"},
	RuleTransactionTimeout: {"txn.timeout",
		"A transaction that is open longer than transaction.timeout.ms is aborted.", "KIP-98"},
	RuleTransactionAllMarkers: {"txn.all-markers",
		"A transaction is complete once every partition of it has its marker.", "KIP-98"},
	RuleLastStableOffset: {"lso.first-unstable",
		"read_committed sees nothing at or above the first transaction whose end is not committed.",
		"KIP-98"},
	RuleUnverifiedTransaction: {"txn.verification",
		"A batch of a transaction that its coordinator does not know of is refused.", "KIP-890"},
}

// String is the rule's name in traces.
func (r Rule) String() string { return r.Row().Name }

// Row returns what is known about the rule; unknown rules read as none.
func (r Rule) Row() RuleRow {
	if r >= ruleCount {
		return RuleRow{}
	}
	return ruleRows[r]
}

// Rules lists every rule but RuleNone.
func Rules() []RuleRow { return ruleRows[1:] }

// ParseRule finds a rule by its name in traces; names it does not know read as RuleNone.
func ParseRule(name string) Rule {
	for i, row := range ruleRows {
		if row.Name == name {
			return Rule(i)
		}
	}
	return RuleNone
}
