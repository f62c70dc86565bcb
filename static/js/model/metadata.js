// Folds the quorum, what the metadata log says, and the recorder's own fact.

import { compareText, findTopic, insertSorted, nodeAt, partitionAt, topicAt } from "./places.js";
import { forgetOffsets } from "./program.js";
import { sweep } from "./replica.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Event} Event */

const configsMax = 256;

/** @param {State} state @param {Event} event */
export function applyMetadata(state, event) {
	const f = event.fields;
	switch (event.event) {
		case "BrokerRegistered":
			return setNode(state, f.broker, { registered: true, fenced: f.fenced, controlledShutdown: false,
				brokerEpoch: f.brokerEpoch });
		case "BrokerFenced": return setNode(state, f.broker, { fenced: true });
		case "BrokerUnfenced": return setNode(state, f.broker, { fenced: false });
		case "BrokerInControlledShutdown":
			return setNode(state, f.broker, { controlledShutdown: true });
		case "TopicCreated": return topicCreated(state, f);
		case "TopicDeleted": return topicDeleted(state, f);
		case "PartitionChanged": return partitionChanged(state, f);
		case "ConfigChanged": return configChanged(state, f);
		case "RecordingTruncated":
			state.recording = { dropped: f.events, from: f.from };
			return;
		case "VoteStored":
			return setNode(state, event.node, { votedFor: f.candidate, voteTerm: f.term });
		case "ControllerStateChanged":
			return setNode(state, event.node, { state: f.state, term: f.term, leader: f.leader });
		case "MetadataStored": return setNode(state, event.node, { metadataStored: f.logEndOffset });
		case "MetadataCommitted":
			state.metadata.highWatermark = f.highWatermark;
			return setNode(state, event.node, { metadataCommitted: f.highWatermark });
		case "MetadataReplayed":
			return setNode(state, event.node, { metadataOffset: f.offset, metadataLeader: f.leader });
	}
}

function setNode(state, id, change) {
	const node = nodeAt(state, id);
	if (node) Object.assign(node, change);
}

function topicCreated(state, f) {
	const topic = topicAt(state, f.topic);
	// A broker that was down may still hold replicas of a former topic of this name.
	if (topic.topicId !== f.topicId) {
		for (const p of topic.partitions) p.committed = [];
		forgetOffsets(state, f.topic);
	}
	topic.topicId = f.topicId;
	topic.replicationFactor = f.replicationFactor;
	topic.deleted = false;
	setMinIsr(topic, f.minIsr);
}

function setMinIsr(topic, minIsr) {
	topic.minIsr = minIsr;
	for (const partition of topic.partitions) partition.minIsr = minIsr;
}

function topicDeleted(state, f) {
	state.deliveries = state.deliveries.filter((d) => d.topic !== f.topic); // another has other records
	const topic = findTopic(state, f.topic);
	if (!topic) return;
	topic.deleted = true;
	for (const partition of topic.partitions) {
		partition.known = false;
		partition.leader = -1;
	}
	sweep(state, topic);
}

function partitionChanged(state, f) {
	const partition = partitionAt(state, f.topic, f.partition);
	if (!partition) return;
	Object.assign(partition, {
		known: true, leader: f.leader, leaderEpoch: f.leaderEpoch, partitionEpoch: f.partitionEpoch,
		replicas: f.replicas, isr: f.isr, elr: f.elr, lastKnownElr: f.lastKnownElr,
		recovering: f.recovering,
	});
}

function configChanged(state, f) {
	const { resourceType, resource, name, value } = f;
	const config = { resourceType, resource, name, value };
	const at = state.configs.findIndex((c) => compareConfig(c, config) === 0);
	if (at >= 0 && f.removed) state.configs.splice(at, 1);
	else if (at >= 0) state.configs[at] = config;
	else if (!f.removed && state.configs.length >= configsMax) state.notKept.configs++;
	else if (!f.removed) insertSorted(state.configs, config, compareConfig);
	if (f.removed || name !== "min.insync.replicas" || resourceType.toLowerCase() !== "topic") return;
	const topic = findTopic(state, resource);
	const minIsr = /^[0-9]{1,20}$/.test(value) ? Number(value) : -1;
	if (topic && minIsr >= 0 && minIsr < 2 ** 31) setMinIsr(topic, minIsr);
}

function compareConfig(a, b) {
	return compareText(a.resourceType, b.resourceType) || compareText(a.resource, b.resource) ||
		compareText(a.name, b.name);
}
