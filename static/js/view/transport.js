// The transport: what time it is, the scrubber with what happened on it, and the events
// as a list. The server drew the controls; this module keeps them up to date.

import { formatClock, shortCount } from '../layout/format.js';
import { cls, h, icon, part, patch, setText } from './dom.js';

const PINS_MOST = 16;

/** Facts that get a pin on the scrubber, and the sign they get. */
const PIN_SIGNS = {
	NodeStopped: 'kill',
	NodeStarted: 'restart',
	NodePaused: 'pause',
	LinkCut: 'cut',
	LogTruncated: 'down',
	BecameLeader: 'crown',
	IsrChanged: 'check',
	BrokerFenced: 'fence',
	LogDirFailed: 'warning',
};

/** @param {string} kind @returns {boolean} */
export const hasPin = (kind) => kind in PIN_SIGNS;

/** How many times slower than live; the pace itself is virtual seconds a second.
 *  @param {{rate: number}} pace */
export const slowness = ({ rate }) => Number((1 / rate).toPrecision(3));

/** @param {object} film {first, last, seq, isLive, isPaused, at, pace} */
export function drawTransport(film) {
	const { last, seq, isLive, isMoving } = film;
	const first = beginOf(film);
	setText(part('clock'), formatClock(film.at));
	setText(part('lens'), lensOf(film));
	part('move-play').hidden = isMoving;
	part('move-pause').hidden = !isMoving;
	part('live').classList.toggle('on', isLive);
	part('live').setAttribute('aria-pressed', String(isLive));
	const share = last > first ? (seq - first) / (last - first) : 1;
	part('track-past').style.transform = `scaleX(${share.toFixed(4)})`;
	part('playhead').style.transform = `translateX(${(share * 100).toFixed(2)}%)`;
	const seek = part('seek');
	if (seek.min !== String(first)) seek.min = first;
	if (seek.max !== String(last)) seek.max = last;
	if (document.activeElement !== seek || seek.value !== String(seq)) seek.value = seq;
	seek.setAttribute('aria-valuetext', `event ${seq} of ${last}`);
	choose(part('speeds'), 'speed', film.speed);
	choose(part('grains'), 'grain', film.grain);
}

/** Where the track begins: a moment held in the past may have left the film meanwhile. */
const beginOf = ({ first, seq }) => Math.min(first, seq);

/** Marks the one of a row of choices that holds. */
function choose(row, name, value) {
	for (const button of row.children) {
		const isOn = button.dataset[name] === value;
		button.classList.toggle('on', isOn);
		button.setAttribute('aria-checked', String(isOn));
	}
}

function lensOf({ seq, last, isLive, isFile, pace, skipped }) {
	if (!isLive || isFile) return `event ${seq} of ${last}`;
	if (pace.paused) return 'time stands still';
	if (pace.mode === 'slow' && pace.rate) {
		return pace.rate > 1 ? `${pace.rate}× faster` : `${slowness(pace)}× slower`;
	}
	return skipped ? `${shortCount(skipped)} not shown` : `event ${last}`;
}

/** Pins for the facts that fell, thinned where they would overlap; the newest win. */
export function drawPins(pins, film, width, act) {
	const { last, seq } = film;
	const first = beginOf(film);
	const least = 26 / width;
	const shown = [];
	let right = Infinity;
	for (let i = pins.length - 1; i >= 0 && shown.length < PINS_MOST; i -= 1) {
		const pin = pins[i];
		if (pin.seq < first) break;
		const place = last > first ? (pin.seq - first) / (last - first) : 1;
		if (right - place < least) continue;
		right = place;
		shown.push({ ...pin, place });
	}
	patch(
		part('pins'),
		shown.map((pin) =>
			h(
				'button',
				{
					class: cls('pin', { past: pin.seq <= seq, now: pin.seq === seq }),
					key: pin.seq,
					tabindex: -1,
					title: pin.text,
					'aria-label': pin.text,
					testid: `pin-${pin.seq}`,
					style: { left: `${(pin.place * 100).toFixed(2)}%` },
					onClick: () => act.seek(pin.seq),
				},
				icon(PIN_SIGNS[pin.kind]),
			),
		),
	);
}

/** @param {{seq: number, at: number, text: string, kind: string, count?: number}[]} items
 *  newest first; `nothing` is what an empty list says */
export function drawEvents(items, seq, act, nothing) {
	patch(
		part('event-list'),
		items.length
			? items.map((item) =>
					h(
						'li',
						{ key: item.seq },
						h(
							'button',
							{
								class: cls('event', { now: item.seq === seq, pinned: hasPin(item.kind),
									broken: item.broken }),
								onMouseenter: () => act.light(item.seq),
								onMouseleave: () => act.light(null),
								title: item.broken ? item.broken.text
									: `${item.kind}, event ${item.seq}`,
								'data-seq': item.seq,
								'data-kind': item.kind,
								onClick: () => act.seek(item.seq),
							},
							h('span', { class: 'event-at' }, formatClock(item.at)),
							h('span', { class: 'event-say' }, item.text),
						),
					),
				)
			: h('li', { class: 'event-none' }, nothing),
	);
}
