// Folds what compaction leaves without a record.

import { compare, larger, smaller, successor } from "./int64.js";
import { keepNewest } from "./places.js";

const holesMax = 128;
const holesToldMax = 64; // of a segment; the newest

/** Puts a compacted segment in its originals' place. A batch that lies wholly in a hole is gone; of
 * one that lies partly in one, the holes say what is missing.
 * @param {any} log @param {Object<string, any>} f */
export function segmentsSwapped(log, f) {
	const { baseOffset: base, nextOffset: next } = f;
	log.segmentCount = Math.max(1, log.segmentCount - Math.max(0, f.segments - 1));
	log.segments = log.segments.filter((o) => compare(o, base) <= 0 || compare(o, next) >= 0);
	log.holes = log.holes.filter((h) => compare(h.from, base) < 0 || compare(h.from, next) >= 0);
	let at = 0;
	while (at < log.holes.length && compare(log.holes[at].from, base) < 0) at++;
	const holes = parseRuns(f.holes);
	log.holes.splice(at, 0, ...holes);
	if (compare(next, log.holesFrom) >= 0) log.holesFrom = smaller(log.holesFrom, base);
	if (holes.length >= holesToldMax) log.holesFrom = larger(log.holesFrom, holes[0].from);
	boundHoles(log);
	log.batches = log.batches.filter((b) => !holes.some((h) => (
		compare(h.from, b.baseOffset) <= 0 && compare(b.lastOffset, h.to) < 0)));
}

/** Takes over what was found in the files; below that, what was known of them stays.
 * @param {any} log @param {Object<string, any>} f */
export function openedHoles(log, f) {
	const isFirst = compare(log.synced, "0") < 0;
	if (isFirst || compare(f.holesFrom, log.holesFrom) < 0) log.holesFrom = f.holesFrom;
	keepHoles(log, (h) => ({ from: h.from, to: smaller(h.to, f.holesFrom) }));
	log.holes.push(...parseRuns(f.holes));
	boundHoles(log);
}

/** Lets the oldest go: whether there were more below the others is then not known.
 * @param {any} log */
function boundHoles(log) {
	if (log.holes.length <= holesMax) return;
	keepNewest(log.holes, holesMax);
	log.holesFrom = larger(log.holesFrom, log.holes[0].from);
}

/** Changes every hole and drops those that end up empty.
 * @param {any} log
 * @param {(hole: {from: string, to: string}) => {from: string, to: string}} change */
export function keepHoles(log, change) {
	log.holes = log.holes.map(change).filter((h) => compare(h.from, h.to) < 0);
}

/** Reads 0-176,180-182; what is not of that form says nothing. @param {string} text */
export function parseRuns(text = "") {
	const runs = [];
	for (const part of text.split(",")) {
		const match = /^(\d{1,18})-(\d{1,18})$/.exec(part);
		if (match === null || compare(match[1], match[2]) > 0) continue;
		runs.push({ from: String(BigInt(match[1])), to: successor(String(BigInt(match[2]))) });
	}
	return runs;
}
