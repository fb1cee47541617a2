// SPDX-License-Identifier: MIT
// SandboxGit over exec: words are quoted, tokens stay in the environment of one command, a git that fails rejects.

import { DriverError } from './errors.mjs';

// The first, empty helper forgets those of the machine; the names are expanded by git's own shell.
const helper = '-c credential.helper= -c ' + quote('credential.helper=!f(){ ' +
	'printf "username=%s\\npassword=%s\\n" "$GIT_ASKPASS_USER" "$GIT_ASKPASS_TOKEN"; };f');

function quote(word) {
	return `'${String(word).replaceAll("'", "'\\''")}'`;
}

function plain(word, what) {
	if (String(word).startsWith('-'))
		throw new DriverError('invalid', `git: ${what} starts with '-' and would be an option`);
	return quote(word);
}

function depthOf(depth) {
	if (depth === 'full')
		return '';
	if (!Number.isInteger(depth) || depth <= 0)
		throw new DriverError('invalid', 'git: depth is a positive integer or "full"');
	return `--depth ${depth} --single-branch `;
}

/** `exec(command, options)` is that of the sandbox; `root` is where a repository is unless a folder is named. */
export function gitOver(exec, root) {
	const run = async (words, options = {}) => {
		const { exitCode, stdout, stderr } = await exec(`git ${words}`, options);

		if (exitCode !== 0)
			throw new DriverError('io', `git ended with code ${exitCode}: ${stderr.trim().slice(-400)}`);
		return stdout;
	};
	const at = (dir = root) => `-C ${plain(dir, 'dir')}`;
	const none = () => undefined;

	return Object.freeze({
		async clone({ url, dir = root, ref, auth, depth = 1 }) {
			const branch = ref === undefined ? '' : `--branch ${plain(ref, 'ref')} `;
			const words = `clone ${branch}${depthOf(depth)}-- ${plain(url, 'url')} ${plain(dir, 'dir')}`;
			const env = { GIT_TERMINAL_PROMPT: '0' };

			if (!auth?.token)
				return run(words, { env }).then(none);
			env.GIT_ASKPASS_USER = auth.username ?? 'x-access-token';
			env.GIT_ASKPASS_TOKEN = auth.token;
			return run(`${helper} ${words}`, { env }).then(none);
		},
		async status(dir) { return run(`${at(dir)} status --porcelain`); },
		async add(paths, dir) {
			return run(`${at(dir)} add -- ${paths.map((path) => plain(path, 'a path')).join(' ')}`).then(none);
		},
		async commit(message, dir) { return run(`${at(dir)} commit -m ${quote(message)}`).then(none); },
		async push(dir) { return run(`${at(dir)} push`).then(none); },
		async pull(dir) { return run(`${at(dir)} pull`).then(none); },
		async branch(dir) { return (await run(`${at(dir)} rev-parse --abbrev-ref HEAD`)).trim(); },
	});
}
