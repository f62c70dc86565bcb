// The session: which moment of the cluster the page looks at. It joins the film of events
// with the live stream, and turns the transport's buttons into moves of the one or
// commands to the other.

import { createFilm } from '../model/film.js';
import { toJSON } from '../model/state.js';
import { namesOf, narrate, ruleText } from '../model/narrate.js';
import { createReading } from '../model/reading.js';
import { readHistory } from '../source/history.js';
import { connect } from '../source/live.js';
import { kinds } from '../protocol/kinds.js';
import { hasPin } from '../view/transport.js';

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
const QUIET = /^Timer|^LogSynced$|^Metadata(Stored|Replayed|Committed)$/;
const MOVES = /^(step|live|slow|pause-time|resume-time)\b/; // of the page, not of the cluster
const NOISE = ['LeaderEpochStarted', 'BecameFollower', 'LogOpened'];
const TELLING = ['BatchAppended', 'HighWatermarkMoved'];

/** What a person steps through: everything but idle messages and machinery. */
const isVisible = ({ event, fields }) =>
	!fields.idle && !QUIET.test(event) && !MOVES.test(fields.command);
const isFact = (event) =>
	isVisible(event) && kinds[event.event]?.class !== 'detail' && event.event !== 'MessageDropped';
/** A pin marks a turn; that a new topic gets its first leaders is none. */
const isTurn = ({ event, fields }) =>
	hasPin(event) && (event !== 'BecameLeader' || fields.leaderEpoch > 0);
/** What the caption says while everything runs; much that goes with a fact is no news. */
const isTelling = (event) =>
	TELLING.includes(event.event) || (isFact(event) && !NOISE.includes(event.event));

/** @param {object} options @param {string} options.world the path under which the world answers
 * @param {(command: string) => Promise<void>} options.command
 * @param {(events: object[]) => void} options.onEvents the events that were just shown */
export function createSession({ world, command, onEvents }) {
	const film = createFilm();
	const reading = {
		all: createReading(isVisible, READ_MOST),
		fact: createReading(isFact, READ_MOST),
		telling: createReading(isTelling, READ_MOST),
	};
	const session = {
		cursor: null, // null: live; else the seq that is shown
		playing: false,
		status: 'connecting',
		pace: { mode: 'live', rate: 1, paused: false },
		pins: [],
		isDirty: true,
		hasState: false,
	};
	let playedAt = 0;
	let gapAt = Infinity; // when the last gap came, while there may be some to close
	let history = { isLoading: false, events: 0 };

	const source = connect({
		url: `${world}/events`,
		lastSeq: () => (session.hasState ? film.last : 0),
		onSnapshot(state) {
			film.snapshot(state);
			session.hasState = true;
			if (film.first === film.last) begin();
			session.isDirty = true;
		},
		onEvents(events) {
			if (!events.length) return;
			film.add(events);
			for (const list of Object.values(reading)) list.add(events);
			session.pins = session.pins.concat(pinsOf(events)).slice(-PINS_KEPT);
			if (session.cursor === null) onEvents(events);
			session.isDirty = true;
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
		onStatus(status) {
			session.status = status;
			session.isDirty = true;
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

	/** Another run, or the first snapshot. */
	function begin() {
		for (const list of Object.values(reading)) list.clear();
		session.pins = [];
		session.cursor = null;
		history = { isLoading: false, events: 0 };
		remember(HISTORY_FIRST);
	}

	/** Puts older events in front of the film, piece by piece, the newest first.
	 *  @param {number} most @returns {Promise<boolean>} whether there was something older */
	async function remember(most) {
		const mine = history;
		if (mine.isLoading) return false;
		mine.isLoading = true;
		const first = film.first;
		try {
			for (let read = 0; read < most && mine.events < HISTORY_MOST; read += HISTORY_PIECE) {
				if (film.first === 0) break;
				const trace = await readHistory(world, film.first, HISTORY_PIECE);
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

	function moveTo(next) {
		const before = seq();
		const isHead = next === null || next >= film.last;
		session.cursor = isHead ? null : Math.max(film.first, next);
		session.isDirty = true;
		const now = seq();
		if (now > before && now - before < JUMP_MOST) onEvents(film.events(before + 1, now));
	}

	return Object.assign(session, {
		film,
		source,
		seq,
		state,
		json: () => toJSON(state()),
		isPast: () => session.cursor !== null,
		isMoving: () => (session.cursor === null ? !session.pace.paused : session.playing),

		toggle() {
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
			session.playing = false;
			if (session.cursor === null) return command('step');
			return moveTo(film.next(session.cursor, isVisible));
		},
		async back() {
			session.playing = false;
			const before = () => film.previous(seq(), isVisible);
			const to = before() ?? ((await remember(HISTORY_MORE)) ? before() : film.first);
			session.cursor = to ?? film.first;
			session.isDirty = true;
		},
		seek(to) {
			session.playing = false;
			if (to <= film.first) remember(HISTORY_MORE);
			moveTo(to);
		},
		live() {
			session.playing = false;
			session.cursor = null;
			session.isDirty = true;
			if (session.pace.paused || session.pace.mode !== 'live') command('live');
		},
		/** Plays the past on, one event at a time. */
		tick(now) {
			mend(now);
			if (!session.playing || session.cursor === null || now - playedAt < PLAY_EVERY_MS) return;
			playedAt = now;
			moveTo(film.next(session.cursor, isVisible));
			if (session.cursor === null) session.playing = false;
		},

		/** The event that is worth a sentence: where somebody steps, the one that was reached;
		 *  while everything runs, the newest that tells something. */
		saying() {
			const list = session.isMoving() ? reading.telling : reading.all;
			const { value } = list.upTo(seq()).next();
			return value ? itemOf(value, [], namesOf(film.head())) : null;
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
				if (item) found.push(item);
			}
			return found;
		},
	});
}

function itemOf(event, words, names) {
	const text = narrate(event, names);
	if (words.length) {
		const all = `${event.event} ${text}`.toLowerCase();
		if (!words.every((word) => all.includes(word))) return null;
	}
	const { seq, at, event: kind } = event;
	return { seq: Number(seq), at: Number(at), kind, text, why: ruleText(event) };
}
