package disk

import (
	"errors"
	"sync"
)

// Parallel does independent work on files, up to width pieces at a time, and waits for all of it. It
// is for stops, where dozens of logs have to be synced and each sync mostly waits.
func Parallel(width int, work []func() error) error {
	errs := make([]error, len(work))
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, width))
	for i, do := range work {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
