// The chart behind the columns: the offset ruler, and the sea up to the high watermark
// of the leader.

import { shortOffset } from '../layout/format.js';
import { cls, h, lowered, moved } from './dom.js';
import { drawWater } from './strata.js';

const TICK_PITCH = 1.1; // rem between two numbers of the ruler

export function drawTide({ scene, geometry, scale }) {
	const { tank, sea, ruler, unit } = geometry;
	const { focus } = scene;
	const top = (offset) => tank.height - scale.y(offset);
	const every = Math.ceil((TICK_PITCH * unit) / scale.row);
	const beside = unit * (ruler.isWide ? 1.3 : 0.9); // of a sign
	const offsets = scale.fold ? [scale.fold.from] : [];
	for (let offset = scale.from; offset <= Math.min(focus.end, scale.to); offset += 1) {
		if ((offset - scale.from) % every === 0) offsets.push(offset);
	}
	return h(
		'div',
		{
			class: cls('tide', { leaderless: !focus.leading }),
			style: { transform: lowered(tank.top), height: `${tank.height}px` },
		},
		h(
			'div',
			{ class: 'sea', style: { left: `${sea.x}px`, width: `${sea.width}px` } },
			focus.leading && drawWater(tank.height, top(focus.hw)),
			isOpen(focus) &&
				h('div', {
					class: 'unsettled',
					testid: `unsettled-${focus.name}`,
					style: {
						transform: lowered(top(focus.hw)),
						height: `${top(focus.lso) - top(focus.hw)}px`,
					},
				}),
			offsets.filter((offset) => scale.y(offset) > 0).map((offset) =>
				h('div', {
					class: 'grid-line',
					key: `grid-${offset}`,
					style: { transform: lowered(top(offset)) },
				}),
			),
		),
		!geometry.narrow &&
			offsets
				.filter((offset) => Math.abs(top(offset) - top(focus.hw)) > beside)
				.filter((offset) => !isOpen(focus) ||
					Math.abs(top(offset) - top(focus.lso)) > beside)
				.map((offset) =>
					h(
						'span',
						{
							class: 'tick',
							key: `tick-${offset}`,
							style: {
								transform: moved(ruler.x, top(offset)),
								width: `${ruler.width}px`,
							},
						},
						shortOffset(offset),
					),
				),
	);
}

/** Something below the high watermark belongs to a transaction that has not ended. */
const isOpen = ({ lso, hw }) => lso !== null && lso < hw;

/** The lines that decide what can be read, named at the ruler: the high watermark, and for those
 *  who read committed only, the last stable offset. */
export function drawFlag(view) {
	const { focus } = view.scene;
	if (!focus.leading || view.geometry.narrow) return null;
	return [
		isOpen(focus) &&
			drawSign(view, 'LSO', focus.lso, 'last stable offset: an open transaction begins here'),
		drawSign(view, 'HW', focus.hw, 'high watermark of the leader'),
	];
}

/** Where both lines are close, the lower sign steps down so that both can be read. */
function drawSign({ scene, geometry, scale, act }, name, offset, title) {
	const { focus } = scene;
	const { ruler, unit, tank } = geometry;
	const gap = scale.y(focus.hw) - scale.y(offset);
	const isHigh = ruler.isWide;
	const step = name === 'LSO' ? Math.max(0, unit * (isHigh ? 2.3 : 1.6) - gap) : 0;
	const y = tank.top + tank.height - scale.y(offset) + step;
	const kind = name.toLowerCase();
	return h(
		'button',
		{
			class: cls('flag', `flag-${kind}`, { high: isHigh }),
			key: `flag-${kind}`,
			title: `${title}: why is it here?`,
			testid: `why-${kind}`,
			onClick: () => act.why(kind),
			style: {
				transform: moved(ruler.x, y),
				width: `${ruler.width - unit * 0.1}px`,
			},
		},
		h(
			'span',
			null,
			`${name} `,
			h(
				'b',
				{ testid: `${kind}-${focus.name}`, 'data-value': offset },
				shortOffset(offset),
			),
		),
	);
}
