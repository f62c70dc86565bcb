// The outside clients: producers as lanes at the left, readers as columns at the right,
// both by the client id they gave.

import { shortCount, shortOffset } from '../layout/format.js';
import { READERS_MOST, readerColumn } from '../layout/geometry.js';
import { cls, h, icon } from './dom.js';

export function drawProducers({ scene, geometry }) {
	if (geometry.narrow) return null;
	const { producers: area, unit, shape } = geometry;
	const { producers } = scene;
	const isOver = producers.length > area.lanes;
	const shown = producers.slice(0, isOver ? area.lanes - 1 : area.lanes);
	const hidden = producers.slice(shown.length);
	return h(
		'section',
		{
			class: 'producers',
			'aria-label': 'Producers',
			'data-testid': 'producers',
			style: { transform: `translateX(${area.x}px)`, width: `${area.width}px` },
		},
		h('h3', { style: { height: `${shape.laneTop * unit}px` } }, 'Clients that write'),
		h(
			'ol',
			null,
			shown.map((client) => drawLane(client, shape.lane * unit)),
			isOver && h('li', { class: 'lane-rest' }, `and ${hidden.length} more`),
		),
		!producers.length && h('p', { class: 'nobody' }, 'Nobody writes yet.'),
	);
}

function drawLane(client, height) {
	const did = client.produces ? `${shortCount(client.produces)} produces` : lastOf(client);
	const note = client.open ? `${client.open} open` : did;
	return h(
		'li',
		{
			class: cls('lane', { busy: client.open > 0 }),
			key: client.id,
			title: titleOf(client),
			'data-testid': `client-${client.id}`,
			style: { height: `${height}px` },
		},
		h('b', null, client.id),
		h('span', null, note),
	);
}

const lastOf = (client) => (client.last ? client.last.api : 'connected');

const titleOf = (client) =>
	[client.id, client.software, client.address, `connected to ${[...new Set(client.nodes)]}`]
		.filter(Boolean)
		.join(', ');

export function drawReaders(view) {
	const { scene, geometry } = view;
	const shown = geometry.narrow ? scene.readers.slice(0, 1) : scene.readers.slice(0, READERS_MOST);
	if (!shown.length) return geometry.narrow ? null : drawNoReader(view);
	const more = scene.readers.length - shown.length;
	return [
		shown.map((client) => drawReader(view, client)),
		more > 0 &&
			!geometry.narrow &&
			h(
				'p',
				{
					class: 'readers-rest',
					title: scene.readers.slice(shown.length).map((client) => client.id).join(', '),
					style: { transform: `translate(${geometry.readers.x}px, ${geometry.unit * 0.2}px)` },
				},
				`and ${more} more read`,
			),
	];
}

function drawNoReader({ geometry }) {
	const { readers, plinth, unit } = geometry;
	return h(
		'p',
		{
			class: 'nobody',
			style: {
				transform: `translate(${readers.x}px, ${plinth.top + unit * 0.4}px)`,
				width: `${readers.width}px`,
			},
		},
		'Nobody reads yet.',
	);
}

function drawReader({ scene, geometry, scale, ui }, client) {
	const column = geometry.columns[readerColumn(client.id)];
	if (!column) return null;
	const whole = geometry.tank.height;
	const top = (offset) => whole - scale.y(offset);
	const { position } = client;
	const { follow } = ui;
	const hasRead =
		follow && position > follow.offset && scene.focus.topic === follow.topic &&
		scene.focus.partition === follow.partition && follow.offset >= scale.from;
	return h(
		'section',
		{
			class: 'reader',
			key: `reader-${client.id}`,
			'aria-label': `Reader ${client.id}`,
			'data-testid': `client-${client.id}`,
			title: titleOf(client),
			style: {
				transform: `translate(${column.x}px, ${geometry.tank.top}px)`,
				width: `${column.width}px`,
				height: `${geometry.plinth.top + geometry.plinth.height - geometry.tank.top}px`,
			},
		},
		h(
			'div',
			{ class: 'gauge', style: { height: `${whole}px` } },
			h('div', { class: 'gauge-line' }),
			position !== null &&
				h('div', {
					class: 'read-so-far',
					style: { transform: `translateY(${top(position)}px)`, height: `${whole}px` },
				}),
			hasRead && drawSeen(follow, scale, top),
			position !== null &&
				h(
					'div',
					{
						class: 'reading',
						title: `position ${position}: the next offset it asks for`,
						style: { transform: `translateY(${top(position)}px)` },
					},
					h('b', null, shortOffset(position)),
					icon('pointer'),
				),
		),
		h(
			'footer',
			{
				class: 'plinth',
				style: { top: `${geometry.plinth.top - geometry.tank.top}px` },
			},
			h('h2', { class: 'plinth-word' }, client.id),
			h('p', { class: 'isolation' }, `${shortCount(client.fetches)} fetches`),
			h('p', { class: 'isolation' }, lagOf(scene, position)),
		),
	);
}

const drawSeen = (follow, scale, top) =>
	h(
		'div',
		{
			class: 'seen followed',
			style: {
				transform: `translateY(${top(follow.offset) - scale.row}px)`,
				height: `${scale.row - 3}px`,
			},
		},
		h('span', null, follow.key),
	);

function lagOf({ focus }, position) {
	if (position === null) return 'reads elsewhere';
	const lag = Math.max(0, focus.hw - position);
	return lag ? `${shortOffset(lag)} behind` : 'at the end';
}
