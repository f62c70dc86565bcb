package metadata

import "highwater/cluster/event"

// ConfigRecord sets one configuration value, or removes it when Value is nil.
type ConfigRecord struct {
	// ResourceType is one of the Resource constants.
	ResourceType int8
	ResourceName string
	Name         string
	Value        *string
}

func (r *ConfigRecord) apiKey() int16         { return 4 }
func (r *ConfigRecord) newest() int16         { return 0 }
func (r *ConfigRecord) versionToWrite() int16 { return 0 }

func (r *ConfigRecord) walk(c *coder) {
	c.int8("resource type", &r.ResourceType)
	c.string("resource name", &r.ResourceName)
	c.string("name", &r.Name)
	c.nullableString("value", &r.Value)
	c.tags()
}

// FeatureLevelRecord finalizes a feature at a level; level 0 means that it is off.
type FeatureLevelRecord struct {
	Name         string
	FeatureLevel int16
}

func (r *FeatureLevelRecord) apiKey() int16         { return 12 }
func (r *FeatureLevelRecord) newest() int16         { return 0 }
func (r *FeatureLevelRecord) versionToWrite() int16 { return 0 }

func (r *FeatureLevelRecord) walk(c *coder) {
	c.string("name", &r.Name)
	c.int16("feature level", &r.FeatureLevel)
	c.tags()
}

// ProducerIdsRecord says that a broker got a block of producer ids that ends before
// NextProducerID.
type ProducerIdsRecord struct {
	BrokerID       event.NodeID
	BrokerEpoch    int64
	NextProducerID int64
}

func (r *ProducerIdsRecord) apiKey() int16         { return 15 }
func (r *ProducerIdsRecord) newest() int16         { return 0 }
func (r *ProducerIdsRecord) versionToWrite() int16 { return 0 }

func (r *ProducerIdsRecord) walk(c *coder) {
	int32Field(c, "broker id", &r.BrokerID)
	c.int64("broker epoch", &r.BrokerEpoch)
	c.int64("next producer id", &r.NextProducerID)
	c.tags()
}

// NoOpRecord changes nothing. The active controller writes one when it has been idle, so that
// followers see the log move.
type NoOpRecord struct{}

func (r *NoOpRecord) apiKey() int16         { return 20 }
func (r *NoOpRecord) newest() int16         { return 0 }
func (r *NoOpRecord) versionToWrite() int16 { return 0 }
func (r *NoOpRecord) walk(c *coder)         { c.tags() }

// BeginTransactionRecord opens a metadata transaction: the records up to its end count as one.
type BeginTransactionRecord struct{ Name *string }

func (r *BeginTransactionRecord) apiKey() int16         { return 23 }
func (r *BeginTransactionRecord) newest() int16         { return 0 }
func (r *BeginTransactionRecord) versionToWrite() int16 { return 0 }

func (r *BeginTransactionRecord) walk(c *coder) {
	c.tags(tag{0, "name", r.Name != nil, func() { c.nullableString("name", &r.Name) }})
}

// EndTransactionRecord commits the open metadata transaction.
type EndTransactionRecord struct{}

func (r *EndTransactionRecord) apiKey() int16         { return 24 }
func (r *EndTransactionRecord) newest() int16         { return 0 }
func (r *EndTransactionRecord) versionToWrite() int16 { return 0 }
func (r *EndTransactionRecord) walk(c *coder)         { c.tags() }

// AbortTransactionRecord undoes the open metadata transaction.
type AbortTransactionRecord struct{ Reason *string }

func (r *AbortTransactionRecord) apiKey() int16         { return 25 }
func (r *AbortTransactionRecord) newest() int16         { return 0 }
func (r *AbortTransactionRecord) versionToWrite() int16 { return 0 }

func (r *AbortTransactionRecord) walk(c *coder) {
	c.tags(tag{0, "reason", r.Reason != nil, func() { c.nullableString("reason", &r.Reason) }})
}
