// The session: which moment of the cluster the page looks at. It joins the film of events
// with the live stream, and turns the transport's buttons into moves of the one or
// commands to the other.

import { createFilm } from '../model/film.js';
import { toJSON } from '../model/state.js';
import { namesOf, narrate, ruleText } from '../model/narrate.js';
import { connect } from '../source/live.js';
import { kinds } from '../protocol/kinds.js';
import { hasPin } from '../view/transport.js';

const PLAY_EVERY_MS = 320; // between two events while the past is played
const PINS_KEPT = 400;
const LIST_MOST = 150;
const SCAN_MOST = 6000;
const SCAN_CHUNK = 500;
const QUIET = /^Timer|^LogSynced$|^Metadata(Stored|Replayed|Committed)$/;

/** What a person steps through: everything but idle messages and machinery. */
const isVisible = (event) => event.fields?.idle !== true && !QUIET.test(event.event);
const isFact = (event) => kinds[event.event]?.class !== 'detail';

/**
 * @param {object} options
 * @param {string} options.url the websocket's address
 * @param {(command: string) => Promise<void>} options.command
 * @param {(events: object[]) => void} options.onEvents the events that were just shown
 */
export function createSession({ url, command, onEvents }) {
  const film = createFilm();
  const session = {
    cursor: null, // null: live; else the seq that is shown
    playing: false,
    status: 'connecting',
    detail: '',
    pace: { mode: 'live', rate: 1, paused: false },
    pins: [],
    gaps: 0,
    isDirty: true,
    hasState: false,
  };
  let playedAt = 0;

  const source = connect({
    url,
    lastSeq: () => (session.hasState ? film.last : 0),
    onSnapshot(state) {
      film.snapshot(state);
      session.hasState = true;
      if (session.cursor !== null && session.cursor < film.first) session.cursor = film.first;
      session.isDirty = true;
    },
    onEvents(events) {
      if (!events.length) return;
      film.add(events);
      addPins(events);
      if (session.cursor === null) onEvents(events);
      session.isDirty = true;
    },
    onGap(gap) {
      film.gap(gap);
      session.gaps += 1;
      session.isDirty = true;
    },
    onPace(pace) {
      session.pace = pace;
      session.isDirty = true;
    },
    onStatus(status, detail) {
      session.status = status;
      session.detail = detail ?? '';
      session.isDirty = true;
    },
  });

  function addPins(events) {
    for (const event of events) {
      if (!hasPin(event.event)) continue;
      const text = narrate(event, namesOf(film.head()));
      session.pins.push({ seq: Number(event.seq), kind: event.event, text });
    }
    if (session.pins.length > PINS_KEPT) session.pins.splice(0, session.pins.length - PINS_KEPT);
  }

  const seq = () => session.cursor ?? film.last;
  const state = () => (session.cursor === null ? film.head() : film.stateAt(session.cursor));

  function moveTo(next) {
    const before = seq();
    const isHead = next === null || next >= film.last;
    session.cursor = isHead ? null : Math.max(film.first, next);
    session.isDirty = true;
    const now = seq();
    if (now > before && now - before < SCAN_CHUNK) onEvents(film.events(before + 1, now));
  }

  return Object.assign(session, {
    film,
    source,
    seq,
    state,
    json: () => toJSON(state()),
    isPast: () => session.cursor !== null,
    isMoving: () => (session.cursor === null ? !session.pace.paused : session.playing),

    toggle() {
      if (session.cursor === null) {
        return command(session.pace.paused ? 'resume-time' : 'pause-time');
      }
      session.playing = !session.playing;
      session.isDirty = true;
      return undefined;
    },
    pause() {
      if (session.isMoving()) session.toggle();
    },
    play() {
      if (!session.isMoving()) session.toggle();
    },
    step() {
      session.playing = false;
      if (session.cursor === null) return command('step');
      return moveTo(film.next(session.cursor, isVisible));
    },
    back() {
      session.playing = false;
      const to = film.previous(seq(), isVisible);
      if (to !== null) {
        session.cursor = to;
        session.isDirty = true;
      }
    },
    seek(to) {
      session.playing = false;
      moveTo(to);
    },
    live() {
      session.playing = false;
      session.cursor = null;
      session.isDirty = true;
      if (session.pace.paused || session.pace.mode !== 'live') command('live');
    },
    /** Plays the past on, one event at a time. */
    tick(now) {
      if (!session.playing || session.cursor === null || now - playedAt < PLAY_EVERY_MS) return;
      playedAt = now;
      moveTo(film.next(session.cursor, isVisible));
      if (session.cursor === null) session.playing = false;
    },

    /** The newest event that is worth a sentence. */
    saying() {
      const found = session.list({ onlyFacts: false, filter: '', most: 1 })[0];
      return found ? { seq: found.seq, text: found.text, why: found.why } : null;
    },

    /** Events up to the moment shown, newest first.
     *  @param {{onlyFacts: boolean, filter: string, most?: number}} wanted */
    list({ onlyFacts, filter, most = LIST_MOST }) {
      const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
      const names = namesOf(film.head());
      const found = [];
      const end = seq();
      for (let to = end; to >= film.first && found.length < most; to -= SCAN_CHUNK) {
        if (end - to > SCAN_MOST) break;
        const events = film.events(Math.max(film.first, to - SCAN_CHUNK + 1), to);
        for (let i = events.length - 1; i >= 0 && found.length < most; i -= 1) {
          const item = itemOf(events[i], onlyFacts, words, names);
          if (item) found.push(item);
        }
      }
      return found;
    },
  });
}

function itemOf(event, onlyFacts, words, names) {
  if (!isVisible(event) || (onlyFacts && !isFact(event))) return null;
  const text = narrate(event, names);
  if (words.length) {
    const all = `${event.event} ${text}`.toLowerCase();
    if (!words.every((word) => all.includes(word))) return null;
  }
  const { seq, at, event: kind } = event;
  return { seq: Number(seq), at: Number(at), kind, text, why: ruleText(event) };
}
