// What of the events is worth a word: the facts that people read, the one that a caption tells, and
// how many lines of one kind become one.

import { FIRST_OUTSIDE } from '../model/deliveries.js';
import { narrate, ruleText } from '../model/narrate.js';
import { kinds } from '../protocol/kinds.js';
import { hasPin } from '../view/transport.js';

const QUIET = /^Timer|^LogSynced$|^Metadata(Stored|Replayed|Committed)$/;
const MOVES = /^(step|live|slow|pause-time|resume-time|why)\b/; // of the page, not of the cluster
const REFUSED = /-> [A-Z]/;
const CHECKS = /^(expect|wait)\b/;
const GRADER = 'predict'; // who asks which answer of a prediction is right
const NOISE = ['LeaderEpochStarted', 'BecameFollower', 'LogOpened'];
/** Lines that come in crowds: under load each client has several. */
const CROWDS = { ClientConnected: 'open', ClientIdentified: 'open',
	ClientDisconnected: 'close' };
const SPEAKING = /^(RecordsPolled|PositionCommitted|BatchBelieved|Transaction\w+)$/;
const ENDED = /^(Complete(Commit|Abort)|leader)$/; // a transaction, after its markers; an election
/** What takes records, or keeps them from being there twice, tells what a step was for. */
const GOING = /^(CleanerPassEnded|SegmentDeleted|DuplicateSuppressed)$/;
const TELLING = ['BatchAppended', 'HighWatermarkMoved'];

/** What a person steps through: everything but idle messages and machinery. */
export const isVisible = ({ event, fields }) =>
	!fields.idle && !QUIET.test(event) && !MOVES.test(fields.command) && fields.by !== GRADER;
export const isFact = (event) =>
	isVisible(event) && kinds[event.event]?.class !== 'detail' && event.event !== 'MessageDropped' &&
	!isNamedAlready(event);
/** A client inside the cluster has its name from the command that began it. */
const isNamedAlready = ({ event, fields }) =>
	event === 'ClientIdentified' && fields.connection < FIRST_OUTSIDE;
/** A pin marks a turn; that a new topic gets its first leaders is none. */
export const isTurn = ({ event, fields }) =>
	hasPin(event) && (event !== 'BecameLeader' || fields.leaderEpoch > 0);
export const isAppend = ({ event, fields }) =>
	event === 'BatchAppended' && !fields.control && !fields.topic.startsWith('__');
/** The leader's own high watermark; followers only hear of it. */
const isRise = ({ event, rule }) =>
	event === 'HighWatermarkMoved' && rule === 'hw.min-of-isr';

/** What the caption says while everything runs; much that goes with a fact is no news. */
export const isTelling = (event) =>
	TELLING.includes(event.event) || (isFact(event) && !NOISE.includes(event.event));

/** What may be what a step was for; while everything runs these would be too many. */
export const isOutcome = (event) => isTelling(event) || isSpoken(event);

/** Where nothing turned this is what one saw: who knows, believes and reads. */
export const isSpoken = ({ event }) => TELLING.includes(event) || SPEAKING.test(event);

export function firstOf(events, accepts) {
	for (const event of events) if (accepts(event)) return event;
	return null;
}

/** How much a fact tells of what a step was for; the newest of the highest is told. What happens to
 *  the cluster's own topics, who comes and goes, and commands tell the least, but for one that is
 *  refused, which nothing else tells. */
function weightOf(event) {
	if (event.event === 'CommandRan') return REFUSED.test(event.fields.command) ? 1.5 : 0;
	if (event.fields.topic?.startsWith('__') || CROWDS[event.event]) return 1;
	const { before, after } = event.fields;
	if (event.event === 'LogTruncated' && before !== after) return 5;
	if (event.event === 'BecameLeader' && isTurn(event)) return 4.2; // the mark rises right after it
	if (isRise(event) || isTurn(event) || GOING.test(event.event) || ENDED.test(after)) return 4;
	if (after === 'Empty') return 2;
	return isSpoken(event) ? 3 : 2;
}

export const isWeighty = (event) => weightOf(event) >= 4;

/** Tells what a check did to find out: it asks the brokers as a client does, which is no part of
 *  what it checks. @param {(seq: number) => object|undefined} eventAt
 *  @returns {(event: object) => boolean} */
export function asides(eventAt) {
	const known = new WeakMap();
	return (event) => {
		const way = [];
		let at = event;
		let verdict = false;
		for (; at && at.event !== 'CommandRan'; at = eventAt(Number(at.cause))) {
			if (known.has(at)) break;
			way.push(at);
		}
		if (at) {
			verdict = known.get(at) ??
				(way.at(-1)?.event === 'MessageSent' && CHECKS.test(at.fields.command));
		}
		for (const each of way) known.set(each, verdict);
		return verdict;
	};
}

/** The partitions that a command asks about, in its order. @param {string} command */
export const placesIn = (command) => [...command.matchAll(/"([\w.-]+)-(\d+)"/g)]
	.map(([, topic, partition]) => ({ topic, partition: Number(partition) }));

export const isElsewhere = ({ fields }, place) => place && fields.topic &&
	(fields.topic !== place.topic || (fields.partition ?? place.partition) !== place.partition);

/** While everything runs, of other partitions than the one on the stage only new leaders are told.
 *  @returns {boolean} */
export const isNewsAt = (event, place) =>
	isTelling(event) && !event.fields.topic?.startsWith('__') &&
	(!isElsewhere(event, place) || (event.event === 'BecameLeader' && isTurn(event)));

/** Of the step what tells most, of the partition on the stage before any other; a step without news
 *  of that partition leaves what the step before told.
 *  @param {Iterable<object>} events newest first @param {number} from the first of the step
 *  @param {(event: object) => boolean} [isAside] of what nothing is told
 *  @param {{topic: string, partition: number} | null} [place] the one that is looked at */
export function mostTelling(events, from, isAside = () => false, place = null) {
	// A topic that goes is no more on the stage when its end is told.
	const isAway = (event) => event.event !== 'TopicDeleted' && isElsewhere(event, place);
	const weight = (event) => weightOf(event) - (isAway(event) ? 1.5 : 0);
	let best = null;
	for (const event of events) {
		if (isAside(event)) continue;
		const isBefore = Number(event.seq) < from;
		if (isBefore && isAway(event)) continue;
		if (!best || weight(event) > weight(best)) best = event;
		const isBegin = event.event === 'CommandRan' && event.seq <= from;
		if (isBegin && weightOf(best) > 1 && !isAway(best)) break;
	}
	return best;
}

/** A crowd that comes or goes is one line.
 *  @returns {boolean} whether the item went into the other */
export function joins(into, item) {
	const kind = CROWDS[item.kind];
	if (!kind || into?.crowd !== kind) {
		const count = item.kind === 'ClientIdentified' ? 0 : 1;
		if (kind) Object.assign(item, { crowd: kind, count });
		return false;
	}
	if (item.kind !== 'ClientIdentified') into.count += 1;
	if (into.count > 1) into.text = `${into.count} connections ${kind}.`;
	return true;
}

/** Many moves of one high watermark are one, from where it was to where it came, as long as each
 *  goes on where the last one ended; of many batches that one log got, the last is told. */
export function turnsOf(events) {
	const told = new Map();
	const moves = new Map(); // by place, the seq of the first move that goes on
	for (const event of events) {
		const { node, fields } = event;
		const place = `${event.event}/${node}/${fields.topic}/${fields.partition}`;
		let key = isAppend(event) ? place : event.seq;
		let one = event;
		if (isRise(event)) {
			const known = told.get(moves.get(place));
			if (known?.fields.after === fields.before) {
				key = moves.get(place);
				one = { ...event, fields: { ...fields, before: known.fields.before } };
			}
			moves.set(place, key);
		}
		told.delete(key);
		told.set(key, one);
	}
	return [...told.values()];
}

export function itemOf(event, words, names) {
	const text = narrate(event, names);
	if (words.length) {
		const all = `${event.event} ${text} ${text.replaceAll(',', '')}`.toLowerCase(); // 1,001, or 1001
		if (!words.every((word) => all.includes(word))) return null;
	}
	const { seq, at, event: kind } = event;
	return { seq: Number(seq), at: Number(at), kind, text, why: ruleText(event) };
}
