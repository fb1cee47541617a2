// SPDX-License-Identifier: MIT
// Errors: ours on the wire, JavaScript's before and behind it (PROTOCOL.md, section 4).

import { flags } from './capabilities.mjs';

export const codes = Object.freeze({
	'invalid': -1, 'unsupported': -2, 'not-found': -3, 'gone': -4, 'denied': -5, 'conflict': -6, 'rate-limited': -7,
	'unavailable': -8, 'aborted': -9, 'timed-out': -10, 'protocol': -11, 'unknown-outcome': -12, 'io': -13, 'internal': -14,
});

const names = new Map(Object.entries(codes).map(([name, code]) => [code, name]));
const rpc = new Map([[-32601, 'unsupported'], [-32602, 'invalid'], [-32603, 'internal'], [-32700, 'protocol'], [-32600, 'protocol']]);

/** The name of a code of the wire; a code that we do not know is "protocol". */
export function nameOf(code) {
	return names.get(code) ?? rpc.get(code) ?? 'protocol';
}

/** An answer of the protocol as an exception. `code` is its name. */
export class DriverError extends Error {
	constructor(code, message, data = {}) {
		super(message);
		this.name = 'DriverError';
		this.code = code;
		this.data = data;
	}
}

// What Node's own errors mean for the caller of a sandbox.
const system = {
	ENOENT: 'not-found', EACCES: 'denied', EPERM: 'denied', EROFS: 'denied', EEXIST: 'conflict', ENOTDIR: 'conflict',
	EISDIR: 'conflict', ENOTEMPTY: 'conflict', EBUSY: 'conflict', ELOOP: 'conflict', EINVAL: 'invalid', ENAMETOOLONG: 'invalid', E2BIG: 'invalid',
	ECONNREFUSED: 'unavailable', ECONNRESET: 'unavailable', ETIMEDOUT: 'unavailable', EAI_AGAIN: 'unavailable',
	ERR_INVALID_ARG_VALUE: 'invalid', ERR_INVALID_ARG_TYPE: 'invalid', ERR_STREAM_DESTROYED: 'gone', EPIPE: 'gone',
	ERR_STREAM_WRITE_AFTER_END: 'gone',
};

function fromStatus(status) {
	if (status === 401 || status === 403)
		return 'denied';
	if (status === 404)
		return 'not-found';
	if (status === 409)
		return 'conflict';
	if (status === 429)
		return 'rate-limited';
	return status >= 500 ? 'unavailable' : 'protocol';
}

/** Which answer an exception of a subject is. `cancel` is what the call was cancelled with, if it was. */
function classify(error, cancel) {
	if (error instanceof DriverError)
		return error.code;
	if (cancel && (error === cancel.reason || error?.name === 'AbortError' || error?.name === 'TimeoutError'))
		return cancel.code;
	if (error?.name === 'UnsupportedCapabilityError')
		return 'unsupported';
	if (typeof error?.code === 'string' && Object.hasOwn(codes, error.code))
		return error.code;
	if (typeof error?.code === 'string' && Object.hasOwn(system, error.code))
		return system[error.code];
	if (Number.isInteger(error?.status) && error.status >= 400)
		return fromStatus(error.status);
	return 'internal';
}

/**
 * The error member of an answer. A subject says which one it is by `error.code`, one of our names; Node's own codes, an
 * HTTP status and an UnsupportedCapabilityError are understood. The reason of an abort goes back as it was given only if
 * it is the very object that the signal carried.
 */
export function toWire(error, cancel) {
	const name = classify(error, cancel);
	const same = cancel && error === cancel.reason;
	const data = { name, ...(error instanceof DriverError ? error.data : {}) };

	if (Number.isInteger(error?.errno))
		data.errno = Math.abs(error.errno);
	if (Number.isInteger(error?.status))
		data.http_status = error.status;
	if (Number.isInteger(error?.retryAfterMs))
		data.retry_after_ms = error.retryAfterMs;
	return { code: codes[name], message: same ? cancel.text : clean(error) + capability(error), data };
}

// The protocol's name of the flag that an UnsupportedCapabilityError names, where it is another one.
function capability(error) {
	const name = Object.hasOwn(flags, error?.capability ?? '') ? flags[error.capability] : undefined;

	return name && name !== error.capability ? ` (capability ${name})` : '';
}

// A message is text of the subject: lone surrogates and NUL do not pass the wire.
function clean(error) {
	const text = typeof error?.message === 'string' ? error.message : `not an Error: ${String(error)}`;

	return Buffer.from(text, 'utf8').toString('utf8').replaceAll('\0', '\uFFFD');
}
