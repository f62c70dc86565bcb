// Who writes and who reads: the named producers and consumers of the cluster, the client behind
// the page's own form, and whoever connects from outside, under the client id it gave.

import { clientName } from '../model/deliveries.js';
import { READERS_MOST } from './geometry.js';

const BUILT_IN = 'built-in client'; // the client inside the cluster that the send form uses
const BATCH_BYTES = 16_384; // Kafka's default of batch.size
const ENDS = { kill: 'killed', stop: 'closed' };
const LINGER = '5 ms';
const LINE = 27; // characters of a card's words

/**
 * @typedef {object} Client
 * @property {string} id
 * @property {boolean} isNamed whether it lives in the cluster and says what it believes
 * @property {number} newness larger for who came later
 * @property {number} near 2 if it has to do with the partition in focus, 1 with its topic, else 0
 * @property {number[]} connections nodes or connections that are this client
 * @property {number|null} position the next offset it asks for, in the partition in focus
 * @property {{from: number, to: number}[]} read what it was given there, or sent
 */

/** @param {object} state @param {object|null} focus
 *  @param {{reader?: string, producer?: string}} picked who is to stand on the stage
 *  @returns {{producers: Client[], readers: Client[], clientOf: Map<number, Client>}} */
export function clientsOf(state, focus, picked) {
	const named = (state.programs ?? []).map((program) => programOf(state, program, focus));
	const outside = outsidersOf(state, focus, new Set(named.map((client) => client.id)));
	const reads = (client) =>
		client.isNamed ? client.role === 'consumer' : client.fetches > 0 &&
			client.fetches >= client.produces;
	const all = [...named, ...outside];
	return {
		producers: all.filter((client) => !reads(client)).sort(byRank(picked.producer)),
		...readersOf(all.filter(reads), picked.reader),
		clientOf: new Map(all.flatMap((c) => c.connections.map((connection) => [connection, c]))),
	};
}

/** Who was picked, then those that live, that have to do with what is looked at, and that have
 *  something to say; among equals the newest. */
const byRank = (picked) => (a, b) =>
	(b.id === picked) - (a.id === picked) ||
	b.isAlive - a.isAlive ||
	b.isNamed - a.isNamed ||
	b.near - a.near ||
	(a.id === BUILT_IN) - (b.id === BUILT_IN) ||
	b.newness - a.newness;

/** Whoever was picked, then those that read what is looked at, before all who read nothing of it.
 *  Those that have a column keep their order, whoever starts, dies or comes back: connections are
 *  others then, a client's node and its name are not. A phone has a column for one of them only.
 *  @returns {{readers: Client[], reader: Client|undefined}} */
function readersOf(all, picked) {
	const ranked = all.sort((a, b) => (b.id === picked) - (a.id === picked) || b.near - a.near ||
		byRank()(a, b));
	const shown = ranked.slice(0, READERS_MOST).sort((a, b) => b.isNamed - a.isNamed ||
		(a.isNamed ? a.newness - b.newness : a.id < b.id ? -1 : 1));
	return { readers: [...shown, ...ranked.slice(READERS_MOST)], reader: ranked[0] };
}

const blank = (id) => ({
	...{ id, isNamed: false, isAlive: true, near: 0, newness: 0, role: '', software: '' },
	...{ address: '', connections: [], nodes: [], produces: 0, fetches: 0, open: 0 },
	...{ former: [], ending: '', last: null, group: '', isolation: '' },
	...{ began: null, position: null, committed: null, read: [] },
});

function programOf(state, program, focus) {
	const settings = settingsOf(program.settings);
	const node = (state.nodes ?? []).find((each) => each.id === program.node);
	const isOwn = (part) => focus && part.topic === focus.topic;
	const parts = (program.partitions ?? []).filter(isOwn);
	const part = parts.find((each) => each.partition === focus?.partition);
	return {
		...blank(program.name),
		isNamed: true,
		isAlive: program.alive,
		isPaused: Boolean(node?.paused),
		near: program.role === 'consumer' && part ? 2
			: parts.length || settings.topic?.split(',').includes(focus?.topic) ? 1 : 0,
		newness: program.node,
		role: program.role,
		connections: [program.node],
		position: program.alive && !part?.assigned ? null : offsetOf(part?.position),
		committed: offsetOf(part?.committed),
		began: offsetOf(part?.began),
		read: runsOf(part?.read),
		former: runsOf(part?.former),
		ending: program.alive ? ' before restart' : `, then ${ENDS[node?.stopped] ?? 'ended'}`,
		isAssigned: Boolean(part?.assigned),
		group: program.group,
		isolation: settings['isolation.level'] === 'read_committed' ? 'read committed' : '',
		state: program.state,
		polled: Number(program.polled),
		lastError: program.lastError,
		...(program.role === 'producer' ? writingOf(program, settings, focus) : {}),
	};
}

export const runsOf = (runs) =>
	runs?.map(({ from, to }) => ({ from: Number(from), to: Number(to) })) ?? [];

/** An offset of the state; null where there is none yet. */
const offsetOf = (text) => (text === undefined || Number(text) < 0 ? null : Number(text));

const settingsOf = (text) =>
	Object.fromEntries((text ?? '').split(' ').map((word) => word.split(/=(.*)/s).slice(0, 2)));

/** What a producer is set to do, holds, and believes. */
function writingOf(program, settings, focus) {
	const acks = settings.acks === '-1' ? 'all' : settings.acks ?? 'all';
	const hasId = Number(program.producerId) >= 0;
	const id = settings['transactional.id'];
	const linger = (settings['linger.ms'] ?? LINGER).replace(/^(\d+)$/, '$1ms');
	const words = [`acks=${acks}`];
	if (id) words.push(`txn ${id}`);
	else if (hasId) words.push('idempotent');
	if (linger !== LINGER) words.push(`linger ${linger}`);
	return {
		words,
		lines: (words.join(' · ').length > LINE) + (program.failed + program.unknown > 0),
		identity: hasId ? `producer id ${program.producerId}, epoch ${program.producerEpoch}` : '',
		transaction: program.transaction,
		slots: slotsOf(program, focus, Number(settings['batch.size'] ?? BATCH_BYTES)),
		memory: Number(program.memory) / Math.max(1, Number(program.bufferMemory)),
		blocked: program.blocked,
		pending: program.pending,
		sent: program.sent,
		acked: program.acknowledged,
		failed: program.failed,
		unknown: program.unknown,
		acknowledged: (program.partitions ?? []).map((part) => ({ topic: part.topic,
			partition: part.partition, offset: Number(part.acknowledged) })),
		batches: program.batches ?? [],
		open: program.sent,
	};
}

const SLOTS_MOST = 4;

/** The accumulator: for each partition what waits there and what was sent and has no answer. The
 *  partition in focus comes first; those of other topics only while they hold something. */
function slotsOf(program, focus, batchBytes) {
	const slots = new Map();
	const at = (topic, partition) => {
		const key = `${topic}-${partition}`;
		if (!slots.has(key)) slots.set(key, { topic, partition, waiting: [], sent: [], batchBytes });
		return slots.get(key);
	};
	if (focus) {
		at(focus.topic, focus.partition);
		for (const partition of focus.partitions) at(focus.topic, partition);
	}
	for (const batch of program.batches ?? []) {
		const slot = at(batch.topic, batch.partition);
		(batch.state === 'sent' ? slot.sent : slot.waiting).push(batch);
	}
	const all = [...slots.values()];
	const isBusy = (slot) => slot.waiting.length + slot.sent.length > 0;
	const shown = all.slice(0, 1).concat(
		all.slice(1).sort((a, b) => isBusy(b) - isBusy(a)).slice(0, SLOTS_MOST - 1));
	return { shown, more: all.filter((slot) => isBusy(slot) && !shown.includes(slot)).length };
}

/** Whether something is about the partition in focus. */
export const isAt = (focus) => ({ topic, partition }) =>
	focus && topic === focus.topic && partition === focus.partition;

/** Who was sent something of the partition in focus, and is not connected any more.
 *  @returns {{id: string, read: {from: number, to: number}[]}[]} */
export const leftOf = (state, focus) => (state.deliveries ?? []).filter(isAt(focus))
	.map(({ client, runs }) => ({ id: client, read: runsOf(runs) }))
	.filter(({ id }) => !state.clients.map(clientName).includes(id));

/** Connections with the same client id are one client; what it asks for says what it is. */
function outsidersOf(state, focus, taken) {
	const byName = new Map();
	const asks = (state.asks ?? []).filter((ask) => ask.topic === focus?.topic);
	const own = (state.nodes ?? []).filter((node) => node.role === 'client').map(({ id }) => id);
	if (own.length) {
		const isAlive = state.nodes.some((node) => node.id === own[0] && node.alive);
		byName.set(BUILT_IN, { ...blank(BUILT_IN), connections: own, isAlive });
	}
	for (const connection of state.clients ?? []) {
		const given = clientName(connection);
		const id = taken.has(given) ? `${given}, outside` : given;
		const sent = (state.deliveries ?? []).filter((each) => each.client === given);
		const here = sent.find(isAt(focus));
		const client = byName.get(id) ??
			{ ...blank(id), read: runsOf(here?.runs), fetches: sent.length ? 1 : 0 };
		byName.set(id, client);
		addConnection(client, connection, focus, asks);
		// What it was sent may be among what the state let go.
		if (!here && state.notKept?.deliveries) client.read = [{ from: 0, to: client.position ?? 0 }];
	}
	return [...byName.values()];
}

function addConnection(client, connection, focus, asks) {
	const { lastRequest: last } = connection;
	const counts = connection.requests ?? {};
	client.connections.push(connection.connection);
	client.newness = Math.max(client.newness, connection.connection);
	client.nodes.push(connection.node);
	client.software ||= connection.software;
	client.address ||= connection.address;
	client.produces += counts.Produce ?? 0;
	client.fetches += counts.Fetch ?? 0;
	client.open += Number(connection.open ?? 0);
	if (!last) return;
	if (!client.last || Number(last.at) >= client.last.at) {
		client.last = { api: last.api, node: connection.node, at: Number(last.at) };
	}
	const nearness = (part) => (part.topic === focus?.topic) + isAt(focus)(part);
	const own = asks.filter(({ by }) => by === connection.connection);
	client.near = Math.max(client.near, ...[last, ...own].map(nearness));
	const ask = own.find(isAt(focus));
	if (ask) client.position = Math.max(client.position ?? 0, Number(ask.offset));
}

/** Whether a batch of a producer is the one that carries the followed record.
 *  @returns {boolean} */
export const carries = (client, batch, follow) =>
	Boolean(follow?.maker) && client.connections.includes(follow.maker.node) &&
	follow.maker.batch === batch.batch;
