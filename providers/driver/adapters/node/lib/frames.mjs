// SPDX-License-Identifier: MIT
// One JSON object a line, both ways (PROTOCOL.md, section 1).

import { DriverError } from './errors.mjs';

/** Bytes of the longest line, its newline included. */
export const maxFrame = 64 * 1024 * 1024;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads frames from a stream. `frame` gets each object; `ended` is called once, with an error where the other side broke
 * the protocol or the stream did.
 */
export function readFrames(stream, frame, ended) {
	let parts = [];
	let length = 0;
	let over = false;
	const end = (error) => {
		if (over)
			return;
		over = true;
		ended(error);
	};
	const line = (last) => {
		const bytes = parts.length ? Buffer.concat([...parts, last]) : last;

		parts = [];
		length = 0;
		frame(parse(bytes));
	};

	stream.on('data', (chunk) => {
		let from = 0;

		try {
			for (let at = chunk.indexOf(10); at >= 0 && !over; at = chunk.indexOf(10, from)) {
				line(chunk.subarray(from, at));
				from = at + 1;
			}
			if (from < chunk.length) {
				parts.push(chunk.subarray(from));
				length += chunk.length - from;
			}
			if (length >= maxFrame)
				throw new DriverError('protocol', `a line beyond ${maxFrame} bytes`);
		} catch (error) {
			end(error);
			stream.destroy();
		}
	});
	stream.on('end', () => end(length ? new DriverError('protocol', 'the channel ended within a line') : undefined));
	stream.on('close', () => end());
	stream.on('error', end);
}

function parse(bytes) {
	let value;

	try {
		value = JSON.parse(strictUtf8.decode(bytes));
	} catch (error) {
		throw new DriverError('protocol', `a line that is no JSON: ${error.message}`);
	}
	if (value === null || typeof value !== 'object' || Array.isArray(value))
		throw new DriverError('protocol', 'a line that is no JSON object');
	return value;
}

/** Writes frames in order; nothing waits, since the other side reads on by contract. */
export class FrameWriter {
	constructor(stream, limit = maxFrame) {
		this.stream = stream;
		this.limit = limit;
	}

	/** Throws where the frame is beyond what the other side takes; nothing is written then. */
	write(object) {
		const text = `${JSON.stringify(object)}\n`;

		if (text.length * 3 >= this.limit && Buffer.byteLength(text) > this.limit)
			throw new DriverError('invalid', `a message of ${Buffer.byteLength(text)} bytes; the limit is ${this.limit}`);
		this.stream.write(text);
	}
}
