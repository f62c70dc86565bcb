package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ErrTooLarge says that records would inflate to more than the bound given.
var ErrTooLarge = errors.New("record: the records inflate beyond the bound")

// ErrUnknownCodec says that the attributes name a codec that does not exist.
var ErrUnknownCodec = errors.New("record: unknown codec")

// The snappy-java library, which the Java client uses, cuts its input into blocks and puts a
// header before them: this magic, a version and the oldest version that can read it.
var xerialMagic = [8]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeaderBytes = 16
	xerialBlockBytes  = 32 << 10 // of uncompressed data in one block
	xerialVersion     = 1
	inflateStartBytes = 4 << 10
	// zstdWindowBytesMax is what RFC 8878 asks every decoder to support, and what levels up to 19
	// use. Kafka's own default, level 3, declares 2 MiB however small the batch.
	zstdWindowBytesMax = 8 << 20
)

// Inflater decompresses one batch after another and keeps its memory between them. What it
// returned is valid until its next use. It is for one goroutine at a time.
type Inflater struct {
	bytesMax int
	out      []byte
	source   bytes.Reader
	gzip     *gzip.Reader
	lz4      *lz4.Reader
	zstd     *zstd.Decoder
}

// NewInflater returns an inflater whose output is never larger than bytesMax.
func NewInflater(bytesMax int) *Inflater { return &Inflater{bytesMax: bytesMax} }

// Inflate decompresses the records part of a batch.
func (f *Inflater) Inflate(codec Codec, compressed []byte) ([]byte, error) {
	switch codec {
	case None:
		return compressed, nil
	case Gzip:
		return f.inflateGzip(compressed)
	case Snappy:
		return f.inflateSnappy(compressed)
	case Lz4:
		if f.lz4 == nil {
			f.lz4 = lz4.NewReader(nil)
		}
		f.source.Reset(compressed)
		f.lz4.Reset(&f.source)
		return f.drain(f.lz4, codec)
	case Zstd:
		return f.inflateZstd(compressed)
	}
	return nil, fmt.Errorf("%w %d", ErrUnknownCodec, int8(codec))
}

func (f *Inflater) inflateGzip(compressed []byte) ([]byte, error) {
	f.source.Reset(compressed)
	var err error
	if f.gzip == nil {
		f.gzip, err = gzip.NewReader(&f.source)
	} else {
		err = f.gzip.Reset(&f.source)
	}
	if err != nil {
		f.gzip = nil
		return nil, fmt.Errorf("record: inflate gzip: %w", err)
	}
	return f.drain(f.gzip, Gzip)
}

// drain reads a stream to its end. The buffer grows with what really came, not with what a
// header claims, and never beyond one byte more than the bound.
func (f *Inflater) drain(r io.Reader, codec Codec) ([]byte, error) {
	out := f.out[:0]
	for {
		if len(out) > f.bytesMax {
			return nil, ErrTooLarge
		}
		if len(out) == cap(out) {
			size := min(max(2*cap(out), inflateStartBytes), f.bytesMax+1)
			out = append(make([]byte, 0, size), out...)
			f.out = out
		}
		n, err := r.Read(out[len(out):min(cap(out), f.bytesMax+1)])
		out = out[:len(out)+n]
		if err == io.EOF && len(out) <= f.bytesMax {
			return out, nil
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("record: inflate %s: %w", codec, err)
		}
	}
}

// inflateZstd reads the frame as a stream, because only so the output can be bounded while it
// grows; the price is a buffer of the window that the frame declares, which is why that has a
// bound too. A frame that names its size declares the size as its window.
func (f *Inflater) inflateZstd(compressed []byte) ([]byte, error) {
	f.source.Reset(compressed)
	if f.zstd == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(max(f.bytesMax, zstdWindowBytesMax))))
		if err != nil {
			return nil, fmt.Errorf("record: inflate zstd: %w", err)
		}
		f.zstd = decoder
	}
	if err := f.zstd.Reset(&f.source); err != nil {
		return nil, fmt.Errorf("record: inflate zstd: %w", err)
	}
	out, err := f.drain(f.zstd, Zstd)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return nil, fmt.Errorf("%w: zstd declares a larger window", ErrTooLarge)
	}
	return out, err
}

func (f *Inflater) inflateSnappy(compressed []byte) ([]byte, error) {
	f.out = f.out[:0]
	if !bytes.HasPrefix(compressed, xerialMagic[:]) {
		return f.out, f.appendSnappyBlock(compressed)
	}
	if len(compressed) < xerialHeaderBytes {
		return nil, errors.New("record: inflate snappy: the framing header is cut off")
	}
	for rest := compressed[xerialHeaderBytes:]; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, errors.New("record: inflate snappy: a block's length is cut off")
		}
		size := binary.BigEndian.Uint32(rest)
		rest = rest[4:]
		if uint64(size) > uint64(len(rest)) {
			return nil, fmt.Errorf("record: inflate snappy: block of %d bytes, %d are left",
				size, len(rest))
		}
		if err := f.appendSnappyBlock(rest[:size]); err != nil {
			return nil, err
		}
		rest = rest[size:]
	}
	return f.out, nil
}

// appendSnappyBlock decompresses one block behind what is there. A block says its own size, which
// is compared with the bound, and with what its bytes could ever give, before memory is taken.
func (f *Inflater) appendSnappyBlock(block []byte) error {
	size, err := snappy.DecodedLen(block)
	if err != nil {
		return fmt.Errorf("record: inflate snappy: %w", err)
	}
	used := len(f.out)
	if size > f.bytesMax-used {
		return ErrTooLarge
	}
	if size > cap(f.out)-used {
		grown := make([]byte, used, max(2*cap(f.out), used+size))
		copy(grown, f.out)
		f.out = grown
	}
	decoded, err := snappy.Decode(f.out[used:used+size:used+size], block)
	if err != nil {
		return fmt.Errorf("record: inflate snappy: %w", err)
	}
	f.out = f.out[:used+len(decoded)]
	return nil
}
