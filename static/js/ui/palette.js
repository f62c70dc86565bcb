// The command bar: any command of the command language, with the place of a mistake.

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

const part = (id) => document.getElementById(id);

/** @param {(command: string) => Promise<object>} run */
export function createPalette(run) {
	const bar = part('command-bar');
	const input = part('command');
	const past = [];
	let place = 0;

	drawIdeas(input);
	part('command-form').addEventListener('submit', async (event) => {
		event.preventDefault();
		const text = input.value.trim();
		if (!text) return;
		remember(text);
		const answer = await run(text);
		if (answer.ok) {
			bar.close();
			input.value = '';
		} else showError(text, answer);
	});
	input.addEventListener('input', () => {
		part('command-error').hidden = true;
	});
	input.addEventListener('keydown', (event) => {
		const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
		if (!by || !past.length) return;
		event.preventDefault();
		place = Math.min(past.length, Math.max(0, place + by));
		input.value = past[place] ?? '';
	});

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

function drawIdeas(input) {
	part('command-ideas').replaceChildren(
		...IDEAS.map(([name, command]) => {
			const item = document.createElement('li');
			const button = document.createElement('button');
			button.type = 'button';
			const code = document.createElement('code');
			code.textContent = command;
			const what = document.createElement('span');
			what.textContent = name;
			button.append(code, what);
			button.onclick = () => {
				input.value = command;
				input.focus();
			};
			item.append(button);
			return item;
		}),
	);
}
