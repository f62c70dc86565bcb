// The lesson's conductor: runs steps on the server and shows each afterwards at the pace of a film.

import { askedNow, endOf, lessonOf, placeOf, sectionOf } from '../model/lesson.js';
import { drawLesson, keepInSight } from '../view/lesson.js';
import { ask, isPresenter, meta, open, worldPath } from './commands.js';
import { placesIn } from './telling.js';
import { part } from '../view/dom.js';

const STEP_MS = 12_000; // what a step's film takes at most
const STORY_MS = 60_000; // the whole story
const STORY_REST_MS = 1600; // after each of its steps, to read what was seen
const REFRESH_MS = 200;
const WRITES = ['TopicCreated', 'BatchAppended'];
const TURNS_MOST = 5;
const YOURS = 'The controls are yours: go back, play freely, open another lesson, or ' +
	'go to the live cluster.';

/** Opens the lesson of this page's world; null where there is none.
 *  @param {{session: object, act: object, toast: Function}} parts */
export function createLesson({ session, act, toast }) {
	if (!meta('lesson')) return null;
	const panel = {
		lesson: null,
		votes: votesOf(meta('world')),
		asked: [], // predictions that were pointed at, so that a second N goes on
		note: '',
		story: new URLSearchParams(location.search).has('story'),
		isRunning: false,
		isGone: false,
		drawn: '',
	};
	let refreshAt = 0;
	let turn = 0; // of what the server was asked or said last
	let restAt = 0;
	let wanted = stepOfAddress(); // at whose end the page is to be; -1 for none
	let isTurned = false; // to the partition of the step at whose end the page opened
	let turnedAt = Infinity; // the first event that the page had then

	const place = () => placeOf(panel.lesson, session.seq());
	const isReady = () => panel.lesson && session.hasState && session.seq() >= panel.lesson.begin;

	/** Takes what the server says of the lesson. */
	function take(state) {
		if (session.file) return;
		turn++;
		const isFirst = !panel.lesson;
		panel.lesson = lessonOf(state);
		if (isFirst) tellOf(panel.lesson.done);
		panel.sections = new Map();
		for (const { section } of panel.lesson.steps) {
			panel.sections.set(section, sectionOf(panel.lesson, section));
		}
		session.begin = panel.lesson.begin;
		session.isDirty = true;
		session.hold = !panel.lesson.free;
		session.lesson = panel.lesson.free ? null : { next, back, resume };
		part('app').dataset.lesson = panel.lesson.free ? 'free' : 'steps';
	}

	/** The caption tells what mattered in the step that ends here, and not its last event. */
	function tellOf(steps) {
		session.isTold = true;
		session.toldFrom = panel.lesson.steps[steps - 1]?.from ?? 0;
	}

	async function refresh() {
		const mine = ++turn;
		const answer = await ask(`${worldPath()}/lesson`);
		if (mine !== turn) { // a step may have run since that was said
			refreshAt = performance.now() + REFRESH_MS;
		} else if (answer.ok) {
			const before = panel.lesson?.done ?? answer.done;
			const isFollowing = isReady() && !panel.isRunning && place().shown === before;
			take(answer);
			if (isFollowing && before < panel.lesson.done) follow();
		} else if (answer.status === 404) {
			panel.isGone = true;
			panel.note = `${answer.error}.`;
			panel.story = false;
		}
	}

	/** Somebody else ran a step: it is shown here too. */
	function follow() {
		if (act.isFollowing()) return; // the presenter's place says which moment is shown
		const end = endOf(panel.lesson, panel.lesson.done);
		if (session.isPast() && !session.playing) show(session.seq() + 1, end);
	}

	/** Shows a stretch of events, when they have all arrived. */
	async function show(from, to, budget = STEP_MS) {
		isTurned = true;
		if (!(await session.arrived(to))) return;
		turnTo(from, to);
		session.show(from, to, budget, () => {
			restAt = performance.now();
		});
	}

	/** The stage shows the partition that the step writes to, or makes, or else asks about. Of a long
	 *  step the film may lack events, so what it asks is read where the page has it written.
	 *  @returns {boolean} whether the step is about a partition */
	function turnTo(from, to) {
		const events = session.film.events(from, to);
		const isWrite = ({ event, fields }) =>
			WRITES.includes(event) && !fields.topic.startsWith('__');
		const written = events.findLast(isWrite);
		if (written) {
			act.turnTo(written.fields.topic, written.fields.partition ?? 0);
			return true;
		}
		const asked = placesIn(commandOf(panel.lesson.steps.find((step) => step.to === to)));
		const names = session.film.head().topics.map(({ name }) => name);
		const place = asked.find(({ topic }) => names.includes(topic));
		if (place) act.turnTo(place.topic, place.partition);
		return Boolean(place);
	}

	/** The stage shows what the newest of the first so many steps is about.
	 *  @returns {boolean} whether the page had all events that tell */
	function turnAtEndOf(steps) {
		let isSure = true;
		for (let i = steps - 1; i >= 0; i--) {
			const { from, to } = panel.lesson.steps[i];
			isSure &&= session.film.first < from;
			if (turnTo(from, to)) break;
		}
		return isSure;
	}

	const budget = () => (panel.story
		? Math.max(1500, STORY_MS / panel.lesson.steps.length - STORY_REST_MS) : STEP_MS);

	/** On: to the end of a step that is being shown; else the next one, which runs if it has not.
	 *  @param {boolean} isWhole whether it is shown as a film, or only its first event or request */
	async function next(isWhole = true) {
		if (act.isFollowing()) return undefined;
		if (panel.isGone) return restart();
		if (!isReady() || panel.isRunning) return undefined;
		const { shown, inside } = place();
		if (session.skip() || (panel.lesson.free && shown === panel.lesson.done)) return undefined;
		if (inside >= 0) {
			session.moveTo(endOf(panel.lesson, shown + 1));
			return tellOf(shown + 1);
		}
		if (shown < panel.lesson.done) {
			return begin(panel.lesson.steps[shown], isWhole);
		}
		if (!isPresenter() || pointAtQuestion()) return undefined;
		return run(shown, isWhole);
	}

	async function run(shown, isWhole) {
		if (shown >= panel.lesson.steps.length) return;
		panel.isRunning = true;
		panel.note = '';
		session.pin();
		const answer = await ask(`${worldPath()}/steps/next`, { after: shown });
		if (answer.ok) take(answer);
		panel.isRunning = false;
		if (!answer.ok) {
			panel.story = false;
			toast('The step did not run', answer.error);
			if (answer.status === 404) refresh();
			return;
		}
		if (panel.lesson.failure) panel.note = `The lesson ends here: ${panel.lesson.failure}`;
		await begin(panel.lesson.steps[shown], isWhole);
	}

	/** Begins to show a step that ran. */
	async function begin(step, isWhole) {
		if (isWhole) return show(step.from, step.to, budget());
		if (await session.arrived(step.to)) session.stepOn();
		return undefined;
	}

	/** A prediction that nobody made is pointed at once; who goes on anyway may. */
	function pointAtQuestion() {
		if (panel.story) return false;
		const open = askedNow(panel.lesson, place()).filter((p) =>
			p.right < 0 && !panel.votes.has(p.line) && !panel.asked.some((each) => each.line === p.line));
		if (!open.length) return false;
		panel.asked = open;
		panel.note = 'Predict first; or press N again to go on without.';
		const box = document.querySelector(`.predict[data-line="${open[0].line}"]`);
		box.scrollIntoView({ block: 'center' });
		box.querySelector('.option').focus();
		return true;
	}

	/** Back: the film stands before the step that is shown, or was shown last. */
	function back() {
		if (!isReady() || panel.isGone || act.isFollowing()) return;
		const { shown, inside } = place();
		panel.story = false;
		const step = inside >= 0 ? inside : shown - 1;
		if (step >= 0) goToEnd(step);
	}

	/** The page shows the end of the first so many steps, as soon as it has their events. */
	function goToEnd(steps) {
		isTurned = true;
		wanted = steps;
		arrive();
	}

	/** Plays the rest of the step that is shown in part. */
	function resume() {
		const { inside } = place();
		if (inside >= 0) show(session.seq() + 1, panel.lesson.steps[inside].to);
		else next();
	}

	async function free() {
		const { shown } = place();
		const answer = await ask(`${worldPath()}/free`, { after: shown });
		if (answer.ok) open(answer.page);
		else toast('Free play did not begin', answer.error);
	}

	async function giveBack() {
		const { parent, from, scenario } = panel.lesson;
		const answer = await ask(`/api/worlds/${encodeURIComponent(parent)}/lesson`);
		const page = `/lesson/${encodeURIComponent(scenario)}`;
		open(answer.ok ? `${page}?world=${encodeURIComponent(parent)}#step-${from}` : page);
	}

	async function reset() {
		const answer = await ask(`${worldPath()}/reset`, {});
		if (!answer.ok) return toast('The lesson was not reset', answer.error);
		panel.votes.clear();
		return open(`/lesson/${encodeURIComponent(meta('lesson'))}?world=${meta('world')}`);
	}

	const restart = () => open(`/lesson/${encodeURIComponent(meta('lesson'))}`);

	function skipStory() {
		if (!panel.story) return false;
		panel.story = false;
		if (session.playing) next();
		panel.note = YOURS;
		return true;
	}

	/** The story goes on by itself. */
	function tellOn(now) {
		if (!panel.story || panel.isRunning || session.playing || session.isPast()) return;
		if (place().shown === panel.lesson.steps.length) {
			panel.story = false;
			panel.note = YOURS;
		} else if (now - restAt >= STORY_REST_MS) {
			restAt = now;
			next();
		}
	}

	bind();
	const sizes = new ResizeObserver(keepInSight); // what was seen is told when its events are there
	for (const box of [part('lesson-body'), ...document.querySelectorAll('.saw')]) sizes.observe(box);
	refresh();

	function bind() {
		for (const button of document.querySelectorAll('.option')) {
			button.onclick = () => {
				const line = Number(button.closest('.predict').dataset.line);
				panel.votes.set(line, Number(button.dataset.answer));
				panel.note = '';
			};
		}
		const on = { 'lesson-next': () => next(), 'lesson-back': back, 'lesson-free': free,
			'lesson-reset': reset, 'lesson-return': giveBack, 'lesson-skip': () => next(),
			'story-skip': skipStory };
		for (const [id, action] of Object.entries(on)) {
			if (part(id)) part(id).onclick = action;
		}
		for (const row of document.querySelectorAll('.step-row')) {
			row.onclick = () => goTo(Number(row.dataset.step));
		}
	}

	/** A step that ran is shown again from its beginning. */
	function goTo(step) {
		if (act.isFollowing() || !isReady() || panel.lesson.free || step >= panel.lesson.done) return;
		panel.story = false;
		goToEnd(step);
		if (wanted < 0) next();
	}

	/** Older events are read until those that are wanted are there. */
	function arrive() {
		if (wanted > panel.lesson.done) wanted = -1; // somebody began the lesson again
		if (wanted < 0) return;
		const end = endOf(panel.lesson, wanted);
		if (session.film.first > end) {
			session.recall();
			return;
		}
		session.seek(end);
		tellOf(wanted);
		turnAtEndOf(wanted);
		wanted = -1;
	}

	const turns = {
		key: '',
		of(section) {
			const { from, to } = panel.sections.get(section);
			return session.turns(from, to, TURNS_MOST);
		},
	};

	return {
		next: () => next(),
		back,
		skipStory,
		panel,
		/** @param {object[]} events that came in */
		onArrived(events) {
			const isNews = events.some(({ event, fields }) =>
				event === 'CommandRan' && /^(scenario|predict)$/.test(fields.by));
			if (isNews && !panel.isRunning) refreshAt = performance.now() + REFRESH_MS;
		},
		onStatus: () => panel.lesson && refresh(),
		tick(now) {
			if (refreshAt && now >= refreshAt) {
				refreshAt = 0;
				refresh();
			}
			if (!isReady()) return;
			// What the presenter is told of a step, its viewers are.
			if (act.isFollowing()) session.toldFrom = panel.lesson.steps[place().shown - 1]?.from ?? 0;
			if (!isTurned && session.film.first < turnedAt) {
				turnedAt = session.film.first;
				isTurned = wanted >= 0 || turnAtEndOf(panel.lesson.done);
			}
			arrive();
			tellOn(now);
			draw();
		},
	};

	function draw() {
		const { lesson, votes, asked, note, story, isRunning, isGone } = panel;
		const here = place();
		const key = [here.shown, here.inside, lesson.done, lesson.failure, session.playing, isRunning,
			isGone, note, story, asked.length, ...votes.values(), session.film.first].join('/');
		if (key === panel.drawn) return;
		panel.drawn = key;
		turns.key = `${lesson.done}/${session.film.first}`;
		const isPlaying = session.playing;
		const { sections } = panel;
		const mayRun = isPresenter();
		drawLesson({ lesson, place: here, isPlaying, isRunning, isGone, votes, asked, sections, turns,
			note, story, mayRun, act });
		if (!lesson.free) part('app').dataset.story = story ? 'told' : 'over';
	}
}

const commandOf = (step) =>
	document.querySelector(`.step[data-step="${step?.index}"] .step-do`)?.textContent ?? '';

function stepOfAddress() {
	const found = /^#step-(\d+)$/.exec(location.hash);
	return found ? Number(found[1]) : -1;
}

/** The answers that were picked in this tab, which a reload keeps. */
function votesOf(world) {
	const name = `votes-${world}`;
	let kept = [];
	try {
		kept = JSON.parse(sessionStorage.getItem(name) ?? '[]');
	} catch {
		// Without storage a reload forgets the answers.
	}
	const votes = new Map(kept);
	const store = () => {
		try {
			sessionStorage.setItem(name, JSON.stringify([...votes]));
		} catch {
			// As above.
		}
	};
	return {
		get: (line) => votes.get(line),
		has: (line) => votes.has(line),
		values: () => votes.values(),
		set(line, answer) {
			votes.set(line, answer);
			store();
		},
		clear() {
			votes.clear();
			store();
		},
	};
}
