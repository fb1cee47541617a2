// SPDX-License-Identifier: MIT
// store/*: a SandboxInstanceStore (get, upsert, delete) behind the protocol.

import { owed, unlessCancelled } from './driver.mjs';
import { DriverError } from './errors.mjs';
import { optionalFields, recordOf, recordToWire } from './records.mjs';
import { show } from './values.mjs';

const nobody = Object.freeze({ durable: false, multi_process: false, fence: false });

/**
 * An instance store as a subject of a Driver. `options.capabilities` is its declaration, since the interface has none.
 * `options.absent` is 'undefined' where a record is handed over with keys whose value is undefined, as callers do who
 * spread one; otherwise absent fields are left out.
 */
export class StoreSubject {
	#store;
	#options;

	methods = new Map(Object.entries({
		'store/get': (params, call) => this.#get(params, call),
		'store/upsert': (params, call) => this.#upsert(params, call),
		'store/delete': ({ key }, { cancel }) =>
			this.#ask('delete', cancel, (options) => this.#store.delete(key, options)).then(nothing('delete')),
		'store/copies': ({ key }) => this.#copies(key),
	}));

	constructor(store, options = {}) {
		this.#store = store;
		this.#options = options;
	}

	describe() {
		return { capabilities: { ...nobody, ...this.#options.capabilities } };
	}

	#ask(name, cancel, call) {
		return unlessCancelled(owed(name, () => call({ signal: cancel.signal })), cancel);
	}

	async #get({ key }, { cancel }) {
		const record = await this.#ask('get', cancel, (options) => this.#store.get(key, options));

		return { record: record === null ? null : recordToWire(record) };
	}

	async #upsert({ record, fence }, { cancel }) {
		const given = this.#given(recordOf(record));
		const options = fence === undefined ? {} : { fence: BigInt(fence) };

		if (fence !== undefined && !this.#options.capabilities?.fence)
			throw new DriverError('unsupported', 'this instance store takes no fence (capability fence)');
		await this.#ask('upsert', cancel, (signal) => this.#store.upsert(given, { ...options, ...signal })).then(nothing('upsert'));
	}

	#given(record) {
		if (this.#options.absent === 'undefined') {
			for (const name of optionalFields)
				record[name] ??= undefined;
		}
		return record;
	}

	// What the caller of a store does to its own objects, which no message can show: `put` and `got` are true where what
	// was handed over, and what was got, was a copy.
	async #copies(key) {
		const record = recordOf({
			key, provider: 'fake', provider_sandbox_id: 'sb-mine', thread_id: 't-mine', latest_run_id: 'run-mine', updated_at: 1,
		});
		const given = { ...record };

		await owed('upsert', () => this.#store.upsert(given));
		spoil(given);
		const put = await this.#holds(record);

		// What was spoiled on the way in would hide what happens on the way out.
		await owed('upsert', () => this.#store.upsert({ ...record }));
		spoil(await owed('get', () => this.#store.get(key)));
		const got = await this.#holds(record);

		await owed('delete', () => this.#store.delete(key));
		return { put, got };
	}

	async #holds(record) {
		const found = await owed('get', () => this.#store.get(record.key));

		return Object.entries(record).every(([name, value]) => found?.[name] === value);
	}
}

function spoil(record) {
	if (record === null || typeof record !== 'object')
		throw new DriverError('protocol', `get() answered ${show(record)} right after an upsert`);
	try {
		record.providerSandboxId = 'sb-spoiled';
		record.latestRunId = 'run-spoiled';
		record.updatedAt = 99;
	} catch {
		// A frozen object is as good as a copy.
	}
}

function nothing(name) {
	return (value) => {
		if (value !== undefined)
			throw new DriverError('protocol', `${name}() answered ${show(value)}, where it owes no value`);
	};
}
