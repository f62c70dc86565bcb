package explain_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"highwater/cluster/event"
	"highwater/viz/explain"
)

const modules = "../../static/js"

// station is what the page says of a record: whether it is committed, and the caption's sentence.
type station struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Note    string `json:"note"`
	Caption string `json:"caption"`
}

// asked is a record, and the passport that it has after an event.
type asked struct {
	*explain.Passport
	after event.Seq
}

// nodeOrSkip finds Node.js, in which the page's own modules run without a browser.
func nodeOrSkip(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node here, so nothing checked the page's modules")
	}
	// Reading the modules here makes go test run again when one of them changed.
	for _, folder := range []string{"model", "layout", "protocol"} {
		files, err := filepath.Glob(filepath.Join(modules, folder, "*.js"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no modules in %s (%v)", folder, err)
		}
		for _, file := range files {
			if _, err := os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return node
}

// TestStationsAndPassportsAgreeAllTheLife asks both, in lessons in which leaders change.
func TestStationsAndPassportsAgreeAllTheLife(t *testing.T) {
	node := nodeOrSkip(t)
	for _, lesson := range []string{"truncate-to-hw", "leader-epochs", "order-8812",
		"unclean-election", "power-loss", "truncate-by-epoch"} {
		t.Run(lesson, func(t *testing.T) {
			r := play(t, lesson)
			questions := questionsOf(t, r)
			for i, s := range stationsOf(t, node, r, questions) {
				q := questions[i]
				if want := stationLike(q.Fate); want != "" && s.Status+" "+s.Note != want &&
					s.Status != want {
					t.Errorf("event %d: the passport says %q, the station %q %q", q.after, q.FateText,
						s.Status, s.Note)
				}
				if q.Fate == explain.FateCommitted && strings.Contains(s.Caption, "not committed") {
					t.Errorf("event %d: the passport says %q, the caption %q", q.after, q.FateText,
						s.Caption)
				}
			}
		})
	}
}

// TestCaptionSaysThatANewLeaderDoesNotKnowYetWhatWasCommitted is the lesson's point: order-3 was
// acknowledged, and the leader that follows has it above its own high watermark.
func TestCaptionSaysThatANewLeaderDoesNotKnowYetWhatWasCommitted(t *testing.T) {
	node := nodeOrSkip(t)
	r := play(t, "truncate-to-hw")
	at := r.command("expect log(2")
	of, err := explain.Find(r, "order-3", at)
	if err != nil {
		t.Fatal(err)
	}
	p, err := explain.PassportOf(r, of, at)
	if err != nil {
		t.Fatal(err)
	}
	got := stationsOf(t, node, r, []asked{{p, at}})[0]
	want := station{"committed", "here", "HW is 1 now", "order-3 was committed; broker 2, which leads " +
		"now, does not know it yet: its own high watermark is 1."}
	if got != want {
		t.Errorf("the page says %+v, want %+v", got, want)
	}
}

// stationLike is what the page shows of a fate: a status, or a status with its note; empty where it
// may say less than the passport.
func stationLike(fate string) string {
	switch fate {
	case explain.FateCommitted, explain.FateDuplicate, explain.FateUnknown:
		return "here"
	case explain.FateNotYet, explain.FateBelow:
		return "ahead"
	case explain.FateTruncated, explain.FateRecovery:
		return "gone lost"
	}
	return ""
}

// questionsOf asks for the first records that were described and for the hero, after every command.
func questionsOf(t *testing.T, r *recording) (questions []asked) {
	t.Helper()
	known := []explain.Record{}
	var batch event.BatchAppended
	for i := range r.events.Records {
		e := &r.events.Records[i]
		switch e.Kind {
		case event.KindBatchAppended:
			batch = r.events.BatchAppended(e)
		case event.KindRecordDescribed:
			d := r.events.RecordDescribed(e)
			if of := (explain.Record{Topic: d.Topic, Partition: d.Partition, Offset: d.Offset,
				Epoch: batch.LeaderEpoch}); batch.Leader && (len(known) < 5 || d.Key == "order-3") {
				known = append(known, of)
			}
		case event.KindCommandRan:
			for _, of := range known {
				p, err := explain.PassportOf(r, of, e.Seq)
				if err != nil {
					t.Fatal(err)
				}
				questions = append(questions, asked{p, e.Seq})
			}
		}
	}
	if len(questions) == 0 {
		t.Fatal("no record was described, so nothing was asked")
	}
	return questions
}

// stationsOf folds the events in the page's modules and asks there.
func stationsOf(t *testing.T, node string, r *recording, questions []asked) []station {
	t.Helper()
	var input bytes.Buffer
	next := 0
	for i := range r.events.Records {
		e := &r.events.Records[i]
		fmt.Fprintf(&input, "%s\n", r.events.AppendJSON(nil, e))
		for ; next < len(questions) && questions[next].after == e.Seq; next++ {
			q := questions[next]
			fmt.Fprintf(&input, `{"topic":%q,"topicId":%q,"partition":%d,"offset":%d,"epoch":%d,"key":%q}`+
				"\n", q.Topic, q.TopicID, q.Partition, q.Offset, q.Epoch, q.Key)
		}
	}
	command := exec.CommandContext(t.Context(), node, "testdata/stations.mjs", modules)
	command.Stdin = &input
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	stations := make([]station, 0, len(questions))
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var s station
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		stations = append(stations, s)
	}
	if len(stations) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(stations), len(questions))
	}
	return stations
}
