// Checks of what the page says of a trace that lacks its beginning; the Go test runs it.

import assert from 'node:assert/strict';
import { stageGeometry } from '../js/layout/geometry.js';
import { sceneOf } from '../js/layout/scene.js';
import { drawChain } from '../js/view/brokers.js';
import { drawProducers } from '../js/view/producers.js';

const log = (node) => ({ node, logStartOffset: '0', leo: '1', hw: '1', lso: '1', synced: '0',
  batches: [], cut: [] });
const at = (known) => {
  const partition = { partition: 0, known, leader: known ? 3 : -1, minIsr: 2, copies: [log(1), log(2)],
    ...(known ? { replicas: [1, 2, 3], isr: [1, 2, 3] } : {}) };
  // No event named broker 3.
  const nodes = [1, 2].map((id) => ({ id, role: 'broker', alive: true }));
  const scene = sceneOf({ nodes, topics: [{ name: 'orders', partitions: [partition] }] },
    { topic: 'orders', partition: 0 });
  const geometry = stageGeometry({ width: 1032, height: 500, unit: 16, narrow: false, producers: [],
    hasForm: true, brokers: [1, 2], controllers: [], readers: [], pipes: 0, digits: 1 });
  return { scene, geometry, ui: {}, act: {} };
};
const all = (node) => [node, ...(node.children ?? []).flatMap(all)];
const textOf = (node) => all(node).filter(({ tag }) => !tag).map((each) => each.text ?? each).join('');
const classed = (node, name) => all(node).find(({ props }) => props?.class === name);

// Of three replicas three are in sync, though two brokers are all that is drawn.
assert.equal(textOf(classed(drawChain(at(true)), 'chain-count')), '3 of 3, needs 2');
assert.deepEqual([at(true), at(false)].map(({ scene }) => scene.vitals.offline), [0, 0]);
// Where nobody told who has a replica, nobody is missing.
assert.equal(classed(drawChain(at(false)), 'chain-count'), undefined);
assert.equal(drawChain(at(false)).props.class, 'chain');
assert.deepEqual(at(false).scene.vitals.underMinIsr, 0);

// Nobody writes: that stands under the headline.
const [, top] = /translateY\((\d+\.?\d*)px/.exec(
  classed(drawProducers(at(true)), 'nobody').props.style.transform);
assert.ok(Number(top) >= 1.6 * 16);
