// What happened before the page opened, from the server's recording.

import { readTrace } from "./file.js";

/** Reads the events that end at one.
 * @param {string} world the path under which the world answers
 * @param {number} to the last event wanted @param {number} most how many events at most
 * @returns {Promise<import("./file.js").Trace|null>} null where so old events are not kept */
export async function readHistory(world, to, most) {
	const from = Math.max(1, to - most + 1);
	let answer = await fetch(`${world}/trace?from=${from}&to=${to}`);
	// Less than a piece is kept below: without a beginning the server gives what it has.
	if (answer.status === 404) answer = await fetch(`${world}/trace?to=${to}`);
	if (answer.status === 404) return null;
	if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
	return readTrace(await answer.blob());
}
