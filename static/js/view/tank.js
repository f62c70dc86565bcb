// One replica of the partition in focus: a tank of records, with water up to the high
// watermark this replica knows of.

import { shortOffset } from '../layout/format.js';
import { entriesOf, isOf } from '../layout/scene.js';
import { cls, h, icon, lowered, moved } from './dom.js';
import { lanesIn } from '../layout/threads.js';
import { drawDisk, drawEpochs, drawFold, drawSegments, drawWater, GAP } from './strata.js';
import {
	drawCleaner, drawHoles, drawThreads, isUnderCleaner, LANE, NARROW_LANE, plateWidth,
} from './fates.js';

const SLIM_CELL = 6.6; // rem; up to here a large key does not fit
const WIDE_CELL = 8.4; // rem; from here on a cell has room for the value
const HIGH_CELL = 4.3; // rem; from here on a huge cell has three lines
const WAITS_MOST = 3;
const LETTER = 0.55; // rem of a key, about
const SMALL_LETTER = 0.48; // on a phone
const DIGIT = 0.5; // rem of an offset, about
const MARKER = 7; // letters
const EDGES = 0.9; // rem of a cell's padding and border
const NARROW_EDGES = 0.4;

/** @param {object} view @param {object} node a broker of the scene */
export function drawTank(view, node) {
	const { scene, geometry, scale } = view;
	const { focus } = scene;
	const copy = focus.copies.get(node.id);
	const column = geometry.columns[node.id];
	const isLeader = focus.leader === node.id;
	const whole = geometry.tank.height;
	const top = (offset) => whole - scale.y(offset);
	return h(
		'section',
		{
			key: `tank-${node.id}`,
			class: cls('tank', node.power, {
				leads: isLeader,
				absent: !copy,
				compacted: focus.isCompacted,
				roomy: scale.isLarge,
				huge: scale.isHuge,
				tight: scale.isTight,
				slim: geometry.cellWidth < SLIM_CELL,
				crowded: view.isCrowded,
			}),
			'aria-label': `Log of broker ${node.id}`,
			testid: `replica-${focus.name}-${node.id}`,
			style: {
				transform: moved(column.x, geometry.tank.top),
				width: `${column.tankWidth}px`,
				height: `${whole}px`,
				'--lanes': lanesIn(focus, scale.from, scale.to),
			},
		},
		h('div', { class: 'tank-glass' }, copy && drawLog(view, node, copy, top)),
		copy && drawWaiting(view, copy, top),
		isLeader &&
			h(
				'button',
				{ class: 'crown', key: `crown-${focus.epoch}`,
					testid: `leader-${focus.name}`, title: 'leader: why this one?',
					onClick: () => view.act.why('leader') },
				icon('crown', 'leader'),
			),
		node.verdict && drawVerdict(node),
		!copy && h('p', { class: 'no-copy' }, 'holds no replica'),
	);
}

/** Whether a key or a cleaner's plate has no room beside the offsets; then those step back, and
 *  on a phone the words of the epochs: what a record is called comes before where it lies.
 *  @returns {boolean} */
export function isCrowded(view) {
	const { focus } = view.scene;
	const { scale, geometry } = view;
	if (!geometry.narrow && scale.isHuge) return false;
	return [...focus.copies.values()].some((copy) =>
		entriesOf(focus, copy, scale.from, scale.to).some((entry) => {
			const offset = shortOffset(entry.offset).length * DIGIT + 0.4;
			const plate = isUnderCleaner(copy, entry) ? plateWidth(copy) : 0;
			return roomOf(view, entry) < (geometry.narrow ? 0 : offset + plate);
		}));
}

/** Rem that a cell has left beside its key. */
function roomOf({ scene, scale, geometry }, entry) {
	const lanes = lanesIn(scene.focus, scale.from, scale.to);
	const letters = entry.control ? MARKER : nameOf(entry).length;
	return geometry.narrow
		? geometry.cellWidth + 0.3 - lanes * NARROW_LANE - NARROW_EDGES - letters * SMALL_LETTER
		: geometry.cellWidth - lanes * LANE - EDGES - letters * LETTER;
}

/** Rem beside the record under the cleaner's line. */
function roomBeside(view, copy) {
	const { scene, scale } = view;
	const under = entriesOf(scene.focus, copy, scale.from, scale.to)
		.find((entry) => isUnderCleaner(copy, entry));
	return under ? roomOf(view, under) : Infinity;
}

function drawLog(view, node, copy, top) {
	const { scale, geometry, scene } = view;
	const entries = entriesOf(scene.focus, copy, scale.from, scale.to);
	return [
		drawWater(geometry.tank.height, top(copy.hw)),
		drawEpochs(view, copy, entries, top),
		drawFold(view, copy, top),
		drawHoles(view, copy, top),
		drawSegments(view, copy, top),
		drawDisk(copy, geometry.tank.height, top),
		entries.map((entry) => drawEntry(view, node, copy, entry, top)),
		drawThreads(view, copy, entries, top),
		drawCleaner(copy, top, roomBeside(view, copy)),
		drawEnd(view, copy, entries, top),
		h(
			'span',
			{
				class: 'visually-hidden',
				testid: `hw-${scene.focus.name}-${node.id}`,
			},
			String(copy.hw),
		),
	];
}

/** A record, or a control marker, at its offset. */
function drawEntry(view, node, copy, entry, top) {
	const { scale, geometry, ui, act } = view;
	const isLast = entry.offset === entry.last;
	const isWet = entry.offset < copy.hw && !entry.cut;
	const isUnsynced = copy.isDark && entry.offset >= copy.synced;
	const isDiverged = !entry.cut && diverges(view.scene.focus, copy, entry);
	const picked = ui.select;
	const isPicked = picked && picked.node === node.id && picked.offset === entry.offset &&
		picked.epoch === entry.epoch;
	return h(
		'button',
		{
			key: `entry-${entry.offset}-${entry.epoch}-${entry.cut ? 'cut' : 'kept'}`,
			leaveMs: entry.cut ? 500 : 0,
			class: cls('cell', {
				wet: isWet,
				dry: !isWet,
				followed: isFollowed(view, entry),
				cut: entry.cut,
				diverged: isDiverged,
				control: entry.control,
				unsynced: isUnsynced,
				aborted: entry.thread?.state === 'aborted' && !entry.control,
				unknown: !entry.known && !entry.control,
				'starts-batch': entry.offset === entry.base,
				'ends-batch': isLast,
				picked: isPicked,
			}),
			'aria-label': describe(entry, node, isWet) +
				(isUnsynced ? ', not synced when its power went' : ''),
			'aria-pressed': String(Boolean(isPicked)),
			testid: `record-${view.scene.focus.name}-${node.id}-${entry.offset}`,
			style: {
				transform: lowered(top(entry.offset) - scale.row),
				height: `${scale.row - (isLast ? GAP : 0)}px`,
			},
			onClick: () => act.select({ node: node.id, offset: entry.offset, epoch: entry.epoch }),
			onDblclick: () => act.follow({ ...entry }),
		},
		h('span', { class: 'cell-offset' }, shortOffset(entry.offset)),
		isDiverged &&
			h('span', { class: 'cell-differs', title: 'differs from the leader' }, '≠'),
		entry.control
			? drawMarker(entry.thread)
			: drawBody(entry, hasValue(scale, geometry)),
	);
}

/** A marker says how its transaction ended; other control records only that they are some. */
const drawMarker = (thread) =>
	h(
		'span',
		{ class: cls('cell-control', thread?.state) },
		thread && icon(thread.state === 'committed' ? 'check' : 'cross'),
		MARKERS[thread?.state] ?? 'control',
	);

const MARKERS = { committed: 'COMMIT', aborted: 'ABORT' };

/** In a huge cell the value is a third line, and needs the height for it. */
const hasValue = (scale, { cellWidth, unit }) =>
	scale.isLarge && cellWidth > WIDE_CELL && (!scale.isHuge || scale.row > HIGH_CELL * unit);

const drawBody = (entry, hasRoom) =>
	h(
		'span',
		{ class: 'cell-body' },
		h('span', { class: cls('cell-key', { value: !entry.key }) }, nameOf(entry)),
		hasRoom && entry.key && entry.value && h('span', { class: 'cell-value' }, entry.value),
	);

/** A record without a key is named by its value; one that was not described, by its place in its
 *  batch. */
export function nameOf(entry) {
	if (entry.key) return entry.key;
	if (entry.value) return entry.value;
	if (entry.isEarlier) return 'earlier';
	if (entry.known) return 'no key';
	const { offset, base, last } = entry;
	return `${shortOffset(offset - base + 1)} of ${shortOffset(last - base + 1)}`;
}

export function isFollowed({ scene, ui }, entry) {
	const { follow } = ui;
	return isOf(scene.focus, follow) && follow.offset === entry.offset &&
		follow.epoch === entry.epoch;
}

/** Same offset, another epoch than in the leader's log: two histories. */
function diverges(focus, copy, entry) {
	const { leading } = focus;
	if (!leading || leading === copy) return false;
	const there = leading.batches.find((b) => b.base <= entry.offset && entry.offset <= b.last);
	return Boolean(there) && there.epoch !== entry.epoch;
}

function drawEnd({ scene: { focus }, act }, copy, entries, top) {
	const lost = copy.cutTo - copy.leo;
	const isAllDrawn = entries.filter((entry) => entry.cut).length >= lost;
	return h(
		'div',
		{ class: 'end', style: { transform: lowered(top(copy.leo)) } },
		h(
			'button',
			{ class: 'end-name', testid: `why-leo-${copy.id}`,
				title: 'log end: why here?', onClick: () => act.why('leo') },
			'LEO ',
			h(
				'b',
				{ testid: `leo-${focus.name}-${copy.id}`, 'data-value': copy.leo },
				shortOffset(copy.leo),
			),
		),
		!isAllDrawn && h('span', { class: 'end-cut' }, `${shortOffset(lost)} cut off`),
	);
}

const WAIT_WORDS = {
	produce: ['produce waits', 'produces wait'],
	fetch: ['fetch waits', 'fetches wait'],
};
const isFetch = /fetch$/;

const LINE = 0.95; // rem of such a wait
const ABOVE = 1.05; // rem over the first of them
const SIGN = 1.4; // rem that the sign of the log end is high
const WAIT_LETTER = 0.37; // rem

/** What waits stands over the sign of the log end, or beside it where the water is too high for
 *  that; then only its number where the words have no room. */
function drawWaiting({ scene, geometry, act }, copy, top) {
	const { id, leo } = copy;
	const counts = new Map();
	for (const wait of scene.waits) {
		if (!wait.isHere) continue;
		const what = isFetch.test(wait.what) ? 'fetch' : wait.what;
		if (wait.node === id) counts.set(what, (counts.get(what) ?? 0) + 1);
	}
	const waits = [...counts].sort().reverse().slice(0, WAITS_MOST);
	const { unit } = geometry;
	const isBeside = top(leo) / unit < ABOVE + waits.length * LINE + SIGN;
	const room = isBeside ? geometry.cellWidth - 2 - shortOffset(leo).length * 0.57 : Infinity;
	return waits.length > 0 && h( // also at one that led, and does not know that it was deposed
		'ul',
		{
			class: cls('waiting', { beside: isBeside }),
			style: { top: isBeside ? `${top(leo)}px` : '' },
			'aria-label': 'Requests waiting at the leader',
			testid: `waits-${id}`,
		},
		waits.map(([what, n]) => {
			const words = WAIT_WORDS[what] ?? [what, what];
			const text = n === 1 ? words[0] : `${n} ${words[1]}`;
			const short = text.length * WAIT_LETTER > room && h('span', { 'aria-hidden': 'true' }, n);
			const of = what === 'produce' ? 'ack' : 'fetch';
			return h('li', { key: what }, icon('waiting'), h('button', { type: 'button',
				testid: `why-${of}-${id}`, title: text, onClick: () => act.why(of) },
			short, short ? h('span', { class: 'visually-hidden' }, text) : text));
		}),
	);
}

const VERDICTS = {
	dead: 'kill',
	stopped: 'kill',
	fenced: 'fence',
	paused: 'pause',
	'disk failed': 'warning',
};

const drawVerdict = (node) =>
	h(
		'div',
		{ class: cls('verdict', node.power) },
		icon(VERDICTS[node.verdict]),
		h('span', null, node.verdict),
	);

function describe(entry, node, isWet) {
	const { thread } = entry;
	const marker = `${MARKERS[thread?.state] ?? 'control'} marker`;
	const what = entry.control ? marker : nameOf(entry);
	const txn = thread && !entry.control ? `, transaction ${thread.state}` : '';
	const fate = (entry.cut ? 'cut off' : isWet ? 'committed' : 'not committed') + txn;
	return `offset ${entry.offset}, ${what}, epoch ${entry.epoch}, broker ${node.id}, ${fate}`;
}
