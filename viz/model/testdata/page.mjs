// Checks of the page's modules that need no browser; HIGHWATER_MODULES is their folder.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.env.HIGHWATER_MODULES + "/").href;
const { create, apply, toJSON } = await import(folder + "model/state.js");
const { createFilm } = await import(folder + "model/film.js");
const { narrate, duration, ruleText, namesOf } =
  await import(folder + "model/narrate.js");
const { connect } = await import(folder + "source/live.js");
const { readTrace } = await import(folder + "source/file.js");

const base = { node: 1, cause: "0", rule: "" };

function appended(seq) {
  return { ...base, seq: String(seq), at: String(seq * 1000), event: "BatchAppended", fields: {
    topic: "orders", partition: 0, baseOffset: String(seq - 1), lastOffset: String(seq - 1),
    records: 1, bytes: 90, leaderEpoch: 0, producerId: "-1", baseSequence: -1, codec: "none",
    control: false, leader: true } };
}

function events(from, to) {
  return Array.from({ length: to - from + 1 }, (_, i) => appended(from + i));
}

function stateAfter(seq) {
  const state = create();
  for (const event of events(1, seq)) apply(state, event);
  return state;
}

const leo = (state) => state.topics[0]?.partitions[0].copies[0].leo;

test("film shows every kept moment as folding from the start does", () => {
  const film = createFilm({ every: 10 });
  film.add(events(1, 95));
  for (const seq of [0, 1, 9, 10, 11, 50, 94, 95]) {
    assert.deepEqual(film.stateAt(seq), stateAfter(seq), `at ${seq}`);
  }
});

test("film goes back without disturbing what it showed before", () => {
  const film = createFilm({ every: 10 });
  film.add(events(1, 30));
  const shown = film.stateAt(25);
  film.stateAt(12);
  film.add(events(31, 60));
  assert.deepEqual(shown, stateAfter(25));
});

test("film forgets the oldest beyond its bound and still shows the rest", () => {
  const film = createFilm({ every: 10, keep: 50 });
  film.add(events(1, 500));
  assert.ok(film.first >= 430 && film.first <= 460, `first is ${film.first}`);
  assert.deepEqual(film.stateAt(film.first), stateAfter(film.first));
  assert.equal(leo(film.stateAt(1)), leo(stateAfter(film.first)), "earlier is the oldest kept");
  assert.ok(film.events(1, 500).length <= 60);
});

test("film steps to the next and previous accepted event", () => {
  const film = createFilm();
  film.add(events(1, 20));
  const even = (event) => Number(event.seq) % 2 === 0;
  assert.equal(film.next(3), 4);
  assert.equal(film.next(4, even), 6);
  assert.equal(film.previous(4), 3);
  assert.equal(film.previous(4, even), 2);
  assert.equal(film.next(20), null);
  assert.equal(film.previous(1), null);
});

test("film cuts over a gap and keeps both sides", () => {
  const film = createFilm({ every: 10 });
  film.add(events(1, 25));
  film.gap({ from: "26", to: "80", counts: { BatchAppended: 55 } });
  film.snapshot(toJSON(stateAfter(80)));
  film.add(events(81, 90));
  assert.equal(film.last, 90);
  assert.deepEqual(film.stateAt(20), stateAfter(20));
  assert.deepEqual(film.stateAt(50), stateAfter(25), "inside the gap the state stands still");
  assert.deepEqual(film.stateAt(80), stateAfter(80));
  assert.deepEqual(film.stateAt(90), stateAfter(90));
  assert.deepEqual(film.gaps, [{ from: 26, to: 80, counts: { BatchAppended: 55 } }]);
});

test("film begins anew with another world", () => {
  const film = createFilm();
  film.add(events(1, 25));
  film.snapshot({ ...create(), seq: "400", clusterId: "another" });
  assert.equal(film.first, 400);
});

test("events are told with names, durations and lists", () => {
  const tell = (event, fields, node = 1) => narrate({ ...base, node, event, fields });
  assert.equal(tell("LinkDelayed", { from: 1, to: 103, latency: "15000000" }, 0),
    "Messages from broker 1 to controller 103 now take 15 ms.");
  assert.equal(tell("IsrChanged", { topic: "orders", partition: 0, isr: [1, 3] }),
    "The ISR of orders-0 is now [1, 3].");
  assert.equal(tell("NodePaused", {}, 101), "Controller 101 stands still: it handles nothing.");
  const keyless = { topic: "orders", partition: 0, offset: "3", key: "", keyBytes: -1 };
  assert.equal(tell("RecordDescribed", keyless),
    "Offset 3 of orders-0 holds a record without a key.");
  assert.match(tell("FromTheFuture", {}), /FromTheFuture/);
  assert.match(ruleText({ rule: "hw.min-of-isr" }), /smallest log end offset/);
  assert.equal(ruleText({ rule: "" }), "");
});

test("names come from the state where it knows them", () => {
  const nameOf = namesOf({ nodes: [{ id: 101, role: "broker" }],
    clients: [{ connection: 1048576, clientId: "billing" }] });
  assert.equal(nameOf(101), "broker 101");
  assert.equal(nameOf(1048576), "billing");
  assert.equal(nameOf(-1), "nobody");
});

test("durations read as people write them", () => {
  assert.deepEqual(["0", "900", "1500", "15000000", "1500000000", "180000000000"].map(duration),
    ["0 ms", "900 ns", "1.5 µs", "15 ms", "1.5 s", "3 min"]);
});

test("one record is no records, and names stay as they are typed", () => {
  assert.match(narrate(appended(1)), /^Broker 1 appends 1 record to orders-0/);
  const created = { ...base, seq: "1", event: "TopicCreated", fields: { topic: "orders" } };
  assert.match(narrate(created), /^Topic orders /);
  const moved = { ...base, seq: "1", event: "PartitionChanged", fields: { topic: "orders",
    partition: 0, leader: 1, leaderEpoch: 0, isr: [1] } };
  assert.match(narrate(moved), /^orders-0: leader broker 1/);
});

/** A stand-in for the browser's WebSocket that the test feeds by hand. */
function fakeNetwork() {
  const net = { sockets: [], delays: [], pending: [] };
  net.Socket = class {
    constructor(url) {
      this.url = url;
      net.sockets.push(this);
    }
    close() {}
  };
  net.later = (f, ms) => {
    net.delays.push(ms);
    net.pending.push(f);
  };
  net.send = (frame) => net.sockets.at(-1).onmessage({ data: JSON.stringify(frame) });
  net.drop = () => net.sockets.at(-1).onclose({ reason: "gone" });
  net.wait = () => net.pending.shift()();
  return net;
}

function follow(net) {
  const seen = { seqs: [], gaps: [], status: [], state: null };
  seen.stream = connect({
    url: "ws://localhost/api/worlds/main/events", Socket: net.Socket, later: net.later,
    onSnapshot: (state) => { seen.state = state; },
    onEvents: (list) => seen.seqs.push(...list.map((e) => Number(e.seq))),
    onGap: (gap) => seen.gaps.push(gap),
    onStatus: (status) => seen.status.push(status),
  });
  return seen;
}

test("a stream that breaks goes on after the last event, none lost and none twice", () => {
  const net = fakeNetwork();
  const seen = follow(net);
  assert.equal(net.sockets[0].url, "ws://localhost/api/worlds/main/events");
  net.send({ type: "snapshot", run: "a", seq: "10", state: { seq: "10" } });
  net.send({ type: "events", events: events(11, 13) });
  net.drop();
  net.wait();
  assert.match(net.sockets[1].url, /from=13&run=a$/);
  net.send({ type: "events", events: events(12, 15) });
  assert.deepEqual(seen.seqs, [11, 12, 13, 14, 15]);
});

test("a hole in the stream makes the page ask again", () => {
  const net = fakeNetwork();
  const seen = follow(net);
  net.send({ type: "snapshot", run: "a", seq: "10", state: {} });
  net.send({ type: "events", events: events(13, 14) });
  net.wait();
  assert.match(net.sockets[1].url, /from=10/);
  assert.deepEqual(seen.seqs, []);
});

test("attempts to come back grow rarer and begin anew after success", () => {
  const net = fakeNetwork();
  const seen = follow(net);
  for (let i = 0; i < 7; i++) {
    net.drop();
    net.wait();
  }
  assert.deepEqual(net.delays, [250, 500, 1000, 2000, 4000, 8000, 8000]);
  net.send({ type: "snapshot", run: "a", seq: "1", state: {} });
  net.drop();
  assert.equal(net.delays.at(-1), 250);
  assert.equal(seen.status.at(-1), "reconnecting");
});

test("a closed stream stays closed and an old socket says nothing", () => {
  const net = fakeNetwork();
  const seen = follow(net);
  net.drop();
  seen.stream.close();
  net.wait();
  assert.equal(net.sockets.length, 1);
  net.send({ type: "snapshot", run: "a", seq: "1", state: { late: true } });
  assert.equal(seen.state, null);
});

const header = '{"highwater":"trace","version":1,"seed":"7","origin":"0","software":"x"}\n';

test("a trace file is read with its keyframe, and an error names its line", async () => {
  const body = events(4, 6).map((e) => JSON.stringify(e)).join("\n");
  const trace = await readTrace(`${header}{"keyframe":"3","state":{"seq":"3"}}\n${body}`);
  assert.equal(trace.header.seed, "7");
  assert.equal(trace.keyframe.seq, "3");
  assert.deepEqual(trace.events.map((e) => e.seq), ["4", "5", "6"]);
  await assert.rejects(readTrace(`${header}${body}\n{oops`), /^Error: line 5: /);
  await assert.rejects(readTrace("{}"), /^Error: line 1: this is no header of a Highwater trace/);
  await assert.rejects(readTrace(""), /^Error: line 1/);
});

test("a trace file's header is taken and refused as everybody else does", async () => {
  const text = await readFile(new URL("../../trace/testdata/headers.jsonl", import.meta.url), "utf8");
  for (const { refused, header: line } of text.trim().split("\n").map((each) => JSON.parse(each))) {
    const read = readTrace(`${JSON.stringify(line)}\n`);
    const why = await read.then(() => "", (problem) => problem.message);
    assert.ok(refused ? why.includes(refused) : why === "", `${JSON.stringify(line)}: ${why}`);
  }
});

test("film takes what happened before it and shows it as folding from the start does", () => {
  const film = createFilm({ every: 10 });
  film.snapshot(toJSON(stateAfter(60)));
  film.add(events(61, 80));
  assert.equal(film.prepend(stateAfter(20), events(21, 59)), false, "a hole before the film");
  assert.equal(film.prepend(stateAfter(20), events(21, 60)), true);
  assert.equal(film.first, 20);
  assert.equal(film.prepend(null, events(1, 20)), true);
  for (const seq of [0, 1, 20, 21, 45, 60, 61, 80]) {
    assert.deepEqual(film.stateAt(seq), stateAfter(seq), `at ${seq}`);
  }
  assert.equal(film.previous(61), 60);
  assert.equal(film.previous(1), null);
});

test("film keeps what was put in front while it grows", () => {
  const film = createFilm({ every: 10, keep: 50 });
  film.snapshot(toJSON(stateAfter(100)));
  film.prepend(null, events(1, 100));
  film.add(events(101, 140));
  assert.equal(film.first, 0);
  film.add(events(141, 600));
  assert.ok(film.first >= 400 && film.first <= 460, `first is ${film.first}`);
});

test("film closes a gap with the events that it lacks, and no others", () => {
  const film = createFilm({ every: 10 });
  film.add(events(1, 40));
  film.gap({ from: "41", to: "75", counts: {} });
  film.snapshot(toJSON(stateAfter(75)));
  film.add(events(76, 90));
  assert.deepEqual(film.stateAt(60), stateAfter(40), "a gap shows what was before it");
  assert.equal(film.fill(events(41, 74)), false);
  assert.equal(film.fill(events(41, 75)), true);
  assert.equal(film.gaps.length, 0);
  for (const seq of [40, 41, 59, 60, 75, 76, 90]) {
    assert.deepEqual(film.stateAt(seq), stateAfter(seq), `at ${seq}`);
  }
  assert.equal(film.next(40), 41);
});
