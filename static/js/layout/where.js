// Where the followed record is, station by station: sent, on the leader, on each
// follower, committed, read. A station is past, here, ahead, hidden (on a broker that is
// down) or gone.

import { idList, shortOffset } from './format.js';
import { isAmong, isHole, isOf } from './scene.js';
import { mayHang, threadAt } from './threads.js';

/**
 * @typedef {{topic: string, topicId: string, partition: number, offset: number, epoch: number,
 *   key: string, seq: number, maker: {node: number, batch: string} | null}} Follow its maker is the
 *   producer and its batch; at the event seq it was there
 * @typedef {{id: string, label: string, status: string, note: string}} Station
 */

const LOST = 'lost';
const DELETED = 'deleted';
const ABORTED = 'aborted?';
const OLD = 'old';
const ANOTHER = 'another record';
const BELIEFS = { acknowledged: 'acknowledged', failed: 'failed', unknown: 'unknown to it' };

/** @param {object} scene @param {Follow} follow
 *  @param {string} [belief] what its producer believes of its batch for good; '' for nothing yet
 *  @returns {Station[]} */
export function whereabouts(scene, follow, belief = '') {
	const { focus } = scene;
	const fate = fateOfTopic(scene, follow);
	if (fate) {
		return [{ id: 'topic', label: `topic ${follow.topic}`, status: fate,
			note: fate === 'gone' ? 'deleted' : 'not yet' }];
	}
	if (!isOf(focus, follow)) return [];
	const brokers = inOrder(focus);
	const holders = brokers.map((id) => atBroker(scene, id, follow));
	const leading = focus.leading;
	const isThere = leading !== null && holds(leading, follow);
	const isCommitted = (isThere && follow.offset < leading.hw) || wasCommitted(focus, follow);
	const doubt = doubtOf(focus, follow);
	const end = committed(scene, follow, isThere, isCommitted, doubt);
	return [
		sent(scene, follow, holders, belief),
		...holders,
		end,
		...read(scene, follow, isCommitted, end.note === LOST, doubt),
	];
}

/** What became of the topic of a record, which an id tells from others of its name: 'gone' when it
 *  was deleted, 'ahead' before it was made, '' while it is there. */
export function fateOfTopic({ topics, seq }, follow) {
	const now = topics.find((topic) => topic.name === follow.topic);
	if (now?.id === (follow.topicId ?? '')) return '';
	return seq < (follow.seq ?? 0) ? 'ahead' : 'gone';
}

/** The leader first, then the followers. */
function inOrder(focus) {
	const ids = focus.replicas.length ? focus.replicas : [...focus.copies.keys()];
	return [...ids].sort((a, b) => (b === focus.leader) - (a === focus.leader) || a - b);
}

/** Whether a copy holds the record, and not another one at its offset. */
export const holds = (copy, { offset, epoch }) =>
	Boolean(copy) && !isHole(copy, offset) && epochIn(copy, offset) === epoch;

const isAnywhere = ({ copies }, follow) =>
	[...copies.values()].some((copy) => holds(copy, follow));

/** Whether a leader's high watermark has ever passed the record, whoever leads now. */
const wasCommitted = ({ committed }, { offset, epoch }) =>
	committed.some((mark) => mark.epoch === epoch && offset < mark.to);

/** Whether a log begins beyond the record by now. */
const isDeleted = (copy, { offset }) => offset < copy.start;

const gone = (station, note) => ({ ...station, status: 'gone', note });
const here = (station, note) => ({ ...station, status: 'here', note });
const ahead = (station, note) => ({ ...station, status: 'ahead', note });

/** Whether the history goes on without the record: nobody has it any more, or whoever led last
 *  lacks it, in a later epoch, and it had been committed or another one is in its place. */
function isLost({ focus, seq }, follow) {
	const { copies, epoch } = focus;
	const all = [...copies.values()];
	// A leader notes its epoch before it writes in it.
	const leading = focus.leading ??
		all.sort((a, b) => newest(b) - newest(a) || b.leo - a.leo)[0];
	if (!leading || holds(leading, follow) || isHole(leading, follow.offset) ||
		isDeleted(leading, follow)) return false;
	const was = wasCommitted(focus, follow);
	if (!isAnywhere(focus, follow) && (was || (follow.seq > 0 && seq >= follow.seq) ||
		all.some((copy) => wasCut(copy, follow)))) return true;
	return epoch > follow.epoch && (leading.leo > follow.offset || was ||
		leading.epochs.some((e) =>
			e.epoch > follow.epoch && e.from <= follow.offset && e.from < leading.leo));
}

const newest = ({ epochs }) => epochs.at(-1)?.epoch ?? -1;

/** Whether the record that is followed is the one that was picked, on whichever broker. */
export const isPicked = ({ focus }, { select, follow }) =>
	Boolean(select) && isOf(focus, follow) && follow.offset === select.offset &&
	follow.epoch === select.epoch;

/** In which epoch the record at an offset of a copy was written; -1 where there is none.
 *  @returns {number} */
export function epochIn(copy, offset) {
	if (!copy || offset >= copy.leo) return -1;
	return batchAt(copy, offset)?.epoch ?? epochAt(copy, offset);
}

const batchAt = (copy, offset) =>
	copy?.batches.find((batch) => batch.base <= offset && offset <= batch.last);

/** The epoch list knows who wrote what is older than the window of batches. */
function epochAt(copy, offset) {
	const entry = copy.epochs.findLast((e) => e.from <= offset);
	return entry ? entry.epoch : -1;
}

function atBroker(scene, id, follow) {
	const { focus } = scene;
	const copy = focus.copies.get(id);
	const isLeader = focus.leader === id;
	const station = { id: `b${id}`, label: isLeader ? `broker ${id}, leader` : `broker ${id}` };
	if (!copy || !holds(copy, follow)) {
		if (copy && wasCut(copy, follow)) return gone(station, 'cut off');
		if (copy && isHole(copy, follow.offset)) {
			return gone(station, 'compacted');
		}
		if (copy && isDeleted(copy, follow)) return gone(station, DELETED);
		const isTaken = copy && follow.offset < copy.leo;
		return isTaken
			? gone(station, ANOTHER)
			: ahead(station, 'not yet');
	}
	const isSynced = follow.offset < copy.synced;
	return {
		...station,
		status: powerOf(scene, id) === 'down' || (copy.isDark && !isSynced) ? 'hidden' : 'here',
		note: isSynced ? 'on disk' : copy.isDark ? 'unsynced: lost?' : 'page cache',
	};
}

const powerOf = ({ brokers }, id) => brokers.find((node) => node.id === id)?.power;

const wasCut = (copy, { offset, epoch }) =>
	copy.everCut.some((b) => b.epoch === epoch && b.base <= offset && offset <= b.last);

function committed(scene, follow, isThere, isCommitted, doubt) {
	const { focus } = scene;
	const station = { id: 'committed', label: 'committed' };
	if (isLost(scene, follow)) return gone(station, LOST);
	if (focus.leading === null) {
		return { ...station, status: isCommitted && !doubt ? 'here' : 'ahead', note: 'no leader' };
	}
	if (isHole(focus.leading, follow.offset)) {
		return gone(station, 'compacted');
	}
	if (isDeleted(focus.leading, follow)) return gone(station, DELETED);
	const thread = isThere && threadOf(focus.leading, follow.offset);
	if (thread === 'aborted') return gone(station, 'aborted');
	const hw = `HW ${shortOffset(focus.hw)}`;
	if (isThere && !thread && isCommitted && doubt) {
		return ahead(station, doubt === OLD ? `below ${hw}` : `${hw}, ${doubt}`);
	}
	return {
		...station,
		status: isCommitted && thread !== 'open' ? 'here' : 'ahead',
		note: thread === 'open' ? 'transaction open' : hwNote(focus, follow, isCommitted),
	};
}

const hwNote = ({ hw }, { offset }, isCommitted) =>
	isCommitted && offset >= hw ? `HW is ${shortOffset(hw)} now` : `HW ${shortOffset(hw)}`;

/** What is not known of an offset: whether a record lies there, when no event told of it, or its
 *  batch is no longer kept and there were transactions around it; and whether it was aborted.
 *  What a reader was given is no marker, and with read_committed not aborted. */
function doubtOf({ leading, copies, given, assured }, follow) {
	const { offset } = follow;
	const isOld = Boolean(leading) && offset < leading.knownFrom;
	if (isOld && isAmong(assured, offset)) return '';
	const told = [leading, ...copies.values()].filter((copy) => copy && holds(copy, follow))
		.map((copy) => batchAt(copy, offset)).find((batch) => batch && !batch.isUnrecorded);
	if (told) return told.transactional && !told.control ? ABORTED : '';
	if (leading && !isOld && !mayHang(leading.threads, offset)) return '';
	return isOld && isAmong(given, offset) ? ABORTED : OLD;
}

/** At its producer: still in the accumulator, under way, and what the producer believes. */
function sent(scene, follow, holders, belief) {
	const maker = follow.maker && scene.clientOf.get(follow.maker.node);
	const station = { id: 'sent', label: maker ? maker.id : 'sent' };
	const batch = maker?.batches.find((each) => each.batch === follow.maker.batch);
	if (batch) {
		const isSent = batch.state === 'sent';
		return { ...station, status: isSent ? 'past' : 'here',
			note: isSent ? 'sent, no answer yet' : 'in the accumulator' };
	}
	const isWritten = holders.some(({ status, note }) => status !== 'ahead' && note !== ANOTHER);
	if (!isWritten && (maker || scene.seq < follow.seq)) return ahead(station, 'not yet');
	return { ...station, status: 'past',
		note: BELIEFS[belief] ?? `offset ${shortOffset(follow.offset)}` };
}

/** Whether an offset lies between where a reader began to read and its position. Of one from
 *  outside only what it was sent is known. */
const hasPassed = (reader, offset) => isAmong(reader.read, offset) || (reader.isNamed &&
	reader.position !== null && offset < reader.position && offset >= (reader.began ?? 0));

/** Where a reader began to read what it goes on with, if it does above an offset; else 0. */
const beganAbove = (reader, offset) => (reader.isNamed ? reader.began ?? 0
	: hasPassed(reader, offset) ? 0
		: reader.read.find(({ from }) => from > offset)?.from ?? reader.position ?? 0);

/** Whether a reader that tells what it was given passed an offset and was given nothing there. */
const hasLeftOut = (reader, offset) =>
	reader.isNamed && hasPassed(reader, offset) && !isAmong(reader.read, offset);

/** What a reader was given of the records below an offset, as runs of offsets: it is never given
 *  markers and what compaction took, nor, where it reads what is committed only, aborted records.
 *  @param {Copy | null} log the leader's; of what it has lost nobody says what was passed over
 *  @returns {{from: number, to: number}[]} */
export function readBelow(reader, log, end) {
	// A client of the cluster tells what it was given, and keeps it, whatever became of the log.
	const told = clipped(reader.read, log?.start ?? 0, end);
	if (reader.isNamed && reader.read.length) return told;
	const from = reader.began ?? 0;
	const to = Math.min(reader.position ?? 0, end);
	const isGiven = (batch) => !batch.control &&
		!(reader.isolation && threadAt(log.threads, batch, batch.base)?.state === 'aborted');
	const lying = log
		? [...log.batches.filter(isGiven).map(({ base, last }) => ({ from: base, to: last + 1 })),
			{ from: log.leo, to: Infinity }]
		: [{ from, to }];
	const runs = [];
	const pieces = lying.flatMap((run) => withoutHoles(run, log?.holes ?? []));
	const given = reader.isNamed ? clipped(pieces, from, to)
		: told.flatMap((run) => clipped(pieces, run.from, run.to));
	for (const run of given) {
		if (runs.at(-1)?.to === run.from) runs.at(-1).to = run.to;
		else runs.push(run);
	}
	return runs;
}

const clipped = (runs, least, most) =>
	runs.map(({ from, to }) => ({ from: Math.max(from, least), to: Math.min(to, most) }))
		.filter(({ from, to }) => from < to);

function withoutHoles(run, holes) {
	let left = [run];
	for (const hole of holes) {
		if (hole.to <= run.from || hole.from >= run.to) continue;
		left = left.flatMap(({ from, to }) => [{ from, to: Math.min(to, hole.from) },
			{ from: Math.max(from, hole.to), to }]).filter(({ from, to }) => from < to);
	}
	return left;
}

function read(scene, follow, isCommitted, isLost, doubt) {
	const readers = scene.readers
		.filter(({ position, committed, former }) =>
			position !== null || committed !== null || former.length)
		.slice(0, 2);
	const { leading, copies } = scene.focus;
	// Without a leader any log that reaches so far tells what lies there.
	const log = leading ?? [...copies.values()].find((copy) => follow.offset < copy.leo);
	const isMarker = batchAt(log, follow.offset)?.control;
	const isAborted = threadOf(log, follow.offset) === 'aborted';
	const sent = isAborted && 'sent; aborted'; // an outside reader's isolation.level nobody tells
	const left = scene.left.filter(({ read }) => !isMarker && isAmong(read, follow.offset)).slice(-1)
		.map(({ id }) => (
			{ id: `l-${id}`, label: `read by ${id}`, status: 'here', note: sent || 'and left' }));
	if (left.length && readers.length > 1) {
		(hasPassed(readers[1], follow.offset) ? left : readers).pop();
	}
	if (!readers.length && !left.length) {
		return [{ id: 'read', label: 'read', status: 'ahead', note: 'no reader' }];
	}
	return left.concat(readers.map((reader) => {
		const station = { id: `r-${reader.id}`, label: `read by ${reader.id}` };
		if (isLost) return gone(station, LOST);
		if (isMarker) return gone(station, 'a marker');
		if (log && isHole(log, follow.offset)) {
			return gone(station, 'compacted');
		}
		if (reader.isolation && isAborted ||
			doubt && isCommitted && hasLeftOut(reader, follow.offset)) {
			return gone(station, 'passed over');
		}
		const began = beganAbove(reader, follow.offset);
		const isBehind = follow.offset < began && !hasPassed(reader, follow.offset);
		if (isCommitted && reader.committed !== null && reader.committed > follow.offset) {
			if (!hasPassed(reader, follow.offset) && !isAmong(reader.former, follow.offset)) {
				return { ...station, label: `group ${reader.group}`, status: 'here', note: 'past it' };
			}
			const who = reader.group === reader.id ? '' : ` by ${reader.group}`;
			return here(station, `committed${who}`);
		}
		if (!hasPassed(reader, follow.offset) && isAmong(reader.former, follow.offset)) {
			return here(station, `read${reader.ending}`);
		}
		const waits = leading && isCommitted && reader.isolation &&
			follow.offset >= scene.focus.lso && follow.offset < scene.focus.hw;
		if (waits) return ahead(station, 'transaction open');
		if (isBehind) {
			return gone(station, `reads from ${shortOffset(began)}`);
		}
		if (log && isDeleted(log, follow) && !hasPassed(reader, follow.offset)) {
			return gone(station, DELETED);
		}
		if (!isCommitted || !hasPassed(reader, follow.offset)) {
			return ahead(station, 'not yet');
		}
		const note = reader.group ? 'read, not committed' : !reader.isNamed && sent || 'read';
		return here(station, note);
	}));
}

/** What became of the transaction of the record at an offset; nothing for a record of none, and
 *  for a marker. */
function threadOf(copy, offset) {
	const batch = batchAt(copy, offset);
	return batch && !batch.control && threadAt(copy.threads, batch, offset)?.state;
}

/** What a fact means for the followed record, in one sentence; '' when nothing.
 *  @param {{event: string, node: number, fields: object}} event @param {Follow|null} follow */
export function meaningOf(scene, { event, node, fields }, follow) {
	const { focus } = scene;
	const isHere = isOf(focus, follow) && fields.topic === focus.topic &&
		fields.partition === focus.partition;
	const copy = isHere && focus.copies.get(event === 'RecordsPolled' ? focus.leader : node);
	if (!copy || !holds(copy, follow)) return '';
	const name = follow.key || `offset ${shortOffset(follow.offset)}`;
	const { leader } = focus;
	const passes = Number(fields.before) <= follow.offset && follow.offset < Number(fields.after);
	if (event === 'HighWatermarkMoved' && passes) {
		const isOpen = threadOf(focus.leading, follow.offset) === 'open';
		if (node === leader && isOpen) return `${name} lies below it now, in an open transaction.`;
		return node === leader
			? `${name} lies below it now: it is committed, and readers may have it.`
			: `Now broker ${node} knows, too, that ${name} is committed.`;
	}
	if (event === 'RecordsPolled' && passes) return `${name} is among them.`;
	if (event === 'BatchAppended' && node === leader && Number(fields.baseOffset) <= follow.offset &&
		follow.offset <= Number(fields.lastOffset)) {
		return `${name} is in the log of the leader, and not committed yet.`;
	}
	return '';
}

/** Why the followed record is not committed, or not known to be; '' when it is, or is gone.
 *  @param {object} scene @param {Follow} follow @returns {string} */
export function whyNotYet(scene, follow) {
	const { focus } = scene;
	if (!isOf(focus, follow)) return '';
	const { leading } = focus;
	const name = follow.key || `offset ${shortOffset(follow.offset)}`;
	const wasSo = wasCommitted(focus, follow);
	const isLacked = wasSo && leading && follow.offset >= leading.leo;
	if (!isLacked && isLost(scene, follow)) return '';
	if (!leading) {
		if (!wasSo && !isAnywhere(focus, follow)) return '';
		return `${name} ${wasSo ? 'was committed' : 'waits'}: ${focus.name} has no leader.`;
	}
	if (!holds(leading, follow)) {
		return isLacked
			? `${name} was committed, but broker ${leading.id}, which leads now, does not have it.` : '';
	}
	if (follow.offset < leading.hw) return '';
	if (wasSo && powerOf(scene, leading.id) === 'down') {
		return `${name} was committed; broker ${leading.id}, which led last, did not know it yet.`;
	}
	if (wasSo) {
		return `${name} was committed; broker ${leading.id}, which leads now, does not know it yet: ` +
			`its own high watermark is ${shortOffset(leading.hw)}.`;
	}
	if (focus.isr.length < focus.minIsr) {
		return `${name} is not committed: ${focus.isr.length} in sync, ${focus.minIsr} are needed.`;
	}
	if (powerOf(scene, leading.id) === 'down') {
		return `${name} is not committed: broker ${leading.id}, which led last, is down.`;
	}
	const lacking = focus.isr.filter((id) => !holds(focus.copies.get(id), follow));
	if (lacking.length) {
		const who = lacking.length > 1 ? `brokers ${idList(lacking)} are` : `broker ${lacking} is`;
		return `${name} is not committed: ${who} in sync and must fetch it first.`;
	}
	return `${name} is on every in-sync replica; the leader learns it from their next fetch.`;
}
