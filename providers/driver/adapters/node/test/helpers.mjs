// SPDX-License-Identifier: MIT
// What the tests share: a driver in this process, and one as a program.

import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { Connection, Driver, startDriver } from '../index.mjs';

export const here = fileURLToPath(new URL('.', import.meta.url));
export const program = fileURLToPath(new URL('../sandproof-driver.mjs', import.meta.url));
export const toys = fileURLToPath(new URL('../toys/', import.meta.url));
export const faulty = `${here}subjects/faulty.mjs`;

/** A connection to a Driver of these subjects within this process. */
export async function within(subjects) {
	const there = new PassThrough();
	const back = new PassThrough();
	const served = new Driver(subjects).serve(there, back);
	const connection = new Connection({
		input: back, output: there, idle: () => undefined,
		close: async () => {
			there.end();
			await served;
		},
	});

	return connection.initialize();
}

/** A connection to the program with these words. */
export function running(...words) {
	return startDriver({ command: [process.execPath, program, ...words] });
}

/** Runs `fn` with a connection and closes it, whatever happens. */
export async function using(opening, fn) {
	const connection = await opening;

	try {
		return await fn(connection);
	} finally {
		await connection.close();
	}
}

/** Resolves once `condition` holds; every turn lets all that is ready run. */
export async function until(condition) {
	while (!await condition())
		await new Promise((resolve) => { setImmediate(resolve); });
}
