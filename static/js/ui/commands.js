// The way to the cluster: commands and the bytes of a batch, over HTTP.

const RENEW_MS = 10_000; // at most one reload in so long

/** @param {string} name @returns {string} what the server wrote into the page's head */
export const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? '';

/** @returns {boolean} whether this page may change anything */
export const isPresenter = () => meta('token') !== '';

/** The token that goes with a change. A viewer's own is refused with the reason. */
const ownToken = () => meta('token') || meta('viewer-token');

/** @returns {string} the path under which this page's world answers */
export const worldPath = () => `/api/worlds/${encodeURIComponent(meta('world') || 'main')}`;

/** Runs one command.
 *  @param {string} command
 *  @returns {Promise<{ok: boolean, error: string, position?: number, hint?: string,
 *    result?: *}>} */
export const runCommand = (command) => ask(`${worldPath()}/commands`, { command });

/** The program was started again and knows this page's token no more: it gives a new one, unless
 *  it asks for a token itself. */
function renew() {
	const key = 'renewed';
	if (Date.now() - Number(sessionStorage.getItem(key)) < RENEW_MS) return;
	sessionStorage.setItem(key, String(Date.now()));
	location.reload();
}

/** Asks the server: with a body to change something, without one to look.
 *  @param {string} path @param {object} [body]
 *  @returns {Promise<object>} the answer's fields, with ok and status */
export async function ask(path, body) {
	try {
		const headers = { 'X-Highwater-Token': ownToken() };
		if (body) headers['Content-Type'] = 'application/json';
		const response = await fetch(path,
			{ headers, method: body ? 'POST' : 'GET', body: body && JSON.stringify(body) });
		const answer = await response.json().catch(() => ({}));
		const { ok, status } = response;
		if (status === 401) renew();
		const error = answer.error ?? `The server answered ${status}`;
		return { ...answer, ok, status, error: ok ? '' : error };
	} catch {
		return { ok: false, status: 0, error: 'The server cannot be reached' };
	}
}

/** Goes to another page of this server. */
export const open = (page, { instead = false } = {}) => {
	const url = new URL(page, location.href);
	if (!isPresenter()) url.searchParams.set('token', meta('viewer-token'));
	// Where only the part behind the # differs the browser would not load anything.
	const isSame = url.pathname + url.search === location.pathname + location.search;
	if (instead || isSame) location.replace(url);
	else location.assign(url);
	if (isSame) location.reload();
};

/** Reads the batch that holds an offset from one broker's log.
 *  @param {{node: number, topic: string, topicId: string, partition: number, offset: number}} place
 *  @returns {Promise<import('../view/batch.js').Bytes>} */
export async function readBatch(place) {
	const query = new URLSearchParams(place);
	const answer = await ask(`${worldPath()}/batch?${query}`);
	if (!answer.ok) throw new Error(answer.error);
	const bytes = Uint8Array.from(atob(answer.bytes ?? ''), (c) => c.charCodeAt(0));
	return { ...answer, bytes, fields: answer.fields ?? [], records: answer.records ?? [] };
}

/** A word of the command language; what has spaces or signs in it is quoted.
 *  @param {string} text */
export const word = (text) =>
	/^[\w.:/-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
