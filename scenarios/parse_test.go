package scenarios

import (
	"os"
	"strings"
	"testing"
	"time"
)

// mistaken is a line with a mistake, where it is, and parts of what is said about it.
type mistaken struct {
	line     string
	position int
	message  string
	hint     string
}

func mistakenCommands() []mistaken {
	return []mistaken{
		{`kil 3`, 0, `no command "kil"`, "kill"},
		{`  rstart 3`, 2, `no command "rstart"`, "restart"},
		{`xyzzy`, 0, `no command "xyzzy"`, ""},
		{`kill`, 4, "needs a node", "kill 3"},
		{`kill   `, 4, "needs a node", "kill 3"},
		{`kill 3 4`, 7, `no further argument "4"`, ""},
		{`kill leadr("t-0")`, 5, "no function leadr", "leader"},
		{`kill 3 hard=true`, 7, `no option "hard"`, ""},
		{`topic`, 5, "needs a topic", "topic strict"},
		{`topic t partitons=3`, 8, `no configuration "partitons"`, "partitions"},
		{`topic t min.insync.replica=2`, 8, "no configuration", "min.insync.replicas"},
		{`topic t min.insync.replicas=two`, 28, "", ""},
		{`topic t partitions=0`, 19, "between 1 and", ""},
		{`topic t partitions=x`, 19, "whole number", ""},
		{`topic t partitions=1 partitions=2`, 32, "given twice", ""},
		{`topic t replicas=1,x`, 19, `"x" is not a broker`, ""},
		{`topic t replicas=1,2 rf=2`, 24, "replicas already says", ""},
		{`topic a/b`, 6, "", ""},
		{`send t value="open`, 13, "quote is not closed", ""},
		{`send t acks=2`, 12, `acks cannot be "2"`, "one of all, 0, 1"},
		{`send t vale=x`, 7, `no option "vale"`, "value"},
		{`send t -> NOT_ENOUGH_REPLICA`, 10, "not an outcome", "NOT_ENOUGH_REPLICAS"},
		{`send t ->`, 9, "outcome is missing", ""},
		{`send t -> ok ok`, 13, "should end", ""},
		{`kill 3 -> ok`, 7, "no outcome", ""},
		{`send t order-3`, 7, `no further argument "order-3"`, "its options are key, value"},
		{`send t key=a nowiat`, 13, `nowait cannot be "nowiat"`, "nowait"},
		{`consumer billing orders`, 17, `no further argument "orders"`, "options are topic, partition"},
		{`read t from=erliest`, 12, "neither an offset", "earliest"},
	}
}

func mistakenChecks() []mistaken {
	return []mistaken{
		{`config t`, 8, "needs a setting", ""},
		{`elect t preferred`, 6, "names no partition", "t-0"},
		{`elect t-0 prefered`, 10, "cannot be", "preferred"},
		{`cut 1`, 5, "not a link", "1-3"},
		{`cut 1-`, 6, "ends too early", "1-3"},
		{`cut 1-2-3`, 7, "two ends", ""},
		{`delay 1-3 soon`, 10, "not a time", "15ms"},
		{`delay 1-3 15`, 10, "not a time", "15ms"},
		{`sleep 800h`, 6, "longer than", ""},
		{`sleep 1000000000000000h`, 6, "longer than", ""},
		{`disk 2 ful`, 7, "not a disk fault", "full"},
		{`disk 2 slow=x`, 12, "not a time", ""},
		{`clock 2`, 7, "an offset or a rate", "+1h rate=2"},
		{`clock 2 1x`, 8, "no change of a clock", "+1h"},
		{`clock 2 rate=0`, 13, "not a rate", ""},
		{`wait`, 4, "expression is missing", ""},
		{`wait 1h`, 6, "should end", "let time pass: sleep 1h"},
		{`wait within 3s`, 5, "expression is missing", ""},
		{`wait alive(1) within`, 20, "time is missing", ""},
		{`wait alive(1) within soon`, 21, "not a time", ""},
		{`wait alive(1) within 3 s`, 21, "a time is one word", "within 30s"},
		{`expect isr("t-0") = [1]`, 18, "does not belong", "=="},
		{`expect isr("t") == [1]`, 11, "names no partition", "t-0"},
		{`expect irs("t-0") == [1]`, 7, "no function irs", "isr"},
		{`expect hw(1,2,3)`, 7, "has not 3 arguments", "hw("},
		{`expect alive("1")`, 13, "is not a node", ""},
		{`expect count(1)`, 13, "is not a quoted text", ""},
		{`expect count(t)`, 13, "no function t", ""},
		{`expect values(leader("t-0"))`, 14, "as a quoted text", ""},
		{`expect (alive(1)`, 16, `")" is missing`, ""},
		{`expect [1,2`, 11, `"]" or a comma`, ""},
		{`expect alive(1) alive(2)`, 16, "should end", ""},
		{`expect 99999999999999999999 == 1`, 7, "too large", ""},
		{`expect 1 == `, 11, "ends too early", ""},
		{`expect $`, 7, `"$" does not belong`, ""},
		{`slow 0`, 5, "not a factor", ""},
		{`step many`, 5, "whole number", ""},
		{`producer 3`, 9, "cannot be the name of a client", ""},
		{`producer leader`, 9, "cannot be the name of a client", ""},
		{`producer shop lingr=3`, 14, "no configuration", "linger"},
		{`consumer audit`, 14, "needs a topic", ""},
		{`expect acked(3) == 1`, 13, "not a quoted text", ""},
		{`expect position("audit") == 1`, 7, "has not 1 arguments", ""},
	}
}

func TestMistakesAreFoundWhereTheyAre(t *testing.T) {
	for _, row := range append(mistakenCommands(), mistakenChecks()...) {
		_, err := Parse(row.line)
		if err == nil {
			t.Errorf("%s: no mistake found", row.line)
			continue
		}
		if err.Position != row.position || !strings.Contains(err.Message, row.message) ||
			!strings.Contains(err.Hint, row.hint) || err.Kind != Input {
			t.Errorf("%s:\n got %d %q (%q)\nwant %d %q (%q)", row.line, err.Position, err.Message,
				err.Hint, row.position, row.message, row.hint)
		}
	}
}

func TestCommandsAreUnderstood(t *testing.T) {
	for _, line := range []string{
		`topic strict replicas=1,3 min.insync.replicas=2`,
		`topic t partitions=2 replicas=1,3;3,1 -> ok # two lists`,
		`send strict value="hello world" acks=1 times=2 -> ok`,
		`send t value={"id":3,"amt":30}`,
		`send t key="" value=a=b`,
		`read t partition=1 from=17 isolation=read_committed`,
		`kill 3`, `kill controller`, `kill leader("strict-0")`, `restart all`,
		`cut 1-3`, `cut 1>3`, `cut leader("t-0")>101`, `heal`, `heal all`, `heal 1-3`,
		`delay 1-3 15ms`, `disk 2 slow=50ms`, `disk 2 eio`, `clock 2 +1h`, `clock 2 -5s`,
		`clock 2 rate=2`, `config t retention.ms=1000`, `elect t-0 unclean`, `elect t-0`, `sleep 5s`,
		`wait isr("strict-0") == [1] within 30s`,
		`expect hw("strict-0") == 0 && leo(1, "strict-0") == 2 # both`,
		`expect !(alive(1) || fenced(2)) && values("a-b-0") != ["x", "y"]`,
		`kill shop`, `cut shop-1`, `cut 1>shop`, `producer shop linger=20ms retries=3 acks=1`,
		`send t by=shop nowait value=v{n} times=61`, `consume audit topic=t from=earliest`,
		`consumer b topic=t,u group=g manual max.poll.records=2`, `poll b max=2 -> ok`, `flush shop`,
		`seek b 3 partition=t-0`, `txn shop abort`, `expect offsets("b") == [0] && read("b") == []`,
		`expect committed("g","t-0") == none && crc("t-0", 0) == 2772778610`,
		`pause-time`, `resume-time`, `step`, `step 5`, `slow 2.5`, `live`,
	} {
		if c, err := Parse(line); err != nil || c == nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{"", "   ", "# only a comment", "\t# kill 1"} {
		if c, err := Parse(line); err != nil || c != nil {
			t.Errorf("%q: %v, %v", line, c, err)
		}
	}
}

func TestArgumentsKeepWhatWasWritten(t *testing.T) {
	c, err := Parse(`send t key="" value={"id":3,"note":"a b"} times=3 # -> ok`)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.value("value").text; got != `{"id":3,"note":"a b"}` {
		t.Errorf("value is %s", got)
	}
	if key := optional(c, "key"); key == nil || *key != "" {
		t.Errorf("an empty key became %v", key)
	}
	if c.value("times").number != 3 || c.value("acks").text != "all" || c.expects != "" {
		t.Errorf("got %+v", c)
	}
	w, err := Parse(`wait leader("t-0") == 2 within 1m30s`)
	if err != nil {
		t.Fatal(err)
	}
	if w.value("within").duration != 90*time.Second ||
		w.value("expression").expression.source != `leader("t-0") == 2` {
		t.Errorf("got %+v", w.values)
	}
}

func TestCommandsPageIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../docs/COMMANDS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != string(Reference()) {
		t.Error("docs/COMMANDS.md is not what the table says: run go generate ./scenarios")
	}
}

func TestExamplesOfTheTableParse(t *testing.T) {
	for _, row := range table() {
		if c, err := Parse(row.example); err != nil || c.Name() != row.name {
			t.Errorf("%s: example %q: %v", row.name, row.example, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, row := range table() {
		f.Add(row.example)
	}
	f.Add(`expect ((([1,[2]]) == -"x") && !none) # tail`)
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse(line)
		if err != nil && (err.Position < 0 || err.Position > len(line) || err.Message == "") {
			t.Errorf("%q: %+v", line, err)
		}
		if c == nil || err != nil {
			return
		}
		again, err := Parse(c.Text)
		if err != nil || again == nil || again.Name() != c.Name() {
			t.Errorf("%q parses, but not as %q: %v", line, c.Text, err)
		}
	})
}
