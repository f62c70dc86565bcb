// Checks of what the caption and the list of events say; the Go test runs it.

import assert from 'node:assert/strict';
import { joins, mostTelling } from '../js/ui/telling.js';

const event = (seq, kind, fields = {}, rule = '') =>
  ({ seq: String(seq), node: 1, event: kind, fields, rule });
const orders = { topic: 'orders', partition: 0 };
const rise = event(5, 'HighWatermarkMoved', { ...orders, before: '1', after: '2' }, 'hw.min-of-isr');
const heard = event(6, 'HighWatermarkMoved', { ...orders, before: '1', after: '2' });
const own = event(7, 'HighWatermarkMoved', { ...orders, topic: '__consumer_offsets' }, 'hw.min-of-isr');
const command = event(8, 'CommandRan', { command: 'expect hw("orders-0") == 2', by: 'scenario' });

// Of a step the leader's high watermark is told, whatever came after it, and never the command.
assert.equal(mostTelling([command, own, heard, rise], 4), rise);
// A step in which nothing happened tells what was told before it.
assert.equal(mostTelling([command, heard, rise], 8), heard);
assert.equal(mostTelling([], 0), null);

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
assert.deepEqual(fold([...come, ...come, ...come]), ['3 clients connect.']);
assert.deepEqual(fold(['ClientConnected', 'BatchAppended', 'ClientConnected']).length, 3);
assert.deepEqual(fold(['ClientDisconnected', 'ClientDisconnected']), ['2 clients leave.']);
