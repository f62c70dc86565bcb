// Where things stand. From the size of the stage to the boxes of its columns, in
// pixels; a pure function, run again only when the stage changes its size or somebody
// comes or goes.

/** Measures in rem. */
const WIDE = {
	pad: 0.9,
	air: 5.9,
	isr: 1.9,
	plinth: 5,
	quorum: 2.9,
	headroom: 4.1,
	producer: { least: 10.6, most: 13.5 },
	reader: { least: 6.2, most: 8 },
	broker: { most: 22 },
	ruler: 3.9,
	brokerGap: 0.9,
	readerGap: 1.2,
	readersGap: 0.5,
	pipe: 0.5,
	pipeGap: 0.32,
	laneTop: 1.6,
	lane: 2.3,
	card: 8.2,
	cardLine: 1, // each that a card has besides one of words and two of what it believes
	rest: 1.9,
};
/** Under the space-time diagram the stage is low: what can be broken and the clocks step back, and
 *  controllers stand at the right of the plinths, so that the records keep their size. */
const SHORT = { ...WIDE, air: 5.1, isr: 1.8, plinth: 3, quorum: 0, headroom: 2.9 };
const NARROW = {
	...WIDE,
	pad: 0.5,
	air: 3,
	isr: 2.7,
	plinth: 2.2,
	quorum: 1.9,
	headroom: 1.5,
	producer: { least: 0, most: 0 },
	reader: { least: 3.4, most: 3.4 },
	broker: { most: 20 },
	ruler: 0.2,
	brokerGap: 0.35,
	readerGap: 0.5,
	readersGap: 0,
	pipe: 0,
	pipeGap: 0,
};
const PIPES_FROM = 9.4; // rem of broker width
const PIPES_MOST = 5;
const COMPOSED_FOR = 64; // rem of stage width; what is wider is shared out
const HEXAGON = 2.4; // rem of a plinth that a controller without words takes
const SEND_FORM = 12.4; // rem that the form takes of the producers' column
const DIGITS_BESIDE = 1; // a larger offset stands under the name of its sign, and not beside it
const DIGIT = 0.57; // rem, of such an offset
const SIGN_EDGES = 1.1; // rem
const MENU = { width: 5, bottom: 1.9 }; // rem, of the readers that have no column
export const READERS_MOST = 2;

/** Names of the columns that stand for many clients. */
export const REST = '…';
export const producerColumn = (clientId) => `producer ${clientId}`;
export const readerColumn = (clientId) => `reader ${clientId}`;

/** @param {{width: number, height: number, unit: number, narrow: boolean, short: boolean,
 * producers: {id: string, isNamed: boolean, lines: number}[], hasForm: boolean, brokers: number[],
 * controllers: number[], readers: string[], pipes: number, digits: number}} stage digits: how long
 * the text of the largest offset is */
export function stageGeometry(stage) {
	const { width, height, unit, narrow, brokers } = stage;
	const { short } = stage;
	const shape = narrow ? NARROW : short ? SHORT : WIDE;
	const px = (rem) => rem * unit;
	const spare = Math.max(0, width / unit - COMPOSED_FOR) / 10;
	const grown = ({ least, most }) => px(Math.min(most, least + spare));

	// from the bottom up: quorum, plinth, in-sync chain, tank, air. In whole pixels: browsers leave
	// a line of the sea behind where it ended within one, and the stage becomes lower.
	const whole = (rem) => Math.round(px(rem));
	const quorum = { height: whole(shape.quorum), top: height - whole(shape.quorum) };
	const plinth = { height: whole(shape.plinth), top: quorum.top - whole(shape.plinth) };
	const isr = { height: whole(shape.isr), top: plinth.top - whole(shape.isr) };
	const air = whole(shape.air);
	const tank = { top: air, height: Math.max(whole(narrow ? 4.5 : 6), isr.top - air) };

	// from both ends inwards: producers and ruler, readers, and brokers between
	const producerWidth = grown(shape.producer);
	const readerWidth = grown(shape.reader);
	const most = narrow ? 1 : READERS_MOST;
	const slots = Math.max(narrow ? 0 : 1, Math.min(most, stage.readers.length));
	const between = px(shape.readersGap);
	const readersWidth = Math.max(0, slots * (readerWidth + between) - between);
	const ruler = px(rulerWidth(stage, shape));
	const left = px(shape.pad) + producerWidth + ruler;
	const right = width - px(shape.pad) - readersWidth - px(shape.readerGap);
	const gaps = (brokers.length - 1) * px(shape.brokerGap);
	const brokerWidth = Math.min(px(shape.broker.most), (right - left - gaps) / brokers.length);
	const slack = right - left - gaps - brokers.length * brokerWidth;
	const hasPipes = !narrow && brokerWidth >= px(PIPES_FROM);
	const pipes = hasPipes ? Math.min(stage.pipes, PIPES_MOST) : 0;
	const tankWidth = brokerWidth - pipes * px(shape.pipe + shape.pipeGap);
	const places = {
		...{ shape, px, tank, plinth, quorum, narrow, short, width, height },
		...{ producerWidth, readerWidth, readersWidth, brokerWidth, tankWidth, slots },
		firstBroker: left + slack / 2,
	};
	places.rows = producerRows(stage, places);
	const columns = columnsOf(stage, places);
	const first = brokers.length ? columns[brokers[0]].x : left;
	return {
		width, height, unit, narrow, short, shape, tank, isr, plinth, quorum, columns, pipes,
		floor: tank.top + tank.height,
		cellWidth: tankWidth / unit - 2.2, // rem, without epoch band and rail
		producers: { x: px(shape.pad), width: producerWidth, ...places.rows },
		readers: { x: width - px(shape.pad) - readersWidth, width: readersWidth },
		ruler: { x: first - ruler, width: ruler, isWide: stage.digits > DIGITS_BESIDE },
		sea: { x: first - px(shape.ruler) * 0.15, width: width - first + px(shape.ruler) * 0.15 },
	};
}

/** The ruler has room for the signs at it, which else would lie over whoever writes. */
const rulerWidth = ({ narrow, digits = 0 }, { ruler }) =>
	narrow || digits <= DIGITS_BESIDE ? ruler : Math.max(ruler, digits * DIGIT + SIGN_EDGES);

/** Who writes, from above: a named producer has a card with its accumulator as long as there is
 *  room, then a line like everybody else; those for whom there is none stand behind the last line.
 *  @returns {{rows: {id: string, isCard: boolean, top: number, height: number}[], rest: number,
 *  hidden: number}} */
function producerRows({ producers, hasForm }, { shape, px, height, short }) {
	const below = hasForm && !short ? SEND_FORM : shape.pad;
	const room = height - px(shape.laneTop + below);
	const isCard = producers.map((each) => each.isNamed);
	const tall = (i) => px(isCard[i] ? shape.card + shape.cardLine * producers[i].lines : shape.lane);
	let shown = producers.length;
	const used = () => {
		const rest = shown < producers.length ? px(shape.rest) : 0;
		return producers.slice(0, shown).reduce((sum, _, i) => sum + tall(i), rest);
	};
	while (used() > room && isCard.lastIndexOf(true) > 0) isCard[isCard.lastIndexOf(true)] = false;
	while (used() > room && shown > 1) shown -= 1;
	let top = px(shape.laneTop);
	const rows = producers.slice(0, shown).map(({ id }, i) => {
		const row = { id, isCard: isCard[i], top, height: tall(i) };
		top += row.height;
		return row;
	});
	return { rows, rest: top, hidden: producers.length - shown };
}

function columnsOf({ brokers, controllers, readers }, places) {
	const { shape, px, tank, quorum, narrow, short, width, brokerWidth, tankWidth } = places;
	const columns = {};
	const { rows, rest } = places.rows;
	const x = px(shape.pad) + places.producerWidth;
	if (!narrow) {
		for (const row of rows) {
			const y = row.top + Math.min(row.height, px(shape.lane)) / 2;
			columns[producerColumn(row.id)] = { kind: 'producer', port: { x, y } };
		}
		columns[producerColumn(REST)] = { kind: 'producer', port: { x, y: rest + px(0.8) } };
	}
	brokers.forEach((id, i) => {
		const x = places.firstBroker + i * (brokerWidth + px(shape.brokerGap));
		const port = { x: x + tankWidth / 2, y: tank.top };
		const foot = { x: x + brokerWidth / 2, y: quorum.top - px(short ? 0.4 : 0.25) };
		columns[id] = { kind: 'broker', x, width: brokerWidth, tankWidth, port, foot };
	});
	const span = brokers.length * (brokerWidth + px(shape.brokerGap));
	controllers.forEach((id, i) => {
		const room = span / controllers.length - px(shape.brokerGap);
		const width = short ? px(HEXAGON) : room;
		const left = places.firstBroker + (i * span) / controllers.length;
		const x = left + (short ? room - width : 0);
		const port = { x: x + px(1.1), y: quorum.top - px(short ? 0.4 : 0) };
		columns[id] = { kind: 'controller', x, width, port, foot: port };
	});
	const readersLeft = width - px(shape.pad) - places.readersWidth;
	for (let i = 0; i < places.slots; i += 1) {
		const x = readersLeft + i * (places.readerWidth + px(shape.readersGap));
		const column = { kind: 'reader', x, width: places.readerWidth };
		column.port = { x: x + places.readerWidth / 2, y: tank.top };
		columns[readerColumn(readers[i] ?? REST)] = column;
	}
	// Those without a column are behind the menu above the others.
	if (!narrow && readers.length > places.slots) {
		const port = { x: readersLeft + px(MENU.width / 2), y: px(MENU.bottom) };
		columns[readerColumn(REST)] = { kind: 'reader', port };
	}
	return columns;
}

/** The flight path between two columns: an arc that enters a log from above. Links to
 *  controllers run below the tanks.
 *  @returns {{d: string, at: (t: number) => {x: number, y: number}}} */
export function arc({ columns, tank, quorum, unit }, from, to) {
	const kinds = [columns[from].kind, columns[to].kind];
	if (kinds.includes('controller')) {
		return lowPath(columns[from].foot, columns[to].foot, quorum, unit);
	}
	const a = lean(columns, from, to, unit);
	const b = lean(columns, to, from, unit);
	const span = Math.abs(b.x - a.x);
	const rise = Math.min(tank.top - unit, unit * 1.5 + span * 0.2) / 0.75;
	// A line that stands beside the tanks rises first, so that its arc goes over them.
	const besideTheTanks = (end, span) => (end.y < tank.top - unit * 2
		? { x: end.x + span * 0.45, y: end.y - unit * 0.8 }
		: { x: end.x + unit * 2, y: tank.top - rise * 1.3 });
	const control = (end, kind) =>
		kind === 'producer'
			? besideTheTanks(end, span)
			: { x: end.x, y: tank.top - rise };
	return curve(a, control(a, kinds[0]), control(b, kinds[1]), b);
}

/** Below the levers and above the controllers, where nothing is written. */
function lowPath(a, b, quorum, unit) {
	const dip = quorum.top - unit * 0.25;
	return curve(a, { x: a.x, y: dip }, { x: b.x, y: dip }, b);
}

const curve = (a, p, q, b) => ({
	d: `M${a.x} ${a.y}C${p.x} ${p.y} ${q.x} ${q.y} ${b.x} ${b.y}`,
	at: (t) => ({ x: bezier(a.x, p.x, q.x, b.x, t), y: bezier(a.y, p.y, q.y, b.y, t) }),
});

/** Arcs into one log do not share a point: each leans towards its other end. */
function lean(columns, id, other, unit) {
	const { kind, port } = columns[id];
	if (kind !== 'broker') return port;
	const gap = columns[other].port.x - port.x;
	const by = Math.min(unit * 2, unit * 1.15 + Math.abs(gap) * 0.018);
	return { x: port.x + Math.sign(gap) * by, y: port.y };
}

const bezier = (a, b, c, d, t) => {
	const s = 1 - t;
	return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
};
