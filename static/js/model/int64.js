// 64-bit values are decimal strings. Nearly all are small enough for a Number; those that are not
// take the slow way, so that the fold stays equal to the one in Go.

/** Compares two 64-bit values.
 * @param {string} a @param {string} b
 * @returns {number} negative when a is smaller, 0 when they are equal */
export function compare(a, b) {
	if (a.length < 16 && b.length < 16) return Number(a) - Number(b);
	const x = BigInt(a), y = BigInt(b);
	return x < y ? -1 : x > y ? 1 : 0;
}

/** 40117 is written 40,117.
 * @param {number|string} n an integer @returns {string} */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** @param {string} a @returns {string} a + 1, as Go's int64 counts: the largest wraps around */
export function successor(a) {
	if (a.length < 16) return String(Number(a) + 1);
	return String(BigInt.asIntN(64, BigInt(a) + 1n));
}

/** @param {string} a @param {string} b @returns {string} */
export function smaller(a, b) {
	return compare(a, b) <= 0 ? a : b;
}

/** @param {string} a @param {string} b @returns {string} */
export function larger(a, b) {
	return compare(a, b) >= 0 ? a : b;
}
