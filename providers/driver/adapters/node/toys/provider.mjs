// SPDX-License-Identifier: MIT
// A small SandboxProvider that keeps its promises: folders and processes of this machine, without any isolation. Begin
// here: replace what stands behind each function by your own platform.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join, posix } from 'node:path';

export const capabilities = Object.freeze({
	fs: true, exec: true, env: true, ports: true, backgroundProcesses: true, writableStdin: true, killableProcesses: true,
	snapshots: false, networkPolicy: false, durableFilesystem: true, fork: true,
});

// Between the signal that a kill asked for and the KILL that follows.
const graceMs = 200;
// A variable that everything carries which a command starts.
const mark = 'TOY_MARK';
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/;

function failure(code, message) {
	return Object.assign(new Error(message), { code });
}

function unsupported(provider, capability, hint) {
	return Object.assign(new Error(`Sandbox provider "${provider}" does not support "${capability}": ${hint}`), {
		name: 'UnsupportedCapabilityError', provider, capability,
	});
}

function checkNames(env) {
	for (const [name, value] of Object.entries(env)) {
		if (!variable.test(name) || name === mark || value.includes('\0'))
			throw failure('invalid', `${name} cannot be a variable`);
	}
}

const delay = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Processes whose environment holds the mark, zombies left out: they have none any more.
async function marked(value) {
	const found = [];

	for (const pid of (await fs.readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
		const environ = await fs.readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');

		if (environ.split('\0').some((line) => line.startsWith(`${mark}=${value}`)))
			found.push(Number(pid));
	}
	return found;
}

function tell(pid, signal) {
	try {
		process.kill(pid, signal);
	} catch (error) {
		if (error.code !== 'ESRCH')
			throw error;
	}
}

// Ends everything that carries the mark: a walk that finds nothing is the proof.
async function killMarked(value) {
	for (let pids = await marked(value); pids.length; pids = await marked(value)) {
		pids.forEach((pid) => tell(pid, 'SIGKILL'));
		await delay(1);
	}
}

class Command {
	#child;
	#mark;
	#killing;
	#exit;

	constructor(child, value) {
		this.#child = child;
		this.#mark = value;
		this.pid = child.pid;
		// Node throws away at the exit what nobody reads yet, unless somebody listens.
		child.stdout.on('readable', () => undefined);
		child.stderr.on('readable', () => undefined);
		this.stdout = decode(child.stdout);
		this.stderr = decode(child.stderr);
		this.stdin = child.stdin && {
			write: (data) => new Promise((resolve, reject) => {
				child.stdin.write(data, (error) => error ? reject(error) : resolve());
			}),
			end: () => new Promise((resolve) => { child.stdin.end(resolve); }),
		};
		child.stdin?.on('error', () => undefined);
		this.#exit = new Promise((resolve) => {
			child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
		}).then(async (code) => {
			// What the command left behind holds its pipes and would run for ever.
			await killMarked(value);
			return code;
		});
	}

	wait() {
		return this.#exit;
	}

	async kill(signal = 'SIGTERM') {
		const gentle = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'].includes(signal);

		if (this.#child.exitCode !== null || this.#child.signalCode !== null)
			return;
		if (gentle && !this.#killing) {
			this.#killing = true;
			tell(-this.#child.pid, signal);
			tell(-this.#child.pid, 'SIGCONT');
			await Promise.race([this.#exit, delay(graceMs)]);
		}
		await killMarked(this.#mark);
		await this.#exit;
	}
}

async function* decode(stream) {
	const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

	for await (const chunk of stream) {
		const text = decoder.decode(chunk, { stream: true });

		if (text)
			yield text;
	}
	const last = decoder.decode();

	if (last)
		yield last;
}

async function all(stream) {
	const chunks = [];

	for await (const chunk of stream)
		chunks.push(chunk);
	return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks));
}

class Sandbox {
	provider;
	capabilities = capabilities;
	#owner;
	#env = {};
	#gone = false;

	constructor(owner, root, env) {
		this.#owner = owner;
		this.provider = owner.name;
		this.id = root;
		this.workspaceRoot = root;
		checkNames(env);
		Object.assign(this.#env, env);
		this.fs = this.#files();
		this.process = { exec: (command, options) => this.#exec(command, options), spawn: (command, options) => this.#spawn(command, options) };
		this.ports = { connect: async (port) => ({ url: `http://127.0.0.1:${port}` }) };
		this.env = { set: async (vars) => { checkNames(vars); Object.assign(this.#env, vars); } };
		this.git = this.#git();
	}

	async fork() {
		const twin = await this.#owner.create({ env: this.#env });

		await fs.cp(this.workspaceRoot, twin.workspaceRoot, { recursive: true, verbatimSymlinks: true });
		return twin;
	}

	async destroy() {
		this.#gone = true;
		await this.#owner.destroy({ id: this.id });
	}

	#path(path) {
		if (path === '/workspace' || path.startsWith('/workspace/'))
			return posix.join(this.workspaceRoot, path.slice('/workspace'.length));
		return posix.resolve(this.workspaceRoot, path);
	}

	async #start(command, { cwd = '/workspace', env = {}, signal }, stdin) {
		const value = `${this.id}:${randomUUID()}`;
		const folder = this.#path(cwd);

		signal?.throwIfAborted();
		checkNames(env);
		if (this.#gone)
			throw failure('gone', `sandbox ${this.id} was destroyed`);
		if (!(await fs.stat(folder)).isDirectory())
			throw failure('not-found', `${cwd} is no folder`);
		signal?.throwIfAborted();
		const child = spawn('/bin/sh', ['-c', command], {
			cwd: folder, detached: true, stdio: [stdin, 'pipe', 'pipe'],
			env: { PATH: process.env.PATH, HOME: this.workspaceRoot, ...this.#env, ...env, [mark]: value },
		});

		await new Promise((resolve, reject) => { child.once('spawn', resolve).once('error', reject); });
		return { child, value };
	}

	async #exec(command, options = {}) {
		const { signal } = options;
		const { child, value } = await this.#start(command, options, 'ignore');
		const running = new Command(child, value);
		let ended;
		const abort = () => { ended = running.kill(); };

		signal?.addEventListener('abort', abort, { once: true });
		if (signal?.aborted)
			abort();
		const [exitCode, stdout, stderr] = await Promise.all([running.wait(), all(child.stdout), all(child.stderr)]);

		signal?.removeEventListener('abort', abort);
		await ended;
		if (ended)
			throw signal.reason;
		return { stdout, stderr, exitCode };
	}

	async #spawn(command, options = {}) {
		const { signal } = options;
		const { child, value } = await this.#start(command, options, 'pipe');
		const running = new Command(child, value);
		const abort = () => void running.kill();

		signal?.addEventListener('abort', abort, { once: true });
		if (signal?.aborted)
			abort();
		running.wait().finally(() => signal?.removeEventListener('abort', abort));
		return running;
	}

	#files() {
		const at = (path) => this.#path(path);

		return {
			read: (path) => fs.readFile(at(path), 'utf8'),
			readBytes: async (path) => new Uint8Array(await fs.readFile(at(path))),
			write: async (path, data) => {
				const target = at(path);
				const draft = `${target}.${randomUUID()}`;

				await fs.mkdir(posix.dirname(target), { recursive: true });
				if ((await fs.stat(target).catch(() => undefined))?.isDirectory())
					throw failure('conflict', `${path} is a folder`);
				await fs.writeFile(draft, data);
				await fs.rename(draft, await fs.realpath(target).catch(() => target));
			},
			list: async (path) => (await fs.readdir(at(path), { withFileTypes: true })).map((entry) => ({
				name: entry.name, path: posix.join(path, entry.name), type: typeOf(entry),
			})),
			mkdir: async (path) => void await fs.mkdir(at(path), { recursive: true }),
			remove: (path) => fs.rm(at(path), { recursive: true, force: true }),
			rename: (from, to) => fs.rename(at(from), at(to)),
			exists: async (path) => await lstat(at(path)) !== undefined,
			lstat: async (path) => {
				const stat = await lstat(at(path));

				return stat && { type: typeOf(stat), mode: stat.mode, ...(stat.isFile() && { size: stat.size }) };
			},
		};
	}

	#git() {
		const none = async () => { throw unsupported(this.provider, 'git', 'run git by process.exec()'); };

		return { clone: none, status: none, add: none, commit: none, push: none, pull: none, branch: none };
	}
}

function typeOf(entry) {
	if (entry.isDirectory())
		return 'dir';
	return entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'symlink' : 'other';
}

// undefined only where it is certain that nothing is there.
async function lstat(path) {
	try {
		return await fs.lstat(path);
	} catch (error) {
		if (error.code === 'ENOENT')
			return undefined;
		throw error;
	}
}

class Provider {
	name = 'toy';

	constructor({ folder = tmpdir() } = {}) {
		this.folder = folder;
	}

	capabilities() {
		return capabilities;
	}

	async create({ env = {}, policy, signal } = {}) {
		signal?.throwIfAborted();
		checkNames(env);
		if (policy?.capabilities?.network === 'deny')
			throw unsupported(this.name, 'networkPolicy', 'a toy cuts no network');
		const root = await fs.realpath(await fs.mkdtemp(join(this.folder, 'sandproof-toy-')));

		if (signal?.aborted) {
			await fs.rm(root, { recursive: true });
			throw signal.reason;
		}
		return new Sandbox(this, root, env);
	}

	async resume({ id, signal }) {
		signal?.throwIfAborted();
		if (!this.#own(id) || await lstat(id) === undefined)
			return null;
		return new Sandbox(this, id, {});
	}

	async destroy({ id }) {
		if (!this.#own(id))
			return;
		await killMarked(`${id}:`);
		await fs.rm(id, { recursive: true, force: true });
	}

	// An id is a folder that create() made, never another one.
	#own(id) {
		return /\/sandproof-toy-[A-Za-z0-9]{6}$/.test(id) && posix.normalize(id) === id;
	}
}

export function toyProvider(options) {
	return new Provider(options);
}
