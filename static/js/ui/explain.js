// Asks the server why, and for the passport of the followed record, whenever the moment shown has
// changed: there is one implementation of the answers, beside the recording.

import { fateOfTopic } from '../layout/where.js';
import { narrate } from '../model/narrate.js';
import { ask, worldPath } from './commands.js';

const AGAIN_MS = 600; // while everything runs

export function createExplain({ ui, session, scene }) {
	let askedAt = 0;
	let asked = '';
	let pending = false;
	let end = null; // of the topic of the followed record: the event, once it is deleted

	/** What the open tab shows, as a question; '' while it asks nothing. */
	function question() {
		const { focus } = scene();
		// The server explains what it recorded, which a trace file is not.
		if (!ui.inspector || !session.hasState || session.file) return '';
		const at = session.seq();
		if (ui.tab === 'why') {
			if (!focus) return '';
			const { of } = ui.why;
			const { topic, partition } = focus;
			return `why?${new URLSearchParams({ of, topic, partition, at })}`;
		}
		if (ui.tab !== 'passport' || !ui.follow) return '';
		const { topic, topicId, partition, offset, epoch, seq } = ui.follow;
		const wayUpTo = (last) =>
			`passport?${new URLSearchParams({ topic, partition, offset, epoch, at: last })}`;
		const fate = fateOfTopic(scene(), ui.follow);
		if (fate !== 'gone') end = null;
		if (fate === 'ahead') return '';
		if (!fate) return wayUpTo(at);
		// Under the name there may be another topic now: the way ended where this one was deleted. The
		// fragment is not sent; it tells the question from the same one that was asked before.
		if (end?.fields.topicId !== topicId) {
			end = session.deletionOf(topicId) ?? { fields: { topicId } };
		}
		return `${wayUpTo(end.seq ? Number(end.seq) - 1 : seq)}#deleted`;
	}

	/** @param {number} now */
	function tick(now) {
		const next = question();
		if (!next) asked = '';
		if (!next || next === asked || pending) return;
		const isSame = next.replace(/at=\d+/, '') === asked.replace(/at=\d+/, '');
		if (isSame && session.isMoving() && now - askedAt < AGAIN_MS) return;
		askedAt = now;
		asked = next;
		pending = true;
		answer(next).finally(() => {
			pending = false;
		});
	}

	async function answer(next) {
		const told = await ask(`${worldPath()}/${next}`);
		if (next.replace(/at=\d+/, '') !== question().replace(/at=\d+/, '')) return;
		const slot = next.startsWith('why') ? ui.why : ui.passport;
		slot.answer = told.ok ? told : null;
		slot.error = told.error;
		if (told.ok && slot === ui.passport && end) seal(told, end);
		ui.isDirty = true;
	}

	return { tick };
}

/** A record is gone with its topic, whatever it was before. */
function seal(passport, end) {
	const seq = end.seq ?? '0';
	const text = end.seq ? narrate(end) : 'Its topic was deleted.';
	Object.assign(passport, { fate: 'deleted with its topic', fateText: text, fateSeq: seq,
		notYet: [], copies: passport.copies.map((copy) => ({ ...copy, holds: false, gone: seq })) });
	if (end.seq) passport.steps.push({ seq, at: end.at, text, rule: '' });
}
