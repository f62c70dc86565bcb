// A film keeps events and, every so often, the state between them, so that any kept moment can be
// shown. Where the server left a gap the state stands still.

import { apply, clone, create, fromJSON } from "./state.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

/**
 * @typedef {Object} Film
 * @property {(state: State|string) => void} snapshot goes on from a state of the server
 * @property {(events: Event[]) => void} add appends events; those known already are passed over
 * @property {(before: State|null, events: Event[]) => boolean} prepend puts what happened before the
 *   first moment in front: the state before the first of the events, which must end at `first`
 * @property {(gap: {from: string, to: string, counts: Object<string, number>}) => void} gap notes
 *   which events will not come
 * @property {(events: Event[]) => boolean} fill closes a gap with exactly the events that it lacks
 * @property {number} first the oldest moment that can be shown, as a seq
 * @property {number} last the newest
 * @property {(seq: number) => State} stateAt the state after an event; callers must not change it
 * @property {() => State} head the newest state; it changes with the next event
 * @property {(seq: number, accept?: (event: Event) => boolean) => number|null} next
 * @property {(seq: number, accept?: (event: Event) => boolean) => number|null} previous
 * @property {(from: number, to: number) => Event[]} events those kept, both ends included
 * @property {{from: number, to: number, counts: Object<string, number>}[]} gaps
 */

const gapsMax = 100;

/** @param {{every?: number, keep?: number, keyframes?: number}} [options] every: events between two
 * keyframes; keep: how many events at most, not counting those that were put in front;
 * keyframes: how many at most, likewise
 * @returns {Film} */
export function createFilm({ every = 500, keep = 50_000, keyframes: keyframesMax = 120 } = {}) {
	/** @type {Event[]} */
	let events = [];
	/** @type {{seq: number, state: State}[]} */
	let keyframes = [];
	let gaps = [];
	let head = create();
	let extra = { events: 0, keyframes: 0 }; // what prepend brought
	let shown = { seq: -1, state: head };
	begin();

	function begin() {
		events = [];
		gaps = [];
		extra = { events: 0, keyframes: 0 };
		shown = { seq: -1, state: head };
		keyframes = [{ seq: Number(head.seq), state: clone(head) }];
	}

	function keyframe() {
		keyframes.push({ seq: Number(head.seq), state: clone(head) });
		const isOver = () => events.length > keep + extra.events ||
			keyframes.length > keyframesMax + extra.keyframes;
		while (keyframes.length > 2 && isOver()) {
			keyframes.shift();
			events.splice(0, indexAfter(events, keyframes[0].seq));
		}
	}

	function snapshot(json) {
		const last = Number(head.seq);
		const state = fromJSON(json);
		const sameRun = ["seed", "origin", "clusterId"].every((key) => state[key] === head[key]);
		head = state;
		if (last === 0 || !sameRun || Number(state.seq) < last) begin();
		else if (Number(state.seq) > last) keyframe();
		shown = { seq: -1, state: head };
	}

	function add(more) {
		for (const event of more) {
			const last = Number(head.seq);
			if (Number(event.seq) <= last && last > 0) continue;
			apply(head, event);
			events.push(event);
			if (Number(head.seq) - keyframes[keyframes.length - 1].seq >= every) keyframe();
		}
	}

	/** @param {State} state @param {Event[]} more @returns the keyframes before and between them */
	function framesOf(state, more) {
		const frames = [];
		more.forEach((event, i) => {
			if (i % every === 0) frames.push({ seq: Number(state.seq), state: clone(state) });
			apply(state, event);
		});
		return frames;
	}

	function fill(more) {
		const from = Number(more[0]?.seq), to = Number(more.at(-1)?.seq);
		const gap = gaps.find((g) => g.from === from && g.to === to);
		if (!gap || more.length !== to - from + 1 || from <= keyframes[0].seq) return false;
		const frames = framesOf(clone(stateAt(from - 1)), more).slice(1);
		events.splice(indexAfter(events, from - 1), 0, ...more);
		keyframes.splice(indexAfter(keyframes, from - 1), 0, ...frames);
		gaps = gaps.filter((g) => g !== gap);
		shown = { seq: -1, state: head };
		return true;
	}

	function prepend(before, more) {
		const first = keyframes[0].seq;
		const start = before ? Number(before.seq) : 0;
		if (more.length !== first - start || Number(more.at(-1)?.seq) !== first) return false;
		const older = framesOf(before ? fromJSON(before) : create(), more);
		events = more.concat(events);
		keyframes = older.concat(keyframes);
		extra = { events: extra.events + more.length, keyframes: extra.keyframes + older.length };
		return true;
	}

	function stateAt(seq) {
		if (shown.seq === seq) return shown.state;
		const wanted = Math.min(Math.max(seq, keyframes[0].seq), Number(head.seq));
		const nearest = keyframes[indexAfter(keyframes, wanted) - 1];
		const state = clone(nearest.state);
		for (let i = indexAfter(events, nearest.seq); i < events.length; i++) {
			if (Number(events[i].seq) > wanted) break;
			apply(state, events[i]);
		}
		shown = { seq, state };
		return state;
	}

	return {
		snapshot,
		add,
		prepend,
		fill,
		gap(gap) {
			gaps.push({ from: Number(gap.from), to: Number(gap.to), counts: gap.counts });
			if (gaps.length > gapsMax) gaps.shift();
		},
		get first() { return keyframes[0].seq; },
		get last() { return Number(head.seq); },
		get gaps() { return gaps; },
		stateAt,
		head: () => head,
		next(seq, accept = () => true) {
			for (let i = indexAfter(events, seq); i < events.length; i++) {
				if (accept(events[i])) return Number(events[i].seq);
			}
			return null;
		},
		previous(seq, accept = () => true) {
			for (let i = indexAfter(events, seq - 1) - 1; i >= 0; i--) {
				if (accept(events[i])) return Number(events[i].seq);
			}
			return null;
		},
		events: (from, to) => events.slice(indexAfter(events, from - 1), indexAfter(events, to)),
	};
}

/** @param {{seq: string|number}[]} list sorted by seq @param {number} seq
 * @returns {number} the index of the first element beyond seq */
function indexAfter(list, seq) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (Number(list[middle].seq) <= seq) low = middle + 1;
		else high = middle;
	}
	return low;
}
