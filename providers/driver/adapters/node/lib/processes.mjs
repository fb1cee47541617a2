// SPDX-License-Identifier: MIT
// process/*: SpawnHandles of a subject behind handles of the protocol.

import { getEventListeners } from 'node:events';

import { owed, unlessCancelled } from './driver.mjs';
import { DriverError } from './errors.mjs';
import { Pull } from './pull.mjs';
import { nameOfSignal } from './signals.mjs';
import { intOf, show, textOf, toBytes } from './values.mjs';

/** How many listeners a subject has on a signal. */
export function listeners(cancel) {
	return getEventListeners(cancel.signal, 'abort').length;
}

// The interface says how a process ended by its code alone. Who ended it, the caller knows: whoever came first, as long
// as no wait() had told of the exit.
class Child {
	#first;
	#how;

	constructor(handle, cancel) {
		this.handle = handle;
		this.cancel = cancel;
		this.stdout = new Pull(handle.stdout, 'stdout');
		this.stderr = new Pull(handle.stderr, 'stderr');
		cancel.fired(() => { this.#first ??= cancel.code; });
	}

	/** A kill is on its way. */
	killed() {
		this.#first ??= 'killed';
	}

	/** Why it ended, once it has. */
	how() {
		this.#how ??= this.#first ?? 'exited';
		return this.#how;
	}
}

export class Processes {
	#children = new Map();
	#count = 0;

	methods = new Map(Object.entries({
		'process/read': (params, call) => this.#read(params, call),
		'process/write_stdin': (params, call) => this.#write(params, call),
		'process/close_stdin': (params, call) => this.#close(params, call),
		'process/wait': (params, call) => this.#wait(params, call),
		'process/kill': (params, call) => this.#kill(params, call),
		'process/release': ({ process }) => void this.#children.delete(process),
	}));

	/** Takes a SpawnHandle in; gives its handle. */
	add(handle, cancel) {
		const name = `p-${++this.#count}`;

		if (handle === null || typeof handle !== 'object')
			throw new DriverError('protocol', `spawn() answered ${show(handle)} and no process`);
		this.#children.set(name, new Child(handle, cancel));
		return name;
	}

	/** The Cancel of a handle, for `$/cancel`. */
	cancelOf(name) {
		return this.#children.get(name)?.cancel;
	}

	#child(name) {
		const child = this.#children.get(name);

		if (!child)
			throw new DriverError('invalid', `there is no process ${show(name)}`);
		return child;
	}

	async #read({ process, stream, max }, { cancel }) {
		const child = this.#child(process);
		const piece = await child[stream === 'stderr' ? 'stderr' : 'stdout'].read(intOf(max, 'max'), cancel);

		return piece ? { data: toBytes(piece) } : { end: true };
	}

	async #write({ process, data }, { cancel }) {
		const { stdin } = this.#child(process).handle;
		const text = textOf(data, 'data');

		await unlessCancelled(owed('stdin.write', () => stdin.write(text)), cancel);
	}

	async #close({ process }, { cancel }) {
		await unlessCancelled(owed('stdin.end', () => this.#child(process).handle.stdin.end()), cancel);
	}

	async #wait({ process }, { cancel }) {
		const child = this.#child(process);
		const code = await unlessCancelled(owed('wait', () => child.handle.wait()), cancel);

		if (!Number.isInteger(code) || code < 0 || code > 255)
			throw new DriverError('protocol', `wait() answered ${show(code)}, which is no exit code`);
		return { how: child.how(), code, listeners: listeners(child.cancel) };
	}

	async #kill({ process, signal }, { cancel }) {
		const child = this.#child(process);
		const kill = () => signal ? child.handle.kill(nameOfSignal(signal)) : child.handle.kill();

		child.killed();
		await unlessCancelled(owed('kill', kill), cancel);
	}
}
