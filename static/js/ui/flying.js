// Messages in flight, in time. A message takes the stage for a moment when it is sent,
// also where the cluster delivers it at once; one that is still under way waits in the
// middle of its arc.

import {
	aggregate, concerns, flightOfClient, flightOfMessage, landing,
} from '../layout/flights.js';
import { messageOf } from '../layout/scene.js';
import { linkId } from '../view/wires.js';

const FLIES_MS = 780;
const WAITS_AT = 0.5; // of the way, for a message that was not delivered yet
const FLOOD_FROM = 200; // messages a second on one link
const LAUNCHED_MOST = 300;
const BUSY_MS = 900;
const CALM_MOST = 5; // tokens; up to here each message has one of its own
const TOGETHER_MS = 420;
const CROWD_FROM = 10; // tokens; from here on one link carries one of each kind at a time
const RUSH_FROM = 40; // messages a second, all links together

/** @param {MediaQueryList} still whether motion is unwanted */
export function createFlying(still) {
	const launched = new Map(); // by flight id
	const counts = new Map(); // by link: messages in the current second
	const busyUntil = new Map(); // by link
	const answers = new Map(); // by message id: what an answer to a client inside tells, as the film
	let soughtFrom = -1; // that begins here has it
	let answer = null; // the newest, which goes with the message that is sent next
	let asked = null; // the newest request
	let here = null; // what the next answer tells of the partition on the stage
	let second = 0;
	let flood = new Set();
	let isRush = false;

	function launch(flight, now, isDelivered, rank) {
		if (!flight || flight.idle || launched.size > LAUNCHED_MOST) return;
		const link = linkId(flight.from, flight.to);
		counts.set(link, (counts.get(link) ?? 0) + 1);
		busyUntil.set(link, now + BUSY_MS);
		if (flood.has(link) || still.matches) return;
		const like = launched.size > CALM_MOST ? companion(flight, now) : null;
		if (like) {
			like.flight = { ...like.flight, count: like.flight.count + 1 };
			like.isDelivered = true;
			return;
		}
		// Answers that leave one log together start one after the other, so that each is seen.
		launched.set(flight.id, { flight, start: now + rank * 60, isDelivered });
	}

	/** Where much happens, one token stands for all of one kind that leave within a moment. */
	function companion(flight, now) {
		for (const other of launched.values()) {
			const { from, to, kind } = other.flight;
			if (from !== flight.from || to !== flight.to || kind !== flight.kind) continue;
			if (launched.size >= CROWD_FROM || now - other.start < TOGETHER_MS) return other;
		}
		return null;
	}

	/** The message says only the kind of an answer to a client; the fact before it says the rest. */
	function answerFor({ node, fields: { to, api } }) {
		const isIts = answer?.node === node && answer.fields.connection === to &&
			answer.fields.api === api;
		if (!isIts) return null;
		const { topic, partition, offset, records, errorCode, idle } = answer.fields;
		answer = null;
		return { topic, partition, offset, records, errorCode, idle };
	}

	/** The same of an answer that stands, whatever was shown before. */
	function toldBy({ id, from, to, api }, film) {
		if (soughtFrom !== film.first) answers.clear();
		soughtFrom = film.first;
		if (answers.has(id)) return answers.get(id);
		const events = film.events(film.first, film.last);
		const sent = events.findIndex(({ event, fields }) =>
			event === 'MessageSent' && fields.message === id);
		const told = events.slice(0, Math.max(0, sent)).findLast(({ event, node, fields }) =>
			event === 'ResponseSent' && node === from && fields.connection === to && fields.api === api);
		answers.set(id, told?.fields);
		return told?.fields;
	}

	function newSecond(now) {
		if (now - second < 1000) return;
		second = now;
		flood = new Set([...counts].filter(([, n]) => n > FLOOD_FROM).map(([link]) => link));
		isRush = [...counts.values()].reduce((sum, n) => sum + n, 0) > RUSH_FROM;
		counts.clear();
	}

	return {
		/** Takes the events that were just shown. */
		take(events, scene, follow, now) {
			let rank = 0;
			const fly = (event, more) => {
				const whole = { ...event, fields: { ...event?.fields, ...more } };
				launch(flightOfClient(scene, whole, follow), now, true, rank++ % 8);
				return whole;
			};
			for (const event of events) {
				const { event: kind, fields } = event;
				if (kind === 'MessageSent') {
					const message = messageOf({ ...fields, ...answerFor(event), from: event.node });
					launch(flightOfMessage(scene, message, follow), now, false, rank++ % 8);
				} else if (kind === 'MessageDelivered' || kind === 'MessageDropped') {
					const flying = launched.get(`m${fields.message}`);
					if (flying && kind === 'MessageDelivered') flying.isDelivered = true;
					else if (flying) launched.delete(`m${fields.message}`);
				} else if (kind === 'PartitionAnswered') {
					if (concerns(scene, fields)) here = fields;
				} else if (kind === 'PartitionReceived' && concerns(scene, fields)) {
					fly(asked, fields);
				} else if (kind === 'RequestReceived') {
					answer = null;
					fly(asked = event);
				} else if (kind === 'ResponseSent') {
					answer = fields.reason ? null : fly(event, here); // nothing leaves for acks=0
					here = null;
				}
			}
		},

		/** Where everything is now. `standing` shows messages that the state has under way. */
		travellers(now, scene, follow, standing, geometry, film) {
			newSecond(now);
			const shown = new Map();
			for (const [id, { flight, start, isDelivered }] of launched) {
				const progress = (now - start) / FLIES_MS;
				const isOver = progress >= 1 && isDelivered;
				if (isOver || (progress > WAITS_AT && !isDelivered && !isUnderWay(scene, id))) {
					launched.delete(id);
				} else if (progress >= 0) {
					const most = isDelivered ? 1 : WAITS_AT;
					shown.set(id, { flight, progress: Math.min(progress, most) });
				}
			}
			if (standing) {
				for (const message of scene.messages) {
					const told = message.isAnswer && toldBy(message, film);
					const whole = told ? messageOf({ ...message, ...told, message: message.id,
						answers: '1', highWatermark: message.hw }) : message;
					const flight = flightOfMessage(scene, whole, follow);
					if (!flight || (flight.idle && flight.kind === 'dot')) continue;
					if (!shown.has(flight.id)) shown.set(flight.id, { flight, progress: WAITS_AT });
				}
			}
			return gather([...shown.values()], geometry);
		},

		/** @returns {{busy: Set<string>, flood: Set<string>, isRush: boolean}} links by name, and
		 *  whether so much happens that facts should change at once instead of gliding */
		links(now) {
			const busy = new Set();
			for (const [link, until] of busyUntil) {
				if (until > now) busy.add(link);
				else busyUntil.delete(link);
			}
			return { busy, flood, isRush };
		},

		clear: () => launched.clear(),
	};
}

const isUnderWay = (scene, id) => scene.messages.some((message) => `m${message.id}` === id);

/** Columns that are not on the stage share one place, so what goes to them is one link. Those that
 *  left one node and stand still would cover each other, so they step aside. */
function gather(travellers, geometry) {
	const landed = [];
	for (const { flight, progress } of travellers) {
		const [from, to] = [landing(geometry, flight.from), landing(geometry, flight.to)];
		if (from !== null && to !== null) landed.push({ flight: { ...flight, from, to }, progress });
	}
	const places = new Map();
	return aggregate(landed).map(({ flight, progress }) => {
		const spot = `${flight.from}/${progress.toFixed(1)}`;
		const rank = places.get(spot) ?? 0;
		places.set(spot, rank + 1);
		const aside = progress === WAITS_AT ? rank * 0.15 : 0;
		return { flight, progress: aside ? Math.min(0.9, Math.max(0.1, progress + aside)) : progress };
	});
}
