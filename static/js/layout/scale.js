// The offset scale: how high above the tank floor an offset is drawn.
// All replicas and all readers of one partition share one scale, so that equal
// offsets lie on one horizontal line across the whole stage. Where a log is longer
// than the tank, its oldest offsets are folded: squeezed together at the bottom.

const ROW_SIZES = [5.6, 4.8, 4, 3.2, 2.6, 2.1, 1.75, 1.5]; // rem, roomiest first
const LARGE_FROM = 3.2;
const HUGE_FROM = 4;
const TIGHT_BELOW = 2.3;
const ROW_BESIDE_FOLD = 1.5;
const FOLD = 2.6; // rem
const FEWEST_ROWS = 2;
const LOW_ROOM = 8; // rem; below there the records need what a fold of full height would take
const LEAST_FOLD = 1.3; // rem
const ROWS_BESIDE_HOLES = 6;
const ROWS_OF_CUT = 3; // above the logs' end, where a cut took more than there is room for
const AIR_OF_COMPACTED = 2.6; // rem above the rows: its history needs the height

/**
 * @typedef {object} Scale
 * @property {number} from the lowest offset that has a row of its own
 * @property {number} to the offset above the highest row
 * @property {{from: number, to: number} | null} fold
 * @property {number} row height of a row in pixels
 * @property {(offset: number) => number} y height of the line that position `offset` sits on
 */

/** @param {{start: number, end: number, live?: number, cutFrom?: number, isCompacted?: boolean,
 *  holesTo?: number}} range the offsets that any replica holds, up to live, and those that were cut
 *  off, up to end, of which those from cutFrom on are known; of a compacted log that is folded,
 *  what lies above the last hole has rows, and the rest of the room is the fold's
 *  @param {{height: number, unit: number, headroom: number}} tank
 *  @returns {Scale} */
export function offsetScale(range, { height, unit, headroom }) {
	const air = range.isCompacted ? Math.min(headroom, AIR_OF_COMPACTED) : headroom;
	const room = Math.max(FEWEST_ROWS * ROW_BESIDE_FOLD + LEAST_FOLD, height / unit - air);
	const { start, live = range.end } = range;
	const least = room < LOW_ROOM ? LEAST_FOLD : FOLD;
	const most = Math.max(FEWEST_ROWS, Math.floor((room - least) / ROW_BESIDE_FOLD));
	const countTo = (to) => Math.max(to - start, FEWEST_ROWS);
	const wholeTo = (to) => ROW_SIZES.find((rem) => countTo(to) * rem <= room);
	// What the logs hold comes before what they have lost.
	const some = Math.min(ROWS_OF_CUT, Math.floor(most / 2));
	const ofCut = range.cutFrom < live + some ? some : 0;
	const end = wholeTo(range.end) ? range.end : Math.min(range.end, live + ofCut);
	const count = countTo(end);
	const whole = wholeTo(end);
	const size = whole ?? ROW_BESIDE_FOLD;
	const rows = whole ? count : range.isCompacted ? rowsAboveHoles(range, end, most) : most;
	const from = whole ? start : end - rows;
	const fold = whole ? null : { from: start, to: from };
	const foldHeight = fold ? (room - rows * size) * unit : 0;
	const row = size * unit;

	const y = (offset) => {
		if (!fold || offset >= fold.to) return foldHeight + Math.max(0, offset - from) * row;
		const share = (offset - fold.from) / (fold.to - fold.from);
		return Math.max(0, share) * foldHeight;
	};

	return {
		from,
		to: from + rows,
		fold,
		row,
		foldHeight,
		isLarge: size >= LARGE_FROM,
		isHuge: size >= HUGE_FROM,
		isTight: size < TIGHT_BELOW,
		y,
	};
}

function rowsAboveHoles({ holesTo }, end, most) {
	const above = end - holesTo;
	return above > most || above < FEWEST_ROWS ? Math.min(most, ROWS_BESIDE_HOLES) : above;
}
