// The command bar: any command of the command language, with what it could become while it is
// written, and with the place of a mistake.

import { ask, worldPath } from './commands.js';
import { part } from '../view/dom.js';

const KEPT = 30;

const IDEAS = [
	['create a topic', 'topic orders partitions=3 rf=3'],
	['write a record', 'send orders key=order-1 value=hello acks=all'],
	['kill a broker', 'kill 1'],
	['cut a link', 'cut 1-2'],
	['delay a link', 'delay 1-3 15ms'],
	['break a disk', 'disk 2 full'],
	['heal every link', 'heal all'],
];

/** @param {(command: string) => Promise<object>} run
 *  @param {(command: string, answer: object) => void} tell what came of it */
export function createPalette(run, tell) {
	const bar = part('command-bar');
	const input = part('command');
	const past = [];
	let place = 0;

	let words = []; // what the last word of `asked` could become
	let asked = '';

	draw(IDEAS.map(([name, command]) => ({ word: command, what: name })), put);
	part('command-form').addEventListener('submit', async (event) => {
		event.preventDefault();
		const text = input.value.trim();
		if (!text) return;
		remember(text);
		const answer = await run(text);
		if (answer.ok) {
			bar.close();
			put('');
			tell(text, answer);
		} else showError(text, answer);
	});
	input.addEventListener('input', help);
	input.addEventListener('keydown', (event) => {
		if (event.key === 'Tab' && !event.shiftKey && input.value) {
			event.preventDefault(); // as in a shell; Shift and Tab lead to the list
			finish();
			return;
		}
		const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
		if (!by || !past.length) return;
		event.preventDefault();
		place = Math.min(past.length, Math.max(0, place + by));
		put(past[place] ?? '');
	});

	function put(text) {
		input.value = text;
		input.focus();
		help();
	}

	async function finish() {
		if (asked !== input.value) await help();
		if (words.length && asked === input.value) complete(shared(words));
	}

	/** Replaces the last word; one that needs nothing more is followed by a space. */
	function complete(word) {
		const begin = input.value.search(/\S*$/);
		const isWhole = words.includes(word) && !word.endsWith('=');
		put(input.value.slice(0, begin) + word + (isWhole ? ' ' : ''));
	}

	/** Asks what the line could become; an answer that comes too late is passed over. */
	async function help() {
		part('command-error').hidden = true;
		const line = input.value;
		const answer = line && await ask(`${worldPath()}/help?line=${encodeURIComponent(line)}`);
		if (line !== input.value) return;
		asked = line;
		words = answer?.words?.map(({ word }) => word) ?? [];
		const { usage = '', what = '' } = answer || {};
		part('command-usage').textContent = usage && `${usage}  ·  ${what}`;
		if (line) draw(answer.words ?? [], complete);
		else draw(IDEAS.map(([name, command]) => ({ word: command, what: name })), put);
	}

	function remember(text) {
		if (past.at(-1) !== text) past.push(text);
		if (past.length > KEPT) past.shift();
		place = past.length;
	}

	return {
		open() {
			part('command-error').hidden = true;
			if (!bar.open) bar.showModal();
			input.select();
			input.focus();
		},
		isOpen: () => bar.open,
	};
}

/** The command again, with a mark under the place where it went wrong. */
function showError(text, { error, position, hint }) {
	const hasPlace = Number.isInteger(position) && position >= 0 && position <= text.length;
	part('command-where').textContent = hasPlace ? `${text}\n${' '.repeat(position)}^` : text;
	part('command-what').textContent = error;
	part('command-hint').textContent = hint ?? '';
	part('command-error').hidden = false;
}

/** The longest beginning that all words have. */
function shared(words) {
	let end = words[0].length;
	for (const word of words) while (!word.startsWith(words[0].slice(0, end))) end -= 1;
	return words[0].slice(0, end);
}

/** @param {{word: string, what: string}[]} ideas @param {(word: string) => void} take */
function draw(ideas, take) {
	part('command-ideas').replaceChildren(
		...ideas.map(({ word, what }) => {
			const item = document.createElement('li');
			const button = document.createElement('button');
			button.type = 'button';
			const code = document.createElement('code');
			code.textContent = word;
			const text = document.createElement('span');
			text.textContent = what;
			button.append(code, text);
			button.onclick = () => take(word);
			item.append(button);
			return item;
		}),
	);
}
