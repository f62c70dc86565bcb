package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// shown are the figures worth comparing, in the order of the table.
var shown = []string{"records_per_s", "requests_per_s", "txns_per_s", "p50_us", "p99_us",
	"rtt_p50_us", "rtt_p99_us", "server_us_per_rec", "server_cores", "server_rss_mib"}

// row is one line of the load generator's file: one scenario, once, on one server.
type row struct {
	Label    string
	Scenario string
	Metrics  map[string]struct{ Median float64 }
}

// figures are the values of every round, by scenario, figure and server.
type figures map[string]map[string]map[string][]float64

// report prints, for every scenario and figure, the median of each server and its ratio to the
// first one's in every round, lowest first.
func report(out io.Writer, path, first string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	all := figures{}
	var scenarios, labels []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !slices.Contains(scenarios, r.Scenario) {
			scenarios = append(scenarios, r.Scenario)
			all[r.Scenario] = map[string]map[string][]float64{}
		}
		if !slices.Contains(labels, r.Label) {
			labels = append(labels, r.Label)
		}
		for name, v := range r.Metrics {
			byLabel := all[r.Scenario][name]
			if byLabel == nil {
				byLabel = map[string][]float64{}
				all[r.Scenario][name] = byLabel
			}
			byLabel[r.Label] = append(byLabel[r.Label], v.Median)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, scenario := range scenarios {
		for _, name := range shown {
			for _, label := range labels {
				print1(out, scenario, name, label, first, all[scenario][name])
			}
		}
	}
	return nil
}

func print1(out io.Writer, scenario, name, label, first string, values map[string][]float64) {
	ours, base := values[label], values[first]
	if len(ours) == 0 {
		return
	}
	text := ""
	if label != first {
		ratios := ratios(ours, base)
		parts := make([]string, len(ratios))
		for i, r := range ratios {
			parts[i] = fmt.Sprintf("%.2f", r)
		}
		if len(ratios) > 0 {
			text = fmt.Sprintf("  ratio %.2f (%s)", median(ratios), strings.Join(parts, " "))
		}
	}
	fmt.Fprintf(out, "%-18s %-18s %-10s %12.4g%s\n", scenario, name, label, median(ours), text)
}

// ratios are those of the rounds that both finished, sorted.
func ratios(ours, base []float64) []float64 {
	var list []float64
	for i := range min(len(ours), len(base)) {
		if base[i] != 0 {
			list = append(list, ours[i]/base[i])
		}
	}
	slices.Sort(list)
	return list
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
