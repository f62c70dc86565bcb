// Messages in flight: a pool of elements that only change their transform while they
// travel. They are the one thing on the stage that is drawn on every frame.

import { arc } from '../layout/geometry.js';
import { landing } from '../layout/flights.js';

const POOL_MOST = 32;
const PITCH = 2.15; // rem between two tokens of a pile
const PILE_MOST = 4;
const SOFTLY = 0.2; // of the way to its place in the pile, a frame
const TOP = 1.3; // rem; above it a token would lie under the toolbar

/**
 * @typedef {object} Traveller a flight with its time
 * @property {import('../layout/flights.js').Flight} flight
 * @property {number} progress 0 at its sender, 1 at its receiver
 */

/** @param {HTMLElement} layer */
export function createTokens(layer) {
	const inUse = new Map(); // by flight id
	const spare = [];

	/** Shows exactly these travellers. @param {Traveller[]} travellers */
	function show(travellers, geometry) {
		const wanted = new Set(travellers.map(({ flight }) => flight.id));
		for (const [id, token] of inUse) {
			if (wanted.has(id)) continue;
			token.node.hidden = true;
			inUse.delete(id);
			spare.push(token);
		}
		const placed = [];
		for (const { flight, progress } of travellers) {
			const token = inUse.get(flight.id) ?? take(flight);
			if (token) move(token, flight, progress, geometry, placed);
		}
	}

	/** Where another token is already, this one steps below it, softly. */
	function stepAside(token, spot, unit, placed) {
		let y = spot.y;
		for (let tries = 0; tries < PILE_MOST; tries += 1) {
			const other = placed.find((each) => Math.abs(each.y - y) < PITCH * unit &&
				Math.abs(each.x - spot.x) < each.half + spot.half);
			if (!other) break;
			y = other.y + PITCH * unit;
		}
		placed.push({ ...spot, y });
		token.shift = token.isNew ? y - spot.y : token.shift + (y - spot.y - token.shift) * SOFTLY;
		token.isNew = false;
		return spot.y + token.shift;
	}

	function take(flight) {
		const token = spare.pop() ?? (inUse.size < POOL_MOST ? make() : null);
		if (!token) return null;
		inUse.set(flight.id, token);
		token.node.hidden = false;
		token.face = '';
		token.path = null;
		token.isNew = true;
		return token;
	}

	function make() {
		const node = document.createElement('div');
		const face = document.createElement('div');
		face.className = 'token-face';
		node.append(face);
		layer.append(node);
		const fresh = { face: '', count: 0, width: 0, shift: 0, isNew: true };
		return { node, front: face, ...fresh, path: null, geometry: null };
	}

	function move(token, flight, progress, geometry, placed) {
		dress(token, flight);
		if (token.geometry !== geometry || !token.path) {
			const from = landing(geometry, flight.from);
			const to = landing(geometry, flight.to);
			token.path = from === null || to === null || from === to ? null : arc(geometry, from, to);
			token.geometry = geometry;
			token.node.hidden = token.path === null;
		}
		if (!token.path) return;
		const { x, y } = token.path.at(glide(progress));
		const half = (token.width * geometry.unit) / 2;
		const left = geometry.narrow ? 0 : geometry.producers.x + geometry.producers.width;
		const inside = Math.max(left + half + 4, Math.min(x, geometry.width - half - 4));
		const spot = { x: inside, y: Math.max(y, geometry.unit * TOP), half };
		const at = flight.kind === 'dot' ? y : stepAside(token, spot, geometry.unit, placed);
		token.node.style.transform = `translate(${inside.toFixed(1)}px, ${at.toFixed(1)}px)`;
	}

	/** The face is written once a flight; while it travels only the transform changes. */
	function dress(token, flight) {
		const face = `${flight.kind}|${flight.text}|${flight.chips}|${flight.note}`;
		if (token.face === face && token.count === flight.count) return;
		if (token.face === face && token.count > 1 && flight.count > 1 && flight.kind !== 'dot') {
			token.count = flight.count;
			token.front.querySelector('.token-count').textContent = countOf(flight);
			return;
		}
		token.face = face;
		token.count = flight.count;
		const side = isRightward(flight) ? 'to-right' : 'to-left';
		token.node.className = ['token', flight.kind, side, ...flags(flight)].join(' ');
		token.front.replaceChildren(...partsOf(flight));
		token.width = widthOf(flight);
	}

	/** Marks the token of one flight, none without. */
	function light(id) {
		for (const [flight, { node }] of inUse) node.classList.toggle('lit', flight === id);
	}

	return { show, light };
}

const countOf = (flight) => `×${flight.count}`;

/** About how wide a token is, in rem; measuring it would cost a layout a message. */
function widthOf(flight) {
	const letters = flight.text.length + flight.note.length + flight.chips.join('').length;
	return 2.6 + letters * 0.54 + flight.chips.length * 1.15 + (flight.count > 1 ? 2.6 : 0);
}

const flags = (flight) => ['followed', 'dim', 'alarm', 'idle'].filter((name) => flight[name]);

const rank = (column) => {
	const name = String(column);
	return name.startsWith('producer') ? -1 : name.startsWith('reader') ? 1e9 : Number(column);
};
const isRightward = (flight) => rank(flight.to) > rank(flight.from);

function partsOf(flight) {
	if (flight.kind === 'dot') return [];
	const parts = [];
	if (flight.chips.length) {
		const records = element('span', 'token-records');
		records.append(
			...flight.chips.map((chip) => element('b', flight.followed ? 'followed' : '', chip)),
		);
		parts.push(records);
	}
	if (flight.text) parts.push(element('span', '', flight.text));
	if (flight.note) parts.push(element('span', 'token-note', flight.note));
	if (flight.count > 1) parts.push(element('b', 'token-count', countOf(flight)));
	const chevron = element('i', 'chevron');
	return isRightward(flight) ? [...parts, chevron] : [chevron, ...parts];
}

function element(tag, name, text) {
	const node = document.createElement(tag);
	if (name) node.className = name;
	if (text) node.textContent = text;
	return node;
}

/** Ease in and out: a message leaves and lands softly. */
const glide = (p) => p * p * (3 - 2 * p);
