// The state that the page draws, and the fold that makes it: what viz/model is in Go. A state is
// plain data in the form of its JSON: 64-bit values are decimal strings.

import { applyLog } from "./log.js";
import { applyMetadata } from "./metadata.js";
import { applyGroup, applyProgram } from "./program.js";
import { applyReplica } from "./replica.js";
import { applyTransaction } from "./transactions.js";
import { applyWorld } from "./world.js";
import { kinds } from "../protocol/kinds.js";

/** @typedef {{seq: string, at: string, node: number, cause: string, rule: string, event: string,
 *   fields: Object<string, any>}} Event */
/** @typedef {Object<string, any>} State */

const unknownKindsMax = 32;

/** @returns {State} the state before the first event */
export function create() {
	return {
		seq: "0", at: "0", seed: "0", origin: "0", clusterId: "", version: "",
		nodes: [], links: [], topics: [], clients: [], programs: [], asks: [], deliveries: [],
		transactions: [], messages: [], waits: [], timers: [], configs: [],
		lastCommand: null, metadata: { highWatermark: "-1" }, recording: { dropped: "0", from: "0" },
		counters: { total: 0, events: {}, unknown: {}, messages: 0, idleMessages: 0, bytes: 0,
			records: 0 },
		notKept: { messages: 0, waits: 0, timers: 0, clients: 0, configs: 0, partitions: 0,
			asks: 0, deliveries: 0, programs: 0, transactions: 0 },
	};
}

/** @type {Object<string, (state: State, event: Event) => void>} */
const byArea = {};
for (const [name, kind] of Object.entries(kinds)) byArea[name] = folderOf(kind.area);

function folderOf(area) {
	switch (area) {
		case "world": return applyWorld;
		case "log": return applyLog;
		case "replica": return applyReplica;
		case "client": return applyProgram;
		case "group": return applyGroup;
		case "txn": return applyTransaction;
		default: return applyMetadata;
	}
}

/** Folds one event into the state, in place.
 * @param {State} state @param {Event} event */
export function apply(state, event) {
	state.seq = event.seq;
	state.at = event.at;
	const counters = state.counters;
	counters.total++;
	const fold = Object.hasOwn(byArea, event.event) ? byArea[event.event] : undefined;
	if (fold === undefined) {
		countUnknown(counters.unknown, event.event);
		return;
	}
	counters.events[event.event] = (counters.events[event.event] ?? 0) + 1;
	fold(state, event);
}

function countUnknown(unknown, kind) {
	const names = Object.keys(unknown);
	const name = names.includes(kind) || names.length < unknownKindsMax ? kind : "others";
	unknown[name] = (Object.hasOwn(unknown, name) ? unknown[name] : 0) + 1;
}

/** Copies a state so that folding into one does not change the other. What is replaced and never
 * changed in place (batches, records, messages, lists of nodes) is shared.
 * @param {State} state @returns {State} */
export function clone(state) {
	return {
		...state,
		nodes: state.nodes.map((n) => ({ ...n })),
		links: state.links.map((l) => ({ ...l })),
		topics: state.topics.map(cloneTopic),
		transactions: state.transactions.map((t) => ({ ...t })),
		clients: state.clients.map((c) => (
			{ ...c, requests: { ...c.requests }, openRequests: c.openRequests.slice() })),
		programs: state.programs.map((p) => (
			{ ...p, batches: p.batches.slice(), partitions: p.partitions.slice() })),
		messages: state.messages.slice(),
		waits: state.waits.slice(),
		asks: state.asks.slice(),
		deliveries: state.deliveries.slice(),
		timers: state.timers.slice(),
		configs: state.configs.slice(),
		metadata: { ...state.metadata },
		counters: { ...state.counters, events: { ...state.counters.events },
			unknown: { ...state.counters.unknown } },
		notKept: { ...state.notKept },
	};
}

function cloneTopic(topic) {
	return { ...topic, partitions: topic.partitions.map((p) => (
		{ ...p, records: p.records.slice(), committed: p.committed?.slice() ?? [],
			copies: p.copies.map(cloneCopy) })) };
}

function cloneCopy(copy) {
	return {
		...copy,
		followers: copy.followers.map((f) => ({ ...f })),
		epochs: copy.epochs.slice(),
		segments: copy.segments.slice(),
		holes: copy.holes.slice(),
		transactions: copy.transactions.slice(),
		batches: copy.batches.slice(),
		totals: { ...copy.totals },
	};
}

/** @param {State} state
 * @returns {State} what the server gives as the state's JSON, for comparing the two */
export function toJSON(state) {
	return structuredClone(state);
}

/** @param {State|string} json a snapshot's state, or its text; an object is taken over, not copied
 * @returns {State} a state that can be folded on */
export function fromJSON(json) {
	return Object.assign(create(), typeof json === "string" ? JSON.parse(json) : json);
}
