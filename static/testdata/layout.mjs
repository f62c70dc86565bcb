// Checks of the pure layout modules; the Go test of this folder runs it.

import assert from 'node:assert/strict';
import { arc, stageGeometry } from '../js/layout/geometry.js';
import { aggregate, flightOfClient } from '../js/layout/flights.js';
import { besideFold, foldOf, keptWords } from '../js/layout/fold.js';
import { offsetScale } from '../js/layout/scale.js';
import { entriesOf, sceneOf } from '../js/layout/scene.js';
import { whereabouts, whyNotYet } from '../js/layout/where.js';

const tank = { height: 300, unit: 16, headroom: 4 };

// Equal offsets lie on one line, and every offset is above the one before.
for (const end of [0, 1, 5, 40, 100_000]) {
  const scale = offsetScale({ start: 0, end }, tank);
  for (let offset = Math.max(1, end - 60); offset <= end; offset += 1) {
    assert.ok(scale.y(offset) > scale.y(offset - 1), `offset ${offset} of ${end}`);
  }
  assert.ok(scale.y(end) <= tank.height - 0.5 * tank.headroom * tank.unit, `end ${end}`);
  assert.equal(scale.y(0), 0);
}
assert.equal(offsetScale({ start: 0, end: 3 }, tank).fold, null);
assert.deepEqual(offsetScale({ start: 10, end: 90 }, tank).fold.from, 10);

// Where a cut took more than fits, the rows are for what the logs still hold, and for the lowest of
// what was cut where that is known; else nothing would be drawn at all.
const afterCut = { start: 0, end: 303, live: 3 };
assert.deepEqual([offsetScale(afterCut, tank)].map(({ from, to, fold }) => [from, to, fold]),
  [[0, 3, null]]);
assert.equal(offsetScale({ ...afterCut, cutFrom: 3 }, tank).to, 6);
assert.equal(offsetScale({ ...afterCut, cutFrom: 290 }, tank).to, 3);
assert.equal(offsetScale({ start: 0, end: 5, live: 3, cutFrom: 3 }, tank).to, 5, 'all of it fits');
const longCut = offsetScale({ start: 0, end: 1300, live: 1000, cutFrom: 1000 }, tank);
assert.ok(longCut.from < 1000 && longCut.to === 1003);

// Columns stand side by side and links end above the logs.
const stage = {
  width: 1032, height: 500, unit: 16, narrow: false,
  producers: [{ id: 'checkout', isNamed: false }], hasForm: true, brokers: [1, 2, 3], controllers: [101, 102, 103],
  readers: ['billing', 'shipping', 'third'], pipes: 2,
};
const geometry = stageGeometry(stage);
const [one, two, three] = [1, 2, 3].map((id) => geometry.columns[id]);
assert.ok(one.x + one.width <= two.x && two.x + two.width <= three.x);
assert.ok(geometry.columns['reader billing'].x >= three.x + three.width);
assert.ok(arc(geometry, 1, 3).at(0.5).y < geometry.tank.top);
assert.ok(arc(geometry, 1, 3).at(0.5).y < arc(geometry, 1, 2).at(0.5).y, 'longer links rise higher');
assert.ok(arc(geometry, 1, 101).at(0.5).y > geometry.floor, 'controllers are linked below');

for (const unit of [15.5, 16, 17]) {
  const { floor, tank: { top } } = stageGeometry({ ...stage, unit });
  assert.deepEqual([floor % 1, top % 1], [0, 0], 'the sea ends at a whole pixel');
}

// More tokens than can be told apart become one a link, and none is forgotten.
const flights = Array.from({ length: 90 }, (_, i) => ({
  flight: { id: `m${i}`, from: 1, to: 2 + (i % 2), kind: 'ask', count: 1 }, progress: i / 90,
}));
const merged = aggregate(flights);
assert.equal(merged.length, 2);
assert.equal(merged.reduce((sum, { flight }) => sum + flight.count, 0), 90);

// A scene from a state: who leads, what is committed, where two histories differ.
const batch = (base, epoch) => ({
  baseOffset: String(base), lastOffset: String(base), records: 1, bytes: 80, epoch,
  producerId: '-1', sequence: -1, codec: 'none', control: false,
});
const copy = (node, hw, batches, more) => ({
  node, role: 'follower', logStartOffset: '0', leo: String(batches.length), hw: String(hw),
  synced: '0', isr: [], followers: [], epochs: [], segments: ['0'], batches, cut: [], ...more,
});
const broker = (id, more) => ({ id, role: 'broker', alive: true, registered: true, ...more });
const state = {
  seq: '7', at: '1000', nodes: [broker(1, { alive: false, stopped: 'kill' }), broker(2), broker(3)],
  links: [{ from: 2, to: 3, cut: true }],
  topics: [{
    name: 'orders',
    partitions: [{
      partition: 0, known: true, leader: 2, leaderEpoch: 5, partitionEpoch: 1,
      replicas: [1, 2, 3], isr: [2, 3], elr: [], minIsr: 2,
      records: [{ offset: '1', epoch: 5, key: 'order-6', value: '{}', timestamp: '0' }],
      copies: [
        copy(1, 1, [batch(0, 4), batch(1, 4)]),
        copy(2, 2, [batch(0, 4), batch(1, 5)], { role: 'leader', followers: [{ node: 3, leo: '2' }] }),
        copy(3, 1, [batch(0, 4), batch(1, 5)], { leader: 2 }),
      ],
    }],
  }],
  // Its last fetch names another partition; it asks for this one, too.
  deliveries: [{ client: 'billing', topic: 'orders', partition: 0, runs: [{ from: '0', to: '2' }] }],
  asks: [{ by: 1048585, node: 2, topic: 'orders', partition: 0, offset: '2' },
    { by: 1048585, node: 2, topic: 'pay', partition: 0, offset: '7' }],
  waits: [['fetch', 1048585, 2], ['follower-fetch', 3, 2], ['fetch', 8, 2], ['produce', 8, 2]].map(
    ([what, from, node], wait) => ({ wait: String(wait), node, what, for: from, topic: 'pay',
      partition: 0, needs: '8', due: '0' })),
  clients: [
    { connection: 1048585, node: 2, clientId: 'billing', requests: { Fetch: 3 }, open: 1,
      lastRequest: { api: 'Fetch', topic: 'pay', partition: 0, offset: '7', at: '9' } },
    { connection: 8, node: 2, clientId: 'checkout', requests: { Produce: 3 }, open: 0 },
  ],
};
const scene = sceneOf(state, { topic: 'orders', partition: 0 });
assert.equal(scene.focus.leader, 2);
assert.equal(scene.focus.hw, 2);
assert.equal(scene.brokers[0].verdict, 'dead');
assert.deepEqual(scene.readers.map((reader) => [reader.id, reader.position]), [['billing', 2]]);
assert.deepEqual(scene.producers.map((producer) => producer.id), ['checkout']);
const askOf = (topic, node) => flightOfClient(scene, { event: 'RequestReceived', node,
  fields: { connection: 1048585, request: '1', api: 'Fetch', topic, partition: 0, offset: '7' } }).text;
assert.deepEqual([askOf('', 2), askOf('pay', 2), askOf('pay', 3)],
  ['fetch from 2', 'fetch from 2', 'fetch']);
assert.deepEqual(scene.waits.map((wait) => wait.isHere), [true, true, false, false]);
assert.equal(scene.vitals.underReplicated, 1);
const cells = entriesOf(scene.focus, scene.focus.copies.get(2), 0, 2);
assert.deepEqual(cells.map((cell) => cell.key), ['', 'order-6']);
assert.equal(entriesOf(scene.focus, scene.focus.copies.get(1), 1, 2)[0].key, '');

// The stations of a record that the new leader wrote, and of the one that it replaced.
const follow = { topic: 'orders', partition: 0, offset: 1, epoch: 5, key: 'order-6' };
const statusOf = (wanted) =>
  Object.fromEntries(whereabouts(scene, wanted).map((station) => [station.id, station.status]));
assert.deepEqual(statusOf(follow), {
  sent: 'past', b2: 'here', b1: 'gone', b3: 'here', committed: 'here', 'r-billing': 'here',
});
// What lay there before it began to read, it was not sent.
const late = sceneOf({ ...state, deliveries: [{ ...state.deliveries[0], runs: [] }] },
  { topic: 'orders', partition: 0 });
assert.deepEqual(whereabouts(late, follow).find(({ id }) => id === 'r-billing'),
  { id: 'r-billing', label: 'read by billing', status: 'gone', note: 'reads from 2' });
const gone = sceneOf({ ...state, clients: [] }, { topic: 'orders', partition: 0 });
assert.deepEqual(whereabouts(gone, follow).filter(({ label }) => label.startsWith('read')),
  [{ id: 'l-billing', label: 'read by billing', status: 'here', note: 'and left' }]);
assert.equal(statusOf({ ...follow, epoch: 4 }).committed, 'gone');
assert.equal(statusOf({ ...follow, epoch: 4 }).b1, 'hidden');

// What no event of this run told of may be a marker, or aborted: it is not said to be committed.
// Of a batch that is no longer kept it is known, unless a transaction may have been around it.
const open = { producerId: '7', first: '0', last: '-1', state: 'open' };
// What a reader was given is no marker, and with read_committed it was not aborted.
const run = { from: '1', to: '2' };
for (const [knownFrom, transactions, says, told] of [
  ['2', [], 'below HW 2'], ['0', [], 'HW 2'], ['0', [open], 'below HW 2'],
  ['2', [], 'HW 2, aborted?', { given: [run] }], ['2', [], 'HW 2', { given: [run], assured: [run] }],
  ['2', [], 'below HW 2', { given: [{ from: '0', to: '1' }] }],
]) {
  const copies = [2, 3].map((id) => copy(id, 2, [],
    { leo: '2', epochs: [{ epoch: 4, startOffset: '0' }], knownFrom, transactions }));
  const [partition] = state.topics[0].partitions;
  const partitions = [{ ...partition, copies, ...told }];
  const old = sceneOf({ ...state, topics: [{ name: 'orders', partitions }] }, follow);
  const { status, note } = whereabouts(old, { ...follow, epoch: 4 })
    .find(({ id }) => id === 'committed');
  assert.deepEqual([status, note], [says === 'HW 2' ? 'here' : 'ahead', says]);
}

// A dead process leaves its page cache. Without power it is lost, and until its log is open again
// nobody knows what the broker has; what was synced it has.
for (const [alive, unpowered, synced, says] of [[false, false, '1', 'hidden page cache'],
  [false, true, '1', 'hidden unsynced: lost?'], [true, true, '1', 'hidden unsynced: lost?'],
  [true, true, '2', 'here on disk'], [true, false, '1', 'here page cache']]) {
  const nodes = [broker(1), broker(2), broker(3, { alive })];
  const [first, second, third] = state.topics[0].partitions[0].copies;
  const copies = [first, second, { ...third, unpowered, synced }];
  const partition = { ...state.topics[0].partitions[0], copies };
  const { status, note } = whereabouts(sceneOf({ ...state, nodes,
    topics: [{ name: 'orders', partitions: [partition] }] }, follow), follow)
    .find(({ id }) => id === 'b3');
  assert.equal(`${status} ${note}`, says);
}

// A record that some logs had before the first event is no new one where it was fetched after that.
{
  const had = { leo: '2', epochs: [{ epoch: 4, startOffset: '0' }] };
  const copies = [copy(1, 2, [batch(1, 4)], had), copy(2, 2, [], had)];
  const partition = { ...state.topics[0].partitions[0], copies };
  const { focus } = sceneOf({ ...state, topics: [{ name: 'orders', partitions: [partition] }] }, follow);
  const isEarlier = [1, 2].map((id) => entriesOf(focus, focus.copies.get(id), 1, 2)[0].isEarlier);
  assert.deepEqual(isEarlier, [true, true]);
}

// What was cut off is so for ever, and shown as fallen until something is appended.
const cutAt = (batches) => ({
  cut: [batch(1, 4)], truncation: { before: '2', after: '1', batches: 2 }, totals: { batches },
});
for (const [batches, shown] of [[2, 1], [3, 0]]) {
  const [, second, third] = state.topics[0].partitions[0].copies;
  const kept = [copy(1, 1, [batch(0, 4)], cutAt(batches)), second, third];
  const partition = { ...state.topics[0].partitions[0], copies: kept };
  const cutScene = sceneOf({ ...state, topics: [{ name: 'orders', partitions: [partition] }] }, follow);
  const stations = whereabouts(cutScene, { ...follow, epoch: 4 });
  assert.equal(stations.find(({ id }) => id === 'b1').note, 'cut off');
  assert.equal(stations.find(({ id }) => id === 'committed').note, 'lost');
  assert.equal(cutScene.focus.copies.get(1).cut.length, shown);
}

// Why a record is not committed: somebody lacks it, too few are in sync, nobody told the leader.
const later = (change) => {
  const partition = { ...state.topics[0].partitions[0], ...change };
  return sceneOf({ ...state, topics: [{ name: 'orders', partitions: [partition] }] }, follow);
};
const fresh = [batch(0, 4), batch(1, 5)];
const copies = (third) => [copy(2, 1, fresh), copy(3, 1, fresh.slice(0, third))];
assert.equal(whyNotYet(scene, follow), '');
assert.match(whyNotYet(later({ copies: copies(1) }), follow), /broker 3 is in sync and must fetch/);
assert.match(whyNotYet(later({ copies: copies(2) }), follow), /on every in-sync replica/);
assert.match(whyNotYet(later({ copies: copies(2), isr: [2] }), follow), /1 in sync, 2 are needed/);
assert.match(whyNotYet(later({ copies: copies(2), leader: -1 }), follow), /has no leader/);

// An empty state is a scene too: the page shows that there is nothing yet.
const nothing = sceneOf({}, { topic: null, partition: 0 });
assert.equal(nothing.focus, null);
assert.equal(nothing.seq, 0);

// A fold with holes tells which offsets still hold a record, in one plate; a hole has a plate of its
// own only above it, or where the fold keeps nothing.
const compacted = { start: 0, leo: 16, holesFrom: 0, holes: [{ from: 0, to: 4 }, { from: 5, to: 8 },
  { from: 9, to: 11 }, { from: 12, to: 15 }] };
const sieve = foldOf(compacted, { from: 0, to: 13 });
assert.deepEqual(sieve.kept, [{ from: 4, to: 5 }, { from: 8, to: 9 }, { from: 11, to: 12 }]);
assert.equal(keptWords(sieve, 20), '4, 8, 11');
assert.equal(keptWords(sieve, 7), '');
assert.equal(keptWords(foldOf({ ...compacted, holesFrom: 5 }, { from: 0, to: 13 }), 20), '',
  'below the holes that were told nobody knows');
assert.equal(keptWords(foldOf({ ...compacted, holes: [{ from: 2, to: 4 }] },
  { from: 0, to: 9 }), 20), '0, 1, 4–8');
const drawn = (holes, fold) => holes.map((hole) => besideFold(hole, fold))
  .filter(({ from, to }) => from < to);
assert.deepEqual(drawn(compacted.holes, sieve), [{ from: 13, to: 15 }]);
assert.deepEqual(drawn(compacted.holes, foldOf(compacted, { from: 0, to: 3 })), compacted.holes);
assert.equal(foldOf(compacted, { from: 0, to: 3 }).count, 0);
assert.equal(foldOf({ ...compacted, start: 13 }, { from: 0, to: 13 }), null);
