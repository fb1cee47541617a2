// SPDX-License-Identifier: MIT
// lock/*: a LockStore (withLock) behind the protocol.

import { unlessCancelled } from './driver.mjs';
import { DriverError } from './errors.mjs';
import { show, toInt } from './values.mjs';

const nobody = Object.freeze({ lease: false, multi_process: false, fence: false });

/**
 * A lock store as a subject of a Driver: a lease is a function under the lock that has not returned yet. The function may be
 * handed an AbortSignal that fires when the lease is lost, and after it a fencing token. `options.capabilities` is the
 * declaration, since the interface has none.
 */
export class LockSubject {
	#locks;
	#options;
	#leases = new Map();
	#count = 0;
	#driver;

	methods = new Map(Object.entries({
		'lock/acquire': (params, call) => this.#acquire(params, call),
		'lock/release': (params) => this.#release(params),
	}));

	constructor(locks, options = {}) {
		this.#locks = locks;
		this.#options = options;
	}

	attach(driver) {
		this.#driver = driver;
	}

	describe() {
		return { capabilities: { ...nobody, ...this.#options.capabilities } };
	}

	async #acquire({ key }, { cancel }) {
		const held = this.#hold(key, cancel);
		const lease = await unlessCancelled(held.begun, cancel).catch((error) => {
			// Whoever has given up leaves as soon as it is let in.
			held.leave();
			throw error;
		});

		return { lease, fence: toInt(held.fence ?? 0, 'the fencing token') };
	}

	// withLock() as two halves: `begun` resolves within the function under the lock, `leave` lets that function return.
	#hold(key, cancel) {
		const held = {};
		const left = new Promise((resolve) => { held.leave = resolve; });

		held.begun = new Promise((resolve, reject) => {
			const work = (signal, fence) => {
				held.fence = fence;
				resolve(this.#begin(held, signal));
				return left;
			};
			try {
				held.ended = Promise.resolve(this.#locks.withLock(key, work, { signal: cancel.signal }));
			} catch (error) {
				throw new DriverError('protocol', `withLock() threw at once instead of rejecting: ${error?.message ?? error}`);
			}
			held.ended.then(() => reject(new DriverError('protocol', 'withLock() ended without its function')), reject);
		});
		return held;
	}

	#begin(held, signal) {
		const name = `l-${++this.#count}`;
		const lost = () => this.#driver.notify('lock/lost', { lease: name, reason: String(signal.reason?.message ?? signal.reason) });

		this.#leases.set(name, held);
		// The notification may not be there before the answer that names the lease.
		if (signal?.aborted)
			setImmediate(lost);
		else
			signal?.addEventListener('abort', () => setImmediate(lost), { once: true });
		return name;
	}

	async #release({ lease }) {
		const held = this.#leases.get(lease);

		if (!held)
			throw new DriverError('invalid', `there is no lease ${show(lease)}`);
		this.#leases.delete(lease);
		held.leave();
		// A lost lease ends its withLock() with an error, and frees nobody else's.
		await held.ended.catch(() => undefined);
	}
}
