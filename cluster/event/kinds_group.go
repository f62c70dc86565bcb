package event

// GroupStateChanged says that a consumer group is in another state at its coordinator. Generation
// is the one that the group is in now.
type GroupStateChanged struct {
	Group      string
	Before     string
	After      string
	Generation int32
	Reason     string
}

// GroupMemberJoined says that the coordinator counts somebody as a member, before it has been told.
type GroupMemberJoined struct {
	Group    string
	Member   string
	ClientID string
	Reason   string
}

// GroupMemberLeft says that the coordinator no longer counts somebody as a member.
type GroupMemberLeft struct {
	Group    string
	Member   string
	ClientID string
	Reason   string
}

// RebalanceBegan says that the members of a group have to join anew; the same job ends it.
type RebalanceBegan struct {
	Job        int64
	Group      string
	Generation int32
	Members    int32
	Reason     string
}

// RebalanceEnded says that the members have their assignments, or that nobody is left to have one.
type RebalanceEnded struct {
	Job        int64
	Group      string
	Generation int32
	Members    int32
	Outcome    string
}

// OffsetCommitted says that a group's new offset was replayed, after its record was committed and
// before anybody is told. Before is -1 when there was none.
type OffsetCommitted struct {
	Group     string
	Topic     string
	Partition int32
	Before    Offset
	Offset    Offset
	Member    string
}
