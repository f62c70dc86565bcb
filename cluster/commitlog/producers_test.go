package commitlog

import (
	"math"
	"testing"

	"highwater/cluster/event"
)

func TestRetryOfTheLastFiveBatchesIsAnsweredWithItsFirstOffsets(t *testing.T) {
	r := newRig(t, nil)
	const batches = 7
	for i := range int32(batches) {
		_, err := r.sendAs(1, 0, i*2, 2, false)
		r.must(err)
	}
	for i := range int32(batches) {
		done, err := r.sendAs(1, 0, i*2, 2, false)
		known := i >= batches-5
		switch {
		case known && (err != nil || !done.Duplicate || done.BaseOffset != event.Offset(i*2) ||
			done.LastOffset != event.Offset(i*2+1)):
			t.Errorf("batch %d: %+v, %v", i, done, err)
		case !known && producerCode(err) != 45:
			t.Errorf("batch %d is too old to be known: %+v, %v", i, done, err)
		}
	}
	if r.log.LogEndOffset() != batches*2 {
		t.Errorf("end %d", r.log.LogEndOffset())
	}
}

func TestOnlyTheNewestBatchIsKnownAfterARestart(t *testing.T) {
	r := newRig(t, nil)
	for i := range int32(3) {
		_, err := r.sendAs(1, 0, i, 1, false)
		r.must(err)
	}
	r.reopen(true)
	if done, err := r.sendAs(1, 0, 2, 1, false); err != nil || !done.Duplicate {
		t.Errorf("newest: %+v, %v", done, err)
	}
	if _, err := r.sendAs(1, 0, 1, 1, false); producerCode(err) != 45 {
		t.Errorf("older: %v", err)
	}
}

func TestSequenceAndEpochRules(t *testing.T) {
	for _, c := range []struct {
		name     string
		epoch    int16
		sequence int32
		txn      bool
		code     int16
	}{
		{"next", 3, 12, false, 0},
		{"gap", 3, 13, false, 45},
		{"back", 3, 5, false, 45},
		{"new epoch from zero", 4, 0, false, 0},
		{"new epoch from elsewhere", 4, 1, false, 45},
		{"older epoch", 2, 12, false, 47},
	} {
		r := newRig(t, nil)
		// An unknown producer may begin anywhere.
		_, err := r.sendAs(9, 3, 10, 2, false)
		r.must(err)
		if _, err := r.sendAs(9, c.epoch, c.sequence, 1, c.txn); producerCode(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSequenceWrapsToZero(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.sendAs(1, 0, math.MaxInt32-1, 4, false) // MaxInt32-1, MaxInt32, 0, 1
	r.must(err)
	if done, err := r.sendAs(1, 0, math.MaxInt32-1, 4, false); err != nil || !done.Duplicate {
		t.Errorf("retry across the wrap: %+v, %v", done, err)
	}
	if _, err := r.sendAs(1, 0, 2, 1, false); err != nil {
		t.Errorf("next after the wrap: %v", err)
	}
	_, err = r.sendAs(2, 0, math.MaxInt32, 1, false)
	r.must(err)
	if _, err := r.sendAs(2, 0, 0, 1, false); err != nil {
		t.Errorf("zero after the largest: %v", err)
	}
}

func TestLastStableOffsetWaitsForTheMarkerToBeReplicated(t *testing.T) {
	r := newRig(t, nil)
	r.send(entry{testTime, "k", "v"})
	_, err := r.sendAs(1, 0, 0, 2, true) // 1, 2
	r.must(err)
	_, err = r.sendAs(2, 0, 0, 1, true) // 3
	r.must(err)
	if _, err := r.sendAs(2, 0, 1, 1, false); producerCode(err) != 48 {
		t.Errorf("plain batch within a transaction: %v", err)
	}
	stable := func(highWatermark, want event.Offset) {
		t.Helper()
		if got := r.log.LastStableOffset(highWatermark); got != want {
			t.Errorf("high watermark %d: last stable %d, want %d", highWatermark, got, want)
		}
	}
	stable(1, 1)
	stable(4, 1)
	_, err = r.mark(1, 1, false) // 4
	r.must(err)
	stable(4, 1)
	stable(5, 3)
	_, err = r.mark(2, 1, true) // 5
	r.must(err)
	stable(5, 3)
	stable(6, 6)
	aborted := r.log.TxnAborted(0, 6)
	if len(aborted) != 1 || aborted[0] != (AbortedTxn{1, 1, 4, 3}) {
		t.Errorf("aborted %+v", aborted)
	}
	if got := r.log.TxnAborted(5, 6); len(got) != 0 {
		t.Errorf("aborted from 5: %+v", got)
	}
	r.flush()
	r.reopen(false)
	if got := r.log.TxnAborted(0, 6); len(got) != 1 || got[0] != aborted[0] {
		t.Errorf("after recovery: %+v", got)
	}
}

func TestSilentProducersExpireButNotInATransaction(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ProducerExpirationMs = 100 })
	_, err := r.sendAs(1, 0, 0, 1, false)
	r.must(err)
	_, err = r.sendAs(2, 0, 0, 1, true)
	r.must(err)
	if n := r.log.ExpireProducers(testTime + 99); n != 0 {
		t.Errorf("%d expired early", n)
	}
	if n := r.log.ExpireProducers(testTime + 100); n != 1 {
		t.Errorf("%d expired", n)
	}
	if s := r.log.ProducerStates(); len(s) != 1 || s[0].ProducerID != 2 ||
		s[0].CurrentTxnFirstOffset != 1 || s[0].CoordinatorEpoch != -1 || s[0].LastSequence != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTruncationForgetsWhatProducersWroteAboveIt(t *testing.T) {
	r := newRig(t, nil)
	for i := range int32(4) {
		_, err := r.sendAs(1, 0, i, 1, true)
		r.must(err)
	}
	_, err := r.mark(1, 0, false)
	r.must(err)
	r.must(r.log.Truncate(2, event.RuleTruncateToEndOfEpoch))
	if s := r.log.ProducerStates(); s[0].LastSequence != 1 || s[0].CurrentTxnFirstOffset != 0 {
		t.Errorf("%+v", s)
	}
	if got := r.log.TxnAborted(0, 9); len(got) != 0 {
		t.Errorf("aborted: %+v", got)
	}
	if _, err := r.sendAs(1, 0, 2, 1, true); err != nil {
		t.Error(err)
	}
	r.flush()
	noProblems(t, r)
}
