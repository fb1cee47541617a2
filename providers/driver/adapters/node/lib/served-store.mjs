// SPDX-License-Identifier: MIT
// A driver's store and lock as SandboxInstanceStore and LockStore.

import { DriverError } from './errors.mjs';
import { recordFromWire, recordToWire } from './records.mjs';

/** A SandboxInstanceStore over a connection. An absent field of a record is no key of it. */
export class ServedStore {
	#connection;

	constructor(connection) {
		if (!connection.offers.store)
			throw new DriverError('unsupported', 'this driver offers no store');
		this.#connection = connection;
	}

	async get(key) {
		const { record } = await this.#connection.call('store/get', { key });

		return record === null ? null : recordFromWire(record);
	}

	/** `fence` is the token of the lock under which it is written, where the store takes one. */
	async upsert(record, { fence } = {}) {
		const params = { record: recordToWire(withoutUndefined(record)) };

		if (fence !== undefined)
			params.fence = String(fence);
		await this.#connection.call('store/upsert', params);
	}

	async delete(key) {
		await this.#connection.call('store/delete', { key });
	}
}

function withoutUndefined(record) {
	return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

/** A LockStore over a connection. */
export class ServedLocks {
	#connection;
	// An AbortController for each lease that is held, or that was lost before its acquire was heard of.
	#leases = new Map();

	constructor(connection) {
		if (!connection.offers.lock)
			throw new DriverError('unsupported', 'this driver offers no lock');
		this.#connection = connection;
		connection.on('lock/lost', ({ lease, reason }) => this.#lease(lease).abort(new Error(reason || 'the lease was lost')));
	}

	#lease(name) {
		if (!this.#leases.has(name))
			this.#leases.set(name, new AbortController());
		return this.#leases.get(name);
	}

	/** Runs `fn(signal, fence)` as the one holder of `key`; the signal fires when the lease is lost. */
	async withLock(key, fn, { signal } = {}) {
		const { lease, fence } = await this.#connection.call('lock/acquire', { key }, { signal });

		try {
			return await fn(this.#lease(lease).signal, BigInt(fence ?? 0));
		} finally {
			this.#leases.delete(lease);
			await this.#connection.call('lock/release', { lease });
		}
	}
}
