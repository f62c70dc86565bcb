package client

import "highwater/cluster/record"

// PartitionForKey is where Kafka's default partitioner puts a key: murmur2 without its sign bit,
// modulo the number of partitions. An empty key is a key; a missing one is not.
func PartitionForKey(key []byte, partitions int32) int32 {
	return int32(record.KeyHash(key)&0x7fffffff) % partitions
}

// stickyBytes is batch.size, after which a record without a key may go to another partition
// (KIP-794).
const stickyBytes = 16384

// sticky is the partition that records without a key go to for now.
type sticky struct {
	partition int32
	bytes     int
}

// choose says which partition a record goes to.
func (c *Client) choose(topic string, key *string, bytes int, partitions int32) int32 {
	if key != nil {
		return PartitionForKey([]byte(*key), partitions)
	}
	s := c.stickies[topic]
	if s == nil || s.bytes >= stickyBytes || s.partition >= partitions {
		s = &sticky{partition: c.env.Dice().Int32N(partitions)}
		c.stickies[topic] = s
	}
	s.bytes += bytes
	return s.partition
}
