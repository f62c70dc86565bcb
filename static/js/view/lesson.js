// The lesson's panel. The server drew its text; this module marks where the lesson stands, writes
// what each step saw, and grades the predictions.

import { h, icon, part, patch, setText } from './dom.js';

/** @param {object} view what the lesson's conductor knows of the moment */
export function drawLesson(view) {
	const moved = drawSteps(view);
	drawPredictions(view);
	drawTurns(view);
	drawFoot(view);
	if (moved) bringIntoSight(moved); // all that stands above it has its size now
}

/** What a step is on the screen: ahead of it, on it, or shown with what it found. */
function statusOf(step, { lesson, place }) {
	if (lesson.free) return step.index < lesson.from ? 'held' : 'ahead';
	if (step.index < place.shown) return step.status;
	return step.index === place.inside ? 'running' : 'ahead';
}

/** @returns {Element | undefined} the step of the moment, where it was another before */
function drawSteps(view) {
	let moved;
	const { lesson, place, isRunning } = view;
	const now = place.inside >= 0 ? place.inside : place.shown - (isRunning ? 0 : 1);
	for (const item of document.querySelectorAll('li[data-step]')) {
		const step = lesson.steps[Number(item.dataset.step)];
		const status = statusOf(step, view);
		const isNow = !lesson.free && step.index === now;
		if (item.dataset.status === status && item.classList.contains('now') === isNow) continue;
		item.dataset.status = status;
		item.classList.toggle('ahead', status === 'ahead');
		item.classList.toggle('now', isNow);
		if (isNow) item.setAttribute('aria-current', 'step');
		else item.removeAttribute('aria-current');
		drawMark(item.querySelector('.step-mark'), step, status);
		const seen = item.querySelector('.step-seen');
		const isSeen = status === 'held' || status === 'failed';
		setText(seen, isSeen ? step.seen : '');
		seen.hidden = !isSeen || lesson.free;
		if (isNow) moved = item;
	}
	return moved;
}

function drawMark(mark, step, status) {
	if (status === 'held') patch(mark, icon('check', step.checks ? 'holds' : 'done'));
	else if (status === 'failed') patch(mark, icon('cross', 'failed'));
	else patch(mark, String(step.index + 1));
}

/** After the panel has changed its size, the step of the moment is where it can be seen. */
export function keepInSight() {
	const now = document.querySelector('.step.now');
	if (now) bringIntoSight(now);
}

/** The step stands in the upper part of the panel, so that what comes next can be read. */
function bringIntoSight(item) {
	const body = part('lesson-body');
	const top = item.offsetTop - body.offsetTop;
	const isSeen = top >= body.scrollTop && top + item.offsetHeight <= body.scrollTop +
		body.clientHeight * 0.6;
	if (!isSeen) body.scrollTop = Math.max(0, top - body.clientHeight * 0.3);
}

function drawPredictions({ lesson, place, votes, asked, sections }) {
	for (const prediction of lesson.predictions) {
		const box = document.querySelector(`.predict[data-line="${prediction.line}"]`);
		const { first, last } = sections.get(prediction.section);
		const isOver = place.shown > last;
		const isClosed = isOver || (!lesson.free && lesson.done > first); // the run has begun to tell
		const right = isOver && !lesson.free ? prediction.right : -1;
		const mine = votes.get(prediction.line) ?? -1;
		const isAsked = asked.some((each) => each.line === prediction.line);
		const key = `${right}/${mine}/${isAsked}/${isClosed}`;
		if (box.dataset.drawn === key) continue;
		box.dataset.drawn = key;
		box.classList.toggle('asked', isAsked && mine < 0 && !isClosed);
		box.classList.toggle('revealed', right >= 0);
		for (const option of box.querySelectorAll('.option')) {
			const answer = Number(option.dataset.answer);
			option.classList.toggle('mine', answer === mine);
			option.classList.toggle('right', answer === right);
			option.setAttribute('aria-pressed', String(answer === mine));
			if (isClosed && option === document.activeElement) part('lesson-body').focus();
			option.disabled = isClosed;
			const letter = option.querySelector('.option-letter');
			if (answer === right) patch(letter, icon('check', 'right'));
			else patch(letter, 'ABCDEF'[answer]);
		}
		patch(box.querySelector('.predict-verdict'), verdictOf(right, mine, isClosed, prediction));
	}
}

function verdictOf(right, mine, isClosed, { seen }) {
	if (right < 0 && mine < 0) return isClosed ? 'You made no guess; the run will tell.' : null;
	if (right < 0) return 'The run will tell.';
	const found = h('code', null, seen.replace(/^holds: /, ''));
	if (mine < 0) return ['You made no guess. The run says: ', found];
	return [mine === right ? 'As you predicted: ' : 'It went another way: ', found];
}

/** What there was to see in each section that was shown to its end. */
function drawTurns({ lesson, place, sections, turns, act }) {
	for (const [section, { last }] of sections) {
		const box = part(`saw-${section}`);
		if (!box) continue;
		const isOver = !lesson.free && place.shown > last;
		if (!isOver) box.hidden = true;
		if (!isOver || (box.dataset.drawn === turns.key && !box.hidden)) continue;
		const items = turns.of(section);
		box.dataset.drawn = turns.key;
		box.hidden = !items.length;
		patch(box, [
			h('h3', null, 'What you just saw'),
			h(
				'ul',
				null,
				items.map((item) =>
					h(
						'li',
						{ key: item.seq },
						h('button', { onClick: () => act.seek(item.seq) }, item.text),
					),
				),
			),
		]);
	}
}

function drawFoot({ lesson, place, isPlaying, isRunning, note, story, isGone, mayRun }) {
	const panel = part('lesson');
	panel.dataset.shown = place.shown;
	panel.dataset.done = lesson.done;
	const doing = isRunning ? 'running' : isPlaying ? 'showing' : 'still';
	panel.dataset.state = isGone ? 'gone' : doing;
	const total = lesson.steps.length;
	const shown = lesson.free ? lesson.from : place.shown;
	const count = lesson.free ? `free play from step ${shown}` : `${shown} of ${total}`;
	setText(part('lesson-count'), count);
	part('lesson-bar').style.transform = `scaleX(${total ? shown / total : 0})`;
	part('lesson-progress').setAttribute('aria-valuenow', String(shown));
	setText(part('lesson-note'), note);
	part('lesson-note').hidden = !note;
	const isShowing = isPlaying || place.inside >= 0;
	part('lesson-skip').hidden = lesson.free || !isPlaying;
	part('lesson-moves').hidden = story;
	if (lesson.free) return;
	part('story-skip').hidden = !story;
	const isOver = shown === total && !isGone;
	const isStuck = shown === lesson.done && !isShowing && !isGone &&
		(lesson.failure !== '' || !mayRun);
	part('lesson-back').disabled = isGone || (place.shown === 0 && place.inside < 0);
	part('lesson-next').disabled = isRunning || isOver || isStuck;
	setText(part('lesson-next-word'), wordOf(isGone, isShowing, shown < lesson.done));
}

function wordOf(isGone, isShowing, isBehind) {
	if (isGone) return 'Start again';
	if (isShowing) return 'To its end';
	return isBehind ? 'Again' : 'Next step';
}
