#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Puts a provider, an instance store or a lock written for Node behind the driver protocol on standard input and output.

import { Driver } from './lib/driver.mjs';
import { loadSubject } from './lib/load.mjs';
import { LockSubject } from './lib/locks.mjs';
import { checkNames } from './lib/names.mjs';
import { ProviderSubject } from './lib/sandboxes.mjs';
import { StoreSubject } from './lib/stores.mjs';

const usage = `usage: sandproof-driver KIND MODULE EXPORT [OPTIONS [ADAPTER]] [and KIND MODULE EXPORT …]

KIND is provider (a SandboxProvider), store (a SandboxInstanceStore) or lock (withLock). MODULE is a file or a package, EXPORT
an object, a class or a function that makes one from OPTIONS, JSON. ADAPTER is JSON for the adapter itself:
  capabilities   over what the subject declares, in the protocol's names: {"kill_reach": "tree"}
  read           provider: "text" reads files by fs.read() instead of fs.readBytes()
  absent         store: "undefined" hands records over whose absent fields are keys without a value
  name           the name of the driver in messages
`;

const kinds = {
	provider: { needs: ['capabilities', 'create', 'resume', 'destroy'], settings: ['capabilities', 'read', 'name'], Subject: ProviderSubject },
	store: { needs: ['get', 'upsert', 'delete'], settings: ['capabilities', 'absent', 'name'], Subject: StoreSubject },
	lock: { needs: ['withLock'], settings: ['capabilities', 'name'], Subject: LockSubject },
};

class Usage extends Error {}

function json(text, what) {
	try {
		return text === undefined ? undefined : JSON.parse(text);
	} catch (error) {
		throw new Usage(`${what} is no JSON: ${error.message}`);
	}
}

// What ADAPTER may say of a subject of the kind.
function settings(kind, text) {
	const adapter = json(text, 'ADAPTER') ?? {};

	try {
		checkNames(adapter, kinds[kind].settings, 'ADAPTER', true);
	} catch (error) {
		throw new Usage(error.message);
	}
	return adapter;
}

// KIND MODULE EXPORT [OPTIONS [ADAPTER]], once for each kind, parted by the word "and".
function parse(words) {
	const groups = [[]];

	for (const word of words) {
		if (word === 'and')
			groups.push([]);
		else
			groups.at(-1).push(word);
	}
	return groups.map(([kind, module, name, options, adapter, ...rest]) => {
		if (!kinds[kind] || name === undefined || rest.length)
			throw new Usage('KIND MODULE EXPORT are needed; --help tells more');
		return { kind, module, name, options: json(options, 'OPTIONS'), adapter: settings(kind, adapter) };
	});
}

// Standard output belongs to the protocol; what a subject prints goes to standard error.
function claimOutput() {
	const write = process.stdout.write.bind(process.stdout);

	process.stdout.write = (...args) => process.stderr.write(...args);
	return { write };
}

async function main(words) {
	if (words.includes('--help'))
		return void process.stderr.write(usage);
	if (!words.length)
		throw new Usage(`no words\n${usage}`);
	const output = claimOutput();
	const subjects = {};

	for (const { kind, module, name, options, adapter } of parse(words)) {
		const { needs, Subject } = kinds[kind];

		subjects[kind] = new Subject(await loadSubject(module, name, options, needs), adapter);
	}
	await new Driver(subjects).serve(process.stdin, output);
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
	process.stderr.write(error instanceof Usage ? `sandproof-driver: ${error.message}\n` : `sandproof-driver: ${error.stack ?? error}\n`);
	process.exit(error instanceof Usage ? 2 : 1);
});
