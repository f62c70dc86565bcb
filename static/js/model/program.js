// Folds the kinds of built-in producers and consumers.

import { parseRuns } from "./holes.js";
import { compare } from "./int64.js";
import { compareText, findCopy, findPartition, insertSorted } from "./places.js";
import { joined, readMore, runsBelow, runsMax } from "./runs.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

const programsMax = 256;
const batchesMax = 64;
const partitionsMax = 128;

/** @param {State} state @param {number} node */
function findProgram(state, node) {
	return state.programs.find((p) => p.node === node);
}

/** Has the members of a group, and who was one, know what the group has committed: whoever committed
 * it, also with a transaction.
 * @param {State} state @param {Event} event */
export function applyGroup(state, { event, fields: f }) {
	if (event !== "OffsetCommitted") return;
	changeParts(state, (p, program) => program.group === f.group && isAt(p, f),
		() => ({ committed: f.offset }));
}

/** @param {State} state @param {Event} event */
export function applyProgram(state, event) {
	if (event.event === "ClientStarted") return started(state, event);
	const program = findProgram(state, event.node);
	if (!program) {
		state.notKept.programs++;
		return;
	}
	const f = event.fields;
	switch (event.event) {
		case "RecordsBuffered": return buffered(program, f);
		case "RecordsNotBuffered":
			program.failed += f.records;
			return fail(program, event.at, f.reason);
		case "BatchDrained": return drained(program, f);
		case "BatchRequeued":
			fail(program, event.at, f.reason);
			return setBatch(program, f, { state: "waiting to be sent again", uncertain: f.uncertain });
		case "BatchBelieved": return believed(state, program, event);
		case "SendBlocked": program.blocked = f.what; return;
		case "SendUnblocked": program.blocked = ""; return;
		case "ProducerIDChanged":
			program.producerId = f.producerId;
			program.producerEpoch = f.producerEpoch;
			return;
		case "ClientTransactionChanged": program.transaction = f.after; return;
		case "MembershipChanged":
			Object.assign(program, { member: f.member, generation: f.generation, state: f.state });
			return;
		case "CommitFailed": return fail(program, event.at, f.reason);
		case "PartitionAssigned": return setPart(state, program, f, { assigned: true });
		case "PartitionRevoked": return setPart(state, program, f, { assigned: false });
		case "PositionMoved":
			return setPart(state, program, f, { began: f.after, position: f.after,
				...(f.reason === "committed" && { committed: f.after }) });
		case "RecordsPolled":
			program.polled += f.records;
			readOld(state, program, f);
			return setPart(state, program, f, { position: f.after }, f.offsets);
		case "PositionCommitted": return setPart(state, program, f, { committed: f.offset });
	}
}

function started(state, event) {
	const f = event.fields;
	const fresh = {
		node: event.node, name: f.name, role: f.role, settings: f.settings, alive: true, memory: "0",
		bufferMemory: f.bufferMemory, blocked: "", producerId: "-1", producerEpoch: -1, transaction: "",
		pending: 0, sent: 0, acknowledged: 0, failed: 0, unknown: 0, batches: [], unkept: 0,
		lastError: "", lastErrorAt: "0", group: f.group, member: "", generation: -1, state: "",
		polled: 0, partitions: [],
	};
	const known = findProgram(state, event.node);
	if (known) Object.assign(known, fresh, { partitions: keptOf(known, f) });
	else if (state.programs.length >= programsMax) state.notKept.programs++;
	else insertSorted(state.programs, fresh, (a, b) => a.node - b.node);
}

/** What outlives a client that is started again: what its group committed, and what it was given. */
function keptOf(known, f) {
	if (known.role !== f.role || known.name !== f.name) return [];
	return known.partitions.map((p) => ({ ...blankPart(p),
		committed: f.group && f.group === known.group ? p.committed : "-1", former: formerOf(p) }))
		.filter((p) => p.former.length || compare(p.committed, "0") >= 0);
}

const formerOf = (p) => readMore(p.former ?? [], p.read ?? []);

/** Lets go of what clients have of a topic whose name another topic has now; a position stays.
 * @param {State} state @param {string} topic */
export function forgetOffsets(state, topic) {
	changeParts(state, (p) => p.topic === topic, (p) => (
		{ acknowledged: "-1", committed: "-1", began: p.position, read: [], former: [] }));
}

/** Takes from what clients read what a leader's log lacks: others come there, and who is beyond
 * them begins there.
 * @param {State} state @param {any} f @param {string} end */
export function readBelow(state, f, end) {
	changeParts(state, (p) => isAt(p, f), (p) => (
		{ former: runsBelow(p.former, end), read: runsBelow(p.read, end),
			...compare(p.position, end) > 0 && { began: p.position } }));
}

/** Keeps which offsets of before the first event a reader was given, where nothing else tells a record
 * from a marker. Who reads with read_committed is given no aborted record either. */
function readOld(state, program, f) {
	const partition = findPartition(state, f.topic, f.partition);
	const log = partition && findCopy(partition, partition.leader);
	if (!log || compare(log.knownFrom, f.before) <= 0) return;
	const old = runsBelow(parseRuns(f.offsets), log.knownFrom);
	const newest = (runs = []) => joined(runs, old).slice(-runsMax);
	partition.given = newest(partition.given);
	if (program.settings.includes("isolation.level=read_committed")) {
		partition.assured = newest(partition.assured);
	}
}

function changeParts(state, isMeant, change) {
	for (const program of state.programs) {
		program.partitions = program.partitions.map((p) =>
			isMeant(p, program) ? { ...p, ...change(p) } : p);
	}
}

/** Takes what the end of an incarnation takes. What it believed for good stays to be looked at.
 * @param {State} state @param {number} node */
export function endProgram(state, node) {
	const program = findProgram(state, node);
	if (!program) return;
	Object.assign(program, { alive: false, memory: "0", blocked: "", transaction: "", pending: 0,
		sent: 0, unkept: 0, batches: [], member: "", generation: -1, state: "" });
	program.partitions = program.partitions.map((p) => ({ ...p, assigned: false, began: "-1",
		position: "-1", read: [], former: formerOf(p) }));
}

function fail(program, at, reason) {
	program.lastError = reason;
	program.lastErrorAt = at;
}

function buffered(program, f) {
	program.memory = f.memory;
	program.pending += f.added;
	setBatch(program, f, { records: f.records, bytes: f.bytes });
}

function drained(program, f) {
	if (f.attempt === 1) {
		program.pending -= f.records;
		program.sent += f.records;
	}
	setBatch(program, f, { state: "sent", to: f.to, attempt: f.attempt, sequence: f.sequence,
		records: f.records, bytes: f.bytes });
}

function compareIds(a, b) {
	const x = BigInt(a.batch), y = BigInt(b.batch);
	return x < y ? -1 : x > y ? 1 : 0;
}

function setBatch(program, f, change) {
	const at = program.batches.findIndex((b) => b.batch === f.batch);
	if (at >= 0) {
		program.batches[at] = { ...program.batches[at], ...change };
		return;
	}
	if (program.batches.length >= batchesMax) {
		program.unkept++;
		return;
	}
	insertSorted(program.batches, { batch: f.batch, topic: f.topic, partition: f.partition, records: 0,
		bytes: 0, state: "buffered", to: -1, attempt: 0, sequence: -1, uncertain: false, ...change },
	compareIds);
}

function believed(state, program, event) {
	const f = event.fields;
	program.memory = f.memory;
	const batch = program.batches.find((b) => b.batch === f.batch);
	program.batches = program.batches.filter((b) => b !== batch);
	if (batch && batch.attempt <= 0) program.pending -= f.records;
	else program.sent -= f.records;
	if (f.belief !== "acknowledged") {
		program[f.belief === "failed" ? "failed" : "unknown"] += f.records;
		fail(program, event.at, f.reason);
		return;
	}
	program.acknowledged += f.records;
	const part = partAt(state, program, f);
	const base = BigInt(f.baseOffset);
	if (!part || base < 0n) return;
	const last = BigInt.asIntN(64, base + BigInt(f.records) - 1n);
	if (last > BigInt(part.acknowledged)) setPart(state, program, f, { acknowledged: String(last) });
}

const isAt = (p, f) => p.topic === f.topic && p.partition === f.partition;

function compareParts(a, b) {
	return compareText(a.topic, b.topic) || a.partition - b.partition;
}

const blankPart = ({ topic, partition }) => ({ topic, partition, acknowledged: "-1", assigned: false,
	began: "-1", position: "-1", committed: "-1", read: [], former: [] });

/** @returns a client's partition, made if need be; undefined when there is no room */
function partAt(state, program, f) {
	const known = program.partitions.find((p) => isAt(p, f));
	if (known) return known;
	if (program.partitions.length >= partitionsMax) {
		state.notKept.programs++;
		return undefined;
	}
	const part = blankPart(f);
	insertSorted(program.partitions, part, compareParts);
	return part;
}

function setPart(state, program, f, change, offsets = "") {
	const part = partAt(state, program, f);
	if (!part) return;
	const read = offsets ? readMore(part.read ?? [], parseRuns(offsets)) : part.read;
	program.partitions[program.partitions.indexOf(part)] = { ...part, ...change, read };
}
