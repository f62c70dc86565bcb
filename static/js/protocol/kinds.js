// Generated from cluster/event: the kinds, the rules and the errors.
const words = { "@": "{topic}-{partition}", "%": "{node}", "&": "INVALID_", "+": "DELEGATION_TOKEN_", "!": "UNSUPPORTED_", "^": "ransaction", "$": "offset", "*": "AUTHORIZATION_FAILED", "?": "NOT_FOUND", "<": " the ", "§": "producer" };
const spelled = (text) => text.replace(/[@%&+!^$*?<§]/g, (sign) => words[sign]);
const each = (rows, make) => Object.fromEntries(
	rows.trim().split("\n").map((row) => row.split("|")).map(([name, ...row]) => [name, make(row)]));
const area = (area, rows) => each(spelled(rows), ([text]) =>
	text[0] === "~" ? { area, class: "detail", narration: text.slice(1) } :
	{ area, class: "fact", narration: text });
const said = (rows) => Object.assign(Object.create(null), each(spelled(rows), ([text]) => text));

export const kinds = {
...area("world", `
WorldStarted|A cluster begins, with seed {seed}.
NodeStarted|% starts, incarnation {incarnation}.
NodeStopped|% is gone ({how}).
NodePaused|% stands still: it handles nothing.
NodeResumed|% goes on with what waited for it.
LinkCut|The link from {from} to {to} is cut.
LinkHealed|The link from {from} to {to} passes messages again.
LinkDelayed|Messages from {from} to {to} now take {latency}.
NodeClockChanged|%'s clock is off by {$}, at {ratePermille}× speed.
DiskFaultSet|%'s disk fault is now: {fault}.
CommandRan|Command: {command}
CommandFailed|Failed: {command}: {error}
TimerArmed|~% sets its timer {name}.
TimerFired|~%'s timer {name} fires.
TimerCancelled|~% cancels its timer {name}.
MessageSent|~% sends {api} to {to}.
MessageDelivered|~% receives a message from {from}.
MessageDropped|A message from {from} to {to} will not arrive: {reason}.
ClientConnected|A client connects to % from {address}.
ClientIdentified|The client calls itself {clientId}.
ClientDisconnected|A client's connection to % ends: {reason}.
RequestReceived|~% receives {api} version {version}.
PartitionReceived|~The {api} at % brings {#records} records for @.
PartitionAnswered|~% answers {api} for @: {errorCode}.
ResponseSent|~% answers {api}: {errorCode}.
FetchPositionChanged|~{connection} asks % for @ from $ {#$} on.
FetchPartitionDropped|~{connection} no longer asks % for @.
WaitBegan|~A {what} waits at % until @ has all below $ {#needs}.
WaitEnded|~What waited at % ends: {outcome}.
`),
...area("log", `
LogOpened|% opens @: it ends at $ {#logEndOffset}.
BatchAppended|~% appends {#records} records to @ at $ {#baseOffset}.
RecordDescribed|~Offset {#$} of @ holds {key}.
SegmentRolled|% begins segment {#baseOffset} of @.
SegmentDeleted|% deletes segment {#baseOffset} of @.
LogStartOffsetMoved|On %, @ now starts at $ {#after}.
LogTruncated|% cuts @ from {#before} back to {#after}.
LeaderEpochStarted|% notes that epoch {leaderEpoch} of @ starts at {#startOffset}.
LogSynced|~% has @ on disk up to $ {#upTo}.
DuplicateSuppressed|% recognises a retry: @ has it at $ {#baseOffset}.
AppendRefused|% refuses a batch for @, {errorCode}: {detail}.
CleanerPassBegan|% begins to compact @ below $ {#upTo}.
SegmentsSwapped|% replaces {segments} segments of @ from {#baseOffset} on: {recordsBefore} records before, {records} after.
CleanerPassEnded|% has compacted @ ({outcome}): {recordsBefore} records before, {recordsAfter} after.
LogDirFailed|%'s log directory failed at {operation}: {error}.
`),
...area("replica", `
BecameLeader|% leads @ in epoch {leaderEpoch}.
BecameFollower|% follows {leader} for @ in epoch {leaderEpoch}.
ReplicaRemoved|% no longer holds @.
ReplicaFetched|~% learns from its fetch that {replica} has @ up to {#$}.
HighWatermarkMoved|~On %<high watermark of @ moves from {#before} to {#after}.
IsrChangeProposed|% asks<controller for ISR {proposed} of @.
IsrChangeRefused|The controller refuses %'s ISR for @: {errorCode}.
IsrChanged|The ISR of @ is now {isr}.
FollowerDiverged|{leader} tells % that epoch {leaderEpoch} of @ ended at {#endOffset}.
`),
...area("metadata", `
VoteStored|% stores its vote for {candidate} in term {term}.
ControllerStateChanged|% is {state} in term {term}.
MetadataStored|~% has<metadata log on disk up to {#logEndOffset}.
MetadataCommitted|~The metadata log is committed up to {#highWatermark}.
MetadataReplayed|~% has replayed<metadata log up to {#$}.
BrokerRegistered|{broker} is registered with broker epoch {brokerEpoch}.
BrokerFenced|{broker} is fenced:<cluster counts it as absent.
BrokerUnfenced|{broker} is unfenced.
BrokerInControlledShutdown|{broker} hands over its leaderships.
TopicCreated|Topic {topic} is created: {partitions} partitions, {replicationFactor} copies each.
TopicDeleted|Topic {topic} is deleted.
PartitionChanged|@: leader {leader}, epoch {leaderEpoch}, ISR {isr}.
ConfigChanged|{resource}: {name} is now {value}.
ProducerIDsAllocated|{broker} gets § ids {first} to {next},<last not included.
RecordingTruncated|The recorder is full: events before {from} are no longer kept.
`),
...area("group", `
GroupStateChanged|Group {group} is {after}, generation {generation}: {reason}.
GroupMemberJoined|Member {member} joins group {group}: {reason}.
GroupMemberLeft|Member {member} leaves group {group}: {reason}.
RebalanceBegan|Group {group} rebalances: {reason}.
RebalanceEnded|Group {group} has rebalanced, generation {generation}: {outcome}.
OffsetCommitted|~Group {group} has committed {#$} for @.
`),
...area("client", `
ClientStarted|The {role} {name} begins.
RecordsBuffered|~% puts {added} records into its batch for @, which then has {#records}.
RecordsNotBuffered|% could not even buffer {#records} records for {topic}: {reason}.
SendBlocked|% stands still and waits for {what}.
SendUnblocked|% no longer waits: {outcome}.
BatchDrained|~% sends a batch of {#records} records for @ to {to}.
BatchRequeued|% will send its batch for @ again: {reason}.
BatchBelieved|~% counts {#records} records for @ as {belief}.
ProducerIDChanged|% sends as § {§Id}, epoch {§Epoch}: {reason}.
ClientTransactionChanged|%'s t^ is now {after}: {reason}.
MembershipChanged|% is {state} in group {group}: {reason}.
PartitionAssigned|% now reads @.
PartitionRevoked|% no longer reads @: {reason}.
PositionMoved|% will read @ from $ {#after}: {reason}.
RecordsPolled|~% polls {#records} records of @ from $ {#before}.
PositionCommitted|~% hears that group {group} has $ {#$} of @ committed.
CommitFailed|% could not commit its $s: {reason}.
`),
...area("txn", `
TransactionStateChanged|T^ {t^alId} is {after}, § epoch {§Epoch}: {reason}.
TransactionPartitionAdded|@ is part of t^ {t^alId}.
TransactionBegan|~On %, § {§Id} begins a t^ in @ at {#firstOffset}.
TransactionMarkerWritten|% has {commit} marker at $ {#$} of @.
LastStableOffsetMoved|~On %<last stable $ of @ moves from {#before} to {#after}.
`),
};

/** What narrates a kind in a state of its field after, or of that and its reason. */
export const states = {
MessageSent: said(`
answer|% answers {to}: {api}.
`),
ResponseSent: said(`
/acks=0|% answers nothing to a {api} with acks=0.
`),
LogTruncated: said(`
same|% cuts {bytes} torn bytes off @, which ends at {#after}.
`),
ClientTransactionChanged: said(`
initializing|% asks its coordinator for a § id and an epoch.
ready/committed|%'s t^ is committed;<next one may begin.
ready/aborted|%'s t^ is aborted;<next one may begin.
ready/nothing took part|%'s t^ is over: nothing took part in it.
ready|% has its § id, and may begin a t^.
in transaction|% begins a t^.
ending/committed|% asks its coordinator to commit<t^.
ending/aborted|% asks its coordinator to abort<t^.
must abort|% can only abort its t^: {reason}.
fatal|% can send no more: it was answered {reason}.
`),
};

export const rules = each(spelled(`
hw.min-of-isr|The high watermark is<smallest log end $ of<in-sync replicas.|KIP-101
hw.from-leader|A follower takes<leader's high watermark from a fetch response, capped at its own end.|ReplicaFetcherThread
hw.frozen-under-min-isr|The high watermark stands still while<ISR is smaller than min.insync.replicas.|KIP-966
produce.not-enough-replicas|acks=all is refused before<append when<ISR is smaller than min.insync.replicas.|Partition.appendRecordsToLeader
produce.not-enough-replicas-after-append|The record is committed, but<ISR shrank below min.insync.replicas meanwhile.|Partition.checkEnoughReplicasReachOffset
acks.all|acks=all answers once<high watermark has passed<last record.|DelayedProduce
acks.1|acks=1 answers after<leader's own append.|ReplicaManager
acks.0|acks=0 gets no answer at all.|KafkaApis
isr.shrink-lag|A follower that has not caught up for replica.lag.time.max.ms leaves<ISR.|Partition.maybeShrinkIsr
isr.shrink-fenced|A broker that is fenced or shuts down is taken out of every ISR.|ReplicationControlManager
isr.expand-caught-up|A follower at<high watermark, unfenced and of<current broker epoch, may rejoin.|KIP-903
isr.only-by-controller|The leader proposes an ISR; it is one once<controller has committed it.|KIP-497
election.assignment-order|The first live replica of<assignment that is in<ISR leads.|PartitionChangeBuilder
election.from-elr|With an empty ISR a live eligible leader replica leads.|KIP-966
election.last-known-leader|ISR and ELR are empty, so whoever led last leads again, although it may lack records.|KIP-966
election.unclean|No safe replica lives; unclean.leader.election.enable, or who asked, takes any that lives.|KIP-106
election.preferred|Leadership returns to<first replica of<assignment.|KIP-460
election.nobody|No live replica may lead, so<partition is offline.|PartitionChangeBuilder
broker.session-timeout|No heartbeat for broker.session.timeout.ms.|BrokerHeartbeatManager
broker.unclean-shutdown|A broker that registers without its last epoch may have lost its tail.|KIP-966
broker.epoch-fencing|A new incarnation fences<old one before anything else.|KIP-631
broker.controlled-shutdown|A stopping broker hands its leaderships over first.|KIP-631
broker.caught-up-with-metadata|A broker is unfenced once it has replayed its own registration.|KIP-631
truncate.end-of-epoch|A follower cuts its log where<leader says that its last epoch ended.|KIP-101, KIP-279
truncate.high-watermark|The rule before Kafka 0.11: cut<log at<own high watermark.|KIP-101
truncate.torn-tail|After an unclean stop<log ends at its last valid batch.|LogLoader
epoch.bump|Every election begins a leader epoch.|KIP-101
roll.segment-bytes|The batch does not fit below segment.bytes.|LogSegment.shouldRoll
roll.segment-ms|The segment's records span more than segment.ms.|LogSegment.shouldRoll
roll.index-full|An index of<segment is full.|LogSegment.shouldRoll
retention.ms|Every record of<segment is older than retention.ms.|UnifiedLog.deleteOldSegments
retention.bytes|The partition is larger than retention.bytes.|UnifiedLog.deleteOldSegments
retention.log-start-offset|The segment ends below<log start $.|UnifiedLog.deleteOldSegments
idempotence.duplicate|The batch's sequence is one of<§'s last five, so it is there already.|KIP-98
idempotence.sequence-gap|The batch does not follow<§'s last sequence.|KIP-98
idempotence.epoch-fencing|A § with an older epoch may not write.|KIP-98
quorum.election-timeout|A controller that hears from no leader campaigns.|Raft
quorum.majority|A metadata record counts once a majority of<voters stored it.|Raft, KIP-595
disk.fail-closed|After<first failed write or sync nothing more is written to that directory.|LogDirFailureChannel
fetch.long-poll|A fetch with nothing to return waits for data or for its time to pass.|DelayedFetch
replica.pulls|A follower's fetch $ says what it has; nobody pushes and nothing else tells.|Partition.updateFollowerFetchState
group.initial-delay|An empty group waits group.initial.rebalance.delay.ms for more members.|KIP-134
group.rebalance-timeout|Who has not joined or synced within<rebalance timeout is out.|KIP-62
group.session-timeout|Who is not heard from for session.timeout.ms is out.|ClassicGroup
group.assignment-stored|Members get their assignments once these are committed.|GroupMetadataManager
group.offset-under-high-watermark|An $ is committed once<high watermark has passed its record.|CoordinatorRuntime
cleaner.last-value|Compaction keeps<newest record of each key; a deletion goes after its horizon.|KIP-534
cleaner.dirty-ratio|The never compacted part of<log is larger than min.cleanable.dirty.ratio.|LogCleanerManager
cleaner.max-lag|A record has waited longer than max.compaction.lag.ms.|KIP-354
producer.batch-full|A batch that has no room for another record is sent without waiting.|batch.size
producer.linger|A batch is sent once linger.ms have passed since it was begun, full or not.|linger.ms
producer.drain-now|A flush, a close,<end of a t^ or a full buffer sends every batch at once.|RecordAccumulator.ready
producer.delivery-timeout|delivery.timeout.ms after a batch was begun<§ gives it up.|KIP-91
producer.max-block|send() fails when it has waited max.block.ms for room or for metadata.|BufferPool
producer.epoch-bump|An idempotent § that cannot know what was appended goes on in a new epoch.|KIP-360
consumer.auto-commit|poll() commits what earlier polls returned when auto.commit.interval.ms have passed.|ConsumerCoordinator.maybeAutoCommitOffsetsAsync
consumer.auto-offset-reset|Without a valid committed $<position is where auto.$.reset says.|OffsetFetcher.resetPositionsIfNeeded
consumer.max-poll-interval|A consumer that has not polled for max.poll.interval.ms leaves its group.|KIP-62
txn.epoch-bump|Every t^ ends with<next § epoch, so a late write is refused.|KIP-890
txn.fencing|A second § with<same t^al.id ends<first one's t^.|KIP-98
txn.timeout|A t^ that is open longer than t^.timeout.ms is aborted.|KIP-98
txn.all-markers|A t^ is complete once every partition of it has its marker.|KIP-98
lso.first-unstable|read_committed sees nothing at or above<first t^ whose end is not committed.|KIP-98
txn.verification|A batch of a t^ that its coordinator does not know of is refused.|KIP-890
`), ([text, source]) => ({ text, source }));

/** Kafka's names of the error codes from 1 on. */
export const errorNames = spelled(
"OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION " +
"&FETCH_SIZE LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER " +
"REQUEST_TIMED_OUT BROKER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE " +
"MESSAGE_TOO_LARGE STALE_CONTROLLER_EPOCH OFFSET_METADATA_TOO_LARGE " +
"NETWORK_EXCEPTION COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE " +
"NOT_COORDINATOR &TOPIC_EXCEPTION RECORD_LIST_TOO_LARGE " +
"NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND &REQUIRED_ACKS " +
"ILLEGAL_GENERATION INCONSISTENT_GROUP_PROTOCOL &GROUP_ID " +
"UNKNOWN_MEMBER_ID &SESSION_TIMEOUT REBALANCE_IN_PROGRESS " +
"&COMMIT_OFFSET_SIZE TOPIC_* GROUP_* " +
"CLUSTER_* &TIMESTAMP !SASL_MECHANISM " +
"ILLEGAL_SASL_STATE !VERSION TOPIC_ALREADY_EXISTS " +
"&PARTITIONS &REPLICATION_FACTOR &REPLICA_ASSIGNMENT " +
"&CONFIG NOT_CONTROLLER &REQUEST " +
"!FOR_MESSAGE_FORMAT POLICY_VIOLATION OUT_OF_ORDER_SEQUENCE_NUMBER " +
"DUPLICATE_SEQUENCE_NUMBER &PRODUCER_EPOCH &TXN_STATE " +
"&PRODUCER_ID_MAPPING &TRANSACTION_TIMEOUT CONCURRENT_TRANSACTIONS " +
"TRANSACTION_COORDINATOR_FENCED TRANSACTIONAL_ID_* SECURITY_DISABLED " +
"OPERATION_NOT_ATTEMPTED KAFKA_STORAGE_ERROR LOG_DIR_? " +
"SASL_AUTHENTICATION_FAILED UNKNOWN_PRODUCER_ID REASSIGNMENT_IN_PROGRESS " +
"+AUTH_DISABLED +? +OWNER_MISMATCH " +
"+REQUEST_NOT_ALLOWED +* +EXPIRED " +
"&PRINCIPAL_TYPE NON_EMPTY_GROUP GROUP_ID_? " +
"FETCH_SESSION_ID_? &FETCH_SESSION_EPOCH LISTENER_? " +
"TOPIC_DELETION_DISABLED FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH " +
"!COMPRESSION_TYPE STALE_BROKER_EPOCH OFFSET_NOT_AVAILABLE " +
"MEMBER_ID_REQUIRED PREFERRED_LEADER_NOT_AVAILABLE GROUP_MAX_SIZE_REACHED " +
"FENCED_INSTANCE_ID ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED " +
"NO_REASSIGNMENT_IN_PROGRESS GROUP_SUBSCRIBED_TO_TOPIC &RECORD " +
"UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED PRODUCER_FENCED " +
"RESOURCE_? DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL " +
"INCONSISTENT_VOTER_SET &UPDATE_VERSION FEATURE_UPDATE_FAILED " +
"PRINCIPAL_DESERIALIZATION_FAILURE SNAPSHOT_? POSITION_OUT_OF_RANGE " +
"UNKNOWN_TOPIC_ID DUPLICATE_BROKER_REGISTRATION BROKER_ID_NOT_REGISTERED " +
"INCONSISTENT_TOPIC_ID INCONSISTENT_CLUSTER_ID TRANSACTIONAL_ID_? " +
"FETCH_SESSION_TOPIC_ID_ERROR INELIGIBLE_REPLICA NEW_LEADER_ELECTED " +
"OFFSET_MOVED_TO_TIERED_STORAGE FENCED_MEMBER_EPOCH UNRELEASED_INSTANCE_ID " +
"!ASSIGNOR STALE_MEMBER_EPOCH MISMATCHED_ENDPOINT_TYPE " +
"!ENDPOINT_TYPE UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID " +
"TELEMETRY_TOO_LARGE &REGISTRATION TRANSACTION_ABORTABLE " +
"&RECORD_STATE SHARE_SESSION_? &SHARE_SESSION_EPOCH " +
"FENCED_STATE_EPOCH &VOTER_KEY DUPLICATE_VOTER " +
"VOTER_? &REGULAR_EXPRESSION REBOOTSTRAP_REQUIRED " +
"STREAMS_&TOPOLOGY STREAMS_&TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED " +
"SHARE_SESSION_LIMIT_REACHED GROUP_DELETION_FAILED STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED " +
"CONTROLLER_ID_NOT_REGISTERED " +
"").split(" ");
