package event

import (
	"strconv"
	"strings"
)

// Class says how a viewer may thin a kind out under load.
type Class uint8

// Fact is shown always; Detail may be folded into counts when there is much of it.
const (
	Fact Class = iota
	Detail
)

// FieldType is how a field is kept in a slot and written in a trace.
type FieldType uint8

// 64-bit values are JSON strings, the others numbers, texts, booleans and lists of node ids.
const (
	Int64 FieldType = iota
	Int32
	Text
	Bool
	Nodes
)

// Field describes one field of a kind; its slot is its position.
type Field struct {
	Name string // as in JSON
	Type FieldType
	Of   string // Go's type name: Offset, Epoch, NodeID, ...
	Unit string
}

// Grouped says that sentences write the digits in groups of three, as the stage of the page does.
func (f Field) Grouped() bool {
	return f.Of == "Offset" || f.Type == Int32 && strings.HasPrefix(f.Name, "records")
}

// Group writes a number as sentences do: 40117 as 40,117.
func Group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Row is what the catalogue knows about a kind. Fields and Emitted come from the struct and its
// comment by way of go generate; the rest is written by hand in the table below.
type Row struct {
	Kind      Kind
	Name      string
	Area      string
	Emitted   string
	Fields    []Field
	Class     Class
	Pair      string // the kind that ends what this one begins
	Narration string // {field} is replaced; {node} is who
	States    []Saying
}

// stateAnswer is the state of a message that answers another one; stateSame is that of what is
// after as it was before.
const (
	stateAnswer = "answer"
	stateSame   = "same"
)

// Saying narrates what a kind's field after, or after and reason with a slash between, says, where
// the kind's own narration would be no good sentence of it; or that a message is an answer, or that
// after is what before was.
type Saying struct{ State, Narration string }

// NarrationOf is what narrates an event with such fields.
func (r Row) NarrationOf(fields map[string]any) string {
	after, _ := fields["after"].(string)
	reason, _ := fields["reason"].(string)
	if answers, _ := fields["answers"].(string); answers != "" && answers != "0" {
		after = stateAnswer
	}
	before, _ := fields["before"].(string)
	for _, s := range r.States {
		if s.State == stateSame && before == after || s.State == after || s.State == after+"/"+reason {
			return s.Narration
		}
	}
	return r.Narration
}

// told is the handwritten part of a row.
type told struct {
	class     Class
	pair      string
	narration string
	states    []Saying
}

var narrations = map[Kind]told{
	KindWorldStarted: {narration: "A cluster begins, with seed {seed}."},
	KindNodeStarted: {
		narration: "{node} starts, incarnation {incarnation}.",
		pair:      "NodeStopped",
	},
	KindNodeStopped: {narration: "{node} is gone ({how})."},
	KindNodePaused: {
		narration: "{node} stands still: it handles nothing.",
		pair:      "NodeResumed",
	},
	KindNodeResumed:      {narration: "{node} goes on with what waited for it."},
	KindLinkCut:          {narration: "The link from {from} to {to} is cut.", pair: "LinkHealed"},
	KindLinkHealed:       {narration: "The link from {from} to {to} passes messages again."},
	KindLinkDelayed:      {narration: "Messages from {from} to {to} now take {latency}."},
	KindNodeClockChanged: {narration: "{node}'s clock is off by {offset}, at {ratePermille}× speed."},
	KindDiskFaultSet:     {narration: "{node}'s disk fault is now: {fault}."},
	KindCommandRan:       {narration: "Command: {command}"},
	KindCommandFailed:    {narration: "Failed: {command}: {error}"},
	KindTimerArmed: {
		class:     Detail,
		pair:      "TimerFired",
		narration: "{node} sets its timer {name}.",
	},
	KindTimerFired:     {class: Detail, narration: "{node}'s timer {name} fires."},
	KindTimerCancelled: {class: Detail, narration: "{node} cancels its timer {name}."},
	KindMessageSent: {
		class:     Detail,
		pair:      "MessageDelivered",
		narration: "{node} sends {api} to {to}.",
		states:    []Saying{{stateAnswer, "{node} answers {to}: {api}."}},
	},
	KindMessageDelivered: {class: Detail, narration: "{node} receives a message from {from}."},
	KindMessageDropped:   {narration: "A message from {from} to {to} will not arrive: {reason}."},
	KindClientConnected: {
		narration: "A client connects to {node} from {address}.",
		pair:      "ClientDisconnected",
	},
	KindClientIdentified:   {narration: "The client calls itself {clientId}."},
	KindClientDisconnected: {narration: "A client's connection to {node} ends: {reason}."},
	KindRequestReceived: {class: Detail, pair: "ResponseSent",
		narration: "{node} receives {api} version {version}."},
	KindPartitionReceived: {class: Detail,
		narration: "The {api} at {node} brings {records} records for {topic}-{partition}."},
	KindPartitionAnswered: {class: Detail,
		narration: "{node} answers {api} for {topic}-{partition}: {errorCode}."},
	KindResponseSent: {class: Detail, narration: "{node} answers {api}: {errorCode}.",
		states: []Saying{{"/acks=0", "{node} answers nothing to a {api} with acks=0."}}},
	KindFetchPositionChanged: {class: Detail,
		narration: "{connection} asks {node} for {topic}-{partition} from offset {offset} on."},
	KindFetchPartitionDropped: {class: Detail,
		narration: "{connection} no longer asks {node} for {topic}-{partition}."},
	KindWaitBegan: {class: Detail, pair: "WaitEnded",
		narration: "A {what} waits at {node} until {topic}-{partition} has all below offset {needs}."},
	KindWaitEnded: {class: Detail, narration: "What waited at {node} ends: {outcome}."},
	KindLogOpened: {narration: "{node} opens {topic}-{partition}: it ends at offset {logEndOffset}."},
	KindBatchAppended: {class: Detail,
		narration: "{node} appends {records} records to {topic}-{partition} at offset {baseOffset}."},
	KindRecordDescribed: {class: Detail,
		narration: "Offset {offset} of {topic}-{partition} holds {key}."},
	KindSegmentRolled: {narration: "{node} begins segment {baseOffset} of {topic}-{partition}."},
	KindSegmentDeleted: {
		narration: "{node} deletes segment {baseOffset} of {topic}-{partition}."},
	KindLogStartOffsetMoved: {
		narration: "On {node}, {topic}-{partition} now starts at offset {after}."},
	KindLogTruncated: {
		narration: "{node} cuts {topic}-{partition} from {before} back to {after}.",
		states: []Saying{{stateSame,
			"{node} cuts {bytes} torn bytes off {topic}-{partition}, which ends at {after}."}}},
	KindLeaderEpochStarted: {
		narration: "{node} notes that epoch {leaderEpoch} of {topic}-{partition} starts at {startOffset}."},
	KindLogSynced: {class: Detail,
		narration: "{node} has {topic}-{partition} on disk up to offset {upTo}."},
	KindDuplicateSuppressed: {
		narration: "{node} recognises a retry: {topic}-{partition} has it at offset {baseOffset}."},
	KindAppendRefused: {
		narration: "{node} refuses a batch for {topic}-{partition}, {errorCode}: {detail}."},
	KindCleanerPassBegan: {pair: "CleanerPassEnded",
		narration: "{node} begins to compact {topic}-{partition} below offset {upTo}."},
	KindSegmentsSwapped: {
		narration: "{node} replaces {segments} segments of {topic}-{partition} from {baseOffset} on: " +
			"{recordsBefore} records before, {records} after."},
	KindCleanerPassEnded: {
		narration: "{node} has compacted {topic}-{partition} ({outcome}): {recordsBefore} records " +
			"before, {recordsAfter} after."},
	KindLogDirFailed: {
		narration: "{node}'s log directory failed at {operation}: {error}."},
	KindBecameLeader: {
		narration: "{node} leads {topic}-{partition} in epoch {leaderEpoch}."},
	KindBecameFollower: {
		narration: "{node} follows {leader} for {topic}-{partition} in epoch {leaderEpoch}."},
	KindReplicaRemoved: {narration: "{node} no longer holds {topic}-{partition}."},
	KindReplicaFetched: {class: Detail,
		narration: "{node} learns from its fetch that {replica} has {topic}-{partition} up to {offset}."},
	KindHighWatermarkMoved: {class: Detail,
		narration: "On {node} the high watermark of {topic}-{partition} moves from {before} to {after}."},
	KindIsrChangeProposed: {
		narration: "{node} asks the controller for ISR {proposed} of {topic}-{partition}."},
	KindIsrChangeRefused: {
		narration: "The controller refuses {node}'s ISR for {topic}-{partition}: {errorCode}."},
	KindIsrChanged: {narration: "The ISR of {topic}-{partition} is now {isr}."},
	KindFollowerDiverged: {
		narration: "{leader} tells {node} that epoch {leaderEpoch} of {topic}-{partition} ended at {endOffset}."},
	KindVoteStored: {narration: "{node} stores its vote for {candidate} in term {term}."},
	KindControllerStateChanged: {
		narration: "{node} is {state} in term {term}."},
	KindMetadataStored: {class: Detail,
		narration: "{node} has the metadata log on disk up to {logEndOffset}."},
	KindMetadataCommitted: {class: Detail,
		narration: "The metadata log is committed up to {highWatermark}."},
	KindMetadataReplayed: {class: Detail,
		narration: "{node} has replayed the metadata log up to {offset}."},
	KindBrokerRegistered: {
		narration: "{broker} is registered with broker epoch {brokerEpoch}."},
	KindBrokerFenced: {
		narration: "{broker} is fenced: the cluster counts it as absent.",
	},
	KindBrokerUnfenced:             {narration: "{broker} is unfenced."},
	KindBrokerInControlledShutdown: {narration: "{broker} hands over its leaderships."},
	KindTopicCreated: {
		narration: "Topic {topic} is created: {partitions} partitions, {replicationFactor} copies each."},
	KindTopicDeleted: {narration: "Topic {topic} is deleted."},
	KindPartitionChanged: {
		narration: "{topic}-{partition}: leader {leader}, epoch {leaderEpoch}, ISR {isr}."},
	KindConfigChanged: {narration: "{resource}: {name} is now {value}."},
	KindProducerIDsAllocated: {
		narration: "{broker} gets producer ids {first} to {next}, the last not included."},
	KindGroupStateChanged: {
		narration: "Group {group} is {after}, generation {generation}: {reason}."},
	KindGroupMemberJoined: {narration: "Member {member} joins group {group}: {reason}."},
	KindGroupMemberLeft:   {narration: "Member {member} leaves group {group}: {reason}."},
	KindRebalanceBegan: {
		narration: "Group {group} rebalances: {reason}.",
		pair:      "RebalanceEnded",
	},
	KindRebalanceEnded: {
		narration: "Group {group} has rebalanced, generation {generation}: {outcome}."},
	KindOffsetCommitted: {class: Detail,
		narration: "Group {group} has committed {offset} for {topic}-{partition}."},
	KindClientStarted: {narration: "The {role} {name} begins."},
	KindRecordsBuffered: {class: Detail,
		narration: "{node} puts {added} records into its batch for {topic}-{partition}, which then has {records}."},
	KindRecordsNotBuffered: {
		narration: "{node} could not even buffer {records} records for {topic}: {reason}."},
	KindSendBlocked: {narration: "{node} stands still and waits for {what}.",
		pair: "SendUnblocked"},
	KindSendUnblocked: {narration: "{node} no longer waits: {outcome}."},
	KindBatchDrained: {class: Detail,
		narration: "{node} sends a batch of {records} records for {topic}-{partition} to {to}."},
	KindBatchRequeued: {
		narration: "{node} will send its batch for {topic}-{partition} again: {reason}."},
	KindBatchBelieved: {class: Detail,
		narration: "{node} counts {records} records for {topic}-{partition} as {belief}."},
	KindProducerIDChanged: {
		narration: "{node} sends as producer {producerId}, epoch {producerEpoch}: {reason}."},
	KindClientTransactionChanged: {
		narration: "{node}'s transaction is now {after}: {reason}.",
		states: []Saying{
			{"initializing", "{node} asks its coordinator for a producer id and an epoch."},
			{"ready/committed", "{node}'s transaction is committed; the next one may begin."},
			{"ready/aborted", "{node}'s transaction is aborted; the next one may begin."},
			{"ready/nothing took part", "{node}'s transaction is over: nothing took part in it."},
			{"ready", "{node} has its producer id, and may begin a transaction."},
			{"in transaction", "{node} begins a transaction."},
			{"ending/committed", "{node} asks its coordinator to commit the transaction."},
			{"ending/aborted", "{node} asks its coordinator to abort the transaction."},
			{"must abort", "{node} can only abort its transaction: {reason}."},
			{"fatal", "{node} can send no more: it was answered {reason}."},
		}},
	KindMembershipChanged: {narration: "{node} is {state} in group {group}: {reason}."},
	KindPartitionAssigned: {narration: "{node} now reads {topic}-{partition}."},
	KindPartitionRevoked:  {narration: "{node} no longer reads {topic}-{partition}: {reason}."},
	KindPositionMoved: {
		narration: "{node} will read {topic}-{partition} from offset {after}: {reason}."},
	KindRecordsPolled: {class: Detail,
		narration: "{node} polls {records} records of {topic}-{partition} from offset {before}."},
	KindPositionCommitted: {class: Detail,
		narration: "{node} hears that group {group} has offset {offset} of {topic}-{partition} committed."},
	KindCommitFailed: {narration: "{node} could not commit its offsets: {reason}."},
	KindTransactionStateChanged: {
		narration: "Transaction {transactionalId} is {after}, producer epoch {producerEpoch}: {reason}."},
	KindTransactionPartitionAdded: {
		narration: "{topic}-{partition} is part of transaction {transactionalId}."},
	KindTransactionBegan: {class: Detail,
		narration: "On {node}, producer {producerId} begins a transaction in {topic}-{partition} at {firstOffset}."},
	KindTransactionMarkerWritten: {
		narration: "{node} has {commit} marker at offset {offset} of {topic}-{partition}."},
	KindLastStableOffsetMoved: {class: Detail,
		narration: "On {node} the last stable offset of {topic}-{partition} moves from {before} to {after}."},
	KindRecordingTruncated: {
		narration: "The recorder is full: events before {from} are no longer kept."},
}

// Rows lists the whole catalogue in the order of the kinds.
func Rows() []Row { return rows[1:] }

// RowOf returns a kind's row; ok is false for a kind that this version does not know.
func RowOf(kind Kind) (row Row, ok bool) {
	if kind == 0 || int(kind) >= len(rows) {
		return Row{}, false
	}
	return rows[kind], true
}

// ParseKind finds a kind by its name, 0 when there is none.
func ParseKind(name string) Kind { return kindsByName[name] }

// String is the kind's name in traces.
func (k Kind) String() string {
	row, _ := RowOf(k)
	return row.Name
}

var (
	rows        = buildRows()
	kindsByName = indexRows(rows)
)

func buildRows() []Row {
	all := append([]Row{{}}, generatedRows...)
	for i := 1; i < len(all); i++ {
		t := narrations[all[i].Kind]
		all[i].Class, all[i].Pair, all[i].Narration = t.class, t.pair, t.narration
		all[i].States = t.states
	}
	return all
}

func indexRows(rows []Row) map[string]Kind {
	names := make(map[string]Kind, len(rows))
	for _, row := range rows[1:] {
		names[row.Name] = row.Kind
	}
	return names
}
