package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/audit"
)

// scenarioOf is a scenario of these commands.
func scenarioOf(t *testing.T, commands ...string) *Scenario {
	t.Helper()
	text := "---\ntitle: t\nlevel: 1\nminutes: 1\nseed: 1\nkind: exact\n---\nx\n\n```highwater\n" +
		strings.Join(commands, "\n") + "\n```\n"
	s, mistakes := ParseScenario("t.md", []byte(text))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	return s
}

// playText plays a scenario's commands on a cluster with these options.
func playText(t *testing.T, o Options, commands ...string) Report {
	t.Helper()
	report, err := Play(context.Background(), scenarioOf(t, commands...), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// holds plays commands all of which are to succeed, and no promise is to be broken.
func holds(t *testing.T, commands ...string) {
	t.Helper()
	scenarioHolds(t, scenarioOf(t, commands...))
}

// scenarioHolds is holds for a scenario with a seed or settings of its own.
func scenarioHolds(t *testing.T, s *Scenario) {
	t.Helper()
	sink := &counter{referee: audit.New()}
	report, err := Play(t.Context(), s, Options{Events: sink})
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK {
		t.Errorf("%s %+v", report.Failure, report.Steps[len(report.Steps)-1])
	}
	for _, v := range sink.referee.Violations() {
		t.Error(v)
	}
}

func TestScenarioThatLeavesAFaultyDiskBehindIsToldToItsEnd(t *testing.T) {
	for _, node := range []string{"102", "3"} {
		for _, fault := range []string{"full", "read-error", "write-error", "sync-error"} {
			report := playText(t, Options{}, "topic t rf=3", "send t value=a times=3",
				"disk "+node+" "+fault)
			if !report.OK || len(report.Steps) != 3 || report.Failure != "" {
				t.Errorf("disk %s %s: %+v", node, fault, report)
			}
		}
	}
}

func TestRestartOnAFaultyDiskIsAFailedStepThatNamesTheFile(t *testing.T) {
	for node, directory := range map[string]string{"102": "controller-102", "3": "broker-3"} {
		for _, dir := range []string{"", t.TempDir()} {
			report := playText(t, Options{DataDir: dir}, "kill "+node, "disk "+node+" full",
				"restart "+node)
			if report.OK || len(report.Steps) != 3 || report.Failure != "" {
				t.Fatalf("restart %s: %+v", node, report)
			}
			text := report.Steps[2].Text
			for _, part := range []string{"__cluster_metadata-0/0", "no space left on device"} {
				if !strings.Contains(text, part) {
					t.Errorf("restart %s: %q does not say %s", node, text, part)
				}
			}
			if dir != "" && !strings.Contains(text, filepath.Join(dir, directory)) ||
				strings.Contains(text, "in :") {
				t.Errorf("restart %s: %q does not name the directory", node, text)
			}
		}
	}
}

// vanishing takes a node's directory away when a command is given.
type vanishing struct{ command, directory string }

func (v *vanishing) Publish(full *event.Chunk) *event.Chunk {
	for i := range full.Records {
		r := &full.Records[i]
		if r.Kind == event.KindCommandRan && full.CommandRan(r).Command == v.command {
			_ = os.RemoveAll(v.directory) // without effect the cluster closes well, which fails
		}
	}
	full.Reset()
	return full
}

func TestClusterThatDoesNotCloseWellFailsItsScenarioAndTheStepsAreTold(t *testing.T) {
	dir := t.TempDir()
	lost := filepath.Join(dir, "controller-102", "__cluster_metadata-0")
	report := playText(t, Options{DataDir: dir, Events: &vanishing{"sleep 1s", lost}},
		"topic t rf=3", "sleep 1s")
	if report.OK || len(report.Steps) != 2 || !report.Steps[1].OK ||
		!strings.Contains(report.Failure, filepath.Dir(lost)) ||
		!strings.Contains(report.Failure, "__cluster_metadata-0/0") {
		t.Errorf("%+v", report)
	}
}

func TestALeaderWhoseDiskCannotBeReadLeadsNoMore(t *testing.T) {
	holds(t, "topic a replicas=1,2,3", "send a value=x times=3 -> ok", "kill 1", "restart 1",
		"sleep 20s", "elect a-0", "sleep 1s", `expect leader("a-0") == 1`, "disk 1 read-error",
		`expect values("a-0") == ["x","x","x"]`, `expect leader("a-0") != 1 && !alive(1)`)
}
