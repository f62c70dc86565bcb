// What stands under and beside the tanks: plinths and controllers, which the server drew
// and this module keeps up to date; the other partitions as pipes; the in-sync chain.

import { shortOffset } from '../layout/format.js';
import { cls, h, icon, lowered, moved, part, setText } from './dom.js';

/** Places every node's box and says what the node is now. */
export function drawNodes(view) {
	const { scene, geometry } = view;
	for (const node of scene.brokers) {
		const box = part(`broker-${node.id}`);
		if (!box) continue;
		place(box, geometry.columns[node.id], geometry.plinth);
		say(box, roleOf(scene, node), dutyOf(scene, node));
		mark(box, node, { leads: scene.focus?.leader === node.id, picked: view.ui.broker === node.id });
	}
	for (const node of scene.controllers) {
		const box = part(`controller-${node.id}`);
		if (!box) continue;
		place(box, geometry.columns[node.id], geometry.short ? geometry.plinth : geometry.quorum);
		say(box, controllerRole(node), controllerDuty(scene, node));
		const title = logOf(scene, node);
		if (box.title !== title) box.title = title;
		mark(box, node, { leads: node.state === 'leader' && node.power === 'up' });
	}
}

function place(box, column, row) {
	if (!column) return;
	const transform = `translate(${column.x.toFixed(1)}px, ${row.top.toFixed(1)}px)`;
	if (box.style.transform !== transform) box.style.transform = transform;
	const width = `${column.width.toFixed(1)}px`;
	if (box.style.width !== width) box.style.width = width;
}

function say(box, role, duty) {
	setText(box.querySelector('.role'), role);
	setText(box.querySelector('.duty'), duty);
}

/** The state a lever depends on is an attribute; the style sheet shows the right levers. */
function mark(box, node, { leads, picked }) {
	if (box.dataset.power !== node.power) {
		const holder = box.querySelector(':focus');
		box.dataset.power = node.power;
		if (holder?.checkVisibility() === false) {
			[...box.querySelectorAll('button')].find((lever) => lever.checkVisibility())?.focus();
		}
	}
	box.classList.toggle('leads', Boolean(leads));
	box.classList.toggle('picked', Boolean(picked));
	const pause = box.querySelector('[data-lever="pause"]');
	if (!pause) return;
	const word = node.power === 'paused' ? 'resume' : 'pause';
	setText(pause.querySelector('span'), word);
	if (pause.dataset.command !== word) {
		pause.dataset.command = word;
		pause.title = word === 'resume' ? 'Go on with what waited' : 'Handle nothing until resumed';
		pause.setAttribute('aria-label', `${word} ${node.role} ${node.id}`);
		const sign = word === 'resume' ? 'play' : 'pause';
		pause.querySelector('use').setAttribute('href', `#icon-${sign}`);
	}
}

function roleOf({ focus }, node) {
	if (node.power === 'down') return 'Down';
	if (!focus) return 'Broker';
	if (focus.leader === node.id) return 'Leader';
	if (focus.copies.get(node.id)?.role === 'leader') return 'Was leader'; // and does not know
	return focus.copies.has(node.id) || focus.replicas.includes(node.id) ? 'Follower' : 'Broker';
}

function dutyOf({ focus }, node) {
	if (node.power === 'down') return node.isFenced ? 'fenced' : 'not yet fenced';
	if (node.power === 'paused') return 'handles nothing';
	if (node.power === 'fenced') return 'fenced by the controller';
	if (node.isLeaving) return 'hands over';
	if (node.diskFault && node.diskFault !== 'none') return `disk: ${node.diskFault}`;
	if (!focus || !focus.replicas.includes(node.id)) return node.address;
	if (focus.leader === node.id) return `epoch ${focus.epoch}`;
	return focus.isr.includes(node.id) ? 'in sync' : 'catching up';
}

function controllerRole(node) {
	if (node.power !== 'up') return node.power;
	return { leader: 'active', follower: 'voter' }[node.state] ?? (node.state || 'controller');
}

/** The term, and how far its copy of the metadata log has come: the leader names the high
 *  watermark, the others how much they lack. */
function controllerDuty(scene, node) {
	const term = `term ${node.term}`;
	if (node.power === 'down') return node.verdict;
	if (node.power === 'paused' && node.state === 'leader') return `was active, ${term}`;
	if (!node.term) return '';
	const active = scene.controllers.find((each) => each.state === 'leader' && each.power === 'up');
	if (node === active) return `${term}, HW\u00a0${shortOffset(scene.metadataHw + 1)}`;
	if (!active) return term;
	const lag = Math.max(0, active.stored - node.stored);
	return `${term}, ${lag ? `${shortOffset(lag)}\u00a0behind` : 'has\u00a0all'}`;
}

function logOf(scene, node) {
	if (node.stored < 0) return '';
	const holds = `controller ${node.id}: holds the metadata log up to offset `;
	const hw = `; its high watermark is ${shortOffset(scene.metadataHw + 1)}`;
	return holds + shortOffset(node.stored) + hw;
}

/** The other partitions a broker holds, each as a narrow pipe with its water. */
export function drawPipes({ scene, geometry, act }, node) {
	const column = geometry.columns[node.id];
	const { unit, shape } = geometry;
	return scene.pipes.slice(0, geometry.pipes).map((pipe, i) => {
		const level = pipe.levels.get(node.id);
		if (!level) return null;
		const share = (n) => Math.min(1, n / pipe.capacity);
		const pitch = shape.pipe + shape.pipeGap;
		const x = column.x + column.tankWidth + shape.pipeGap * unit + i * pitch * unit;
		const leads = pipe.leader === node.id;
		const name = `partition ${pipe.partition}: log end ${level.leo}, high watermark ${level.hw}`;
		return h(
			'button',
			{
				class: cls('pipe', node.power, { leads }),
				key: `pipe-${node.id}-${pipe.partition}`,
				title: `${name}${leads ? ', led here' : ''}`,
				'aria-label': `${name}, broker ${node.id}`,
				style: {
					transform: moved(x, geometry.tank.top),
					width: `${shape.pipe * unit}px`,
					height: `${geometry.tank.height}px`,
				},
				onClick: () => act.lookAt(scene.focus.topic, pipe.partition),
			},
			h('i', {
				class: 'pipe-log',
				style: { transform: `scaleY(${share(level.leo)})` },
			}),
			h('i', {
				class: 'pipe-water',
				style: { transform: `scaleY(${share(level.hw)})` },
			}),
			leads && icon('crown'),
			h('span', null, pipe.partition),
		);
	});
}

/** In-sync replicas are links of one chain under the tanks. */
export function drawChain({ scene, geometry, act }) {
	const { focus } = scene;
	const y = geometry.isr.height * (geometry.narrow ? 0.28 : 0.6);
	const middle = (id) => geometry.columns[id].port.x;
	const replicas = scene.brokers
		.map((node) => node.id)
		.filter((id) => focus.replicas.includes(id) && geometry.columns[id]);
	const members = replicas.filter((id) => focus.isr.includes(id));
	// In a trace without its beginning brokers may be missing, or all that is known of a partition.
	const all = focus.replicas.length;
	const isThin = all > 0 && focus.isr.length < focus.minIsr;
	const columns = scene.brokers.map((node) => geometry.columns[node.id]);
	const right = Math.max(...columns.map((column) => column.x + column.width));
	const count = geometry.narrow
		? ` of ${all} in sync, high watermark ${shortOffset(focus.hw)}`
		: ` of ${all}, needs ${focus.minIsr}`;
	return h(
		'div',
		{
			class: cls('chain', { thin: isThin }),
			testid: `isr-${focus.name}`,
			'data-value': focus.isr.join(','),
			style: {
				transform: lowered(geometry.isr.top),
				height: `${geometry.isr.height}px`,
			},
		},
		!geometry.narrow &&
			replicas.length > 0 &&
			h(
				'span',
				{
					class: 'chain-name',
					style: { width: `${middle(replicas[0]) - geometry.unit * 1.1}px` },
				},
				'in sync',
			),
		drawLinks(geometry, replicas, members, focus, y),
		all > 0 && h(
			'button',
			{
				class: 'chain-count',
				title: 'Why these replicas?',
				testid: 'why-isr',
				onClick: () => act.why('isr'),
				style: { transform: `translateX(${geometry.narrow ? 0 : right + geometry.unit * 0.8}px)` },
			},
			h('b', null, focus.isr.length),
			count,
		),
	);
}

const drawLinks = (geometry, replicas, members, focus, y) => {
	const middle = (id) => geometry.columns[id].port.x;
	return h(
		'svg',
		{ width: geometry.width, height: geometry.isr.height, 'aria-hidden': 'true' },
		members.length > 1 &&
			h('path', {
				class: 'chain-line',
				d: `M${middle(members[0])} ${y}H${middle(members.at(-1))}`,
			}),
		replicas.map((id) =>
			h('circle', {
				key: id,
				class: cls('chain-node', {
					member: focus.isr.includes(id),
					eligible: focus.elr.includes(id),
				}),
				cx: middle(id),
				cy: y,
				r: geometry.unit * 0.44,
			}),
		),
	);
};
