package main

import (
	"fmt"
	"testing"
)

// cutOff sends order-3 to a leader whose followers' fetches do not arrive.
func cutOff(v *visit) {
	v.topic("orders")
	v.command("send orders key=order-1 value=a")
	v.command("cut 2>1")
	v.command("cut 3>1")
	v.fill("send-topic", "orders")
	v.fill("send-key", "order-3")
	v.click("send")
	v.wait(`at("record-orders-0-1-1")?.matches(".followed.dry")`)
	v.wait(`text("waits-1").includes("produce waits")`)
}

func TestPassportAndStationsTellTheSame(t *testing.T) {
	v := open(t)
	cutOff(v)
	v.click("toggle-inspector")
	v.click("tab-passport")
	v.wait(`text("fate") === "not yet" && text("sentences-not-yet").includes("is cut")`)
	v.wait(`at("station-committed").dataset.status === "ahead"`)
	v.command("heal all")
	v.wait(`text("fate") === "committed" && at("station-committed").dataset.status === "here"`)
	for id := 1; id <= 3; id++ {
		v.wait(fmt.Sprintf(`at("passport-%d").dataset.holds === "true" &&
			at("station-b%d").dataset.status === "here"`, id, id))
	}
}

func TestSentenceLeadsToItsEvent(t *testing.T) {
	v := open(t)
	cutOff(v)
	v.click("why-hw")
	v.wait(`text("why-title").includes("high watermark of orders-0 is 1")`)
	v.wait(`text("sentences-not-yet").includes("has fetched from offset 1")`)
	for _, of := range []string{"leo", "isr", "leader", "ack", "fetch"} {
		v.click("ask-" + of)
		v.wait(fmt.Sprintf(`at("ask-%s").getAttribute("aria-pressed") === "true" && at("why-title")`, of))
	}
	v.wait(`text("why-title") !== ""`)
	v.click("why-ack-1")
	v.wait(`text("sentences-not-yet").includes("for the high watermark to reach 2; it is 1")`)
	seq := evaluate[string](v, `at("sentence-not-yet-0").dataset.seq`)
	v.click("sentence-not-yet-0")
	v.wait(fmt.Sprintf(`highwater.seq() === %s && at("past")`, seq))
	v.wait(`text("caption") !== ""`)
	v.checkFold("after a sentence")
	v.click("live")
	v.wait(`!at("past")`)
	v.click("leader-orders-0")
	v.wait(`text("why-title").startsWith("Broker 1 leads orders-0")`)
	v.click("why-isr")
	v.wait(`text("why-title").startsWith("The in-sync replicas of orders-0")`)
}

func TestDiagramStandsOnTheScrubber(t *testing.T) {
	v := open(t)
	v.topic("orders")
	v.command("send orders key=order-1 value=a")
	v.wait(`at("record-orders-0-3-0")?.matches(".wet")`)
	v.click("pause")
	v.wait(`!at("play").hidden`)
	evaluate[*int](v, `document.activeElement.blur()`)
	v.keys("t")
	v.wait(`!at("timeline").hidden && document.querySelectorAll(".arrow").length > 10`)
	v.wait(`document.querySelectorAll(".arrow").length <= 160`)
	v.wait(`text("timeline-note").includes("idle messages folded")`)
	// The line of the moment stands over the scrubber's head, now and after a jump.
	over := `(() => { const line = at("now-line").getBoundingClientRect();
		const head = document.querySelector("#playhead i").getBoundingClientRect();
		return Math.abs(line.left + line.width / 2 - (head.left + head.width / 2)) < 1; })()`
	v.wait(over)
	seq := evaluate[int](v, `Number([...document.querySelectorAll(".arrow")].at(-5).dataset.seq)`)
	evaluate[bool](v, fmt.Sprintf(`at("arrow-%d").dispatchEvent(new MouseEvent("mouseenter"))`, seq))
	v.wait(fmt.Sprintf(`at("arrow-%d").matches(".lit")`, seq))
	evaluate[bool](v, fmt.Sprintf(`at("arrow-%d").dispatchEvent(new MouseEvent("click"))`, seq))
	v.wait(fmt.Sprintf(`highwater.seq() === %d`, seq))
	v.wait(over)
	v.click("events-all")
	row := fmt.Sprintf(`document.querySelector('.event[data-seq="%d"]')`, seq)
	v.wait(row)
	evaluate[bool](v, fmt.Sprintf(`at("arrow-%d").dispatchEvent(new MouseEvent("mouseenter"))`, seq))
	v.wait(row + `.matches(".lit")`)
	v.keys("t")
	v.wait(`at("timeline").hidden`)
}

// TestSignOfTheLogEndAndWhatWaitsDoNotMeet is about a compacted log, in which the water is high.
func TestSignOfTheLogEndAndWhatWaitsDoNotMeet(t *testing.T) {
	v := open(t)
	v.command("topic users replicas=1,2,3 cleanup.policy=compact")
	v.command("consumer c1 topic=users group=g") // readers take room from the logs
	v.command("consumer c2 topic=users")
	v.command("send users key=k{n} value=a times=10000")
	v.wait(`text("leo-users-0-1") === "10,000" && text("waits-1").includes("wait")`)
	// They move to their places, so it counts only when it stays.
	apart := `(() => { const end = at("why-leo-1").getBoundingClientRect();
		const are = [...at("waits-1").children].every((li) => { const wait = li.getBoundingClientRect();
			return wait.width > 0 && (wait.left >= end.right || wait.bottom <= end.top + 1); });
		window.apart = are ? (window.apart ?? 0) + 1 : 0;
		return window.apart > 40; })()`
	v.wait(apart)
	v.click("toggle-timeline")
	evaluate[int](v, `window.apart = 0`)
	v.wait(apart)
	// What the broker's badge says hides neither, with the diagram or without it.
	v.command("pause 1")
	free := `(() => { const tank = at("replica-users-0-1");
		const badge = tank.querySelector(".verdict")?.getBoundingClientRect();
		return badge?.width > 0 && badge.bottom < Math.min(at("why-leo-1").getBoundingClientRect().top,
			at("waits-1").getBoundingClientRect().top); })()`
	v.wait(free)
	v.click("toggle-timeline")
	v.wait(free)
}
