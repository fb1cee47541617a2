// SPDX-License-Identifier: MIT
// What the adapter costs: exec of `true` by a provider that is called directly, and by the same one behind the adapter and
// the pipe. Both in turns, so that whatever else the machine does meets both; the tenth fastest in a hundred of each.
//
//   node figure.mjs ADAPTER

import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [adapter] = process.argv.slice(2);
const name = '@tanstack/ai-sandbox-local-process';
const { ServedProvider, loadSubject, startDriver } = await import(pathToFileURL(resolve(dirname(adapter), 'index.mjs')));
const options = { baseDir: resolve('sandboxes') };
const rounds = 300;

async function taken(sandbox) {
	const begin = process.hrtime.bigint();

	await sandbox.process.exec('true');
	return Number(process.hrtime.bigint() - begin) / 1e6;
}

const quick = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 10)];

const direct = await (await loadSubject(name, 'localProcessSandbox', options, ['create'])).create({});
const connection = await startDriver({
	command: [process.execPath, adapter, 'provider', name, 'localProcessSandbox', JSON.stringify(options)],
});
const behind = await new ServedProvider(connection).create({});
const times = { direct: [], behind: [] };

for (let round = 0; round < rounds; round++) {
	times.direct.push(await taken(direct));
	times.behind.push(await taken(behind));
}
await Promise.all([direct.destroy(), behind.destroy()]);
await connection.close();
const [a, b] = [quick(times.direct), quick(times.behind)];

console.log(`interop, exec of true: ${a.toFixed(2)} ms directly, ${b.toFixed(2)} ms behind the Node adapter: ` +
	`${(b / a).toFixed(2)} times (aim: at most 1.5)`);
