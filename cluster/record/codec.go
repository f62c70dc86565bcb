package record

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

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
	for i, known := range codecNames {
		if known == name {
			return Codec(i), nil
		}
	}
	return None, fmt.Errorf("record: %q is no codec; there are none, gzip, snappy, lz4 and zstd", name)
}

// ErrTooLarge says that records would inflate to more than the bound given.
var ErrTooLarge = errors.New("record: the records inflate beyond the bound")

// xerialMagic begins the frames in which Java clients wrap snappy blocks.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeaderBytes = 16
	xerialBlockBytes  = 32 << 10
)

// inflate decompresses into memory of at most limit bytes.
func inflate(c Codec, p []byte, limit int) ([]byte, error) {
	switch c {
	case None:
		return p, nil
	case Gzip:
		r, err := gzip.NewReader(bytes.NewReader(p))
		if err != nil {
			return nil, fmt.Errorf("record: gzip: %w", err)
		}
		return readBounded(r, limit)
	case Snappy:
		return inflateSnappy(p, limit)
	case Lz4:
		return readBounded(lz4.NewReader(bytes.NewReader(p)), limit)
	case Zstd:
		r, err := zstd.NewReader(bytes.NewReader(p), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(max(limit, 1<<20))))
		if err != nil {
			return nil, fmt.Errorf("record: zstd: %w", err)
		}
		defer r.Close()
		return readBounded(r, limit)
	}
	return nil, fmt.Errorf("record: unknown codec %d", int8(c))
}

func readBounded(r io.Reader, limit int) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("record: inflate: %w", err)
	}
	if len(out) > limit {
		return nil, ErrTooLarge
	}
	return out, nil
}

func inflateSnappy(p []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(p, xerialMagic) || len(p) < xerialHeaderBytes {
		return snappyBlock(nil, p, limit)
	}
	var out []byte
	for p = p[xerialHeaderBytes:]; len(p) > 0; {
		if len(p) < 4 {
			return nil, errors.New("record: snappy: a block's length is cut short")
		}
		n := binary.BigEndian.Uint32(p)
		if uint64(n) > uint64(len(p)-4) {
			return nil, fmt.Errorf("record: snappy: a block of %d bytes is cut short", n)
		}
		var err error
		if out, err = snappyBlock(out, p[4:4+n], limit); err != nil {
			return nil, err
		}
		p = p[4+n:]
	}
	return out, nil
}

func snappyBlock(out, block []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return nil, fmt.Errorf("record: snappy: %w", err)
	}
	if n > limit-len(out) {
		return nil, ErrTooLarge
	}
	plain, err := s2.Decode(nil, block)
	if err != nil {
		return nil, fmt.Errorf("record: snappy: %w", err)
	}
	return append(out, plain...), nil
}

// deflate compresses as the Java client does: snappy in xerial frames, lz4 in its frame format.
func deflate(c Codec, p []byte) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch c {
	case None:
		return p, nil
	case Gzip:
		w = gzip.NewWriter(&b)
	case Snappy:
		return deflateSnappy(p), nil
	case Lz4:
		lw := lz4.NewWriter(&b)
		err = lw.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false))
		w = lw
	case Zstd:
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	default:
		return nil, fmt.Errorf("record: unknown codec %d", int8(c))
	}
	if err != nil {
		return nil, fmt.Errorf("record: %v: %w", c, err)
	}
	if _, err := w.Write(p); err != nil {
		return nil, fmt.Errorf("record: %v: %w", c, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("record: %v: %w", c, err)
	}
	return b.Bytes(), nil
}

func deflateSnappy(p []byte) []byte {
	out := append([]byte(nil), xerialMagic...)
	out = binary.BigEndian.AppendUint32(out, 1) // version
	out = binary.BigEndian.AppendUint32(out, 1) // oldest version that can read it
	for len(p) > 0 {
		n := min(len(p), xerialBlockBytes)
		block := s2.EncodeSnappy(nil, p[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		p = p[n:]
	}
	return out
}
