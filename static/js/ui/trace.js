// Trace files: one that is dropped on the page, or picked, is shown instead of the cluster.

import { filmOf } from '../model/recorded.js';
import { readTrace } from '../source/file.js';
import { part, setText } from '../view/dom.js';

const BYTES_MOST = 512 << 20;
const REASON = 'A trace file takes no commands';
const CONTROLS = '[data-lever], #send input, #send select, #send button, #speeds button, ' +
	'#create-topic';

const breathe = () => new Promise((resolve) => setTimeout(resolve));

/** @param {{showFile: (file: object, film: object) => object[], toast: Function}} page showFile
 *    gives the nodes that the film ends with */
export function bindTraceFile({ showFile, toast }) {
	let isReading = false;

	/** @param {File} file */
	async function take(file) {
		if (!file || isReading) return;
		isReading = true;
		part('app').dataset.reading = 'true';
		try {
			if (file.size > BYTES_MOST) {
				throw new Error(`${megabytes(file.size)}; a page takes ${megabytes(BYTES_MOST)} at most`);
			}
			const trace = await readTrace(file);
			if (!trace.events.length) throw new Error('line 2: the trace holds no events');
			const film = await filmOf(trace, breathe);
			const { software, seed } = trace.header;
			const { complete, violations } = trace;
			drawNodes(showFile({ name: file.name, software, seed, complete, violations }, film));
			drawBanner(file.name, trace);
		} catch (problem) {
			toast(`${file.name} cannot be shown`, `${capital(problem.message)}.`);
		}
		delete part('app').dataset.reading;
		isReading = false;
	}

	const picker = part('trace-file');
	part('trace-open').onclick = () => picker.click();
	picker.onchange = () => {
		part('trace').close();
		take(picker.files[0]);
		picker.value = ''; // so that the same file can be picked again
	};
	part('film-leave').onclick = () => location.reload();
	bindDrop(take);
}

function bindDrop(take) {
	const holdsFile = (event) => event.dataTransfer?.types.includes('Files');
	const mark = (isOver) => {
		part('app').classList.toggle('drop', isOver);
	};
	addEventListener('dragover', (event) => {
		if (!holdsFile(event)) return;
		event.preventDefault();
		event.dataTransfer.dropEffect = 'copy';
		mark(true);
	});
	addEventListener('dragleave', (event) => {
		if (!event.relatedTarget) mark(false);
	});
	addEventListener('drop', (event) => {
		if (!holdsFile(event)) return;
		event.preventDefault();
		mark(false);
		for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
		take(event.dataTransfer.files[0]);
	});
}

function drawBanner(name, { header, events, complete, keyframe }) {
	const count = events.length.toLocaleString('en');
	const whole = complete ? `${count} events` : `only the first ${count} events`;
	setText(part('film-name'), name);
	const { seq } = events[0];
	const isHeadless = !keyframe && Number(seq) > 1;
	const verdict = isHeadless ? ` · begins at event ${seq}, and the state before it is missing`
		: header.judged ? '' : ` · not judged here: highwater trace check ${name}`;
	setText(part('film-facts'),
		`Highwater ${header.software} · seed ${header.seed} · ${whole}${verdict}`);
	part('film-banner').hidden = false;
	const { dataset } = part('app');
	dataset.side = 'events';
	dataset.film = 'file';
	delete dataset.lesson;
	part('lesson-skip').hidden = true;
	part('live').lastChild.data = 'End';
	part('live').title = 'To the last event (L)';
}

/** The server drew the boxes of the cluster's own nodes; the film may have others. */
function drawNodes(nodes) {
	for (const box of document.querySelectorAll('#pool > [data-node]')) {
		box.hidden = !nodes.some((node) => `${node.role}-${node.id}` === box.id);
	}
	for (const { role, id } of nodes) {
		const like = document.querySelector(`#pool > [id^="${role}-"]`);
		if (!like || part(`${role}-${id}`)) continue;
		const box = like.cloneNode(true);
		const before = like.dataset.node;
		box.hidden = false;
		box.id = `${role}-${id}`;
		for (const each of [box, ...box.querySelectorAll('[data-node], [data-testid]')]) {
			if (each.dataset.node) each.dataset.node = id;
			const { testid } = each.dataset;
			if (testid) each.dataset.testid = testid.replace(`-${before}`, `-${id}`);
		}
		box.setAttribute('aria-label', `${capital(role)} ${id}`);
		setText(box.querySelector('.number, .hexagon b'), String(id));
		like.after(box);
	}
	for (const control of document.querySelectorAll(CONTROLS)) {
		control.disabled = true;
		control.title = REASON;
	}
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const megabytes = (bytes) => `${Math.round(bytes / (1 << 20))} MB`;
