// Where things are in a state: finding and making nodes, links, topics, partitions and logs. Lists
// are sorted by what names their elements.

/** @typedef {import("./state.js").State} State */

const nodesMax = 64;
const linksMax = 1024;
const partitionsMax = 1024;
const logsMax = 16;

// Windows shrink as their number grows, so that a state's size has a bound.
const batches = { max: 200, min: 8, total: 24000 };
const records = { max: 400, min: 8, total: 16000 };

/** Puts an element into a sorted list.
 * @template T @param {T[]} list @param {T} element @param {(a: T, b: T) => number} compare */
export function insertSorted(list, element, compare) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (compare(list[middle], element) < 0) low = middle + 1;
		else high = middle;
	}
	list.splice(low, 0, element);
}

/** @param {string} a @param {string} b */
export function compareText(a, b) {
	return a < b ? -1 : a > b ? 1 : 0;
}

/** @param {State} state @param {number} id */
function findNode(state, id) {
	return state.nodes.find((n) => n.id === id);
}

/** @param {State} state @param {number} id
 * @returns the node, made if need be; undefined when there is no room */
export function nodeAt(state, id) {
	const known = findNode(state, id);
	if (known || state.nodes.length >= nodesMax) return known;
	const node = {
		id, role: "", host: "", port: 0, alive: false, paused: false, incarnation: 0, stopped: "",
		stopReason: "", stoppedAt: "0", lostBytes: "0", registered: false, fenced: false,
		controlledShutdown: false, brokerEpoch: "0", clockOffset: "0", clockRatePermille: 1000,
		diskFault: "", diskDelay: "0", logDirFailed: "", state: "", term: 0, leader: -1, votedFor: -1,
		voteTerm: 0, metadataStored: "-1", metadataCommitted: "-1", metadataOffset: "-1",
		metadataLeader: -1,
	};
	insertSorted(state.nodes, node, (a, b) => a.id - b.id);
	return node;
}

/** @param {State} state @param {number} from @param {number} to */
export function linkAt(state, from, to) {
	const known = state.links.find((l) => l.from === from && l.to === to);
	if (known || state.links.length >= linksMax) return known;
	const link = { from, to, cut: false, latency: "-1", messages: 0, idle: 0, bytes: 0, lastAt: "0" };
	insertSorted(state.links, link, (a, b) => a.from - b.from || a.to - b.to);
	return link;
}

/** @param {State} state @param {string} name */
export function findTopic(state, name) {
	return state.topics.find((t) => t.name === name);
}

/** @param {State} state @param {string} name */
export function topicAt(state, name) {
	let topic = findTopic(state, name);
	if (!topic) {
		topic = { name, topicId: "", replicationFactor: 0, minIsr: 0, deleted: false, partitions: [] };
		insertSorted(state.topics, topic, (a, b) => compareText(a.name, b.name));
	}
	return topic;
}

/** @param {State} state @param {string} topic @param {number} partition */
export function findPartition(state, topic, partition) {
	const partitions = findTopic(state, topic)?.partitions;
	if (!partitions) return undefined;
	const likely = partitions[partition];
	if (likely?.partition === partition) return likely;
	return partitions.find((p) => p.partition === partition);
}

/** @param {State} state @param {string} name @param {number} index
 * @returns the partition, made if need be; undefined when there is no room */
export function partitionAt(state, name, index) {
	const known = findPartition(state, name, index);
	if (known) return known;
	if (countPartitions(state) >= partitionsMax) {
		state.notKept.partitions++;
		return undefined;
	}
	const topic = topicAt(state, name);
	const partition = {
		partition: index, known: false, leader: -1, leaderEpoch: 0, partitionEpoch: 0, replicas: [],
		isr: [], elr: [], lastKnownElr: [], recovering: false, minIsr: topic.minIsr, copies: [],
		records: [], described: 0, committed: [], given: [], assured: [],
	};
	insertSorted(topic.partitions, partition, (a, b) => a.partition - b.partition);
	return partition;
}

/** @param {any} partition @param {number} node */
export function findCopy(partition, node) {
	return partition.copies.find((c) => c.node === node);
}

/** @param {State} state @param {any} partition @param {number} node
 * @returns the node's replica, made if need be; undefined when there is no room */
export function copyAt(state, partition, node) {
	const known = findCopy(partition, node);
	if (known) return known;
	if (partition.copies.length >= logsMax) {
		state.notKept.partitions++;
		return undefined;
	}
	const copy = {
		node, role: "", leader: -1, leaderEpoch: 0, logStartOffset: "0", leo: "0", hw: "0", lso: "0",
		synced: "-1", unpowered: false, isr: [], proposed: null, followers: [], epochs: [], segments: [],
		segmentCount: 0, batches: [], transactions: [],
		totals: { batches: 0, records: 0, bytes: 0, duplicates: 0, refused: 0, truncations: 0 },
		cut: [], truncation: null, refusal: null, cleaning: null, cleaned: null, holes: [],
		holesFrom: "0", knownFrom: "0",
	};
	insertSorted(partition.copies, copy, (a, b) => a.node - b.node);
	return copy;
}

function countPartitions(state) {
	let n = 0;
	for (const topic of state.topics) n += topic.partitions.length;
	return n;
}

function countCopies(state) {
	let n = 0;
	for (const topic of state.topics) {
		for (const partition of topic.partitions) n += partition.copies.length;
	}
	return n;
}

/** @param {State} state @returns {number} how many batches a log shows */
export function batchLimit(state) {
	return limit(batches, countCopies(state));
}

/** @param {State} state @returns {number} how many described records a partition shows */
export function recordLimit(state) {
	return limit(records, countPartitions(state));
}

function limit(bound, windows) {
	const share = Math.trunc(bound.total / Math.max(1, windows));
	return Math.min(bound.max, Math.max(bound.min, share));
}

/** Drops the oldest of a list until at most max are left.
 * @param {any[]} list @param {number} max */
export function keepNewest(list, max) {
	if (list.length > max) list.splice(0, list.length - max);
}
