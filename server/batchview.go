package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"

	"highwater/cluster/record"
)

// batchView is one batch for the inspector: its bytes, the header's named fields, its records.
type batchView struct {
	Bytes   string       `json:"bytes"`
	Fields  []fieldView  `json:"fields"`
	Records []recordView `json:"records"`
	Note    string       `json:"note,omitempty"`
	CRCOk   bool         `json:"crcHolds"`
}

type fieldView struct {
	Name   string `json:"name"`
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	Value  string `json:"value"`
}

type recordView struct {
	Offset    string       `json:"offset"`
	Timestamp string       `json:"timestamp"`
	Key       string       `json:"key"`
	Value     string       `json:"value"`
	Headers   []headerView `json:"headers"`
}

type headerView struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

const (
	viewedRecordsMax = 50
	viewedTextMax    = 500
	viewedInflateMax = 16 << 20
	viewedHeadersMax = 20 // of one record
)

func viewBatch(raw []byte) (batchView, error) {
	h, err := record.ParseHeader(raw)
	if err != nil {
		return batchView{}, err
	}
	view := batchView{CRCOk: record.ChecksumHolds(raw)}
	for _, f := range record.HeaderFields() {
		view.Fields = append(view.Fields, fieldView{f.Name, f.Offset, f.Size,
			fieldValue(f, raw[f.Offset:f.Offset+f.Size])})
	}
	more := 0
	err = record.EachRecord(raw, viewedInflateMax, func(r record.Record) error {
		if len(view.Records) == viewedRecordsMax {
			more++
			return nil
		}
		one := recordView{
			Offset:    strconv.FormatInt(h.BaseOffset+int64(r.OffsetDelta), 10),
			Timestamp: strconv.FormatInt(h.BaseTimestamp+r.TimestampDelta, 10),
			Key:       viewText(r.Key), Value: viewText(r.Value), Headers: viewHeaders(r.Headers)}
		if marker, err := record.ParseEndTxn(r); err == nil && h.Attributes.Control() {
			one.Key = "ABORT marker"
			if marker.Commit {
				one.Key = "COMMIT marker"
			}
			one.Value = fmt.Sprintf("coordinator epoch %d", marker.CoordinatorEpoch)
		}
		view.Records = append(view.Records, one)
		return nil
	})
	switch {
	case err != nil:
		view.Note = err.Error()
	case more > 0:
		view.Note = fmt.Sprintf("%d more records are not shown", more)
	}
	return view, nil
}

func viewHeaders(headers []record.RecordHeader) []headerView {
	views := []headerView{}
	for _, h := range headers[:min(len(headers), viewedHeadersMax)] {
		views = append(views, headerView{viewText([]byte(h.Key)), viewText(h.Value)})
	}
	if more := len(headers) - viewedHeadersMax; more > 0 {
		views = append(views, headerView{"…", fmt.Sprintf("and %d more headers", more)})
	}
	return views
}

func fieldValue(f record.Field, b []byte) string {
	switch {
	case f.Name == "CRC":
		return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b)), 10)
	case f.Size == 8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	case f.Size == 4:
		return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32(b))), 10)
	case f.Size == 2:
		return strconv.FormatInt(int64(int16(binary.BigEndian.Uint16(b))), 10)
	}
	return strconv.Itoa(int(int8(b[0])))
}

func viewText(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case !utf8.Valid(b) || bytes.ContainsFunc(b, isBinary):
		if len(b) > viewedTextMax/2 {
			return fmt.Sprintf("0x%x…", b[:viewedTextMax/2])
		}
		return fmt.Sprintf("0x%x", b)
	case len(b) > viewedTextMax:
		cut := viewedTextMax
		for !utf8.RuneStart(b[cut]) {
			cut--
		}
		return string(b[:cut]) + "…"
	}
	return string(b)
}

// isBinary says that a character is none that a text would have.
func isBinary(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
