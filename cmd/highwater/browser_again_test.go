package main

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Whoever watched a lesson when the program ended comes to where the presenter of the next start
// is: the lesson's world is gone for ever, and the link of viewers can be the same.
func TestViewerOfALessonFollowsIntoTheNextStart(t *testing.T) {
	const link = "look"
	v := open(t, "--viewer-token", link)
	viewer := watch(v)
	openLesson(v, "kill-leader")
	viewer.wait(`location.search.includes("world=` + v.world + `") && highwater.status() === "open" &&
		highwater.seq() > 0`)
	v.do(chromedp.Navigate("about:blank")) // or this page would begin the lesson again
	address := v.main.listener.Addr().String()
	if err := v.main.server.Close(); err != nil {
		t.Fatal(err)
	}
	viewer.wait(`highwater.status() === "reconnecting"`)
	again := startForTest(t, "--viewer-token", link, "--http", address)
	v.do(chromedp.Navigate(again.pageAddress() + "?world=main"))
	viewer.wait(`location.search.includes("world=main") && highwater.status() === "open"`)
}

// A record of a topic that was made again was not sent by whoever had sent the one at its place
// before, and before it was sent nobody had sent it.
func TestFirstStationKnowsTheTopicMadeAgainAndTheTimeBefore(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("producer shop")
	v.command("send orders key=a by=shop")
	v.command("delete-topic orders")
	v.wait(`!at("isr-orders-0")`)
	v.topic("orders")
	before := evaluate[int](v, `highwater.seq()`)
	v.fill("send-topic", "orders")
	v.fill("send-key", "order-3")
	v.click("send")
	v.wait(`at("station-committed").dataset.status === "here"`)
	v.wait(`text("station-sent").includes("offset 0") && !text("station-sent").includes("shop")`)
	seekTo(v, before)
	v.wait(`text("station-sent").includes("not yet")`)
}
