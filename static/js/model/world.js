// Folds the kinds of nodes, links, clients, messages, timers and waits.

import { askDropped, asked, dropAsks } from "./asks.js";
import { delivered } from "./deliveries.js";
import { findCopy, insertSorted, linkAt, nodeAt } from "./places.js";
import { endProgram } from "./program.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

const clientsMax = 256;
const openMax = 16;
const apisMax = 32;
const messagesMax = 512;
const waitsMax = 512;
const timersMax = 256;

/** @param {State} state @param {Event} event */
export function applyWorld(state, event) {
	const f = event.fields;
	switch (event.event) {
		case "MessageSent": return messageSent(state, event);
		case "MessageDelivered":
		case "MessageDropped": return remove(state.messages, "message", f.message);
		case "RequestReceived": return requestReceived(state, event);
		case "ResponseSent":
			responseSent(state, event);
			return delivered(state, event);
		case "PartitionAnswered":
			countError(findClient(state, f.connection), f);
			return delivered(state, event);
		case "FetchPositionChanged": return asked(state, event);
		case "FetchPartitionDropped": return askDropped(state, event);
		case "WaitBegan":
			return put(state, "waits", waitsMax, "wait", {
				wait: f.wait, node: event.node, for: f.for, what: f.what, topic: f.topic,
				partition: f.partition, idle: f.idle, needs: f.needs, due: f.due, since: event.at,
			});
		case "WaitEnded": return remove(state.waits, "wait", f.wait);
		case "TimerArmed":
			return put(state, "timers", timersMax, "timer",
				{ timer: f.timer, node: event.node, name: f.name, due: f.due });
		case "TimerFired":
		case "TimerCancelled": return remove(state.timers, "timer", f.timer);
		case "ClientConnected": return clientConnected(state, event);
		case "ClientIdentified": return clientIdentified(state, f);
		case "ClientDisconnected":
			dropAsks(state, f.connection);
			return remove(state.clients, "connection", f.connection);
		case "LinkCut": return setLink(state, f, { cut: true });
		case "LinkHealed": return setLink(state, f, { cut: false });
		case "LinkDelayed": return setLink(state, f, { latency: f.latency });
		case "WorldStarted": return worldStarted(state, f);
		case "CommandRan":
			state.lastCommand = { command: f.command, by: f.by, at: event.at, seq: event.seq };
		case "CommandFailed":
			return;
	}
	const node = nodeAt(state, event.node);
	if (node) applyNode(state, node, event);
}

/** Adds an element as the newest of a bounded list; the oldest goes when there is no room.
 * @param {State} state @param {string} list @param {number} max @param {string} key
 * @param {any} element */
function put(state, list, max, key, element) {
	remove(state[list], key, element[key]);
	if (state[list].length >= max) {
		state[list].shift();
		state.notKept[list]++;
	}
	state[list].push(element);
}

function remove(list, key, id) {
	const at = list.findIndex((element) => element[key] === id);
	if (at >= 0) list.splice(at, 1);
}

function worldStarted(state, f) {
	Object.assign(state, { seed: f.seed, origin: f.origin, clusterId: f.clusterId,
		version: f.version });
	for (const [role, ids] of [["broker", f.brokers], ["controller", f.controllers]]) {
		for (const id of ids) {
			const node = nodeAt(state, id);
			if (node) node.role = role;
		}
	}
}

function applyNode(state, node, event) {
	const f = event.fields;
	switch (event.event) {
		case "NodeStarted":
			Object.assign(node, {
				role: f.role, host: f.host, port: f.port, incarnation: f.incarnation, alive: true,
				paused: false, logDirFailed: "", stopped: "", stopReason: "", stoppedAt: "0",
				lostBytes: "0",
			});
			break;
		case "NodeStopped":
			Object.assign(node, { stopped: f.how, stopReason: f.reason, stoppedAt: event.at,
				lostBytes: f.lostBytes });
			forgetMemory(state, node);
			break;
		case "NodePaused": node.paused = true; break;
		case "NodeResumed": node.paused = false; break;
		case "NodeClockChanged":
			node.clockOffset = f.offset;
			node.clockRatePermille = f.ratePermille;
			break;
		case "DiskFaultSet":
			node.diskFault = f.fault;
			node.diskDelay = f.delay;
			break;
	}
}

/** Takes what the end of an incarnation takes: all that was not in files. Messages that a paused
 * node had not handled are gone without a further event.
 * @param {State} state @param {any} node */
function forgetMemory(state, node) {
	if (node.paused) state.messages = state.messages.filter((m) => m.to !== node.id);
	Object.assign(node, { alive: false, paused: false, state: "", leader: -1, metadataCommitted: "-1",
		metadataOffset: "-1", metadataLeader: -1 });
	state.timers = state.timers.filter((t) => t.node !== node.id);
	state.waits = state.waits.filter((w) => w.node !== node.id);
	state.clients = state.clients.filter((c) => c.node !== node.id);
	dropAsks(state, node.id);
	endProgram(state, node.id);
	for (const topic of state.topics) {
		for (const partition of topic.partitions) {
			const copy = findCopy(partition, node.id);
			if (!copy) continue;
			Object.assign(copy, { role: "", leader: -1, isr: [], proposed: null, followers: [],
				cleaning: null, unpowered: copy.unpowered || node.stopped === "power-cut" });
		}
	}
}

function setLink(state, f, change) {
	const link = linkAt(state, f.from, f.to);
	if (link) Object.assign(link, change);
}

function messageSent(state, event) {
	const f = event.fields;
	put(state, "messages", messagesMax, "message", {
		message: f.message, from: event.node, to: f.to, api: f.api, sentAt: event.at,
		answers: f.answers, topic: f.topic, partition: f.partition, records: f.records,
		offset: f.offset, highWatermark: f.highWatermark, bytes: f.bytes, idle: f.idle,
	});
	const counters = state.counters;
	counters.messages++;
	counters.idleMessages += Number(f.idle);
	counters.bytes += f.bytes;
	const link = linkAt(state, event.node, f.to);
	if (!link) return;
	link.messages++;
	link.idle += Number(f.idle);
	link.bytes += f.bytes;
	if (!f.idle) link.lastAt = event.at;
}

function clientConnected(state, event) {
	const { connection, address } = event.fields;
	if (findClient(state, connection) || state.clients.length >= clientsMax) {
		state.notKept.clients++;
		return;
	}
	insertSorted(state.clients, {
		connection, node: event.node, address, clientId: "", software: "", connectedAt: event.at,
		requests: {}, errors: 0, lastRequest: null, lastAnswer: null, open: 0, openRequests: [],
	}, (a, b) => a.connection - b.connection);
}

function findClient(state, connection) {
	return state.clients.find((c) => c.connection === connection);
}

function clientIdentified(state, f) {
	const client = findClient(state, f.connection);
	if (!client) return;
	client.clientId = f.clientId;
	if (f.software !== "") client.software = f.software;
}

function requestReceived(state, event) {
	const f = event.fields;
	if (f.api === "Fetch" && f.topic) asked(state, event);
	const client = findClient(state, f.connection);
	if (!client) return;
	const known = Object.keys(client.requests);
	const api = known.includes(f.api) || known.length < apisMax ? f.api : "others";
	client.requests[api] = (Object.hasOwn(client.requests, api) ? client.requests[api] : 0) + 1;
	client.lastRequest = {
		request: f.request, api: f.api, version: f.version, partition: f.partition, topic: f.topic,
		offset: f.offset, records: f.records, acks: f.acks, at: event.at, idle: f.idle,
	};
	if (f.api === "Produce" && f.acks === 0) return; // nobody will answer it
	client.open++;
	if (client.openRequests.length >= openMax) client.openRequests.shift();
	client.openRequests.push(client.lastRequest);
}

function countError(client, { errorCode }) {
	if (client && errorCode !== 0) client.errors++;
}

function responseSent(state, event) {
	const f = event.fields;
	const client = findClient(state, f.connection);
	if (!client) return;
	countError(client, f);
	client.lastAnswer = {
		request: f.request, api: f.api, errorCode: f.errorCode, partition: f.partition, topic: f.topic,
		offset: f.offset, records: f.records, at: event.at,
	};
	client.open = Math.max(0, client.open - 1);
	remove(client.openRequests, "request", f.request);
}
