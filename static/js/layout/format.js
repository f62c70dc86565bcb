// How numbers, names and times are written.

import { grouped as shortOffset } from '../model/int64.js';

export { shortOffset };

/** @param {number} ns virtual nanoseconds since the world began */
export function formatClock(ns) {
	const ms = ns / 1e6;
	if (ms < 1000) return `${ms.toFixed(1)} ms`;
	const s = ms / 1000;
	if (s < 100) return `${s.toFixed(3)} s`;
	const minutes = Math.floor(s / 60);
	const rest = (s - minutes * 60).toFixed(1).padStart(4, '0');
	if (minutes < 60) return `${minutes}:${rest}`;
	return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${rest}`;
}

/** @param {number} n a count that only has to be roughly right */
export function shortCount(n) {
	if (n < 10_000) return shortOffset(n);
	if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)}k`;
	return `${(n / 1e6).toFixed(1)}M`;
}

/** @param {number[]} ids */
export const idList = (ids) => (ids.length ? ids.join(', ') : 'none');

/** The name of a node in a sentence; ids above 100 are controllers.
 * @param {number} id @param {{controllers: {id: number}[]}} scene */
export const nodeName = (id, scene) =>
	scene.clientOf?.get(id)?.id ??
	`${scene.controllers.some((node) => node.id === id) ? 'controller' : 'broker'} ${id}`;
