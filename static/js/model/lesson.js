// A lesson: which of its steps the moment on the screen belongs to, and at which pace a step that
// has already happened is shown.

/**
 * @typedef {Object} Step
 * @property {number} index
 * @property {number} section
 * @property {string} status ahead, held or failed, as the server says
 * @property {string} seen what the step found, empty before it ran
 * @property {boolean} checks
 * @property {number} from the step's first event, 0 before it ran
 * @property {number} to its last one
 *
 * @typedef {Object} Lesson
 * @property {string} world
 * @property {string} scenario
 * @property {boolean} free
 * @property {string} parent
 * @property {number} from
 * @property {number} begin the last event before the first step
 * @property {number} done how many steps ran
 * @property {string} failure
 * @property {Step[]} steps
 * @property {{line: number, section: number, right: number, seen: string, answers: string[]}[]}
 *   predictions
 */

/** @param {Object<string, any>} state as the server gives it @returns {Lesson} */
export function lessonOf(state) {
	return {
		world: state.world,
		scenario: state.scenario,
		free: state.free,
		parent: state.parent ?? "",
		from: state.from,
		begin: Number(state.booted.to),
		done: state.done,
		failure: state.failure ?? "",
		steps: state.steps.map((step, index) => ({
			index,
			section: step.section,
			status: step.status,
			seen: step.seen ?? "",
			checks: step.checks,
			from: Number(step.from),
			to: Number(step.to),
		})),
		predictions: state.predictions,
	};
}

/** @param {Lesson} lesson @param {number} steps
 * @returns {number} the last event of the first so many steps */
export const endOf = (lesson, steps) => (steps > 0 ? lesson.steps[steps - 1].to : lesson.begin);

/** @param {Lesson} lesson @param {number} seq the event that is shown
 * @returns {{shown: number, inside: number}} how many steps are shown to their end, and which one is
 *   shown in part, -1 for none */
export function placeOf(lesson, seq) {
	let shown = 0;
	while (shown < lesson.done && lesson.steps[shown].to <= seq) shown++;
	const isInside = shown < lesson.done && seq > endOf(lesson, shown);
	return { shown, inside: isInside ? shown : -1 };
}

/** @param {Lesson} lesson @param {number} section
 * @returns {{from: number, to: number, first: number, last: number}} its events and the indexes of
 *   its first and last steps; to is 0 before the last one ran */
export function sectionOf(lesson, section) {
	const steps = lesson.steps.filter((step) => step.section === section);
	const last = steps[steps.length - 1];
	return { from: steps[0].from, to: last.index < lesson.done ? last.to : 0,
		first: steps[0].index, last: last.index };
}

/** @param {Lesson} lesson @param {{shown: number, inside: number}} place
 * @returns the predictions that should be answered before the step that comes next */
export function askedNow(lesson, { shown, inside }) {
	const next = lesson.steps[inside >= 0 ? inside : shown];
	if (!next || inside >= 0 || lesson.steps[shown - 1]?.section === next.section) return [];
	return lesson.predictions.filter((p) => p.section === next.section);
}

const unitMost = 130; // milliseconds that an ordinary event takes at most

/** When each event is shown, so that all of them fit into a time and what tells something stays
 * longer than the messages between.
 * @template E @param {E[]} events @param {(event: E) => number} weight @param {number} budget ms
 * @returns {{at: number[], length: number}} milliseconds from the beginning, one an event */
export function schedule(events, weight, budget) {
	const total = events.reduce((sum, event) => sum + weight(event), 0);
	const unit = Math.min(unitMost, total > 0 ? budget / total : 0);
	let at = 0;
	const moments = events.map((event) => {
		const mine = at;
		at += weight(event) * unit;
		return mine;
	});
	return { at: moments, length: at };
}
