// A trace file as a source: reads the header, the keyframe if there is one, and the events.

const lineMax = 64 << 20;
const eventsMax = 500_000;
const noTrace = "this is no header of a Highwater trace";
const CUT_SHORT = "the file is cut short here";
const tooLong = `the line is longer than ${lineMax} characters`;

/**
 * @typedef {Object} Trace
 * @property {{version: number, seed: string, origin: string, software: string, judged?: boolean,
 *   last?: string}} header judged: a referee has seen all of it; last: the last event's number
 * @property {{seq: string, promise: string, text: string}[]} violations what it found
 * @property {Object<string, any>|null} keyframe the state before the first event; null is empty
 * @property {Object<string, any>[]} events
 * @property {boolean} complete false when the file has more events than a page takes; the others
 *   are left out
 */

/** Reads a trace; an error names the line.
 * @param {Blob|string} source @returns {Promise<Trace>} */
export async function readTrace(source) {
	const blob = typeof source === "string" ? new Blob([source]) : source;
	/** @type {Trace} */
	const trace = {
		header: null, keyframe: null, events: [], violations: [], complete: true,
	};
	let number = 0;
	for await (const { text, isWhole } of lines(blob)) {
		number++;
		if (trace.events.length >= eventsMax) {
			trace.complete = false;
			break;
		}
		try {
			if (text === null) throw new Error(number === 1 ? noTrace : tooLong);
			take(trace, parse(text, number, isWhole), number);
		} catch (error) {
			throw new Error(`line ${number}: ${error.message}`);
		}
	}
	if (trace.header === null) throw new Error("line 1: the file is empty");
	const { last } = trace.header;
	if (trace.complete && Number(last ?? 0) > Number(lastOf(trace) ?? 0)) {
		throw new Error(`line ${number + 1}: ${CUT_SHORT}`);
	}
	return trace;
}

const lastOf = ({ events, keyframe }) => events.at(-1)?.seq ?? keyframe?.seq;

function parse(text, number, isWhole) {
	try {
		const line = JSON.parse(text);
		if (line !== null && typeof line === "object") return line;
	} catch {
		// What is no JSON gets one of the sentences below.
	}
	if (number === 1) throw new Error(noTrace);
	throw new Error(isWhole ? "this is no JSON object" : CUT_SHORT);
}

const isText = (value) => typeof value === "string";
const isNumber = (value) => isText(value) && /^-?\d+$/.test(value) &&
	BigInt.asIntN(64, BigInt(value)) === BigInt(value);
const isSeq = (value) => isNumber(value) && value >= 0;
const violation = { seq: isSeq, promise: isText, text: isText };
/** What a header may say, in the form that whoever else reads traces takes. */
const header = {
	minor: Number.isInteger, seed: isNumber, origin: isNumber, software: isText,
	judged: (value) => typeof value === "boolean",
	last: isSeq,
	violations: (all) => Array.isArray(all) && all.every((each) => fits(each, violation)),
};

const fits = (line, form) => line === null || (typeof line === "object" &&
	Object.entries(form).every(([name, isRight]) => line[name] == null || isRight(line[name])));

function take(trace, line, number) {
	if (number === 1) {
		if (line.highwater !== "trace" || !Number.isInteger(line.version)) throw new Error(noTrace);
		if (line.version !== 1) {
			throw new Error(`the trace has version ${line.version}, this page knows version 1`);
		}
		if (!fits(line, header)) throw new Error(noTrace);
		trace.header = line;
		trace.violations = (line.violations ?? []).filter((broken) => broken?.seq && broken.promise);
	} else if (number === 2 && "keyframe" in line) {
		if (!/^\d+$/.test(line.state?.seq)) throw new Error("this is no keyframe");
		trace.keyframe = line.state;
	} else {
		const { seq, event, fields } = line;
		if (!/^\d+$/.test(seq) || typeof event !== "string" || typeof fields !== "object" || !fields) {
			throw new Error("this is no event");
		}
		const last = lastOf(trace);
		if (last !== undefined && Number(seq) !== Number(last) + 1) {
			throw new Error(`event ${seq} follows event ${last}: not the next one`);
		}
		trace.events.push(line);
	}
}

/** Gives each line; a text of null is a line that is too long. */
async function* lines(blob) {
	const reader = blob.stream().pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done) break;
		const parts = (rest + value).split("\n");
		rest = parts.pop() ?? "";
		for (const text of parts) yield { text, isWhole: true };
		if (rest.length > lineMax) {
			yield { text: null, isWhole: true };
			return;
		}
	}
	if (rest !== "") yield { text: rest, isWhole: false };
}
