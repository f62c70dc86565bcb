// Where the followed record is, station by station: sent, on the leader, on each
// follower, committed, read. A station is past, here, ahead, hidden (on a broker that is
// down) or gone.

import { idList, shortOffset } from './format.js';

/**
 * @typedef {{topic: string, partition: number, offset: number, epoch: number, key: string}} Follow
 * @typedef {{id: string, label: string, status: string, note: string}} Station
 */

/** @param {object} scene @param {Follow} follow @returns {Station[]} */
export function whereabouts(scene, follow) {
	const { focus } = scene;
	if (!focus || focus.topic !== follow.topic || focus.partition !== follow.partition) return [];
	const brokers = inOrder(focus);
	const holders = brokers.map((id) => atBroker(scene, id, follow));
	const leading = focus.leading;
	const isThere = leading !== null && holds(leading, follow);
	const isCommitted = isThere && follow.offset < leading.hw;
	return [
		{ id: 'sent', label: 'sent', status: 'past', note: `offset ${shortOffset(follow.offset)}` },
		...holders,
		committed(focus, follow, isThere, isCommitted),
		...read(scene, follow, isCommitted),
	];
}

/** The leader first, then the followers. */
function inOrder(focus) {
	const ids = focus.replicas.length ? focus.replicas : [...focus.copies.keys()];
	return [...ids].sort((a, b) => (b === focus.leader) - (a === focus.leader) || a - b);
}

/** Whether a copy holds the record, and not another one at its offset. */
function holds(copy, { offset, epoch }) {
	if (!copy || offset >= copy.leo) return false;
	const batch = copy.batches.find((b) => b.base <= offset && offset <= b.last);
	return batch ? batch.epoch === epoch : epochAt(copy, offset) === epoch;
}

/** The epoch list knows who wrote what is older than the window of batches. */
function epochAt(copy, offset) {
	const entry = copy.epochs.findLast((e) => e.from <= offset);
	return entry ? entry.epoch : -1;
}

function atBroker({ focus, brokers }, id, follow) {
	const copy = focus.copies.get(id);
	const isLeader = focus.leader === id;
	const station = { id: `b${id}`, label: isLeader ? `broker ${id}, leader` : `broker ${id}` };
	const power = brokers.find((node) => node.id === id)?.power;
	const wasCut = copy?.cut.some((b) => b.epoch === follow.epoch && follow.offset <= b.last);
	if (wasCut) return { ...station, status: 'gone', note: 'cut off' };
	if (!copy || !holds(copy, follow)) {
		const isTaken = copy && follow.offset < copy.leo;
		return isTaken
			? { ...station, status: 'gone', note: 'another record' }
			: { ...station, status: 'ahead', note: 'not yet' };
	}
	return {
		...station,
		status: power === 'down' ? 'hidden' : 'here',
		note: follow.offset < copy.synced ? 'on disk' : 'page cache',
	};
}

function committed(focus, follow, isThere, isCommitted) {
	const station = { id: 'committed', label: 'committed' };
	if (focus.leading === null) return { ...station, status: 'ahead', note: 'no leader' };
	if (!isThere && follow.offset < focus.hw) return { ...station, status: 'gone', note: 'lost' };
	return {
		...station,
		status: isCommitted ? 'here' : 'ahead',
		note: `HW ${shortOffset(focus.hw)}`,
	};
}

function read(scene, follow, isCommitted) {
	const readers = scene.readers.filter((reader) => reader.position !== null).slice(0, 2);
	if (!readers.length) return [{ id: 'read', label: 'read', status: 'ahead', note: 'no reader' }];
	return readers.map((reader) => {
		const has = isCommitted && reader.position > follow.offset;
		const note = has ? 'delivered' : 'not yet';
		return { id: `r-${reader.id}`, label: reader.id, status: has ? 'here' : 'ahead', note };
	});
}

/** Why the followed record is not committed; '' when it is, or is gone.
 *  @param {object} scene @param {Follow} follow @returns {string} */
export function whyNotYet(scene, follow) {
	const { focus } = scene;
	if (!focus || focus.topic !== follow.topic || focus.partition !== follow.partition) return '';
	const { leading } = focus;
	const name = follow.key || `offset ${follow.offset}`;
	if (!leading) return `${name} waits: ${focus.name} has no leader.`;
	if (!holds(leading, follow) || follow.offset < leading.hw) return '';
	if (focus.isr.length < focus.minIsr) {
		return `${name} is not committed: ${focus.isr.length} in sync, ${focus.minIsr} are needed.`;
	}
	const lacking = focus.isr.filter((id) => !holds(focus.copies.get(id), follow));
	if (lacking.length) {
		const who = lacking.length > 1 ? `brokers ${idList(lacking)} are` : `broker ${lacking} is`;
		return `${name} is not committed: ${who} in sync and must fetch it first.`;
	}
	return `${name} is on every in-sync replica; the leader learns it from their next fetch.`;
}
