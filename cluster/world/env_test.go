package world

import (
	"testing"
	"time"
)

const year = 365 * 24 * time.Hour

func TestClocksAndDueTimesHoldForYears(t *testing.T) {
	fast := clock{rate: 100_000}
	if got := time.Duration(fast.read(int64(year))); got != 100*year {
		t.Errorf("a clock of rate 100 shows %v after a year", got)
	}
	even := clock{since: 1999, shown: 7, rate: 1500}
	if got := even.read(2000); got != 8 {
		t.Errorf("one and a half nanoseconds of %d", got)
	}
	for _, c := range []struct{ d, by, per, want int64 }{
		{5, 1000, 1000, 5}, {5, 1000, 3000, 2}, {-5, 1000, 1000, 0}, {1, 1, 1000, 1},
		{int64(100 * year), 1000, 1000, int64(100 * year)}, {int64(100 * year), 1000, 1, timeMax},
	} {
		if got := scaled(c.d, c.by, c.per); got != c.want {
			t.Errorf("%d*%d/%d is %d, want %d", c.d, c.by, c.per, got, c.want)
		}
	}
}
