// Trees in, DOM out. A drawing module returns plain trees made with `h`. `patch` makes a parent's
// children match a tree and keeps every node whose key survives, so that CSS
// transitions run between two states instead of being cut off by a rebuild.

const SVG = 'http://www.w3.org/2000/svg';

/** Characters that turn the direction of all text behind them, and a record's key may hold. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** @param {string} tag @param {object|null} props @param {...*} children */
export const h = (tag, props, ...children) => ({
	tag,
	props: props ?? {},
	children: children.flat(Infinity).filter(isDrawn),
});

/** Joins class names, skipping those that are off: cls('cell', { wet: true }). */
export const cls = (...names) =>
	names
		.flatMap((name) =>
			typeof name === 'object' && name ? Object.keys(name).filter((key) => name[key]) : name || [],
		)
		.join(' ');

/** @param {string} id of what the page came with */
export const part = (id) => document.getElementById(id);

/** A style's `transform`, in pixels. */
export const moved = (x, y) => `translate(${x}px, ${y}px)`;
export const lowered = (y) => `translateY(${y}px)`;

/** One sign of the sprite. It is decoration unless it is given a `label`. */
export function icon(name, label) {
	const a11y = label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' };
	return h(
		'svg',
		{ class: `icon icon-${name}`, viewBox: '0 0 16 16', ...a11y },
		h('use', { href: `#icon-${name}` }),
	);
}

/** Makes the children of `parent` match the tree.
 *  @param {Element} parent @param {*} tree @param {string|null} [namespace] */
export function patch(parent, tree, namespace = null) {
	const wanted = [tree].flat(Infinity).filter(isDrawn);
	const keys = keysOf(wanted);
	const known = new Set(keys);

	const old = new Map();
	for (const node of [...parent.childNodes]) {
		if (node.isLeaving) continue;
		if (known.has(node.key)) old.set(node.key, node);
		else leave(node);
	}

	let cursor = parent.firstChild;
	wanted.forEach((item, index) => {
		const node = old.get(keys[index]) ?? create(item, keys[index], namespace);
		while (cursor?.isLeaving) cursor = cursor.nextSibling;
		if (node === cursor) cursor = cursor.nextSibling;
		else parent.insertBefore(node, cursor);
		update(node, item);
	});
}

function isDrawn(item) {
	return item !== null && item !== undefined && item !== false && item !== '';
}

/** Who has no key is known by its tag and first class, and by its rank among those like it. */
function keysOf(items) {
	const ranks = new Map();
	return items.map(({ tag, props }) => {
		const kind = tag ? `${tag}:${props.key ?? props.class?.split(' ')[0] ?? ''}` : 'text';
		const rank = ranks.get(kind) ?? 0;
		ranks.set(kind, rank + 1);
		return rank ? `${kind}#${rank}` : kind;
	});
}

function create(item, key, namespace) {
	if (!item.tag) return Object.assign(document.createTextNode(''), { key });
	const space = item.tag === 'svg' ? SVG : namespace;
	const node = space
		? document.createElementNS(space, item.tag)
		: document.createElement(item.tag);
	if (item.tag === 'button') node.type = 'button'; // and sends no form
	return Object.assign(node, { key, space, given: {} });
}

function update(node, item) {
	if (!item.tag) {
		if (node.given === item) return;
		node.given = item;
		node.data = String(item).replace(TURNS, '\ufffd');
		return;
	}
	for (const name of Object.keys(node.given)) {
		if (!(name in item.props)) setProp(node, name, null);
	}
	for (const [name, value] of Object.entries(item.props)) {
		if (node.given[name] !== value) setProp(node, name, value, node.given[name]);
	}
	node.given = item.props;
	patch(node, item.children, node.space);
}

function setProp(node, name, value, before) {
	if (name === 'key' || name === 'leaveMs') return;
	if (name.startsWith('on')) node[name.toLowerCase()] = value;
	else if (name === 'style') setStyle(node, value ?? {}, before ?? {});
	else if (name === 'value' && 'value' in node) {
		if (node.value !== String(value)) node.value = value;
	} else {
		const attribute = name === 'testid' ? 'data-testid' : name;
		if (value === null || value === undefined || value === false) node.removeAttribute(attribute);
		else node.setAttribute(attribute, value === true ? '' : value);
	}
}

function setStyle(node, next, before) {
	for (const name of Object.keys(before)) {
		if (!(name in next)) node.style.removeProperty(name);
	}
	for (const [name, value] of Object.entries(next)) {
		if (before[name] !== value) node.style.setProperty(name, value);
	}
}

function leave(node) {
	const ms = node.given?.leaveMs;
	if (!ms) {
		node.remove();
		return;
	}
	node.isLeaving = true;
	node.dataset.leaving = '';
	setTimeout(() => node.remove(), ms);
}

/** Sets text and attributes of a node that the server drew, touching only what differs.
 *  @param {Element} node @param {string} text */
export function setText(node, text) {
	if (node && node.textContent !== text) node.textContent = text;
}
