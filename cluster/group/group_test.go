package group

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestNewcomerMustComeBackWithTheIDThatItIsGiven(t *testing.T) {
	b := newBench(t, quick())
	r := b.joinRequest("")
	r.Version = 4
	first := b.join(r)
	if *first == nil || nameOf((*first).ErrorCode) != "MEMBER_ID_REQUIRED" {
		t.Fatalf("first answer %+v", *first)
	}
	b.wantState("Empty")
	again := b.joinRequest((*first).MemberID)
	again.Version = 4
	second := b.join(again)
	b.pass(time.Second)
	if *second == nil || (*second).Generation != 1 || (*second).LeaderID != (*first).MemberID {
		t.Errorf("second answer %+v", *second)
	}
}

func TestGivenIDIsForgottenWhenNobodyComesBackWithIt(t *testing.T) {
	b := newBench(t, quick())
	r := b.joinRequest("")
	r.Version = 4
	first := b.join(r)
	b.pass(11 * time.Second)
	late := b.join(b.joinRequest((*first).MemberID))
	if *late == nil || nameOf((*late).ErrorCode) != "UNKNOWN_MEMBER_ID" {
		t.Errorf("answer %+v", *late)
	}
}

func TestAssignmentsAreToldOnlyOnceTheyAreCommitted(t *testing.T) {
	b := newBench(t, quick())
	joined := b.join(b.joinRequest(""))
	b.pass(time.Second)
	id := (*joined).MemberID
	b.held = true
	synced := b.sync(id, 1, id, "all")
	b.pass(3 * time.Second)
	if *synced != nil {
		t.Fatalf("told before the record is committed: %+v", *synced)
	}
	b.wantState("CompletingRebalance")
	b.commit()
	if *synced == nil || string((*synced).MemberAssignment) != "all" {
		t.Errorf("answer %+v", *synced)
	}
	b.wantState("Stable")
}

func TestAssignmentsThatCannotBeStoredStartAnotherRound(t *testing.T) {
	b := newBench(t, quick())
	joined := b.join(b.joinRequest(""))
	b.pass(time.Second)
	id := (*joined).MemberID
	b.held = true
	synced := b.sync(id, 1, id, "all")
	b.open[0].then(15) // COORDINATOR_NOT_AVAILABLE
	if *synced == nil || (*synced).ErrorCode != 15 {
		t.Errorf("answer %+v", *synced)
	}
	b.wantState("PreparingRebalance")
	b.open = nil
}

func TestSecondMemberMakesTheFirstJoinAnew(t *testing.T) {
	b := newBench(t, quick())
	first := b.alone()
	second := b.join(b.joinRequest(""))
	b.pass(time.Second)
	if *second != nil {
		t.Fatal("the second member is answered before the first has come back")
	}
	if got := b.heartbeat(first, 1); got != "REBALANCE_IN_PROGRESS" {
		t.Errorf("heartbeat: %s", got)
	}
	back := b.join(b.joinRequest(first))
	if *back == nil || *second == nil {
		t.Fatal("everybody is there, and the join phase goes on")
	}
	if len((*back).Members) != 2 || len((*second).Members) != 0 {
		t.Errorf("the leader is told of %d members, the other of %d", len((*back).Members),
			len((*second).Members))
	}
	if (*back).Generation != 2 || (*second).Generation != 2 || (*second).LeaderID != first {
		t.Errorf("answers %+v and %+v", *back, *second)
	}
	id := (*second).MemberID
	waits := b.sync(id, 2)
	b.sync(first, 2, first, "odd", id, "even")
	b.pass(time.Second)
	if *waits == nil || string((*waits).MemberAssignment) != "even" {
		t.Errorf("sync of the second: %+v", *waits)
	}
}

func TestWhoDoesNotComeBackWithinTheRebalanceTimeoutIsOut(t *testing.T) {
	b := newBench(t, quick())
	first := b.alone()
	second := b.join(b.joinRequest(""))
	for range 65 {
		b.heartbeat(first, 1) // alive, but it never joins
		b.pass(time.Second)
	}
	if *second == nil || (*second).Generation != 2 || len((*second).Members) != 1 {
		t.Errorf("answer to the second: %+v", *second)
	}
	if got := b.heartbeat(first, 1); got != "UNKNOWN_MEMBER_ID" {
		t.Errorf("heartbeat of the first: %s", got)
	}
}

func TestWhoNeverAsksForItsAssignmentIsOut(t *testing.T) {
	b := newBench(t, quick())
	joined := b.join(b.joinRequest(""))
	for range 65 {
		b.pass(time.Second)
		b.heartbeat((*joined).MemberID, 1)
	}
	b.wantState("Empty")
}

func TestHeartbeatsKeepAMemberAndSilenceEndsIt(t *testing.T) {
	b := newBench(t, quick())
	id := b.alone()
	for range 30 {
		if got := b.heartbeat(id, 1); got != "NONE" {
			t.Fatalf("at %v: %s", b.world.Now(), got)
		}
		b.pass(time.Second)
	}
	b.pass(8 * time.Second)
	b.wantState("Stable")
	b.pass(2 * time.Second)
	b.wantState("Empty")
	if text := strings.Join(b.events, "\n"); !strings.Contains(text, "GroupMemberLeft") ||
		!strings.Contains(text, "group.session-timeout") {
		t.Error("no event says that the session timed out")
	}
}

func TestInitialDelayGathersWhoStartsTogether(t *testing.T) {
	b := newBench(t, DefaultSettings())
	first := b.join(b.joinRequest(""))
	b.pass(2 * time.Second)
	second := b.join(b.joinRequest(""))
	b.pass(2 * time.Second) // the second extends the delay
	if *first != nil || *second != nil {
		t.Fatal("answered before the delay is over")
	}
	b.pass(3 * time.Second)
	if *first == nil || *second == nil || (*first).Generation != 1 || (*second).Generation != 1 {
		t.Errorf("answers %+v and %+v, want both in generation 1", *first, *second)
	}
}

func TestStaticMemberTakesItsPlaceWithoutARebalance(t *testing.T) {
	b := newBench(t, quick())
	instance := "one"
	r := b.joinRequest("")
	r.Version, r.InstanceID = 5, &instance
	first := b.join(r)
	b.pass(time.Second)
	old := (*first).MemberID
	b.sync(old, 1, old, "all")
	b.pass(time.Second)
	again := b.joinRequest("")
	again.Version, again.InstanceID = 5, &instance
	second := b.join(again)
	b.pass(time.Second)
	if *second == nil || (*second).Generation != 1 || (*second).MemberID == old ||
		(*second).LeaderID != old {
		t.Fatalf("answer %+v", *second)
	}
	b.wantState("Stable")
	part := b.sync((*second).MemberID, 1)
	if *part == nil || string((*part).MemberAssignment) != "all" {
		t.Errorf("its part is %+v", *part)
	}
	if code := b.c.find("g").check(old, &instance); nameOf(code) != "FENCED_INSTANCE_ID" {
		t.Errorf("the old process is told %s", nameOf(code))
	}
}

func TestOffsetIsNotToldBeforeItIsCommitted(t *testing.T) {
	b := newBench(t, quick())
	b.commitOffset(5)
	b.pass(time.Second)
	b.held = true
	code := b.commitOffset(9)
	b.pass(time.Second)
	if got, _ := b.c.Offset("g", Partition{"orders", 0}); got.Offset != 5 || *code != -100 {
		t.Errorf("offset %d and code %d before the commit", got.Offset, *code)
	}
	b.commit()
	if got, _ := b.c.Offset("g", Partition{"orders", 0}); got.Offset != 9 || *code != 0 {
		t.Errorf("offset %d and code %d after the commit", got.Offset, *code)
	}
}

func TestNextCoordinatorKnowsFromTheLogWhatThisOneKnew(t *testing.T) {
	b := newBench(t, quick())
	id := b.alone()
	who := Committer{Group: "g", Generation: 1, Member: id, Version: 8}
	if code := b.c.CheckCommit(who); code != 0 {
		t.Fatal(nameOf(code))
	}
	b.c.Commit(who, []Commit{{Partition{"orders", 0}, Committed{Offset: 42, Expires: -1}}},
		func(int16) {})
	b.pass(time.Second)
	before := b.c.Describe("g", 6, false)
	log := b.log
	b.c.Close()
	b.c = New(b.env, b, quick())
	for _, r := range log {
		if err := b.c.Replay(r, Author{}); err != nil {
			t.Fatal(err)
		}
	}
	b.c.Loaded()
	if after := b.c.Describe("g", 6, false); !reflect.DeepEqual(before, after) {
		t.Errorf("the group is\n%+v, was\n%+v", after, before)
	}
	if got, _ := b.c.Offset("g", Partition{"orders", 0}); got.Offset != 42 {
		t.Errorf("offset %d", got.Offset)
	}
	if got := b.heartbeat(id, 1); got != "NONE" {
		t.Errorf("heartbeat of the member: %s", got)
	}
	b.pass(11 * time.Second)
	b.wantState("Empty")
}

func TestCloseSendsEverybodyElsewhere(t *testing.T) {
	b := newBench(t, quick())
	b.alone()
	waits := b.join(b.joinRequest(""))
	b.c.Close()
	if *waits == nil || nameOf((*waits).ErrorCode) != "NOT_COORDINATOR" {
		t.Errorf("answer %+v", *waits)
	}
	closing := fmt.Sprintf(`"at":"%d"`, b.world.Now().Nanoseconds())
	b.pass(10 * time.Minute)
	after := false
	for _, line := range b.events {
		after = after || strings.Contains(line, closing)
		if after && !strings.Contains(line, closing) &&
			strings.Contains(line, "Group") && !strings.Contains(line, "Rebalance") {
			t.Errorf("a closed coordinator goes on: %s", line)
		}
	}
}

func TestDeletedGroupIsGoneWithItsOffsets(t *testing.T) {
	b := newBench(t, quick())
	b.commitOffset(5)
	b.pass(time.Second)
	var code int16 = -100
	b.c.Delete("g", func(c int16) { code = c })
	b.pass(time.Second)
	if _, has := b.c.Offset("g", Partition{"orders", 0}); has || code != 0 {
		t.Errorf("code %d, offset still there: %v", code, has)
	}
	b.c.Delete("g", func(c int16) { code = c })
	if nameOf(code) != "GROUP_ID_NOT_FOUND" {
		t.Errorf("deleted again: %s", nameOf(code))
	}
}

func TestGroupWithMembersIsNotDeleted(t *testing.T) {
	b := newBench(t, quick())
	b.alone()
	var code int16
	b.c.Delete("g", func(c int16) { code = c })
	if nameOf(code) != "NON_EMPTY_GROUP" {
		t.Errorf("code %s", nameOf(code))
	}
}

func TestUnusedOffsetsAndThenTheirGroupExpire(t *testing.T) {
	s := quick()
	s.OffsetsRetention = time.Hour
	b := newBench(t, s)
	b.commitOffset(5)
	b.pass(59 * time.Minute)
	b.c.Expire()
	b.pass(time.Second)
	if _, has := b.c.Offset("g", Partition{"orders", 0}); !has {
		t.Fatal("the offset is gone before its time")
	}
	b.pass(2 * time.Minute)
	b.c.Expire()
	b.pass(time.Second)
	b.wantState("Dead")
}

func TestOffsetsOfAGroupAtWorkDoNotExpire(t *testing.T) {
	s := quick()
	s.OffsetsRetention = 5 * time.Second
	b := newBench(t, s)
	b.commitOffset(5)
	b.pass(time.Second)
	id := b.alone()
	for range 10 {
		b.pass(time.Second)
		b.heartbeat(id, 1)
	}
	b.c.Expire()
	b.pass(time.Second)
	if _, has := b.c.Offset("g", Partition{"orders", 0}); !has {
		t.Error("the offset of a topic that is being consumed expired")
	}
}

func TestDeletedTopicTakesItsOffsetsAlong(t *testing.T) {
	b := newBench(t, quick())
	b.commitOffset(5)
	b.pass(time.Second)
	old := [16]byte{7}
	thereAs := func(id [16]byte) func(string, [16]byte) bool {
		return func(topic string, has [16]byte) bool { return topic == "orders" && has == id }
	}
	b.c.Sweep(thereAs([16]byte{}))
	b.pass(time.Second)
	if _, has := b.c.Offset("g", Partition{"orders", 0}); !has {
		t.Fatal("another topic's deletion took the offset")
	}
	b.c.Sweep(thereAs(old)) // made anew under the same name
	b.pass(time.Second)
	if _, has := b.c.Offset("g", Partition{"orders", 0}); has {
		t.Error("the offset is still there")
	}
}

func TestMoreTombstonesThanABatchHoldsAreWrittenAllTheSame(t *testing.T) {
	settings := quick()
	settings.OffsetsRetention = time.Hour
	for name, forget := range map[string]func(c *Coordinator){
		"swept":   func(c *Coordinator) { c.Sweep(func(string, [16]byte) bool { return false }) },
		"expired": (*Coordinator).Expire,
	} {
		b := newBench(t, settings)
		long := strings.Repeat("x", 200)
		for g := range 60 {
			commits := make([]Commit, 100)
			for p := range commits {
				commits[p] = Commit{Partition{long, int32(p)}, Committed{LeaderEpoch: -1, Expires: -1,
					Timestamp: b.env.UnixMilli()}}
			}
			b.c.Commit(Committer{Group: fmt.Sprint("g", g), Generation: -1}, commits, func(int16) {})
		}
		b.pass(2 * time.Hour)
		if _, has := b.c.Offset("g59", Partition{long, 99}); !has {
			t.Fatal("nothing was committed")
		}
		forget(b.c)
		b.pass(time.Second)
		for g := range 60 {
			if _, has := b.c.Offset(fmt.Sprint("g", g), Partition{long, 99}); has {
				t.Fatalf("%s: the offsets of group %d are still there", name, g)
			}
		}
	}
}

func TestCommitsOfStrangersAreRefused(t *testing.T) {
	b := newBench(t, quick())
	id := b.alone()
	for _, c := range []struct {
		name string
		who  Committer
		want string
	}{
		{"the member", Committer{Group: "g", Generation: 1, Member: id}, "NONE"},
		{"an older generation", Committer{Group: "g", Generation: 0, Member: id},
			"ILLEGAL_GENERATION"},
		{"another member", Committer{Group: "g", Generation: 1, Member: "ghost"},
			"UNKNOWN_MEMBER_ID"},
		{"a simple consumer", Committer{Group: "g", Generation: -1}, "UNKNOWN_MEMBER_ID"},
		{"a simple consumer of a new group", Committer{Group: "new", Generation: -1}, "NONE"},
		{"a member of an unknown group", Committer{Group: "new", Generation: 1, Version: 8},
			"ILLEGAL_GENERATION"},
		{"the same in version 9", Committer{Group: "new", Generation: 1, Version: 9},
			"GROUP_ID_NOT_FOUND"},
	} {
		if got := nameOf(b.c.CheckCommit(c.who)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFullGroupTurnsNewcomersAway(t *testing.T) {
	s := quick()
	s.MembersMax = 1
	b := newBench(t, s)
	first := b.alone()
	second := b.join(b.joinRequest(""))
	if *second == nil || nameOf((*second).ErrorCode) != "GROUP_MAX_SIZE_REACHED" {
		t.Errorf("answer to the second: %+v", *second)
	}
	back := b.join(b.joinRequest(first))
	if *back == nil || (*back).ErrorCode != 0 {
		t.Errorf("answer to the member that is in: %+v", *back)
	}
}
