package commitlog

import (
	"encoding/binary"
	"errors"
	"io/fs"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

const abortedTxnBytes = 34

// AbortedTxn is one entry of a .txnindex: a transaction that was aborted, by the offset of its
// first record and of its marker.
type AbortedTxn struct {
	ProducerID       int64
	FirstOffset      event.Offset
	LastOffset       event.Offset
	LastStableOffset event.Offset // once this transaction was done
}

func (t AbortedTxn) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(t.ProducerID))
	b = binary.BigEndian.AppendUint64(b, uint64(t.FirstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(t.LastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(t.LastStableOffset))
}

// parseAbortedTxns reads a .txnindex; it reports false for what cannot be one.
func parseAbortedTxns(b []byte) ([]AbortedTxn, bool) {
	if len(b)%abortedTxnBytes != 0 {
		return nil, false
	}
	var txns []AbortedTxn
	for ; len(b) > 0; b = b[abortedTxnBytes:] {
		if binary.BigEndian.Uint16(b) != 0 {
			return nil, false
		}
		t := AbortedTxn{
			ProducerID:       int64(binary.BigEndian.Uint64(b[2:])),
			FirstOffset:      event.Offset(binary.BigEndian.Uint64(b[10:])),
			LastOffset:       event.Offset(binary.BigEndian.Uint64(b[18:])),
			LastStableOffset: event.Offset(binary.BigEndian.Uint64(b[26:])),
		}
		if n := len(txns); t.FirstOffset > t.LastOffset || n > 0 && t.LastOffset <= txns[n-1].LastOffset {
			return nil, false
		}
		txns = append(txns, t)
	}
	return txns, true
}

// txnIndex holds the transactions whose abort marker lies in one segment. Its file comes into
// being with the first of them.
type txnIndex struct {
	files   disk.FS
	name    string
	file    disk.File
	txns    []AbortedTxn
	written int // of txns
}

func (x *txnIndex) append(t AbortedTxn) { x.txns = append(x.txns, t) }

func (x *txnIndex) flush() error {
	if x.written == len(x.txns) {
		return nil
	}
	if err := x.open(); err != nil {
		return err
	}
	var b []byte
	for _, t := range x.txns[x.written:] {
		b = t.append(b)
	}
	if _, err := x.file.WriteAt(b, int64(x.written)*abortedTxnBytes); err != nil {
		return err
	}
	x.written = len(x.txns)
	return nil
}

// open opens the file for appending; behind what is known of it there is nothing to keep.
func (x *txnIndex) open() error {
	if x.file != nil {
		return nil
	}
	var err error
	if x.written == 0 {
		x.file, err = x.files.Create(x.name)
	} else {
		x.file, err = x.files.Open(x.name)
	}
	return err
}

func (x *txnIndex) load() (bool, error) {
	b, err := x.files.ReadFile(x.name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var ok bool
	x.txns, ok = parseAbortedTxns(b)
	x.written = len(x.txns)
	return ok, nil
}

// truncate drops the entries whose marker is at or above the offset, in memory.
func (x *txnIndex) truncate(offset event.Offset) {
	keep := len(x.txns)
	for keep > 0 && x.txns[keep-1].LastOffset >= offset {
		keep--
	}
	x.txns = x.txns[:keep]
}

// recreate replaces the file by one with the entries in memory; without any there is none.
func (x *txnIndex) recreate() error {
	if len(x.txns) == 0 {
		x.written = 0
		return errors.Join(x.close(), removeIfThere(x.files, x.name))
	}
	var b []byte
	for _, t := range x.txns {
		b = t.append(b)
	}
	file, err := replaceFile(x.files, x.name, 0, b)
	if err != nil {
		return err
	}
	err = x.close()
	x.file, x.written = file, len(x.txns)
	return err
}

func (x *txnIndex) close() error {
	if x.file == nil {
		return nil
	}
	file := x.file
	x.file = nil
	return file.Close()
}
