// What became of records besides truncation: transactions as threads, the holes that compaction
// leaves, and how far the cleaner has come.

import { besideFold, foldOf } from '../layout/fold.js';
import { shortOffset } from '../layout/format.js';
import { threadsWithin } from '../layout/threads.js';
import { cls, h, lowered } from './dom.js';
import { GAP } from './strata.js';

export const LANE = 1.05; // rem between two threads
export const NARROW_LANE = 0.62; // on a phone
const ONE_LINE = 9; // rem that the words of a hole take beside each other
const LOOSE = 1.4; // rem that the end of an open thread stands above the log

/** Threads beside the records: a hollow diamond for each record, a filled one for the marker; an
 *  open thread is dashed and has a loose end. */
export function drawThreads(view, copy, entries, top) {
	const { scale, geometry } = view;
	const threads = threadsWithin(copy.threads, scale.from, scale.to);
	if (!threads.length) return null;
	const { unit, tank, narrow } = geometry;
	const pitch = (narrow ? NARROW_LANE : LANE) * unit;
	const middle = (offset) => top(offset) - scale.row / 2;
	const width = (Math.max(...threads.map((thread) => thread.lane)) + 1) * pitch;
	return h(
		'svg',
		{ class: 'threads', width, height: tank.height, 'aria-hidden': 'true' },
		threads.map((thread) => {
			const x = (thread.lane + 0.5) * pitch;
			const own = entries.filter((entry) => entry.thread === thread);
			const isOpen = thread.last < 0;
			const from = middle(Math.max(thread.first, scale.from));
			const to = isOpen ? top(copy.leo) - LOOSE * unit : middle(thread.last);
			return h(
				'g',
				{ key: `thread-${thread.producerId}-${thread.first}`, class: cls('thread', thread.state) },
				h('path', { class: 'thread-line', d: `M${x} ${from}V${to}` }),
				own.map((entry) => drawKnot(entry, x, middle(entry.offset), pitch * 0.34)),
			);
		}),
	);
}

const drawKnot = (entry, x, y, r) =>
	h('path', {
		key: `knot-${entry.offset}`,
		class: cls('knot', { marker: entry.control }),
		d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`,
	});

/** Where compaction left offsets without records. */
export function drawHoles({ scale, geometry }, copy, top) {
	const fold = foldOf(copy, scale.fold);
	const highest = geometry.cellWidth < ONE_LINE ? 2.4 : 4.4; // rem with words on one line
	return copy.holes
		.map((hole) => besideFold(hole, fold))
		.filter(({ from, to }) => from < Math.min(to, scale.to))
		.map(({ from, to }) => {
			const height = top(from) - top(to) - GAP;
			if (height < 4) return null;
			const count = to - from;
			const words = `${shortOffset(count)} ${
				geometry.narrow ? 'gone' : count === 1 ? 'offset' : 'offsets'}`;
			return h(
				'div',
				{
					class: cls('hole', { low: height < geometry.unit * highest }),
					key: `hole-${from}`,
					title: `offsets ${from} to ${to - 1}: no records are left`,
					testid: `hole-${copy.id}-${from}`,
					'data-value': count,
					style: { top: `${top(to)}px`, height: `${height}px` },
				},
				height > geometry.unit &&
					h('span', null, words, !geometry.narrow && h('i', null, 'no records')),
			);
		});
}

const cleanerOf = (copy) => copy.cleaning ?? copy.cleaned;

/** Whether the plate of the cleaner's line hangs over a record. */
export const isUnderCleaner = (copy, entry) => !entry.cut && entry.offset + 1 === cleanerOf(copy);

const plateOf = (copy) =>
	`${copy.cleaning === null ? 'cleaner at' : 'cleans from'} ${shortOffset(cleanerOf(copy))}`;

/** About that many rem. */
export const plateWidth = (copy) => plateOf(copy).length * 0.42 + 0.7;

/** How far this broker's cleaner has come: what lies below was compacted. Where the plate has no
 *  room beside the record that it hangs over, the line stands alone. */
export function drawCleaner(copy, top, room) {
	const at = cleanerOf(copy);
	if (at === null || at <= copy.start) return null;
	const isAtWork = copy.cleaning !== null;
	return h(
		'div',
		{
			class: cls('cleaner', { working: isAtWork }),
			title: isAtWork ? 'the cleaner is at work from here on' : 'compacted up to here',
			testid: `cleaner-${copy.id}`,
			'data-value': at,
			style: { transform: lowered(top(at)) },
		},
		room >= plateWidth(copy) && h('span', null, plateOf(copy)),
	);
}
