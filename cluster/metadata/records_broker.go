package metadata

import "highwater/cluster/event"

// Endpoint is one address that a broker or controller can be reached at.
type Endpoint struct {
	// Name is the listener's name, such as PLAINTEXT.
	Name string
	Host string
	Port uint16
	// SecurityProtocol is Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
	SecurityProtocol int16
}

// FeatureRange is the levels of one feature that a broker or controller supports.
type FeatureRange struct {
	Name string
	Min  int16
	Max  int16
}

func (c *coder) endpoints(v *[]Endpoint) {
	array(c, "end points", v, false, 7, func(e *Endpoint) {
		c.string("end point name", &e.Name)
		c.string("host", &e.Host)
		c.uint16("port", &e.Port)
		c.int16("security protocol", &e.SecurityProtocol)
		c.tags()
	})
}

func (c *coder) featureRanges(v *[]FeatureRange) {
	array(c, "features", v, false, 6, func(f *FeatureRange) {
		c.string("feature name", &f.Name)
		c.int16("min supported version", &f.Min)
		c.int16("max supported version", &f.Max)
		c.tags()
	})
}

// RegisterBrokerRecord says that an incarnation of a broker joined the cluster.
type RegisterBrokerRecord struct {
	BrokerID             event.NodeID
	IsMigratingZkBroker  bool
	IncarnationID        event.UUID
	BrokerEpoch          int64
	EndPoints            []Endpoint
	Features             []FeatureRange
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	LogDirs              []event.UUID
	// CordonedLogDirs is nil until the broker's first heartbeat says which they are.
	CordonedLogDirs []event.UUID
}

func (r *RegisterBrokerRecord) apiKey() int16         { return 0 }
func (r *RegisterBrokerRecord) newest() int16         { return 4 }
func (r *RegisterBrokerRecord) versionToWrite() int16 { return 4 }

func (r *RegisterBrokerRecord) walk(c *coder) {
	int32Field(c, "broker id", &r.BrokerID)
	if c.version >= 2 {
		c.bool("is migrating zk broker", &r.IsMigratingZkBroker)
	}
	c.uuid("incarnation id", &r.IncarnationID)
	c.int64("broker epoch", &r.BrokerEpoch)
	c.endpoints(&r.EndPoints)
	c.featureRanges(&r.Features)
	c.nullableString("rack", &r.Rack)
	c.bool("fenced", &r.Fenced)
	if c.version >= 1 {
		c.bool("in controlled shutdown", &r.InControlledShutdown)
	}
	c.tags(
		tag{0, "log dirs", len(r.LogDirs) > 0, func() {
			c.uuids("log dirs", &r.LogDirs, false)
		}},
		tag{1, "cordoned log dirs", r.CordonedLogDirs != nil, func() {
			c.uuids("cordoned log dirs", &r.CordonedLogDirs, true)
		}},
	)
}

// UnregisterBrokerRecord says that a broker was removed from the cluster.
type UnregisterBrokerRecord struct {
	BrokerID    event.NodeID
	BrokerEpoch int64
}

func (r *UnregisterBrokerRecord) apiKey() int16         { return 1 }
func (r *UnregisterBrokerRecord) newest() int16         { return 0 }
func (r *UnregisterBrokerRecord) versionToWrite() int16 { return 0 }

func (r *UnregisterBrokerRecord) walk(c *coder) {
	int32Field(c, "broker id", &r.BrokerID)
	c.int64("broker epoch", &r.BrokerEpoch)
	c.tags()
}

// The values of BrokerRegistrationChangeRecord.Fenced.
const (
	Unfence        int8 = -1
	FenceUnchanged int8 = 0
	Fence          int8 = 1
)

// BrokerRegistrationChangeRecord says that a registered broker was fenced, unfenced, or began its
// controlled shutdown.
type BrokerRegistrationChangeRecord struct {
	BrokerID    event.NodeID
	BrokerEpoch int64
	// Fenced is Unfence, FenceUnchanged or Fence.
	Fenced int8
	// InControlledShutdown is 1 when the broker is in controlled shutdown, 0 for no change.
	InControlledShutdown int8
	// LogDirs replaces the broker's log directories unless it is empty.
	LogDirs []event.UUID
	// CordonedLogDirs replaces the cordoned directories unless it is nil.
	CordonedLogDirs []event.UUID
}

func (r *BrokerRegistrationChangeRecord) apiKey() int16 { return 17 }
func (r *BrokerRegistrationChangeRecord) newest() int16 { return 3 }

// versionToWrite is the lowest version that can say it: Kafka chooses it the same way.
func (r *BrokerRegistrationChangeRecord) versionToWrite() int16 {
	switch {
	case r.CordonedLogDirs != nil:
		return 3
	case len(r.LogDirs) > 0:
		return 2
	case r.InControlledShutdown != 0:
		return 1
	}
	return 0
}

func (r *BrokerRegistrationChangeRecord) walk(c *coder) {
	int32Field(c, "broker id", &r.BrokerID)
	c.int64("broker epoch", &r.BrokerEpoch)
	c.tags(
		tag{0, "fenced", r.Fenced != FenceUnchanged, func() { c.int8("fenced", &r.Fenced) }},
		tag{1, "in controlled shutdown", r.InControlledShutdown != 0, func() {
			c.int8("in controlled shutdown", &r.InControlledShutdown)
		}},
		tag{2, "log dirs", len(r.LogDirs) > 0, func() {
			c.uuids("log dirs", &r.LogDirs, false)
		}},
		tag{3, "cordoned log dirs", r.CordonedLogDirs != nil, func() {
			c.uuids("cordoned log dirs", &r.CordonedLogDirs, true)
		}},
	)
}

// RegisterControllerRecord says that an incarnation of a controller joined the quorum.
type RegisterControllerRecord struct {
	ControllerID     event.NodeID
	IncarnationID    event.UUID
	ZkMigrationReady bool
	EndPoints        []Endpoint
	Features         []FeatureRange
}

func (r *RegisterControllerRecord) apiKey() int16         { return 27 }
func (r *RegisterControllerRecord) newest() int16         { return 0 }
func (r *RegisterControllerRecord) versionToWrite() int16 { return 0 }

func (r *RegisterControllerRecord) walk(c *coder) {
	int32Field(c, "controller id", &r.ControllerID)
	c.uuid("incarnation id", &r.IncarnationID)
	c.bool("zk migration ready", &r.ZkMigrationReady)
	c.endpoints(&r.EndPoints)
	c.featureRanges(&r.Features)
	c.tags()
}
