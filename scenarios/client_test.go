package scenarios

import (
	"strings"
	"testing"
)

func TestTemplatesNumberRecordsAndLeaveJSONAlone(t *testing.T) {
	for text, want := range map[string]string{
		"v{n}":                  "v1 v2 v3 v4",
		"{n+10}":                "11 12 13 14",
		"{n/3}":                 "1 1 1 2",
		"{n/0}":                 "{n/0} {n/0} {n/0} {n/0}",
		"{alice|bob}":           "alice bob alice bob",
		`{"n":{n}}`:             `{"n":1} {"n":2} {"n":3} {"n":4}`,
		`{"a":"b|c"}`:           `{"a":"b|c"} {"a":"b|c"} {"a":"b|c"} {"a":"b|c"}`,
		"{m} {n-1} {n+} {":      "{m} {n-1} {n+} { {m} {n-1} {n+} { {m} {n-1} {n+} { {m} {n-1} {n+} {",
		"{a|b}-{n/2}-{n+99999}": "a-1-100000 b-1-100001 a-2-100002 b-2-100003",
	} {
		var got []string
		for n := range 4 {
			got = append(got, fillIn(text, n+1))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, strings.Join(got, " "), want)
		}
	}
}

func TestClientsAreStartedAndFoundByName(t *testing.T) {
	for text, want := range map[string]string{
		`producer shop linger=20ms acks=1`:            "producer shop acks=1 linger=20ms",
		`producer shop linger.ms=7`:                   "producer shop acks=-1 linger=7ms",
		`consumer audit topic=t`:                      "consumer audit [t] group=",
		`consume audit topic=t group=g from=earliest`: "consumer audit [t] group=g",
		`kill old`:         "kill 1002",
		`cut old-1`:        "cut 1002 1 true",
		`cut 1>old`:        "cut 1 1002 false",
		`close old`:        "close 1002",
		`delay old-2 15ms`: "",
	} {
		w, e := newFake()
		w.cluster.programs = []string{"old"}
		if _, err := run(t, w, e, text); err != nil && want != "" {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want != "" && (len(w.cluster.did) != 1 || w.cluster.did[0] != want) {
			t.Errorf("%s did %q, want %q", text, w.cluster.did, want)
		}
	}
}

func TestCommandsOnClientsThatAreNotThereAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`kill shp`:                  "no node or client shp",
		`send t by=shp`:             "no producer shp is running",
		`poll old`:                  "no consumer old is running",
		`consumer audit topic=nope`: `no topic "nope"`,
		`producer shop acks=1 enable.idempotence=true`:                   "INVALID_CONFIG",
		`consumer audit topic=t group=g from=3`:                          "committed offset",
		`consumer audit topic=t max.poll.records=none`:                   "INVALID_CONFIG",
		`expect acked("shp") == 1`:                                       `no client "shp"`,
		`producer shop acks=1 enable.idempotence=true -> INVALID_CONFIG`: "",
	} {
		w, e := newFake()
		w.cluster.programs = []string{"old"}
		_, err := run(t, w, e, text)
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestExpressionsSeeGroupsAndLogs(t *testing.T) {
	for text, want := range map[string]any{
		`committed("billing","t-0") == 3`:                       true,
		`committed("other","t-0")`:                              nil,
		`members("billing") == 2 && generation("billing") == 7`: true,
		`members("other") == none`:                              true,
		`batches("t-0")`:                                        int64(2),
		`bytes("t-0") == 123 && bytes("u-0") == none`:           true,
		`crc("t-0", 0)`:                                         int64(1380887752),
		`batch("t-0", 0, "endTxnMarker")`:                       "COMMIT",
		`batch("t-0", 0, "size") + batch("t-0", 0, "count")`:    int64(79),
		`batch("t-0", 1, "size")`:                               nil,
		`file("t-0","leader-epoch-checkpoint")`:                 int64(8),
		`acked("old") == none && values("old") == none`:         true,
	} {
		w, e := newFake()
		w.cluster.programs = []string{"old"}
		parsed, err := parseExpression(text, 0)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		x := &execution{Executor: e, client: w}
		got, _, err := x.evaluate(parsed, nil)
		if err != nil || !equal(got, want) {
			t.Errorf("%s is %s, want %s (%v)", text, show(got), show(want), err)
		}
	}
}

func TestLintMissesClientsThatNobodyStarted(t *testing.T) {
	text := "---\ntitle: T\nlevel: 1\n---\nHello.\n\n```highwater\ntopic t\nproducer shop\n" +
		"send t by=shop\nsend t by=shp\nkill audit\ncut shop-1\nexpect acked(\"shop\") == 1\n" +
		"expect values(\"audit\") == []\nconsume audit topic=t\nkill audit\n```\n"
	_, mistakes := ParseScenario("a.md", []byte(text))
	var lines []string
	for _, m := range mistakes {
		lines = append(lines, m.String())
	}
	all := strings.Join(lines, "\n")
	if len(mistakes) != 3 || !strings.Contains(all, "a.md:11:11") ||
		!strings.Contains(all, "a.md:12:6") || !strings.Contains(all, "a.md:15:15") {
		t.Errorf("%s", all)
	}
}

func TestSeekSaysWhatTheNextFetchWillFind(t *testing.T) {
	report := played(t, `
topic t replicas=1
send t value=v times=3
consumer ca topic=t from=earliest auto.offset.reset=earliest
wait count("ca") == 3 within 5s
seek ca 3
seek ca 99999
wait count("ca") == 6 within 5s
expect position("ca","t-0") == 3`)
	if !report.OK {
		t.Fatalf("%+v", report.Steps[len(report.Steps)-1])
	}
	for at, want := range map[int]string{0: "created t with 1 partition", 4: "ca will read from there",
		5: "ca will fetch from there and find it out of range: the log of t-0 ends at 3; then " +
			"auto.offset.reset=earliest says where to go on"} {
		if got := report.Steps[at].Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestExpectedErrorIsNamedOnce(t *testing.T) {
	report := played(t, "topic t replicas=1\nproducer p transactional=tp\ntxn p begin -> ok\n"+
		"txn p begin -> INVALID_TXN_STATE")
	last := report.Steps[len(report.Steps)-1]
	if !report.OK || strings.Count(last.Text, "INVALID_TXN_STATE") != 1 {
		t.Error(last.Text)
	}
}

func TestUnknownNodeIsAnsweredWithWhatTheVerbTakes(t *testing.T) {
	for text, want := range map[string]string{
		"kill 7":         "the nodes are 1, 2, 3, 101, 102, 103, old",
		"disk 7 slow=1s": "the nodes are 1, 2, 3, 101, 102, 103",
		"clean t-0 on 7": "the nodes are 1, 2, 3",
	} {
		w, e := newFake()
		w.cluster.programs = []string{"old"}
		if _, err := run(t, w, e, text); err == nil || err.Hint != want {
			t.Errorf("%s: %+v, want %q", text, err, want)
		}
	}
}
