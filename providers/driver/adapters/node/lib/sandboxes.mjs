// SPDX-License-Identifier: MIT
// provider/*, sandbox/* and fs/*: a SandboxProvider and its SandboxHandles behind the protocol.

import { difference, toProtocol } from './capabilities.mjs';
import { Cancel, owed, unlessCancelled } from './driver.mjs';
import { DriverError } from './errors.mjs';
import { Processes, listeners } from './processes.mjs';
import { bytesOf, envOf, intOf, show, textOf, toBytes, toInt, toText, viewOf } from './values.mjs';

// What stands for a path that no provider maps elsewhere.
const virtualRoot = '/workspace';

/** A provider's own idea of its sandbox's root, read as the framework's own consumers read it. */
function rootOf(handle) {
	if (handle.workspaceRoot !== undefined)
		return handle.workspaceRoot;
	return handle.provider === 'local-process' ? handle.id : virtualRoot;
}

/**
 * A SandboxProvider as a subject of a Driver. `options.capabilities` (snake_case) goes over what it declares;
 * `options.read` is 'text' to read files by fs.read() instead of fs.readBytes().
 */
export class ProviderSubject {
	#provider;
	#options;
	#handles = new Map();
	#count = 0;
	#processes = new Processes();

	methods = new Map([
		...this.#providerMethods(), ...this.#sandboxMethods(), ...this.#fsMethods(), ...this.#processes.methods, ...this.#lacking(),
	]);

	constructor(provider, options = {}) {
		this.#provider = provider;
		this.#options = options;
	}

	attach(driver) {
		driver.cancellable('process', (name) => this.#processes.cancelOf(name));
	}

	describe() {
		const declared = this.#provider.capabilities();

		return {
			name: toText(this.#provider.name, 'the name of the provider'),
			capabilities: toProtocol(declared, this.#options.capabilities),
		};
	}

	#providerMethods() {
		return Object.entries({
			'provider/create': (params, call) => this.#make('create', this.#createInput(params, call)),
			'provider/restore': (params, call) => this.#make('restoreSnapshot',
				{ ...this.#createInput(params, call), snapshotId: params.snapshot }),
			'provider/resume': (params, call) => this.#resume(params, call),
			'provider/destroy': ({ id }, { cancel }) =>
				owed('destroy', () => this.#provider.destroy({ id, signal: cancel.signal })).then(() => undefined),
		});
	}

	// What the interface has no function for, with the capability that a caller would look for.
	#lacking() {
		const none = (what) => () => { throw new DriverError('unsupported', `a SandboxProvider has no way to ${what}`); };

		return Object.entries({
			'provider/snapshot_delete': none('delete a snapshot (capability snapshots)'),
			'provider/list': none('list its sandboxes'),
			'process/signal': none('send a signal and nothing after it (capability signals)'),
			'sandbox/timeline': none('tell what its platform recorded'),
		});
	}

	#sandboxMethods() {
		return Object.entries({
			'sandbox/exec': (params, call) => this.#exec(params, call),
			'sandbox/spawn': (params, call) => this.#spawn(params, call),
			'sandbox/env_set': ({ sandbox, env }, { cancel }) =>
				this.#plain(sandbox, 'env.set', cancel, (handle, options) => handle.env.set(envOf(env), options)),
			'sandbox/snapshot': (params, call) => this.#snapshot(params, call),
			'sandbox/fork': async ({ sandbox }, { cancel }) =>
				this.#addMade(await this.#optional(sandbox, 'fork', 'fork', cancel, (handle) => handle.fork())),
			'sandbox/port_connect': (params, call) => this.#port(params, call),
			'sandbox/git': (params, call) => this.#git(params, call),
			'sandbox/destroy': ({ sandbox }, { cancel }) =>
				this.#plain(sandbox, 'destroy', cancel, (handle) => handle.destroy()),
			'sandbox/close': ({ sandbox }) => void this.#handles.delete(sandbox),
		});
	}

	#fsMethods() {
		const path = ({ path: bytes }) => textOf(bytes, 'path');
		const plain = (name) => (params, { cancel }) =>
			this.#plain(params.sandbox, `fs.${name}`, cancel, ({ fs }, options) => fs[name](path(params), options));

		return Object.entries({
			'fs/read': (params, call) => this.#read(params, path(params), call),
			'fs/write': (params, call) => this.#write(params, path(params), call),
			'fs/list': (params, call) => this.#list(params, path(params), call),
			'fs/mkdir': plain('mkdir'),
			'fs/remove': plain('remove'),
			'fs/rename': ({ sandbox, from, to }, { cancel }) => this.#plain(sandbox, 'fs.rename', cancel,
				({ fs }, options) => fs.rename(textOf(from, 'from'), textOf(to, 'to'), options)),
			'fs/exists': (params, call) => this.#exists(params, path(params), call),
			'fs/lstat': (params, call) => this.#lstat(params, path(params), call),
		});
	}

	// What the interface knows of a create; a field that the caller did not name is not there at all.
	#createInput(params, { cancel }) {
		const input = { env: envOf(params.env), signal: cancel.signal };

		if (params.id !== undefined)
			input.id = params.id;
		if (params.workspace !== undefined)
			input.workspace = JSON.parse(params.workspace);
		if (params.network !== undefined && params.network !== 'default')
			input.policy = { capabilities: { network: params.network } };
		if (params.adapter_name !== undefined)
			input.adapterName = params.adapter_name;
		return input;
	}

	async #make(method, input) {
		if (typeof this.#provider[method] !== 'function')
			throw new DriverError('unsupported', `provider ${this.#provider.name} has no ${method}() (capability snapshots)`);
		return this.#addMade(await owed(method, () => this.#provider[method](input)));
	}

	// A sandbox that cannot be taken in is nobody's.
	async #addMade(handle) {
		try {
			return this.#add(handle);
		} catch (error) {
			await handle?.destroy?.();
			throw error;
		}
	}

	async #resume({ id }, { cancel }) {
		const handle = await owed('resume', () => this.#provider.resume({ id, signal: cancel.signal }));

		if (handle === null)
			return { gone: true };
		return this.#add(handle);
	}

	// Takes a SandboxHandle in and describes it; it declares the same as its provider.
	#add(handle) {
		const name = `sb-${++this.#count}`;

		if (handle === null || typeof handle !== 'object')
			throw new DriverError('protocol', `${show(handle)} where a sandbox is owed`);
		const flag = difference(handle.capabilities, this.#provider.capabilities());

		if (flag)
			throw new DriverError('protocol', `the sandbox declares ${flag} otherwise than its provider`);
		this.#handles.set(name, handle);
		return { sandbox: name, id: toText(handle.id, 'id'), workspace_root: toText(rootOf(handle), 'workspaceRoot') };
	}

	#handle(name) {
		const handle = this.#handles.get(name);

		if (!handle)
			throw new DriverError('invalid', `there is no sandbox ${show(name)}`);
		return handle;
	}

	// A call whose interface names no signal: one is passed all the same, and after an abort nobody waits for it.
	async #ask(sandbox, name, cancel, call) {
		const handle = this.#handle(sandbox);

		return unlessCancelled(owed(name, () => call(handle, { signal: cancel.signal })), cancel);
	}

	async #plain(sandbox, name, cancel, call) {
		await this.#ask(sandbox, name, cancel, call);
	}

	#optional(sandbox, method, capability, cancel, call) {
		const handle = this.#handle(sandbox);

		if (typeof handle[method] !== 'function')
			throw new DriverError('unsupported', `provider ${handle.provider} has no ${method}() (capability ${capability})`);
		return this.#ask(sandbox, method, cancel, call);
	}

	#processOptions(params, cancel) {
		const options = { signal: cancel.signal };

		if (params.cwd !== undefined)
			options.cwd = textOf(params.cwd, 'cwd');
		if (params.env !== undefined)
			options.env = envOf(params.env);
		return options;
	}

	async #exec(params, { cancel }) {
		const handle = this.#handle(params.sandbox);
		const command = textOf(params.command, 'command');
		const options = this.#processOptions(params, cancel);
		const result = await owed('exec', () => handle.process.exec(command, options));

		return { ...this.#output(result), listeners: listeners(cancel) };
	}

	#output(result) {
		if (typeof result?.stdout !== 'string' || typeof result.stderr !== 'string')
			throw new DriverError('protocol', `exec() answered ${show(result)} and no output`);
		if (!Number.isInteger(result.exitCode) || result.exitCode < 0 || result.exitCode > 255)
			throw new DriverError('protocol', `exec() answered exit code ${show(result.exitCode)}`);
		return { stdout: toBytes(result.stdout), stderr: toBytes(result.stderr), exit_code: result.exitCode };
	}

	// The signal of a spawn belongs to the process; until there is one, the call's cancel stands for it.
	async #spawn(params, { cancel }) {
		const handle = this.#handle(params.sandbox);
		const command = textOf(params.command, 'command');
		const own = new Cancel();

		cancel.fired(() => own.fire({ code: cancel.code, reason: cancel.text }));
		try {
			const options = this.#processOptions(params, own);

			return { process: this.#processes.add(await owed('spawn', () => handle.process.spawn(command, options)), own) };
		} catch (error) {
			// The caller's reason is the object that this process was given.
			throw error === own.reason ? cancel.reason : error;
		}
	}

	async #snapshot({ sandbox, label }, { cancel }) {
		const ref = await this.#optional(sandbox, 'snapshot', 'snapshots', cancel, (handle) => handle.snapshot(label));
		const result = { id: toText(ref?.id, 'the id of the snapshot') };

		if (ref.label !== undefined)
			result.label = toText(ref.label, 'the label of the snapshot');
		return result;
	}

	async #port({ sandbox, port }, { cancel }) {
		const channel = await this.#ask(sandbox, 'ports.connect', cancel, ({ ports }) => ports.connect(port));
		const result = { url: toText(channel?.url, 'the url of the port') };

		if (channel.token !== undefined)
			result.token = toText(channel.token, 'the token of the port');
		return result;
	}

	async #git(params, { cancel }) {
		const call = gitCalls[params.verb];

		if (!call)
			throw new DriverError('invalid', `git has no verb ${show(params.verb)} here`);
		const text = await this.#ask(params.sandbox, `git.${params.verb}`, cancel, ({ git }) => call(git, params));

		return { stdout: toBytes(text ?? ''), stderr: '', exit_code: 0 };
	}

	async #read({ sandbox }, path, { cancel }) {
		if (this.#options.read === 'text') {
			const text = await this.#ask(sandbox, 'fs.read', cancel, ({ fs }, options) => fs.read(path, options));

			if (typeof text !== 'string')
				throw new DriverError('protocol', `fs.read() answered ${show(text)} and no text`);
			return { data: toBytes(text) };
		}
		const bytes = await this.#ask(sandbox, 'fs.readBytes', cancel, ({ fs }, options) => fs.readBytes(path, options));

		if (!(bytes instanceof Uint8Array))
			throw new DriverError('protocol', `fs.readBytes() answered ${show(bytes)} and no Uint8Array`);
		return { data: toBytes(bytes) };
	}

	// A subject that keeps the caller's bytes instead of a copy shows when they are changed at once.
	async #write({ sandbox, data }, path, { cancel }) {
		const given = typeof data === 'string' ? data : new Uint8Array(viewOf(bytesOf(data, 'data')));

		await this.#plain(sandbox, 'fs.write', cancel, ({ fs }, options) => fs.write(path, given, options));
		if (typeof given !== 'string')
			given.fill(0x78);
	}

	async #list({ sandbox }, path, { cancel }) {
		const list = await this.#ask(sandbox, 'fs.list', cancel, ({ fs }, options) => fs.list(path, options));

		if (!Array.isArray(list))
			throw new DriverError('protocol', `fs.list() answered ${show(list)} and no array`);
		const entries = list.map((entry) => ({
			name: toText(entry?.name, 'the name of an entry'), path: toText(entry.path, 'the path of an entry'),
			type: toText(entry.type, 'the type of an entry'),
		}));

		// The interface promises no order; the protocol does.
		return { entries: entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))) };
	}

	async #exists({ sandbox }, path, { cancel }) {
		const exists = await this.#ask(sandbox, 'fs.exists', cancel, ({ fs }, options) => fs.exists(path, options));

		if (typeof exists !== 'boolean')
			throw new DriverError('protocol', `fs.exists() answered ${show(exists)} and no boolean`);
		return { exists };
	}

	// The interface answers undefined for what is confirmed to be missing.
	async #lstat({ sandbox }, path, { cancel }) {
		const handle = this.#handle(sandbox);

		if (typeof handle.fs.lstat !== 'function')
			throw new DriverError('unsupported', `provider ${handle.provider} has no fs.lstat()`);
		const stat = await this.#ask(sandbox, 'fs.lstat', cancel, ({ fs }, options) => fs.lstat(path, options));

		if (stat === undefined)
			throw new DriverError('not-found', `${path}: there is no such entry`);
		return {
			type: toText(stat.type, 'the type'), mode: toInt(stat.mode, 'the mode'),
			size: stat.size === undefined ? 0 : toInt(stat.size, 'the size'),
		};
	}
}

function cloneInput({ url, dir, ref, user, token, depth = 0 }) {
	const input = { url };
	const commits = intOf(depth, 'depth');

	if (dir !== undefined)
		input.dir = dir;
	if (ref !== undefined)
		input.ref = ref;
	if (token !== undefined)
		input.auth = user === undefined ? { token } : { username: user, token };
	if (commits)
		input.depth = commits < 0 ? 'full' : commits;
	return input;
}

const gitCalls = {
	clone: (git, params) => git.clone(cloneInput(params)),
	status: (git, { dir }) => git.status(dir),
	add: (git, { dir }) => git.add(['.'], dir),
	commit: (git, { message, dir }) => git.commit(message, dir),
	push: (git, { dir }) => git.push(dir),
	pull: (git, { dir }) => git.pull(dir),
	branch: (git, { dir }) => git.branch(dir),
};
