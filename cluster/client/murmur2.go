package client

// murmur2 is the hash of Kafka's Java client (org.apache.kafka.common.utils.Utils.murmur2).
func murmur2(data []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := uint32(seed) ^ uint32(len(data))
	for len(data) >= 4 {
		k := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h *= m
		h ^= k
		data = data[4:]
	}
	if len(data) > 0 {
		for i := len(data) - 1; i >= 0; i-- {
			h ^= uint32(data[i]) << (8 * i)
		}
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}

// PartitionForKey is where Kafka's default partitioner puts a key: murmur2 without its sign bit,
// modulo the number of partitions. An empty key is a key; a missing one is not.
func PartitionForKey(key []byte, partitions int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % partitions
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
