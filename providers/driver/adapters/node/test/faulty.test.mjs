// SPDX-License-Identifier: MIT
// What JSON hides is told: each faulty subject, and the answer that shows its fault. The healthy one answers otherwise.

import assert from 'node:assert/strict';
import test from 'node:test';

import { LockSubject, ProviderSubject, StoreSubject } from '../index.mjs';
import { ToyLocks } from '../toys/lock.mjs';
import { toyProvider } from '../toys/provider.mjs';
import { ToyStore } from '../toys/store.mjs';
import * as faulty from './subjects/faulty.mjs';
import { until, using, within } from './helpers.mjs';

const record = { key: 'k', provider: 'p', provider_sandbox_id: 's', thread_id: 't', updated_at: 1 };

/** What a call came to: its result, or the code and message of its error. */
async function outcome(promise) {
	try {
		return await promise;
	} catch (error) {
		return `${error.code}: ${error.message}`;
	}
}

const store = (Store, options) => within({ store: new StoreSubject(new Store(), options) });
const get = (connection) => connection.call('store/get', { key: 'k' });

const storeFaults = [
	{ Fault: faulty.UndefinedKeys, ask: get, shows: /protocol: the record has a key latestSnapshotId whose value is undefined/ },
	{ Fault: faulty.NullFields, ask: get, shows: /protocol: latestSnapshotId of the record is null/ },
	{
		Fault: faulty.UndefinedRecord, ask: (connection) => connection.call('store/get', { key: 'missing' }),
		shows: /protocol: get\(\) answered undefined/, healthy: { record: null },
	},
	{
		Fault: faulty.KeepsInput, ask: (connection) => connection.call('store/copies', { key: 'c' }),
		shows: { put: false, got: true }, healthy: { put: true, got: true },
	},
	{
		Fault: faulty.GivesOwn, ask: (connection) => connection.call('store/copies', { key: 'c' }),
		shows: { put: true, got: false }, healthy: { put: true, got: true },
	},
	{
		Fault: faulty.ThrowsAtOnce, ask: (connection) => connection.call('store/get', { key: '' }),
		shows: /protocol: get\(\) threw at once instead of rejecting: a bad key/, healthy: 'invalid: key is no text',
	},
	{ Fault: faulty.AnswersAtOnce, ask: get, shows: /protocol: get\(\) answered at once/ },
	{
		Fault: faulty.DeleteAnswers, ask: (connection) => connection.call('store/delete', { key: 'k' }),
		shows: /protocol: delete\(\) answered true/, healthy: {},
	},
	{
		Fault: faulty.IgnoresAborted,
		ask: (connection) => connection.call('store/upsert', { record, cancelled: { code: 'aborted', reason: 'left' } }),
		shows: {}, healthy: 'aborted: left',
	},
];

for (const { Fault, ask, shows, healthy = { record } } of storeFaults) {
	test(`store ${Fault.name}`, async () => {
		for (const [Store, expected] of [[Fault, shows], [ToyStore, healthy]]) {
			await using(store(Store), async (connection) => {
				await connection.call('store/upsert', { record });
				const seen = await outcome(ask(connection));

				if (expected instanceof RegExp)
					assert.match(seen, expected);
				else
					assert.deepEqual(seen, expected);
			});
		}
	});
}

test('a store is handed keys without a value where the caller asks for it', async () => {
	class Naive extends ToyStore {
		#kept;
		async upsert(given) { this.#kept = { ...given }; }
		async get() { return { ...this.#kept }; }
	}

	for (const [options, expected] of [[{}, 'object'], [{ absent: 'undefined' }, 'string']]) {
		await using(store(Naive, options), async (connection) => {
			await connection.call('store/upsert', { record });
			assert.equal(typeof await outcome(get(connection)), expected);
		});
	}
});

const provider = (make) => within({ provider: new ProviderSubject(make()) });

async function withSandbox(make, fn) {
	await using(provider(make), async (connection) => {
		const { sandbox, id } = await connection.call('provider/create', { network: 'default', env: {} });

		try {
			await fn(connection, sandbox);
		} finally {
			await connection.call('provider/destroy', { id });
		}
	});
}

/** An exec that is aborted once its command runs. */
async function aborted(connection, sandbox) {
	const controller = new AbortController();
	const call = connection.call('sandbox/exec', { sandbox, command: ': >on; exec sleep 1000' }, { signal: controller.signal });
	const done = outcome(call.catch((error) => { throw error === controller.signal.reason ? { code: 'as given', message: error } : error; }));

	await until(async () => (await connection.call('fs/exists', { sandbox, path: 'on' })).exists);
	controller.abort('enough');
	return done;
}

/** A spawn to its end, and what it left on the signal that it was given. */
async function spawned(connection, sandbox, command) {
	const { process } = await connection.call('sandbox/spawn', { sandbox, command });

	return outcome(connection.call('process/wait', { process }));
}

const providerFaults = [
	{ fault: 'abortIsSuccess', ask: aborted, shows: { stdout: '', stderr: '', exit_code: 0, listeners: 0 }, healthy: 'as given: enough' },
	{
		fault: 'keepsListener', ask: (connection, sandbox) => spawned(connection, sandbox, ':'),
		shows: { how: 'exited', code: 0, listeners: 1 }, healthy: { how: 'exited', code: 0, listeners: 0 },
	},
	{
		fault: 'startsAborted',
		ask: (connection, sandbox) => outcome(connection.call('sandbox/exec',
			{ sandbox, command: 'echo on', cancelled: { code: 'timed-out', reason: 'late' } })),
		shows: { stdout: 'on\n', stderr: '', exit_code: 0, listeners: 0 }, healthy: 'timed-out: late',
	},
	{
		fault: 'forkThrows', ask: (connection, sandbox) => outcome(connection.call('sandbox/fork', { sandbox }).then(async ({ id }) => {
			await connection.call('provider/destroy', { id });
			return 'forked';
		})),
		shows: 'protocol: fork() threw at once instead of rejecting: no fork today', healthy: 'forked',
	},
	{
		fault: 'nullCode', ask: (connection, sandbox) => spawned(connection, sandbox, 'kill -KILL $$'),
		shows: 'protocol: wait() answered null, which is no exit code', healthy: { how: 'exited', code: 137, listeners: 0 },
	},
	{
		fault: 'undefinedForGone', ask: (connection) => outcome(connection.call('provider/resume', { id: '/tmp/sandproof-toy-000000' })),
		shows: 'protocol: undefined where a sandbox is owed', healthy: { gone: true },
	},
	{
		fault: 'writesLate', ask: async (connection, sandbox) => {
			await connection.call('fs/write', { sandbox, path: 'f', data: { base64: 'AAEC' } });
			return connection.call('fs/read', { sandbox, path: 'f' });
		},
		shows: { data: 'xxx' }, healthy: { data: { base64: 'AAEC' } },
	},
];

for (const { fault, ask, shows, healthy } of providerFaults) {
	test(`provider ${fault}`, async () => {
		await withSandbox(faulty[fault], async (connection, sandbox) => {
			assert.deepEqual(await ask(connection, sandbox), shows);
		});
		await withSandbox(toyProvider, async (connection, sandbox) => {
			assert.deepEqual(await ask(connection, sandbox), healthy);
		});
	});
}

test('provider otherReason', async () => {
	await using(provider(faulty.otherReason), async (connection) => {
		const answers = [];
		const { sandbox, id } = await connection.call('provider/create', { network: 'default' });
		// By hand, since a client hands its caller the caller's own reason.
		const frames = connection.call('sandbox/exec', { sandbox, command: ': >on; exec sleep 1000' }).catch((error) => answers.push(error));

		await until(async () => (await connection.call('fs/exists', { sandbox, path: 'on' })).exists);
		for (let call = 1; call < 1000 && !answers.length; call++)
			connection.notify('$/cancel', { id: call, code: 'aborted', reason: 'the user left' });
		await frames;
		assert.equal(answers[0].code, 'aborted');
		assert.equal(answers[0].message, 'This operation was aborted');
		await connection.call('provider/destroy', { id });
	});
});

test('provider twoDeclarations', async () => {
	await using(provider(faulty.twoDeclarations), async (connection) => {
		const seen = await outcome(connection.call('provider/create', { network: 'default' }));

		assert.equal(seen, 'protocol: the sandbox declares fork otherwise than its provider');
	});
});

test('lock LetsAllIn', async () => {
	for (const [Locks, second] of [[faulty.LetsAllIn, 'l-2'], [ToyLocks, 'aborted: enough']]) {
		await using(within({ lock: new LockSubject(new Locks()) }), async (connection) => {
			const { lease } = await connection.call('lock/acquire', { key: 'k' });
			const controller = new AbortController();
			const other = outcome(connection.call('lock/acquire', { key: 'k' }, { signal: controller.signal })
				.then((held) => held.lease, () => { throw { code: 'aborted', message: 'enough' }; }));

			// Whoever is let in is in by the time that another key was taken.
			await connection.call('lock/acquire', { key: 'another' });
			controller.abort(new Error('enough'));
			assert.equal((await other).replace(/^l-\d+$/, 'l-2'), second);
			await connection.call('lock/release', { lease });
		});
	}
});
