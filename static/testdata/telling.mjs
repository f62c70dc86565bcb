// Checks of what the caption and the list of events say; the Go test runs it.

import assert from 'node:assert/strict';
import { narrate } from '../js/model/narrate.js';
import { asides, isNewsAt, itemOf, joins, mostTelling, placesIn, turnsOf } from '../js/ui/telling.js';

const event = (seq, kind, fields = {}, rule = '') =>
  ({ seq: String(seq), node: 1, event: kind, fields, rule });
const orders = { topic: 'orders', partition: 0 };
const rise = event(5, 'HighWatermarkMoved', { ...orders, before: '1', after: '2' }, 'hw.min-of-isr');
const heard = event(6, 'HighWatermarkMoved', { ...orders, before: '1', after: '2' });
const own = event(7, 'HighWatermarkMoved', { ...orders, topic: '__consumer_offsets' }, 'hw.min-of-isr');
const command = event(8, 'CommandRan', { command: 'expect hw("orders-0") == 2', by: 'scenario' });

// Sentences write offsets and counts of records as the stage does, and are found either way.
const far = { ...rise, fields: { ...orders, before: '999', after: '1001' } };
assert.match(narrate(far), / from 999 to 1,001\.$/);
const many = { ...orders, records: 1200, baseOffset: '4030201', leaderEpoch: 1000 };
assert.match(narrate(event(9, 'BatchAppended', many)), /1,200 records .* offset 4,030,201\.$/);
assert.match(narrate(event(9, 'RecordDescribed', { ...orders, offset: '1001', keyBytes: 4,
  key: '1001' })), /^Offset 1,001 .* holds 1001\.$/);
for (const word of ['1001', '1,001']) assert.ok(itemOf(far, [word], String));
assert.equal(itemOf(far, ['01,001'], String), null);

// Of a step the leader's high watermark is told, whatever came after it, and never the command.
assert.equal(mostTelling([command, own, heard, rise], 4), rise);
// A step in which nothing happened tells what the one before it told.
const began = (seq) => ({ ...command, seq: String(seq) });
assert.equal(mostTelling([command, heard, began(5), rise, began(4)], 8), heard);
assert.equal(mostTelling([command, began(7), heard, rise, began(4)], 8), rise);
const elected = event(5, 'BecameLeader', { ...orders, leaderEpoch: 1 });
assert.equal(mostTelling([{ ...rise, seq: '6' }, elected, began(4)], 4, undefined, orders), elected);
const active = event(5, 'ControllerRoleChanged', { after: 'leader' });
assert.equal(mostTelling([heard, active, began(4)], 4, undefined, orders), active);
const fallen = event(5, 'LogTruncated', { ...orders, before: '2', after: '1' });
assert.equal(mostTelling([event(6, 'IsrChanged', orders), fallen, began(4)], 4), fallen);
assert.equal(mostTelling([], 0), null);

const compacted = event(5, 'CleanerPassEnded', orders);
assert.equal(mostTelling([heard, compacted], 4), compacted);
// Of things that tell as much, what happened to the topic on the stage is told; and a step without
// news leaves what was told of that topic before.
const gone = (seq, topic, partition = 0) => event(seq, 'SegmentDeleted', { topic, partition });
const at = (topic, partition = 0) => ({ topic, partition });
const [mixed, rolled] = [gone(9, 'mixed'), gone(10, 'rolled')];
assert.equal(mostTelling([rolled, mixed], 9, undefined, at('mixed')), mixed);
assert.equal(mostTelling([rolled, mixed], 9, undefined, at('rolled')), rolled);
assert.equal(mostTelling([{ ...command, seq: '11' }, rolled, mixed], 11, undefined, at('mixed')),
  mixed);
const next = gone(10, 'mixed', 1);
assert.equal(mostTelling([next, mixed], 9, undefined, at('mixed')), mixed);
assert.equal(mostTelling([next, mixed], 9, undefined, at('mixed', 1)), next);
// However much it is, what rose elsewhere is not told over the partition on the stage.
const beside0 = event(12, 'HighWatermarkMoved', { ...at('once'), before: '0', after: '1' },
  'hw.min-of-isr');
const isr = event(13, 'IsrChanged', at('mixed'));
assert.equal(mostTelling([isr, beside0], 12, undefined, at('mixed')), isr);
assert.equal(mostTelling([beside0, mixed], 12, undefined, at('mixed')), mixed);
assert.equal(mostTelling([beside0], 12, undefined, at('mixed')), beside0);
// Who calls itself what is news of clients from outside; the others were named when they began.
const called = (connection) => event(6, 'ClientIdentified', { connection, clientId: 'shop' });
assert.ok(isNewsAt(called(1 << 20), null));
assert.ok(!isNewsAt(called(1002), null));

// A topic that is deleted has left the stage, and what turned before it is no news beside that.
const killed = event(3, 'NodeStopped', { how: 'kill' });
const deleted = event(6, 'TopicDeleted', { topic: 'drafts' });
assert.equal(mostTelling([deleted, began(5), killed, began(2)], 5, undefined, at('notes')), deleted);
assert.equal(mostTelling([began(8), deleted, began(5), killed], 8, undefined, at('notes')), deleted);
const aborted = event(15, 'TransactionStateChanged', { after: 'CompleteAbort' });
assert.equal(mostTelling([aborted, { ...rise, seq: '14' }], 14, undefined, orders), aborted);
assert.equal(mostTelling([event(14, 'ClientIdentified'), mixed], 14, undefined, at('mixed')), mixed);
const made = event(11, 'TopicCreated', { topic: 'mixed' });
assert.equal(mostTelling([made, next], 9, undefined, at('mixed', 1)), next);

// While everything runs the caption stays with the partition on the stage; elsewhere only a new
// leader is news, and what is of no topic.
const news = (kind, fields) => isNewsAt(event(12, kind, fields), at('orders'));
const [other, beside] = [at('audit'), at('orders', 7)];
assert.deepEqual([orders, beside, other].map((where) => news('HighWatermarkMoved', where)),
  [true, false, false]);
assert.deepEqual([orders, beside, other].map((where) => news('FollowerDiverged', where)),
  [true, false, false]);
assert.equal(news('IsrChanged', other), false);
assert.equal(news('BecameLeader', { ...other, leaderEpoch: 3 }), true);
assert.equal(news('BecameLeader', { ...other, leaderEpoch: 0 }), false, 'a new topic is no turn');
assert.equal(news('NodeStopped', { how: 'kill' }), true);
assert.equal(news('BecameLeader', { topic: '__consumer_offsets', partition: 0, leaderEpoch: 3 }), false);
assert.equal(isNewsAt(rise, null), true, 'nothing is on the stage yet');

// A step asks about the partitions that its command names.
assert.deepEqual(placesIn('wait committed("clerks","mailbox-1") == leo("a.b-c-0") within 6m'),
  [at('mailbox', 1), at('a.b-c')]);
assert.deepEqual(placesIn('send orders key=order-1'), []);

// A crowd is one line, and somebody who comes alone keeps the sentence.
const fold = (kinds) => {
  const list = [];
  for (const kind of kinds) {
    const item = { kind, text: kind };
    if (!joins(list.at(-1), item)) list.push(item);
  }
  return list.map((item) => item.text);
};
const come = ['ClientIdentified', 'ClientConnected'];
assert.deepEqual(fold([...come, ...come, ...come]), ['3 connections open.']);
assert.deepEqual(fold(['ClientConnected', 'BatchAppended', 'ClientConnected']).length, 3);
assert.deepEqual(fold(['ClientDisconnected', 'ClientDisconnected']), ['2 connections close.']);

// What a check asks the brokers is not told; what it checks, and what a command caused, is.
const chain = (first, command) => [
  { ...event(first, 'CommandRan', { command, by: 'scenario' }), cause: '0' },
  { ...event(first + 1, 'MessageSent'), cause: String(first) },
  { ...event(first + 2, 'ClientIdentified', { clientId: 'highwater' }), cause: String(first + 1) },
];
const told = [...chain(20, 'expect values("orders-0") == ["order-1"]'), ...chain(30, 'send orders')];
const isAside = asides((seq) => told.find((each) => Number(each.seq) === seq));
assert.deepEqual(told.map(isAside), [false, true, true, false, false, false]);
assert.equal(mostTelling([told[2], told[0], rise], 20, isAside), rise);
const cleaned = { ...event(40, 'CleanerPassBegan'), cause: '20' };
assert.equal(isAside(cleaned), false, 'only what the check asked somebody is its own');

// Moves of a high watermark are one as long as each goes on where the last one ended.
const move = (seq, before, after) => event(seq, 'HighWatermarkMoved',
  { ...orders, before: String(before), after: String(after) }, 'hw.min-of-isr');
const moves = (...list) => turnsOf(list).map(({ fields }) => [fields.before, fields.after]);
assert.deepEqual(moves(move(1, 0, 1), move(2, 1, 3)), [['0', '3']]);
assert.deepEqual(moves(move(1, 3, 303), move(2, 0, 1), move(3, 1, 3)), [['3', '303'], ['0', '3']]);
const cut = event(2, 'LogTruncated');
assert.deepEqual(turnsOf([move(1, 3, 303), cut, move(3, 0, 3)]).map(({ seq }) => seq), ['1', '2', '3']);
