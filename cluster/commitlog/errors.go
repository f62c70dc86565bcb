package commitlog

import (
	"errors"
	"fmt"

	"highwater/cluster/disk"
	"highwater/cluster/event"
)

// Kafka's error codes that a log itself answers with.
const (
	codeOffsetOutOfRange     = 1
	codeCorruptMessage       = 2
	codeMessageTooLarge      = 10
	codeRecordListTooLarge   = 18
	codeOutOfOrderSequence   = 45
	codeInvalidProducerEpoch = 47
	codeInvalidTxnState      = 48
	codeCoordinatorFenced    = 52
)

// ErrCorrupt says that a batch's CRC or structure does not hold.
var ErrCorrupt = errors.New("commitlog: the batch is corrupt")

// IsCorrupt says whether an error is about bytes that were read and are wrong. What the disk did
// not give, or did not take, says nothing of what it holds: that is no reason to give anything up.
func IsCorrupt(err error) bool {
	var refused *disk.Error
	return errors.Is(err, ErrCorrupt) && !errors.As(err, &refused)
}

// ErrUnexpectedOffset says that a follower was given a batch below its log end offset.
var ErrUnexpectedOffset = errors.New("commitlog: the batch begins below the log end offset")

// ErrClosed says that the log was closed.
var ErrClosed = errors.New("commitlog: the log is closed")

// ErrTopicID says that the directory belongs to another topic of the same name.
var ErrTopicID = errors.New("commitlog: the directory holds another topic id")

// ErrNoTopicID says that the directory has records, and no topic id that can be read.
var ErrNoTopicID = errors.New("commitlog: nothing tells which topic's records these are")

// AppendError says why a batch was not appended, with Kafka's error code.
type AppendError struct {
	Code    int16
	Message string
}

func (e *AppendError) Error() string { return "commitlog: " + e.Message }

// ProducerError says that a batch does not fit its producer's state. For a sequence error Expected
// and Got are sequence numbers, for an epoch error they are epochs.
type ProducerError struct {
	Code       int16
	ProducerID int64
	Expected   int64
	Got        int64
}

func (e *ProducerError) Error() string { return "commitlog: " + e.Detail() }

// Detail says what does not fit, for people.
func (e *ProducerError) Detail() string {
	what := "sequence"
	switch e.Code {
	case codeInvalidProducerEpoch:
		what = "producer epoch"
	case codeInvalidTxnState:
		what = "transaction state"
	case codeCoordinatorFenced:
		what = "coordinator epoch"
	}
	return fmt.Sprintf("producer %d: wrong %s: expected %d, got %d",
		e.ProducerID, what, e.Expected, e.Got)
}

// OutOfRangeError says that an offset lies outside the log, Kafka's OFFSET_OUT_OF_RANGE.
type OutOfRangeError struct {
	Offset, LogStartOffset, LogEndOffset event.Offset
}

func (e *OutOfRangeError) Error() string {
	return fmt.Sprintf("commitlog: offset %d is outside the log, which spans [%d, %d)",
		e.Offset, e.LogStartOffset, e.LogEndOffset)
}

// Code is Kafka's error code for it.
func (e *OutOfRangeError) Code() int16 { return codeOffsetOutOfRange }
