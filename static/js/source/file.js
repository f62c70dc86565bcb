// A trace file as a source: reads the header, the keyframe if there is one, and the events.

const lineMax = 64 << 20;
const eventsMax = 500_000;

/**
 * @typedef {Object} Trace
 * @property {{version: number, seed: string, origin: string, software: string}} header
 * @property {Object<string, any>|null} keyframe the state before the first event; null is empty
 * @property {Object<string, any>[]} events
 * @property {boolean} complete false when the file has more events than a page takes
 */

/** Reads a trace; an error names the line.
 * @param {Blob|string} source @returns {Promise<Trace>} */
export async function readTrace(source) {
	const blob = typeof source === "string" ? new Blob([source]) : source;
	/** @type {Trace} */
	const trace = { header: null, keyframe: null, events: [], complete: true };
	let number = 0;
	for await (const line of lines(blob)) {
		number++;
		if (trace.events.length >= eventsMax) {
			trace.complete = false;
			break;
		}
		try {
			take(trace, JSON.parse(line), number);
		} catch (error) {
			throw new Error(`line ${number}: ${error.message}`);
		}
	}
	if (trace.header === null) throw new Error("line 1: the file is empty");
	return trace;
}

function take(trace, line, number) {
	if (number === 1) {
		if (line.highwater !== "trace") throw new Error("this is no Highwater trace");
		if (line.version !== 1) throw new Error(`version ${line.version}, this page knows version 1`);
		trace.header = line;
	} else if (number === 2 && "keyframe" in line) {
		trace.keyframe = line.state;
	} else {
		if (typeof line.seq !== "string" || typeof line.event !== "string") throw new Error("no event");
		trace.events.push(line);
	}
}

async function* lines(blob) {
	const reader = blob.stream().pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		const parts = (rest + value).split("\n");
		rest = parts.pop() ?? "";
		if (rest.length > lineMax) throw new Error(`a line is longer than ${lineMax} characters`);
		for (const line of parts) yield line;
	}
	if (rest !== "") yield rest;
}
