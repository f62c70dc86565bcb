// Folds what transactions did: at their coordinators, and in the logs that they write to.

import { copyAt, compareText, insertSorted, partitionAt } from "./places.js";
import { compare } from "./int64.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

const transactionsMax = 256;
export const logTransactionsMax = 64;

/** @param {State} state @param {Event} event */
export function applyTransaction(state, event) {
	const f = event.fields;
	if (event.event === "TransactionStateChanged") return changed(state, event);
	if (event.event === "TransactionPartitionAdded") return;
	const marker = event.event === "TransactionMarkerWritten";
	const partition = partitionAt(state, f.topic, f.partition);
	const log = partition && copyAt(state, partition, event.node);
	if (!log) return;
	if (event.event === "TransactionBegan") {
		add(log, { producerId: f.producerId, producerEpoch: f.producerEpoch, first: f.firstOffset,
			last: "-1", state: "open" });
	} else if (marker) {
		end(log, f);
	} else {
		log.lso = f.after;
	}
}

/** Keeps the ids by name; a dead one is forgotten. */
function changed(state, event) {
	const f = event.fields;
	let known = state.transactions.find((t) => t.id === f.transactionalId);
	if (f.after === "Dead") {
		state.transactions = state.transactions.filter((t) => t !== known);
		return;
	}
	if (!known) {
		if (state.transactions.length >= transactionsMax) {
			state.notKept.transactions++;
			return;
		}
		known = { id: f.transactionalId };
		insertSorted(state.transactions, known, (a, b) => compareText(a.id, b.id));
	}
	Object.assign(known, { state: f.after, before: f.before, coordinator: event.node,
		producerId: f.producerId, producerEpoch: f.producerEpoch, partitions: f.partitions,
		reason: f.reason, at: event.at });
}

function ended(transaction) {
	return compare(transaction.last, "0") >= 0;
}

/** Drops the oldest that has ended when there are too many, or else the oldest. */
function add(log, transaction) {
	log.transactions.push(transaction);
	if (log.transactions.length <= logTransactionsMax) return;
	log.transactions.splice(Math.max(log.transactions.findIndex(ended), 0), 1);
}

/** Ends the producer's open one. One that began before it could be told is added, and so is one that
 * left nothing here: of it there is the marker alone. */
function end(log, f) {
	const state = f.commit ? "committed" : "aborted";
	const at = log.transactions.findIndex((t) => t.producerId === f.producerId && !ended(t));
	if (at < 0) {
		add(log, { producerId: f.producerId, producerEpoch: f.producerEpoch, 
			first: compare(f.firstOffset, "0") < 0 ? f.offset : f.firstOffset, last: f.offset, state });
	} else {
		log.transactions[at] = { ...log.transactions[at], last: f.offset, state };
	}
}

/** Forgets the transactions that a cut took, and opens those again whose marker it took.
 * @param {any} log @param {(offset: string) => boolean} gone */
export function cutTransactions(log, gone) {
	log.transactions = log.transactions.filter((t) => !gone(t.first)).map((t) => (
		ended(t) && gone(t.last) ? { ...t, last: "-1", state: "open" } : t));
}

/** Forgets those that end before the log's new start.
 * @param {any} log @param {string} start */
export function startTransactions(log, start) {
	log.transactions = log.transactions.filter((t) => !ended(t) || compare(t.last, start) >= 0);
}
