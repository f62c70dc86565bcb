// The controls that the server drew: levers, transport, filters and dialogs.

import { part } from '../view/dom.js';

const DOUBLE_CLICK_MS = 600;

export function bindControls({ act, session, command }) {
	bindLevers(act.command);
	bindTransport(session, command);
	bindGrains(act);
	bindEvents(act);
	part('toggle-theme').onclick = act.toggleTheme;
	part('toggle-layout').onclick = act.toggleLayout;
	part('toggle-inspector').onclick = act.toggleInspector;
	part('toggle-timeline').onclick = act.toggleTimeline;
	part('open-legend').onclick = act.toggleLegend;
	part('open-command').onclick = act.openPalette;
	part('close-legend').onclick = () => part('legend').close();
	part('open-trace').onclick = act.openTrace;
	part('open-library').onclick = act.toggleLibrary;
	for (const button of document.querySelectorAll('[data-open="library"]')) {
		button.onclick = act.toggleLibrary;
	}
	for (const button of document.querySelectorAll('[data-close]')) {
		button.onclick = () => button.closest('dialog').close();
	}
	part('create-topic').onclick = () => act.command('topic orders partitions=3 rf=3');
	for (const dialog of document.querySelectorAll('dialog')) {
		dialog.addEventListener('click', (event) => {
			if (event.target === dialog) dialog.close();
		});
	}
}

/** A lever's command is its own word, or the one that its node's state gave it. Where a node's wide
 *  lever was, others come that harm it: the second half of a double click is none of theirs. */
function bindLevers(command) {
	const restarted = {}; // when, by node
	for (const lever of document.querySelectorAll('[data-lever]')) {
		lever.onclick = ({ timeStamp }) => {
			const { node } = lever.dataset;
			const word = lever.dataset.command ?? lever.dataset.lever;
			if (timeStamp - restarted[node] < DOUBLE_CLICK_MS) return;
			if (word === 'restart') restarted[node] = timeStamp;
			command(`${word} ${node}`);
		};
	}
}

function bindTransport(session, command) {
	part('move-pause').onclick = () => session.pause();
	part('move-play').onclick = () => session.play();
	part('move-step').onclick = () => session.step();
	part('move-back').onclick = () => session.back();
	part('live').onclick = () => session.live();
	part('seek').oninput = (event) => session.seek(Number(event.target.value));
	for (const button of part('speeds').children) {
		button.onclick = () => command(button.dataset.speed);
	}
}

function bindGrains(act) {
	for (const button of part('grains').children) {
		button.onclick = () => act.setGrain(button.dataset.grain);
	}
}

function bindEvents(act) {
	part('event-filter').oninput = (event) => act.filterEvents(event.target.value);
	for (const button of part('event-class').children) {
		button.onclick = () => {
			for (const other of part('event-class').children) {
				other.classList.toggle('on', other === button);
				other.setAttribute('aria-checked', String(other === button));
			}
			act.showEvents(button.dataset.class);
		};
	}
}
