// The space-time diagram under the stage. It stands on the scrubber: an event has the same place
// on both, to the pixel.

import { formatClock } from '../layout/format.js';
import { cls, h, icon, moved } from './dom.js';

const LANE = 1.1; // rem
const HEAD = 6; // px, length of an arrow head
const LETTER = 7; // px, about
const AXIS_GAP = 90; // px between two times of the axis
const SIGNS = {
	BatchAppended: 'down', HighWatermarkMoved: 'wave', BecameLeader: 'crown',
	NodeStopped: 'kill', NodeStarted: 'restart',
	NodePaused: 'pause', LogTruncated: 'cut', IsrChanged: 'check',
};

/** @param {object} diagram of layout/spacetime.js
 *  @param {object} place {left, width, unit, first, last, seq, lit}
 *  @param {object} act */
export function drawTimeline(diagram, place, act) {
	const { lanes, arrows, marks, more, idle } = diagram;
	const { left, width, unit, first, last, seq } = place;
	const share = (at) => (last > first ? (Math.max(first, at) - first) / (last - first) : 1);
	const x = (at) => share(at) * width;
	const y = (lane) => (lane + 0.5) * LANE * unit;
	const height = lanes.length * LANE * unit;
	return [
		h('ol', { class: 'lane-names', key: 'names', style: { width: `${left}px` } },
			lanes.map(({ id, name, kind }) => h('li', { key: id, class: kind, title: name }, name))),
		h('div', { class: 'lanes', key: 'lanes', testid: 'lanes',
			style: { left: `${left}px`, width: `${width}px`, height: `${height}px` } },
		h('svg', { key: 'drawing', width, height },
			lanes.map(({ id, kind }, i) =>
				h('path', { class: `lane ${kind}`, key: `lane-${id}`, d: `M0 ${y(i)}H${width}` })),
			arrows.map((arrow) => drawArrow(arrow, { x, y, last, seq, lit: place.lit }, act))),
		roomy(marks, x).map((mark) => drawMark(mark, x(mark.seq), y(mark.lane), seq, act)),
		h('div', { class: 'now-line', key: 'now', testid: 'now-line',
			style: { transform: `translateX(${x(seq).toFixed(2)}px)` } }),
		drawAxis(marks, x)),
		h('p', { class: 'timeline-note', key: 'note', testid: 'timeline-note' },
			[idle > 0 && `${idle} idle messages folded`, more > 0 && `+${more} further messages`]
				.filter(Boolean).join(' · ')),
	];
}

function drawArrow(arrow, { x, y, last, seq, lit }, act) {
	const a = { x: x(arrow.sent), y: y(arrow.from) };
	const b = { x: x(arrow.arrives ?? last), y: y(arrow.to) };
	const name = cls('arrow', arrow.kind, { followed: arrow.followed, lost: arrow.lost,
		future: arrow.sent > seq, lit: lit === arrow.seq });
	const line = `M${a.x.toFixed(1)} ${a.y}L${b.x.toFixed(1)} ${b.y}`;
	const label = `event ${arrow.seq}: ${arrow.text}${arrow.lost ? ', lost' : ''}`;
	return h('g', { class: name, key: `arrow-${arrow.seq}`, testid: `arrow-${arrow.seq}`,
		'data-seq': arrow.seq, role: 'button', 'aria-label': label,
		onClick: () => act.seek(arrow.seq), onMouseenter: () => act.light(arrow.seq, arrow.flight),
		onMouseleave: () => act.light(null) },
	h('title', null, label),
	h('path', { class: 'reach', d: line }),
	h('path', { class: 'shaft', d: line }),
	h('path', { class: 'head', d: arrow.lost ? cross(b) : head(a, b) }));
}

const cross = ({ x, y }) => `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`;

function head(a, b) {
	const angle = Math.atan2(b.y - a.y, b.x - a.x);
	const wing = (turn) => {
		const left = b.x - HEAD * Math.cos(angle + turn);
		const top = b.y - HEAD * Math.sin(angle + turn);
		return `${left.toFixed(1)} ${top.toFixed(1)}`;
	};
	return `M${b.x.toFixed(1)} ${b.y}L${wing(0.42)}L${wing(-0.42)}z`;
}

/** The times of marks that stand far enough apart. */
function drawAxis(marks, x) {
	const kept = [];
	for (const mark of marks) {
		if (!kept.length || x(mark.seq) - x(kept.at(-1).seq) >= AXIS_GAP) kept.push(mark);
	}
	return h('ol', { class: 'axis', key: 'axis' }, kept.map(({ seq, at }) =>
		h('li', { key: seq, style: { left: `${x(seq).toFixed(1)}px` } }, formatClock(at))));
}

/** Each mark with the room to the next one of its lane. Where two would overlap the later wins. */
function roomy(marks, x) {
	const next = new Map();
	const shown = [];
	for (let i = marks.length - 1; i >= 0; i -= 1) {
		const room = (next.get(marks[i].lane) ?? Infinity) - x(marks[i].seq);
		if (room < 15) continue;
		shown.push({ ...marks[i], room });
		next.set(marks[i].lane, x(marks[i].seq));
	}
	return shown.reverse();
}

const drawMark = ({ seq, kind, text, room }, left, top, now, act) =>
	h('button', { class: cls('moment', { past: seq <= now }), key: `mark-${seq}`,
		title: text, 'aria-label': text, testid: `mark-${seq}`,
		style: { transform: moved(left.toFixed(1), top) },
		onClick: () => act.seek(seq) },
	icon(SIGNS[kind]),
	room > 34 + text.length * LETTER && h('span', null, text));
