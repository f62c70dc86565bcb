package wire

import (
	"encoding/binary"
	"fmt"
)

const (
	lengthBytes = 4
	// frameBytesMin is the shortest request header: API key, version and correlation id.
	frameBytesMin = 8
)

// strangerError says that what came is no Kafka request, and what it looks like.
type strangerError struct{ what string }

func (e *strangerError) Error() string { return e.what }

// frameLength reads the length in front of a frame. first says that nothing came before it on the
// connection: only then may a length within the bound still be another protocol's greeting.
func frameLength(b []byte, bytesMax int, first bool) (int, error) {
	length := int(int32(binary.BigEndian.Uint32(b)))
	if first || length > bytesMax || length < frameBytesMin {
		if what := stranger(b); what != "" {
			return 0, &strangerError{what}
		}
	}
	switch {
	case length < 0:
		return 0, fmt.Errorf("a frame of negative length %d", length)
	case length < frameBytesMin:
		return 0, fmt.Errorf("a frame of length %d; the shortest request has %d bytes",
			length, frameBytesMin)
	case length > bytesMax:
		return 0, fmt.Errorf("a frame of %d bytes; the largest taken has %d", length, bytesMax)
	}
	return length, nil
}

// stranger recognises by its first four bytes who else talks to the port.
func stranger(b []byte) string {
	switch string(b[:lengthBytes]) {
	case "GET ", "POST", "HEAD", "PUT ", "DELE", "OPTI", "PATC", "CONN", "TRAC", "HTTP", "PRI ":
		return "an HTTP request"
	}
	if b[0] == 0x16 && b[1] == 3 {
		return "a TLS hello"
	}
	return ""
}
