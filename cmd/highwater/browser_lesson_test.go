package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"highwater/scenarios"
	"highwater/scenarios/lesson"
)

// openLesson starts a lesson's world and looks at it.
func openLesson(v *visit, name string) lesson.State {
	v.t.Helper()
	l, err := v.main.lessons.Start(name)
	if err != nil {
		v.t.Fatal(err)
	}
	v.world = l.ID()
	v.do(chromedp.Navigate(v.main.pageAddress() + "lesson/" + name + "?world=" + v.world))
	v.wait(`at("lesson").dataset.state === "still" && highwater.status() === "open" &&
		highwater.first() === 0`)
	return l.State()
}

// lessonState asks the server where the lesson stands.
func lessonState(v *visit) (s lesson.State) {
	v.t.Helper()
	response, err := http.Get(v.api("lesson"))
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		v.t.Fatal(err)
	}
	return s
}

const (
	still  = `at("lesson").dataset.state === "still"`
	hurry  = `(!at("lesson-skip").hidden && (at("lesson-skip").click(), false))`
	motion = `matchMedia("(prefers-reduced-motion: reduce)").matches`
	// lessMotion is the browser's switch for people who want less of it.
	lessMotion = "force-prefers-reduced-motion"
)

// shown waits until the page has shown so many steps to their end, without waiting for the films.
func (v *visit) shown(steps int) {
	v.t.Helper()
	v.wait(fmt.Sprintf(`%s || (at("lesson").dataset.shown === "%d" && %s)`, hurry, steps, still))
}

// atEnd checks that the page shows exactly what the fold says at the end of a step.
func (v *visit) atEnd(s lesson.State, steps int) {
	v.t.Helper()
	want := s.Booted.To
	if steps > 0 {
		want = s.Steps[steps-1].To
	}
	v.wait(fmt.Sprintf("highwater.seq() === %d", want))
	v.checkFold(fmt.Sprintf("at the end of step %d", steps))
}

// Films have tests of their own: here each step is shown at once.
func TestEveryLessonRunsToItsEndAndBackWithThePageEqualToTheFold(t *testing.T) {
	for _, name := range scenarios.Names() {
		if testing.Short() && name != "leader-epochs" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			v := openIn(t, lessMotion)
			thereAndBack(v, openLesson(v, name))
		})
	}
}

func thereAndBack(v *visit, s lesson.State) {
	v.atEnd(s, 0)
	for i := range s.Steps {
		v.wait(still)
		v.keys("n")
		if asks(s, i) {
			v.wait(`text("lesson-note").startsWith("Predict first")`)
			v.keys("n")
		}
		v.shown(i + 1)
		s = lessonState(v)
		if s.Done != i+1 || s.Steps[i].Status != "held" {
			v.t.Fatalf("step %d: %d done, %+v", i, s.Done, s.Steps[i])
		}
		v.atEnd(s, i+1)
		v.wait(fmt.Sprintf(`at("lesson-step-%d").dataset.status === "held"`, i))
	}
	v.wait(`at("lesson-next").disabled`)
	contains(v.t, evaluate[string](v, `text("lesson-progress")`),
		fmt.Sprintf("%d of %d", len(s.Steps), len(s.Steps)))
	for _, q := range s.Predictions {
		v.wait(fmt.Sprintf(`at("answer-%d-%d").classList.contains("right")`, q.Line, q.Right))
	}
	for i := len(s.Steps); i > 0; i-- {
		v.keys("b")
		v.shown(i - 1)
		v.atEnd(s, i-1)
	}
	v.wait(`at("lesson-back").disabled && at("lesson-step-0").dataset.status === "ahead"`)
	v.keys("n") // shows what was recorded: nothing runs again
	v.shown(1)
	v.atEnd(s, 1)
	if again := lessonState(v); again.Done != len(s.Steps) || again.Steps[0].To != s.Steps[0].To {
		v.t.Errorf("showing a step again changed the lesson: %+v", again.Steps[0])
	}
}

// asks says whether a question stands before a step.
func asks(s lesson.State, step int) bool {
	if step > 0 && s.Steps[step-1].Section == s.Steps[step].Section {
		return false
	}
	return slices.ContainsFunc(s.Predictions, func(p lesson.Prediction) bool {
		return p.Section == s.Steps[step].Section
	})
}

// What the server said before a step ran may arrive after what it said of the step.
func TestAnswerThatWasOvertakenDoesNotTakeAStepBack(t *testing.T) {
	v := openIn(t, lessMotion)
	s := openLesson(v, "kill-leader")
	evaluate[bool](v, `(() => {
		const real = window.fetch;
		let held = 0;
		window.looks = 0;
		window.fetch = async (path, change) => {
			const answer = await real(path, change);
			if (change.body || !path.endsWith("/lesson")) return answer;
			if (held++ === 0) await new Promise((resolve) => { window.release = resolve; });
			window.looks++;
			return answer;
		};
		return true;
	})()`)
	l, err := v.main.lessons.Find(s.World)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(0); err != nil { // of which the page hears, and asks
		t.Fatal(err)
	}
	v.wait(`window.release`)
	for i := range 2 {
		v.keys("n")
		v.shown(i + 1)
	}
	evaluate[bool](v, `window.release() ?? true`)
	v.wait(`window.looks === 2 && at("lesson").dataset.shown === "2" && ` + still)
}

func TestWhatThereWasToSeeIsToldAfterEachSection(t *testing.T) {
	v := open(t)
	openLesson(v, "kill-leader")
	for i := range 4 {
		v.wait(`at("saw-0").hidden`)
		v.keys("n")
		v.shown(i + 1)
	}
	v.wait(`text("saw-0").includes("high watermark of orders-0 moves from 0 to 10") &&
		text("saw-0").includes("Broker 3 appends") && text("saw-0").includes("Broker 1 is gone")`)
	v.wait(`text("caption").startsWith("Broker 1 is gone")`)
}

func TestFilmOfAStepPlaysToItsEndByItself(t *testing.T) {
	v := open(t)
	openLesson(v, "kill-leader")
	v.click("lesson-next")
	v.wait(`at("lesson").dataset.state === "showing"`)
	v.wait(`at("lesson").dataset.shown === "1" && ` + still)
	v.atEnd(lessonState(v), 1)
}

func TestPredictionIsGradedByTheRun(t *testing.T) {
	v := open(t)
	openLesson(v, "kill-leader")
	v.click("answer-17-2")
	v.wait(`at("answer-17-2").getAttribute("aria-pressed") === "true" &&
		text("verdict-17").includes("will tell")`)
	for i := range 7 {
		v.wait(`!at("predict-17").classList.contains("revealed")`)
		v.keys("n")
		v.shown(i + 1)
	}
	v.wait(`at("answer-17-0").classList.contains("right") &&
		!at("answer-17-2").classList.contains("right") && at("answer-17-1").disabled &&
		text("verdict-17").startsWith("It went another way")`)
	v.click("lesson-back") // before it was decided nothing is given away
	v.wait(`!at("predict-17").classList.contains("revealed")`)
}

// Who goes on without a guess cannot make one of what the run has shown.
func TestPredictionThatNobodyMadeIsClosedByItsRun(t *testing.T) {
	v := openIn(t, lessMotion)
	s := openLesson(v, "kill-leader")
	for i := range s.Steps {
		v.wait(still)
		v.keys("n")
		if asks(s, i) {
			v.wait(`!at("answer-17-1").disabled`)
			v.keys("n")
		}
		v.shown(i + 1)
		if asks(s, i) {
			v.wait(`at("answer-17-0").disabled && at("answer-17-1").disabled &&
				text("verdict-17").startsWith("You made no guess")`)
			evaluate[bool](v, `at("answer-17-0").click() ?? true`)
			break
		}
	}
	v.keys("b") // nor by going back
	v.wait(`at("answer-17-0").disabled && !at("answer-17-0").classList.contains("mine") &&
		!at("predict-17").classList.contains("revealed")`)
}

func TestKeyboardAloneRunsALesson(t *testing.T) {
	v := open(t)
	s := openLesson(v, "kill-leader")
	for i := range 4 {
		v.keys("n")
		v.shown(i + 1)
	}
	v.keys("n") // points at the question first
	v.wait(`document.activeElement.dataset.testid === "answer-17-0"`)
	v.keys(kb.Tab)
	v.keys(kb.Enter)
	v.wait(`at("answer-17-1").classList.contains("mine")`)
	v.keys("n")
	v.shown(5)
	v.keys("b")
	v.shown(4)
	v.keys(kb.ArrowLeft)
	v.wait(`at("lesson").dataset.shown === "3"`)
	v.checkFold("one event back")
	v.keys("g")
	v.keys("g")
	v.wait(`at("grain-step").getAttribute("aria-checked") === "true"`)
	v.keys(kb.ArrowRight)
	v.shown(4)
	v.keys(kb.ArrowRight)
	v.shown(5)
	v.keys("e")
	v.wait(`at("event-list").offsetParent !== null`)
	v.keys("e")
	v.keys("m")
	v.wait(`at("library").open`)
	v.keys(kb.Escape)
	v.wait(`!at("library").open`)
	for i := 5; i < len(s.Steps); i++ {
		v.keys("n")
		v.shown(i + 1)
	}
}

func TestStepsOfTheTransportStopAtRequests(t *testing.T) {
	v := open(t)
	s := openLesson(v, "kill-leader")
	v.keys("n")
	v.shown(1)
	v.click("grain-request")
	v.click("step") // runs the second step and shows its first request
	v.wait(fmt.Sprintf(`highwater.seq() > %d`, lessonState(v).Steps[0].To))
	s = lessonState(v)
	if s.Done != 2 {
		t.Fatalf("%d steps ran", s.Done)
	}
	for range 3 {
		at := v.checkFold("a request")
		if at <= int(s.Steps[1].From) || at >= int(s.Steps[1].To) {
			t.Fatalf("event %d is not within the step %+v", at, s.Steps[1].Range)
		}
		line := traceLine(v, at)
		// 1001 is the built-in client: as the node that an answer reached, or as a request's sender.
		if !strings.Contains(line, ":1001,") {
			t.Errorf("a step by request stopped at %s", line)
		}
		v.click("step")
		v.wait(fmt.Sprintf(`highwater.seq() > %d`, at))
	}
}

// traceLine is one event of the world as its trace has it.
func traceLine(v *visit, seq int) string {
	v.t.Helper()
	lines := strings.Split(get(v, fmt.Sprintf("trace?from=%d&to=%d", seq, seq)), "\n")
	return lines[len(lines)-2]
}

func get(v *visit, what string) string {
	v.t.Helper()
	response, err := http.Get(v.api(what))
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: %d %v %s", what, response.StatusCode, err, b)
	}
	return string(b)
}

func TestFreePlayLeadsBackAndIsSavedAsAScenarioThatRuns(t *testing.T) {
	v := open(t)
	openLesson(v, "kill-leader")
	parent := v.world
	for i := range 3 {
		v.keys("n")
		v.shown(i + 1)
	}
	v.click("lesson-back")
	v.shown(2)
	v.click("lesson-free")
	v.wait(`location.search.includes("kill-leader-free") && highwater.status() === "open" &&
		highwater.seq() > 0 && text("lesson-progress").includes("free play from step 2")`)
	v.world = evaluate[string](v, `new URLSearchParams(location.search).get("world")`)
	v.wait(`at("leo-orders-0-1")?.dataset.value === "10"`)
	v.click("kill-3")
	v.wait(powered(3, "down"))
	v.fill("send-key", "order-3")
	v.click("send")
	v.wait(`at("leo-orders-0-1")?.dataset.value === "11"`)
	v.checkFold("free play")

	file := filepath.Join(t.TempDir(), "saved.md")
	saved := get(v, "scenario")
	if err := os.WriteFile(file, []byte(saved), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"kill 3\n", "send orders key=order-3 ", "seed: 13\n"} {
		contains(t, saved, part)
	}
	try(t, exitGood, "scenarios", "lint", file)
	try(t, exitGood, "run", file)

	v.click("lesson-return")
	v.world = parent
	v.wait(`location.search.includes("world=` + parent + `") && highwater.status() === "open"`)
	v.shown(2)
	v.atEnd(lessonState(v), 2)
	v.click("lesson-reset")
	v.wait(`at("lesson")?.dataset.done === "0" && highwater.status() === "open"`)
	v.atEnd(lessonState(v), 0)
}

func TestFirstVisitBeginsWithAStoryThatOneButtonSkips(t *testing.T) {
	v := open(t)
	v.do(chromedp.Navigate(v.main.pageAddress()))
	v.wait(`location.search.includes("story=1") && globalThis.highwater?.status() === "open"`)
	v.wait(`!at("story-skip").hidden && at("lesson-next").offsetParent === null`)
	v.wait(`Number(at("lesson").dataset.done) >= 1`) // nobody asked for it
	v.click("story-skip")
	v.wait(`text("lesson-note").includes("yours") && at("lesson-next").offsetParent !== null &&
		at("story-skip").hidden`)
	v.do(chromedp.Navigate(v.main.pageAddress()))
	v.wait(`location.pathname === "/" && globalThis.highwater?.status() === "open" &&
		at("lesson") === null`)
}

func TestReducedMotionShowsStepsAtOnce(t *testing.T) {
	v := openIn(t, lessMotion)
	openLesson(v, "kill-leader")
	v.wait(motion)
	v.keys("n")
	v.wait(`at("lesson").dataset.shown === "1" && ` + still)
	v.atEnd(lessonState(v), 1)
}

// The events of the cluster's start are before a lesson, and no place to be in it.
func TestNothingLeadsBeforeALessonsFirstStep(t *testing.T) {
	v := openIn(t, lessMotion)
	s := openLesson(v, "kill-leader")
	v.keys("n")
	v.shown(1)
	v.wait(`(at("seek").value = at("seek").min, at("seek").dispatchEvent(new Event("input")),
		at("lesson").dataset.shown === "0")`)
	v.keys(kb.ArrowLeft)
	v.atEnd(s, 0)
	v.keys("n")
	v.shown(1)
}

func TestLessonWhoseWorldWasClosedSaysSoAndStartsAgain(t *testing.T) {
	v := open(t)
	openLesson(v, "kill-leader")
	v.keys("n")
	v.shown(1)
	// What the page says and asks counts as a use, and it may do so at any time: not for now.
	evaluate[bool](v, `(window.real = window.fetch, window.fetch = () => new Promise(() => {}), true)`)
	var others []*lesson.Lesson
	start := func() *lesson.Lesson {
		l, err := v.main.lessons.Start("kill-leader")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for range lesson.WorldsMax - 1 {
		l := start()
		others = append(others, l)
		watched := l.Hub().Watch(0, "")
		defer watched.Close()
	}
	// All are watched, and the page's was used least lately.
	for _, l := range others {
		if _, err := v.main.lessons.Find(l.ID()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	evaluate[bool](v, `(window.fetch = window.real, true)`)
	v.wait(`text("lesson-note").includes("was closed") &&
		at("lesson-next").textContent.includes("Start again")`)
	// Loaded anew the page begins again, too.
	v.do(chromedp.Navigate(v.main.pageAddress() + "lesson/kill-leader?world=" + v.world))
	v.wait(fmt.Sprintf(`location.search.includes("world=kill-leader-") &&
		!location.search.endsWith(%q) && highwater.status() === "open" &&
		at("lesson").dataset.done === "0"`, "="+v.world))
}

func TestStepThatSomebodyElseRunsIsShownHereToo(t *testing.T) {
	v := open(t)
	openLesson(v, "truncate-to-hw")
	l, err := v.main.lessons.Find(v.world)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := l.Next(i); err != nil {
			t.Fatal(err)
		}
		v.shown(i + 1)
		v.atEnd(l.State(), i+1)
	}
	// The stage turned to the partition that the lesson came to.
	v.wait(`at("topic").value === "parted"`)
	// The old rule loses a committed record, and the referee saw it.
	v.wait(`text("vital-broken").endsWith("1")`)
	v.wait(`text("toast").includes("log.committed-stays")`)
}

// Whoever opens a lesson's page late, or again, sees its hero followed all the same.
func TestLessonsHeroIsFollowedOnAPageThatOpensLate(t *testing.T) {
	v := open(t)
	openLesson(v, "phantom-read")
	v.wait(`!document.querySelector('[data-testid="station-committed"]')`)
	v.shown(runToItsEnd(v))
	v.do(chromedp.Reload())
	v.wait(`text("station-committed").includes("lost")`)
	v.wait(`text("station-sent").includes("shop")`) // though its events came in after the logs
}

// runToItsEnd runs all steps of the lesson that is open, as another page would.
func runToItsEnd(v *visit) (steps int) {
	v.t.Helper()
	l, err := v.main.lessons.Find(v.world)
	if err != nil {
		v.t.Fatal(err)
	}
	steps = len(l.State().Steps)
	for i := range steps {
		if _, err := l.Next(i); err != nil {
			v.t.Fatal(err)
		}
	}
	return steps
}

// Its hero is in the topic of its first half, and its last steps are about another one.
func TestLessonThatIsOpenedAgainShowsWhatItsLastStepIsAbout(t *testing.T) {
	v := open(t)
	openLesson(v, "truncate-to-hw")
	steps := runToItsEnd(v)
	for range 2 {
		v.do(chromedp.Reload())
		v.shown(steps)
		v.wait(`at("record-parted-0-1-1") && text("caption").includes("parted-0")`)
		v.wait(`text("followed").includes("order-3")`)
		v.wait(fmt.Sprintf(`(() => {
			const step = at("lesson-step-%d").getBoundingClientRect();
			const panel = document.getElementById("lesson-body").getBoundingClientRect();
			return step.top >= panel.top && step.bottom <= panel.bottom;
		})()`, steps-1))
	}
}
