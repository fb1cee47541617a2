// SPDX-License-Identifier: MIT
// A small SandboxProvider that keeps its promises: folders and processes of this machine, without any isolation. Begin
// here: replace what stands behind each function by your own platform.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
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
// Shells make these themselves: what was given would be dropped without a word.
const shells = new Set(('BASHOPTS BASHPID BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_ENV BASH_LINENO ' +
	'BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO BASH_VERSION COMP_WORDBREAKS DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME ' +
	'GROUPS HISTCMD IFS LINENO OLDPWD OPTERR OPTIND PIPESTATUS PPID PS1 PS2 PS4 PWD RANDOM SECONDS SHELLOPTS SHLVL ' +
	`SRANDOM UID _ ${mark}`).split(' '));
// Bytes that the kernel takes as one argument or variable, and as all of them, with some to spare.
const longest = 130000;
const most = 1000000;

function failure(code, message) {
	return Object.assign(new Error(message), { code });
}

function unsupported(provider, capability, hint) {
	return Object.assign(new Error(`Sandbox provider "${provider}" does not support "${capability}": ${hint}`), {
		name: 'UnsupportedCapabilityError', provider, capability,
	});
}

// Names and values that a command can be given, also together with `more`.
function check(env, more = {}) {
	let size = 0;

	for (const [name, value] of Object.entries({ ...more, ...env })) {
		const bytes = Buffer.byteLength(value);

		// What cannot be a name may be a value in the wrong place: it is not repeated.
		if (!variable.test(name))
			throw failure('invalid', 'what is given as the name of a variable cannot be one');
		if (shells.has(name) || value.includes('\0') || bytes > longest)
			throw failure('invalid', `${name} cannot be handed over`);
		size += name.length + bytes + 2;
	}
	if (size > most)
		throw failure('invalid', `${size} bytes of variables are more than a command can be given`);
}

const delay = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// Processes whose environment holds the mark, zombies left out: they have none any more.
function marked(value) {
	const start = `\0${mark}=${value}`;

	return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && environOf(pid).includes(start)).map(Number);
}

function environOf(pid) {
	try {
		return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`;
	} catch {
		return '';
	}
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
	for (let pids = marked(value); pids.length; pids = marked(value)) {
		pids.forEach((pid) => tell(pid, 'SIGKILL'));
		await delay(1);
	}
}

class Command {
	#child;
	#mark;
	#killing;
	#exit;

	constructor(child, value, script) {
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
			if (script)
				await fs.rm(script);
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
			await Promise.race([this.#exit, delay(graceMs)]);
		}
		// Its group by name: what is just being started has no environment to be found by yet.
		if (this.#child.exitCode === null && this.#child.signalCode === null)
			tell(-this.#child.pid, 'SIGKILL');
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
	let text = '';

	for await (const chunk of stream)
		text += chunk;
	return text;
}

// A file for a command that is too long for one argument; it goes with the command.
async function scriptOf(command) {
	const script = join(tmpdir(), `sandproof-toy-${randomUUID()}`);

	await fs.writeFile(script, command, { mode: 0o600 });
	return script;
}

class Sandbox {
	provider;
	capabilities = capabilities;
	#owner;
	#env;

	constructor(owner, root, env) {
		this.#owner = owner;
		this.provider = owner.name;
		this.id = root;
		this.workspaceRoot = root;
		this.#env = env;
		this.fs = this.#files();
		this.process = { exec: (command, options) => this.#exec(command, options), spawn: (command, options) => this.#spawn(command, options) };
		this.ports = {
			connect: async (port) => {
				this.#path('/workspace');
				return { url: `http://127.0.0.1:${port}` };
			},
		};
		this.env = {
			set: async (vars, { signal: set } = {}) => {
				set?.throwIfAborted();
				this.#path('/workspace');
				check(vars, this.#env);
				Object.assign(this.#env, vars);
			},
		};
		this.git = this.#git();
	}

	async fork() {
		this.#path('/workspace');
		const twin = await this.#owner.create({ env: this.#env });

		await fs.cp(this.workspaceRoot, twin.workspaceRoot, { recursive: true, verbatimSymlinks: true });
		return twin;
	}

	async destroy() {
		await this.#owner.destroy({ id: this.id });
	}

	// Where a path is, as long as the sandbox is there.
	#path(path) {
		if (!existsSync(this.workspaceRoot))
			throw failure('gone', `sandbox ${this.id} was destroyed`);
		if (path === '/workspace' || path.startsWith('/workspace/'))
			return posix.join(this.workspaceRoot, path.slice('/workspace'.length));
		return posix.resolve(this.workspaceRoot, path);
	}

	async #start(command, { cwd = '/workspace', env = {}, signal }, stdin) {
		const value = `${this.id}:${randomUUID()}`;
		const folder = this.#path(cwd);

		signal?.throwIfAborted();
		check(env, this.#env);
		if (!(await fs.stat(folder).catch(() => undefined))?.isDirectory())
			throw failure('not-found', `${cwd} is no folder`);
		const script = Buffer.byteLength(command) > longest ? await scriptOf(command) : undefined;

		signal?.throwIfAborted();
		const child = spawn('/bin/bash', script ? [script] : ['-c', '--', command], {
			cwd: folder, detached: true, stdio: [stdin, 'pipe', 'pipe'],
			env: { PATH: process.env.PATH, HOME: this.workspaceRoot, ...this.#env, ...env, [mark]: value },
		});

		await new Promise((resolve, reject) => { child.once('spawn', resolve).once('error', reject); });
		return new Command(child, value, script);
	}

	async #exec(command, options = {}) {
		const { signal } = options;
		const running = await this.#start(command, options, 'ignore');
		let ended;
		const abort = () => { ended = running.kill(); };

		signal?.addEventListener('abort', abort, { once: true });
		if (signal?.aborted)
			abort();
		const [exitCode, stdout, stderr] = await Promise.all([running.wait(), all(running.stdout), all(running.stderr)]);

		signal?.removeEventListener('abort', abort);
		await ended;
		if (ended)
			throw signal.reason;
		return { stdout, stderr, exitCode };
	}

	async #spawn(command, options = {}) {
		const { signal } = options;
		const running = await this.#start(command, options, 'pipe');
		const abort = () => void running.kill();

		signal?.addEventListener('abort', abort, { once: true });
		if (signal?.aborted)
			abort();
		running.wait().finally(() => signal?.removeEventListener('abort', abort));
		return running;
	}

	#files() {
		// Whoever passes a signal is told when it had fired before.
		const at = (path, { signal } = {}) => {
			signal?.throwIfAborted();
			return this.#path(path);
		};

		return {
			read: async (path, options) => fs.readFile(at(path, options), 'utf8'),
			readBytes: async (path, options) => new Uint8Array(await fs.readFile(at(path, options))),
			write: async (path, data, options) => replace(at(path, options), data),
			list: async (path, options) => (await fs.readdir(at(path, options), { withFileTypes: true })).map((entry) => ({
				name: entry.name, path: posix.resolve('/workspace', path, entry.name), type: typeOf(entry),
			})),
			mkdir: async (path, options) => void await fs.mkdir(at(path, options), { recursive: true }),
			remove: async (path, options) => fs.rm(at(path, options), { recursive: true, force: true }),
			rename: async (from, to, options) => fs.rename(at(from, options), at(to)),
			exists: async (path, options) => await lstat(at(path, options)) !== undefined,
			lstat: async (path, options) => {
				const stat = await lstat(at(path, options));

				return stat && { type: typeOf(stat), mode: stat.mode, ...(stat.isFile() && { size: stat.size }) };
			},
		};
	}

	#git() {
		const none = async () => { throw unsupported(this.provider, 'git', 'run git by process.exec()'); };

		return { clone: none, status: none, add: none, commit: none, push: none, pull: none, branch: none };
	}
}

// Readers see the old content or the new one.
async function replace(path, data) {
	const draft = `${path}.${randomUUID()}`;

	await fs.mkdir(posix.dirname(path), { recursive: true });
	if ((await fs.stat(path).catch(() => undefined))?.isDirectory())
		throw failure('conflict', `${path} is a folder`);
	await fs.writeFile(draft, data);
	await fs.rename(draft, await fs.realpath(path).catch(() => path));
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
	// The variables of each sandbox, which its handles share.
	#envs = new Map();

	constructor({ folder = tmpdir() } = {}) {
		this.folder = folder;
	}

	capabilities() {
		return capabilities;
	}

	async create({ env = {}, policy, signal } = {}) {
		signal?.throwIfAborted();
		check(env);
		if (policy?.capabilities?.network !== undefined)
			throw unsupported(this.name, 'networkPolicy', 'a toy cuts no network');
		const root = await fs.realpath(await fs.mkdtemp(join(this.folder, 'sandproof-toy-')));

		if (signal?.aborted) {
			await fs.rm(root, { recursive: true });
			throw signal.reason;
		}
		this.#envs.set(root, { ...env });
		return new Sandbox(this, root, this.#envs.get(root));
	}

	async resume({ id, signal }) {
		signal?.throwIfAborted();
		if (!this.#own(id) || await lstat(id) === undefined)
			return null;
		if (!this.#envs.has(id))
			this.#envs.set(id, {});
		return new Sandbox(this, id, this.#envs.get(id));
	}

	async destroy({ id }) {
		if (!this.#own(id))
			return;
		this.#envs.delete(id);
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
