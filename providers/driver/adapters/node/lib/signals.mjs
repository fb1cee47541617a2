// SPDX-License-Identifier: MIT
// Signal numbers of the wire (Linux) and names of Node.

import { constants } from 'node:os';

const names = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The name of a number ("SIGTERM"), or the number where it has none. */
export function nameOfSignal(number) {
	return names.get(number) ?? number;
}

/** The number of a name or number; undefined is 0, the default of kill. */
export function numberOfSignal(signal) {
	if (signal === undefined)
		return 0;
	return typeof signal === 'number' ? signal : constants.signals[signal];
}
