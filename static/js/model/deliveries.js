// What the outside clients of one name were sent of a partition, whatever connections they had. What
// became of it there nobody tells.

import { askAt } from "./asks.js";
import { compare, larger } from "./int64.js";
import { readMore } from "./runs.js";

const deliveriesMax = 256;

/** Folds an answer to an outside client. A batch may begin before what was asked for, which the client
 * passes over.
 * @param {import("./state.js").State} state @param {import("./state.js").Event} event */
export function delivered(state, { node, fields: f }) {
	const client = state.clients.find((c) => c.connection === f.connection);
	if (!client || f.api !== "Fetch" || f.records <= 0) return;
	const asked = askAt(state, { ...f, by: f.connection, node });
	const run = { from: larger(f.offset, asked?.offset ?? f.offset),
		to: String(BigInt(f.offset) + BigInt(f.records)) };
	if (compare(run.from, run.to) >= 0) return;
	const name = client.clientId || `connection ${f.connection}`;
	const { topic, partition } = f;
	const at = state.deliveries.findIndex((d) =>
		d.client === name && d.topic === topic && d.partition === partition);
	if (at >= 0) {
		const known = state.deliveries[at];
		state.deliveries[at] = { ...known, runs: readMore(known.runs, [run]) };
		return;
	}
	if (state.deliveries.length >= deliveriesMax) {
		state.deliveries.shift();
		state.notKept.deliveries++;
	}
	state.deliveries.push({ client: name, topic, partition, runs: [run] });
}
