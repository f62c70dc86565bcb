// Asks the server why, and for the passport of the followed record, whenever the moment shown has
// changed: there is one implementation of the answers, beside the recording.

import { fateOfTopic } from '../layout/where.js';
import { ask, worldPath } from './commands.js';

const AGAIN_MS = 600; // while everything runs

export function createExplain({ ui, session, scene }) {
	let askedAt = 0;
	let asked = '';
	let pending = false;

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
		if (fateOfTopic(scene(), ui.follow) === 'ahead') return '';
		const { topic, topicId, partition, offset, epoch } = ui.follow;
		return `passport?${new URLSearchParams({ topic, topicId, partition, offset, epoch, at })}`;
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
		ui.isDirty = true;
	}

	return { tick };
}
