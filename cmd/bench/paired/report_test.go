package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReportPrintsTheMedianOfTheRoundsRatios(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	var text strings.Builder
	for _, round := range [][2]string{{"100", "150"}, {"200", "100"}, {"100", "130"}} {
		for i, label := range []string{"kfake", "highwater"} {
			text.WriteString(`{"Label":"` + label + `","Scenario":"consume","Metrics":` +
				`{"records_per_s":{"Median":` + round[i] + `}}}` + "\n")
		}
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := report(&out, path, "kfake"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "ratio 1.30 (0.50 1.30 1.50)") {
		t.Errorf("the report says\n%s", out.String())
	}
}
