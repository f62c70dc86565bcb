package scenarios

import (
	"context"
	"strings"
	"testing"

	"highwater/cluster"
	"highwater/cluster/event"
)

const fates = `---
title: Fates
level: 1
minutes: 1
seed: 1
kind: exact
---

Fates.

` + "```highwater\n" + `topic o partitions=2 rf=3
consumer c3 topic=o partition=0 from=earliest manual
producer p1
sleep 1s
sleep 1s
poll c3 timeout=1s
` + "```\n"

// playedUpTo runs the steps up to an index.
func playedUpTo(t *testing.T, until int) (*cluster.Cluster, *Player, *Scenario) {
	t.Helper()
	s, mistakes := ParseScenario("fates.md", []byte(fates))
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	c, err := Open(s, Options{Survive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	p := NewPlayer(c, nil)
	if err := p.Boot(); err != nil {
		t.Fatal(err)
	}
	for i := range until {
		if report, _ := p.Step(s, i); !report.OK {
			t.Fatal(report)
		}
	}
	return c, p, s
}

// says runs one command that is refused, and looks at why.
func (p *Player) says(t *testing.T, text string, words ...string) {
	t.Helper()
	command, mistake := Parse(text)
	if mistake != nil {
		t.Fatal(mistake)
	}
	ended := false
	p.Executor.Run(command, "test", func(_ Result, err *Error) {
		ended = true
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, without %q", text, err, word)
			}
		}
		if err != nil && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", text, err)
		}
	})
	if !ended {
		t.Errorf("%s: no answer", text)
	}
}

func TestCommandToAClientThatIsDownHearsWhyItIs(t *testing.T) {
	c, p, _ := playedUpTo(t, 4)
	c3, _ := c.Named("c3")
	p1, _ := c.Named("p1")
	if err := c.Kill(p1); err != nil {
		t.Fatal(err)
	}
	p.says(t, "flush p1", "producer p1 was killed at 2.", "restart p1")
	p.says(t, "poll p1", "p1 is a producer", "c3")
	if err := c.Pause(c3); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"poll c3 timeout=1s", "commit c3", "close c3"} {
		p.says(t, text, "c3 is paused", "resume c3")
	}
	if err := c.Resume(c3); err != nil {
		t.Fatal(err)
	}
	c.Guard(c3, func() { panic("position -7 of o-0") })
	for _, text := range []string{"poll c3", "seek c3 0", "commit c3"} {
		p.says(t, text, "consumer c3 went down by itself at 2.", "(invariant): position -7 of o-0",
			"restart c3")
	}
	if err := c.Restart(c3); err != nil {
		t.Fatal(err)
	}
	if fate := c.Fate(c3); fate != "" {
		t.Errorf("a client that runs %s", fate)
	}
}

func TestBrokenInvariantFailsTheStepAndSaysTheValues(t *testing.T) {
	c, p, s := playedUpTo(t, 3)
	id, _ := c.Named("c3")
	p.Executor.config.Client().After(0, func() {
		c.Guard(id, func() { panic("position -7 of o-0") })
	})
	report, _ := p.Step(s, 3)
	if report.OK || !strings.Contains(report.Text, "consumer c3 went down by a broken invariant: "+
		"position -7 of o-0, in scenarios.TestBroken") {
		t.Errorf("the step: %+v", report)
	}
	if whole := p.Run(context.Background(), s); whole.OK || len(whole.Steps) != 1 {
		t.Errorf("it went on: %+v", whole)
	}
}

func TestConsumerOfAPartitionThatIsNotThereIsRefused(t *testing.T) {
	_, p, _ := playedUpTo(t, 1)
	p.says(t, "consumer c topic=o partition=2", "o has no partition 2", "it has 2, counted from 0")
}

func TestTopicWithoutAQuorumSaysWhatIsMissing(t *testing.T) {
	c, p, _ := playedUpTo(t, 0)
	for _, id := range []event.NodeID{101, 102} {
		if err := c.Kill(id); err != nil {
			t.Fatal(err)
		}
	}
	command, mistake := Parse("topic later")
	if mistake != nil {
		t.Fatal(mistake)
	}
	ok, text, _ := p.run(command, "test")
	if ok || !strings.Contains(text, "REQUEST_TIMED_OUT: no controller is active") {
		t.Errorf("%v, %s", ok, text)
	}
}

func TestTopicsAreKnownWhileNoBrokerRuns(t *testing.T) {
	c, p, _ := playedUpTo(t, 1)
	for _, id := range c.Brokers() {
		if err := c.Kill(id); err != nil {
			t.Fatal(err)
		}
	}
	p.says(t, "kill 1", "broker 1 is down", "restart 1")
	p.says(t, "send o partition=7 value=x", "o has no partition 7")
	command, mistake := Parse("send o value=x timeout=5s")
	if mistake != nil {
		t.Fatal(mistake)
	}
	if ok, text, _ := p.run(command, "test"); ok || !strings.Contains(text, "restart all") {
		t.Errorf("%v, %s", ok, text)
	}
	p.says(t, "clean o-0", "no broker that holds o-0 runs")
	p.says(t, "retain o-0", "no broker that holds o-0 runs")
	for _, id := range c.Controllers() {
		if err := c.Kill(id); err != nil {
			t.Fatal(err)
		}
	}
	p.says(t, "send o value=x", "no broker runs, so the topics are not known", "restart all")
	all, mistake := Parse("restart all")
	if mistake != nil {
		t.Fatal(mistake)
	}
	if ok, text, _ := p.run(all, "test"); !ok {
		t.Fatal(text)
	}
	p.says(t, "kill controller", "controller is none now", "restart all")
	p.says(t, "send o value=x", "no broker serves yet")
}
