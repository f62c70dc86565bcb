// The keys. Everything that can be clicked can be done without a mouse.

import { linkCommand } from '../view/wires.js';

const GRAINS = ['event', 'request', 'step'];

export function bindKeys({ act, session, ui, scene }) {
	const lever = (word) => () => {
		if (ui.broker !== null) act.command(`${word} ${ui.broker}`);
	};
	const keys = {
		' ': () => session.toggle(),
		ArrowRight: () => session.step(),
		ArrowLeft: () => session.back(),
		l: () => session.live(),
		s: act.write,
		f: act.followPicked,
		i: act.toggleInspector,
		t: act.toggleTimeline,
		p: act.toggleLayout,
		d: act.toggleTheme,
		k: lever('kill'),
		u: lever('power-cut'),
		r: lever('restart'),
		x: () => cutLink(act, ui, scene()),
		n: act.nextStep,
		b: act.stepBack,
		g: () => act.setGrain(GRAINS[(GRAINS.indexOf(session.grain) + 1) % GRAINS.length]),
		m: act.toggleLibrary,
		e: act.toggleSide,
		o: act.openTrace,
		w: act.toggleFollowing,
		'/': act.openPalette,
		'?': act.toggleLegend,
		Escape: () => act.skipStory() || (ui.inspector && act.toggleInspector()),
	};
	for (let i = 0; i < 9; i += 1) keys[String(i + 1)] = () => act.pickBroker(i);

	addEventListener('click', leaveClicked, true);
	addEventListener('keydown', (event) => {
		if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			act.openPalette();
			return;
		}
		if (isMeantForElse(event)) return;
		const action = keys[event.key] ?? keys[event.key.toLowerCase()];
		if (!action) return;
		event.preventDefault();
		action();
	});
}

/** Keys belong to a field that is typed into, to a button that is pressed, to a dialog. */
function isMeantForElse(event) {
	if (event.ctrlKey || event.metaKey || event.altKey) return true;
	if (document.querySelector('dialog[open]')) return true;
	const { target } = event;
	if (!(target instanceof Element)) return false;
	if (target.matches('input[type="range"]')) return event.key.startsWith('Arrow');
	if (target.matches('input, select, textarea')) {
		if (event.key === 'Escape') target.blur();
		return true;
	}
	return event.key === ' ' && target.matches('button');
}

/** A button that was clicked does not keep the keys: space then is time's. */
function leaveClicked({ detail, target }) {
	if (detail) target.closest?.('button')?.blur();
}

/** The first link of the picked broker that can be cut; or a cut one, to heal it. */
function cutLink(act, ui, scene) {
	if (ui.broker === null) return;
	const others = scene.brokers.map((node) => node.id).filter((id) => id !== ui.broker);
	const leader = scene.focus?.leader;
	const other = others.includes(leader) ? leader : others[0];
	if (!other) return;
	const [a, b] = [ui.broker, other].sort((x, y) => x - y);
	act.command(linkCommand(scene, a, b));
}
