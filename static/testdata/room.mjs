// Checks that a viewer's page ends where the presenter is, whatever fails on the way, and that the
// presenter's page that is used says where it is; the Go test of this folder runs it.

import assert from 'node:assert/strict';
import { apply, create, toJSON } from '../js/model/state.js';

// As much of a browser as the session and the room ask for.
const listeners = [];
const elements = new Map();
const element = (id) => {
  if (!elements.has(id)) {
    elements.set(id, { dataset: {}, setAttribute() {}, firstChild: null, textContent: '' });
  }
  return elements.get(id);
};
const metas = { token: '', 'viewer-token': 'look', world: 'main' };
const sockets = [];
let focus = null; // what the page looks at
let answer; // of the server, to who asks for older events or tells where it is
Object.assign(globalThis, {
  document: {
    getElementById: element,
    querySelector: (text) => ({ content: metas[/name="(.+)"/.exec(text)[1]] }),
  },
  location: { href: 'http://127.0.0.1/' },
  matchMedia: () => ({ matches: true }),
  addEventListener: (kind, listener) => listeners.push({ kind, listener }),
  fetch: async (path, options) => answer(path, options),
  WebSocket: class {
    constructor() { sockets.push(this); }
    close() {}
  },
});
const { createSession } = await import('../js/ui/session.js');
const { createRoom } = await import('../js/ui/room.js');

const event = (seq) => ({ seq: String(seq), at: String(seq), node: 1, cause: '0', rule: '',
  event: 'NodePaused', fields: {} });
const events = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => event(from + i));
function stateAfter(seq) {
  const state = create();
  for (const each of events(1, seq)) apply(state, each);
  return state;
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

/** A page whose stream began after event 100, and that has seen event 110. */
function page() {
  const looked = [];
  let room = null;
  const nothing = () => {};
  const session = createSession({ world: '/api/worlds/main', token: '', mayAct: () => false,
    command: nothing, onEvents: nothing, onArrived: nothing, onStatus: nothing,
    onViolations: nothing, onRoom: (frame) => room.take(frame) });
  const act = { joinAt: ({ topic }) => looked.push(topic) };
  room = createRoom({ session, act, ui: { follow: null }, scene: () => ({ focus }) });
  const socket = sockets.at(-1);
  const receive = (frame) => socket.onmessage({ data: JSON.stringify(frame) });
  receive({ type: 'snapshot', run: 'a', seq: '100', state: toJSON(stateAfter(100)) });
  receive({ type: 'events', events: events(101, 110) });
  const lead = (seq) => receive({ type: 'room', viewers: 1,
    place: { world: 'main', page: '/', seq: String(seq), topic: 'orders', partition: 0 } });
  return { session, room, looked, receive, lead };
}

/** The server's trace of what it keeps, from event 41 on. */
function traceOf(path) {
  const query = new URLSearchParams(path.split('?')[1]);
  const [from, to] = [Number(query.get('from') ?? 41), Number(query.get('to'))];
  if (from < 41 || from > to) return { ok: false, status: 404 };
  const lines = [{ highwater: 'trace', version: 1 },
    { keyframe: String(from - 1), state: toJSON(stateAfter(from - 1)) }, ...events(from, to)];
  return { ok: true, status: 200, blob: async () => new Blob([lines.map((line) =>
    JSON.stringify(line)).join('\n')]) };
}

/** Lets a page draw, some frames a second. @param {number} from @param {number} to in seconds */
async function draw({ room }, from, to) {
  for (let now = from * 1000; now <= to * 1000; now += 200) {
    room.tick(now);
    await settled();
  }
}

// What is older than the page is asked for until it is there, though asking fails at first: the
// oldest event that the page has is no place to stay at.
for (const failure of [() => { throw new TypeError('failed to fetch'); },
  async () => ({ ok: false, status: 503 }), async () => ({ ...traceOf('?from=50&to=90') })]) {
  answer = failure;
  const viewer = page();
  viewer.lead(60);
  await draw(viewer, 0, 1);
  assert.deepEqual(viewer.looked, [], 'it is on its way');
  answer = traceOf;
  await draw(viewer, 1, 2);
  assert.deepEqual([viewer.session.seq(), viewer.looked], [60, ['orders']]);
}

// What the server no longer keeps nobody can see: then the oldest moment, of what is looked at.
answer = traceOf;
const late = page();
late.lead(7);
await draw(late, 0, 2);
assert.deepEqual([late.session.seq(), late.looked], [40, ['orders']]);

// The newest event is a moment too, and later ones do not take the viewer along.
const still = page();
await settled();
still.lead(110);
await draw(still, 0, 0);
still.receive({ type: 'events', events: events(111, 120) });
assert.deepEqual([still.session.seq(), still.session.film.last], [110, 120]);
still.lead('');
await draw(still, 1, 1);
assert.equal(still.session.seq(), 120);

// The page of a presenter tells where it is once, and again when it is used: another one may have
// taken the viewers along since.
metas.token = 'lead';
const told = [];
answer = (path, { body, method } = {}) => {
  if (method !== 'POST') return traceOf(path);
  told.push(JSON.parse(body).world);
  return { ok: true, status: 200, json: async () => ({}) };
};
const leader = page();
await settled();
let now = 0;
const pass = async () => {
  for (const end = now + 2000; now < end; now += 200) leader.room.tick(performance.now() + now);
  await settled();
};
await pass();
assert.deepEqual(told, ['main']);
for (const kind of ['focus', 'pointerdown', 'keydown']) {
  told.length = 0;
  for (const each of listeners) if (each.kind === kind) each.listener();
  await pass();
  assert.deepEqual(told, ['main'], kind);
}

// A trace file's topics are not the cluster's: viewers stay where they were.
told.length = 0;
answer = async (path, { body }) => {
  told.push(JSON.parse(body));
  return { ok: true, status: 200, json: async () => ({}) };
};
focus = { topic: 'of-the-file', partition: 3 };
leader.session.file = { name: 'a trace' };
await pass();
assert.deepEqual(told.map(({ topic, partition, away }) => [topic, partition, away]), [['', 0, true]]);
