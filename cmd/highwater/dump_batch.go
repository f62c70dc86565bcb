package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"highwater/cluster/metadata"
	"highwater/cluster/record"
)

// Bounds of what a damaged file can make the dump read.
const (
	dumpBatchMax    = 256 << 20
	dumpInflatedMax = 256 << 20
)

// dumpedBatch is one batch as it is printed. 64-bit numbers are texts in JSON.
type dumpedBatch struct {
	File            string         `json:"file"`
	Position        int64          `json:"position"`
	BaseOffset      int64          `json:"baseOffset,string"`
	LastOffset      int64          `json:"lastOffset,string"`
	Count           int32          `json:"count"`
	BaseSequence    int32          `json:"baseSequence"`
	LastSequence    int32          `json:"lastSequence"`
	ProducerID      int64          `json:"producerId,string"`
	ProducerEpoch   int16          `json:"producerEpoch"`
	LeaderEpoch     int32          `json:"partitionLeaderEpoch"`
	IsTransactional bool           `json:"isTransactional"`
	IsControl       bool           `json:"isControl"`
	Timestamp       int64          `json:"maxTimestamp,string"`
	Size            int            `json:"size"`
	Codec           string         `json:"compression"`
	CRC             uint32         `json:"crc"`
	Valid           bool           `json:"valid"`
	Records         []dumpedRecord `json:"records"`
	Problem         string         `json:"problem,omitempty"`

	timestampType string
	horizon       string
}

// dumpedRecord is one record. Key and Value are nil for null.
type dumpedRecord struct {
	Offset    int64    `json:"offset,string"`
	Timestamp int64    `json:"timestamp,string"`
	Sequence  int32    `json:"sequence"`
	Headers   []string `json:"headerKeys"`
	Key       *string  `json:"key"`
	Value     *string  `json:"value"`
	// Meaning is what a control record or a record of the metadata log says.
	Meaning string `json:"meaning,omitempty"`

	keySize, valueSize int
}

// batches prints one file, up to its end or to where no batch can be read.
func (d *dumper) batches(name string, from io.Reader) error {
	isMetadata := strings.HasPrefix(filepath.Base(filepath.Dir(name)), "__cluster_metadata-")
	var position int64
	for {
		raw, problem, err := readBatch(from)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if problem != "" {
			d.wrong = true
			return d.problem(filepath.Dir(name),
				fmt.Sprintf("%s at byte %d: %s", filepath.Base(name), position, problem))
		}
		if raw == nil {
			return nil
		}
		b := describeBatch(raw, isMetadata)
		b.File, b.Position = name, position
		if !b.Valid || b.Problem != "" {
			d.wrong = true
		}
		if err := d.print(b); err != nil {
			return err
		}
		position += int64(len(raw))
	}
}

// readBatch reads the next batch; nil without a problem is the end. The zeros of a preallocated
// file count as the end, too.
func readBatch(from io.Reader) (raw []byte, problem string, err error) {
	head := make([]byte, record.LogOverhead)
	n, err := io.ReadFull(from, head)
	switch {
	case errors.Is(err, io.EOF):
		return nil, "", nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Sprintf("%d bytes that are no batch", n), nil
	case err != nil:
		return nil, "", err
	}
	length := int32(binary.BigEndian.Uint32(head[8:]))
	if length == 0 && binary.BigEndian.Uint64(head) == 0 {
		return nil, "", nil
	}
	if length < record.HeaderBytes-record.LogOverhead || length > dumpBatchMax {
		return nil, fmt.Sprintf("a batch cannot have length %d", length), nil
	}
	raw = append(head, make([]byte, length)...)
	if _, err = io.ReadFull(from, raw[record.LogOverhead:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, "the last batch is cut off", nil
		}
		return nil, "", err
	}
	if _, err := record.ParseHeader(raw); err != nil {
		return nil, err.Error(), nil
	}
	return raw, "", nil
}

func describeBatch(raw []byte, isMetadata bool) *dumpedBatch {
	h, err := record.ParseHeader(raw)
	if err != nil {
		return &dumpedBatch{Problem: err.Error()} // readBatch has parsed it before
	}
	b := &dumpedBatch{BaseOffset: h.BaseOffset, LastOffset: h.LastOffset(), Count: h.RecordsCount,
		BaseSequence: h.BaseSequence, LastSequence: h.LastSequence(), ProducerID: h.ProducerID,
		ProducerEpoch: h.ProducerEpoch, LeaderEpoch: h.PartitionLeaderEpoch,
		IsTransactional: h.Attributes.Transactional(), IsControl: h.Attributes.Control(),
		Timestamp: h.MaxTimestamp, Size: len(raw), Codec: h.Attributes.Codec().String(), CRC: h.CRC,
		Valid: record.ChecksumHolds(raw), Records: []dumpedRecord{},
		timestampType: "CreateTime", horizon: "OptionalLong.empty"}
	if h.BaseSequence < 0 {
		b.LastSequence = -1
	}
	if h.Attributes.LogAppendTime() {
		b.timestampType = "LogAppendTime"
	}
	if h.Attributes.DeleteHorizon() {
		b.horizon = fmt.Sprintf("OptionalLong[%d]", h.BaseTimestamp)
	}
	if !b.Valid {
		b.Problem = fmt.Sprintf("its CRC is %d, its bytes have %d", h.CRC, record.Checksum(raw))
		return b
	}
	err = record.EachRecord(raw, dumpInflatedMax, func(r record.Record) error {
		b.Records = append(b.Records, describeRecord(h, r, isMetadata))
		return nil
	})
	if err != nil {
		b.Problem = err.Error()
	}
	return b
}

func describeRecord(h record.Header, r record.Record, isMetadata bool) dumpedRecord {
	out := dumpedRecord{Offset: h.BaseOffset + int64(r.OffsetDelta), Timestamp: h.Timestamp(r),
		Sequence: -1, Headers: []string{}, keySize: sizeOf(r.Key), valueSize: sizeOf(r.Value)}
	if h.BaseSequence >= 0 && !h.Attributes.Control() {
		out.Sequence = (h.BaseSequence + r.OffsetDelta) & 0x7fffffff
	}
	for _, header := range r.Headers {
		out.Headers = append(out.Headers, header.Key)
	}
	switch {
	case h.Attributes.Control():
		out.Meaning = controlMeaning(r)
	case isMetadata:
		out.Meaning = metadataMeaning(r.Value)
	default:
		out.Key, out.Value = printable(r.Key), printable(r.Value)
	}
	return out
}

func controlMeaning(r record.Record) string {
	kind, err := record.ParseControlType(r.Key)
	if err != nil {
		return err.Error()
	}
	switch kind {
	case record.ControlAbort, record.ControlCommit:
		marker, err := record.ParseEndTxn(r)
		if err != nil {
			return err.Error()
		}
		word := "ABORT"
		if marker.Commit {
			word = "COMMIT"
		}
		return fmt.Sprintf("endTxnMarker: %s coordinatorEpoch: %d", word, marker.CoordinatorEpoch)
	case record.ControlLeaderChange:
		change, err := record.ParseLeaderChange(r.Value)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("LeaderChange: leaderId: %d voters: %v grantingVoters: %v", change.Leader,
			voterIDs(change.Voters), voterIDs(change.Granting))
	}
	return kind.String()
}

func voterIDs(voters []record.Voter) []int32 {
	ids := make([]int32, len(voters))
	for i, v := range voters {
		ids[i] = v.ID
	}
	return ids
}

func metadataMeaning(value []byte) string {
	r, err := metadata.Decode(value)
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Sprintf("%T", r)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T ", r), "*metadata.") + string(text)
}

func sizeOf(p []byte) int {
	if p == nil {
		return -1
	}
	return len(p)
}

// printable is text as it is, quoted when a terminal would obey it, and other bytes in hexadecimal.
func printable(p []byte) *string {
	if p == nil {
		return nil
	}
	text := string(p)
	switch {
	case !utf8.ValidString(text):
		text = fmt.Sprintf("0x%x", p)
	case strings.ContainsFunc(text, unicode.IsControl):
		text = strconv.Quote(text)
	}
	return &text
}

func (d *dumper) print(b *dumpedBatch) error {
	if d.json {
		return json.NewEncoder(d.out).Encode(b)
	}
	fmt.Fprintf(d.out, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d "+
		"producerId: %d producerEpoch: %d partitionLeaderEpoch: %d isTransactional: %t "+
		"isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: 2 "+
		"compresscodec: %s crc: %d isvalid: %t\n",
		b.BaseOffset, b.LastOffset, b.Count, b.BaseSequence, b.LastSequence, b.ProducerID,
		b.ProducerEpoch, b.LeaderEpoch, b.IsTransactional, b.IsControl, b.horizon, b.Position,
		b.timestampType, b.Timestamp, b.Size, b.Codec, b.CRC, b.Valid)
	for i := range b.Records {
		d.printRecord(b, &b.Records[i])
	}
	if b.Problem != "" {
		fmt.Fprintf(d.out, "PROBLEM: %s\n", b.Problem)
	}
	return nil // errors of the writer come out of Flush
}

func (d *dumper) printRecord(b *dumpedBatch, r *dumpedRecord) {
	fmt.Fprintf(d.out, "| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
		r.Offset, b.timestampType, r.Timestamp, r.keySize, r.valueSize, r.Sequence,
		strings.Join(r.Headers, ","))
	if r.Key != nil {
		fmt.Fprintf(d.out, " key: %s", *r.Key)
	}
	if r.Value != nil {
		fmt.Fprintf(d.out, " payload: %s", *r.Value)
	}
	if r.Meaning != "" {
		fmt.Fprintf(d.out, " %s", r.Meaning)
	}
	fmt.Fprintln(d.out)
}
