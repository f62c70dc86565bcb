// The live stream of a world: a websocket that comes back by itself and goes on after the last
// event it has seen, so that no event is lost or counted twice.

const waitFirst = 250; // milliseconds before the first new attempt
const waitMax = 8000;

/**
 * @typedef {Object} Handlers
 * @property {string} url of the stream, ws:// or wss:// or a path of this page's server
 * @property {(state: Object<string, any>) => void} onSnapshot
 * @property {(events: Object<string, any>[]) => void} onEvents in order, each once
 * @property {(gap: {from: string, to: string, counts: Object<string, number>}) => void} [onGap]
 *   told before the snapshot that follows a gap
 * @property {(pace: {mode: string, rate: number, paused: boolean, now: string}) => void} [onPace]
 * @property {(room: {viewers: number, place: Object<string, any>|null}) => void} [onRoom]
 * @property {(violations: {seq: string, promise: string, text: string}[]) => void} [onViolations]
 *   all promises that were broken
 * @property {(status: "connecting"|"open"|"reconnecting"|"closed", why: string) => void} [onStatus]
 * @property {() => number|string} [lastSeq] the last event the caller has, if not what came through
 *   here
 * @property {typeof WebSocket} [Socket] for tests
 * @property {(f: () => void, milliseconds: number) => any} [later] for tests
 */

/** Opens the stream.
 * @param {Handlers} handlers
 * @returns {{close: () => void, drop: () => void, lastSeq: () => string}} drop loses the connection
 * as a network would, for tests */
export function connect(handlers) {
	const { url, onSnapshot, onEvents } = handlers;
	const onGap = handlers.onGap ?? (() => {});
	const onPace = handlers.onPace ?? (() => {});
	const onRoom = handlers.onRoom ?? (() => {});
	const onViolations = handlers.onViolations ?? (() => {});
	const onStatus = handlers.onStatus ?? (() => {});
	const Socket = handlers.Socket ?? globalThis.WebSocket;
	const later = handlers.later ?? ((f, ms) => setTimeout(f, ms));
	let last = 0n; // seq of the last event, or of the last snapshot
	let run = "";
	let closed = false;
	let failures = 0;
	/** @type {WebSocket|null} */
	let socket = null;

	function open() {
		if (closed) return;
		if (handlers.lastSeq) last = BigInt(handlers.lastSeq());
		onStatus(failures === 0 ? "connecting" : "reconnecting", "");
		const mine = new Socket(address(url, last, run));
		socket = mine;
		mine.onopen = () => { if (mine === socket) onStatus("open", ""); };
		mine.onmessage = (message) => { if (mine === socket) receive(message.data); };
		mine.onerror = () => {}; // a close follows and says more
		mine.onclose = (event) => { if (mine === socket) reopen(event.reason ?? ""); };
	}

	function reopen(why) {
		const old = socket;
		socket = null;
		old?.close();
		if (closed) return;
		const wait = Math.min(waitMax, waitFirst * 2 ** failures);
		failures = Math.min(failures + 1, 10);
		onStatus("reconnecting", why);
		later(open, wait);
	}

	function receive(text) {
		let frame;
		try {
			frame = JSON.parse(text);
		} catch {
			return reopen("the server sent what is no JSON");
		}
		if (frame.type !== "room") failures = 0; // which also comes where the world is gone
		switch (frame.type) {
			case "snapshot":
				run = frame.run ?? "";
				last = BigInt(frame.seq);
				return onSnapshot(frame.state);
			case "events": return take(frame.events);
			case "gap": return onGap(frame);
			case "pace": return onPace(frame);
			case "violations": return onViolations(frame.violations);
			case "room": return onRoom(frame);
		}
	}

	function take(events) {
		const fresh = events.filter((event) => BigInt(event.seq) > last);
		if (fresh.length === 0) return;
		if (BigInt(fresh[0].seq) !== last + 1n) {
			return reopen(`events before ${fresh[0].seq} are missing`);
		}
		last = BigInt(fresh[fresh.length - 1].seq);
		onEvents(fresh);
	}

	open();
	return {
		close() {
			closed = true;
			socket?.close();
			socket = null;
			onStatus("closed", "");
		},
		drop: () => socket?.close(),
		lastSeq: () => String(last),
	};
}

function address(url, from, run) {
	const full = new URL(url, globalThis.location?.href);
	full.protocol = full.protocol.replace("http", "ws");
	if (from > 0n) full.searchParams.set("from", String(from));
	if (run !== "") full.searchParams.set("run", run);
	return full.href;
}
