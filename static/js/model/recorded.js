// A trace that was read as a film that holds all of it.

import { createFilm } from "./film.js";

const pieceMax = 4000; // events folded at a time, so that the page goes on drawing
const everyFew = 300; // keyframes, at most: they are what a film weighs

/** @typedef {import("./film.js").Film} Film */

/** Folds a trace. An error names the line of the event that cannot be folded.
 * @param {import("../source/file.js").Trace} trace @param {() => Promise<void>} breathe waited for
 *   between pieces @returns {Promise<Film>} */
export async function filmOf({ keyframe, events }, breathe) {
	const every = Math.max(500, Math.ceil(events.length / everyFew));
	const film = createFilm({ every, keep: Infinity, keyframes: Infinity });
	if (keyframe) film.snapshot(keyframe);
	const firstLine = keyframe ? 3 : 2;
	let done = 0;
	try {
		for (; done < events.length; done += pieceMax) {
			film.add(events.slice(done, done + pieceMax));
			await breathe();
		}
	} catch {
		// The fold notes an event's number before it folds it.
		const at = events.findIndex((event) => Number(event.seq) === film.last);
		throw new Error(`line ${firstLine + Math.max(at, 0)}: this event does not say what it should`);
	}
	return film;
}
