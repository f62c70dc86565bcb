package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// watch opens a second browser with the viewers' link.
func watch(v *visit) *visit {
	v.t.Helper()
	return visitPage(v.t, v.main, v.main.viewerAddress(), "")
}

// sameInstant waits until a viewer shows the moment, the partition and the followed record that the
// presenter shows, and checks that both pages equal the fold there.
func sameInstant(v, viewer *visit) {
	v.t.Helper()
	const shown = `[highwater.seq(), highwater.scene().focus?.name, text("followed")].join("/")`
	v.wait(`highwater.scene().seq === highwater.seq()`) // it is drawn
	viewer.wait(fmt.Sprintf(`%s === %q`, shown, evaluate[string](v, shown)))
	if mine, theirs := v.checkFold("presenter"), viewer.checkFold("viewer"); mine != theirs {
		v.t.Errorf("the presenter shows event %d, the viewer %d", mine, theirs)
	}
}

func TestViewerSeesTheInstantOfThePresenter(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("topic payments replicas=1,2,3")
	v.command("send orders key=order-3 value=hello times=5")
	v.command("pause-time")
	viewer := watch(v)
	v.wait(`text("viewers") === "1 viewer"`)
	viewer.wait(`text("viewers") === "1 viewer"`)
	sameInstant(v, viewer)
	for range 4 {
		v.click("back")
		sameInstant(v, viewer)
	}
	seekTo(v, evaluate[int](v, `highwater.seq()`)/2)
	sameInstant(v, viewer)
	v.click("live")
	v.command("pause-time")
	v.wait(`!at("play").hidden`)
	v.wait(`[...at("topic").options].some((o) => o.value === "payments")`)
	evaluate[*int](v, `(at("topic").value = "payments", at("topic").onchange(), null)`)
	viewer.wait(`highwater.scene().focus.topic === "payments"`)
	evaluate[*int](v, `(at("topic").value = "orders", at("topic").onchange(), null)`)
	v.wait(`at("record-orders-0-1-2")`)
	v.click("record-orders-0-1-2")
	v.keys("f")
	viewer.wait(`text("followed") === "order-3"`)
	sameInstant(v, viewer)
	late := watch(v) // who comes late lands on the same instant
	v.click("back")
	sameInstant(v, late)
	sameInstant(v, viewer)
	v.wait(`text("viewers") === "2 viewers"`)
}

func TestViewerLooksAroundAndComesBack(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("pause-time")
	viewer := watch(v)
	v.click("back")
	sameInstant(v, viewer)
	at := evaluate[int](viewer, `highwater.seq()`)
	viewer.keys(kb.ArrowLeft) // while it follows, only the presenter moves it
	seekTo(viewer, 3)
	viewer.wait(fmt.Sprintf(`highwater.seq() === %d`, at))
	viewer.click("follow-presenter")
	seekTo(viewer, 3)
	viewer.wait(`highwater.seq() === 3`)
	v.click("back")
	viewer.click("step")
	viewer.wait(`highwater.seq() > 3 && highwater.seq() < 200`)
	viewer.keys("w")
	sameInstant(v, viewer)
}

func TestViewerIsTakenAlongIntoALesson(t *testing.T) {
	v := open(t)
	viewer := watch(v)
	s := openLesson(v, "kill-leader")
	viewer.wait(`location.search.includes("world=` + v.world + `") && at("lesson") &&
		highwater.status() === "open"`)
	viewer.world = v.world
	for i := range 4 {
		v.click("lesson-next")
		v.shown(i + 1)
		sameInstant(v, viewer)
		viewer.wait(fmt.Sprintf(`at("lesson").dataset.shown === "%d"`, i+1))
		if i == 0 { // what the step was for, and not what a client did on the way
			for _, page := range []*visit{v, viewer} {
				page.wait(`text("caption").startsWith("Broker 1 leads orders-0")`)
			}
		}
	}
	v.click("lesson-back")
	v.shown(3)
	sameInstant(v, viewer)
	viewer.keys("n")
	if done := lessonState(v).Done; done != 4 {
		t.Errorf("the viewer's key ran a step: %d are done, not 4 of %d", done, len(s.Steps))
	}
	late := watch(v)
	late.wait(`location.search.includes("world=` + v.world + `") && at("lesson")`)
	late.world = v.world
	late.wait(`at("lesson").dataset.shown === "3"`)
	sameInstant(v, late)
	v.do(chromedp.Navigate(v.page))
	viewer.wait(`location.search.includes("world=main") && highwater.status() === "open" &&
		!at("lesson")`)
}

func TestViewerCannotAct(t *testing.T) {
	v := open(t)
	v.topic("orders")
	viewer := watch(v)
	before := evaluate[string](v, `String(highwater.scene().vitals.brokersUp)`)
	for _, id := range []string{"kill-1", "send", "open-command", "cut-1-2", "open-library"} {
		if evaluate[bool](viewer, fmt.Sprintf(`Boolean(at(%q)?.offsetParent)`, id)) {
			t.Errorf("a viewer sees %s", id)
		}
	}
	for _, key := range []string{"1", "k", " ", "x", "/", "m", kb.ArrowRight, "l"} {
		viewer.keys(key)
	}
	viewer.wait(`!document.querySelector("dialog[open]") && text("toasts") === ""`)
	for _, path := range []string{"/api/worlds/main/commands", "/api/room", "/api/lessons",
		"/api/worlds/main/steps/next", "/api/worlds/main/reset", "/api/worlds/main/free"} {
		answer := evaluateLater(viewer, fmt.Sprintf(`fetch(%q, { method: "POST", body: "{}",
			headers: { "Content-Type": "application/json", "X-Highwater-Token":
				document.querySelector("meta[name=viewer-token]").content } })
			.then(async (r) => r.status + " " + (await r.json()).error)`, path))
		if answer != fmt.Sprint(http.StatusForbidden, " a viewer can only look") {
			t.Errorf("%s: %s", path, answer)
		}
	}
	if strings.Contains(get(viewer, "trace"), `"command":"pause-time"`) ||
		evaluate[string](v, `String(highwater.scene().vitals.brokersUp)`) != before {
		t.Error("a viewer's key did something")
	}
	page := evaluate[string](viewer, `document.documentElement.outerHTML`)
	if strings.Contains(page, v.main.token) {
		t.Error("the viewer's page holds the presenter's token")
	}
}

// evaluateLater runs an expression that gives a promise of a text.
func evaluateLater(v *visit, expression string) string {
	v.t.Helper()
	value, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](expression,
		chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatal(err)
	}
	return value
}

func TestPresenterSharesTheViewersLink(t *testing.T) {
	v := open(t)
	v.click("open-share")
	v.wait(`at("share").open && text("share-note").includes("this machine only")`)
	if link := evaluate[string](v, `at("share-link").value`); link != v.main.viewerAddress() {
		t.Errorf("the page shares %s, not %s", link, v.main.viewerAddress())
	}
	v.click("share-copy")
	v.wait(`/Copied|Ctrl C/.test(text("share-note"))`)
}
