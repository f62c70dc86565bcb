// Folded history: which of its offsets still hold a record, where compaction took others.

import { shortOffset } from './format.js';

/** @typedef {{from: number, to: number}} Run */

/** What lies in the fold of a copy; null where it has nothing there. Where nothing is kept, its
 *  holes are drawn as they are; where there is something between them, the fold draws both: two
 *  plates would lie on each other.
 *  @param {object} copy @param {Run | null} fold
 *  @returns {{start: number, end: number, kept: Run[], count: number, isSieve: boolean,
 *  isKnown: boolean} | null} isKnown: whether every hole of it was told */
export function foldOf(copy, fold) {
	if (!fold) return null;
	const end = Math.min(fold.to, copy.leo);
	const start = Math.max(copy.start, fold.from);
	if (start >= end) return null;
	const holes = copy.holes.filter(({ from, to }) => from < end && to > start);
	const kept = [];
	let at = start;
	for (const { from, to } of holes) {
		if (from > at) kept.push({ from: at, to: from });
		at = Math.max(at, to);
	}
	if (at < end) kept.push({ from: at, to: end });
	const count = kept.reduce((sum, { from, to }) => sum + to - from, 0);
	const isKnown = copy.holesFrom <= start;
	return { start, end, kept, count, isKnown, isSieve: count > 0 && holes.length > 0 };
}

/** Which offsets are kept, in so many letters; '' where they are too many for that.
 *  @returns {string} */
export function keptWords({ kept, isKnown }, letters) {
	if (!isKnown || kept.length > letters) return '';
	const words = kept.map(({ from, to }) => {
		const [first, last] = [shortOffset(from), shortOffset(to - 1)];
		return from === to - 1 ? first : `${first}${from === to - 2 ? ', ' : '–'}${last}`;
	}).join(', ');
	return words.length <= letters ? words : '';
}

/** The part of a hole that is drawn on its own: none, or its upper end, where the fold shows the
 *  rest.
 *  @param {Run} hole @returns {Run} empty for none */
export const besideFold = (hole, of) =>
	of?.isSieve ? { from: Math.max(hole.from, of.end), to: hole.to } : hole;
