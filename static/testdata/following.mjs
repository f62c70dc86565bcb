// Checks of following a record: it is that very one, and no other at its place; the Go test runs it.

import assert from 'node:assert/strict';
import { flightOfMessage } from '../js/layout/flights.js';
import { isOf, messageOf, sceneOf } from '../js/layout/scene.js';
import { spacetime, windowOf } from '../js/layout/spacetime.js';
import { fateOfTopic, meaningOf, whereabouts, whyNotYet } from '../js/layout/where.js';
import { apply, create } from '../js/model/state.js';

const batch = (base, epoch) => ({ baseOffset: String(base), lastOffset: String(base), records: 1,
  bytes: 80, epoch, producerId: '1', sequence: base, codec: 'none', control: false });
const log = (node, epoch, more) => ({ node, logStartOffset: '0', leo: '3', hw: '3', lso: '3',
  epochs: [{ epoch: 0, startOffset: '0' }, { epoch, startOffset: '2' }].slice(epoch ? 0 : 1),
  synced: '0', cut: [], batches: [batch(0, 0), batch(1, 0), batch(2, epoch)], ...more });
const record = (offset, epoch, key) => ({ offset: String(offset), epoch, key, value: key });
const reader = (name, more) => ({ node: 1004, name, role: 'consumer', settings: '', alive: true,
  group: '', polled: 0, partitions: [{ topic: 'orders', partition: 0, acknowledged: '-1',
    assigned: true, began: '0', position: '3', committed: '-1', ...more }] });
const shop = { node: 1002, name: 'shop', role: 'producer', settings: '', alive: true, memory: '0',
  bufferMemory: '9', producerId: '1', sent: 0, acknowledged: 2, failed: 0, unknown: 1, batches: [],
  partitions: [{ topic: 'orders', partition: 0, acknowledged: '7', assigned: false, began: '-1',
    position: '-1', committed: '-1' }] };
const stateWith = (more, topic) => ({
  seq: '900',
  nodes: [1, 2, 3].map((id) => ({ id, role: 'broker', alive: true })),
  topics: [{ name: 'orders', topicId: 'first', partitions: [{ partition: 0, known: true, leader: 2,
    leaderEpoch: 1, replicas: [1, 2, 3], isr: [2, 3], minIsr: 1, described: 4,
    records: [record(0, 0, 'order-1'), record(1, 0, 'order-2'), record(2, 0, 'order-3'),
      record(2, 1, 'order-4')],
    copies: [log(1, 1, { cut: [batch(2, 0)] }), log(2, 1), log(3, 1)] }], ...topic }],
  programs: [shop, reader('billing')],
  ...more,
});
const wanted = { topic: 'orders', partition: 0 };
const scene = sceneOf(stateWith(), wanted);
const lost = { ...wanted, topicId: 'first', offset: 2, epoch: 0, key: 'order-3', seq: 664,
  maker: { node: 1002, batch: '442' } };
const kept = { ...lost, epoch: 1, key: 'order-4', maker: null };

// A message carries the record that its sender's log has, and not another one of that offset.
const carry = (from, offset, records) => messageOf({ message: '9', from, to: 3, api: 'Fetch',
  answers: '8', topic: 'orders', partition: 0, offset: String(offset), records, highWatermark: '2' });
for (const [offset, records] of [[2, 1], [0, 3]]) {
  assert.equal(flightOfMessage(scene, carry(2, offset, records), lost).followed, false);
  assert.equal(flightOfMessage(scene, carry(2, offset, records), kept).followed, true);
}
const before = sceneOf(stateWith({}, { partitions: [{ ...stateWith().topics[0].partitions[0],
  copies: [log(1, 0), log(2, 0, { leo: '2' })] }] }), wanted);
const sent = flightOfMessage(before, carry(1, 2, 1), lost);
assert.deepEqual([sent.followed, sent.chips], [true, ['order-3']]);

// In the diagram it is the record that the log had when the message left.
const happened = [
  { event: 'BatchAppended', seq: '640', at: '1', node: 1,
    fields: { ...wanted, baseOffset: '2', lastOffset: '2', leaderEpoch: 0, records: 1 } },
  { event: 'MessageSent', seq: '650', at: '2', node: 1,
    fields: { ...carry(1, 2, 1), message: '11', answers: '8', highWatermark: '2', idle: false } },
  { event: 'MessageSent', seq: '850', at: '3', node: 2,
    fields: { ...carry(2, 2, 1), message: '12', answers: '8', highWatermark: '2', idle: false } },
];
const { arrows } = spacetime(scene, happened, 900, lost);
assert.deepEqual(arrows.map(({ followed }) => followed), [true, false]);
assert.match(arrows[0].text, /order-3/);

// Its stations: what its sender believes of its own batch, and who can read it no more.
const station = (from, follow, id, belief) =>
  whereabouts(from, follow, belief).find((each) => each.id === id);
assert.equal(station(scene, lost, 'sent', 'unknown').note, 'unknown to it');
assert.equal(station(scene, lost, 'sent', 'acknowledged').note, 'acknowledged');
assert.equal(station(scene, lost, 'sent').note, 'offset 2', 'a later acknowledgement is not its own');
assert.deepEqual(station(scene, lost, 'r-billing').status, 'gone');
assert.equal(station(scene, lost, 'r-billing').note, 'lost');

// Without a leader, too: one log has it still, but a later epoch's record at its place was committed.
const leaderless = sceneOf(stateWith({}, { partitions: [{ ...stateWith().topics[0].partitions[0],
  leader: -1, leaderEpoch: 2, copies: [log(1, 0), log(2, 1), log(3, 1)] }] }), wanted);
assert.deepEqual(['committed', 'r-billing'].map((id) => station(leaderless, lost, id).note),
  ['lost', 'lost']);
assert.equal(station(leaderless, { ...lost, offset: 1 }, 'committed').note, 'no leader');
assert.equal(station(scene, kept, 'r-billing').note, 'read');

// What was committed is lost as soon as one leads who lacks it, whoever holds it still.
const lacking = sceneOf(stateWith({}, { partitions: [{ ...stateWith().topics[0].partitions[0],
  leader: 3, leaderEpoch: 2, committed: [{ epoch: 0, to: '2' }, { epoch: 1, to: '3' }],
  copies: [log(1, 0), log(2, 1), log(3, 0, { leo: '2', hw: '2', batches: [batch(0, 0)] })] }] }),
wanted);
assert.equal(station(lacking, kept, 'committed').note, 'lost');
assert.match(whyNotYet(lacking, kept), /was committed, but broker 3, .* does not have it/);
// Before it was sent, nobody had sent it: the page has stepped back.
const earlier = sceneOf(stateWith({ seq: '600' }, { partitions: [{
  ...stateWith().topics[0].partitions[0], leader: -1, leaderEpoch: 2,
  copies: [1, 2, 3].map((id) => log(id, 0, { leo: '2', hw: '2', batches: [batch(0, 0)] })) }] }),
wanted);
assert.equal(station(earlier, { ...kept, seq: 664 }, 'sent').note, 'not yet');
assert.equal(whyNotYet(earlier, { ...kept, seq: 664 }), '');
// What is lost stays so when who lacks it is gone, too, and nobody leads.
const gone = sceneOf(stateWith({}, { partitions: [{ ...stateWith().topics[0].partitions[0],
  leader: -1, leaderEpoch: 3, committed: [{ epoch: 0, to: '2' }, { epoch: 1, to: '3' }],
  copies: [log(1, 0), log(2, 1), log(3, 0, { leo: '2', hw: '2', batches: [batch(0, 0)],
    epochs: [{ epoch: 0, startOffset: '0' }, { epoch: 2, startOffset: '2' }] })] }] }), wanted);
assert.equal(station(gone, kept, 'committed').note, 'lost');
const late = sceneOf(stateWith({ programs: [reader('late', { began: '3' })] }), wanted);
assert.deepEqual(station(late, kept, 'r-late').note, 'reads from 3');

// A reader that is gone had read it all the same, and what its group committed stays so.
const former = { began: '-1', position: '-1', former: [{ from: '0', to: '3' }] };
const ended = (more, change) => sceneOf(stateWith({ nodes: [1, 2, 3, 1004].map((id) => (
  { id, role: 'broker', alive: id < 4, stopped: 'kill' })),
programs: [{ ...reader('shipping', { ...former, ...more }), alive: false, ...change }] }), wanted);
assert.deepEqual(station(ended(), kept, 'r-shipping'), { id: 'r-shipping',
  label: 'read by shipping', status: 'here', note: 'read, then killed' });
assert.equal(station(ended({}, { alive: true }), kept, 'r-shipping').note, 'read before restart');
assert.equal(station(ended({ former: [{ from: '0', to: '2' }], committed: '1' }), kept,
  'r-shipping').note, 'not yet');
assert.equal(station(ended({ committed: '3' }, { group: 'shipping' }), kept, 'r-shipping').note,
  'committed');
const readsAgain = ended({ began: '1', position: '3' }, { alive: true });
assert.equal(station(readsAgain, kept, 'r-shipping').note, 'read');

// A high watermark that passes the other record tells nothing of this one.
const rise = { event: 'HighWatermarkMoved', node: 3, fields: { ...wanted, before: '2', after: '3' } };
assert.equal(meaningOf(scene, rise, lost), '');
assert.match(meaningOf(scene, rise, kept), /^Now broker 3 knows/);

// A topic that is made again under its name is another one.
const again = sceneOf(stateWith({}, { topicId: 'second' }), wanted);
assert.equal(isOf(again.focus, kept), false);
assert.equal(fateOfTopic(again, kept), 'gone');
assert.deepEqual(whereabouts(again, kept).map(({ status, note }) => [status, note]),
  [['gone', 'deleted']]);
assert.equal(meaningOf(again, rise, kept), '');
assert.equal(flightOfMessage(again, carry(2, 2, 1), kept).followed, false);
const none = sceneOf(stateWith({ seq: '5' }, { deleted: true }), wanted);
assert.equal(whereabouts(none, kept)[0].note, 'not yet', 'before it was made');
assert.equal(whereabouts(sceneOf(stateWith({}, { deleted: true }), wanted), kept)[0].note, 'deleted');

// How a lesson's cluster started is in the diagram only where somebody looks at it.
const film = { first: 0, last: 900 };
assert.deepEqual(windowOf(film, 500, 500), { from: 501, to: 900 });
assert.deepEqual(windowOf(film, 499, 500), { from: 1, to: 900 });
assert.deepEqual(windowOf(film, 500, 0), { from: 1, to: 900 });

// A trace of a version before the epochs and holes of an opened log were told still folds.
const early = create();
const opened = { topic: 'orders', partition: 0, logStartOffset: '0', logEndOffset: '3',
  highWatermark: '3', segments: 1, bytes: '240', truncatedBytes: '0', clean: true, leaderEpoch: 1 };
apply(early, { seq: '1', at: '0', node: 1, event: 'LogOpened', rule: '', fields: opened });
assert.equal(early.topics[0].partitions[0].copies[0].leo, '3');
