package disk

import (
	"errors"
	"sync/atomic"
	"testing"
)

func TestParallelDoesAllTheWorkAndKeepsEveryError(t *testing.T) {
	for _, width := range []int{0, 1, 3, 100} {
		var done, running, most atomic.Int64
		var work []func() error
		first, second := errors.New("first"), errors.New("second")
		for i := range 20 {
			work = append(work, func() error {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer running.Add(-1)
				done.Add(1)
				switch i {
				case 3:
					return first
				case 17:
					return second
				}
				return nil
			})
		}
		err := Parallel(width, work)
		if done.Load() != 20 || !errors.Is(err, first) || !errors.Is(err, second) {
			t.Errorf("width %d: %d pieces done, %v", width, done.Load(), err)
		}
		if most.Load() > int64(max(1, width)) {
			t.Errorf("width %d: %d at a time", width, most.Load())
		}
	}
}
