// What stands around the stage: the vital signs, the toolbar with the partitions, and the
// caption with the stations of the followed record.

import { shortCount, shortOffset } from '../layout/format.js';
import { whereabouts } from '../layout/where.js';
import { cls, h, icon, part, patch, setText } from './dom.js';

const REACHED = ['past', 'here'];
const TABS_MOST = 6;

/** Numbers an operator would alert on. A calm number is plain; a bad one carries a sign
 *  and a filled ground. */
export function drawVitals({ scene, broken }) {
	const { vitals } = scene;
	const sign = (name, n, level) => vital(name, shortCount(n), n > 0 ? level : 'calm');
	return [
		vital('brokers up', `${vitals.brokersUp} of ${vitals.brokers}`,
			vitals.brokersUp < vitals.brokers ? 'warn' : 'calm'),
		vital('controller', vitals.controller ?? 'none', vitals.controller ? 'calm' : 'alarm'),
		sign('under-replicated', vitals.underReplicated, 'warn'),
		sign('under min ISR', vitals.underMinIsr, 'alarm'),
		sign('offline', vitals.offline, 'alarm'),
		vital('clients', vitals.clients, 'calm'),
		vital('appended', shortCount(vitals.records), 'calm'),
		broken > 0 && vital('broken', broken, 'alarm'),
	];
}

const vital = (name, value, level) =>
	h(
		'div',
		{ class: cls('vital', level), key: name, testid: `vital-${name.replace(/ /g, '-')}` },
		h('dt', null, name),
		h(
			'dd',
			null,
			level === 'warn' && icon('warning'),
			level === 'alarm' && icon('cross'),
			h('span', null, value),
		),
	);

export function drawTopics(select, { scene, act }) {
	patch(
		select,
		scene.topics.map((topic) =>
			h('option', { key: topic.name, value: topic.name }, topic.name),
		),
	);
	select.hidden = !scene.topics.length;
	select.onchange = () => act.lookAt(select.value, 0);
	if (scene.focus && select.value !== scene.focus.topic) select.value = scene.focus.topic;
}

export function drawTabs({ scene, act }) {
	const { focus } = scene;
	if (!focus) return null;
	const all = focus.partitions;
	const shown = tabsOf(all, focus.partition);
	const rest = all.length - shown.length;
	return [
		shown.map((partition) =>
			h(
				'button',
				{
					key: partition,
					class: cls('tab', { on: partition === focus.partition }),
					'aria-pressed': String(partition === focus.partition),
					testid: `tab-${focus.topic}-${partition}`,
					onClick: () => act.lookAt(focus.topic, partition),
				},
				`P${partition}`,
			),
		),
		rest > 0 && h('input', {
			key: 'another',
			type: 'number',
			class: 'tab',
			min: 0,
			max: all.length - 1,
			placeholder: `+${shortCount(rest)}`,
			title: `Another partition: 0 to ${all.length - 1}`,
			testid: 'another-partition',
			onChange: ({ target }) => {
				const wanted = Number(target.value);
				if (target.value && all.includes(wanted)) act.lookAt(focus.topic, wanted);
				target.value = '';
				target.blur();
			},
		}),
	];
}

/** The first partitions, and the one that is looked at. */
function tabsOf(all, looked) {
	const first = all.slice(0, TABS_MOST);
	return first.includes(looked) ? first : [...first.slice(0, -1), looked];
}

export function drawReign({ scene }) {
	const { focus } = scene;
	if (!focus) return null;
	if (focus.leader === null) return h('b', { class: 'leaderless' }, 'no leader');
	return [
		'leader ',
		h('b', null, focus.leader),
		h('span', { class: 'dot' }, '·'),
		'epoch ',
		h('b', null, focus.epoch),
	];
}

export function drawSettings({ scene, ui, act, geometry }) {
	const { focus } = scene;
	if (!focus || geometry.narrow) return null;
	const someCut = scene.links.some((link) => link.cut);
	return [
		h(
			'span',
			{ class: 'setting' },
			h('code', null, 'min.insync.replicas'),
			h('b', { testid: `min-isr-${focus.topic}` }, focus.minIsr),
		),
		h(
			'button',
			{
				class: 'setting',
				testid: 'open-links',
				onClick: () => act.openTab('links'),
			},
			icon('cut'),
			h('span', null, someCut ? 'links, some cut' : 'links'),
		),
		ui.isPast &&
			h(
				'span',
				{ class: 'setting past', testid: 'past' },
				'looking at the past',
			),
	];
}

/** The stations of the followed record. */
export function drawWhere({ scene, ui, act, looksOnly, belief }) {
	const { follow } = ui;
	if (!follow) {
		// What a viewer follows is the presenter's to pick.
		return looksOnly ? null : h(
			'li',
			{ class: 'where-nobody' },
			'Pick a record and press ',
			h('kbd', null, 'F'),
			' to follow it.',
		);
	}
	const stations = whereabouts(scene, follow, belief);
	return [
		h(
			'li',
			{ class: 'where-who' },
			h(
				'button',
				{
					title: 'Stop following',
					testid: 'followed',
					onClick: act.unfollow,
				},
				follow.key || `offset ${shortOffset(follow.offset)}`,
			),
		),
		!stations.length &&
			h(
				'li',
				{ class: 'where-nobody' },
				`in ${follow.topic}-${follow.partition}`,
			),
		stations.map((station, i) => drawStation(station, stations[i + 1])),
	];
}

const drawStation = ({ id, label, status, note }, next) =>
	h(
		'li',
		{
			class: cls('station', status, {
				onward: REACHED.includes(status) && REACHED.includes(next?.status),
			}),
			key: id,
			testid: `station-${id}`,
			title: `${label}: ${note}`,
			'data-status': status,
		},
		h('i', { class: 'stop' }, status === 'gone' && icon('cross')),
		h('span', { class: 'station-name' }, label),
		h('span', { class: 'station-note' }, note),
	);

/** What just happened, in one sentence; below it why the followed record is not committed yet,
 *  or which rule made it so. */
export function drawSay(saying, waiting) {
	if (!saying) return null;
	const why = waiting || saying.why;
	return [
		h('p', { class: 'say-what', key: `what-${saying.seq}` }, saying.text),
		why && h('p', { class: cls('say-why', { 'not-yet': waiting }), key: `why-${why}` }, why),
	];
}

/** Where the stage has nothing to show, it says why.
 *  @param {{title: string, text: string, canCreate: boolean} | null} notice */
export function drawNotice(notice) {
	const box = part('notice');
	box.hidden = !notice;
	if (!notice) return;
	setText(part('notice-title'), notice.title);
	setText(part('notice-text'), notice.text);
	part('create-topic').hidden = !notice.canCreate;
	const bootstrap = part('notice-bootstrap');
	if (bootstrap) bootstrap.hidden = !notice.canCreate;
}
