// What lies around the records of a tank: water, epochs, segments, disk and page cache,
// and folded history.

import { foldOf, keptWords } from '../layout/fold.js';
import { shortOffset } from '../layout/format.js';
import { cls, h, lowered } from './dom.js';

const EPOCH_NAME = 1.2; // rem of a band that its name takes
export const GAP = 3; // px between two batches; records of one batch touch
const EPOCH_TINTS = 4; // and as many patterns, so that 16 epochs in a row differ in one of them

/** Water: a body that rises and falls, with a slow swell under its surface. */
export const drawWater = (height, level) =>
	h(
		'div',
		{
			class: 'water',
			style: { height: `${height}px`, transform: lowered(level) },
		},
		h('div', { class: 'swell' }),
	);

/** Coloured, patterned and numbered bands: which leader wrote these records. */
export function drawEpochs({ scale, geometry }, copy, entries, top) {
	const bands = [];
	for (const entry of entries) {
		if (entry.cut) continue;
		const band = bands.at(-1);
		if (band && band.epoch === entry.epoch) band.to = entry.offset + 1;
		else bands.push({ epoch: entry.epoch, from: entry.offset, to: entry.offset + 1 });
	}
	const folded = scale.fold ? epochsBetween(copy, scale.fold) : [];
	if (folded.length && bands[0]?.epoch === folded.at(-1).epoch) bands[0].from = folded.pop().from;
	const known = [...folded, ...bands].filter(({ epoch }) => epoch >= 0);
	return known.map(({ epoch, from, to }) => {
		const height = Math.max(0, top(from) - top(to) - GAP);
		return h(
			'div',
			{
				key: `epoch-${epoch}-${from}`,
				class: 'epoch',
				'data-tint': epoch % EPOCH_TINTS,
				'data-pattern': (epoch + Math.floor(epoch / EPOCH_TINTS)) % EPOCH_TINTS,
				title: `leader epoch ${epoch}`,
				style: { top: `${top(to)}px`, height: `${height}px` },
			},
			height > EPOCH_NAME * geometry.unit &&
				h('span', { class: 'epoch-name' }, h('i', null, 'e'), epoch),
		);
	});
}

const epochsBetween = ({ epochs, leo }, { from, to }) =>
	epochs
		.map((each, i) => ({ epoch: each.epoch, from: Math.max(from, each.from),
			to: Math.min(to, leo, epochs[i + 1]?.from ?? leo) }))
		.filter((band) => band.from < band.to);

/** Seams between segment files. */
export const drawSegments = ({ scale }, copy, top) =>
	copy.segments
		.filter((base) => base > scale.from && base < scale.to)
		.map((base) =>
			h(
				'div',
				{ class: 'seam', key: `seam-${base}`, style: { transform: lowered(top(base)) } },
				h('span', { class: 'seam-name' }, `${base}.log`),
			),
		);

/** The rail at the right: solid where records are on disk, dotted where they are only in
 *  the page cache; gone where that went with the power. */
export function drawDisk(copy, whole, top) {
	const synced = Math.min(copy.synced, copy.leo);
	return [
		h('div', {
			class: 'rail on-disk',
			title: 'on disk',
			style: { top: `${top(synced)}px`, height: `${whole - top(synced)}px` },
		}),
		!copy.isDark && h('div', {
			class: 'rail in-cache',
			title: 'page cache only',
			style: { top: `${top(copy.leo)}px`, height: `${top(synced) - top(copy.leo)}px` },
		}),
	];
}

/** History too long to draw as cells: how many offsets it holds; where compaction took some, which
 *  are kept, each at its height. */
export function drawFold(view, copy, top) {
	const { scale, geometry } = view;
	const of = foldOf(copy, scale.fold);
	if (!of?.count) return null;
	const { end, kept, count, isKnown, isSieve } = of;
	const room = geometry.cellWidth - (geometry.narrow ? 0.3 : PLATE_EDGES);
	const list = isSieve ? keptWords(of, room / LETTER - KEPT.length) : '';
	const lanes = list ? null : keyLanes(view, copy, top, end);
	const height = (from, to) => Math.max(0, top(from) - top(to));
	const many = `${isKnown ? '' : 'up to '}${shortOffset(count)}`;
	return h(
		'div',
		{
			class: cls('fold', { wet: copy.hw >= end, unsynced: copy.isDark && copy.synced < end, lanes,
				sieve: isSieve && !lanes }),
			title: isSieve ? `offsets ${keptWords(of, KEPT_MOST) || many} still hold a record` : '',
			testid: `fold-${copy.id}`,
			style: {
				top: `${top(end)}px`,
				height: `${Math.max(0, height(scale.fold.from, end) - GAP)}px`,
			},
		},
		lanes ?? [
			isSieve && kept.map(({ from, to }) => h('u', { key: `kept-${from}`, style: {
				top: `${height(to, end)}px`, height: `${Math.max(2, height(from, to) - 1)}px` } })),
			h('span', null, list || many,
				h('i', null, isSieve ? geometry.narrow ? '' : KEPT : ' earlier')),
		],
	);
}

const KEPT = ' kept';
const KEPT_MOST = 400; // letters of a title
const LETTER = 0.43; // rem of a plate, about
const PLATE_EDGES = 0.9; // rem

const LANES_MOST = 4;
const LANE_ROOM = 3; // rem of fold height; below there is no room for a lane and its name
const TICK_PITCH = 3.5; // px

/** History by key: a tick where a record of the key is, one lane each; null where there are too
 *  many keys, or where the page does not know them. */
function keyLanes({ scene, scale, geometry }, copy, top, end) {
	const height = top(scale.fold.from) - top(end);
	if (!scene.focus.isCompacted || height < LANE_ROOM * geometry.unit) return null;
	const lanes = new Map(); // by key: heights of its ticks
	for (const [at, { offset, key }] of scene.focus.records) {
		if (typeof at !== 'number' || offset < scale.fold.from || offset >= end) continue;
		if (copy.holes.some((hole) => hole.from <= offset && offset < hole.to)) continue;
		if (!lanes.has(key)) lanes.set(key, new Set());
		const y = top(offset) - top(end);
		lanes.get(key).add(Math.round(y / TICK_PITCH) * TICK_PITCH);
	}
	if (!lanes.size || lanes.size > LANES_MOST) return null;
	return [...lanes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, ticks]) =>
		h(
			'div',
			{ class: 'lane-of-key', key: `lane-${key}` },
			h(
				'svg',
				{ viewBox: `0 0 10 ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
				h('path', { d: [...ticks].map((y) => `M0 ${y}h10`).join('') }),
			),
			h('b', null, key || 'no key'),
		),
	);
}
