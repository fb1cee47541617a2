// SPDX-License-Identifier: MIT
// Finds the subject: a module, a name that it exports, and options for what makes one.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// A path of the caller's folder, or a package that is installed there (or wherever NODE_PATH says).
async function importFrom(specifier) {
	if (existsSync(specifier))
		return import(pathToFileURL(resolve(specifier)));
	if (/^(?:file|node|data):/.test(specifier))
		return import(specifier);
	const require = createRequire(resolve('package.json'));

	try {
		return await import(pathToFileURL(require.resolve(specifier)));
	} catch (error) {
		if (error.code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED')
			throw error;
	}
	// A package for `import` alone, which require.resolve() cannot find.
	return import(pathToFileURL(await entryOf(specifier, require)));
}

async function entryOf(specifier, require) {
	const name = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
	const inside = `.${specifier.slice(name.length)}`;

	for (const folder of require.resolve.paths(name)) {
		const root = resolve(folder, name);

		if (!existsSync(resolve(root, 'package.json')))
			continue;
		const { exports } = require(resolve(root, 'package.json'));
		const entry = (typeof exports === 'object' && exports[inside]) || exports;
		const file = typeof entry === 'string' ? entry : entry?.import?.default ?? entry?.import ?? entry?.default;

		if (typeof file === 'string')
			return resolve(root, file);
	}
	throw new Error(`there is no package ${specifier} for import in ${resolve('.')}`);
}

function make(exported, options) {
	if (typeof exported !== 'function')
		return exported;
	return /^class\b/.test(Function.prototype.toString.call(exported)) ? new exported(options) : exported(options);
}

/**
 * The subject: an exported object as it is, an instance of an exported class, or what an exported function makes (a
 * promise is awaited). `needs` are the functions that it must have.
 */
export async function loadSubject(specifier, name, options, needs) {
	const module = await importFrom(specifier);

	if (!(name in module))
		throw new Error(`${specifier} exports no ${name}; it exports ${Object.keys(module).join(', ') || 'nothing'}`);
	const subject = await make(module[name], options);

	for (const method of needs) {
		if (typeof subject?.[method] !== 'function')
			throw new Error(`${name} of ${specifier} has no ${method}()`);
	}
	return subject;
}
