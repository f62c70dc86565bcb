// Turns events into sentences, from the catalogue's templates.

import { grouped } from "./int64.js";
import { errorNames, kinds, rules, states } from "../protocol/kinds.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

const firstOutside = 1 << 20;
const rawMax = 300; // characters shown of an event of an unknown kind
const nodeFields = new Set(["from", "to", "leader", "leaderBefore", "replica", "broker",
	"candidate", "for", "connection"]);
const durationFields = {
	LinkDelayed: ["latency"], NodeClockChanged: ["offset"],
};

/** Names a node by its id alone: Kafka's habit of numbering controllers from 100 on.
 * @param {number} id @returns {string} */
function nameOfNode(id) {
	if (id === 0) return "the world";
	if (id < 0) return "nobody";
	if (id >= firstOutside) return `client ${id - firstOutside}`;
	return id >= 100 ? `controller ${id}` : `broker ${id}`;
}

/** @param {State} state
 * @returns {(id: number) => string} names by role, and clients by their client id */
export function namesOf(state) {
	return (id) => {
		const program = state.programs?.find((p) => p.node === id);
		if (program) return `${program.role} ${program.name}`;
		const role = state.nodes.find((n) => n.id === id)?.role;
		if (role === 'client') return 'the built-in client';
		if (role) return `${role} ${id}`;
		return state.clients.find((c) => c.connection === id)?.clientId || nameOfNode(id);
	};
}

/** @param {Event} event @param {(id: number) => string} [nameOf] @returns {string} one sentence */
export function narrate(event, nameOf = nameOfNode) {
	if (!Object.hasOwn(kinds, event.event)) {
		const raw = JSON.stringify(event.fields).slice(0, rawMax);
		return `${capital(nameOf(event.node))}: ${event.event}, which this page does not know: ${raw}`;
	}
	if (event.event === "RecordDescribed") return describe(event);
	const { reason, answers, before } = event.fields;
	const after = answers > 0 ? "answer" : event.fields.after;
	const said = states[event.event];
	const narration = (before === after && said?.same) ||
		(said?.[`${after ?? ""}/${reason}`] ?? said?.[after] ?? kinds[event.event].narration);
	const sentence = narration.replace(/\{(#?)(\w+)\}/g, (_, isGrouped, name) => (
		name === "node" ? nameOf(event.node)
			: isGrouped ? grouped(event.fields[name] ?? "?") : show(event, name, nameOf)));
	const one = sentence.replace(/\b1 (record|partition|segment|batche?)s\b/g, "1 $1")
		.replace(/\b1 copies/, "1 copy");
	return /^\{(topic|resource)\}/.test(narration) ? one : capital(one); // names stay as typed
}

function describe({ fields: f }) {
	const where = `Offset ${grouped(f.offset)} of ${f.topic}-${f.partition} holds`;
	if (f.keyBytes < 0) return `${where} a record without a key.`;
	return `${where} ${f.key === "" ? "an empty key" : f.key}.`;
}

function show(event, name, nameOf) {
	const value = event.fields[name];
	if (value === undefined) return "?";
	if (name === "resource" && value === "") return "The cluster";
	if (name === "errorCode") return errorName(value) || "ok";
	if (name === "ratePermille") return value / 1000;
	if (name === "fault" && event.fields.delay > 0) return `${value}=${duration(event.fields.delay)}`;
	if (name === "commit") return value ? "a commit" : "an abort";
	if (Array.isArray(value)) return `[${value.join(", ")}]`;
	if (durationFields[event.event]?.includes(name)) return duration(value);
	if (typeof value === "number" && nodeFields.has(name)) return nameOf(value);
	return String(value);
}

/** @param {number} code @returns {string} Kafka's name of an error, empty for none */
export const errorName = (code) =>
	code === 0 ? "" : errorNames[code - 1] || "UNKNOWN_SERVER_ERROR";

/** @param {string|number} nanoseconds
 * @returns {string} a duration as people write it: 250 µs, 15 ms, 1.5 s, 2 min */
export function duration(nanoseconds) {
	const ns = Number(nanoseconds);
	const size = Math.abs(ns);
	if (size === 0) return "0 ms";
	if (size < 1e3) return `${ns} ns`;
	if (size < 1e6) return `${rounded(ns / 1e3)} µs`;
	if (size < 1e9) return `${rounded(ns / 1e6)} ms`;
	if (size < 120e9) return `${rounded(ns / 1e9)} s`;
	return `${rounded(ns / 60e9)} min`;
}

function rounded(n) {
	return Math.abs(n) >= 100 ? Math.round(n) : Number(n.toPrecision(3));
}

function capital(text) {
	return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * @param {Event} event
 * @returns {string} which rule of Kafka's fired and where it comes from; empty when none is named
 */
export function ruleText(event) {
	if (!event.rule || !Object.hasOwn(rules, event.rule)) return "";
	const { text, source } = rules[event.rule];
	return source ? `${text} (${source})` : text;
}
