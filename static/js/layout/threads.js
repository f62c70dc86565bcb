// Transactions as threads through a log: which records hang on one, which marker ties it off, and
// how many lanes they need beside the records.

import { logTransactionsMax } from '../model/transactions.js';

const LANES_MOST = 3;

/**
 * @typedef {object} Thread
 * @property {string} producerId
 * @property {number} first the offset it begins at
 * @property {number} last the offset of its marker; -1 while it is open
 * @property {'open'|'committed'|'aborted'} state
 * @property {number} lane threads that are open at the same time lie side by side
 */

/** @param {object[]} transactions of one log, as the state has them @returns {Thread[]} */
export function threadsOf(transactions) {
	const free = []; // by lane: the offset from which it is free
	return transactions
		.map((each) => ({
			producerId: String(each.producerId),
			first: Number(each.first),
			last: Number(each.last),
			state: each.state,
		}))
		.sort((a, b) => a.first - b.first)
		.map((thread) => {
			const at = free.findIndex((from) => from <= thread.first);
			const lane = at >= 0 ? at : Math.min(free.length, LANES_MOST - 1);
			free[lane] = Math.max(free[lane] ?? 0, thread.last < 0 ? Infinity : thread.last + 1);
			return { ...thread, lane };
		});
}

/** The thread that a record hangs on, or that a marker ties off.
 *  @param {Thread[]} threads @returns {Thread | null} */
export function threadAt(threads, batch, offset) {
	if (!batch.transactional && !batch.control) return null;
	return threads.find((thread) => {
		if (String(batch.producerId) !== thread.producerId || offset < thread.first) return false;
		if (batch.control) return thread.last === offset;
		return thread.last < 0 || offset < thread.last;
	}) ?? null;
}

/** Whether a record of a batch that is no longer kept may hang on a thread: one is there, or may
 *  have been before the oldest that is kept. @param {Thread[]} threads @returns {boolean} */
export const mayHang = (threads, offset) =>
	threadsWithin(threads, offset, offset + 1).length > 0 ||
	(threads.length >= logTransactionsMax && offset < Math.min(...threads.map(({ first }) => first)));

/** Threads with something between two offsets. @param {Thread[]} threads @returns {Thread[]} */
export const threadsWithin = (threads, from, to) =>
	threads.filter((thread) => thread.first < to && (thread.last < 0 || thread.last >= from));

/** How many lanes the partition's threads take in the offsets that are shown.
 *  @param {object} focus @param {number} from @param {number} to @returns {number} */
export const lanesIn = (focus, from, to) =>
	Math.max(0, ...[...focus.copies.values()].flatMap((copy) =>
		threadsWithin(copy.threads, from, to).map((thread) => thread.lane + 1)));
