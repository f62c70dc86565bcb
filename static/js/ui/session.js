// The session: which moment of the cluster the page looks at. It joins the film of events
// with the live stream, and turns the transport's buttons into moves of the one or
// commands to the other.

import { createFilm } from '../model/film.js';
import { toJSON } from '../model/state.js';
import { namesOf, narrate } from '../model/narrate.js';
import { schedule } from '../model/lesson.js';
import { createReading } from '../model/reading.js';
import { readHistory } from '../source/history.js';
import { connect } from '../source/live.js';
import {
	asides, firstOf, isAppend, isElsewhere, isFact, isNewsAt, isOutcome, isSpoken, isTelling,
	isTurn, isVisible, isWeighty, itemOf, joins, mostTelling, turnsOf,
} from './telling.js';

const PLAY_EVERY_MS = 320; // between two events while the past is played
const PINS_KEPT = 400;
const LIST_MOST = 150;
const SCAN_MOST = 6000;
const JUMP_MOST = 500; // events whose messages still fly when the page moves over them
const READ_MOST = 40_000;
const HISTORY_PIECE = 2500; // events a request, so that no piece stops the drawing
const HISTORY_FIRST = 20_000; // read when the page opens; older ones when somebody goes there
const HISTORY_MORE = 10_000;
const HISTORY_MOST = 150_000;
const FILL_AFTER_MS = 700; // without a new gap: during a flood there is no catching up
const FILL_MOST = 5000; // events of a gap that is worth closing
const CLIENTS = ['client', 'producer', 'consumer']; // roles of nodes
const STEPS_TO_REQUEST = 60; // deliveries and timers
const OWN_NS = 2e9; // for so long what the stage shows is told before what it does not
const FRAME_MOST_MS = 100; // of a film between two frames, so that a hidden page misses nothing

const isCommand = (event) => event.event === 'CommandRan' && isVisible(event);
/** Where something of a client arrives: its request at a broker, or an answer at the client. */
function isRequestOf({ nodes }) {
	const clients = nodes.filter((node) => CLIENTS.includes(node.role)).map((node) => node.id);
	return ({ event, node, fields }) => {
		if (fields.idle) return false;
		if (event === 'RequestReceived' || event === 'ResponseSent') return true;
		return event === 'MessageDelivered' && (clients.includes(node) || clients.includes(fields.from));
	};
}
const still = matchMedia('(prefers-reduced-motion: reduce)');

/** @param {object} options @param {string} options.world the path under which the world answers
 * @param {string} options.token what the stream's address carries, "" for none
 * @param {() => boolean} options.mayAct whether commands may be given
 * @param {(command: string) => Promise<void>} options.command
 * @param {(events: object[]) => void} options.onEvents the events that were just shown
 * @param {(events: object[]) => void} options.onArrived the events that just came in
 * @param {(room: object) => void} options.onRoom who watches, and where the presenter is
 * @param {(status: string) => void} options.onStatus */
export function createSession(options) {
	const { world, token, mayAct, command, onEvents, onArrived, onRoom, onStatus } = options;
	const { onViolations } = options;
	let film = createFilm();
	let reading = readings(READ_MOST);
	const isAside = asides((at) => film.events(at, at)[0]);
	const session = {
		cursor: null, // null: live; else the seq that is shown
		playing: false,
		status: 'connecting',
		pace: { mode: 'live', rate: 1, paused: false },
		pins: [],
		violations: new Map(), // by the event that broke a promise
		isDirty: true,
		isTold: false, // the caption tells a whole stretch, and not the event that was reached
		toldFrom: 0,
		hasState: false,
		grain: 'event', // how far one step goes
		begin: 0, // the last event before the lesson's first step, where there is a lesson
		lesson: null, // {next, back, resume}: what moves beyond the newest event of a lesson
		hold: false, // what comes in waits until it is shown
		file: null, // {name, software, seed, complete}: the trace file that is shown instead
	};
	let playedAt = 0;
	let plan = null; // the film of a stretch of events that is being shown
	let waiting = []; // who waits for an event to arrive
	let gapAt = Infinity; // when the last gap came, while there may be some to close
	let history = { isLoading: false, events: 0 };

	const source = connect({
		url: `${world}/events${token && `?token=${encodeURIComponent(token)}`}`,
		lastSeq: () => (session.hasState ? film.last : 0),
		onSnapshot(state) {
			film.snapshot(state);
			session.hasState = true;
			if (film.first === film.last) begin();
			session.isDirty = true;
			heed();
		},
		onEvents(events) {
			if (!events.length) return;
			if (session.hold) session.pin();
			film.add(events);
			for (const list of Object.values(reading)) list.add(events);
			session.pins = session.pins.concat(pinsOf(events)).slice(-PINS_KEPT);
			if (session.cursor === null) {
				session.isTold = false; // a stretch ends where more is seen
				onEvents(events);
			}
			session.isDirty = true;
			onArrived(events);
			heed();
		},
		onGap(gap) {
			film.gap(gap);
			gapAt = performance.now();
			session.isDirty = true;
		},
		onPace(pace) {
			session.pace = pace;
			session.isDirty = true;
		},
		onViolations(all) {
			const fresh = all.filter(({ seq }) => !session.violations.has(Number(seq)));
			for (const broken of fresh) session.violations.set(Number(broken.seq), broken);
			session.isDirty = true;
			onViolations(fresh);
		},
		onRoom,
		onStatus(status) {
			session.status = status;
			session.isDirty = true;
			onStatus(status);
		},
	});

	function pinsOf(events) {
		const names = namesOf(film.head());
		return events
			.filter(isTurn)
			.map((event) => ({
				seq: Number(event.seq),
				kind: event.event,
				text: narrate(event, names),
			}));
	}

	/** Tells those who wait for an event that it is there. */
	function heed() {
		waiting = waiting.filter(({ seq, resolve }) => seq > film.last || resolve(true));
	}

	/** Another run, or the first snapshot. */
	function begin() {
		for (const { resolve } of waiting) resolve(false);
		waiting = [];
		plan = null;
		for (const list of Object.values(reading)) list.clear();
		session.pins = [];
		session.violations = new Map();
		session.cursor = null;
		history = { isLoading: false, events: 0 };
		remember(HISTORY_FIRST);
	}

	/** Puts older events in front of the film, piece by piece, the newest first.
	 *  @param {number} most @returns {Promise<boolean>} whether there was something older */
	async function remember(most) {
		const mine = history;
		if (mine.isLoading || session.file) return false;
		mine.isLoading = true;
		const first = film.first;
		try {
			for (let read = 0; read < most && mine.events < HISTORY_MOST; read += HISTORY_PIECE) {
				if (film.first === 0) break;
				const trace = await readHistory(world, film.first, HISTORY_PIECE);
				if (!trace) mine.oldest = film.first;
				if (!trace || mine !== history || !film.prepend(trace.keyframe, trace.events)) break;
				mine.events += trace.events.length;
				for (const list of Object.values(reading)) list.insert(trace.events);
				session.pins = pinsOf(trace.events).concat(session.pins).slice(-PINS_KEPT);
				session.isDirty = true;
			}
		} catch {
			// The server is gone, and the stream says so; whoever goes back again asks again.
		}
		mine.isLoading = false;
		return film.first < first;
	}

	/** Closes the gaps that a burst left, one at a time. @param {number} now */
	async function mend(now) {
		if (now - gapAt < FILL_AFTER_MS || history.isLoading) return;
		const gap = film.gaps.findLast((g) => g.from > film.first && g.to - g.from < FILL_MOST);
		gapAt = gap ? now : Infinity;
		if (!gap) return;
		const trace = await readHistory(world, gap.to, gap.to - gap.from + 1).catch(() => null);
		if (!trace || !film.fill(trace.events)) return;
		gapAt = now - FILL_AFTER_MS;
		for (const list of Object.values(reading)) list.insert(trace.events);
		session.pins = session.pins.concat(pinsOf(trace.events)).sort((a, b) => a.seq - b.seq);
		session.isDirty = true;
	}

	const seq = () => session.cursor ?? film.last;
	const state = () => (session.cursor === null ? film.head() : film.stateAt(session.cursor));

	/** Before its first step a lesson has nothing to show, and nothing that could go on. */
	const first = () => Math.max(film.first, session.lesson ? session.begin : 0);

	function moveTo(next) {
		const before = seq();
		const isHead = next === null || next >= film.last;
		session.cursor = isHead ? null : Math.max(first(), next);
		session.isDirty = true;
		const now = seq();
		if (now > before && now - before < JUMP_MOST) onEvents(film.events(before + 1, now));
	}

	function stop() {
		session.playing = false;
		plan = null;
	}

	/** What a step of the transport stops at. */
	function accepts() {
		if (session.grain === 'step') return isCommand;
		return session.grain === 'request' ? isRequestOf(film.head()) : isVisible;
	}

	/** Lets so much happen that a request is likely among it, and shows that much of it. */
	async function stepToRequest() {
		const here = film.last;
		session.pin();
		await command(`step ${STEPS_TO_REQUEST}`);
		if (await session.arrived(here + 1)) session.stepOn();
	}

	/** Shows what is due of the film that is being shown. */
	function playOn(now) {
		plan.passed += Math.min(now - (plan.shownAt ?? now), FRAME_MOST_MS);
		plan.shownAt = now;
		if (plan.passed >= plan.length) {
			const { to, done } = plan;
			stop();
			moveTo(to);
			session.isTold = true;
			done();
			return;
		}
		let due = 0;
		while (plan.next < plan.at.length && plan.at[plan.next] <= plan.passed) {
			due = Number(plan.events[plan.next].seq);
			plan.next += 1;
		}
		if (due > seq()) moveTo(due);
	}

	/** Shows a trace file; the cluster is left, until the page is loaded again.
	 *  @param {{name: string, software: string, seed: string, complete: boolean}} file
	 *  @param {import('../model/film.js').Film} recorded */
	function openFile(file, recorded) {
		source.close();
		stop();
		film = recorded;
		reading = readings(Infinity);
		const events = film.events(film.first + 1, film.last);
		for (const list of Object.values(reading)) list.add(events);
		const pace = { mode: 'live', rate: 1, paused: true };
		const pins = pinsOf(events);
		const violations = new Map(file.violations.map((broken) => [Number(broken.seq), broken]));
		Object.assign(session, { film, file, pins, pace, violations, cursor: null, lesson: null, begin: 0,
			hold: false, hasState: true, isTold: true, status: 'file', isDirty: true });
	}

	return Object.assign(session, {
		film,
		openFile,
		source,
		seq,
		state,
		json: () => toJSON(state()),
		isPast: () => session.cursor !== null,
		first,
		isMoving: () => (session.cursor === null ? !session.pace.paused : session.playing),

		moveTo(to) {
			stop();
			session.isTold = true;
			moveTo(to);
		},
		/** Reads older events, if there are any and nobody reads yet. */
		recall: () => remember(HISTORY_MORE),
		/** Whether there may be events older than the film, and room for them. */
		hasOlder: () => film.first > 0 && history.oldest !== film.first &&
			history.events < HISTORY_MOST,
		/** Stays where the page is, though more comes in. */
		pin() {
			if (session.cursor === null && session.hasState) session.cursor = film.last;
			session.isDirty = true;
		},
		/** @param {number} to @returns {Promise<boolean>} whether the event came */
		arrived(to) {
			if (film.last >= to) return Promise.resolve(true);
			return new Promise((resolve) => waiting.push({ seq: to, resolve }));
		},
		/** Shows a stretch of events as a film. @param {() => void} done called at its end */
		show(from, to, budget, done) {
			session.toldFrom = from;
			if (still.matches) {
				session.moveTo(to);
				session.isTold = true;
				done();
				return;
			}
			session.cursor = Math.max(film.first, from - 1);
			const events = film.events(from, to).filter(isVisible);
			const weight = (event) => (isTelling(event) ? 4 : 1);
			plan = { ...schedule(events, weight, budget), events, to, done, next: 0, passed: 0 };
			session.playing = true;
			session.isTold = false;
			session.toldFrom = from;
			session.isDirty = true;
		},
		isFilm: () => plan !== null,
		/** Goes to the end of the film, if one is shown. @returns {boolean} */
		skip() {
			if (!plan) return false;
			plan.passed = plan.length;
			playOn(performance.now());
			return true;
		},
		/** The facts of a stretch that one would tell afterwards, in order, the last ones of many.
		 *  @param {number} from @param {number} to @param {number} most */
		turns(from, to, most) {
			const names = namesOf(film.head());
			const own = film.events(from, to).filter(({ fields }) => !fields.topic?.startsWith('__'));
			const told = own.filter((event) => isWeighty(event) || isAppend(event));
			return turnsOf(told.length ? told : own.filter(isSpoken))
				.slice(-most)
				.map((event) => ({ seq: Number(event.seq), text: narrate(event, names) }));
		},

		toggle() {
			if (session.cursor === null && session.file) session.cursor = film.first; // from the start
			if (session.cursor === null && session.lesson) return session.lesson.next();
			if (session.lesson && !session.playing && !plan) return session.lesson.resume();
			if (session.cursor === null && !mayAct()) return session.pin(); // a viewer's own pause
			if (session.cursor === null) {
				return command(session.pace.paused ? 'resume-time' : 'pause-time');
			}
			session.playing = !session.playing;
			session.isDirty = true;
			return undefined;
		},
		pause() {
			if (session.isMoving()) session.toggle();
		},
		play() {
			if (!session.isMoving()) session.toggle();
		},
		step() {
			stop();
			if (session.lesson && (session.cursor === null || session.grain === 'step')) {
				return session.lesson.next(session.grain === 'step');
			}
			if (session.cursor !== null) return session.stepOn();
			if (!mayAct()) return undefined;
			if (!session.pace.paused) return command('pause-time');
			return session.grain === 'request' ? stepToRequest() : command('step');
		},
		stepOn() {
			session.isTold = false;
			moveTo(film.next(seq(), accepts()));
		},
		async back() {
			stop();
			session.isTold = false;
			if (session.lesson && session.grain === 'step') return session.lesson.back();
			const before = () => film.previous(seq(), accepts());
			const to = before() ?? ((await remember(HISTORY_MORE)) ? before() : film.first);
			session.cursor = Math.max(first(), to ?? 0);
			session.isDirty = true;
			return undefined;
		},
		seek(to) {
			stop();
			session.isTold = false;
			if (to <= film.first) remember(HISTORY_MORE);
			moveTo(to);
		},
		/** Goes to the newest moment; who is there already lets time run as it does outside. */
		live() {
			const wasPast = session.cursor !== null;
			stop();
			session.cursor = null;
			session.isDirty = true;
			if (session.lesson || wasPast || !mayAct()) return;
			if (session.pace.paused || session.pace.mode !== 'live') command('live');
		},
		/** Plays the past on, one event at a time. */
		tick(now) {
			mend(now);
			if (plan && session.playing) return playOn(now);
			if (plan) plan.shownAt = undefined;
			if (!session.playing || session.cursor === null || now - playedAt < PLAY_EVERY_MS) {
				return undefined;
			}
			playedAt = now;
			moveTo(film.next(session.cursor, isVisible));
			if (session.cursor === null) session.playing = false;
			return undefined;
		},

		/** Who sent a batch of a log, and which of its own batches it was; null for others than the
		 *  named producers. @param {object} batch of a copy of the scene, in a topic and partition */
		makerOf(batch, { topic, topicId, partition }) {
			if (!batch) return null;
			const { producerId, sequence, base, epoch } = batch;
			const isHere = (f) => f.topic === topic && f.partition === partition;
			const all = film.events(film.first, film.last);
			const told = all.slice(Math.max(0, all.findLastIndex(({ event, fields: f }) =>
				event === 'TopicCreated' && f.topicId === topicId))); // another may have had the name
			const isIt = sequence >= 0
				? (f) => f.producerId === producerId && f.sequence === sequence
				: (f, node, seq) => cause?.fields.connection === node && seq < Number(cause.seq);
			// Without a sequence only the request that brought it tells.
			const appended = told.find(({ event, fields: f }) => event === 'BatchAppended' && f.leader &&
				isHere(f) && Number(f.baseOffset) === base && f.leaderEpoch === epoch);
			const cause = appended && told.find(({ seq, event }) =>
				event === 'RequestReceived' && seq === appended.cause);
			const until = appended ? Number(appended.seq) : Infinity;
			const found = told.findLast(({ event, fields: f, node, seq }) => event === 'BatchDrained' &&
				Number(seq) < until && isHere(f) && isIt(f, node, Number(seq)));
			return found ? { node: found.node, batch: found.fields.batch } : null;
		},

		/** What the producer of the followed record believes of its batch for good, at the moment
		 *  shown; '' for nothing yet. @param {{maker: {node: number, batch: string}|null}} follow */
		beliefOf({ maker }) {
			const isIts = ({ node, fields }) => node === maker?.node && fields.batch === maker.batch;
			return firstOf(reading.belief.upTo(seq()), isIts)?.fields.belief ?? '';
		},

		/** The event that is worth a sentence: where somebody steps, the one that was reached;
		 *  while everything runs, the newest that tells something of it; after a film, what mattered most
		 *  in it. A lesson's commands are in its panel, so they are no news, and what happened before
		 *  its first step belongs to no lesson. @param {object} [place] what is looked at */
		saying(place) {
			if (session.begin && seq() === session.begin) return null;
			const isWhole = session.isMoving() || session.isTold;
			const told = () => (isWhole ? reading.telling : reading.all).upTo(seq());
			const isNews = (event) => (!session.lesson || event.event !== 'CommandRan') &&
				(!isWhole || (isNewsAt(event, place) && !isAside(event)));
			let found = session.isTold
				? mostTelling(told(), session.toldFrom, isAside, place) : firstOf(told(), isNews);
			if (found && session.isMoving() && !session.isTold && isElsewhere(found, place)) {
				const isOld = (event) => found.at - event.at > OWN_NS;
				const own = firstOf(told(), (event) =>
					isOld(event) || (isNews(event) && !isElsewhere(event, place)));
				if (own && !isOld(own)) found = own;
			}
			return found ? { ...itemOf(found, [], namesOf(film.head())), event: found } : null;
		},

		/** Events up to the moment shown, newest first.
		 *  @param {{eventClass: string, filter: string, most?: number}} wanted */
		list({ eventClass, filter, most = LIST_MOST }) {
			const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
			const names = namesOf(film.head());
			const found = [];
			let left = SCAN_MOST;
			for (const event of reading[eventClass].upTo(seq())) {
				if (found.length >= most || left-- === 0 || Number(event.seq) <= film.first) break;
				const item = itemOf(event, words, names);
				if (item) item.broken = session.violations.get(item.seq);
				if (item && !joins(found.at(-1), item)) found.push(item);
			}
			return found;
		},
	});
}

/** The events that are read, each for one kind of reader. @param {number} most of each */
const readings = (most) => ({
	all: createReading(isVisible, most),
	fact: createReading(isFact, most),
	telling: createReading(isOutcome, most),
	belief: createReading(({ event }) => event === 'BatchBelieved', most),
});
