// The room: a presenter's page says where it is, and viewers' pages go there. How many watch is in
// the header of each.

import { part, setText } from '../view/dom.js';
import { ask, isPresenter, meta, open } from './commands.js';

const TELL_EVERY_MS = 120;
const AGAIN_AFTER_MS = 2000; // when the server did not take it
const RECALL_EVERY_MS = 300;
const KEY_MOST = 60; // characters of a followed record's key, which may be of any length
const MOVES = ['toggle', 'pause', 'play', 'step', 'back', 'seek', 'live'];

/** @param {{session: object, act: object, ui: object, scene: () => object}} page */
export function createRoom({ session, act, ui, scene }) {
	let isFollowing = !isPresenter();
	let place = null; // where the presenter is, as the server said last
	let isThere = true; // nothing is left to do to be where the presenter is
	let isLeaving = false;
	let told = '';
	let tellAt = 0;
	let recallAt = 0;

	/** Where this page is. A lesson's newest event has a number too: the viewers' pages stop there. */
	function placeNow() {
		const focus = session.file ? null : scene().focus; // a file's topics are not the cluster's
		const { follow } = ui;
		const isNewest = !session.isPast() && !session.hold;
		return {
			world: meta('world'),
			seq: isNewest || session.file ? '' : String(session.seq()),
			topic: focus?.topic ?? '',
			partition: focus?.partition ?? 0,
			follow: follow && { ...follow, key: follow.key.slice(0, KEY_MOST) },
			told: Boolean(session.isTold || (session.isPast() && session.isMoving())),
			away: Boolean(session.file),
		};
	}

	async function tell(now) {
		if (now < tellAt || !session.hasState) return;
		tellAt = now + TELL_EVERY_MS;
		const text = JSON.stringify(placeNow());
		if (text === told) return;
		told = text;
		tellAt = Infinity; // one at a time, so that the last one wins
		const answer = await ask('/api/room', JSON.parse(text));
		if (!answer.ok) told = '';
		tellAt = performance.now() + (answer.ok ? TELL_EVERY_MS : AGAIN_AFTER_MS);
	}

	/** Goes where the presenter is, as soon as this page has what is needed for it: older events are
	 *  read until none are left, and where the server keeps none so old the oldest one must do. */
	function join(now) {
		if (!isFollowing || isThere || !place || isLeaving || session.file) return;
		if (place.world !== meta('world')) {
			isLeaving = true;
			open(place.page, { instead: true });
			return;
		}
		if (!session.hasState) return;
		const { film } = session;
		let seq = place.seq === '' ? null : Number(place.seq);
		if (seq > film.last) return; // on its way
		if (seq !== null && seq < film.first && film.first > 1) {
			if (session.hasOlder()) {
				if (now < recallAt) return;
				recallAt = now + RECALL_EVERY_MS;
				session.recall();
				return;
			}
			seq = film.first;
		}
		isThere = true;
		if ((session.isPast() ? session.seq() : null) !== seq) session.moveTo(seq);
		// What is the newest event here may not be for long, and the presenter looks at it.
		if (seq !== null && !session.hold) session.pin();
		session.isTold = place.told;
		act.joinAt(place);
	}

	function follow(wanted) {
		isFollowing = wanted;
		isThere = false;
		draw();
	}

	function draw() {
		part('app').dataset.following = String(isFollowing);
		const button = part('follow-presenter');
		if (!button) return;
		button.setAttribute('aria-pressed', String(isFollowing));
		setText(button, isFollowing ? 'Look around' : 'Follow the presenter');
		const isAway = Boolean(isFollowing && place?.away);
		button.dataset.away = String(isAway);
		if (isAway) setText(button, 'The presenter reads a file');
	}

	function drawCount(viewers) {
		part('viewers').hidden = viewers === 0;
		setText(part('viewers'), viewers === 1 ? '1 viewer' : `${viewers} viewers`);
	}

	// Of several pages of presenters the one that is used is where viewers go, also if it does not
	// move: another one may have taken them along, and be closed.
	for (const kind of isPresenter() ? ['focus', 'pointerdown', 'keydown'] : []) {
		addEventListener(kind, () => { told = ''; }, true);
	}
	if (part('follow-presenter')) part('follow-presenter').onclick = () => follow(!isFollowing);
	bindShare();
	draw();

	/** The session as hands may move it: not at all while the presenter does. */
	const hands = Object.create(session, Object.fromEntries(MOVES.map((name) => [name, {
		value: (...args) => (isFollowing ? undefined : session[name](...args)),
	}])));

	return {
		hands,
		isFollowing: () => isFollowing,
		toggle: () => !isPresenter() && !session.file && follow(!isFollowing),
		/** Follows nobody, for good. */
		leave() {
			if (!isPresenter()) follow(false);
		},
		/** The stream is another one: what it brings may not be what the presenter sees. */
		renew() {
			isThere = false;
		},
		/** @param {{viewers: number, place: object|null}} frame */
		take(frame) {
			if (JSON.stringify(frame.place) !== JSON.stringify(place)) isThere = false;
			place = frame.place;
			drawCount(frame.viewers);
			draw();
		},
		tick(now) {
			if (isPresenter()) tell(now);
			else join(now);
		},
	};
}

/** The link is this page's own address with the viewers' token. */
function bindShare() {
	if (!part('open-share')) return;
	const link = part('share-link');
	const isLocal = /^(127\.0\.0\.1|localhost|\[::1\])$/.test(location.hostname);
	part('open-share').onclick = () => {
		link.value = `${location.origin}/?token=${encodeURIComponent(meta('viewer-token'))}`;
		setText(part('share-note'), isLocal
			? 'This address leads here from this machine only. For other machines start Highwater with ' +
				'--http ADDRESS:PORT and --token, and share from the page at that address.'
			: 'Who has the link can look until the server stops.');
		part('share').showModal();
		link.select();
	};
	part('share-copy').onclick = async () => {
		link.select();
		const isCopied = await copy(link.value);
		setText(part('share-note'), isCopied ? 'Copied.'
			: 'The browser lets no script copy here: the link is selected, copy it with Ctrl C.');
	};
}

/** Browsers give the clipboard only to pages that they trust. */
async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return document.execCommand('copy');
	}
}
