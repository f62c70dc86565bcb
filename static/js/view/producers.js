// Who writes: a named producer as a card with its accumulator and what it believes; everybody else
// as a line. Their links leave at the right.

import { carries } from '../layout/clients.js';
import { shortCount } from '../layout/format.js';
import { cls, h, icon, lowered } from './dom.js';

export function drawProducers({ scene, geometry, ui, act }) {
	if (geometry.narrow) return null;
	const { producers: area, unit, shape } = geometry;
	const byId = new Map(scene.producers.map((client) => [client.id, client]));
	const hidden = scene.producers.slice(area.rows.length);
	return h(
		'section',
		{
			class: 'producers',
			'aria-label': 'Producers',
			testid: 'producers',
			style: { transform: `translateX(${area.x}px)`, width: `${area.width}px` },
		},
		h('h3', { style: { height: `${shape.laneTop * unit}px` } }, 'Clients that write'),
		area.rows.map((row) => {
			const client = byId.get(row.id);
			if (!client) return null;
			const props = {
				key: row.id,
				title: titleOf(client),
				testid: `client-${row.id}`,
				style: { transform: lowered(row.top), height: `${row.height}px` },
			};
			return row.isCard ? drawCard(client, ui.follow, props) : drawLine(client, props);
		}),
		drawMore(hidden, 'producer', area.rest, act),
		!scene.producers.length && h('p', { class: 'nobody',
			style: { transform: lowered(area.rest) } }, 'Nobody writes yet.'),
	);
}

/** Those that have no room: a menu that puts one of them on the stage. */
export const drawMore = (hidden, role, top, act) =>
	hidden.length > 0 &&
	h(
		'select',
		{
			class: 'more',
			key: `more-${role}`,
			title: `Put another ${role} on the stage`,
			'aria-label': `Put another ${role} on the stage`,
			testid: `more-${role}s`,
			style: { transform: lowered(top) },
			value: '',
			onChange: ({ target }) => {
				act.stand(role, target.value);
				target.value = '';
			},
		},
		h('option', { key: 'count', value: '' }, `+${hidden.length} more`),
		hidden.map((client) => h('option', { key: client.id, value: client.id }, client.id)),
	);

function drawLine(client, props) {
	const did = client.isNamed
		? beliefsOf(client).map(({ n, word }) => `${shortCount(n)} ${word}`).join(', ') ||
			'wrote nothing yet'
		: client.produces ? `${shortCount(client.produces)} produces` : lastOf(client);
	return h(
		'div',
		{ ...props, class: cls('lane', { busy: client.open > 0, gone: !client.isAlive }) },
		h('b', null, client.id),
		h('span', null, client.open && !client.isNamed ? `${client.open} open` : did),
	);
}

function drawCard(client, follow, props) {
	const { shown, more } = client.slots;
	return h(
		'div',
		{ ...props, class: cls('lane card', { busy: client.open > 0, gone: !client.isAlive }) },
		h('b', null, client.id, ...stateOf(client)),
		h('span', null, client.words.join(' · ')),
		h(
			'ol',
			{ class: 'slots', 'aria-label': 'Accumulator' },
			shown.map((slot) => drawSlot(client, slot, follow)),
			more > 0 && h('li', { class: 'slots-more' }, `+${more}`),
		),
		drawBeliefs(client),
	);
}

function stateOf(client) {
	if (!client.isAlive) return [h('i', { class: 'alarm' }, 'gone')];
	if (client.isPaused) return [h('i', { class: 'alarm' }, 'paused')];
	if (client.blocked) return [h('i', { class: 'alarm' }, `waits for ${client.blocked}`)];
	if (client.transaction && client.transaction !== 'ready') {
		return [h('i', { class: 'thread' }, client.transaction)];
	}
	return [];
}

/** One partition's queue: how full its open batch is, and what is on the way. */
function drawSlot(client, slot, follow) {
	const { waiting, sent } = slot;
	const bytes = waiting.at(-1)?.bytes ?? 0;
	const count = waiting.reduce((sum, batch) => sum + batch.records, 0);
	const fill = count ? Math.max(0.12, Math.min(1, bytes / Math.max(1, slot.batchBytes))) : 0;
	const under = sent.reduce((sum, batch) => sum + batch.records, 0);
	const holds = (batch) => carries(client, batch, follow);
	const name = `${slot.topic}-${slot.partition}`;
	const says = `${name}: ${count} in the accumulator, ${bytes} of ${slot.batchBytes} bytes in ` +
		`the open batch, ${under} in flight`;
	return h(
		'li',
		{
			key: name,
			class: cls('slot', { full: count > 0, away: under > 0,
				followed: waiting.some(holds), 'followed-away': sent.some(holds) }),
			title: says,
			'aria-label': says,
			testid: `slot-${client.id}-${name}`,
			'data-value': `${count}/${under}`,
		},
		h(
			'div',
			{ class: 'slot-box' },
			h('i', { class: 'slot-fill', style: { transform: `scaleY(${fill})` } }),
			count > 0 && h('b', null, shortCount(count)),
			waiting.length > 1 && h('small', null, `${waiting.length} batches`),
			!count && under > 0 && [icon('send'), h('small', null, shortCount(under))],
		),
		h('span', null, `P${slot.partition}`),
	);
}

const SIGNS = { acked: 'check', failed: 'cross', unknown: 'help', 'in flight': 'send' };

function beliefsOf(client) {
	const all = [
		{ word: 'acked', n: client.acked },
		{ word: 'in flight', n: client.sent },
		{ word: 'failed', n: client.failed },
		{ word: 'unknown', n: client.unknown },
	];
	return all.filter(({ n }) => n > 0);
}

/** What the producer believes; the logs may know better. */
const drawBeliefs = (client) =>
	h(
		'ul',
		{ class: 'beliefs', 'aria-label': 'What it believes', testid: `beliefs-${client.id}` },
		beliefsOf(client).map(({ word, n }) =>
			h(
				'li',
				{ key: word, class: cls({ alarm: word === 'failed', unsure: word === 'unknown' }),
					'data-belief': word, 'data-value': n },
				icon(SIGNS[word]),
				h('b', null, shortCount(n)),
				` ${word}`,
			),
		),
	);

/** The built-in client has no connection that brokers would tell of. */
const lastOf = (client) => client.last?.api ??
	(client.nodes.length ? 'connected' : 'runs your commands');

export const titleOf = (client) =>
	[client.id, client.identity, client.software, client.address, client.lastError,
		client.nodes.length > 0 && `connected to ${[...new Set(client.nodes)]}`]
		.filter(Boolean)
		.join(', ');
