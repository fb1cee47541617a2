// SPDX-License-Identifier: MIT
// An async iterable of chunks, read in pieces of the caller's size. What nobody reads stays in the iterable.

import { DriverError } from './errors.mjs';
import { unlessCancelled } from './driver.mjs';
import { show, viewOf } from './values.mjs';

// The longest prefix of at most `max` bytes that does not end within a character; all of `max` where a character does not fit.
function wholeCharacters(buffer, max) {
	let end = max;

	while (end > 0 && (buffer[end] & 0xc0) === 0x80)
		end--;
	return end > 0 ? end : max;
}

export class Pull {
	#iterator;
	#iterable;
	#pending;
	#rest = Buffer.alloc(0);
	#ended = false;

	constructor(iterable, name) {
		this.#iterable = iterable;
		this.name = name;
	}

	/** Up to `max` bytes, or undefined at the end, again and again. A read that is cancelled loses nothing. */
	async read(max, cancel) {
		while (!this.#rest.length && !this.#ended)
			this.#take(await unlessCancelled(this.#next(), cancel));
		if (!this.#rest.length)
			return undefined;
		const end = this.#rest.length > max ? wholeCharacters(this.#rest, max) : this.#rest.length;
		const piece = this.#rest.subarray(0, end);

		this.#rest = this.#rest.subarray(end);
		return piece;
	}

	#next() {
		if (typeof this.#iterable?.[Symbol.asyncIterator] !== 'function')
			throw new DriverError('protocol', `${this.name} is ${show(this.#iterable)} and no async iterable`);
		this.#iterator ??= this.#iterable[Symbol.asyncIterator]();
		this.#pending ??= Promise.resolve(this.#iterator.next());
		return this.#pending;
	}

	#take(step) {
		this.#pending = undefined;
		if (step.done)
			this.#ended = true;
		else if (typeof step.value === 'string')
			this.#rest = Buffer.from(step.value, 'utf8');
		else if (step.value instanceof Uint8Array)
			this.#rest = viewOf(step.value);
		else
			throw new DriverError('protocol', `${this.name} gave ${show(step.value)} and no text`);
	}
}
