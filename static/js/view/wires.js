// Links between columns, and the scissors that cut them. The tokens that travel on them
// are drawn by tokens.js.

import { arc, producerColumn, readerColumn } from '../layout/geometry.js';
import { isCut, nodeById } from '../layout/scene.js';
import { cls, h, icon, moved } from './dom.js';

/** One quiet arc per link of the partition in focus. Arcs in use are brighter. */
export function drawWires(view) {
	const { geometry } = view;
	const links = linksOf(view);
	return [
		h(
			'svg',
			{
				class: 'wires',
				width: geometry.width,
				height: geometry.height,
				'aria-hidden': 'true',
			},
			links.map(({ id, from, to, isBusy, isDown, isOff, isFlood }) =>
				h('path', {
					key: id,
					class: cls('wire', { busy: isBusy, down: isDown, cut: isOff, flood: isFlood }),
					d: arc(geometry, from, to).d,
				}),
			),
		),
	];
}

/** The handles that cut links between brokers: shown when the pointer or focus is near. */
export function drawSnips(view) {
	const ids = view.scene.brokers.map((node) => node.id);
	return pairs(ids).map(([a, b]) => drawSnip(view, a, b));
}

const pairs = (ids) => ids.flatMap((a, i) => ids.slice(i + 1).map((b) => [a, b]));

function linksOf(view) {
	const { scene, geometry, busy, flood } = view;
	const links = [];
	const add = (from, to) => {
		if (!geometry.columns[from] || !geometry.columns[to]) return;
		const id = linkId(from, to);
		const isDown = [from, to].some((end) => nodeById(scene, end)?.power === 'down');
		const isFlood = flood.has(id);
		const isBusy = busy.has(id);
		links.push({ id, from, to, isDown, isOff: isCut(scene, from, to), isBusy, isFlood });
	};
	for (const [a, b] of pairs(scene.brokers.map((node) => node.id))) add(a, b);
	const leader = scene.focus?.leader;
	if (leader) {
		for (const client of scene.producers) add(producerColumn(client.id), leader);
		for (const client of scene.readers) add(readerColumn(client.id), leader);
	}
	return links;
}

/** One name for both directions of a link. */
export const linkId = (a, b) => [String(a), String(b)].sort().join('~');

/** @returns the words of the command that changes this link now */
export const linkCommand = (scene, a, b) => `${isCut(scene, a, b) ? 'heal' : 'cut'} ${a}-${b}`;

function drawSnip({ scene, geometry, act }, a, b) {
	const { x, y } = arc(geometry, a, b).at(0.5);
	const isOff = isCut(scene, a, b);
	const name = `${isOff ? 'Heal' : 'Cut'} the link between brokers ${a} and ${b}`;
	return h(
		'button',
		{
			class: cls('snip', { on: isOff }),
			key: `snip-${a}-${b}`,
			title: name,
			'aria-label': name,
			'aria-pressed': String(isOff),
			testid: `cut-${a}-${b}`,
			style: { transform: moved(x, y) },
			onClick: () => act.command(linkCommand(scene, a, b)),
		},
		icon('cut'),
	);
}
