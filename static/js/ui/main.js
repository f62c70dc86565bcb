// The page: one place that holds what the person chose, one loop that draws it.

import { isOf, sceneOf, recordAt } from '../layout/scene.js';
import { holds } from '../layout/where.js';
import { ask, isPresenter, meta, readBatch, runCommand, worldPath } from './commands.js';
import { createFlying } from './flying.js';
import { applyLayout, applyTheme, onPreference, toggleLayout, toggleTheme } from './frame.js';
import { bindKeys } from './keys.js';
import { createPalette } from './palette.js';
import { bindSendForm } from './send.js';
import { createSession } from './session.js';
import { createPainter } from './painter.js';
import { createToasts } from './toast.js';
import { bindControls } from './controls.js';
import { createLesson } from './lesson.js';
import { createRoom } from './room.js';
import { beginStory } from './story.js';
import { createExplain } from './explain.js';
import { bindTraceFile } from './trace.js';
import { part } from '../view/dom.js';

const FOLLOW_WITHIN_MS = 10_000; // how long a sent record may take to show up
const NO_WHY = 'The server explains its own recording; a trace file it has not read.';
const NO_BYTES = 'A trace file tells of this batch, but does not hold its bytes.';

const still = matchMedia('(prefers-reduced-motion: reduce)');

const ui = {
	topic: null,
	partition: 0,
	select: null, // { node, offset, epoch, topicId }
	follow: null,
	reader: '', // who was put on the stage, of the readers and of the producers
	producer: '',
	expected: null, // a record that the form just sent, and that will be followed
	broker: null, // the picked one, for K U R X
	tab: 'batch',
	field: 2,
	inspector: false,
	batch: { status: 'none' },
	why: { of: 'hw', answer: null, error: '' },
	passport: { answer: null, error: '' },
	timeline: false,
	lit: null, // the event that the pointer is on in the diagram or in the list
	eventClass: 'fact',
	filter: '',
	isDirty: true,
};

const toast = createToasts(part('toasts'));
const flying = createFlying(still);

const mayAct = () => isPresenter() && !session.file;

/** Enough of a command to know it by: a value may be long, and the reason comes behind it. */
const brief = (text) => (text.length > 90 ? `${text.slice(0, 90)}…` : text);

/** A trace file only shows what was; a viewer's keys do nothing, so nothing is said either. */
async function run(text) {
	if (mayAct()) return runCommand(text);
	if (!session.file) return { ok: false, error: '' };
	return { ok: false, error: 'a trace file takes no commands.',
		hint: 'Back to the cluster, above the stage, leads to where they run.' };
}

async function command(text) {
	const answer = await run(text);
	if (answer.error) toast(`${brief(text)}: ${answer.error}`, answer.hint);
	return answer;
}

/** What is done is done now, and is looked at there: in the past nothing of it would be seen. */
function goToNow() {
	if (session.isPast() && !session.lesson && mayAct()) session.live();
}

function perform(text) {
	goToNow();
	return command(text);
}

/** What a command of the bar found: a question is answered in its panel, the rest in a message. */
function tell(text, { result }) {
	const [, of, topic, partition] = /^why +(\w+) +(\S+)-(\d+)$/.exec(text) ?? [];
	if (of) {
		act.turnTo(topic, Number(partition));
		act.why(of);
		return;
	}
	goToNow();
	if (result?.text) toast(brief(text), result.text, 'calm');
}

const session = createSession({
	world: worldPath(),
	token: isPresenter() ? '' : meta('viewer-token'),
	mayAct,
	command,
	onRoom: (frame) => room.take(frame),
	onViolations(broken) {
		for (const { seq, promise, text } of broken) {
			toast(promise, `Event ${seq}: ${text}`);
		}
	},
	onEvents(events) {
		forget();
		expect(events);
		flying.take(events, currentScene(), ui.follow, performance.now());
	},
	onArrived(events) {
		if (session.hold) expect(events); // it is followed on its way, and not only from the log on
		lesson?.onArrived(events);
	},
	onStatus(status) {
		if (status === 'connecting') return;
		// This page's token may have ended with the program that gave it: then the server says so.
		if (session.hasState) ask(`${worldPath()}/help`);
		room.renew();
		lesson?.onStatus();
	},
});

/** The record that the form sent is followed as soon as an event describes it. */
function expect(events) {
	const { expected } = ui;
	if (!expected) return;
	if (performance.now() > expected.until) ui.expected = null;
	for (const { event, seq, fields } of events) {
		if (event !== 'RecordDescribed' || fields.key !== expected.key) continue;
		if (expected.topic !== null && fields.topic !== expected.topic) continue;
		const offset = Number(fields.offset);
		ui.expected = null;
		const { topic, partition, key } = fields;
		ui.topic = topic;
		ui.partition = partition;
		forget();
		const { focus } = sceneOf(session.film.head(), ui);
		if (focus?.topic !== topic) return; // deleted before it was seen
		const epoch = recordAt(focus, offset)?.epoch ?? 0;
		ui.follow = followed(focus, { offset, epoch, key }, Number(seq));
		return;
	}
}

/** A lesson's hero is followed where the logs already hold it, as after a reload. */
function expectHero() {
	if (ui.expected?.until !== Infinity || !session.hasState) return;
	const { topic, partition: at } = ui;
	for (const { name, partitions } of currentScene().topics) {
		for (const { partition, described } of partitions) {
			const found = described.find(({ key }) => key === ui.expected.key);
			if (!found) continue;
			set({ topic: name, partition, expected: null });
			forget();
			const entry = { offset: Number(found.offset), epoch: found.epoch, key: found.key };
			ui.follow = followed(currentScene().focus, entry, session.seq());
			if (topic) set({ topic, partition: at }); // the lesson has turned to another
			return;
		}
	}
}

/** Who made the followed record may stand in events that came in after it, as after a reload. */
function findMaker() {
	const { follow } = ui;
	if (!follow || follow.maker || soughtFrom === session.film.first) return;
	const { focus } = currentScene();
	if (!isOf(focus, follow)) return;
	soughtFrom = session.film.first;
	const maker = session.makerOf(batchAt(focus, follow.offset, follow.epoch), focus);
	if (maker) set({ follow: { ...follow, maker } });
}

/** A record to follow, with what tells it from others at its place: the id of its topic, and an
 *  event at which it was there. */
function followed(focus, { offset, epoch, key, batch = batchAt(focus, offset, epoch) }, seq) {
	const { topic, topicId, partition } = focus;
	const maker = session.makerOf(batch, focus);
	return { topic, topicId, partition, offset, epoch, key, seq, maker };
}

const batchAt = (focus, offset, epoch) =>
	[...focus.copies.values()].flatMap((copy) => [...copy.batches, ...copy.everCut])
		.find((batch) => batch.epoch === epoch && batch.base <= offset && offset <= batch.last);

let soughtFrom = -1; // the first event when a maker was looked for last
let known = null; // the scene of the moment, until something changes
const forget = () => {
	known = null;
};
function currentScene() {
	if (known) return known;
	known = sceneOf(session.hasState ? session.state() : {}, ui);
	// What was picked went with its topic, though there may be another of that name.
	if (ui.select && known.focus && ui.select.topicId !== known.focus.topicId) {
		set({ select: null, batch: { status: 'none' } });
	}
	return known;
}

function set(change) {
	Object.assign(ui, change);
	ui.isDirty = true;
}

const act = {
	command: perform,
	select(entry) {
		const select = { ...entry, topicId: currentScene().focus?.topicId };
		set({ select, tab: 'batch', inspector: !isViewer() });
		if (!isViewer()) loadBatch(select);
	},
	follow(entry) {
		const { focus } = currentScene();
		set({ follow: followed(focus, entry, session.seq()), expected: null,
			passport: { answer: null, error: session.file ? NO_WHY : '' } });
	},
	followPicked() {
		const { focus } = currentScene();
		if (!ui.select || !focus) return;
		const record = recordAt(focus, ui.select.offset, ui.select.epoch);
		act.follow({ ...ui.select, key: record?.key ?? '' });
	},
	pickFollowed() {
		const { follow } = ui;
		act.turnTo(follow.topic, follow.partition);
		forget();
		const { focus } = currentScene();
		if (!isOf(focus, follow)) return;
		const { copies, leader } = focus;
		const ids = [leader, ...copies.keys()];
		const node = ids.find((id) => holds(copies.get(id), follow)) ?? ids.find((id) => id !== null);
		act.select({ node, offset: follow.offset, epoch: follow.epoch });
	},
	unfollow: () => set({ follow: null }),
	/** @param {'reader'|'producer'} role @param {string} id who is to stand on the stage */
	stand: (role, id) => set({ [role]: id }),
	lookAt(topic, partition) {
		if (!room.isFollowing()) set({ topic, partition, select: null, batch: { status: 'none' } });
	},
	/** @param {string} topic @param {number} partition looked at, unless it is already */
	turnTo(topic, partition) {
		const { focus } = currentScene();
		if (focus?.topic !== topic || focus.partition !== partition) act.lookAt(topic, partition);
	},
	/** What the presenter looks at is looked at here. */
	joinAt({ topic, partition, follow }) {
		if (topic && (ui.topic !== topic || ui.partition !== partition)) {
			set({ topic, partition, select: null, batch: { status: 'none' } });
		}
		set({ follow, expected: null });
	},
	openTab: (tab) => set({ tab, inspector: true }),
	why(of) {
		if (isViewer()) return;
		set({ tab: 'why', inspector: true, why: { of, answer: null, error: '' } });
	},
	toggleTimeline: () => set({ timeline: !ui.timeline && !isViewer() }),
	light(seq, flight = '') {
		ui.lit = seq === null ? null : { seq, flight };
		painter.light();
	},
	toggleInspector: () => set({ inspector: !ui.inspector }),
	pickField(field) {
		if (ui.field !== field) set({ field });
	},
	pickBroker(index) {
		const node = currentScene().brokers[index];
		if (!node) return;
		set({ broker: node.id });
		part(`broker-${node.id}`)?.focus();
	},
	healAll: () => perform('heal all'),
	seek: (seq) => hands.seek(seq),
	isFollowing: () => room.isFollowing(),
	toggleFollowing: () => room.toggle(),
	showEvents: (eventClass) => set({ eventClass }),
	filterEvents: (filter) => set({ filter }),
	toggleTheme() {
		toggleTheme();
		ui.isDirty = true;
	},
	toggleLayout() {
		toggleLayout();
		ui.isDirty = true;
	},
	toggleLegend: () => (part('legend').open ? part('legend').close() : part('legend').showModal()),
	openPalette: () => isPresenter() && palette.open(),
	openTrace: () => part('trace').showModal(),
	write: () => part('send-key').focus(),
	toggleLibrary() {
		if (!isPresenter()) return;
		const library = part('library');
		if (library.open) library.close();
		else library.showModal();
	},
	toggleSide() {
		if (!lesson) return;
		const { dataset } = part('app');
		dataset.side = dataset.side === 'lesson' ? 'events' : 'lesson';
	},
	nextStep: () => lesson?.next(),
	stepBack: () => lesson?.back(),
	skipStory: () => lesson?.skipStory() ?? false,
	setGrain(grain) {
		session.grain = grain;
		session.isDirty = true;
	},
};

const isViewer = () => document.documentElement.dataset.layout === 'viewer';

async function loadBatch({ node, offset }) {
	const { focus } = currentScene();
	const wanted = ui.select;
	set({ batch: { status: 'loading' } });
	try {
		if (session.file) throw new Error(NO_BYTES);
		const { topic, topicId, partition } = focus;
		const place = { node, topic, topicId, partition, offset };
		const read = await readBatch(place);
		if (ui.select === wanted) set({ batch: { ...read, status: 'read' } });
	} catch (problem) {
		if (ui.select === wanted) set({ batch: { status: 'failed', text: problem.message } });
	}
}

/** The page leaves the cluster, and its lesson, for a trace file. */
function showFile(file, film) {
	room.leave();
	lesson = null;
	session.openFile(file, film);
	set({ topic: null, partition: 0, select: null, follow: null, expected: null, broker: null,
		batch: { status: 'none' }, why: { of: ui.why.of, answer: null, error: NO_WHY },
		passport: { answer: null, error: NO_WHY } });
	forget();
	return film.head().nodes;
}

const palette = createPalette(run, tell);
const room = createRoom({ session, act, ui, scene: currentScene });
const hands = room.hands;
let lesson = createLesson({ session, act, toast });
// Every lesson's hero has this name; it is followed wherever it first appears.
if (lesson) ui.expected = { topic: null, key: 'order-3', until: Infinity };
const explain = createExplain({ ui, session, scene: currentScene });
const painter = createPainter({ ui, act, session, flying, scene: currentScene });

bindSendForm(perform, ({ topic, key }) => {
	ui.expected = { topic, key, until: performance.now() + FOLLOW_WITHIN_MS };
});
bindControls({ act, session: hands, command });
bindKeys({ act, session: hands, ui, scene: currentScene });
bindTraceFile({ showFile, toast });

onPreference(() => {
	applyTheme();
	ui.isDirty = true;
});
addEventListener('resize', () => {
	applyLayout();
	ui.isDirty = true;
});
applyTheme();
applyLayout();

/** The one loop. Panels are drawn when something changed, tokens on every frame. */
function frame(now) {
	// The next frame comes whatever happens in this one: one bad event must not stop the picture.
	requestAnimationFrame(frame);
	session.tick(now);
	lesson?.tick(now);
	room.tick(now);
	if (session.isDirty) {
		forget();
		expectHero();
		findMaker();
	}
	if (ui.topic !== painter.topic || ui.partition !== painter.partition) forget();
	explain.tick(now);
	painter.paint(now);
}
requestAnimationFrame(frame);

beginStory();

// For tests: what the page believes.
globalThis.highwater = {
	state: () => (session.hasState ? session.json() : null),
	seq: () => (session.hasState ? session.seq() : 0),
	scene: currentScene,
	status: () => session.status,
	first: () => session.film.first,
	gaps: () => session.film.gaps.length,
	drop: () => session.source.drop(),
};
