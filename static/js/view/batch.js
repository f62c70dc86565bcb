// The bytes of one record batch: the 61 bytes of its header field by field, its records,
// and all of it in hexadecimal.

import { shortOffset } from '../layout/format.js';
import { holds, isPicked } from '../layout/where.js';
import { cls, h, icon } from './dom.js';

const BYTES_PER_ROW = 8;
const ROWS_MOST = 48;
const HEADER_BYTES = 61;
const TINTS = 6;
const EMPTY = '“”';

/**
 * @typedef {object} Bytes what the server read from the log
 * @property {Uint8Array} bytes
 * @property {{name: string, offset: number, size: number, value: string}[]} fields
 * @property {object[]} records
 * @property {boolean} [crcHolds] whether the checksum in the header is the right one
 */

export function drawBatch(view) {
	const { ui, act, scene } = view;
	if (!ui.select) return note('Pick a record to see the bytes of its batch.');
	const { batch } = ui;
	const follow = drawFollow(view);
	if (batch.status === 'loading') return [follow, note('Reading the log.')];
	if (batch.status === 'failed') return [follow, note(batch.text), drawSummary(scene, ui.select)];
	if (batch.status !== 'read') return follow;
	return [
		follow,
		drawGone(scene, ui.select, batch),
		drawFields(ui, act, batch),
		drawHex(ui, batch),
		drawSum(batch),
	];
}

/** The passport is about the record that is followed, which may be another than the one picked. */
function drawFollow({ ui, act, scene }) {
	if (isPicked(scene, ui)) return note('This record is followed: the passport is its own.');
	return [
		h('button', { class: 'dump', key: 'follow', testid: 'follow',
			onClick: act.followPicked },
		'Follow this record ', h('kbd', null, 'F')),
		ui.follow && h('button', { class: 'dump', key: 'pick',
			testid: 'pick-followed', onClick: act.pickFollowed },
		`Show the followed ${ui.follow.key || `offset ${shortOffset(ui.follow.offset)}`}`),
	];
}

/** The bytes are those on the disk now; at the moment that is shown others may have been there. */
function drawGone({ focus }, { node, offset, epoch }, { fields }) {
	const now = Number(fields.find(({ name }) => name === 'PartitionLeaderEpoch')?.value ?? epoch);
	if (epoch === undefined || epoch < 0) return null;
	if (now !== epoch) {
		return note(`Gone from broker ${node}: these bytes are of epoch ${now}, not ${epoch}.`);
	}
	if (!focus || holds(focus.copies.get(node), { offset, epoch })) return null;
	return note(`Broker ${node} does not hold this record at the moment that is shown.`);
}

const note = (text) => h('p', { class: 'inspector-empty' }, text);

/** Without the bytes, what the events told about the batch. */
function drawSummary({ focus }, select) {
	const copy = focus?.copies.get(select.node);
	const found = copy?.batches.find((b) => b.base <= select.offset && select.offset <= b.last);
	if (!found) return null;
	const items = [
		['base offset', shortOffset(found.base)],
		['last offset', shortOffset(found.last)],
		['records', found.records],
		['bytes', shortOffset(found.bytes)],
		['leader epoch', found.epoch],
		['producer id', found.producerId],
		['first sequence', found.sequence],
		['codec', found.codec],
	];
	return h(
		'div',
		{ class: 'partition' },
		h(
			'dl',
			null,
			items.map(([name, value]) => [
				h('dt', { key: name }, name),
				h('dd', { key: `${name}-value` }, value),
			]),
		),
	);
}

/** Header fields, then one line a record. */
function linesOf({ fields, records }) {
	const lines = fields.map((field) => ({ ...field, at: field.offset }));
	for (const record of records) {
		const headers = record.headers.map(({ key, value }) => `${key}=${value}`);
		lines.push({
			at: NaN,
			name: record.key || EMPTY,
			value: [record.value || EMPTY, ...headers].join(' · '),
			isRecord: true,
		});
	}
	return lines;
}

function drawFields(ui, act, batch) {
	return h(
		'ol',
		{ class: 'fields', testid: 'batch-fields' },
		linesOf(batch).map((line, i) =>
			h(
				'li',
				{
					key: i,
					class: cls('field', { picked: i === ui.field, record: line.isRecord }),
					'data-tint': i % TINTS,
					testid: line.isRecord ? null : `field-${line.name}`,
					onPointerenter: () => act.pickField(i),
				},
				h('i', null, Number.isNaN(line.at) ? '·' : hex(line.at)),
				h('span', { class: 'field-name' }, line.name),
				h('span', { class: 'field-value', title: line.value }, line.value),
				h('span', { class: 'field-size' }, line.size || ''),
			),
		),
	);
}

function drawHex(ui, batch) {
	const { bytes } = batch;
	const lines = linesOf(batch);
	const owner = new Array(bytes.length);
	lines.forEach((line, i) => {
		for (let at = line.at; at < line.at + line.size && at < bytes.length; at += 1) owner[at] = i;
	});
	const count = Math.min(ROWS_MOST, Math.ceil(bytes.length / BYTES_PER_ROW));
	return h(
		'div',
		{ class: 'hex', testid: 'batch-hex' },
		Array.from({ length: count }, (_, row) => {
			const start = row * BYTES_PER_ROW;
			const slice = Array.from(bytes.slice(start, start + BYTES_PER_ROW));
			return h(
				'div',
				{ class: 'hex-row', key: row },
				h('span', { class: 'hex-at' }, hex(start)),
				slice.map((byte, i) => drawByte(byte, start + i, owner, ui.field)),
				h('span', { class: 'hex-text' }, slice.map(printable).join('')),
			);
		}),
	);
}

function drawByte(byte, at, owner, picked) {
	const line = owner[at];
	return h(
		'b',
		{
			key: at,
			class: cls('byte', {
				picked: line !== undefined && line === picked,
				first: owner[at - 1] !== line,
			}),
			'data-tint': line === undefined ? null : line % TINTS,
		},
		byte.toString(16).padStart(2, '0'),
	);
}

function drawSum({ bytes, crcHolds, note: remark }) {
	const shown = ROWS_MOST * BYTES_PER_ROW;
	const more = bytes.length > shown ? ` The first ${shown} are shown.` : '';
	const records = shortOffset(Math.max(0, bytes.length - HEADER_BYTES));
	return h(
		'p',
		{ class: 'hex-sum' },
		icon(crcHolds === false ? 'warning' : 'check'),
		h(
			'span',
			null,
			`${shortOffset(bytes.length)} bytes: ${HEADER_BYTES} of header, ${records} of records.` +
				more +
				crcText(crcHolds) +
				(remark ? ` ${remark}` : ''),
		),
	);
}

const crcText = (holds) => {
	if (holds === undefined) return '';
	return holds ? ' CRC-32C agrees.' : ' CRC-32C does not agree.';
};

const hex = (number) => number.toString(16).padStart(3, '0');

const printable = (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·');
