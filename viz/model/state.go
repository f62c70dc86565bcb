package model

import "highwater/cluster/event"

// The bounds of a state. What falls out of one is counted in NotKept or in the totals beside it.
const (
	nodesMax        = 64
	linksMax        = 1024
	partitionsMax   = 1024
	logsMax         = 16 // of one partition
	clientsMax      = 256
	openMax         = 16 // requests of one client
	apisMax         = 32 // counted for one client
	messagesMax     = 512
	waitsMax        = 512
	timersMax       = 256
	configsMax      = 256
	epochsMax       = 64
	segmentsMax     = 128
	cutBatchesMax   = 32
	unknownKindsMax = 32
	programsMax     = 256
	asksMax         = 1024
	deliveriesMax   = 1024
	ownBatchesMax   = 64  // of one producer, kept one by one
	ownPartsMax     = 128 // of one producer or consumer

	// Windows shrink as their number grows, so that a state's size has a bound.
	batchesMax, batchesMin, batchesTotal = 200, 8, 24000
	recordsMax, recordsMin, recordsTotal = 400, 8, 16000
)

// State is what is true after event Seq. Its JSON form is the page's state: 64-bit values are
// strings, counts are numbers, arrays are sorted by their ids or, where said, in order of arrival.
type State struct {
	Seq       event.Seq `json:"seq,string"`
	At        int64     `json:"at,string"` // virtual nanoseconds
	Seed      int64     `json:"seed,string"`
	Origin    int64     `json:"origin,string"` // unix milliseconds of virtual time 0
	ClusterID string    `json:"clusterId"`
	Version   string    `json:"version"`
	Nodes     []*Node   `json:"nodes"`
	Links     []*Link   `json:"links"`
	Topics    []*Topic  `json:"topics"`
	Clients   []*Client `json:"clients"`
	// Programs are the built-in producers and consumers.
	Programs []*Program `json:"programs"`
	// Asks are what outside clients and built-in consumers fetch, by who asks and whom.
	Asks []Ask `json:"asks"`
	// Deliveries are what outside clients were sent, the newest last.
	Deliveries []Delivery `json:"deliveries"`
	// Transactions are the transactional ids, as their coordinators replayed them.
	Transactions []*Transaction `json:"transactions"`
	// Messages are those under way, Waits the requests that wait at a node, Timers those armed; all
	// in the order in which they began.
	Messages Table[Message] `json:"messages"`
	Waits    Table[Wait]    `json:"waits"`
	Timers   Table[Timer]   `json:"timers"`
	Configs  []Config       `json:"configs"`
	// Command is the last one given, null before the first.
	Command   *Command  `json:"lastCommand"`
	Metadata  Metadata  `json:"metadata"`
	Recording Recording `json:"recording"`
	Counters  Counters  `json:"counters"`
	NotKept   NotKept   `json:"notKept"`

	partitions map[partitionKey]*Partition
	recent     [16]*Partition // so that most look-ups need no hashing
	links      map[linkKey]*Link
	// recentLinks saves the hashing as recent does.
	recentLinks [16]*Link
	clients     map[event.NodeID]*Client
	logCount    int
}

type partitionKey struct {
	topic string
	index int32
}

type linkKey struct{ from, to event.NodeID }

// Node is a broker or a controller.
type Node struct {
	ID          event.NodeID `json:"id"`
	Role        string       `json:"role"` // broker, controller
	Host        string       `json:"host"`
	Port        int32        `json:"port"`
	Alive       bool         `json:"alive"`
	Paused      bool         `json:"paused"`
	Incarnation int32        `json:"incarnation"`
	// Stopped to LostBytes say how the last incarnation ended: stop, kill, power-cut, disk,
	// invariant, start-failed; empty while one runs.
	Stopped    string `json:"stopped"`
	StopReason string `json:"stopReason"`
	StoppedAt  int64  `json:"stoppedAt,string"`
	LostBytes  int64  `json:"lostBytes,string"`
	// What the metadata log says of a broker: it stays true of the cluster's view when the broker
	// is long dead.
	Registered         bool  `json:"registered"`
	Fenced             bool  `json:"fenced"`
	ControlledShutdown bool  `json:"controlledShutdown"`
	BrokerEpoch        int64 `json:"brokerEpoch,string"`

	ClockOffset       int64  `json:"clockOffset,string"` // nanoseconds
	ClockRatePermille int32  `json:"clockRatePermille"`
	DiskFault         string `json:"diskFault"` // empty: the disk works
	DiskDelay         int64  `json:"diskDelay,string"`
	LogDirFailed      string `json:"logDirFailed"` // what failed, empty while nothing did

	// State to VoteTerm are a controller's place in the quorum; State is leader, follower, candidate
	// or resigned, empty for a node that runs no controller.
	State    string       `json:"state"`
	Term     int32        `json:"term"`
	Leader   event.NodeID `json:"leader"`
	VotedFor event.NodeID `json:"votedFor"`
	VoteTerm int32        `json:"voteTerm"`

	// How much of the metadata log the node has; -1 where nothing is known.
	MetadataStored    event.Offset `json:"metadataStored,string"`    // on a controller's disk
	MetadataCommitted event.Offset `json:"metadataCommitted,string"` // as the active one counts it
	MetadataOffset    event.Offset `json:"metadataOffset,string"`    // replayed by a broker
	MetadataLeader    event.NodeID `json:"metadataLeader"`           // whom it fetched that from
}

// Metadata is what is known of the metadata log as a whole; -1 before anything is.
type Metadata struct {
	HighWatermark event.Offset `json:"highWatermark,string"`
}

// Link is one direction between two nodes of which something was said.
type Link struct {
	From     event.NodeID `json:"from"`
	To       event.NodeID `json:"to"`
	Cut      bool         `json:"cut"`
	Latency  int64        `json:"latency,string"` // nanoseconds; -1: as the world was set up
	Messages int64        `json:"messages"`       // sent so far, idle ones included
	Idle     int64        `json:"idle"`
	Bytes    int64        `json:"bytes"`
	LastAt   int64        `json:"lastAt,string"` // when the last one was sent that was not idle
}

// Topic is a topic of the metadata log, or one that only a replica spoke of.
type Topic struct {
	Name              string       `json:"name"`
	TopicID           string       `json:"topicId"`
	ReplicationFactor int32        `json:"replicationFactor"`
	MinIsr            int32        `json:"minIsr"`
	Deleted           bool         `json:"deleted"`
	Partitions        []*Partition `json:"partitions"`
}

// Partition joins what the metadata log says with what each replica is.
type Partition struct {
	Topic string `json:"-"`
	Index int32  `json:"partition"`
	// Leader to Recovering are the metadata log's view; Known is false before it spoke.
	Known          bool           `json:"known"`
	Leader         event.NodeID   `json:"leader"`
	LeaderEpoch    event.Epoch    `json:"leaderEpoch"`
	PartitionEpoch int32          `json:"partitionEpoch"`
	Replicas       []event.NodeID `json:"replicas"` // in assignment order
	Isr            []event.NodeID `json:"isr"`
	Elr            []event.NodeID `json:"elr"`
	LastKnownElr   []event.NodeID `json:"lastKnownElr"`
	Recovering     bool           `json:"recovering"`
	MinIsr         int32          `json:"minIsr"`
	Logs           []*Log         `json:"copies"`
	// Records are described records, sorted by offset, then epoch: a diverged log holds another
	// epoch at the same offset. Described counts all there ever were.
	Records   Window[Described] `json:"records"`
	Described int64             `json:"described"`
	// Committed says what a leader's high watermark has ever passed, oldest epoch first. A leader that
	// comes later may not know it yet, and what was cut was committed all the same.
	Committed []Committed `json:"committed"`
	// Given and Assured tell of old offsets what readers were given there: see given.go.
	Given   []Run `json:"given"`
	Assured []Run `json:"assured"`
}

// Described is what is known of one record; Key and Value are cut short, sizes are not, and -1 is a
// null.
type Described struct {
	Offset     event.Offset `json:"offset,string"`
	Epoch      event.Epoch  `json:"epoch"`
	KeyBytes   int32        `json:"keyBytes"`
	ValueBytes int32        `json:"valueBytes"`
	Headers    int32        `json:"headers"`
	Key        string       `json:"key"`
	Value      string       `json:"value"`
	Timestamp  int64        `json:"timestamp,string"` // unix milliseconds
}

// Message is one under way between two nodes.
type Message struct {
	ID            int64        `json:"message,string"`
	From          event.NodeID `json:"from"`
	To            event.NodeID `json:"to"`
	API           string       `json:"api"`
	SentAt        int64        `json:"sentAt,string"`
	Answers       int64        `json:"answers,string"` // the request's message, 0 for a request
	Topic         string       `json:"topic"`
	Partition     int32        `json:"partition"`
	Records       int32        `json:"records"`
	Offset        event.Offset `json:"offset,string"`
	HighWatermark event.Offset `json:"highWatermark,string"`
	Bytes         int32        `json:"bytes"`
	Idle          bool         `json:"idle"`
}

// Timer is one that is armed.
type Timer struct {
	ID   int64        `json:"timer,string"`
	Node event.NodeID `json:"node"`
	Name string       `json:"name"`
	Due  int64        `json:"due,string"`
}

// Client is one connection from outside.
type Client struct {
	Connection  event.NodeID `json:"connection"`
	Node        event.NodeID `json:"node"`
	Address     string       `json:"address"`
	ClientID    string       `json:"clientId"`
	Software    string       `json:"software"`
	ConnectedAt int64        `json:"connectedAt,string"`
	Requests    APICounts    `json:"requests"`
	Errors      int64        `json:"errors"` // answers with an error code
	// Last and Answered are the newest request and answer, null before the first.
	Last     *Request `json:"lastRequest"`
	Answered *Answer  `json:"lastAnswer"`
	// Open counts the requests without an answer, OpenRequests are the newest of them.
	Open         int32     `json:"open"`
	OpenRequests []Request `json:"openRequests"`
}

// APICounts is sorted by API; in JSON it is an object.
type APICounts []APICount

// APICount says how often a client used an API.
type APICount struct {
	API   string
	Count int64
}

// Request is what a client asked; the partition is the first it speaks of.
type Request struct {
	ID        int64        `json:"request,string"`
	API       string       `json:"api"`
	Version   int32        `json:"version"`
	Partition int32        `json:"partition"`
	Topic     string       `json:"topic"`
	Offset    event.Offset `json:"offset,string"`
	Records   int32        `json:"records"`
	Acks      int32        `json:"acks"`
	At        int64        `json:"at,string"`
	Idle      bool         `json:"idle"`
}

// Answer is what a client was told.
type Answer struct {
	ID        int64        `json:"request,string"`
	API       string       `json:"api"`
	ErrorCode int32        `json:"errorCode"`
	Partition int32        `json:"partition"`
	Topic     string       `json:"topic"`
	Offset    event.Offset `json:"offset,string"`
	Records   int32        `json:"records"`
	At        int64        `json:"at,string"`
}

// Program is a built-in producer or consumer: what it has, and what it believes.
type Program struct {
	Node     event.NodeID `json:"node"`
	Name     string       `json:"name"`
	Role     string       `json:"role"` // producer, consumer
	Settings string       `json:"settings"`
	Alive    bool         `json:"alive"`

	// Of a producer: bytes taken of buffer.memory, and of how many; what it stands still for, empty
	// when it does not; its identity, and its transaction.
	Memory        int64  `json:"memory,string"`
	BufferMemory  int64  `json:"bufferMemory,string"`
	Blocked       string `json:"blocked"`
	ProducerID    int64  `json:"producerId,string"`
	ProducerEpoch int32  `json:"producerEpoch"`
	Transaction   string `json:"transaction"`
	// Records by what the producer believes of them.
	Pending      int64 `json:"pending"`
	Sent         int64 `json:"sent"`
	Acknowledged int64 `json:"acknowledged"`
	Failed       int64 `json:"failed"`
	Unknown      int64 `json:"unknown"`
	// Batches are those without a final belief, by id; Unkept counts those beyond the bound.
	Batches []OwnBatch `json:"batches"`
	Unkept  int64      `json:"unkept"`
	// LastError is the newest reason for a failure, LastErrorAt when it was told.
	LastError   string `json:"lastError"`
	LastErrorAt int64  `json:"lastErrorAt,string"`

	// Of a consumer: its group and its membership, as it believes it to be.
	Group      string `json:"group"`
	Member     string `json:"member"`
	Generation int32  `json:"generation"`
	State      string `json:"state"` // unjoined, joining, stable; empty without a group
	Polled     int64  `json:"polled"`

	// Partitions are those that it sends to, or that it has read, by topic and index.
	Partitions []OwnPartition `json:"partitions"`
}

// OwnBatch is a batch in a producer's accumulator, or on its way.
type OwnBatch struct {
	ID        int64        `json:"batch,string"`
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	Records   int32        `json:"records"`
	Bytes     int32        `json:"bytes"`
	State     string       `json:"state"` // buffered, sent, waiting to be sent again
	To        event.NodeID `json:"to"`
	Attempt   int32        `json:"attempt"`
	Sequence  int32        `json:"sequence"`
	Uncertain bool         `json:"uncertain"`
}

// OwnPartition is what a client has of a partition. A consumer's bookmark stays when the partition
// goes to somebody else.
type OwnPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Acknowledged is the highest offset that a producer was told, -1 before.
	Acknowledged event.Offset `json:"acknowledged,string"`
	Assigned     bool         `json:"assigned"`
	Began        event.Offset `json:"began,string"`     // where it began to read; -1 before
	Position     event.Offset `json:"position,string"`  // -1 while it is not known
	Committed    event.Offset `json:"committed,string"` // -1 for never
	Read         []Run        `json:"read"`             // what a consumer was given
	Former       []Run        `json:"former"`           // what its former incarnations were given
}

// Config is a configuration value that differs from its default.
type Config struct {
	ResourceType string `json:"resourceType"`
	Resource     string `json:"resource"`
	Name         string `json:"name"`
	Value        string `json:"value"`
}

// Command is what a person or a scenario asked for.
type Command struct {
	Command string    `json:"command"`
	By      string    `json:"by"`
	At      int64     `json:"at,string"`
	Seq     event.Seq `json:"seq,string"`
}

// Recording says which events are no longer kept; both 0 while all are.
type Recording struct {
	Dropped int64 `json:"dropped,string"`
	From    int64 `json:"from,string"`
}

// Counters count everything since the trace began.
type Counters struct {
	Total        int64            `json:"total"`
	Events       KindCounts       `json:"events"`
	Unknown      map[string]int64 `json:"unknown"` // by kind, of kinds this version does not know
	Messages     int64            `json:"messages"`
	IdleMessages int64            `json:"idleMessages"`
	MessageBytes int64            `json:"bytes"`
	Records      int64            `json:"records"` // appended by leaders: no markers, no internal topics
}

// NotKept counts what a bound kept out of the state.
type NotKept struct {
	Messages   int64 `json:"messages"`
	Waits      int64 `json:"waits"`
	Timers     int64 `json:"timers"`
	Clients    int64 `json:"clients"`
	Configs    int64 `json:"configs"`
	Partitions int64 `json:"partitions"` // events about partitions beyond the bound
	Asks       int64 `json:"asks"`
	Deliveries int64 `json:"deliveries"`
	Programs   int64 `json:"programs"` // events about producers and consumers beyond the bounds
	// Transactions counts events about transactional ids beyond the bound.
	Transactions int64 `json:"transactions"`
}
