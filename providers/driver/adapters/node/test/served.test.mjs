// SPDX-License-Identifier: MIT
// What a driver offers looks like a SandboxProvider, a SandboxInstanceStore and a LockStore. SANDPROOF, a program, adds
// what its `serve` offers.

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import test from 'node:test';

import { ServedLocks, ServedProvider, ServedStore, startDriver } from '../index.mjs';
import { running, toys, until, using } from './helpers.mjs';

const { SANDPROOF } = process.env;
const toy = () => running('provider', `${toys}provider.mjs`, 'toyProvider', 'and', 'store', `${toys}store.mjs`, 'ToyStore',
	'and', 'lock', `${toys}lock.mjs`, 'ToyLocks');
const serve = (...words) => () => startDriver({ command: [SANDPROOF, 'serve', ...words] });

const providers = [['the toy', toy]];
const stores = [['the toy', toy]];
const locks = [['the toy', toy]];

if (SANDPROOF) {
	// Time to die of TERM, however busy the machine is.
	const patient = ['--option', 'kill_grace_ms=10000'];

	providers.push(['sandproof serve --provider local', serve('--provider', 'local', ...patient)]);
	providers.push(['sandproof serve --provider bash', serve('--provider', 'bash', ...patient)]);
	stores.push(['sandproof serve --store memory', serve('--store', 'memory')]);
	locks.push(['sandproof serve --lock memory', serve('--lock', 'memory')]);
}

async function all(iterable) {
	let text = '';

	for await (const chunk of iterable)
		text += chunk;
	return text;
}

function withSandbox(open, fn, input = {}) {
	return using(open(), async (connection) => {
		const provider = new ServedProvider(connection);
		const sandbox = await provider.create(input);

		try {
			await fn(sandbox, provider);
		} finally {
			await sandbox.destroy();
		}
	});
}

for (const [name, open] of providers) {
	test(`exec, ${name}`, () => withSandbox(open, async (sandbox) => {
		assert.deepEqual(await sandbox.process.exec('printf "%s" "$A"; echo oops >&2; exit 3', { env: { A: "ä'b" } }),
			{ stdout: "ä'b", stderr: 'oops\n', exitCode: 3 });
		await sandbox.fs.mkdir('/workspace/d');
		assert.match((await sandbox.process.exec('pwd', { cwd: '/workspace/d' })).stdout, /\/d\n$/);
		assert.equal((await sandbox.process.exec('printf "%s" "$S"')).stdout, 'from create');
		await sandbox.env.set({ S: 'set' });
		assert.equal((await sandbox.process.exec('printf "%s" "$S"')).stdout, 'set');
		await assert.rejects(sandbox.process.exec('true', { cwd: '/workspace/none' }), { code: 'not-found' });
	}, { env: { S: 'from create' } }));

	test(`abort, ${name}`, () => withSandbox(open, async (sandbox) => {
		const reason = new Error('enough');
		const controller = new AbortController();
		const running = sandbox.process.exec(': >on; exec sleep 1000', { signal: controller.signal });

		await until(() => sandbox.fs.exists('on'));
		controller.abort(reason);
		await assert.rejects(running, (error) => error === reason);
		await assert.rejects(sandbox.process.exec(': >never', { signal: controller.signal }), (error) => error === reason);
		assert.equal(await sandbox.fs.exists('never'), false);
	}));

	test(`spawn, ${name}`, () => withSandbox(open, async (sandbox) => {
		const controller = new AbortController();
		const child = await sandbox.process.spawn('printf "eins\\nzw\\303\\266lf"; echo oops >&2; exit 4', { signal: controller.signal });

		assert.deepEqual(await Promise.all([all(child.stdout), all(child.stderr), child.wait()]), ['eins\nzwölf', 'oops\n', 4]);
		assert.deepEqual([await child.wait(), getEventListeners(controller.signal, 'abort').length], [4, 0]);
		await child.kill('SIGKILL');
		assert.equal(await child.wait(), 4);
	}));

	test(`kill, ${name}`, () => withSandbox(open, async (sandbox) => {
		const child = await sandbox.process.spawn('sleep 1000 & wait');

		await child.kill();
		assert.deepEqual([await child.wait(), await all(child.stdout)], [143, '']);
		const controller = new AbortController();
		const other = await sandbox.process.spawn('exec sleep 1000', { signal: controller.signal });

		controller.abort();
		assert.equal(await other.wait(), 143);
	}));

	test(`stdin, ${name}`, () => withSandbox(open, async (sandbox) => {
		const child = await sandbox.process.spawn('cat');

		if (!sandbox.capabilities.writableStdin)
			return void await assert.rejects(child.stdin.write('x'), { code: 'unsupported' }).finally(() => child.kill());
		await child.stdin.write('grüße\n');
		await child.stdin.end();
		assert.deepEqual([await all(child.stdout), await child.wait()], ['grüße\n', 0]);
	}));

	test(`fs, ${name}`, () => withSandbox(open, async ({ fs, process }) => {
		await fs.write('/workspace/a/text', 'grüße');
		await fs.write('/workspace/a/bytes', new Uint8Array([0, 255, 10]));
		assert.equal(await fs.read('/workspace/a/text'), 'grüße');
		assert.deepEqual(await fs.readBytes('/workspace/a/bytes'), new Uint8Array([0, 255, 10]));
		assert.deepEqual(await fs.list('/workspace/a'), [
			{ name: 'bytes', path: '/workspace/a/bytes', type: 'file' }, { name: 'text', path: '/workspace/a/text', type: 'file' },
		]);
		await process.exec('ln -s text a/link; chmod 640 a/text');
		assert.deepEqual(await fs.lstat('/workspace/a/text'), { type: 'file', mode: 0o100640, size: 7 });
		assert.equal((await fs.lstat('/workspace/a/link')).type, 'symlink');
		assert.equal(await fs.lstat('/workspace/a/none'), undefined);
		await fs.rename('/workspace/a', '/workspace/b');
		assert.deepEqual([await fs.exists('/workspace/a'), await fs.exists('/workspace/b/text')], [false, true]);
		await fs.remove('/workspace/b');
		await fs.remove('/workspace/b');
		await assert.rejects(fs.read('/workspace/b/text'), { code: 'not-found' });
	}));

	test(`git, ${name}`, () => withSandbox(open, async ({ git, process, workspaceRoot }) => {
		const author = 'git config user.name t; git config user.email t@t';

		assert.equal((await process.exec(`git init -q -b trunk repo && cd repo && ${author} && echo x >"it's"`)).exitCode, 0);
		await git.add(["it's"], 'repo');
		await git.commit('-first', 'repo');
		assert.deepEqual([await git.status('repo'), await git.branch('repo')], ['', 'trunk']);
		await git.clone({ url: `file://${workspaceRoot}/repo`, dir: 'twin', depth: 'full' });
		assert.equal(await git.branch('twin'), 'trunk');
		await assert.rejects(git.clone({ url: '--upload-pack=x', dir: 'y' }), { code: 'invalid' });
		await assert.rejects(git.clone({ url: 'file:///none', dir: 'y' }), /git ended with code/);
	}));

	test(`life, ${name}`, () => using(open(), async (connection) => {
		const provider = new ServedProvider(connection);
		const made = await provider.create({});

		await made.fs.write('/workspace/kept', 'x');
		const again = await provider.resume({ id: made.id });

		assert.deepEqual([again.id, again.provider, await again.fs.read('/workspace/kept')], [made.id, provider.name, 'x']);
		assert.equal(typeof provider.restoreSnapshot, provider.capabilities().snapshots ? 'function' : 'undefined');
		if (provider.capabilities().fork) {
			const twin = await made.fork();

			assert.equal(await twin.fs.read('/workspace/kept'), 'x');
			await twin.destroy();
		}
		await provider.destroy({ id: made.id });
		await provider.destroy({ id: made.id });
		assert.equal(await provider.resume({ id: made.id }), null);
		await made.destroy();
		await assert.rejects(provider.create({ signal: AbortSignal.abort('no') }), (error) => error === 'no');
	}));

	test(`snapshot, ${name}`, (t) => withSandbox(open, async (sandbox, provider) => {
		if (!provider.capabilities().snapshots) {
			assert.equal(sandbox.snapshot, undefined);
			return t.skip(`${provider.name} declares no snapshots`);
		}
		await sandbox.fs.write('/workspace/kept', 'x');
		const ref = await sandbox.snapshot('a label');
		const restored = await provider.restoreSnapshot({ snapshotId: ref.id, env: { S: 'new' } });

		assert.deepEqual([ref.label, await restored.fs.read('/workspace/kept')], ['a label', 'x']);
		assert.equal((await restored.process.exec('printf "%s" "$S"')).stdout, 'new');
		return restored.destroy();
	}));
}

for (const [name, open] of stores) {
	test(`store, ${name}`, () => using(open(), async (connection) => {
		const store = new ServedStore(connection);
		const record = { key: 'k', provider: 'p', providerSandboxId: 's', threadId: 't', latestSnapshotId: 'n', latestRunId: 'r', updatedAt: 7 };
		const { latestSnapshotId, latestRunId, ...bare } = record;

		assert.equal(await store.get('k'), null);
		assert.equal(await store.upsert(record), undefined);
		assert.deepEqual(await store.get('k'), record);
		await store.upsert({ ...record, latestSnapshotId: undefined, latestRunId: undefined });
		assert.deepEqual(Object.keys(await store.get('k')).sort(), Object.keys(bare).sort());
		await assert.rejects(store.upsert({ ...record, latestRunId: null }), { code: 'protocol', message: /null/ });
		assert.equal(await store.delete('k'), undefined);
		assert.equal(await store.delete('k'), undefined);
		assert.equal(await store.get('k'), null);
		assert.deepEqual([latestSnapshotId, latestRunId], ['n', 'r']);
	}));
}

for (const [name, open] of locks) {
	test(`lock, ${name}`, () => using(open(), async (connection) => {
		const held = new ServedLocks(connection);
		const order = [];

		assert.equal(await held.withLock('k', async (signal) => {
			const other = held.withLock('k', async () => { order.push('second'); });

			// By the time that another key was taken and left, the second would be in if it could.
			await held.withLock('another', async () => undefined);
			order.push('first');
			other.catch(() => undefined);
			assert.equal(signal.aborted, false);
			return 'result';
		}), 'result');
		await assert.rejects(held.withLock('k', async () => { throw new Error('mine'); }), /mine/);
		assert.deepEqual([await held.withLock('k', async () => 1), order], [1, ['first', 'second']]);
	}));
}
