// The inspector's answers: why a value is what it is and why not more yet, and the passport of the
// followed record. Every sentence leads to the event that it rests on.

import { formatClock, shortOffset } from '../layout/format.js';
import { fateOfTopic, isPicked } from '../layout/where.js';
import { cls, h } from './dom.js';

const SUBJECTS = {
	hw: 'high watermark', lso: 'last stable offset', leo: 'log end', isr: 'in sync',
	leader: 'leader', ack: 'waiting produces', fetch: 'waiting fetches',
};
const GOOD = ['committed', 'duplicate suppressed', 'unknown to the client'];
const OPEN = ['not yet', 'not recorded', 'below the high watermark'];

const empty = (text) => h('p', { class: 'inspector-empty', key: `empty-${text}` }, text);

export function drawWhy({ scene, ui, act }) {
	if (!scene.focus) return empty('There is no topic yet.');
	const { why } = ui;
	const { answer } = why;
	return h('div', { class: 'why', testid: 'why' },
		h('div', { class: 'asks', role: 'group', 'aria-label': 'Explain' },
			Object.entries(SUBJECTS).map(([of, name]) =>
				h('button', { key: of, class: cls({ on: why.of === of }),
					'aria-pressed': String(why.of === of), testid: `ask-${of}`,
					onClick: () => act.why(of) }, name))),
		why.error && empty(why.error),
		answer && [
			h('p', { class: 'fate', testid: 'why-title' }, h('b', null, answer.title)),
			answer.why.length > 0 && [
				h('h3', { key: 'why' }, 'Why'),
				drawSentences(answer.why, 'why', scene.seq, act),
			],
			answer.notYet.length > 0 && [
				h('h3', { key: 'not-yet' }, 'Why not yet'),
				drawSentences(answer.notYet, 'not-yet', scene.seq, act),
			],
		]);
}

export function drawPassport(view) {
	const { scene, ui, act } = view;
	const isOther = ui.select && !isPicked(scene, ui);
	return [
		isOther && h('button', { class: 'dump', key: 'other', onClick: act.followPicked,
			testid: 'follow-picked' },
		`Follow the picked offset ${shortOffset(ui.select.offset)}${ui.follow ? ' instead' : ''} `,
		h('kbd', null, 'F')),
		!(isOther && !ui.follow) && drawFollowed(view),
	];
}

function drawFollowed({ scene, ui, act }) {
	if (!ui.follow) return empty('Pick a record and press F to follow it: this is its passport.');
	if (fateOfTopic(scene, ui.follow) === 'ahead') {
		return empty(`The topic ${ui.follow.topic} of this record is not there yet.`);
	}
	const { answer, error } = ui.passport;
	if (!answer) return empty(error || 'Asking the recording …');
	const seq = Number(answer.fateSeq);
	const isBad = ![...GOOD, ...OPEN].includes(answer.fate);
	return h('div', { class: 'passport', testid: 'passport' },
		h('div', { class: cls('fate', { good: GOOD.includes(answer.fate), bad: isBad }) },
			h('b', { testid: 'fate' }, answer.fate),
			seq > 0
				? h('button', { testid: 'fate-event', 'data-seq': seq,
					onClick: () => act.seek(seq) }, answer.fateText)
				: h('span', null, answer.fateText)),
		answer.notYet.length > 0 && [
			h('h3', { key: 'not-yet' }, 'Why not yet'),
			drawSentences(answer.notYet, 'not-yet', scene.seq, act),
		],
		answer.steps.length > 0 && [
			h('h3', { key: 'way' }, 'Its way'),
			drawSentences(answer.steps, 'step', scene.seq, act),
		],
		answer.copies.length > 0 && [
			h('h3', { key: 'copies' }, 'On each broker'),
			drawCopies(answer, act),
		]);
}

const drawSentences = (list, name, now, act) =>
	h('ol', { class: 'sentences', key: `list-${name}`, testid: `sentences-${name}` },
		list.map((sentence, i) => {
			const seq = Number(sentence.seq);
			return h('li', { key: `${seq}-${sentence.text}` },
				h('button', { disabled: seq === 0, 'data-seq': seq,
					class: cls({ now: seq === now }), testid: `sentence-${name}-${i}`,
					title: seq ? `Go to event ${seq}` : 'No kept event tells this',
					onClick: () => act.seek(seq) },
				h('span', { class: 'event-at' }, seq ? formatClock(Number(sentence.at)) : ''),
				h('span', null, sentence.text, sentence.rule &&
					h('i', { class: 'rule', title: sentence.ruleText },
						`${sentence.rule}, ${sentence.source}`))));
		}));

function drawCopies({ copies }, act) {
	const cell = (at) => (Number(at)
		? h('button', { onClick: () => act.seek(Number(at)) }, `event ${at}`)
		: '–');
	const heads = ['broker', 'appended', 'below its HW', 'now'];
	return h('div', { class: 'partition', key: 'copy-table' }, h('table', null,
		h('thead', null, h('tr', null, heads.map((name) => h('th', { key: name }, name)))),
		h('tbody', null, copies.map((copy) =>
			h('tr', { key: copy.node, testid: `passport-${copy.node}`,
				'data-holds': String(copy.holds) },
			h('th', null, copy.node),
			h('td', { key: 'a' }, cell(copy.appended)),
			h('td', { key: 'b' }, cell(copy.below)),
			h('td', { key: 'n' }, nowOf(copy)))))));
}

function nowOf(copy) {
	if (copy.holds) return copy.onDisk ? 'on disk' : copy.unpowered ? 'unsynced: lost?' : 'page cache';
	return Number(copy.gone) ? 'gone' : 'not here';
}
