// Folds a replica's role, and what it believes of the others.

import { compare, smaller } from "./int64.js";
import { epochsMax } from "./log.js";
import {
	copyAt, findPartition, findTopic, insertSorted, keepNewest, partitionAt,
} from "./places.js";
import { readBelow } from "./program.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

const followersMax = 16;

/** @param {State} state @param {Event} event */
export function applyReplica(state, event) {
	const f = event.fields;
	if (event.event === "ReplicaRemoved") return replicaRemoved(state, event);
	const partition = partitionAt(state, f.topic, f.partition);
	const log = partition && copyAt(state, partition, event.node);
	if (!log) return;
	switch (event.event) {
		case "ReplicaFetched": return fetched(log, f.replica, f.offset, event.at);
		case "HighWatermarkMoved":
			log.hw = f.after;
			log.lso = f.lastStableOffset;
			if (log.role === "leader") commitBelow(partition, log);
			break;
		case "BecameLeader":
			becameLeader(partition, log, f);
			return readBelow(state, f, log.leo);
		case "BecameFollower":
			Object.assign(log, { role: "follower", leader: f.leader, leaderEpoch: f.leaderEpoch,
				leo: f.logEndOffset, hw: f.highWatermark, lso: f.lastStableOffset, isr: f.isr, proposed: null, followers: [] });
			break;
		case "IsrChangeProposed": log.proposed = f.proposed; break;
		case "IsrChangeRefused": log.proposed = null; break;
		case "IsrChanged":
			log.isr = f.isr;
			log.proposed = null;
			break;
	}
}

function becameLeader(partition, log, f) {
	Object.assign(log, { role: "leader", leader: log.node, leaderEpoch: f.leaderEpoch,
		hw: f.highWatermark, lso: f.lastStableOffset, isr: f.isr, proposed: null, followers: [] });
	partition.minIsr = f.minIsr;
	commitBelow(partition, log);
	if (partition.known) return;
	Object.assign(partition, { leader: log.node, leaderEpoch: f.leaderEpoch,
		partitionEpoch: f.partitionEpoch, replicas: f.replicas, isr: f.isr });
}

/** Keeps that what lies below a leader's high watermark is committed, epoch by epoch: an offset alone
 * names no record.
 * @param {any} partition @param {any} log */
function commitBelow(partition, log) {
	let end = log.leo;
	for (const { epoch, startOffset } of log.epochs.toReversed()) {
		const to = smaller(end, log.hw);
		end = startOffset;
		if (compare(to, startOffset) > 0 && !commitTo(partition, epoch, to)) return;
	}
}

/** @returns {boolean} whether it is news; if not, what is older was committed with it */
function commitTo(partition, epoch, to) {
	const marks = partition.committed ??= []; // a state of an older version has none
	const at = marks.findIndex((mark) => mark.epoch === epoch);
	if (at >= 0) {
		const isNew = compare(marks[at].to, to) < 0;
		if (isNew) marks[at] = { epoch, to };
		return isNew;
	}
	insertSorted(marks, { epoch, to }, (a, b) => a.epoch - b.epoch);
	keepNewest(marks, epochsMax);
	return true;
}

function fetched(log, node, leo, at) {
	const known = log.followers.find((f) => f.node === node);
	if (known) {
		known.leo = leo;
		known.at = at;
	} else if (log.followers.length < followersMax) {
		insertSorted(log.followers, { node, leo, at }, (a, b) => a.node - b.node);
	}
}

/** Forgets a replica, and with the last one of a deleted topic the topic.
 * @param {State} state @param {Event} event */
function replicaRemoved(state, event) {
	const { topic: name, partition: index } = event.fields;
	const partition = findPartition(state, name, index);
	if (!partition) return;
	partition.copies = partition.copies.filter((c) => c.node !== event.node);
	sweep(state, findTopic(state, name));
}

/** Removes the partitions that no node holds any more and that no topic has.
 * @param {State} state @param {any} topic */
export function sweep(state, topic) {
	topic.partitions = topic.partitions.filter(
		(p) => p.copies.length || (p.known && !topic.deleted));
	if (topic.deleted && !topic.partitions.length) state.topics = state.topics.filter((t) => t !== topic);
}
