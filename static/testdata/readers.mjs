// Checks of who of the readers has a column, where its tokens land, and what is said of it; the Go
// test of this folder runs it.

import assert from 'node:assert/strict';
import { landing } from '../js/layout/flights.js';
import { stageGeometry } from '../js/layout/geometry.js';
import { sceneOf } from '../js/layout/scene.js';
import { lagOf } from '../js/view/clients.js';

const log = (node, leo) => ({ node, logStartOffset: '0', leo: String(leo), hw: '4', lso: '3',
  synced: '0', batches: [], cut: [] });
const reader = (node, name, places, more) => ({ node, name, role: 'consumer', alive: true,
  settings: 'topic=orders', group: '', state: '', polled: 0, partitions: places.map(
    ([topic, partition]) => ({ topic, partition, began: '0', position: '4', committed: '-1' })),
  ...more });
const outside = (connection, clientId, topic, partition = 0) => ({ node: 1, connection, clientId,
  requests: { Fetch: 3 }, open: 0, lastRequest: { api: 'Fetch', topic, partition, at: '9' } });
const orders = { topic: 'orders', partition: 0 };
const readersOf = (programs, clients = [], more = {}) => sceneOf({
  nodes: [{ id: 1, role: 'broker', alive: true }], programs, clients, ...more,
  topics: [{ name: 'orders', partitions: [{ ...orders, known: true, leader: 1, replicas: [1],
    isr: [1], copies: [log(1, 5)] }] }],
}, { ...orders, reader: more.picked });
const ids = ({ readers }) => readers.map(({ id }) => id);

// Columns are for those that read the partition on the stage, then for those of its topic, and only
// then for others, whether they live or not, and whoever they are.
const elsewhere = { settings: 'topic=pay,books' };
const strangers = [reader(1003, 'g1', [['pay', 0]], elsewhere), reader(1004, 'sk', [], elsewhere)];
const connections = [outside(1048577, 'billing', 'orders'), outside(1048578, 'audit', 'orders')];
const busy = readersOf(strangers, connections);
assert.deepEqual(ids(busy), ['audit', 'billing', 'sk', 'g1']);
assert.equal(busy.reader.id, 'audit', 'a phone has one column');
const dead = reader(1002, 'dead', [['orders', 0]], { alive: false });
const waiting = reader(1001, 'waiting', []); // for its part of the topic
assert.deepEqual(ids(readersOf([waiting, dead, ...strangers])), ['waiting', 'dead', 'sk', 'g1']);
assert.equal(readersOf([waiting, dead, ...strangers]).reader.id, 'dead');
assert.deepEqual(ids(readersOf(strangers, [outside(1048577, 'p1', 'orders', 1)])),
  ['sk', 'p1', 'g1']);
assert.deepEqual(ids(readersOf(strangers, connections, { picked: 'g1' })).slice(0, 2),
  ['g1', 'audit'], 'whoever was picked has a column');
// An incremental fetch names only what changed: what it asks for tells where it reads.
const asks = [{ by: 1048579, node: 1, topic: 'orders', partition: 0, offset: '2' }];
assert.deepEqual(ids(readersOf(strangers, [outside(1048579, 'quiet', '')], { asks })),
  ['sk', 'quiet', 'g1']);

// Who has a column keeps it in the same order, whoever dies, comes back, or connects again.
const two = (...alive) => ['billing', 'shipping'].map((name, i) =>
  reader(1003 + i, name, [['orders', 0]], { alive: alive[i] }));
for (const alive of [[true, true], [false, true], [true, false]]) {
  assert.deepEqual(ids(readersOf(two(...alive))), ['billing', 'shipping'], String(alive));
}
const again = [outside(1048590, 'audit', 'orders'), outside(1048577, 'billing', 'orders')];
assert.deepEqual(ids(readersOf([], again)), ids(readersOf([], connections)));

// What goes to a reader without a column goes to the menu that names it, or nowhere.
const stage = (readers, narrow) => stageGeometry({ width: 1032, height: 500, unit: 16, narrow,
  producers: [], hasForm: true, brokers: [1], controllers: [101], readers, pipes: 0 });
const wide = stage(ids(busy), false);
const menu = wide.columns[landing(wide, 'reader g1')];
assert.ok(menu.port.y < wide.tank.top && menu.port.x < wide.columns['reader billing'].x);
for (const id of ['audit', 'billing']) assert.equal(landing(wide, `reader ${id}`), `reader ${id}`);
assert.equal(landing(stage(['audit'], true), 'reader g1'), null);
assert.equal(landing(stage(['audit'], false), 'reader gone'), null);

// Where it stands: below what it may read, at its end, or where the log does not reach.
const says = (position, isolation = '') => lagOf(busy, { position, isolation, isNamed: true });
assert.deepEqual([1, 4, 5, 6, null].map((position) => says(position)),
  ['3 behind', 'at the end', 'above the HW', 'beyond the end', 'nothing here']);
assert.equal(says(3, 'read committed'), 'at the LSO');
