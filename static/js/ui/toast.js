// Short messages at the edge of the screen, for commands that failed.

const STAYS_MS = 7000;
const MOST = 4;

/** @param {HTMLElement} list */
export function createToasts(list) {
	/** @param {string} title @param {string} [detail] @param {'alarm'|'calm'} [level] */
	return function toast(title, detail = '', level = 'alarm') {
		const item = document.createElement('li');
		item.className = `toast ${level}`;
		item.dataset.testid = 'toast';
		const head = document.createElement('b');
		head.textContent = title;
		item.append(head);
		if (detail) {
			const text = document.createElement('span');
			text.textContent = detail;
			item.append(text);
		}
		const close = document.createElement('button');
		close.type = 'button';
		close.className = 'close';
		close.setAttribute('aria-label', 'Close this message');
		close.textContent = '×';
		close.onclick = () => item.remove();
		item.append(close);
		list.append(item);
		while (list.children.length > MOST) list.firstElementChild.remove();
		setTimeout(() => item.remove(), STAYS_MS);
	};
}
