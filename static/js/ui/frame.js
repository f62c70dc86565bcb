// What the frame remembers of the person: theme and layout; and which layout fits.

const VIEWER_BELOW = 900; // px
const DESK_FROM = 1600; // px
const root = document.documentElement;
const prefersLight = matchMedia('(prefers-color-scheme: light)');

/** What this browser was asked to keep; storage may be switched off. */
export function remembered(name) {
	try {
		return localStorage.getItem(name);
	} catch {
		return null;
	}
}

export function remember(name, value) {
	try {
		localStorage.setItem(name, value);
	} catch {
		// Without storage the choice lasts as long as the page.
	}
}

export function applyTheme() {
	const chosen = remembered('theme') || root.dataset.chosenTheme;
	root.dataset.theme = chosen || (prefersLight.matches ? 'light' : 'dark');
	const use = document.querySelector('#toggle-theme use');
	use?.setAttribute('href', `#icon-${root.dataset.theme === 'dark' ? 'sun' : 'moon'}`);
}

export function toggleTheme() {
	remember('theme', root.dataset.theme === 'dark' ? 'light' : 'dark');
	applyTheme();
}

export function applyLayout() {
	const width = window.innerWidth;
	const chosen = remembered('layout');
	const fits = width >= DESK_FROM ? 'work' : 'present';
	root.dataset.layout = width < VIEWER_BELOW ? 'viewer' : chosen || fits;
	return root.dataset.layout;
}

export function toggleLayout() {
	if (root.dataset.layout === 'viewer') return;
	remember('layout', root.dataset.layout === 'present' ? 'work' : 'present');
	applyLayout();
}

/** Calls back when the system's preference changes. @param {() => void} changed */
export const onPreference = (changed) => prefersLight.addEventListener('change', changed);
