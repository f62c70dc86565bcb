package cleaner

import (
	"crypto/sha256"

	"highwater/cluster/event"
)

// hashBytes is how much of a key's hash the offset map keeps, as much as Kafka does of MD5.
const hashBytes = 16

type keyHash [hashBytes]byte

func hashOf(key []byte) keyHash {
	sum := sha256.Sum256(key)
	return keyHash(sum[:hashBytes])
}

// offsetMap knows the newest offset of each key in the dirty part of a log, up to a number of keys.
type offsetMap struct {
	newest map[keyHash]event.Offset
	keys   int          // at most that many
	latest event.Offset // everything up to it was learned, -1 at first
}

func newOffsetMap(keys int) *offsetMap {
	return &offsetMap{newest: map[keyHash]event.Offset{}, keys: keys, latest: -1}
}

// learn notes a record's key; false says that the map is full, and nothing was noted.
func (m *offsetMap) learn(key []byte, offset event.Offset) bool {
	hash := hashOf(key)
	if _, known := m.newest[hash]; !known && len(m.newest) >= m.keys {
		return false
	}
	m.newest[hash], m.latest = offset, offset
	return true
}

// superseded says whether a newer record of the same key is known.
func (m *offsetMap) superseded(key []byte, offset event.Offset) bool {
	newest, known := m.newest[hashOf(key)]
	return known && newest > offset
}
