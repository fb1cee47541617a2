// SPDX-License-Identifier: MIT
// A small instance store that keeps its promises as long as its process lives. Replace the Map by your database.

const required = ['key', 'provider', 'providerSandboxId', 'threadId'];
const optional = ['latestSnapshotId', 'latestRunId'];
// Bytes of the longest key and of the longest other text.
const limits = { key: 1024, other: 65536 };

function check(name, value) {
	const limit = limits[name] ?? limits.other;

	if (typeof value !== 'string' || (name === 'key' && value === '') || Buffer.from(value).toString() !== value)
		throw Object.assign(new Error(`${name} is no text`), { code: 'invalid' });
	if (Buffer.byteLength(value) > limit)
		throw Object.assign(new Error(`${name} is longer than ${limit} bytes`), { code: 'invalid' });
}

// A copy whose absent fields are no keys at all.
function copyOf(record) {
	const copy = {};

	for (const name of required) {
		check(name, record[name]);
		copy[name] = record[name];
	}
	for (const name of optional) {
		if (record[name] === undefined)
			continue;
		check(name, record[name]);
		copy[name] = record[name];
	}
	if (!Number.isSafeInteger(record.updatedAt) && typeof record.updatedAt !== 'bigint')
		throw Object.assign(new Error('updatedAt is no integer'), { code: 'invalid' });
	copy.updatedAt = record.updatedAt;
	return copy;
}

export class ToyStore {
	#records = new Map();

	async get(key, { signal } = {}) {
		signal?.throwIfAborted();
		check('key', key);
		const record = this.#records.get(key);

		return record ? { ...record } : null;
	}

	async upsert(record, { signal } = {}) {
		signal?.throwIfAborted();
		const copy = copyOf(record);

		this.#records.set(copy.key, copy);
	}

	async delete(key, { signal } = {}) {
		signal?.throwIfAborted();
		check('key', key);
		this.#records.delete(key);
	}
}
