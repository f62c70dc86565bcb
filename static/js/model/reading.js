// The events that people read, apart from the machinery between them, so that a list of the newest
// hundred need not look at every idle fetch of an hour.

/** @typedef {import("./state.js").Event} Event */

/** @param {(event: Event) => boolean} accepts @param {number} most how many events are kept */
export function createReading(accepts, most) {
	/** @type {Event[]} */
	let kept = [];

	/** @param {number} seq @returns {number} the index of the first one beyond seq */
	function after(seq) {
		let low = 0, high = kept.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (Number(kept[middle].seq) <= seq) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	return {
		/** @param {Event[]} events newer than those that are there */
		add(events) {
			for (const event of events) if (accepts(event)) kept.push(event);
			// A tenth goes at a time: moving the whole list for each event would cost more than reading.
			if (kept.length > most * 1.1) kept = kept.slice(-most);
		},
		/** @param {Event[]} events older than some that are there, and next to each other */
		insert(events) {
			const at = after(Number(events[0].seq));
			kept = kept.slice(0, at).concat(events.filter(accepts), kept.slice(at)).slice(-most);
		},
		clear() { kept = []; },
		/** @param {number} seq @returns {Generator<Event>} those up to seq, newest first */
		*upTo(seq) {
			for (let i = after(seq) - 1; i >= 0; i--) yield kept[i];
		},
	};
}
