// Checks of who stands on the stage and of what became of records; the Go test runs it.

import assert from 'node:assert/strict';
import { flightOfMessage } from '../js/layout/flights.js';
import { stageGeometry } from '../js/layout/geometry.js';
import { offsetScale } from '../js/layout/scale.js';
import { entriesOf, messageOf, sceneOf } from '../js/layout/scene.js';
import { lanesIn, threadsOf } from '../js/layout/threads.js';
import { isPicked, meaningOf, readBelow, whereabouts } from '../js/layout/where.js';
import { nameOf } from '../js/view/tank.js';

const batch = (base, more) => ({
  baseOffset: String(base), lastOffset: String(base), records: 1, bytes: 80, epoch: 0,
  producerId: '1000', sequence: base, codec: 'none', control: false, transactional: true, ...more,
});
const log = (node, more) => ({
  node, logStartOffset: '0', leo: '5', hw: '5', lso: '3', synced: '0', cut: [],
  batches: [0, 1, 2, 3, 4].map((base) => batch(base, { control: base === 2 })),
  transactions: [
    { producerId: '1000', first: '0', last: '2', state: 'aborted' },
    { producerId: '1000', first: '3', last: '-1', state: 'open' },
  ],
  ...more,
});
const program = (node, name, role, more) => ({
  node, name, role, settings: '', alive: true, memory: '0', bufferMemory: '100', blocked: '',
  producerId: '-1', producerEpoch: -1, transaction: '', pending: 0, sent: 0, acknowledged: 0,
  failed: 0, unknown: 0, batches: [], lastError: '', group: '', state: '', polled: 0,
  partitions: [], ...more,
});
const part = (began, position, committed) => ({
  topic: 'orders', partition: 0, acknowledged: '-1', assigned: true, began, position, committed,
  read: [{ from: began, to: position }],
});
const own = { batch: '7', topic: 'orders', partition: 0, records: 2, bytes: 8192, state: 'buffered',
  to: -1 };
const shop = (change) => program(1002, 'shop', 'producer',
  { settings: 'acks=1 linger.ms=100', batches: [{ ...own, ...change }], acknowledged: 3, unknown: 1 });
const stateWith = (programs, leader) => ({
  nodes: [1, 2, 3].map((id) => ({ id, role: 'broker', alive: true }))
    .concat({ id: 1001, role: 'client', alive: true }),
  topics: [{ name: 'orders', partitions: [0, 1].map((partition) => ({
    partition, known: true, leader: 1, leaderEpoch: 0, replicas: [1], isr: [1], minIsr: 1,
    records: [], copies: partition ? [] : [log(1, leader)] })) }],
  programs,
});
const wanted = { topic: 'orders', partition: 0 };
const readers = [
  program(1003, 'audit', 'consumer', { partitions: [part('0', '5', '-1')] }),
  program(1004, 'billing', 'consumer', { group: 'bills', partitions: [part('0', '5', '5')] }),
  program(1005, 'ledger', 'consumer', { group: 'books', partitions: [part('0', '3', '-1')],
    settings: 'isolation.level=read_committed' }),
  program(1006, 'late', 'consumer', { alive: false, partitions: [part('0', '5', '-1')] }),
];
const scene = sceneOf(stateWith([shop(), ...readers]), wanted);

// A named producer stands before the page's own client; two readers have columns, and those are who
// lives and came last.
assert.deepEqual(scene.producers.map((each) => each.id), ['shop', 'built-in client']);
assert.deepEqual(scene.readers.map((each) => each.id), ['billing', 'ledger', 'audit', 'late']);
const asked = sceneOf(stateWith([shop(), ...readers]), { ...wanted, reader: 'audit' });
assert.deepEqual(asked.readers.slice(0, 2).map(({ id }) => id), ['audit', 'ledger'],
  'whoever was picked has a column');
const [maker] = scene.producers;
assert.deepEqual(maker.words, ['acks=1', 'linger 100ms']);
assert.equal(maker.lines, 1, 'that something is unknown takes a line of the card');
const wordy = shop();
wordy.settings += ' transactional.id=payments';
assert.equal(sceneOf(stateWith([wordy]), wanted).producers[0].lines, 2);
assert.deepEqual(maker.slots.shown.map((slot) => [slot.partition, slot.waiting.length]),
  [[0, 1], [1, 0]]);

// The record is at home in the accumulator until it is sent.
const follow = { ...wanted, offset: 4, epoch: 0, key: 'order-3', maker: { node: 1002, batch: '7' } };
const noteOf = (from, id, change) =>
  whereabouts(from, { ...follow, ...change }).find((station) => station.id === id);
assert.equal(noteOf(scene, 'sent').note, 'in the accumulator');
const former = stateWith([]);
former.topics[0].partitions.push({ ...former.topics[0].partitions[1], partition: 2, known: false });
former.topics[0].partitions.slice(0, 2).forEach((partition) => { partition.known = true; });
assert.deepEqual(sceneOf(former, wanted).focus.partitions, [0, 1], 'not those of a former topic');

const away = sceneOf(stateWith([shop({ state: 'sent', to: 1 }), ...readers]), wanted);
assert.equal(noteOf(away, 'sent').note, 'sent, no answer yet');
const produce = { message: '9', from: 1002, to: 1, api: 'Produce', answers: '0' };
assert.equal(flightOfMessage(away, messageOf(produce), follow).followed, true);
assert.equal(flightOfMessage(away, messageOf(produce), null).followed, false);

// What flies writes offsets as the stage does.
const pull = { message: '9', from: 2, to: 1, api: 'Fetch', answers: '0', topic: 'orders', partition: 0,
  offset: '10448', records: 0, highWatermark: '10440' };
assert.deepEqual([pull, { ...pull, answers: '8' }].map((message) =>
  flightOfMessage(away, messageOf(message), null).text), ['fetch from 10,448', 'HW 10,440']);

// Who read it, who committed it, and whom the open transaction keeps from it.
assert.equal(noteOf(asked, 'r-audit').note, 'read');
assert.equal(noteOf(scene, 'r-billing').note, 'committed by bills');
assert.equal(noteOf(scene, 'r-ledger').note, 'transaction open');
assert.equal(noteOf(scene, 'r-ledger', { offset: 1 }).note, 'passed over');
const beyond = readers.map((each) => (each.name === 'ledger'
  ? { ...each, partitions: [part('0', '3', '3')] } : each));
assert.equal(noteOf(sceneOf(stateWith([shop(), ...beyond]), wanted), 'r-ledger', { offset: 1 }).note,
  'passed over', 'a committed offset beyond an aborted record does not make it read');
assert.equal(noteOf(scene, 'committed', { offset: 1 }).note, 'aborted');
assert.equal(noteOf(scene, 'committed', { offset: 3 }).note, 'transaction open');

// What a group has committed since a member had its last record was not read by that member.
const out = readers.map((each) => (each.name === 'billing' ? { ...each,
  partitions: [{ ...part('0', '3', '5'), assigned: false }] } : each));
const left = sceneOf(stateWith([shop(), ...out]), wanted);
assert.equal(noteOf(left, 'r-billing').note, 'past it');
assert.equal(noteOf(left, 'r-billing', { offset: 0 }).note, 'committed by bills');

// Without a leader nobody knows up to where transactions have ended: what was read was read.
const headless = stateWith([shop(), ...readers], { transactions: [] });
headless.topics[0].partitions.forEach((partition) => {
  Object.assign(partition, { leader: null, committed: [{ epoch: 0, to: '5' }] });
});
assert.equal(noteOf(sceneOf(headless, wanted), 'r-ledger', { offset: 0 }).note, 'read, not committed');

// Threads: an aborted record knows its marker, and what is open at once lies side by side.
const copy = scene.focus.copies.get(1);
const cells = entriesOf(scene.focus, copy, 0, 5);
assert.deepEqual(cells.map((cell) => cell.thread?.state),
  ['aborted', 'aborted', 'aborted', 'open', 'open']);
assert.equal(scene.focus.lso, 3);
assert.equal(lanesIn(scene.focus, 0, 5), 1);
const together = threadsOf([
  { producerId: '1', first: '0', last: '-1', state: 'open' },
  { producerId: '2', first: '1', last: '4', state: 'committed' },
  { producerId: '3', first: '6', last: '8', state: 'committed' },
]);
assert.deepEqual(together.map((thread) => thread.lane), [0, 1, 1]);

// A reader's column has what it was given: no markers, and no aborted record where it reads what is
// committed only.
const named = { isNamed: true, read: [] };
const runsOf = (reader, end = 5) =>
  readBelow({ ...named, ...reader }, copy, end).map(({ from, to }) => `${from}-${to - 1}`).join();
assert.equal(runsOf({ began: 0, position: 5, isolation: '' }), '0-1,3-4');
assert.equal(runsOf({ began: 0, position: 5, isolation: 'read committed' }), '3-4');
assert.equal(runsOf({ began: 0, position: 3, isolation: 'read committed' }), '');
assert.equal(runsOf({ began: 1, position: 7, isolation: '' }, 6), '1-1,3-5',
  'nobody knows what became of the log above its end');
assert.deepEqual(readBelow({ ...named, position: 4 }, null, 9), [{ from: 0, to: 4 }]);
// Of one from outside only what it was sent is known, and markers lie in that, too.
const outside = { isNamed: false, position: 5, read: [{ from: 1, to: 3 }, { from: 4, to: 5 }] };
assert.equal(runsOf(outside), '1-1,4-4');
const holesInside = { ...copy, holes: [{ from: 0, to: 1 }, { from: 4, to: 5 }] };
assert.deepEqual(readBelow({ ...named, position: 5 }, holesInside, 5), [{ from: 1, to: 2 }, { from: 3, to: 4 }]);

// A marker in a log that has nothing of its transaction still says how that ended.
const strayed = sceneOf(stateWith([], { transactions: [
  { producerId: '1000', first: '2', last: '2', state: 'aborted' }] }), wanted);
assert.deepEqual(entriesOf(strayed.focus, strayed.focus.copies.get(1), 0, 5)
  .map((cell) => cell.thread?.state), [undefined, undefined, 'aborted', undefined, undefined]);

// A record that nobody described is named by its place in its batch.
const large = sceneOf(stateWith([], { leo: '34',
  batches: [batch(0), batch(1, { lastOffset: '31', records: 31 })] }), wanted);
assert.deepEqual(entriesOf(large.focus, large.focus.copies.get(1), 0, 4).map(nameOf),
  ['1 of 1', '1 of 31', '2 of 31', '3 of 31']);

// Compaction: no cell in a hole, and what lies above the last hole keeps its rows.
const holed = sceneOf(stateWith([], { holes: [{ from: '1', to: '4' }] }), wanted);
const kept = entriesOf(holed.focus, holed.focus.copies.get(1), 0, 5);
assert.deepEqual(kept.map((cell) => cell.offset), [0, 4]);
// After a restart of the program no event tells of the batches: the holes say which records are left.
const oldLog = { batches: [], transactions: [], leo: '11', holesFrom: '2',
  holes: [{ from: '2', to: '4' }, { from: '5', to: '9' }] };
const restarted = sceneOf(stateWith([], oldLog), wanted);
assert.deepEqual(entriesOf(restarted.focus, restarted.focus.copies.get(1), 0, 11)
  .map((cell) => cell.offset), [4, 9, 10], 'and nothing below what they tell of');

const tank = { height: 330, unit: 16, headroom: 4.1 };
const range = { start: 0, end: 183, isCompacted: true, holesTo: 177 };
assert.equal(offsetScale(range, tank).from, 177);

// What a fact means for the record that is followed.
const rise = { event: 'HighWatermarkMoved', node: 1,
  fields: { topic: 'orders', partition: 0, before: '4', after: '5' } };
assert.match(meaningOf(scene, rise, follow), /^order-3 .*open transaction/);
assert.equal(meaningOf(scene, rise, { ...follow, offset: 2 }), '');

// More producers than fit: cards become lines, then the rest stands behind a menu; none overlaps.
for (const [count, lines] of [[1, 0], [3, 2], [9, 0], [40, 1]]) {
  const producers = Array.from({ length: count }, (_, i) =>
    ({ id: `p${i}`, isNamed: true, lines: i ? 0 : lines }));
  const { producers: area } = stageGeometry({ width: 1032, height: 480, unit: 16, narrow: false,
    producers, hasForm: true, brokers: [1, 2, 3], controllers: [101], readers: [], pipes: 0 });
  assert.equal(area.rows.length + area.hidden, count);
  assert.ok(area.rows[0].isCard, 'the first keeps its card');
  assert.equal(area.hidden > 0, count > 3, 'lines make room before anybody is hidden');
  area.rows.slice(1).forEach((row, i) => {
    assert.ok(row.top >= area.rows[i].top + area.rows[i].height);
  });
  assert.equal(area.rows[0].height, (8.2 + lines) * 16, 'a card is as high as its lines');
  assert.ok(area.rest <= 480 - 12.4 * 16, `${count} producers stay above the form`);
}

// A client of the cluster keeps what it was given when compaction takes it from the log.
const given = { isNamed: true, began: 1, position: 3, read: [{ from: 0, to: 1 }, { from: 2, to: 9 }] };
assert.equal(runsOf(given), '0-0,2-4');
assert.deepEqual(readBelow(given, { ...holesInside, start: 1 }, 5), [{ from: 2, to: 5 }]);

// The picked record is the followed one on whichever broker, and no other one at its offset.
const chosen = (epoch) => isPicked(scene, { select: { node: 2, offset: 1, epoch },
  follow: { topic: 'orders', topicId: '', partition: 0, offset: 1, epoch: 0 } });
assert.deepEqual([0, 1].map(chosen), [true, false]);

// Signs at the ruler have room for their offsets, so that none lies over whoever writes.
const rulerOf = (digits) => stageGeometry({ width: 1032, height: 480, unit: 16, narrow: false,
  producers: [], hasForm: true, brokers: [1, 2, 3], controllers: [101], readers: [], pipes: 0,
  digits }).ruler;
assert.equal(rulerOf(1).width, rulerOf(3).width);
assert.ok(rulerOf(9).width > 9 * 0.55 * 16 + 16);
