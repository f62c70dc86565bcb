package client

import (
	"slices"
	"time"
)

// latenciesMax is how many of the newest acknowledged batches a producer keeps the waiting time of.
const latenciesMax = 4096

// latencies are how long a producer's batches took from their first record to their
// acknowledgement, as a ring.
type latencies struct {
	ring []time.Duration
	next int
}

func (l *latencies) add(d time.Duration) {
	if len(l.ring) < latenciesMax {
		l.ring = append(l.ring, d)
		return
	}
	l.ring[l.next] = d
	l.next = (l.next + 1) % latenciesMax
}

// Latency is what so many percent of the newest acknowledged batches did not exceed, from send() to
// the acknowledgement. It is false before the first one.
func (p *Producer) Latency(percent int) (time.Duration, bool) {
	sorted := slices.Sorted(slices.Values(p.latencies.ring))
	if len(sorted) == 0 || percent < 1 || percent > 100 {
		return 0, false
	}
	return sorted[(len(sorted)*percent+99)/100-1], true
}
