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

/**
 * @typedef {object} Scale
 * @property {number} from the lowest offset that has a row of its own
 * @property {number} to the offset above the highest row
 * @property {{from: number, to: number} | null} fold
 * @property {number} row height of a row in pixels
 * @property {(offset: number) => number} y height of the line that position `offset` sits on
 */

/** @param {{start: number, end: number}} range the offsets that any replica holds
 *  @param {{height: number, unit: number, headroom: number}} tank
 *  @returns {Scale} */
export function offsetScale({ start, end }, { height, unit, headroom }) {
	const room = Math.max(FEWEST_ROWS * ROW_BESIDE_FOLD + FOLD, height / unit - headroom);
	const count = Math.max(end - start, FEWEST_ROWS);
	const whole = ROW_SIZES.find((rem) => count * rem <= room);
	const size = whole ?? ROW_BESIDE_FOLD;
	const rows = whole ? count : Math.max(FEWEST_ROWS, Math.floor((room - FOLD) / size));
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
