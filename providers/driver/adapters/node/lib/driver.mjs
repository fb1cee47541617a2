// SPDX-License-Identifier: MIT
// The driver's side of the protocol: requests in, answers out, cancels in between.

import { DriverError, toWire } from './errors.mjs';
import { FrameWriter, maxFrame, readFrames } from './frames.mjs';

const protocol = 1;
const smallestFrame = 65536;

/** What a call or a process is cancelled by: an AbortSignal for the subject, and what its reason was on the wire. */
export class Cancel {
	#controller = new AbortController();
	#watchers = [];
	code;
	text;

	get signal() {
		return this.#controller.signal;
	}

	/** The object that the signal carries; undefined until it fired. */
	get reason() {
		return this.#controller.signal.reason;
	}

	/** Calls `fn` when it fires, before the subject hears of it; of no listener on the signal, since those are counted. */
	fired(fn) {
		if (this.signal.aborted)
			fn();
		else
			this.#watchers.push(fn);
	}

	/** The first one counts. */
	fire({ code, reason = '' }) {
		if (this.signal.aborted)
			return;
		this.code = code === 'timed-out' ? 'timed-out' : 'aborted';
		this.text = reason;
		this.#watchers.forEach((fn) => fn());
		this.#controller.abort(new DOMException(reason, this.code === 'aborted' ? 'AbortError' : 'TimeoutError'));
	}
}

/**
 * Serves one client. `subjects` maps a kind (`provider`, `store`, `lock`) to an object with `describe()`, what `initialize`
 * tells of it, and `methods`, a Map of functions `(params, call)`; `call.cancel` is the call's, `call.violation(text)` tells
 * of something that no answer can show.
 */
export class Driver {
	#subjects;
	#methods = new Map();
	#cancellable = new Map();
	#inFlight = new Map();
	#out;
	#ready = false;

	constructor(subjects, name = 'sandproof-driver') {
		this.#subjects = subjects;
		this.name = name;
		for (const subject of Object.values(subjects)) {
			for (const [method, run] of subject.methods)
				this.#methods.set(method, run);
			subject.attach?.(this);
		}
	}

	/** Serves until the input ends; rejects where the client broke the protocol. */
	serve(input, output) {
		this.#out = new FrameWriter(output);
		return new Promise((resolve, reject) => {
			readFrames(input, (frame) => this.#frame(frame), (error) => error ? reject(error) : resolve());
		});
	}

	/** What `$/cancel` names besides calls: `kind` is "process", `find` gives the Cancel of a handle. */
	cancellable(kind, find) {
		this.#cancellable.set(kind, find);
	}

	notify(method, params) {
		this.#out.write({ jsonrpc: '2.0', method, params });
	}

	#frame({ id, method, params = {} }) {
		if (typeof method !== 'string')
			return;
		if (id !== undefined)
			this.#request(id, method, params);
		else if (method === '$/cancel')
			this.#cancelled(params);
	}

	#cancelled(params) {
		if (params.id !== undefined)
			this.#inFlight.get(params.id)?.fire(params);
		for (const [kind, find] of this.#cancellable) {
			if (params[kind] !== undefined)
				find(params[kind])?.fire(params);
		}
	}

	async #request(id, method, params) {
		const cancel = new Cancel();
		let answer;

		this.#inFlight.set(id, cancel);
		// A cancel that fired before the call is there before the subject is asked.
		if (params.cancelled)
			cancel.fire(params.cancelled);
		try {
			answer = { result: await this.#run(method, params, cancel) ?? {} };
		} catch (error) {
			answer = { error: toWire(error, cancel.signal.aborted ? cancel : undefined) };
		}
		this.#inFlight.delete(id);
		this.#answer(id, answer);
	}

	#answer(id, answer) {
		try {
			this.#out.write({ jsonrpc: '2.0', id, ...answer });
		} catch (error) {
			this.#out.write({ jsonrpc: '2.0', id, error: toWire(error) });
		}
	}

	#run(method, params, cancel) {
		if (method === 'initialize')
			return this.#initialize(params);
		const run = this.#methods.get(method);

		if (!this.#ready)
			throw new DriverError('invalid', `${method} before initialize`);
		if (!run)
			throw new DriverError('unsupported', `${this.name} has no ${method}`);
		return run(params, { cancel, violation: (message) => this.notify('$/violation', { message }) });
	}

	#initialize(params) {
		const result = { protocol, driver: { name: this.name, version: process.version } };

		if (!(params.protocol >= protocol))
			throw new DriverError('unsupported', `this driver speaks version ${protocol} of the protocol`);
		if (params.limits?.max_frame >= smallestFrame)
			this.#out.limit = Math.min(params.limits.max_frame, maxFrame);
		for (const [kind, subject] of Object.entries(this.#subjects))
			result[kind] = subject.describe();
		this.#ready = true;
		return result;
	}
}

/**
 * Calls a function of a subject. It owes a promise: one that throws at once, or answers at once, broke its interface even
 * if a caller who awaits cannot tell.
 */
export async function owed(name, call) {
	let promise;

	try {
		promise = call();
	} catch (error) {
		throw new DriverError('protocol', `${name}() threw at once instead of rejecting: ${error?.message ?? error}`);
	}
	if (typeof promise?.then !== 'function')
		throw new DriverError('protocol', `${name}() answered at once instead of by a promise`);
	return promise;
}

/** Waits for a promise of a subject that takes no signal, until the caller's cancel fires. */
export function unlessCancelled(promise, cancel) {
	const { signal } = cancel;

	if (signal.aborted)
		return promise;
	return new Promise((resolve, reject) => {
		const stop = () => reject(signal.reason);

		signal.addEventListener('abort', stop, { once: true });
		promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
	});
}
