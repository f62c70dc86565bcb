package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"highwater/cluster/event"
)

// runsMax is how many runs of offsets that a client has read are kept of a partition.
const runsMax = 64

// Run is a stretch of offsets from From to before To.
type Run struct {
	From event.Offset `json:"from,string"`
	To   event.Offset `json:"to,string"`
}

// readMore adds to what was read. Of too many runs the two lowest become one, with what lay between:
// what was read long ago is drawn small. The list is replaced, so that copies of a state may share it.
func readMore(read, more []Run) []Run {
	runs := joined(read, more)
	if over := len(runs) - runsMax; over > 0 {
		runs[over].From = runs[0].From
		runs = runs[over:]
	}
	return runs
}

// joined puts runs in order and makes one of those that touch.
func joined(read, more []Run) []Run {
	all := slices.Concat(read, more)
	slices.SortFunc(all, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	runs := make([]Run, 0, len(all))
	for _, r := range all {
		if last := len(runs) - 1; last >= 0 && r.From <= runs[last].To {
			runs[last].To = max(runs[last].To, r.To)
		} else {
			runs = append(runs, r)
		}
	}
	return runs
}

// Tells says whether an offset is among runs.
func Tells(runs []Run, offset event.Offset) bool {
	return slices.ContainsFunc(runs, func(r Run) bool { return r.From <= offset && offset < r.To })
}

// runsBelow gives of runs what lies below an offset.
func runsBelow(runs []Run, end event.Offset) []Run {
	below := []Run{}
	for _, r := range runs {
		if r.From < end {
			below = append(below, Run{From: r.From, To: min(r.To, end)})
		}
	}
	return below
}

// ParseRuns reads 0-176,180-182; what is not of that form says nothing.
func ParseRuns(text string) []Run {
	var runs []Run
	for part := range strings.SplitSeq(text, ",") {
		first, last, _ := strings.Cut(part, "-")
		from, fromOK := offsetOf(first)
		to, toOK := offsetOf(last)
		if fromOK && toOK && from <= to {
			runs = append(runs, Run{From: from, To: to + 1})
		}
	}
	return runs
}

// offsetDigits bounds an offset in a text, so that it is a number of 64 bits in any case.
const offsetDigits = 18

// epochDigits bounds an epoch likewise.
const epochDigits = 9

func offsetOf(text string) (event.Offset, bool) {
	if len(text) == 0 || len(text) > offsetDigits || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	offset, err := strconv.ParseInt(text, 10, 64)
	return event.Offset(offset), err == nil
}
