// Folds what compaction leaves without a record.

import { compare, successor } from "./int64.js";
import { keepNewest } from "./places.js";

const holesMax = 128;

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
	const holes = parseHoles(f.holes);
	log.holes.splice(at, 0, ...holes);
	keepNewest(log.holes, holesMax);
	log.batches = log.batches.filter((b) => !holes.some((h) => (
		compare(h.from, b.baseOffset) <= 0 && compare(b.lastOffset, h.to) < 0)));
}

/** Changes every hole and drops those that end up empty.
 * @param {any} log
 * @param {(hole: {from: string, to: string}) => {from: string, to: string}} change */
export function keepHoles(log, change) {
	log.holes = log.holes.map(change).filter((h) => compare(h.from, h.to) < 0);
}

/** Reads 0-176,180-182; what is not of that form says nothing. @param {string} text */
function parseHoles(text) {
	const holes = [];
	for (const part of text.split(",")) {
		const match = /^(\d{1,18})-(\d{1,18})$/.exec(part);
		if (match === null || compare(match[1], match[2]) > 0) continue;
		holes.push({ from: String(BigInt(match[1])), to: successor(String(BigInt(match[2]))) });
	}
	return holes;
}
