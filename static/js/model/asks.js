// What each connection and built-in consumer wants with each of its fetches from a broker, also
// where an incremental fetch does not name it again.

import { compareText, findCopy } from "./places.js";

/** @typedef {import("./state.js").State} State */

const asksMax = 1024;

const compareAsks = (a, b) => a.by - b.by || a.node - b.node || compareText(a.topic, b.topic) ||
	a.partition - b.partition;

/** @param {State} state @returns {number} the index of the first ask that is not before this one */
function placeOf(state, ask) {
	let low = 0, high = state.asks.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (compareAsks(state.asks[middle], ask) < 0) low = middle + 1;
		else high = middle;
	}
	return low;
}

const isAt = (state, at, ask) => at < state.asks.length && compareAsks(state.asks[at], ask) === 0;

const askOf = ({ node, fields: f }) =>
	({ by: f.connection, node, topic: f.topic, partition: f.partition, offset: f.offset });

/** @param {State} state @param {import("./state.js").Event} event */
export function asked(state, event) {
	const ask = askOf(event);
	const isKnown = state.clients.some((c) => c.connection === ask.by) ||
		state.programs.some((p) => p.node === ask.by);
	if (!isKnown) return;
	const at = placeOf(state, ask);
	if (isAt(state, at, ask)) state.asks[at] = ask;
	else if (state.asks.length >= asksMax) state.notKept.asks++;
	else state.asks.splice(at, 0, ask);
}

/** @param {State} state @returns what somebody asks a node for of a partition, if it does */
export function askAt(state, ask) {
	const at = placeOf(state, ask);
	return isAt(state, at, ask) ? state.asks[at] : undefined;
}

/** @param {State} state @param {import("./state.js").Event} event */
export function askDropped(state, event) {
	const ask = askOf(event);
	const at = placeOf(state, ask);
	if (isAt(state, at, ask)) state.asks.splice(at, 1);
}

/** Forgets what somebody asked, or was asked for.
 * @param {State} state @param {number} of */
export function dropAsks(state, of) {
	state.asks = state.asks.filter((a) => a.by !== of && a.node !== of);
}

/** Whether a waiting request waits for a partition. A fetch waits for all that it asks for: one of
 * a follower for all that it follows at this leader.
 * @param {State} state @param {any} wait @param {any} partition
 * @param {string} topic the partition's @returns {boolean} */
export function waitsFor(state, wait, partition, topic) {
	const index = partition.partition;
	if (wait.topic === topic && wait.partition === index) return true;
	if (wait.what === "follower-fetch") {
		return findCopy(partition, wait.for)?.leader === wait.node &&
			Boolean(findCopy(partition, wait.node)?.followers.some((f) => f.node === wait.for));
	}
	const ask = { by: wait.for, node: wait.node, topic, partition: index };
	return wait.what === "fetch" && Boolean(askAt(state, ask));
}
