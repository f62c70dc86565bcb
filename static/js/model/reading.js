// The events that people read, apart from the machinery between them, so that a list of the newest
// hundred need not look at every idle fetch of an hour.

/** @typedef {import("./state.js").Event} Event */

/**
 * @param {(event: Event) => boolean} accepts
 * @param {number} most how many events are kept
 */
export function createReading(accepts, most) {
  /** @type {Event[]} */
  let kept = [];

  return {
    /** @param {Event[]} events newer than those that are there */
    add(events) {
      for (const event of events) if (accepts(event)) kept.push(event);
      // A tenth goes at a time: moving the whole list for each event would cost more than reading.
      if (kept.length > most * 1.1) kept = kept.slice(-most);
    },
    /** @param {Event[]} events older than those that are there */
    prepend(events) {
      kept = events.filter(accepts).concat(kept).slice(-most);
    },
    clear() { kept = []; },
    /**
     * @param {number} seq
     * @returns {Generator<Event>} those up to seq, newest first
     */
    *upTo(seq) {
      let low = 0, high = kept.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (Number(kept[middle].seq) <= seq) low = middle + 1;
        else high = middle;
      }
      for (let i = low - 1; i >= 0; i--) yield kept[i];
    },
  };
}
