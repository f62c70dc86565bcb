// The way to the cluster: commands and the bytes of a batch, over HTTP.

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? '';

/** @returns {string} the path under which this page's world answers */
export const worldPath = () => `/api/worlds/${encodeURIComponent(meta('world') || 'main')}`;

/** Runs one command.
 *  @param {string} command
 *  @returns {Promise<{ok: boolean, error?: string, position?: number, hint?: string,
 *    result?: *}>} */
export async function runCommand(command) {
	try {
		const response = await fetch(`${worldPath()}/commands`, {
			method: 'POST',
			headers: { 'Content-Type': 'application/json', 'X-Highwater-Token': meta('token') },
			body: JSON.stringify({ command }),
		});
		const answer = await response.json().catch(() => ({}));
		if (response.ok) return { ok: true, ...answer };
		const error = answer.error ?? `The server answered ${response.status}.`;
		return { ok: false, error, position: answer.position, hint: answer.hint };
	} catch {
		return { ok: false, error: 'The server cannot be reached.' };
	}
}

/** Reads the batch that holds an offset from one broker's log.
 *  @returns {Promise<import('../view/batch.js').Bytes>} */
export async function readBatch({ node, topic, partition, offset }) {
	const query = new URLSearchParams({ node, topic, partition, offset });
	const response = await fetch(`${worldPath()}/batch?${query}`);
	const answer = await response.json().catch(() => ({}));
	if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
	const bytes = Uint8Array.from(atob(answer.bytes ?? ''), (c) => c.charCodeAt(0));
	return { ...answer, bytes, fields: answer.fields ?? [], records: answer.records ?? [] };
}

/** A word of the command language; what has spaces or signs in it is quoted.
 *  @param {string} text */
export const word = (text) =>
	/^[\w.:/-]+$/.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
