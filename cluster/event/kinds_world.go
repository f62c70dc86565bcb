package event

// WorldStarted opens a trace: nothing was there before it.
type WorldStarted struct {
	Seed        int64
	Origin      int64 `unit:"unix ms"`
	ClusterID   string
	Brokers     []NodeID
	Controllers []NodeID
	Version     string
}

// NodeStarted says that a new incarnation of a node runs, before it handled anything.
type NodeStarted struct {
	Role        string
	Incarnation int32
	Host        string
	Port        int32
}

// NodeStopped says that an incarnation is gone: its memory is lost and its connections are reset.
type NodeStopped struct {
	How    string // stop, kill, power-cut, disk, invariant
	Reason string
	// LostBytes is how many unsynced bytes a power cut took.
	LostBytes int64 `unit:"bytes"`
}

// NodePaused says that the node handles nothing from now on; what reaches it waits.
type NodePaused struct{}

// NodeResumed says that the node goes on with what waited for it.
type NodeResumed struct{}

// LinkCut says that nothing passes from one node to another until it is healed.
type LinkCut struct{ From, To NodeID }

// LinkHealed says that the link passes messages again.
type LinkHealed struct{ From, To NodeID }

// LinkDelayed says that messages on the link now take this long.
type LinkDelayed struct {
	From, To NodeID
	Latency  int64 `unit:"ns"`
}

// NodeClockChanged says that a node's own clock was set off or runs at another rate.
type NodeClockChanged struct {
	Offset       int64 `unit:"ns"`
	RatePermille int32
}

// DiskFaultSet says that a node's disk behaves differently from now on.
type DiskFaultSet struct {
	Fault string
	Delay int64 `unit:"ns"`
}

// CommandRan says that a person or a scenario gave a command, before its first effect.
type CommandRan struct {
	Command string
	By      string
}

// CommandFailed says that a command that was given ended with an error, refused or not.
type CommandFailed struct {
	Command string
	Error   string
}

// TimerArmed says that a node asked to be woken at a time.
type TimerArmed struct {
	Timer int64
	Name  string
	Due   int64 `unit:"virtual ns"`
}

// TimerFired says that a timer's time came, before its node acted on it.
type TimerFired struct {
	Timer int64
	Name  string
}

// TimerCancelled says that a timer will not fire.
type TimerCancelled struct {
	Timer int64
	Name  string
}

// MessageSent says that a node put a message on a link. Answers is the message it responds to, 0
// for a request. The partition, offset, records and high watermark are those of the first
// partition it speaks of.
type MessageSent struct {
	Message       int64
	To            NodeID
	API           string
	Answers       int64
	Topic         string
	Partition     int32
	Offset        Offset
	Records       int32
	HighWatermark Offset
	Bytes         int32 `unit:"bytes"`
	// Idle marks what carries no news: empty fetches and heartbeats.
	Idle bool
}

// MessageDelivered says that a message reached its node, before the node acted on it.
type MessageDelivered struct {
	Message int64
	From    NodeID
	Idle    bool
}

// MessageDropped says that a message will never arrive, and why.
type MessageDropped struct {
	Message int64
	From    NodeID
	To      NodeID
	Reason  string
}

// ClientConnected says that an outside client opened a connection to this broker.
type ClientConnected struct {
	Connection NodeID
	Address    string
}

// ClientIdentified says that a connection's client id, and perhaps its software, became known.
type ClientIdentified struct {
	Connection NodeID
	ClientID   string
	Software   string
}

// ClientDisconnected says that the connection is closed, by whom and why.
type ClientDisconnected struct {
	Connection NodeID
	Reason     string
}

// RequestReceived says that a request of an outside client reached this broker's queue. The partition,
// the offset and the records are those of the first partition that it names.
type RequestReceived struct {
	Connection NodeID
	Request    int64
	API        string
	Version    int32
	Topic      string
	Partition  int32
	Offset     Offset
	Records    int32
	Acks       int32
	Bytes      int32 `unit:"bytes"`
	Idle       bool
}

// PartitionReceived says that the Produce that was just received brings records for another partition,
// too.
type PartitionReceived struct {
	Connection NodeID
	Request    int64
	API        string
	Topic      string
	Partition  int32
	Records    int32
}

// PartitionAnswered says what the answer that leaves next tells of another partition than the one that
// its ResponseSent names: each of a Produce or a DeleteRecords, and of a Fetch those with records or an
// error.
type PartitionAnswered struct {
	Connection NodeID
	Request    int64
	API        string
	ErrorCode  int32
	Topic      string
	Partition  int32
	Offset     Offset
	Records    int32
	Bytes      int32 `unit:"bytes"`
}

// ResponseSent says that the answer to an outside client left the broker, or, with a reason, that the
// request is done and has none. The partition and what is told of it are those of the first partition
// that has something to tell.
type ResponseSent struct {
	Connection NodeID
	Request    int64
	API        string
	ErrorCode  int32
	Topic      string
	Partition  int32
	Offset     Offset
	Records    int32
	Bytes      int32 `unit:"bytes"`
	Idle       bool
	Reason     string // why nothing leaves
}

// OfPartition is what the answer tells of the partition that it names, as of any other.
func (e ResponseSent) OfPartition() PartitionAnswered {
	return PartitionAnswered{e.Connection, e.Request, e.API, e.ErrorCode, e.Topic, e.Partition, e.Offset,
		e.Records, e.Bytes}
}

// FetchPositionChanged says that a connection, or a built-in consumer, asks this broker for a
// partition from another offset than before. Of the first partition that a Fetch names its
// RequestReceived says it.
type FetchPositionChanged struct {
	Connection NodeID
	Topic      string
	Partition  int32
	Offset     Offset
}

// FetchPartitionDropped says that a connection, or a built-in consumer, no longer asks this broker
// for a partition.
type FetchPartitionDropped struct {
	Connection NodeID
	Topic      string
	Partition  int32
}

// WaitBegan says that a request cannot be answered yet. Needs is the offset that must be reached,
// by the high watermark for a produce and by the log for a fetch. A produce, a marker or a deletion
// that waits for several partitions begins a wait for each, a fetch one that names the first. Request
// is the one of an outside or built-in client, 0 for what nodes ask each other.
type WaitBegan struct {
	Wait      int64
	What      string // produce, fetch, follower-fetch
	Topic     string
	Partition int32
	Needs     Offset
	For       NodeID
	Due       int64 `unit:"virtual ns"`
	Idle      bool
	Request   int64
}

// WaitEnded says that a waiting request was answered, and what ended the wait.
type WaitEnded struct {
	Wait    int64
	Outcome string // satisfied, timed-out, not-leader, disconnected, not-enough-replicas
	Idle    bool
}
