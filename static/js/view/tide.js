// The chart behind the columns: the offset ruler, and the sea up to the high watermark
// of the leader.

import { shortOffset } from '../layout/format.js';
import { cls, h } from './dom.js';
import { drawWater } from './strata.js';

const TICK_PITCH = 1.1; // rem between two numbers of the ruler

export function drawTide({ scene, geometry, scale }) {
	const { tank, sea, ruler, unit } = geometry;
	const { focus } = scene;
	const top = (offset) => tank.height - scale.y(offset);
	const every = Math.ceil((TICK_PITCH * unit) / scale.row);
	const offsets = scale.fold ? [scale.fold.from] : [];
	for (let offset = scale.from; offset <= Math.min(focus.end, scale.to); offset += 1) {
		if ((offset - scale.from) % every === 0) offsets.push(offset);
	}
	return h(
		'div',
		{
			class: cls('tide', { leaderless: !focus.leading }),
			style: { transform: `translateY(${tank.top}px)`, height: `${tank.height}px` },
		},
		h(
			'div',
			{ class: 'sea', style: { left: `${sea.x}px`, width: `${sea.width}px` } },
			focus.leading && drawWater(tank.height, top(focus.hw)),
			offsets.map((offset) =>
				h('div', {
					class: 'grid-line',
					key: `grid-${offset}`,
					style: { transform: `translateY(${top(offset)}px)` },
				}),
			),
		),
		!geometry.narrow &&
			offsets
				.filter((offset) => Math.abs(top(offset) - top(focus.hw)) > unit * 0.9)
				.map((offset) =>
					h(
						'span',
						{
							class: 'tick',
							key: `tick-${offset}`,
							style: {
								transform: `translate(${ruler.x}px, ${top(offset)}px)`,
								width: `${ruler.width}px`,
							},
						},
						shortOffset(offset),
					),
				),
	);
}

/** The line that decides what can be read, named at the ruler. */
export function drawFlag({ scene, geometry, scale, act }) {
	const { focus } = scene;
	if (!focus.leading || geometry.narrow) return null;
	const { ruler, unit, tank } = geometry;
	const y = tank.top + tank.height - scale.y(focus.hw);
	return h(
		'button',
		{
			class: 'flag flag-hw',
			type: 'button',
			title: 'high watermark of the leader: why is it here?',
			'data-testid': 'why-hw',
			onClick: () => act.why('hw'),
			style: {
				transform: `translate(${ruler.x}px, ${y}px)`,
				width: `${ruler.width - unit * 0.1}px`,
			},
		},
		h(
			'span',
			null,
			'HW ',
			h(
				'b',
				{ 'data-testid': `hw-${focus.name}`, 'data-value': focus.hw },
				shortOffset(focus.hw),
			),
		),
	);
}
