package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The idealised world of order-8812: one order a tick, and each order's copy travels on its own.
const (
	tick      = 5 * time.Millisecond
	oneWay    = 15 * time.Millisecond
	deadOrder = 14 // the leader dies when this one is sent, and does not get it
)

// fate is what became of the orders of one kind of producer, at the leader's death and after.
type fate struct {
	lost, twice []int // orders
	waits       time.Duration
}

// pencil is the pencil's part of order-8812.
func pencil(acksAll, idempotent bool) fate {
	var f fate
	if acksAll {
		f.waits = 2 * oneWay
	}
	death := deadOrder * tick
	for order := 1; order < deadOrder; order++ {
		sent := time.Duration(order) * tick
		acknowledged, copied := sent+f.waits < death, sent+oneWay < death
		switch {
		case acknowledged && !copied:
			f.lost = append(f.lost, order)
		case !acknowledged && copied && !idempotent: // it is sent again, to a leader that has it
			f.twice = append(f.twice, order)
		}
	}
	return f
}

func TestArithmeticOfOrder8812IsTheLessonsTable(t *testing.T) {
	cell := func(orders []int) string {
		if len(orders) == 0 {
			return "0"
		}
		return fmt.Sprintf("%d (orders %d-%d)", len(orders), orders[0], orders[len(orders)-1])
	}
	table := map[string][]string{}
	for _, f := range []fate{pencil(false, false), pencil(true, false), pencil(true, true)} {
		table["acknowledged, lost"] = append(table["acknowledged, lost"], cell(f.lost))
		table["stored twice"] = append(table["stored twice"], cell(f.twice))
		table["acknowledged after"] = append(table["acknowledged after"],
			fmt.Sprintf("%d ms", f.waits.Milliseconds()))
	}
	for row, want := range map[string][]string{
		"acknowledged, lost": {"3 (orders 11-13)", "0", "0"},
		"stored twice":       {"0", "3 (orders 8-10)", "0"},
		"acknowledged after": {"0 ms", "30 ms", "30 ms"},
	} {
		if !slices.Equal(table[row], want) {
			t.Errorf("%s: %q, want %q", row, table[row], want)
		}
	}
	text, err := Source("order-8812")
	if err != nil {
		t.Fatal(err)
	}
	for row, cells := range table {
		line := row
		for i, width := range []int{22, 22, 0} {
			if i == 0 {
				line = fmt.Sprintf("%-22s", row)
			}
			line += fmt.Sprintf("%-*s", width, cells[i])
		}
		if line = strings.TrimRight(line, " "); !strings.Contains(string(text), line+"\n") {
			t.Errorf("the lesson has no line %q", line)
		}
	}
}

// orders counts how often each order lies in a leader's log.
func orders(values []string) map[string]int {
	times := map[string]int{}
	for _, value := range values {
		times[value]++
	}
	return times
}

func TestClusterOfOrder8812LosesOrRepeatsByTheKindOfItsProducer(t *testing.T) {
	for seed := range uint64(8) {
		s, err := Library("order-8812")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(s, Options{Seed: &seed})
		if err != nil {
			t.Fatal(err)
		}
		if report := NewPlayer(c, nil).Run(context.Background(), s); !report.OK {
			t.Errorf("seed %d: %+v", seed, report.Steps[len(report.Steps)-1])
		}
		for topic, want := range map[string]struct{ lost, twice bool }{
			"quick": {lost: true}, "twice": {twice: true}, "once": {}} {
			leader, _ := c.Leader(topic, 0)
			values, _ := c.Stored(leader, topic, 0)
			times := orders(values)
			var lost, twice []string
			for n := 1; n <= 20; n++ {
				order := fmt.Sprintf("order-%d", n)
				switch {
				case times[order] == 0:
					lost = append(lost, order)
				case times[order] > 1:
					twice = append(twice, order)
				}
			}
			if len(lost) > 0 != want.lost || len(twice) > 0 != want.twice {
				t.Errorf("seed %d: %s lost %v and stored %v twice", seed, topic, lost, twice)
			}
			t.Logf("seed %d: %s lost %v and stored %v twice", seed, topic, lost, twice)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
