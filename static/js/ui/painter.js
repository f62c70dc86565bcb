// What is drawn, and when. It reads sizes only when they change, and gives each part of
// the page to the module that draws it.

import { shortOffset } from '../layout/format.js';
import { stageGeometry } from '../layout/geometry.js';
import { offsetScale } from '../layout/scale.js';
import { spacetime, windowOf } from '../layout/spacetime.js';
import { meaningOf, whyNotYet } from '../layout/where.js';
import { drawChain, drawNodes, drawPipes } from '../view/brokers.js';
import { drawReaders } from '../view/clients.js';
import { part, patch, setText } from '../view/dom.js';
import * as frame from '../view/frame.js';
import { drawInspector } from '../view/inspector.js';
import { drawProducers } from '../view/producers.js';
import { drawTank, isCrowded } from '../view/tank.js';
import { drawFlag, drawTide } from '../view/tide.js';
import { createTokens } from '../view/tokens.js';
import { drawTimeline } from '../view/timeline.js';
import { drawEvents, drawPins, drawTransport, slowness } from '../view/transport.js';
import { drawSnips, drawWires } from '../view/wires.js';
import { isPresenter } from './commands.js';
import { offerTopic } from './send.js';

const STAGE_EVERY_MS = 33;
const LISTS_EVERY_MS = 240;
const LIST_IN_A_RUSH = 30; // events of the list while nobody can read them anyway
const LOW = 30; // rem of stage height
const SAY_EVERY_MS = 1100; // while everything runs: time to read one sentence
const root = document.documentElement;

export function createPainter({ ui, act, session, flying, scene: currentScene }) {
	const tokens = createTokens(part('flights'));
	const size = observeSizes(() => {
		ui.isDirty = true;
	});
	const painter = { topic: null, partition: 0, paint, light };
	let diagram = { key: '', drawing: null };
	let geometry = null;
	let composed = '';
	let drawnAt = 0;
	let listedAt = 0;
	let listedFor = '';
	let listedOf = null;
	let saidAt = 0;
	let isHeld = false; // a sentence waits until the one before it has been read
	let wired = '';

	/** Everything that is due now. @param {number} now */
	function paint(now) {
		const links = flying.links(now);
		const wiring = `${[...links.busy]}|${[...links.flood]}`;
		const isDue = session.isDirty || ui.isDirty || wiring !== wired;
		if (isDue && size.pool && now - drawnAt >= STAGE_EVERY_MS) {
			drawnAt = now;
			wired = wiring;
			session.isDirty = false;
			ui.isDirty = false;
			draw(links);
		}
		if (now - listedAt >= LISTS_EVERY_MS) {
			listedAt = now;
			drawLists(now);
		}
		drawTokens(now);
	}

	function draw(links) {
		const scene = currentScene();
		painter.topic = ui.topic;
		painter.partition = ui.partition;
		compose(scene);
		const scale = scene.focus
			? offsetScale(scene.focus, {
					height: geometry.tank.height,
					unit: size.unit,
					headroom: geometry.shape.headroom,
				})
			: null;
		ui.isPast = session.isPast();
		const { hasState } = session;
		const mayAct = isPresenter() && !session.file;
		const looksOnly = !isPresenter();
		const view = { mayAct, looksOnly, scene, geometry, scale, ui, act, hasState, ...links };
		const now = session.seq();
		view.broken = [...session.violations.keys()].filter((seq) => seq <= now).length;
		view.belief = ui.follow ? session.beliefOf(ui.follow) : '';
		view.isCrowded = Boolean(scene.focus) && isCrowded(view);
		part('app').dataset.inspector = ui.inspector ? 'open' : 'shut';
		part('pool').classList.toggle('past', ui.isPast);
		part('pool').classList.toggle('short', geometry.short);
		part('pool').classList.toggle('rushing', links.isRush && !ui.isPast);
		drawStage(view);
		drawFrame(view);
		patch(part('inspector'), ui.inspector ? drawInspector(view) : null);
		drawTransport(filmOf(session, scene));
		drawDiagram(scene);
		drawConnection(session);
		offerTopic(scene.focus?.topic);
	}

	/** Columns move only when the stage changes its size or somebody comes or goes. */
	function compose(scene) {
		const narrow = root.dataset.layout === 'viewer';
		const stage = {
			...size.pool,
			unit: size.unit,
			narrow,
			short: isShort(),
			producers: scene.producers.map(({ id, isNamed, lines }) => ({ id, isNamed, lines })),
			hasForm: part('app').dataset.lesson !== 'steps',
			brokers: scene.brokers.map((node) => node.id),
			controllers: scene.controllers.map((node) => node.id),
			readers: (narrow ? scene.readers.filter((client) => client === scene.reader)
				: scene.readers).map((client) => client.id),
			pipes: scene.pipes.length,
			digits: shortOffset(scene.focus?.live ?? 0).length,
		};
		const now = JSON.stringify(stage);
		if (now === composed) return;
		composed = now;
		geometry = stageGeometry(stage);
		const form = part('send');
		form.style.transform = `translateX(${geometry.producers.x}px)`;
		form.style.width = `${geometry.producers.width}px`;
	}

	/** A high stage has room for the diagram and for everything else. */
	function isShort() {
		const { layout } = root.dataset;
		return ui.timeline && layout !== 'viewer' &&
			(layout === 'present' || size.pool.height < LOW * size.unit);
	}

	/** The diagram is drawn anew with the panels; what it is made of only when it has changed. */
	function drawDiagram(scene) {
		const box = part('timeline');
		part('app').dataset.timeline = ui.timeline ? 'open' : 'shut';
		box.hidden = !ui.timeline;
		if (!ui.timeline || !session.hasState) return;
		const { film } = session;
		const seq = session.seq();
		const key = [session.begin, film.first, film.last, seq, scene.focus?.name,
			ui.follow?.offset].join('/');
		if (key !== diagram.key) {
			const { from, to } = windowOf(film, seq, session.begin);
			const events = film.events(from, to);
			diagram = { key, drawing: spacetime(scene, events, seq, ui.follow) };
		}
		const left = part('scrubber').getBoundingClientRect().left - box.getBoundingClientRect().left;
		const place = { left, width: size.track, unit: size.unit, first: film.first, last: film.last,
			seq, lit: ui.lit?.seq };
		patch(box, drawTimeline(diagram.drawing, place, act));
	}

	/** Marks one event wherever it is drawn: in the diagram, on the stage, in the list. */
	function light() {
		const { seq, flight } = ui.lit ?? {};
		for (const node of document.querySelectorAll('.arrow, .event')) {
			node.classList.toggle('lit', Number(node.dataset.seq) === seq);
		}
		const arrow = diagram.drawing?.arrows.find((a) => a.seq === seq);
		tokens.light(flight || arrow?.flight);
	}

	function drawTokens(now) {
		if (!geometry) return;
		const scene = currentScene();
		const isStanding = session.isPast() || session.pace.paused;
		tokens.show(flying.travellers(now, scene, ui.follow, isStanding, geometry, session.film),
			geometry);
	}

	function drawLists(now) {
		const moment = `${session.seq()}/${session.film.first}`;
		const most = flying.links(now).isRush && !session.isPast() ? LIST_IN_A_RUSH : undefined;
		const key = [moment, session.isTold, session.toldFrom, session.begin, ui.topic,
			ui.eventClass, ui.filter, size.track, most, session.violations.size].join();
		if ((key === listedFor && session.film === listedOf) || !session.hasState) {
			if (isHeld) drawSaying(now);
			return;
		}
		listedFor = key;
		listedOf = session.film;
		const { eventClass, filter } = ui;
		const { first } = session.film;
		const none = first > 1
			? `Nothing of this sort since event ${first}; what was before is not loaded.`
			: 'Nothing happened yet.';
		const nothing = filter ? 'Nothing that fits.' : none;
		drawEvents(session.list({ eventClass, filter, most }), session.seq(), act, nothing);
		drawSaying(now);
		drawPins(session.pins, filmOf(session, currentScene()), size.track || 1, act);
	}

	function drawSaying(now) {
		// Where a person steps, each step is read out; a live stream would never stop talking.
		const isStill = !session.isFilm() && (session.isPast() || session.pace.paused);
		isHeld = !isStill && now - saidAt < SAY_EVERY_MS;
		if (isHeld) return;
		saidAt = now;
		const scene = currentScene();
		const saying = session.saying(scene.focus);
		const meaning = saying ? meaningOf(scene, saying.event, ui.follow) : '';
		const waiting = meaning || (ui.follow ? whyNotYet(scene, ui.follow) : '');
		patch(part('say'), frame.drawSay(saying, waiting));
		if (isStill && saying) setText(part('announcer'), saying.text);
	}

	return painter;
}

function drawStage(view) {
	const { scene, geometry } = view;
	drawNodes(view);
	frame.drawNotice(noticeOf(scene, view));
	part('pool').classList.toggle('empty', !scene.focus);
	patch(part('chart'), [
		scene.focus && drawTide(view),
		drawWires(view),
		drawProducers(view),
		scene.focus && [
			scene.brokers.map((node) => drawTank(view, node)),
			geometry.pipes > 0 && scene.brokers.map((node) => drawPipes(view, node)),
			drawFlag(view),
			drawChain(view),
			drawReaders(view),
		],
	]);
	patch(part('front'), geometry.narrow || !view.mayAct ? null : drawSnips(view));
}

let chosenTab = null; // which is scrolled to once, and then left where people scroll it

function drawFrame(view) {
	patch(part('vitals'), frame.drawVitals(view));
	frame.drawTopics(part('topic'), view);
	patch(part('tabs'), frame.drawTabs(view));
	const tab = part('tabs').querySelector('.on');
	if (tab !== chosenTab) tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
	chosenTab = tab;
	patch(part('reign'), frame.drawReign(view));
	patch(part('settings'), frame.drawSettings(view));
	patch(part('where'), frame.drawWhere(view));
}

function noticeOf(scene, { hasState, mayAct }) {
	if (!hasState) {
		const text = 'The picture appears with the first event.';
		return { title: 'Connecting to the cluster', text };
	}
	if (scene.focus) return null;
	if (part('app').dataset.lesson === 'steps') {
		const text = 'The cluster is up and holds no records. N runs the first step.';
		return { title: 'The lesson begins', text };
	}
	return {
		title: 'No topics yet',
		text: 'The cluster is up and holds no records.' +
			(mayAct ? ' Create a topic to see its logs.' : ''),
		canCreate: mayAct,
	};
}

function filmOf(session, scene) {
	const { film, pace } = session;
	const speed = pace.mode === 'slow' ? `slow ${slowness(pace)}` : 'live';
	return {
		first: session.first(),
		last: film.last,
		seq: session.seq(),
		at: scene.at,
		isLive: !session.isPast(),
		isMoving: session.isMoving(),
		isFile: Boolean(session.file),
		pace,
		speed,
		grain: session.grain,
		skipped: film.gaps.reduce((sum, gap) => sum + gap.to - gap.from + 1, 0),
	};
}

const STATUS_WORDS = {
	connecting: 'connecting',
	open: 'connected',
	reconnecting: 'reconnecting',
	closed: 'disconnected',
	file: 'trace file',
};

function drawConnection(session) {
	const app = part('app');
	if (app.dataset.connection !== session.status) app.dataset.connection = session.status;
	if (session.hasState) app.removeAttribute('data-blank');
	setText(part('connection-text'), STATUS_WORDS[session.status] ?? session.status);
}

/** Sizes are read only when they change, never while drawing. A new size is drawn at once:
 *  only facts move, not the layout. */
function observeSizes(changed) {
	const size = { unit: 16, pool: null, track: 0 };
	const pool = part('pool');
	const observer = new ResizeObserver(() => {
		size.unit = parseFloat(getComputedStyle(root).fontSize);
		size.pool = { width: pool.clientWidth, height: pool.clientHeight };
		size.track = part('scrubber').clientWidth;
		pool.classList.add('resizing');
		changed();
		requestAnimationFrame(() => requestAnimationFrame(() => pool.classList.remove('resizing')));
	});
	observer.observe(pool);
	observer.observe(part('scrubber'));
	return size;
}
