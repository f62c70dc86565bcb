// Messages as tokens: what kind, what it says, and between which columns it travels.
// Pure; the view gives them time and place.

import { FIRST_OUTSIDE } from '../model/deliveries.js';
import { errorName } from '../model/narrate.js';
import { shortOffset } from './format.js';
import { REST, producerColumn, readerColumn } from './geometry.js';
import { carries, isAt } from './clients.js';
import { isOf, recordAt } from './scene.js';
import { epochIn } from './where.js';

const CHIPS_MOST = 2;
const ELEMENTS_MOST = 24;
const STAGES = 5; // of a way: two tokens in one of them cover each other

/**
 * @typedef {object} Flight
 * @property {string} id
 * @property {string|number} from name of a column
 * @property {string|number} to
 * @property {'ask'|'parcel'|'answer'|'dot'} kind
 * @property {string} text
 * @property {string[]} chips keys of the records it carries
 * @property {string} note
 * @property {number} count how many messages it stands for
 * @property {boolean} followed
 * @property {boolean} idle
 */

/** A message between nodes.
 *  @param {object} message in the form of scene.messageOf
 *  @returns {Flight | null} */
export function flightOfMessage(scene, message, follow) {
	const { api, isAnswer } = message;
	const from = clientColumn(scene, message.from) ?? message.from;
	const to = clientColumn(scene, message.to) ?? message.to;
	const low = [from, to].some((id) => scene.controllers.some((node) => node.id === id));
	const flight = { id: `m${message.id}`, from, to, idle: message.idle, ...blank };
	if (low) return { ...flight, kind: 'dot', text: api };
	const inFocus = concerns(scene, message);
	const client = scene.clientOf.get(isAnswer ? message.to : message.from);
	if (client) return { ...flight, ...faceOfClient(scene, message, client, follow) };
	// What followers ask of other partitions is a dot, unless it carries records of somebody's topic.
	const isAside = api === 'Fetch' && !inFocus;
	if (isAside && (!message.records || message.topic.startsWith('__'))) {
		return { ...flight, kind: 'dot' };
	}
	if (api === 'Fetch' && !isAnswer) {
		return { ...flight, ...fetchFrom(message.offset) };
	}
	const hw = `HW ${shortOffset(message.hw)}`;
	if (api === 'Fetch' && message.records > 0) {
		const parcel = chipsOf(scene, message, follow);
		return { ...flight, ...parcel, kind: 'parcel', note: inFocus ? hw : '' };
	}
	if (api === 'Fetch') return { ...flight, kind: 'answer', text: hw };
	return { ...flight, kind: isAnswer ? 'answer' : 'ask', text: wordsOf(api) };
}

/** A request of an outside client, or its answer.
 *  @param {object} event RequestReceived or ResponseSent
 *  @returns {Flight | null} */
export function flightOfClient(scene, event, follow) {
	const { fields, node } = event;
	const isAnswer = event.event === 'ResponseSent';
	const connection = Number(fields.connection);
	const column = clientColumn(scene, connection);
	// Clients inside the cluster send messages, as brokers do, and those fly already.
	if (!column || connection < FIRST_OUTSIDE) return null;
	const message = {
		from: node,
		topic: fields.topic,
		partition: fields.partition,
		offset: Number(fields.offset),
		records: fields.records,
	};
	const flight = {
		...blank,
		id: `c${fields.connection}-${fields.request}-${isAnswer ? 'a' : 'q'}`,
		from: isAnswer ? node : column,
		to: isAnswer ? column : node,
		idle: fields.idle,
	};
	const face = isAnswer
		? clientAnswer(scene, fields, message, follow)
		: clientQuestion(scene, fields, message, node);
	return { ...flight, ...face };
}

/** What passes between a client inside the cluster and a broker. Of its questions the message says
 *  only the kind; where it reads and what it sends is known from the client itself. */
function faceOfClient(scene, message, client, follow) {
	const { api, isAnswer } = message;
	if (api === 'Produce' && !isAnswer) return produceOf(scene, message, client, follow);
	if (api === 'Fetch' && !isAnswer) {
		const isHere = scene.focus?.leader === message.to && client.position !== null;
		return isHere ? fetchFrom(client.position) : { kind: 'dot' };
	}
	if (!isAnswer) return { kind: 'ask', text: wordsOf(api), dim: true };
	if (api === 'Produce' && !message.topic) return { kind: 'answer', text: 'ack' };
	if (api === 'Fetch' && !message.errorCode && !message.records) return { kind: 'dot' };
	return clientAnswer(scene, message, message, follow);
}

function produceOf(scene, message, client, follow) {
	const isIn = (batch) => batch.state === 'sent' && batch.to === message.to &&
		(!message.topic || concerns({ focus: message }, batch));
	const batches = client.batches?.filter(isIn) ?? [];
	const [first] = batches;
	// The built-in client keeps no batches that could tell.
	if (!first && !message.topic) return { kind: 'parcel', chips: ['records'] };
	const records = batches.reduce((sum, batch) => sum + batch.records, 0);
	const face = clientQuestion(scene, { api: 'Produce' }, first ? { ...first, records } : message);
	const followed = batches.some((batch) => carries(client, batch, follow));
	const chips = followed && records === 1 ? [follow.key] : face.chips;
	return { ...face, chips, followed, note: client.words?.[0] ?? '' };
}

const fetchFrom = (offset) => ({ kind: 'ask', text: `fetch from ${shortOffset(offset)}` });

const blank = { count: 1, text: '', chips: [], note: '', followed: false, dim: false };

function clientQuestion(scene, fields, message, to) {
	if (fields.api === 'Produce') {
		// What it carries has no offset before the leader appends it, so there is no key to show.
		const count = `${message.records} ${message.records === 1 ? 'record' : 'records'}`;
		const where = concerns(scene, message) ? '' : ` to ${message.topic}-${message.partition}`;
		return { kind: 'parcel', chips: [`${count}${where}`], note: acksOf(fields.acks) };
	}
	if (fields.api === 'Fetch') {
		// A fetch asks for more than it names.
		const position = scene.focus?.leader === to
			? scene.clientOf.get(Number(fields.connection))?.position : null;
		const from = position ?? (concerns(scene, message) ? message.offset : null);
		if (from !== null) return fetchFrom(from);
		return { kind: 'ask', text: 'fetch', dim: true };
	}
	return { kind: 'ask', text: wordsOf(fields.api), dim: true };
}

function clientAnswer(scene, fields, message, follow) {
	if (fields.errorCode) {
		const text = errorName(fields.errorCode).toLowerCase().replaceAll('_', ' ');
		return { kind: 'answer', text, alarm: true };
	}
	if (fields.api === 'Produce') {
		return { kind: 'answer', text: `ack ${shortOffset(message.offset)}` };
	}
	if (fields.api === 'Fetch' && message.records > 0) {
		return { kind: 'parcel', ...chipsOf(scene, message, follow) };
	}
	return { kind: 'answer', text: fields.api === 'Fetch' ? 'nothing new' : 'ok', dim: true };
}

const acksOf = (acks) => (acks === undefined ? '' : `acks=${acks === -1 ? 'all' : acks}`);

/** CreateTopics reads "create topics". */
const wordsOf = (api) => api.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();

/** Whether something is about the partition on the stage. */
export const concerns = ({ focus }, part) => isAt(focus)(part);

function chipsOf(scene, message, follow) {
	const { focus } = scene;
	if (!concerns(scene, message)) {
		const text = `${message.records} × ${message.topic}-${message.partition}`;
		return { chips: [text], followed: false };
	}
	const epochAt = message.epochAt ??
		((offset) => epochIn(focus.copies.get(message.from), offset));
	const chips = [];
	for (let i = 0; i < Math.min(message.records, CHIPS_MOST); i += 1) {
		const offset = message.offset + i;
		const epoch = epochAt(offset);
		const record = recordAt(focus, offset, epoch < 0 ? undefined : epoch);
		chips.push(record?.key || `#${shortOffset(offset)}`);
	}
	if (message.records > CHIPS_MOST) chips.push(`+${message.records - CHIPS_MOST}`);
	// At one offset there can have been two records; the epoch in the sender's log says which.
	const followed = isOf(focus, follow) && follow.offset >= message.offset &&
		follow.offset < message.offset + message.records && epochAt(follow.offset) === follow.epoch;
	return { chips, followed };
}

function clientColumn(scene, connection) {
	const client = scene.clientOf.get(connection);
	if (!client) return null;
	const isReader = scene.readers.includes(client);
	return isReader ? readerColumn(client.id) : producerColumn(client.id);
}

/** Columns that are not on the stage stand behind the last one of their side. */
export function landing(geometry, column) {
	if (geometry.columns[column]) return column;
	const name = String(column);
	const rest = name.startsWith('producer') ? producerColumn(REST) : readerColumn(REST);
	return geometry.columns[rest] ? rest : null;
}

/** Tokens of one kind that are at the same place of the same link would cover each other: they are
 *  one, counted. More than can be told apart become one per link, direction and kind.
 *  @param {{flight: Flight, progress: number}[]} travellers
 *  @returns {{flight: Flight, progress: number}[]} */
export function aggregate(travellers) {
	const isMany = travellers.length > ELEMENTS_MOST;
	const groups = new Map();
	for (const traveller of travellers) {
		const { flight, progress } = traveller;
		const stage = isMany ? 0 : Math.floor(progress * STAGES);
		const id = `${flight.from}>${flight.to}/${flight.kind}/${stage}`;
		const group = groups.get(id);
		if (!group) {
			groups.set(id, traveller);
			continue;
		}
		const face = group.flight.followed || !flight.followed ? group.flight : flight;
		const count = group.flight.count + flight.count;
		groups.set(id, { ...group, flight: { ...face, id: group.flight.id, count } });
	}
	return [...groups.values()].slice(0, ELEMENTS_MOST);
}
