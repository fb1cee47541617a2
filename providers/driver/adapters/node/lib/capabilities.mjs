// SPDX-License-Identifier: MIT
// Declarations: eleven flags of a SandboxProvider in camelCase, those of the protocol in snake_case and some more.

import { checkNames } from './names.mjs';

/** The flags that a SandboxProvider declares, and their names in the protocol. */
export const flags = Object.freeze({
	fs: 'fs', exec: 'exec', env: 'env', ports: 'ports', backgroundProcesses: 'background_processes',
	writableStdin: 'writable_stdin', killableProcesses: 'killable_processes', snapshots: 'snapshots',
	networkPolicy: 'network_policy', durableFilesystem: 'durable_filesystem', fork: 'fork',
});

// What the interface says and no flag: a promise that has resolved to a killed process, its streams as decoded text.
const grace = 2000;

/**
 * The declaration of the protocol from that of a provider. `assumed` (snake_case) goes over it: what a provider
 * cannot say in its interface, such as `kill_reach`, or does not say at all.
 */
export function toProtocol(declared, assumed = {}) {
	const result = {};

	checkNames(declared, Object.keys(flags), 'capabilities()');
	for (const [flag, name] of Object.entries(flags))
		result[name] = declared?.[flag] === true;
	Object.assign(result, { output: 'utf8' }, assumed);
	result.kill_reach ??= result.killable_processes ? 'group' : 'none';
	result.kill_grace_ms ??= result.killable_processes ? grace : 0;
	result.snapshot_kinds ??= result.snapshots ? ['filesystem'] : [];
	result.follow ??= result.background_processes && result.killable_processes;
	return result;
}

/** The declaration of a SandboxProvider from that of the protocol. */
export function fromProtocol(declared = {}) {
	return Object.freeze(Object.fromEntries(Object.entries(flags).map(([flag, name]) => [flag, declared[name] === true])));
}

/** The first flag in which two declarations of a provider differ, or undefined. */
export function difference(a, b) {
	return Object.keys(flags).find((flag) => (a?.[flag] === true) !== (b?.[flag] === true));
}
