// What the outside clients of one name were sent of a partition, whatever connections they had. What
// became of it there nobody tells.

import { askAt } from "./asks.js";
import { compare, larger } from "./int64.js";
import { readMore } from "./runs.js";

const deliveriesMax = 1024;

/** Folds an answer to an outside client. A batch may begin before what was asked for, which the client
 * passes over.
 * @param {import("./state.js").State} state @param {import("./state.js").Event} event */
export function delivered(state, { node, fields: f }) {
	const client = state.clients.find((c) => c.connection === f.connection);
	if (!client || f.api !== "Fetch" || f.records <= 0) return;
	const asked = askAt(state, { ...f, by: f.connection, node });
	const to = String(BigInt(f.offset) + BigInt(f.records));
	const isIn = asked && compare(asked.offset, to) < 0; // a later fetch may have asked for more
	const run = { from: isIn ? larger(f.offset, asked.offset) : f.offset, to };
	const name = clientName(client);
	const { topic, partition } = f;
	let at = state.deliveries.findLastIndex((d) =>
		d.client === name && d.topic === topic && d.partition === partition);
	const runs = readMore(state.deliveries[at]?.runs ?? [], [run]);
	if (at < 0 && state.deliveries.length >= deliveriesMax) {
		at = 0;
		state.notKept.deliveries++;
	}
	if (at >= 0) state.deliveries.splice(at, 1);
	state.deliveries.push({ client: name, topic, partition, runs });
}

/** The number of the first connection from outside. */
export const FIRST_OUTSIDE = 1 << 20;

/** Who an outside connection is. */
export const clientName = ({ clientId, connection }) =>
	clientId || `client ${connection - FIRST_OUTSIDE}`;
