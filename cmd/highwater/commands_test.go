package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"highwater/viz/trace"
)

// try runs a command and checks its exit code.
func try(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	if got := dispatch(args, &out, &complaints); got != code {
		t.Fatalf("%s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(),
			complaints.String())
	}
	return out.String(), complaints.String()
}

func first(text, _ string) string  { return text }
func second(_, text string) string { return text }

func contains(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("no %q in\n%.1000s", part, text)
	}
}

// lastTime is the virtual time of a trace's last event.
func lastTime(lines []string) string {
	_, after, _ := strings.Cut(lines[len(lines)-2], `"at":"`)
	at, _, _ := strings.Cut(after, `"`)
	return at
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunExitsByWhatItFound(t *testing.T) {
	contains(t, first(try(t, exitGood, "run", "isr-shrink", "--seed", "5")), "(seed 5)")
	failing := write(t, "failing.hw", "topic t\nexpect hw(\"t-0\") == 3\n")
	contains(t, first(try(t, exitMistakes, "run", failing)), `hw("t-0") was 0`)
	wrong := write(t, "wrong.hw", "kil 3\nsend\n")
	_, complaints := try(t, exitBadInput, "run", wrong)
	contains(t, complaints, "wrong.hw:1:1: ")
	contains(t, complaints, "wrong.hw:2:5: ")
	contains(t, second(try(t, exitBadInput, "run", "isr-shrin")), "isr-shrink")
	try(t, exitBadInput, "run")
	try(t, exitBadInput, "run", "isr-shrink", "kill-leader", "--trace", "x")
	try(t, exitBadInput, "run", "isr-shrink", "--nonsense")
}

func TestRunAnswersWhy(t *testing.T) {
	asking := write(t, "asking.hw", "topic o rf=3\nsend o value=a\nkill leader(\"o-0\")\nwhy isr o-0\n")
	text := first(try(t, exitGood, "run", asking))
	contains(t, text, "The in-sync replicas of o-0 are")
	contains(t, text, "is gone (kill)") // in the same instant as the question
}

func TestSlipsOfTheHandAreAnsweredWithTheNearestWord(t *testing.T) {
	for meant, args := range map[string][]string{
		"serve":   {"serv"},
		"check":   {"trace", "chek", "t"},
		"lint":    {"scenarios", "lnt"},
		"--kafka": {"serve", "--kafak", "x"},
		"--trace": {"run", "isr-shrink", "--trac", "x"},
	} {
		contains(t, second(try(t, exitBadInput, args...)), "did you mean "+meant+"?")
	}
}

func TestServeRefusesAClockThatCannotRun(t *testing.T) {
	for _, clock := range []string{"slow=NaN", "slow=1e300", "slow=0", "slow=", "step=3", "fast"} {
		contains(t, second(try(t, exitBadInput, "serve", "--clock", clock)), "--clock "+clock+": ")
	}
}

func TestRunSaysItInJSON(t *testing.T) {
	out, _ := try(t, exitGood, "run", "--json", "kill-leader")
	var report struct {
		Scenario, Seed string
		OK             bool
		Checks         int
		Steps          []struct{ Command string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if !report.OK || report.Scenario != "kill-leader" || report.Seed != "13" || report.Checks == 0 ||
		len(report.Steps) < report.Checks {
		t.Errorf("printed %s", out)
	}
}

func TestSameSeedGivesTheSameTraceAndFiles(t *testing.T) {
	dir := t.TempDir()
	name := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	try(t, exitGood, "run", "power-loss", "--trace", name("a.trace"), "--data", name("a"))
	try(t, exitGood, "run", "power-loss", "--trace", name("b.trace"), "--data", name("b"))
	try(t, exitGood, "run", "power-loss", "--trace", name("c.trace"), "--seed", "99")
	contains(t, first(try(t, exitGood, "trace", "diff", name("a.trace"), name("b.trace"))), "equal")
	try(t, exitMistakes, "trace", "diff", name("a.trace"), name("c.trace"))
	try(t, exitGood, "trace", "check", name("a.trace"), name("c.trace"))
	sameFiles(t, name("a"), name("b"))
}

func TestSavedTraceSaysWhatTheRefereeFound(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]int{"truncate-to-hw": 1, "truncate-by-epoch": 0} {
		path := filepath.Join(dir, name)
		try(t, exitGood, "run", name, "--trace", path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read, err := trace.ReadAll(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		found := read.Header.Violations
		if !read.Header.Judged || read.Header.Minor != 2 || len(found) != want ||
			read.Header.Seed == 0 {
			t.Errorf("%s: header %+v", name, read.Header)
		}
		code := exitGood
		if want > 0 {
			code = exitMistakes
		}
		out := first(try(t, code, "trace", "check", path))
		for _, v := range found {
			contains(t, out, v.Text)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.sealed")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func sameFiles(t *testing.T, one, other string) {
	t.Helper()
	compared := 0
	err := filepath.WalkDir(one, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == ".lock" {
			return err
		}
		relative, err := filepath.Rel(one, path)
		if err != nil {
			return err
		}
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(other, relative))
		if err != nil {
			return err
		}
		if compared++; !bytes.Equal(a, b) {
			t.Errorf("%s differs", relative)
		}
		return nil
	})
	if err != nil || compared < 10 {
		t.Errorf("%d files compared, %v", compared, err)
	}
}

func TestTraceCheckFindsWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	try(t, exitGood, "run", "isr-shrink", "--trace", path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	gap := write(t, "gap.trace", strings.Join(append(lines[:5:5], lines[6:]...), ""))
	try(t, exitBadInput, "trace", "diff", path, gap)
	out, _ := try(t, exitMistakes, "trace", "check", gap)
	contains(t, out, "seq 6 follows 4")
	headless := write(t, "headless.trace", strings.Join(append(lines[:1:1], lines[900:]...), ""))
	out, _ = try(t, exitMistakes, "trace", "check", headless)
	contains(t, out, "begins at event 900, and the state before it is missing")
	if strings.Contains(out, "whole") {
		t.Errorf("printed %s", out)
	}
	back := strings.Replace(string(text), `"at":"`+lastTime(lines)+`"`, `"at":"5"`, 1)
	out, _ = try(t, exitMistakes, "trace", "check", write(t, "back.trace", back))
	contains(t, out, "goes back in time")
	cut := write(t, "cut.trace", strings.Join(lines[:20], ""))
	contains(t, second(try(t, exitBadInput, "trace", "diff", path, cut)), "line 21: the file is cut")
	out, _ = try(t, exitMistakes, "trace", "check", cut)
	contains(t, out, "line 21: the file is cut short here")
	lines[0] = strings.Replace(lines[0], `"last"`, `"unknown"`, 1) // as a streamed trace has none
	short := write(t, "short.trace", strings.Join(lines[:20], ""))
	contains(t, first(try(t, exitMistakes, "trace", "diff", path, short)), "ends after 19")
	try(t, exitBadInput, "trace", "check", write(t, "none.trace", "kill 1\n"))
	out, _ = try(t, exitGood, "trace", "show", path, "--kind", "CommandRan")
	if !strings.Contains(out, "Command: kill 3") || strings.Count(out, "\n") != 13 {
		t.Errorf("printed %s", out)
	}
	contains(t, second(try(t, exitGood, "trace", "show", path, "--node", "77")), "none of its ")
	try(t, exitBadInput, "trace", "show", path, "--kind", "Nonsense")
	try(t, exitBadInput, "trace", "explode", path)
}

func TestDumpReadsLikeKafkasAndFindsDamage(t *testing.T) {
	data := t.TempDir()
	try(t, exitGood, "run", "record-nobody-can-read", "--data", data)
	partition := filepath.Join(data, "broker-3", "strict-0")
	out, _ := try(t, exitGood, "dump", partition, "--check")
	for _, part := range []string{"baseOffset: 1 lastOffset: 1 count: 1 baseSequence: -1 ",
		"producerId: -1 producerEpoch: -1 partitionLeaderEpoch: ", " position: 73 ",
		" size: 73 magic: 2 ", " isvalid: true\n| offset: 1 ",
		"keySize: -1 valueSize: 5 sequence: -1 headerKeys: [] payload: hello\n"} {
		if !strings.Contains(out, part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
	quorum := first(try(t, exitGood, "dump", filepath.Join(data, "controller-101")))
	contains(t, quorum, "TopicRecord {")
	contains(t, quorum, "LeaderChange: leaderId: ")
	log := filepath.Join(partition, "00000000000000000000.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[72]++
	if err := os.WriteFile(log, b, 0o644); err != nil {
		t.Fatal(err)
	}
	contains(t, first(try(t, exitMistakes, "dump", log, "--json")), `"valid":false`)
	if err := os.WriteFile(log, b[:100], 0o644); err != nil {
		t.Fatal(err)
	}
	contains(t, first(try(t, exitMistakes, "dump", log)), "is cut off")
	try(t, exitBadInput, "dump", filepath.Join(partition, "partition.metadata"))
	try(t, exitBadInput, "dump", filepath.Join(data, "nothing"))
}

func TestScenariosAreListedShownAndLinted(t *testing.T) {
	contains(t, first(try(t, exitGood, "scenarios")), "kill-leader ")
	contains(t, first(try(t, exitGood, "scenarios", "show", "kill-leader")), "---\ntitle: ")
	try(t, exitGood, "scenarios", "lint")
	out, _ := try(t, exitMistakes, "scenarios", "lint", write(t, "x.md", "kill 1\n"))
	if !strings.Contains(out, "x.md:1:1: ") {
		t.Errorf("printed %s", out)
	}
	try(t, exitBadInput, "scenarios", "dance")
}

func TestAnEmptyScenarioIsRefused(t *testing.T) {
	_, said := try(t, exitBadInput, "run", write(t, "empty.hw", "# nothing yet\n"))
	contains(t, said, "empty.hw:2:1: ")
	contains(t, said, "the scenario has no steps")
}

func TestVersionAndDoctorSpeak(t *testing.T) {
	contains(t, first(try(t, exitGood, "version")), "highwater ")
	contains(t, first(try(t, exitGood, "doctor")), "ok   cluster")
	for _, name := range []string{"version", "doctor"} {
		contains(t, second(try(t, exitBadInput, name, "now")), name+` takes no argument; "now" is one`)
	}
}
