// SPDX-License-Identifier: MIT
// One fault each, of the kind that JSON hides. Every export is a subject that is healthy otherwise.

import { ToyLocks } from '../../toys/lock.mjs';
import { toyProvider } from '../../toys/provider.mjs';
import { ToyStore } from '../../toys/store.mjs';

// ---- stores ----

/** Answers a record whose absent fields are keys without a value. */
export class UndefinedKeys extends ToyStore {
	async get(key, options) {
		const record = await super.get(key, options);

		return record && { latestSnapshotId: undefined, latestRunId: undefined, ...record };
	}
}

/** Answers null for absent fields. */
export class NullFields extends ToyStore {
	async get(key, options) {
		const record = await super.get(key, options);

		return record && { latestSnapshotId: null, latestRunId: null, ...record };
	}
}

/** Answers undefined for a missing record. */
export class UndefinedRecord extends ToyStore {
	async get(key, options) {
		return await super.get(key, options) ?? undefined;
	}
}

/** Keeps the caller's object. */
export class KeepsInput extends ToyStore {
	#given = new Map();

	async get(key, options) {
		const record = await super.get(key, options);

		return record && { ...this.#given.get(key) };
	}

	async upsert(record, options) {
		await super.upsert(record, options);
		this.#given.set(record.key, record);
	}
}

/** Answers its own object. */
export class GivesOwn extends ToyStore {
	#own = new Map();

	async get(key, options) {
		return await super.get(key, options) && this.#own.get(key);
	}

	async upsert(record, options) {
		await super.upsert(record, options);
		this.#own.set(record.key, await super.get(record.key));
	}
}

/** Throws at once where a rejection is owed. */
export class ThrowsAtOnce extends ToyStore {
	get(key, options) {
		if (key === '' || key.length > 1024)
			throw Object.assign(new Error('a bad key'), { code: 'invalid' });
		return super.get(key, options);
	}
}

/** Answers at once where a promise is owed. */
export class AnswersAtOnce extends ToyStore {
	get() {
		return null;
	}
}

/** Answers something to a delete. */
export class DeleteAnswers extends ToyStore {
	async delete(key, options) {
		await super.delete(key, options);
		return true;
	}
}

/** Does not look at a signal that has fired before the call. */
export class IgnoresAborted extends ToyStore {
	upsert(record) {
		return super.upsert(record);
	}
}

// ---- locks ----

/** Lets everybody in at once. */
export class LetsAllIn extends ToyLocks {
	async withLock(key, fn) {
		return fn(new AbortController().signal);
	}
}

// ---- providers: `change` gets each sandbox of a healthy one ----

function changed(change, changeProvider = () => undefined) {
	return (options) => {
		const provider = toyProvider(options);

		for (const method of ['create', 'resume']) {
			const make = provider[method].bind(provider);

			provider[method] = async (input) => {
				const sandbox = await make(input);

				if (sandbox)
					change(sandbox);
				return sandbox;
			};
		}
		changeProvider(provider);
		return provider;
	};
}

/** Rejects an abort by an error of its own. */
export const otherReason = changed(({ process }) => {
	const { exec } = process;

	process.exec = (command, options) => exec(command, options).catch((error) => {
		throw error === options.signal?.reason ? new DOMException('This operation was aborted', 'AbortError') : error;
	});
});

/** Answers an aborted exec as if it had ended well. */
export const abortIsSuccess = changed(({ process }) => {
	const { exec } = process;

	process.exec = (command, options) => exec(command, options).catch((error) => {
		if (error !== options.signal?.reason)
			throw error;
		return { stdout: '', stderr: '', exitCode: 0 };
	});
});

/** Leaves its listener on the caller's signal when the process has ended. */
export const keepsListener = changed(({ process }) => {
	const { spawn } = process;

	process.spawn = (command, options) => {
		options.signal?.addEventListener('abort', () => undefined);
		return spawn(command, options);
	};
});

/** Starts a command although its signal had fired before. */
export const startsAborted = changed(({ process }) => {
	const { exec } = process;

	process.exec = (command, { signal, ...options } = {}) => exec(command, signal?.aborted ? options : { ...options, signal });
});

/** Throws at once where a rejection is owed. */
export const forkThrows = changed((sandbox) => {
	sandbox.fork = () => { throw new Error('no fork today'); };
});

/** Answers null as the code of a process that a signal ended. */
export const nullCode = changed(({ process }) => {
	const { spawn } = process;

	process.spawn = async (command, options) => {
		const child = await spawn(command, options);
		const wait = child.wait.bind(child);

		child.wait = async () => {
			const code = await wait();

			return code > 128 ? null : code;
		};
		return child;
	};
});

/** Declares other flags on a sandbox than on itself. */
export const twoDeclarations = changed((sandbox) => {
	sandbox.capabilities = { ...sandbox.capabilities, fork: false };
});

/** Answers undefined for a sandbox that is gone. */
export const undefinedForGone = changed(() => undefined, (provider) => {
	const resume = provider.resume.bind(provider);

	provider.resume = async (input) => await resume(input) ?? undefined;
});

/** Keeps the bytes that it was given instead of writing them at once. */
export const writesLate = changed(({ fs }) => {
	const { write, readBytes } = fs;
	const kept = new Map();

	fs.write = async (path, data) => {
		await write(path, data);
		kept.set(path, data);
	};
	fs.readBytes = async (path) => typeof kept.get(path) === 'object' ? new Uint8Array(kept.get(path)) : readBytes(path);
});
