// SPDX-License-Identifier: MIT
// The client's side of the protocol: a driver that is started, or one that listens on a Unix socket.

import { spawn } from 'node:child_process';
import { connect as connectSocket } from 'node:net';
import { once } from 'node:events';

import { DriverError, nameOf } from './errors.mjs';
import { FrameWriter, readFrames } from './frames.mjs';

const protocol = 1;

export class Connection {
	#ids = 0;
	#pending = new Map();
	#listeners = new Map();
	#channel;
	#out;
	#gone;

	/** What `initialize` answered. */
	offers;

	constructor(channel) {
		this.#channel = channel;
		this.#out = new FrameWriter(channel.output);
		channel.output.on('error', (error) => this.#fail(error));
		readFrames(channel.input, (frame) => this.#frame(frame), (error) =>
			this.#fail(error ?? new DriverError('unavailable', 'the driver closed the channel')));
		channel.idle(true);
	}

	async initialize() {
		this.offers = await this.call('initialize', { protocol, client: { name: 'sandproof-driver (node)' } });
		if (this.offers.protocol !== protocol)
			throw new DriverError('unsupported', `the driver speaks version ${this.offers.protocol} of the protocol, not ${protocol}`);
		if (this.offers.limits?.max_frame)
			this.#out.limit = this.offers.limits.max_frame;
		return this;
	}

	/**
	 * Calls a method. An abort of `signal` goes to the driver, whose answer is the call's; where it answers "aborted" the
	 * signal's own reason is thrown. `cancelled` is what to send instead of a `$/cancel` of the call's id.
	 */
	async call(method, params = {}, { signal } = {}) {
		signal?.throwIfAborted();
		if (this.#gone)
			throw this.#gone;
		const id = ++this.#ids;
		const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
		const abort = () => this.cancel({ id }, signal);

		try {
			this.#out.write({ jsonrpc: '2.0', id, method, params });
			this.#channel.idle(false);
			signal?.addEventListener('abort', abort, { once: true });
			return await answer;
		} catch (error) {
			const ours = signal?.aborted && (error.code === 'aborted' || error.code === 'timed-out');

			throw ours ? signal.reason : error;
		} finally {
			signal?.removeEventListener('abort', abort);
			this.#pending.delete(id);
			this.#channel.idle(this.#pending.size === 0);
		}
	}

	/** Tells of a fired signal: `what` names a call, a process or a reader. */
	cancel(what, { reason }) {
		const code = reason?.name === 'TimeoutError' ? 'timed-out' : 'aborted';

		if (!this.#gone)
			this.notify('$/cancel', { ...what, code, reason: String(reason?.message ?? reason) });
	}

	notify(method, params) {
		this.#out.write({ jsonrpc: '2.0', method, params });
	}

	/** Calls `fn` with the params of each notification of a method. */
	on(method, fn) {
		this.#listeners.set(method, fn);
	}

	/** Ends the driver; what is still in flight rejects. */
	async close() {
		this.#fail(new DriverError('gone', 'the connection was closed'));
		await this.#channel.close();
	}

	#fail(error) {
		this.#gone ??= error;
		for (const { reject } of this.#pending.values())
			reject(this.#gone);
	}

	#frame({ id, method, params, result, error }) {
		if (method !== undefined && id === undefined)
			return this.#listeners.get(method)?.(params ?? {});
		const call = this.#pending.get(id);

		if (!call)
			throw new DriverError('protocol', `an answer with id ${id}, which nobody asked`);
		if (error === undefined)
			return call.resolve(result);
		call.reject(new DriverError(nameOf(error.code), error.message, error.data));
	}
}

/** Starts a driver: `command` is its argv; `env`, `cwd` and `stderr` as for child_process.spawn(). */
export function startDriver({ command, env, cwd, stderr = 'inherit' }) {
	const [file, ...args] = command;
	const child = spawn(file, args, { env, cwd, stdio: ['pipe', 'pipe', stderr] });
	const ended = new Promise((resolve) => child.once('close', resolve));

	child.once('error', (error) => child.stdout.destroy(error));
	return new Connection({
		input: child.stdout,
		output: child.stdin,
		// A connection that nobody waits for keeps no program alive.
		idle: (idle) => {
			for (const end of [child, child.stdin, child.stdout])
				idle ? end.unref?.() : end.ref?.();
		},
		close: () => {
			child.ref();
			child.stdin.end();
			return ended;
		},
	}).initialize();
}

/** Connects to a driver that listens on a Unix socket (`path`) or on loopback (`port`). */
export async function attachDriver({ path, port }) {
	const socket = path === undefined ? connectSocket(port, '127.0.0.1') : connectSocket(path);

	await once(socket, 'connect');
	return new Connection({
		input: socket,
		output: socket,
		idle: (idle) => void (idle ? socket.unref() : socket.ref()),
		close: () => new Promise((resolve) => socket.end(resolve)),
	}).initialize();
}
