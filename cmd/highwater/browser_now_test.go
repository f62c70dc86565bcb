package main

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Whoever looks at the past and does something sees it: the page goes to where it happens.
func TestWhatIsDoneInThePastIsSeenWhereItHappens(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("send orders key=a acks=all")
	v.wait(`at("leo-orders-0-1")?.dataset.value === "1"`)
	back := func() {
		t.Helper()
		v.click("back")
		v.wait(`at("stage").classList.contains("past")`)
	}
	back()
	v.click("kill-2")
	v.wait(powered(2, "down"))
	back()
	v.fill("send-key", "order-3")
	v.click("send")
	v.wait(`at("station-committed")?.dataset.status === "here"`)
	v.keys(kb.Escape) // the keys belong to the page again
	back()
	v.keys("3k")
	v.wait(powered(3, "down"))
	back()
	v.click("speed-slow")
	v.wait(`at("speed-slow").classList.contains("on")`)
	if !evaluate[bool](v, `at("stage").classList.contains("past")`) {
		t.Error("a slower clock took the page out of the past")
	}
}

// Where restart was, power-cut comes under the pointer. Other nodes are restarted as fast as one
// can.
func TestDoubleClickOnRestartDoesNotCutThePower(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.click("kill-2")
	v.click("kill-103")
	v.wait(powered(2, "down"))
	v.wait(`at("restart-103")?.checkVisibility()`)
	evaluate[*int](v, `(at("restart-2").click(), at("power-cut-2").click(),
		at("restart-103").click(), null)`)
	v.wait(powered(2, "up"))
	v.wait(`text("event-list").includes("restart 103")`)
	v.command("send orders key=a acks=all") // behind whatever the clicks have sent
	v.wait(`text("event-list").includes("send orders key=a")`)
	if evaluate[bool](v, `text("event-list").includes("power-cut")`) {
		t.Error("the second click has cut the power")
	}
}

// In slow motion nothing comes for minutes, which must not leave the caption at what was before.
func TestCaptionInSlowMotionTellsTheNewest(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.click("speed-slower")
	for _, key := range []string{"order-3", "order-4", "order-5"} {
		v.fill("send-key", key)
		v.click("send")
		v.wait(`text("caption").includes("` + key + ` lies below it now")`)
	}
}

// In free play time runs, and what weighs most of all that happened since is no news any more.
func TestCaptionInFreePlayTellsTheNewest(t *testing.T) {
	v := open(t)
	openLesson(v, "kill-leader")
	v.keys("n")
	v.shown(1)
	v.click("lesson-free")
	v.wait(`location.search.includes("kill-leader-free") && highwater.status() === "open" &&
		highwater.seq() > 0`)
	v.click("kill-1")
	v.wait(`text("reign").startsWith("leader 2")`)
	v.click("restart-1")
	v.wait(`at("isr-orders-0")?.dataset.value.split(",").length === 3`)
	v.wait(`!text("caption").includes(" leads ")`)
}

// Picking a broker harms nobody: the keys behind it are the page's, space too. The same after a
// click.
func TestSpaceStopsTimeWhateverWasPickedOrClicked(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.keys("2 ")
	v.wait(`!at("play").hidden`)
	if !evaluate[bool](v, powered(2, "up")) {
		t.Error("broker 2 was picked, and space killed it")
	}
	v.keys(" ")
	v.wait(`at("play").hidden`)
	v.click("pause-3")
	v.wait(`text("pause-3").includes("resume")`)
	v.keys(" ")
	v.wait(`!at("play").hidden`)
	if !evaluate[bool](v, `text("pause-3").includes("resume")`) {
		t.Error("broker 3 was paused with a click, and space resumed it")
	}
}

// A record that waits for its acknowledgement has its key; the next one has another, or the one
// that somebody types meanwhile.
func TestLateAcknowledgementLeavesTheNextKeyAlone(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("pause-time")
	v.wait(`!at("play").hidden`)
	v.fill("send-topic", "orders")
	v.fill("send-key", "order-7")
	v.click("send")
	v.wait(`at("send-key").value === "order-8"`)
	v.click("send")
	v.wait(`at("send-key").value === "order-9"`)
	v.fill("send-key", "bob-7")
	v.click("play")
	for _, offset := range []string{"0", "1"} {
		v.wait(`at("record-orders-0-3-` + offset + `")?.matches(".wet")`)
	}
	v.wait(`text("event-list").includes("send orders key=order-8")`)
	if got := evaluate[string](v, `at("send-key").value`); got != "bob-7" {
		t.Errorf("the key that was typed is %q now", got)
	}
	v.fill("send-topic", "no/topic")
	v.click("send")
	v.wait(`document.querySelector(".toast")`)
	v.wait(`at("send-key").value === "bob-7"`)
}
