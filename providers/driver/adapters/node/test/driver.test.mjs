// SPDX-License-Identifier: MIT
// The driver's side of the protocol: values, errors, cancels, streams, and the program itself.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';

import { Cancel, DriverError, ProviderSubject } from '../index.mjs';
import { toWire } from '../lib/errors.mjs';
import { Pull } from '../lib/pull.mjs';
import { bytesOf, envOf, intOf, textOf, toBytes, toInt } from '../lib/values.mjs';
import { toyProvider } from '../toys/provider.mjs';
import { program, running, toys, using, within } from './helpers.mjs';

test('bytes go both ways', () => {
	for (const [wire, bytes] of [
		['', ''], ['ä', 'c3a4'], ['\uFEFFx', 'efbbbf78'], ['\u{1F600}', 'f09f9880'], [{ base64: '' }, ''], [{ base64: '/w==' }, 'ff'],
		[{ base64: 'AA==' }, '00'], [{ base64: 'eA==' }, '78'],
	]) {
		const buffer = bytesOf(wire, 'it');

		assert.equal(buffer.toString('hex'), bytes);
		assert.deepEqual(bytesOf(toBytes(buffer), 'it'), buffer);
	}
	assert.deepEqual([toBytes('a\0'), toBytes(Buffer.from([0xff])), toBytes('a\uD800')], [{ base64: 'YQA=' }, { base64: '/w==' }, 'a\uFFFD']);
	for (const wrong of [undefined, null, 1, [], {}, { base64: 1 }, { base64: '/w=' }, { base64: 'a b=' }])
		assert.throws(() => bytesOf(wrong, 'it'), { code: 'invalid' });
	assert.throws(() => textOf({ base64: '/w==' }, 'it'), { code: 'invalid', message: /not UTF-8/ });
});

test('integers are exact or refused', () => {
	assert.deepEqual([intOf('-7', 'it'), intOf(2 ** 53 - 1, 'it'), toInt(-5n, 'it'), toInt(2n ** 64n, 'it')],
		[-7, 2 ** 53 - 1, -5, '18446744073709551616']);
	for (const wrong of ['9007199254740993', '', '1.0', '0x1', ' 1', 1.5, null, undefined, true])
		assert.throws(() => intOf(wrong, 'it'), { code: 'invalid' });
	for (const wrong of [2 ** 53, 0.5, NaN, '1', null])
		assert.throws(() => toInt(wrong, 'it'), { code: 'protocol' });
});

test('any name can be a variable', () => {
	const env = envOf(JSON.parse('{"__proto__": "a", "constructor": "b"}'));

	assert.deepEqual(Object.entries(env), [['__proto__', 'a'], ['constructor', 'b']]);
});

test('errors keep their meaning', () => {
	const cancel = new Cancel();

	cancel.fire({ code: 'aborted', reason: 'enough' });
	for (const [error, given, code, message] of [
		[Object.assign(new Error('no'), { code: 'ENOENT', errno: -2 }), undefined, -3, 'no'],
		[Object.assign(new Error('no'), { code: 'EACCES' }), undefined, -5, 'no'],
		[Object.assign(new Error('no'), { code: 'gone' }), undefined, -4, 'no'],
		[Object.assign(new Error('no'), { code: 'toString' }), undefined, -14, 'no'],
		[Object.assign(new Error('no'), { status: 503 }), undefined, -8, 'no'],
		[Object.assign(new Error('no'), { status: 429, retryAfterMs: 7 }), undefined, -7, 'no'],
		[Object.assign(new Error('no'), { name: 'UnsupportedCapabilityError' }), undefined, -2, 'no'],
		[new DriverError('conflict', 'older'), undefined, -6, 'older'],
		[cancel.reason, cancel, -9, 'enough'],
		[new DOMException('This operation was aborted', 'AbortError'), cancel, -9, 'This operation was aborted'],
		[new DOMException('out of the blue', 'AbortError'), undefined, -14, 'out of the blue'],
		[new Error('enough'), cancel, -14, 'enough'],
		['a text', undefined, -14, 'not an Error: a text'],
		[undefined, undefined, -14, 'not an Error: undefined'],
	]) {
		const wire = toWire(error, given);

		assert.deepEqual([wire.code, wire.message], [code, message]);
	}
});

test('the first cause of a cancel counts', () => {
	const cancel = new Cancel();
	const seen = [];

	cancel.fired(() => seen.push(cancel.code));
	cancel.fire({ code: 'timed-out', reason: '' });
	cancel.fire({ code: 'aborted', reason: 'late' });
	cancel.fired(() => seen.push('again'));
	assert.deepEqual([seen, cancel.code, cancel.reason.name], [['timed-out', 'again'], 'timed-out', 'TimeoutError']);
});

test('a stream is read in the pieces of its reader', async () => {
	const pull = new Pull((async function* chunks() { yield 'aé'; yield ''; yield Buffer.from('bcd'); })(), 'stdout');
	const seen = [];

	for (const max of [1, 1, 1, 2, 5, 5, 5])
		seen.push((await pull.read(max, new Cancel()))?.toString('hex'));
	assert.deepEqual(seen, ['61', 'c3', 'a9', '6263', '64', undefined, undefined]);
});

test('a character is given whole', async () => {
	const pull = new Pull((async function* chunks() { yield 'abcé'; })(), 'stdout');

	assert.equal((await pull.read(4, new Cancel())).toString(), 'abc');
	assert.equal((await pull.read(4, new Cancel())).toString(), 'é');
});

test('a read that is cancelled loses nothing', async () => {
	let give;
	const pull = new Pull((async function* chunks() { yield await new Promise((resolve) => { give = resolve; }); })(), 'stdout');
	const cancel = new Cancel();
	const read = pull.read(9, cancel);

	cancel.fire({ code: 'aborted', reason: 'later' });
	await assert.rejects(read, (error) => error === cancel.reason);
	give('all of it');
	assert.equal((await pull.read(9, new Cancel())).toString(), 'all of it');
});

test('a kill goes past a read and a wait', async () => {
	await using(within({ provider: new ProviderSubject(toyProvider()) }), async (connection) => {
		const { sandbox, id } = await connection.call('provider/create', {});
		const { process } = await connection.call('sandbox/spawn', { sandbox, command: 'exec sleep 1000' });
		const read = connection.call('process/read', { process, stream: 'stdout', max: 9 });
		const wait = connection.call('process/wait', { process });

		await connection.call('process/kill', { process, signal: 9 });
		assert.deepEqual([await wait, await read], [{ how: 'killed', code: 137, listeners: 0 }, { end: true }]);
		await connection.call('process/kill', { process, signal: 15 });
		assert.equal((await connection.call('process/wait', { process })).how, 'killed');
		await connection.call('process/release', { process });
		await assert.rejects(connection.call('process/wait', { process }), { code: 'invalid' });
		await connection.call('provider/destroy', { id });
	});
});

test('a cancel of a process says why it ended', async () => {
	await using(within({ provider: new ProviderSubject(toyProvider()) }), async (connection) => {
		const { sandbox, id } = await connection.call('provider/create', {});

		for (const how of ['aborted', 'timed-out']) {
			const { process } = await connection.call('sandbox/spawn', { sandbox, command: 'exec sleep 1000' });

			connection.notify('$/cancel', { process, code: how, reason: 'enough' });
			assert.deepEqual(await connection.call('process/wait', { process }), { how, code: 143, listeners: 0 });
		}
		await connection.call('provider/destroy', { id });
	});
});

test('what is not offered is unsupported, by name', async () => {
	await using(within({ provider: new ProviderSubject(toyProvider()) }), async (connection) => {
		const { sandbox, id } = await connection.call('provider/create', {});

		for (const [method, params, message] of [
			['store/get', { key: 'k' }, /no store\/get/], ['constructor', {}, /no constructor/],
			['sandbox/snapshot', { sandbox }, /no snapshot\(\) \(capability snapshots\)/],
			['provider/restore', { snapshot: 's' }, /no restoreSnapshot\(\) \(capability snapshots\)/],
			['provider/snapshot_delete', { snapshot: 's' }, /capability snapshots/], ['provider/list', {}, /list its sandboxes/],
		])
			await assert.rejects(connection.call(method, params), { code: 'unsupported', message });
		await connection.call('provider/destroy', { id });
	});
});

test('the program: wrong words, a wrong module, a wrong export, a subject that is none', () => {
	for (const [words, code, says] of [
		[[], 2, /usage:/], [['provider', 'x'], 2, /KIND MODULE EXPORT/], [['journal', 'x', 'y'], 2, /KIND MODULE EXPORT/],
		[['store', 'x', 'y', '{}', '{"capabilites":{}}'], 2, /"capabilites"; did it mean "capabilities"/],
		[['store', `${toys}store.mjs`, 'ToyStore', '{'], 2, /OPTIONS is no JSON/],
		[['store', './nowhere.mjs', 'x'], 1, /nowhere/], [['store', `${toys}store.mjs`, 'Nothing'], 1, /exports no Nothing; it exports ToyStore/],
		[['provider', `${toys}store.mjs`, 'ToyStore'], 1, /ToyStore of .* has no capabilities\(\)/],
	]) {
		const { status, stderr, stdout } = spawnSync(process.execPath, [program, ...words], { encoding: 'utf8', input: '' });

		assert.deepEqual([status, stdout], [code, ''], stderr);
		assert.match(stderr, says);
	}
});

test('the program: what a subject prints is not in the dialogue', async () => {
	const noisy = 'data:text/javascript,' + encodeURIComponent('console.log("banner"); export const store = ' +
		'{ get: async () => { console.log("busy"); return null; }, upsert: async () => {}, delete: async () => {} };');

	await using(running('store', noisy, 'store'), async (connection) => {
		assert.deepEqual(await connection.call('store/get', { key: 'k' }), { record: null });
	});
});

test('a message beyond the limit of the other side is an error of its call alone', async () => {
	const store = { get: async () => null, upsert: async () => undefined, delete: async () => undefined };
	const { StoreSubject } = await import('../index.mjs');

	await using(within({ store: new StoreSubject(store) }), async (connection) => {
		await connection.call('initialize', { protocol: 1, limits: { max_frame: 65536 } });
		store.get = async () => ({ key: 'k', provider: 'x'.repeat(70000), providerSandboxId: 's', threadId: 't', updatedAt: 1 });
		await assert.rejects(connection.call('store/get', { key: 'k' }), { code: 'invalid', message: /the limit is 65536/ });
		store.get = async () => null;
		assert.deepEqual(await connection.call('store/get', { key: 'k' }), { record: null });
	});
});
