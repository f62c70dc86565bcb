// Runs of offsets that a client was given, in order and apart from each other.

import { compare, larger, smaller } from "./int64.js";

/** How many runs are kept of a partition. */
export const runsMax = 64;

/** Adds to what was read. Of too many runs the two lowest become one, with what lay between: what was
 * read long ago is drawn small. @param {{from: string, to: string}[]} read @param more likewise */
export function readMore(read, more) {
	const runs = joined(read, more);
	const over = runs.length - runsMax;
	if (over > 0) runs[over].from = runs[0].from;
	return over > 0 ? runs.slice(over) : runs;
}

/** Puts runs in order and makes one of those that touch. */
export function joined(read, more) {
	const runs = [];
	const all = [...read, ...more]
		.sort((a, b) => compare(a.from, b.from) || compare(a.to, b.to));
	for (const run of all) {
		const last = runs.at(-1);
		if (last && compare(run.from, last.to) <= 0) last.to = larger(last.to, run.to);
		else runs.push({ ...run });
	}
	return runs;
}

export const runsBelow = (runs = [], end) => runs.filter(({ from }) => compare(from, end) < 0)
	.map(({ from, to }) => ({ from, to: smaller(to, end) }));
