// SPDX-License-Identifier: MIT
// What a driver offers, as the objects that TanStack AI works with: SandboxProvider, SandboxInstanceStore, LockStore.

import { fromProtocol } from './capabilities.mjs';
import { DriverError } from './errors.mjs';
import { gitOver } from './git.mjs';
import { numberOfSignal } from './signals.mjs';
import { bytesOf, toBytes } from './values.mjs';

// Bytes asked for at a time.
const piece = 64 * 1024;
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** What an operation that a provider lacks throws; named as consumers look for it. */
export class UnsupportedCapabilityError extends Error {
	constructor(provider, capability, message) {
		super(message ?? `Sandbox provider "${provider}" does not support the "${capability}" capability.`);
		this.name = 'UnsupportedCapabilityError';
		this.provider = provider;
		this.capability = capability;
	}
}

const text = (bytes) => utf8.decode(bytesOf(bytes, 'output'));

function envToWire(env = {}) {
	const wire = Object.entries(env).map(([name, value]) => [name, toBytes(value)]);

	return Object.fromEntries(wire);
}

function networkOf(policy) {
	const network = policy?.capabilities?.network;

	return network === 'allow' || network === 'deny' ? network : 'default';
}

function createParams({ id, workspace, policy, env, adapterName }) {
	const params = { network: networkOf(policy), env: envToWire(env) };

	if (id !== undefined)
		params.id = id;
	if (workspace !== undefined)
		params.workspace = JSON.stringify(workspace);
	if (adapterName !== undefined)
		params.adapter_name = adapterName;
	return params;
}

// A process of the driver. Its handle goes back when it has ended and nothing is left to read.
class Process {
	#connection;
	#handle;
	#open = 3;
	#exit;
	#ended = false;

	pid = -1;

	constructor(connection, handle, signal) {
		this.#connection = connection;
		this.#handle = handle;
		this.stdout = this.#stream('stdout');
		this.stderr = this.#stream('stderr');
		this.stdin = Object.freeze({
			write: (data) => this.#call('process/write_stdin', { data: toBytes(data) }).then(() => undefined),
			end: () => this.#call('process/close_stdin').then(() => undefined),
		});
		this.#watch(signal);
	}

	wait() {
		return this.#exit;
	}

	async kill(signal) {
		if (!this.#ended)
			await this.#call('process/kill', { signal: numberOfSignal(signal) });
	}

	#call(method, params = {}) {
		return this.#connection.call(method, { process: this.#handle, ...params });
	}

	// An abort belongs to the process for as long as it runs, and to nobody afterwards.
	#watch(signal) {
		const abort = () => this.#connection.cancel({ process: this.#handle }, signal);

		if (signal?.aborted)
			abort();
		signal?.addEventListener('abort', abort, { once: true });
		this.#exit = this.#call('process/wait').then(({ code }) => code).finally(() => {
			signal?.removeEventListener('abort', abort);
			this.#ended = true;
			this.#closed();
		});
		// Nobody need ask for it.
		this.#exit.catch(() => undefined);
	}

	#closed() {
		if (--this.#open === 0)
			this.#call('process/release').catch(() => undefined);
	}

	async *#stream(stream) {
		const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

		for (;;) {
			const { data, end } = await this.#call('process/read', { stream, max: piece });
			const chunk = end ? decoder.decode() : decoder.decode(bytesOf(data, 'data'), { stream: true });

			if (chunk)
				yield chunk;
			if (end)
				break;
		}
		this.#closed();
	}
}

/** A SandboxHandle. */
class Handle {
	#connection;
	#name;

	constructor(connection, provider, made) {
		const { fs, snapshots, fork } = provider.capabilities();

		this.#connection = connection;
		this.#name = made.sandbox;
		this.id = made.id;
		this.provider = provider.name;
		this.workspaceRoot = made.workspace_root;
		this.capabilities = provider.capabilities();
		this.fs = fs ? this.#fs() : undefined;
		this.process = Object.freeze({
			exec: (command, options) => this.#exec(command, options),
			spawn: (command, options) => this.#spawn(command, options),
		});
		this.git = gitOver(this.process.exec, this.workspaceRoot);
		this.ports = Object.freeze({ connect: (port) => this.#gated('ports', 'sandbox/port_connect', { port }) });
		this.env = Object.freeze({
			set: async (vars) => void await this.#gated('env', 'sandbox/env_set', { env: envToWire(vars) }),
		});
		if (snapshots)
			this.snapshot = (label) => this.#call('sandbox/snapshot', label === undefined ? {} : { label });
		if (fork)
			this.fork = async () => new Handle(connection, provider, await this.#call('sandbox/fork'));
	}

	async destroy() {
		await this.#call('sandbox/destroy');
	}

	#call(method, params = {}, options = {}) {
		return this.#connection.call(method, { sandbox: this.#name, ...params }, options);
	}

	async #gated(capability, method, params) {
		try {
			return await this.#call(method, params);
		} catch (error) {
			throw error.code === 'unsupported' ? new UnsupportedCapabilityError(this.provider, capability, error.message) : error;
		}
	}

	#command(command, { cwd, env }) {
		const params = { command: toBytes(command) };

		if (cwd !== undefined)
			params.cwd = toBytes(cwd);
		if (env !== undefined)
			params.env = envToWire(env);
		return params;
	}

	async #exec(command, options = {}) {
		const result = await this.#call('sandbox/exec', this.#command(command, options), { signal: options.signal });

		return { stdout: text(result.stdout), stderr: text(result.stderr), exitCode: result.exit_code };
	}

	async #spawn(command, options = {}) {
		const { signal } = options;
		const { process } = await this.#call('sandbox/spawn', this.#command(command, options), { signal });

		return new Process(this.#connection, process, signal);
	}

	#fs() {
		const call = (method, params) => this.#call(`fs/${method}`, params);
		const read = async (path) => bytesOf((await call('read', { path: toBytes(path) })).data, 'data');

		return Object.freeze({
			read: async (path) => utf8.decode(await read(path)),
			readBytes: async (path) => new Uint8Array(await read(path)),
			write: async (path, data) => void await call('write', { path: toBytes(path), data: toBytes(data) }),
			list: async (path) => (await call('list', { path: toBytes(path) })).entries.map((entry) => ({
				name: text(entry.name), path: text(entry.path), type: entry.type === 'dir' ? 'dir' : 'file',
			})),
			mkdir: async (path) => void await call('mkdir', { path: toBytes(path) }),
			remove: async (path) => void await call('remove', { path: toBytes(path) }),
			rename: async (from, to) => void await call('rename', { from: toBytes(from), to: toBytes(to) }),
			exists: async (path) => (await call('exists', { path: toBytes(path) })).exists,
			lstat: (path) => this.#lstat(path),
		});
	}

	// undefined for what is confirmed to be missing, and for nothing else.
	async #lstat(path) {
		try {
			const { type, mode, size } = await this.#call('fs/lstat', { path: toBytes(path) });

			return type === 'file' ? { type, mode, size } : { type, mode };
		} catch (error) {
			if (error.code === 'not-found')
				return undefined;
			throw error;
		}
	}
}

/** A SandboxProvider over a connection. */
export class ServedProvider {
	#connection;
	#capabilities;

	constructor(connection) {
		const offer = connection.offers.provider;

		if (!offer)
			throw new DriverError('unsupported', 'this driver offers no provider');
		this.#connection = connection;
		this.#capabilities = fromProtocol(offer.capabilities);
		this.name = offer.name;
		if (this.#capabilities.snapshots)
			this.restoreSnapshot = (input) => this.#make('provider/restore', input, { snapshot: input.snapshotId });
	}

	capabilities() {
		return this.#capabilities;
	}

	create(input = {}) {
		return this.#make('provider/create', input);
	}

	async resume({ id, signal }) {
		const made = await this.#connection.call('provider/resume', { id }, { signal });

		return made.gone ? null : new Handle(this.#connection, this, made);
	}

	async destroy({ id, signal }) {
		await this.#connection.call('provider/destroy', { id }, { signal });
	}

	async #make(method, input, more = {}) {
		const params = { ...createParams(input), ...more };

		return new Handle(this.#connection, this, await this.#connection.call(method, params, { signal: input.signal }));
	}
}
