package record

import "fmt"

// Codec is how a batch's records are compressed.
type Codec int8

// Kafka's codecs, by their numbers in the attributes.
const (
	None Codec = iota
	Gzip
	Snappy
	Lz4
	Zstd
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String is the codec's name in configurations.
func (c Codec) String() string {
	if c >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", int8(c))
}

// ParseCodec finds a codec by its name.
func ParseCodec(name string) (Codec, error) {
	if name == "uncompressed" { // how a topic's compression.type says it
		return None, nil
	}
	for i, known := range codecNames {
		if known == name {
			return Codec(i), nil
		}
	}
	return None, fmt.Errorf("record: %q is no codec; there are none, gzip, snappy, lz4 and zstd", name)
}
