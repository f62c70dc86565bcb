// The space-time diagram, without sizes: a lane for each process, an arrow for each message that
// carries news, a mark for each turn. Places are events' numbers, as on the scrubber.

import { flightOfMessage } from './flights.js';
import { messageOf } from './scene.js';
import { epochIn } from './where.js';

const CLIENT_LANES = 4;
const ARROWS_MOST = 160;
const MARKS_MOST = 40;
const BEFORE = 6000; // events
const AFTER = 2000;
const QUORUM_FAR = 1e6; // events
const TOLD = {
	HighWatermarkMoved: ({ rule, fields }) => rule === 'hw.min-of-isr' && `HW ${fields.after}`,
	BecameLeader: ({ fields }) => fields.leaderEpoch > 0 && `leads, epoch ${fields.leaderEpoch}`,
	NodeStopped: ({ fields }) => fields.how,
	NodeStarted: ({ fields }) => fields.incarnation > 1 && 'starts',
	NodePaused: () => 'paused',
	LogTruncated: ({ fields }) => `cut to ${fields.after}`,
	BatchAppended: ({ fields }) => `append ${fields.lastOffset}`,
	IsrChanged: ({ fields }) => `ISR ${fields.isr.join(', ')}`,
};

/**
 * @typedef {{id: number|string, name: string, kind: string, nodes: number[]}} Lane
 * @typedef {object} Arrow
 * @property {number} seq the event that sent it
 * @property {number} from lane @property {number} to lane
 * @property {number} sent @property {number} arrives events' numbers
 * @property {string} kind @property {string} text @property {boolean} followed
 * @property {boolean} lost it was dropped @property {string} flight
 */

/** @param {object} scene @param {object[]} events
 *  @returns {Lane[]} clients, brokers, controllers, from the top */
function lanesOf(scene, events, follow) {
	const clients = busiest([...scene.producers, ...scene.readers], events, follow?.maker?.node);
	return [
		...clients.map((c) => ({ id: c.id, name: c.id, kind: 'client', nodes: c.connections })),
		...scene.brokers.map(({ id }) => ({ id, name: `broker ${id}`, kind: 'broker', nodes: [id] })),
		...scene.controllers.map(({ id }) => (
			{ id, name: `controller ${id}`, kind: 'controller', nodes: [id] })),
	];
}

/** The clients that have a lane, in the order of the stage: who wrote the followed record, who has
 *  to do with what is looked at, and those that sent and got most. */
function busiest(clients, events, maker) {
	if (clients.length <= CLIENT_LANES) return clients;
	const counts = new Map();
	const count = (node) => counts.set(node, (counts.get(node) ?? 0) + 1);
	for (const { event, node, fields } of events) {
		if (event !== 'MessageSent' || fields.idle) continue;
		count(node);
		count(fields.to);
	}
	const busy = ({ connections, near }) => connections.reduce(
		(sum, node) => sum + (counts.get(node) ?? 0), connections.includes(maker) * 1e9 + near * 1e6);
	const chosen = new Set([...clients].sort((a, b) => busy(b) - busy(a)).slice(0, CLIENT_LANES));
	return clients.filter((client) => chosen.has(client));
}

/** Of which events the diagram shows the messages. How the cluster of a lesson started is there
 *  only while somebody looks at it. @param {{first: number, last: number}} film
 *  @param {number} seq the moment shown @param {number} begin the last event before a lesson
 *  @returns {{from: number, to: number}} */
export const windowOf = ({ first, last }, seq, begin) => ({
	from: Math.max(first + 1, seq - BEFORE, seq < begin ? 0 : begin + 1),
	to: Math.min(last, seq + AFTER),
});

/** @param {object} scene @param {object[]} events in order @param {number} seq the moment shown
 *  @param {object|null} follow
 *  @returns {{lanes: Lane[], arrows: Arrow[], marks: object[], more: number, idle: number}} */
export function spacetime(scene, events, seq, follow) {
	const lanes = lanesOf(scene, events, follow);
	const laneOf = new Map(lanes.flatMap(({ nodes }, i) => nodes.map((node) => [node, i])));
	const open = new Map();
	const past = pastOf(scene);
	const arrows = [];
	const marks = [];
	let idle = 0;
	for (const event of events) {
		const { fields } = event;
		past.take(event);
		if (event.event === 'MessageSent' && fields.idle) idle += 1;
		if (fields.idle) continue;
		const arrow = arrowOf(scene, event, laneOf, { open, past, follow });
		if (arrow) arrows.push(arrow);
		const text = isOfFocus(fields, scene.focus) && TOLD[event.event]?.(event);
		if (text && laneOf.has(event.node)) {
			const lane = laneOf.get(event.node);
			const { seq: number, at, event: kind } = event;
			marks.push({ seq: Number(number), at: Number(at), lane, kind, text });
		}
	}
	const kept = nearest(arrows, seq, ARROWS_MOST);
	return { lanes, arrows: kept, marks: nearest(marks, seq, MARKS_MOST),
		more: arrows.length - kept.length, idle };
}

/** A mark has no room for a partition's name, so those of others would be taken for this one's. */
const isOfFocus = ({ topic, partition }, focus) =>
	topic === undefined || (topic === focus?.topic && partition === focus.partition);

/** Those closest to a moment; the followed record's come first, the quorum's last. */
function nearest(list, seq, most) {
	if (list.length <= most) return list;
	const far = ({ followed, kind, seq: at }) =>
		followed ? 0 : Math.abs(at - seq) + (kind === 'dot' ? QUORUM_FAR : 0);
	return [...list].sort((a, b) => far(a) - far(b)).slice(0, most).sort((a, b) => a.seq - b.seq);
}

/** What the logs of the partition in focus held while the messages were sent. */
function pastOf({ focus }) {
	const logs = new Map(); // by broker, what it appended, in order
	return {
		take({ event, node, fields }) {
			if (event !== 'BatchAppended' && event !== 'LogTruncated') return;
			if (!isOfFocus(fields, focus)) return;
			const log = logs.get(node) ?? [];
			if (event === 'LogTruncated') {
				logs.set(node, log.filter(({ last }) => last < Number(fields.after)));
				return;
			}
			log.push({ base: Number(fields.baseOffset), last: Number(fields.lastOffset),
				epoch: fields.leaderEpoch });
			logs.set(node, log);
		},
		of(node) {
			const log = logs.get(node) ?? [];
			return (offset) => (log.findLast(({ base, last }) => base <= offset && offset <= last)?.epoch ??
				epochIn(focus.copies.get(node), offset));
		},
	};
}

/** An arrow is complete once its message is delivered or dropped; one under way ends at its own
 *  event until then. */
function arrowOf(scene, { event, seq, node, fields }, laneOf, { open, past, follow }) {
	if (event === 'MessageSent') {
		const from = laneOf.get(node);
		const to = laneOf.get(fields.to);
		if (from === undefined || to === undefined) return null;
		const message = { ...messageOf({ ...fields, from: node }), epochAt: past.of(node) };
		const face = flightOfMessage(scene, message, follow) ?? {};
		const says = [face.text, ...(face.chips ?? []), face.note].filter(Boolean).join(' ');
		const arrow = { seq: Number(seq), from, to, sent: Number(seq), arrives: null, lost: false,
			kind: face.kind ?? 'ask', text: `${fields.api} ${says}`, followed: Boolean(face.followed),
			flight: `m${fields.message}` };
		open.set(fields.message, arrow);
		return arrow;
	}
	if (event === 'MessageDelivered' || event === 'MessageDropped') {
		const arrow = open.get(fields.message);
		if (!arrow) return null;
		arrow.arrives = Number(seq);
		arrow.lost = event === 'MessageDropped';
		open.delete(fields.message);
	}
	return null;
}
