// A lesson's page before there is a world for it: opens one, and goes there.

import { ask, meta, open } from './commands.js';
import { applyLayout, applyTheme } from './frame.js';

applyTheme();
applyLayout();

const note = document.getElementById('lesson-note');
note.hidden = false;
if (!meta('token')) {
	note.textContent = 'Only a presenter can start a lesson; follow the link to one that runs.';
} else {
	note.textContent = 'Starting a cluster for this lesson …';
	const answer = await ask('/api/lessons', { scenario: meta('lesson') });
	if (answer.ok) open(answer.page, { instead: true });
	else note.textContent = `The lesson did not start: ${answer.error}`;
}
