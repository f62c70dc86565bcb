// The readers: columns at the right, on the offset scale of the logs. A bookmark is the committed
// offset, a triangle the position.

import { shortCount, shortOffset } from '../layout/format.js';
import { readerColumn } from '../layout/geometry.js';
import { isHole, isOf } from '../layout/scene.js';
import { holds, readBelow } from '../layout/where.js';
import { cls, h, icon, lowered, moved } from './dom.js';
import { drawMore, titleOf } from './producers.js';

const CELLS_MOST = 40;

export function drawReaders(view) {
	const { scene, geometry, act } = view;
	const hasColumn = ({ id }) => Boolean(geometry.columns[readerColumn(id)]);
	const shown = scene.readers.filter(hasColumn);
	if (!shown.length) return geometry.narrow ? null : drawNoReader(view);
	const more = drawMore(scene.readers.filter((each) => !hasColumn(each)), 'reader', 0, act);
	return [
		shown.map((client) => drawReader(view, client)),
		!geometry.narrow &&
			more &&
			h('div', { class: 'readers-rest', style: {
				transform: moved(geometry.readers.x, geometry.unit * 0.2),
			} }, more),
	];
}

function drawNoReader({ geometry }) {
	const { readers, plinth, unit } = geometry;
	return h(
		'p',
		{
			class: 'nobody',
			style: {
				transform: moved(readers.x, plinth.top + unit * 0.4),
				width: `${readers.width}px`,
			},
		},
		'Nobody reads here.',
	);
}

function drawReader(view, client) {
	const { scene, geometry, scale } = view;
	const column = geometry.columns[readerColumn(client.id)];
	const whole = geometry.tank.height;
	const top = (offset) => whole - scale.y(offset);
	return h(
		'section',
		{
			class: cls('reader', { gone: !client.isAlive }),
			key: `reader-${client.id}`,
			'aria-label': `Reader ${client.id}`,
			testid: `client-${client.id}`,
			title: titleOf(client),
			style: {
				transform: moved(column.x, geometry.tank.top),
				width: `${column.width}px`,
				height: `${geometry.height - geometry.tank.top}px`,
			},
		},
		h(
			'div',
			{ class: 'gauge', style: { height: `${whole}px` } },
			h('div', { class: 'gauge-line' }),
			drawRead(view, client, top),
			client.committed !== null && drawBookmark(client, top),
			client.position !== null && drawPosition(client, top),
		),
		h(
			'footer',
			{
				class: 'plinth',
				style: { top: `${geometry.plinth.top - geometry.tank.top}px` },
			},
			h('h2', { class: 'plinth-word' }, client.id),
			wordsOf(scene, client).map((words) =>
				h('p', { class: cls('isolation', words.kind), key: words.text }, words.text),
			),
		),
	);
}

/** What it has read: cells on the lines of the records; in the fold, an area for each run. */
function drawRead({ scene, scale, ui }, client, top) {
	const { focus } = scene;
	const runs = readBelow(client, focus.leading, focus.end);
	const from = Math.max(scale.from, (client.position ?? 0) - CELLS_MOST);
	const cells = [];
	const before = [];
	for (const run of runs) {
		if (run.from < from) before.push({ from: run.from, to: Math.min(run.to, from) });
		for (let offset = Math.max(run.from, from); offset < run.to; offset += 1) cells.push(offset);
	}
	const { follow } = ui;
	const isFollowed = (offset) =>
		isOf(focus, follow) && follow.offset === offset && holds(focus.leading, follow);
	const isGone = (offset) => focus.leading && isHole(focus.leading, offset);
	return [
		before.map(({ from, to }) =>
			h('div', {
				class: 'seen',
				key: `before-${from}`,
				title: `${shortOffset(to - from)} read before`,
				style: {
					transform: lowered(top(to)),
					height: `${Math.max(1, top(from) - top(to) - 3)}px`,
				},
			}),
		),
		cells.map((offset) =>
			h(
				'div',
				{
					class: cls('seen', { followed: isFollowed(offset), gone: isGone(offset) }),
					key: `seen-${offset}`,
					title: isGone(offset) ? `read offset ${offset}, compacted away since` : null,
					style: {
						transform: lowered(top(offset) - scale.row),
						height: `${scale.row - 3}px`,
					},
				},
				isFollowed(offset) && h('span', null, follow.key),
			),
		),
	];
}

const drawBookmark = ({ id, committed, group }, top) =>
	h(
		'div',
		{
			class: 'ribbon',
			title: `committed offset ${shortOffset(committed)} of ${group}: where a restart begins`,
			testid: `committed-${id}`,
			'data-value': committed,
			style: { transform: lowered(top(committed)) },
		},
		icon('ribbon'),
		h('b', null, shortOffset(committed)),
	);

const drawPosition = ({ id, position }, top) =>
	h(
		'div',
		{
			class: 'reading',
			title: `position ${shortOffset(position)}: the next offset it asks for`,
			testid: `position-${id}`,
			'data-value': position,
			style: { transform: lowered(top(position)) },
		},
		h('b', null, shortOffset(position)),
		icon('pointer'),
	);

/** Up to three short lines: how it reads, for which group, and how far behind it is. */
function wordsOf(scene, client) {
	const lag = { text: lagOf(scene, client) };
	const read = client.polled > 0 ? [{ text: `${shortCount(client.polled)} read` }] : [];
	if (!client.isNamed) return [{ text: `${shortCount(client.fetches)} fetches` }, lag];
	const words = [];
	if (client.group) words.push({ text: `group ${client.group}` });
	if (client.isolation) words.push({ text: client.isolation, kind: 'thread' });
	const isJoining = client.group && client.state && client.state !== 'stable';
	if (!client.isAlive) return [...words, { text: 'gone', kind: 'alarm' }];
	if (client.isPaused) return [...words, { text: 'paused', kind: 'alarm' }];
	return [...words, ...read, isJoining ? { text: client.state } : lag];
}

/** How far it is from the end of what it may read. @returns {string} */
export function lagOf({ focus }, client) {
	const { position } = client;
	if (position === null && client.isAssigned) return 'no position yet';
	if (position === null) return client.isNamed ? 'nothing here' : 'reads elsewhere';
	if (position > (focus.leading?.leo ?? focus.live)) return 'beyond the end';
	if (position > focus.hw) return 'above the HW';
	const end = client.isolation ? focus.lso ?? focus.hw : focus.hw;
	const lag = Math.max(0, end - position);
	if (lag) return `${shortOffset(lag)} behind`;
	return end < focus.hw ? 'at the LSO' : 'at the end';
}
