package event

import (
	"encoding/base64"
	"fmt"
)

// NodeID names a node of a world: brokers and controllers carry Kafka's node ids, outside
// connections get ids from FirstOutside on.
type NodeID int32

// FirstOutside is the smallest NodeID given to something that lives outside the world, such as a
// client's connection.
const FirstOutside NodeID = 1 << 20

// Offset is a position in a partition's log: the offset of one record, or, for positions such as
// the high watermark, the offset of the next one.
type Offset int64

// Epoch is a partition's leader epoch; in the metadata log it equals Raft's term.
type Epoch int32

// NoNode is Kafka's -1: no leader, nobody.
const NoNode NodeID = -1

// UUID is Kafka's 16-byte identifier, written as 22 characters of unpadded base64url.
type UUID [16]byte

// String writes the UUID the way Kafka's files and tools do.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero says whether the UUID is Kafka's ZERO_UUID, "none given".
func (u UUID) IsZero() bool { return u == UUID{} }

// ParseUUID reads the 22-character form.
func ParseUUID(text string) (UUID, error) {
	var u UUID
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != len(u) {
		return u, fmt.Errorf("event: %q is not a UUID of 22 base64url characters", text)
	}
	copy(u[:], b)
	return u, nil
}

// MetadataTopicID is the fixed id of __cluster_metadata.
var MetadataTopicID = UUID{15: 1}
