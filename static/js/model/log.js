// Folds what happened to a replica's log.

import { compare, larger, smaller, successor } from "./int64.js";
import { keepHoles, openedHoles, segmentsSwapped } from "./holes.js";
import { cutTransactions, startTransactions } from "./transactions.js";
import { batchLimit, copyAt, keepNewest, nodeAt, partitionAt, recordLimit } from "./places.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

export const epochsMax = 64;
const segmentsMax = 128;
const cutBatchesMax = 32;

/** @param {State} state @param {Event} event */
export function applyLog(state, event) {
	const f = event.fields;
	if (event.event === "LogDirFailed") {
		const node = nodeAt(state, event.node);
		if (node) node.logDirFailed = `${f.operation}: ${f.error}`;
		return;
	}
	const partition = partitionAt(state, f.topic, f.partition);
	const log = partition && copyAt(state, partition, event.node);
	if (!log) return;
	switch (event.event) {
		case "BatchAppended": return batchAppended(state, log, f);
		case "LogSynced": log.synced = f.upTo; break;
		case "RecordDescribed": return recordDescribed(state, partition, log, f);
		case "LogOpened": return opened(log, event);
		case "SegmentRolled":
			log.segmentCount++;
			log.segments.push(f.baseOffset);
			keepNewest(log.segments, segmentsMax);
			break;
		case "SegmentDeleted":
			log.segmentCount = Math.max(0, log.segmentCount - 1);
			log.segments = log.segments.filter((base) => base !== f.baseOffset);
			break;
		case "CleanerPassBegan":
			log.cleaning = { job: f.job, firstDirty: f.firstDirtyOffset, upTo: f.upTo, since: event.at };
			break;
		case "SegmentsSwapped": return segmentsSwapped(log, f);
		case "CleanerPassEnded":
			log.cleaning = null;
			log.cleaned = { outcome: f.outcome, firstDirty: f.firstDirtyOffset,
				recordsBefore: f.recordsBefore, recordsAfter: f.recordsAfter, survivors: f.survivors,
				at: event.at, seq: event.seq };
			break;
		case "LogStartOffsetMoved": return startAt(log, f.after);
		case "LogTruncated": return truncated(log, event);
		case "LeaderEpochStarted": return epochStarted(log, f.leaderEpoch, f.startOffset);
		case "DuplicateSuppressed": log.totals.duplicates++; break;
		case "AppendRefused":
			log.totals.refused++;
			log.refusal = { errorCode: f.errorCode, detail: f.detail, at: event.at, seq: event.seq };
			break;
	}
}

function batchAppended(state, log, f) {
	log.batches.push({
		baseOffset: f.baseOffset, lastOffset: f.lastOffset, records: f.records, bytes: f.bytes,
		epoch: f.leaderEpoch, sequence: f.baseSequence, producerId: f.producerId, codec: f.codec,
		control: f.control, transactional: f.transactional,
	});
	keepNewest(log.batches, batchLimit(state));
	log.leo = successor(f.lastOffset);
	log.totals.batches++;
	log.totals.records += f.records;
	log.totals.bytes += f.bytes;
	const counts = f.leader && !f.control && !f.topic.startsWith("__");
	if (counts) state.counters.records += f.records;
}

/** Keeps a record under its offset and the epoch of the batch that holds it.
 * @param {State} state @param {any} partition @param {any} log @param {Object<string, any>} f */
function recordDescribed(state, partition, log, f) {
	partition.described++;
	const record = {
		offset: f.offset, epoch: epochAt(log, f.offset), keyBytes: f.keyBytes, valueBytes: f.valueBytes,
		headers: f.headers, key: f.key, value: f.value, timestamp: f.timestamp,
	};
	const records = partition.records;
	let at = records.length;
	while (at > 0 && compareDescribed(records[at - 1], record) >= 0) at--;
	if (at < records.length && compareDescribed(records[at], record) === 0) {
		records[at] = record;
		return;
	}
	records.splice(at, 0, record);
	keepNewest(records, recordLimit(state));
}

function compareDescribed(a, b) {
	return compare(a.offset, b.offset) || a.epoch - b.epoch;
}

function epochAt(log, offset) {
	for (let i = log.batches.length - 1; i >= 0; i--) {
		const batch = log.batches[i];
		if (compare(batch.baseOffset, offset) <= 0 && compare(offset, batch.lastOffset) <= 0) {
			return batch.epoch;
		}
	}
	return log.leaderEpoch;
}

/**
 * Takes over what recovery found. What the state knew beyond the end was lost. What it finds is on
 * the disk after a power cut, which nothing else outlives, and after a clean shutdown, which syncs
 * all; the first time that a log is seen it counts as such.
 * @param {any} log
 * @param {Event} event
 */
function opened(log, event) {
	const f = event.fields;
	if (compare(f.logEndOffset, log.leo) < 0) cut(log, event, log.leo, f.logEndOffset);
	openedHoles(log, f);
	startAt(log, f.logStartOffset);
	log.leo = f.logEndOffset;
	log.hw = f.highWatermark;
	log.lso = smaller(log.lso, f.highWatermark);
	log.leaderEpoch = f.leaderEpoch;
	log.segmentCount = f.segments;
	const isFirst = compare(log.synced, "0") < 0;
	if (isFirst) log.knownFrom = f.logEndOffset;
	if (isFirst || log.unpowered || f.clean) log.synced = f.logEndOffset;
	log.unpowered = false;
	if (log.segments.length === 0 && f.segments === 1) log.segments.push(f.logStartOffset);
	openedEpochs(log, f.epochs);
}

/** Reads 0@0,2@17, as the checkpoint has it; what is not of that form says nothing.
 * @param {any} log @param {string} text */
function openedEpochs(log, text = "") {
	log.epochs = [];
	for (const part of text.split(",")) {
		const match = /^(\d{1,9})@(\d{1,18})$/.exec(part);
		if (!match) continue;
		log.epochs.push({ epoch: Number(match[1]), startOffset: String(BigInt(match[2])) });
	}
	keepNewest(log.epochs, epochsMax);
}

/** Forgets what lies wholly before the new start of the log.
 * @param {any} log @param {string} start */
function startAt(log, start) {
	log.logStartOffset = start;
	log.leo = larger(log.leo, start);
	log.batches = log.batches.filter((b) => compare(b.lastOffset, start) >= 0);
	keepHoles(log, (h) => ({ from: larger(h.from, start), to: h.to }));
	startTransactions(log, start);
	while (log.epochs.length > 1 && compare(log.epochs[1].startOffset, start) <= 0) {
		log.epochs.shift();
	}
	if (log.epochs.length > 0) {
		const first = log.epochs[0];
		log.epochs[0] = { ...first, startOffset: larger(first.startOffset, start) };
	}
}

function truncated(log, event) {
	const f = event.fields;
	log.totals.truncations++;
	// They are equal for a torn tail that had no offsets yet.
	if (f.after !== f.before) cut(log, event, f.before, f.after);
	if (compare(f.highWatermark, "0") < 0) return;
	log.hw = f.highWatermark;
	log.lso = smaller(log.lso, f.highWatermark);
}

/** Ends the log at after and keeps for the picture what that took, together with what was taken just
 * before, when nothing was appended since: a crash, then a truncation. An end beyond the old one is a
 * log that begins anew there: nothing of it stays.
 * @param {any} log @param {Event} event @param {string} before @param {string} after */
function cut(log, event, before, after) {
	const anew = compare(after, before) > 0;
	const { batches } = log.totals;
	const last = log.truncation?.batches === batches ? log.truncation : null;
	const from = last ? larger(last.before, before) : before;
	log.truncation = { before: from, after, at: event.at, seq: event.seq, batches };
	const taken = log.batches.filter((b) => anew || compare(b.lastOffset, after) >= 0);
	log.cut = last ? [...taken, ...log.cut] : taken;
	log.batches = log.batches.filter((b) => !anew && compare(b.lastOffset, after) < 0);
	keepNewest(log.cut, cutBatchesMax);
	log.leo = after;
	log.hw = smaller(log.hw, after);
	log.lso = smaller(log.lso, after);
	log.synced = anew ? after : smaller(log.synced, after);
	log.logStartOffset = anew ? after : smaller(log.logStartOffset, after);
	log.holesFrom = smaller(log.holesFrom, after);
	log.knownFrom = anew ? after : smaller(log.knownFrom, after);
	keepHoles(log, (h) => ({ from: h.from, to: anew ? h.from : smaller(h.to, after) }));
	const gone = (start) => anew || compare(start, after) >= 0;
	log.epochs = log.epochs.filter((e) => !gone(e.startOffset));
	cutTransactions(log, gone);
	const had = log.segments.length;
	log.segments = log.segments.filter((base) => base === after || !gone(base));
	log.segmentCount = Math.max(1, log.segmentCount - (had - log.segments.length));
	if (log.segments.length === 0) log.segments.push(after);
}

/** Adds a line to the epoch checkpoint; lines that the new one contradicts go.
 * @param {any} log @param {number} epoch @param {string} startOffset */
function epochStarted(log, epoch, startOffset) {
	log.leaderEpoch = Math.max(log.leaderEpoch, epoch);
	log.epochs = log.epochs.filter((e) => e.epoch < epoch && compare(e.startOffset, startOffset) < 0);
	log.epochs.push({ epoch, startOffset });
	keepNewest(log.epochs, epochsMax);
}
