// SPDX-License-Identifier: MIT
// What the protocol's values look like in JavaScript (PROTOCOL.md, section 2).

import { DriverError } from './errors.mjs';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const base64Text = /^[A-Za-z0-9+/]*={0,2}$/;

/** Bytes of the wire, as a Buffer. `what` names the member in the error. */
export function bytesOf(value, what) {
	if (typeof value === 'string')
		return Buffer.from(value, 'utf8');
	if (typeof value?.base64 === 'string' && value.base64.length % 4 === 0 && base64Text.test(value.base64))
		return Buffer.from(value.base64, 'base64');
	throw new DriverError('invalid', `${what} is neither a text nor {"base64": "…"}`);
}

/** Bytes of the wire where JavaScript takes text only; what is no text is refused, not bent. */
export function textOf(value, what) {
	if (typeof value === 'string')
		return value;
	try {
		return strictUtf8.decode(bytesOf(value, what));
	} catch (error) {
		if (error instanceof DriverError)
			throw error;
		throw new DriverError('invalid', `${what} is not UTF-8, and this interface takes text only`);
	}
}

/** A text or bytes as they go on the wire: plain where it is UTF-8 without NUL. */
export function toBytes(value) {
	const buffer = typeof value === 'string' ? Buffer.from(value, 'utf8') : viewOf(value);

	if (!buffer.includes(0)) {
		try {
			return strictUtf8.decode(buffer);
		} catch {
			// Not text: base64 below.
		}
	}
	return { base64: buffer.toString('base64') };
}

/** A Buffer over the same memory. */
export function viewOf(bytes) {
	return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A text of a subject as a Text of the wire; what is none is the subject's fault. */
export function toText(value, what) {
	if (typeof value !== 'string')
		throw new DriverError('protocol', `${what} is ${show(value)} and no text`);
	if (value.includes('\0') || Buffer.from(value, 'utf8').toString('utf8') !== value)
		throw new DriverError('protocol', `${what} holds NUL or half a surrogate pair`);
	return value;
}

/** An integer of the wire as a number, where a number holds it exactly. */
export function intOf(value, what) {
	const number = typeof value === 'string' ? Number(value) : value;

	if (!Number.isSafeInteger(number) || (typeof value === 'string' && !/^-?\d+$/.test(value)))
		throw new DriverError('invalid', `${what} is ${JSON.stringify(value)}, which no JavaScript number holds exactly`);
	return number;
}

/** An integer of the wire as a number, or as a BigInt where no number holds it exactly. */
export function exactOf(value, what) {
	if (typeof value !== 'string')
		return intOf(value, what);
	if (!/^-?\d+$/.test(value))
		throw new DriverError('invalid', `${what} is ${JSON.stringify(value)} and no integer`);
	return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
}

/** A number or BigInt as an integer of the wire. */
export function toInt(value, what) {
	if (typeof value === 'bigint')
		return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);
	if (Number.isSafeInteger(value))
		return value;
	throw new DriverError('protocol', `${what} is ${show(value)} and no exact integer`);
}

/** Variables of the wire as a record that any name fits, `__proto__` included. */
export function envOf(value) {
	const env = {};

	for (const [name, bytes] of Object.entries(value ?? {}))
		Object.defineProperty(env, name, {
			value: textOf(bytes, `the value of ${name}`), enumerable: true, configurable: true, writable: true,
		});
	return env;
}

/** Any value in a few words, for messages. */
export function show(value) {
	if (typeof value === 'function')
		return 'a function';
	try {
		const text = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value) ?? String(value);
		return text.length > 80 ? `${text.slice(0, 80)}…` : text;
	} catch {
		return `a ${typeof value}`;
	}
}
