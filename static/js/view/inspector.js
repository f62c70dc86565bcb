// The inspector: the bytes of the picked record's batch, what the partition remembers
// about itself, what waits, and every link with its scissors.

import { duration } from '../model/narrate.js';
import { idList, nodeName, shortOffset } from '../layout/format.js';
import { isCut } from '../layout/scene.js';
import { drawBatch } from './batch.js';
import { cls, h, icon } from './dom.js';
import { drawPassport, drawWhy } from './explain.js';
import { linkCommand } from './wires.js';

const WAITS_MOST = 12;
const TIMERS_MOST = 24;
const TABS = [
	{ id: 'batch', name: 'Batch' },
	{ id: 'passport', name: 'Passport' },
	{ id: 'why', name: 'Why' },
	{ id: 'partition', name: 'Partition' },
	{ id: 'waiting', name: 'Waiting' },
	{ id: 'links', name: 'Links' },
];
const PANELS = {
	batch: drawBatch,
	passport: drawPassport,
	why: drawWhy,
	partition: drawPartition,
	waiting: drawWaiting,
	links: drawLinks,
};

export function drawInspector(view) {
	const { ui, act, scene } = view;
	return [
		h(
			'header',
			{ class: 'inspector-head' },
			h('h2', null, ...titleOf(ui, scene)),
			h(
				'button',
				{
					class: 'close',
					'aria-label': 'Close the inspector (I)',
					testid: 'close-inspector',
					onClick: act.toggleInspector,
				},
				icon('cross'),
			),
		),
		h(
			'div',
			{ class: 'inspector-tabs', role: 'group' },
			TABS.map((tab) =>
				h(
					'button',
					{
						key: tab.id,
						class: cls({ on: ui.tab === tab.id }),
						'aria-pressed': String(ui.tab === tab.id),
						testid: `tab-${tab.id}`,
						onClick: () => act.openTab(tab.id),
					},
					tab.name,
				),
			),
		),
		PANELS[ui.tab](view),
	];
}

function titleOf(ui, scene) {
	if (ui.tab === 'batch' && ui.select) {
		const where = ` ${scene.focus?.name ?? ''}, broker ${ui.select.node}`;
		return ['Picked: offset ', shortOffset(ui.select.offset), h('span', null, where)];
	}
	if (ui.tab === 'passport' && ui.follow) {
		const { key, offset, topic, partition, epoch } = ui.follow;
		const where = ` ${topic}-${partition} offset ${shortOffset(offset)}, epoch ${epoch}`;
		return [`Followed: ${key}`, h('span', null, where)];
	}
	const isOfPartition = ui.tab === 'partition' || ui.tab === 'why';
	return [scene.focus && isOfPartition ? scene.focus.name : 'Cluster'];
}

function drawPartition({ scene }) {
	const { focus } = scene;
	if (!focus) return empty('There is no topic yet.');
	const ids = [...focus.copies.keys()];
	return h(
		'div',
		{ class: 'partition' },
		h('h3', null, 'leader-epoch-checkpoint'),
		drawEpochs(focus, ids),
		h('h3', null, 'Replicas'),
		drawCopies(focus, ids),
		h('h3', null, 'As the controller has it'),
		h(
			'dl',
			null,
			rows([
				['leader', focus.leader ?? 'none'],
				['leader epoch', focus.epoch],
				['partition epoch', focus.partitionEpoch],
				['replicas', idList(focus.replicas)],
				['in sync (ISR)', idList(focus.isr)],
				['eligible (ELR)', idList(focus.elr)],
				['min.insync.replicas', focus.minIsr],
			]),
		),
		focus.leading?.followers.length > 0 && [
			h('h3', null, `What broker ${focus.leader} knows of its followers`),
			h(
				'dl',
				null,
				rows(focus.leading.followers.map((f) => [`broker ${f.id}`, `LEO ${shortOffset(f.leo)}`])),
			),
		],
	);
}

const rows = (items) =>
	items.map(([name, value]) => [
		h('dt', { key: name }, name),
		h('dd', { key: `${name}-value` }, value),
	]);

function drawEpochs(focus, ids) {
	const epochs = [...new Set(ids.flatMap((id) => focus.copies.get(id).epochs.map((e) => e.epoch)))];
	const startOf = (id, epoch) => {
		const found = focus.copies.get(id).epochs.find((e) => e.epoch === epoch);
		return found ? shortOffset(found.from) : '–';
	};
	return h(
		'table',
		null,
		h(
			'thead',
			null,
			h('tr', null, headCells('starts at, on broker', ids, focus)),
		),
		h(
			'tbody',
			null,
			epochs
				.sort((a, b) => a - b)
				.map((epoch) =>
					h(
						'tr',
						{ key: epoch },
						h('th', null, `epoch ${epoch}`),
						ids.map((id) => h('td', { key: id }, startOf(id, epoch))),
					),
				),
		),
	);
}

const headCells = (name, ids, focus) => [
	h('th', null, name),
	ids.map((id) =>
		h('th', { key: id }, id, focus.leader === id && icon('crown', 'leader')),
	),
];

function drawCopies(focus, ids) {
	const lines = [
		['log end (LEO)', (copy) => shortOffset(copy.leo)],
		['high watermark', (copy) => shortOffset(copy.hw)],
		['on disk up to', (copy) => shortOffset(copy.synced)],
		['log starts at', (copy) => shortOffset(copy.start)],
		['segments', (copy) => copy.segments.length],
		['ISR the leader counts', (copy) => (copy.role === 'leader' ? idList(copy.isr) : '–')],
	];
	return h(
		'table',
		null,
		h('thead', null, h('tr', null, headCells('broker', ids, focus))),
		h(
			'tbody',
			null,
			lines.map(([name, value]) =>
				h(
					'tr',
					{ key: name },
					h('th', null, name),
					ids.map((id) => h('td', { key: id }, value(focus.copies.get(id)))),
				),
			),
		),
	);
}

/** What waits, and for what: the answer to "why not yet". */
function drawWaiting({ scene }) {
	const until = (due) => (due > scene.at ? duration(due - scene.at) : 'now');
	const waits = scene.waits.slice(0, WAITS_MOST);
	const timers = [...scene.timers].sort((a, b) => a.due - b.due).slice(0, TIMERS_MOST);
	return h(
		'div',
		{ class: 'partition waiting-panel', testid: 'waiting' },
		h('h3', null, `Requests that wait (${scene.waits.length})`),
		waits.length
			? h(
					'dl',
					null,
					waits.map((wait) => [
						h('dt', { key: wait.id }, waitText(wait, scene)),
						h('dd', { key: `${wait.id}-due` }, until(wait.due)),
					]),
				)
			: empty('Nothing waits.'),
		h('h3', null, `Timers (${scene.timers.length})`),
		timers.length
			? h(
					'dl',
					null,
					timers.map((timer) => [
						h('dt', { key: timer.id }, `${nodeName(timer.node, scene)}: ${timer.name}`),
						h('dd', { key: `${timer.id}-due` }, until(timer.due)),
					]),
				)
			: empty('No timer is set.'),
	);
}

const waitText = (wait, scene) =>
	`${wait.what} of ${nodeName(wait.for, scene)} at broker ${wait.node}, ` +
	`${wait.topic}-${wait.partition} to reach ${shortOffset(wait.needs)}`;

/** Every link between two nodes, in a triangle of buttons. */
function drawLinks({ scene, act, mayAct }) {
	const nodes = [...scene.brokers, ...scene.controllers];
	return h(
		'div',
		{ class: 'links', testid: 'links' },
		h(
			'p',
			null,
			'A cut link passes nothing in either direction until it is healed.',
		),
		h(
			'table',
			null,
			h(
				'thead',
				null,
				h(
					'tr',
					null,
					h('th', null),
					nodes.slice(0, -1).map((node) => h('th', { key: node.id, scope: 'col' }, node.id)),
				),
			),
			h(
				'tbody',
				null,
				nodes.slice(1).map((node, i) =>
					h(
						'tr',
						{ key: node.id },
						h('th', { scope: 'row' }, nodeName(node.id, scene)),
						nodes.slice(0, i + 1).map((other) => drawLink({ scene, act, mayAct }, other.id, node.id)),
					),
				),
			),
		),
		h(
			'button',
			{ class: 'dump', disabled: !mayAct, onClick: () => act.healAll() },
			'Heal every link',
		),
	);
}

function drawLink({ scene, act, mayAct }, a, b) {
	const isOff = isCut(scene, a, b);
	const latency = latencyOf(scene, a, b);
	const bothBrokers = [a, b].every((id) => scene.brokers.some((node) => node.id === id));
	const ends = `${nodeName(a, scene)} to ${nodeName(b, scene)}`;
	const slow = latency ? `, which takes ${duration(latency)}` : '';
	const name = `${isOff ? 'Heal' : 'Cut'} the link from ${ends}${slow}`;
	return h(
		'td',
		{ key: a },
		h(
			'button',
			{
				class: cls('link', { off: isOff }),
				disabled: !mayAct,
				title: name,
				'aria-label': name,
				'aria-pressed': String(isOff),
				testid: bothBrokers ? `link-${a}-${b}` : `cut-${a}-${b}`,
				onClick: () => act.command(linkCommand(scene, a, b)),
			},
			isOff || !latency ? icon(isOff ? 'cut' : 'link') : duration(latency),
		),
	);
}

/** How long the slower direction takes, where a delay was set. */
const latencyOf = (scene, a, b) =>
	Math.max(
		0,
		...scene.links
			.filter((l) => (l.from === a && l.to === b) || (l.from === b && l.to === a))
			.map((l) => l.latency),
	);

const empty = (text) => h('p', { class: 'inspector-empty', key: `empty-${text}` }, text);
