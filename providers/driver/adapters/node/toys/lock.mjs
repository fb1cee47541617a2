// SPDX-License-Identifier: MIT
// A small lock store that keeps its promises within one process: one holder a key, waiters in order. Replace it by your
// own service; where a holder can lose its lock, abort the signal that fn gets.

export class ToyLocks {
	#queues = new Map();

	async withLock(key, fn, { signal } = {}) {
		await this.#enter(key, signal);
		try {
			return await fn(new AbortController().signal);
		} finally {
			this.#leave(key);
		}
	}

	#enter(key, signal) {
		signal?.throwIfAborted();
		const queue = this.#queues.get(key);

		if (!queue) {
			this.#queues.set(key, []);
			return undefined;
		}
		return new Promise((resolve, reject) => {
			const abort = () => {
				queue.splice(queue.indexOf(enter), 1);
				reject(signal.reason);
			};
			const enter = () => {
				signal?.removeEventListener('abort', abort);
				resolve();
			};

			queue.push(enter);
			signal?.addEventListener('abort', abort, { once: true });
		});
	}

	#leave(key) {
		const next = this.#queues.get(key).shift();

		// Keys that nobody wants are forgotten.
		if (next)
			next();
		else
			this.#queues.delete(key);
	}
}
