// The first visit begins with a story: a lesson that plays by itself for a minute.

import { ask, meta, open } from './commands.js';
import { remember, remembered } from './frame.js';

const FLAG = 'visited';

/** Starts the story on the very first visit; whoever asks for a world by its name gets that one. */
export async function beginStory() {
	const isBare = location.pathname === '/' && !new URLSearchParams(location.search).has('world');
	if (!isBare || !meta('story') || !meta('token') || remembered(FLAG)) return;
	remember(FLAG, 'yes');
	if (!remembered(FLAG)) return; // nothing can be kept here: the story would come every time
	const answer = await ask('/api/lessons', { scenario: meta('story') });
	if (answer.ok) open(`${answer.page}&story=1`, { instead: true });
}
