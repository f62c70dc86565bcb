// The scene: what the page needs of the folded state, for one partition in focus, in
// numbers instead of strings. The only module that knows the names of the state's fields.

import { clientsOf, leftOf, runsOf } from './clients.js';
import { threadAt, threadsOf } from './threads.js';
import { waitsFor } from '../model/asks.js';

const NO_LEADER = -1;
const INTERNAL = /^__/;

/**
 * @typedef {object} Node
 * @property {number} id
 * @property {'up'|'paused'|'fenced'|'down'} power
 * @property {string} verdict one word for the plate on a tank, '' when all is well
 * @property {string} state of a controller: leader, candidate, follower
 * @property {number} term of a controller
 *
 * @typedef {object} Copy one replica of the partition in focus
 */

/** @param {object} state the fold, as JSON
 *  @param {{topic: string|null, partition: number, reader?: string, producer?: string}} wanted the
 *  partition to look at, and the clients that were picked */
export function sceneOf(state, wanted) {
	const nodes = listOf(state.nodes).map(nodeOf);
	const topics = listOf(state.topics)
		.filter((topic) => !topic.deleted)
		.map(topicOf)
		.sort(byUse);
	const brokers = nodes.filter((node) => node.role === 'broker');
	const focus = focusOf(topics, wanted, listOf(state.configs));
	const clients = clientsOf(state, focus, wanted);
	return {
		seq: Number(state.seq ?? 0),
		at: Number(state.at ?? 0),
		brokers,
		controllers: nodes.filter((node) => node.role === 'controller'),
		topics,
		focus,
		pipes: focus ? pipesOf(topics, focus) : [],
		...clients,
		left: leftOf(state, focus),
		waits: waitsOf(state, focus),
		timers: listOf(state.timers).map(timerOf),
		messages: listOf(state.messages).map(messageOf),
		links: listOf(state.links).map(linkOf),
		metadataHw: number(state.metadata?.highWatermark, -1),
		vitals: vitalsOf(topics, nodes, { clients: listOf(state.clients), counters: state.counters,
			builtIn: listOf(state.nodes).filter(isClient) }),
	};
}

const isClient = ({ role }) => ['client', 'producer', 'consumer'].includes(role);

/** An empty list is null in the state. */
const listOf = (value) => value ?? [];

const number = (value, fallback = 0) =>
	value === undefined || value === null ? fallback : Number(value);

function nodeOf(node) {
	const isBroker = node.role === 'broker';
	const isFenced = isBroker && node.registered && node.fenced;
	const power = !node.alive ? 'down' : node.paused ? 'paused' : isFenced ? 'fenced' : 'up';
	return {
		id: node.id,
		role: node.role,
		power,
		isFenced,
		verdict: verdictOf(power, node),
		registered: node.registered,
		address: node.host ? `${node.host}:${node.port}` : '',
		state: node.state ?? '',
		term: number(node.term),
		stored: number(node.metadataStored, -1),
		replayed: number(node.metadataOffset, -1),
		diskFault: node.diskFault ?? '',
		isLeaving: Boolean(node.controlledShutdown),
	};
}

function verdictOf(power, node) {
	if (node.logDirFailed) return 'disk failed';
	if (power === 'down') return node.stopped === 'stop' ? 'stopped' : 'dead';
	return power === 'up' ? '' : power;
}

function topicOf({ name, topicId, partitions }) {
	// A broker that is down may hold partitions of a former topic of this name that had more.
	const all = listOf(partitions);
	const known = all.filter((partition) => partition.known);
	return { name, id: topicId ?? '', partitions: (known.length ? known : all).map(partitionOf) };
}

const byUse = (a, b) =>
	INTERNAL.test(a.name) - INTERNAL.test(b.name) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

function partitionOf(partition) {
	const leader = number(partition.leader, NO_LEADER);
	return {
		partition: partition.partition,
		leader: leader < 0 || !partition.known ? null : leader,
		epoch: number(partition.leaderEpoch),
		partitionEpoch: number(partition.partitionEpoch),
		isr: listOf(partition.isr),
		elr: listOf(partition.elr),
		replicas: listOf(partition.replicas),
		minIsr: Math.max(1, number(partition.minIsr, 1)),
		copies: new Map(listOf(partition.copies).map((copy) => [copy.node, copy])),
		described: partition.records ?? [],
		describedEver: partition.described,
		committed: listOf(partition.committed).map(({ epoch, to }) => ({ epoch, to: number(to) })),
		given: runsOf(partition.given),
		assured: runsOf(partition.assured),
	};
}

function copyOf(id, copy) {
	const start = number(copy.logStartOffset);
	const epochs = listOf(copy.epochs).map((e) => ({ epoch: e.epoch, from: number(e.startOffset) }));
	const batches = listOf(copy.batches).map(batchOf);
	const leo = number(copy.leo);
	const toldFrom = batches[0]?.base ?? leo;
	const everCut = listOf(copy.cut).map(batchOf);
	return {
		id,
		role: copy.role,
		leo,
		hw: Math.max(0, number(copy.hw)),
		synced: Math.max(start, number(copy.synced)),
		isDark: copy.unpowered, // what its page cache had is gone, as far as anybody knows
		start,
		isr: listOf(copy.isr),
		lso: Math.max(0, number(copy.lso)),
		holes: runsOf(copy.holes),
		holesFrom: number(copy.holesFrom),
		knownFrom: number(copy.knownFrom),
		cleaning: copy.cleaning ? number(copy.cleaning.firstDirty) : null,
		cleaned: copy.cleaned ? number(copy.cleaned.firstDirty) : null,
		threads: threadsOf(listOf(copy.transactions)),
		epochs,
		segments: listOf(copy.segments).map(Number),
		batches: [...unrecorded(start, toldFrom, epochs), ...batches],
		toldFrom,
		cut: isCutNews(copy) ? everCut.filter(({ base }) => base >= leo) : [],
		cutTo: isCutNews(copy) ? Math.max(leo, number(copy.truncation.before)) : leo,
		everCut,
		followers: listOf(copy.followers).map((f) => ({ id: f.node, leo: number(f.leo) })),
	};
}

/** What a truncation took is shown until something is appended. */
const isCutNews = ({ truncation, totals }) => truncation && truncation.batches === totals.batches;

/** What a log has and no event of this run told of: it was there when the cluster started, or was
 *  too long ago. One batch stands for each epoch of it. */
function unrecorded(start, end, epochs) {
	if (start >= end) return [];
	const within = epochs.map((e) => e.from).filter((from) => start < from && from < end);
	const ends = [...within, end];
	return ends.map((to, i) => {
		const base = i > 0 ? ends[i - 1] : start;
		const { epoch = -1 } = epochs.findLast((e) => e.from <= base) ?? {};
		return {
			base, last: to - 1, records: to - base, bytes: 0, epoch, producerId: '-1', sequence: -1,
			codec: 'none', control: false, transactional: false, isUnrecorded: true,
		};
	});
}

const batchOf = (batch) => ({
	base: number(batch.baseOffset),
	last: number(batch.lastOffset),
	records: batch.records,
	bytes: batch.bytes,
	epoch: batch.epoch,
	producerId: batch.producerId,
	sequence: batch.sequence,
	codec: batch.codec || 'none',
	control: batch.control,
	transactional: Boolean(batch.transactional),
});

function focusOf(topics, wanted, configs) {
	const topic = topics.find((t) => t.name === wanted.topic) ?? topics[0];
	if (!topic) return null;
	const partition =
		topic.partitions.find((p) => p.partition === wanted.partition) ?? topic.partitions[0];
	if (!partition) return null;
	const isCompacted = configs.some((config) => config.resource === topic.name &&
		config.name === 'cleanup.policy' && config.value.includes('compact'));
	const copies = new Map([...partition.copies].map(([id, copy]) => [id, copyOf(id, copy)]));
	// Which offsets below the known holes still have a record, nobody told.
	for (const copy of copies.values()) {
		const known = ({ isUnrecorded, base, ...rest }) =>
			({ ...rest, isUnrecorded, base: isUnrecorded ? Math.max(base, copy.holesFrom) : base });
		copy.batches = copy.batches.map(known).filter(({ base, last }) => base <= last);
	}
	const all = [...copies.values()];
	const ends = all.flatMap((copy) => [copy.leo, copy.cutTo]);
	const leading = partition.leader === null ? null : copies.get(partition.leader);
	return {
		...partition,
		topic: topic.name,
		topicId: topic.id,
		name: `${topic.name}-${partition.partition}`,
		partitions: topic.partitions.map((p) => p.partition),
		copies,
		leading: leading ?? null,
		hw: leading ? leading.hw : Math.max(0, ...all.map((copy) => copy.hw)),
		lso: leading ? Math.min(leading.lso, leading.hw) : null,
		start: all.length ? Math.min(...all.map((copy) => copy.start)) : 0,
		live: Math.max(0, ...all.map((copy) => copy.leo)),
		cutFrom: Math.min(...all.flatMap((copy) => copy.cut.map((batch) => batch.base))),
		end: Math.max(0, ...ends),
		isCompacted,
		holesTo: Math.max(0, ...all.flatMap((copy) => copy.holes.map((hole) => hole.to))),
		records: recordsOf(partition),
	};
}

/** What recordsOf made of a list, which only changes when something more was described. */
const indexed = new WeakMap();

/** Described records by offset, and by epoch where histories have diverged. */
function recordsOf({ described, describedEver }) {
	const known = indexed.get(described);
	if (known && known.ever === describedEver) return known.byOffset;
	const byOffset = new Map();
	indexed.set(described, { ever: describedEver, byOffset });
	for (const record of listOf(described)) {
		const entry = {
			offset: number(record.offset),
			epoch: record.epoch,
			key: record.key,
			value: record.value,
			timestamp: number(record.timestamp),
		};
		byOffset.set(`${entry.offset}/${entry.epoch}`, entry);
		byOffset.set(entry.offset, entry);
	}
	return byOffset;
}

/** Whether a followed record is one of the partition in focus. A topic that was made again under
 *  its name has another id, and none of the records of the first.
 *  @returns {boolean} */
export const isOf = (focus, follow) =>
	Boolean(focus && follow) && follow.topic === focus.topic &&
	follow.partition === focus.partition && (follow.topicId ?? '') === focus.topicId;

/** The record at an offset as it was written in an epoch, if it was described.
 *  @returns {{key: string, value: string} | undefined} */
export const recordAt = (focus, offset, epoch) =>
	focus.records.get(epoch === undefined ? offset : `${offset}/${epoch}`);

/** The cells of a copy whose offsets lie in [from, to), bottom up; those that the last
 *  truncation took come with `cut`.
 *  @param {Copy} copy */
export function entriesOf(focus, copy, from, to) {
	const cells = (batches, isCut) =>
		batches
			.filter((batch) => batch.last >= from && batch.base < to)
			.flatMap((batch) => cellsOf(focus, copy, batch, Math.max(from, batch.base), to, isCut));
	return [...cells(copy.batches, false), ...cells(copy.cut, true)];
}

/** Whether compaction left no record at an offset of a copy. */
export const isHole = (copy, offset) => isAmong(copy.holes, offset);

export const isAmong = (runs, offset) => runs.some(({ from, to }) => from <= offset && offset < to);

function cellsOf(focus, copy, batch, from, to, isCut) {
	const cells = [];
	for (let offset = from; offset <= batch.last && offset < to; offset += 1) {
		if (!isCut && isHole(copy, offset)) continue;
		const record = recordAt(focus, offset, batch.epoch);
		cells.push({
			thread: isCut ? null : threadAt(copy.threads, batch, offset),
			offset,
			epoch: batch.epoch,
			base: batch.base,
			last: batch.last,
			key: record?.key ?? '',
			value: record?.value ?? '',
			known: Boolean(record),
			isEarlier: !record && isOlder(focus, batch, offset),
			control: batch.control,
			batch,
			cut: isCut,
		});
	}
	return cells;
}

/** Whether another log had this record before events told of it: then it is not a new one. */
const isOlder = (focus, { epoch }, offset) => [...focus.copies.values()].some((copy) =>
	offset < copy.toldFrom && copy.batches.some((batch) => batch.epoch === epoch &&
		batch.base <= offset && offset <= batch.last));

function pipesOf(topics, focus) {
	const others = topics
		.find((topic) => topic.name === focus.topic)
		.partitions.filter((p) => p.partition !== focus.partition);
	return others.map((p) => {
		const levels = new Map(
			[...p.copies].map(([id, copy]) => [
				id,
				{ leo: number(copy.leo), hw: Math.max(0, number(copy.hw)) },
			]),
		);
		const most = Math.max(4, ...[...levels.values()].map((level) => level.leo));
		return { partition: p.partition, leader: p.leader, levels, capacity: most * 1.25 };
	});
}

function waitsOf(state, focus) {
	const here = focus && listOf(state.topics).find(({ name }) => name === focus.topic)
		?.partitions.find(({ partition }) => partition === focus.partition);
	return listOf(state.waits).map((wait) => (
		{ ...waitOf(wait), isHere: Boolean(here) && waitsFor(state, wait, here, focus.topic) }));
}

const waitOf = (wait) => ({
	id: wait.wait,
	node: number(wait.node),
	what: wait.what,
	topic: wait.topic,
	partition: number(wait.partition),
	needs: number(wait.needs),
	for: number(wait.for),
	due: number(wait.due),
	idle: Boolean(wait.idle),
});

const timerOf = (timer) => ({
	id: timer.timer,
	node: number(timer.node),
	name: timer.name,
	due: number(timer.due),
});

const linkOf = (link) => ({
	from: number(link.from),
	to: number(link.to),
	cut: Boolean(link.cut),
	latency: number(link.latency),
});

/** A message of the state or of a MessageSent event, in one form.
 *  @returns {object} */
export const messageOf = (message) => ({
	id: message.message,
	from: number(message.from),
	to: number(message.to),
	api: message.api,
	isAnswer: String(message.answers ?? '0') !== '0',
	topic: message.topic ?? '',
	partition: number(message.partition),
	offset: number(message.offset),
	records: number(message.records),
	hw: number(message.highWatermark),
	errorCode: number(message.errorCode),
	idle: Boolean(message.idle),
});

function vitalsOf(topics, nodes, { clients: connections, builtIn, counters }) {
	const partitions = topics.flatMap((topic) => topic.partitions)
		.filter(({ replicas }) => replicas.length);
	const active = nodes.find(
		(n) => n.role === 'controller' && n.state === 'leader' && n.power === 'up',
	);
	const brokers = nodes.filter((node) => node.role === 'broker');
	return {
		brokersUp: brokers.filter((node) => node.power === 'up').length,
		brokers: brokers.length,
		underReplicated: partitions.filter((p) => p.isr.length < p.replicas.length).length,
		underMinIsr: partitions.filter((p) => p.isr.length < p.minIsr).length,
		offline: partitions.filter((p) => p.leader === null).length,
		controller: active ? active.id : null,
		clients: new Set(connections.map((c) => c.clientId || c.connection)).size +
			builtIn.filter((node) => node.alive).length,
		records: number(counters?.records),
	};
}

/** Whether a link is cut in either direction.
 *  @returns {boolean} */
export const isCut = (scene, a, b) =>
	scene.links.some(
		(link) =>
			link.cut && ((link.from === a && link.to === b) || (link.from === b && link.to === a)),
	);

/** @returns {Node | undefined} */
export const nodeById = (scene, id) =>
	scene.brokers.find((node) => node.id === id) ?? scene.controllers.find((node) => node.id === id);
