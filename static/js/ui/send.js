// The send form: writes one record, or many, with the page's own producer.

import { word } from './commands.js';
import { part } from '../view/dom.js';

/** @param {(command: string) => Promise<object>} run
 *  @param {(record: {topic: string, key: string}) => void} onSent called before the answer,
 *    so that the record can be followed from its first moment */
export function bindSendForm(run, onSent) {
	part('send').addEventListener('submit', async (event) => {
		event.preventDefault();
		const topic = part('send-topic').value.trim();
		const key = part('send-key').value;
		const times = Math.max(1, Number(part('send-times').value) || 1);
		if (!topic) {
			part('send-topic').focus();
			return;
		}
		const words = ['send', word(topic)];
		if (key) words.push(`key=${word(key)}`);
		words.push(`value=${word(part('send-value').value)}`, `acks=${part('send-acks').value}`);
		if (times > 1) words.push(`times=${times}`);
		if (times === 1) onSent({ topic, key });
		const takeBack = countUp();
		const answer = await run(words.join(' '));
		if (!answer.ok) takeBack();
	});
}

/** order-3 becomes order-4, so that the next record has a name of its own, however long this one
 *  waits. @returns {() => void} undoes it in a field that nobody changed meanwhile */
function countUp() {
	const key = part('send-key');
	const [, word, digits] = /^(.*?)(\d+)$/.exec(key.value) ?? [];
	if (!digits) return () => {};
	const n = Number(digits);
	const changes = [change(key, key.value, `${word}${n + 1}`),
		change(part('send-value'), amount(n), amount(n + 1))];
	return () => changes.forEach((undo) => undo());
}

const amount = (n) => `{"id":${n},"amt":${n * 10}}`;

function change(field, from, to) {
	if (field.value !== from) return () => {};
	field.value = to;
	return () => change(field, to, from);
}

/** The topic in focus is the one that the form writes to, unless somebody typed another. */
export function offerTopic(name) {
	const field = part('send-topic');
	if (!name || document.activeElement === field || field.dataset.offered === name) return;
	if (!field.dataset.offered || field.value === field.dataset.offered) field.value = name;
	field.dataset.offered = name;
}
