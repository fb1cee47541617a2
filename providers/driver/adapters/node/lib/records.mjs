// SPDX-License-Identifier: MIT
// Records of an instance store: camelCase in JavaScript, snake_case on the wire.

import { DriverError } from './errors.mjs';
import { exactOf, show, toInt, toText } from './values.mjs';

const required = { key: 'key', provider: 'provider', providerSandboxId: 'provider_sandbox_id', threadId: 'thread_id' };
const optional = { latestSnapshotId: 'latest_snapshot_id', latestRunId: 'latest_run_id' };

/** The names in JavaScript of the fields that a record may lack. */
export const optionalFields = Object.freeze(Object.keys(optional));

/**
 * A record of the wire as an object whose absent fields are not there at all. `updatedAt` is a BigInt where no number holds
 * it: the contract knows all signed 64-bit times.
 */
export function recordOf(wire) {
	const record = {};

	for (const [name, member] of Object.entries(required))
		record[name] = wire[member];
	for (const [name, member] of Object.entries(optional)) {
		if (wire[member] !== undefined)
			record[name] = wire[member];
	}
	record.updatedAt = exactOf(wire.updated_at, 'updated_at');
	return record;
}

/** The same for a reader of served records: whatever the driver said beyond a record is left out. */
export const recordFromWire = recordOf;

/** What a subject answered, on the wire. A field that is there without a value is not the same as one that is absent. */
export function recordToWire(record) {
	if (typeof record !== 'object')
		throw new DriverError('protocol', `get() answered ${show(record)}, where a record or null is owed`);
	const wire = {};

	for (const [name, member] of Object.entries(required))
		wire[member] = toText(record[name], name);
	for (const [name, member] of Object.entries(optional)) {
		if (Object.hasOwn(record, name))
			wire[member] = present(record[name], name);
	}
	wire.updated_at = toInt(record.updatedAt, 'updatedAt');
	return wire;
}

function present(value, name) {
	if (value === undefined)
		throw new DriverError('protocol', `the record has a key ${name} whose value is undefined; an absent field is left out`);
	if (value === null)
		throw new DriverError('protocol', `${name} of the record is null; an absent field is left out`);
	return toText(value, name);
}
