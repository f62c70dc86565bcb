package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// deflater compresses records into the forms that the Java client writes, and keeps its
// compressors, which are costly to make, between batches.
type deflater struct {
	gzip *gzip.Writer
	lz4  *lz4.Writer
	zstd *zstd.Encoder
}

// appendDeflated appends the compressed records to dst.
func (d *deflater) appendDeflated(dst []byte, codec Codec, records []byte) ([]byte, error) {
	switch codec {
	case None:
		return append(dst, records...), nil
	case Gzip:
		out := bytes.NewBuffer(dst)
		if d.gzip == nil {
			d.gzip = gzip.NewWriter(out)
		} else {
			d.gzip.Reset(out)
		}
		return finish(out, d.gzip, codec, records)
	case Snappy:
		return appendXerial(dst, records), nil
	case Lz4:
		return d.appendLz4(dst, records)
	case Zstd:
		return d.appendZstd(dst, records)
	}
	return dst, fmt.Errorf("%w %d", ErrUnknownCodec, int8(codec))
}

func finish(out *bytes.Buffer, w io.WriteCloser, codec Codec, records []byte) ([]byte, error) {
	_, err := w.Write(records)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("record: deflate %s: %w", codec, err)
	}
	return out.Bytes(), nil
}

// appendLz4 writes independent blocks of 64 KiB without checksums, as the Java client does.
func (d *deflater) appendLz4(dst, records []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if d.lz4 == nil {
		d.lz4 = lz4.NewWriter(out)
		err := d.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false),
			lz4.BlockChecksumOption(false), lz4.ConcurrencyOption(1))
		if err != nil {
			return nil, fmt.Errorf("record: deflate lz4: %w", err)
		}
	} else {
		d.lz4.Reset(out)
	}
	return finish(out, d.lz4, Lz4, records)
}

func (d *deflater) appendZstd(dst, records []byte) ([]byte, error) {
	if d.zstd == nil {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, fmt.Errorf("record: deflate zstd: %w", err)
		}
		d.zstd = encoder
	}
	return d.zstd.EncodeAll(records, dst), nil
}

func appendXerial(dst, records []byte) []byte {
	dst = append(dst, xerialMagic[:]...)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	scratch := make([]byte, snappy.MaxEncodedLen(min(len(records), xerialBlockBytes)))
	for len(records) > 0 {
		n := min(len(records), xerialBlockBytes)
		block := snappy.Encode(scratch, records[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))
		dst = append(dst, block...)
		records = records[n:]
	}
	return dst
}
