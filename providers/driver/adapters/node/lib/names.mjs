// SPDX-License-Identifier: MIT
// Typing errors: a name that is nearly a known one would be read as absent.

function distance(a, b) {
	let row = Array.from({ length: b.length + 1 }, (_, j) => j);

	for (let i = 1; i <= a.length; i++) {
		const above = row;

		row = [i];
		for (let j = 1; j <= b.length; j++)
			row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] !== b[j - 1]));
	}
	return row[b.length];
}

/** Throws for a key of `object` that is none of `names` and near to one; with `closed`, for any other key. */
export function checkNames(object, names, what, closed = false) {
	for (const key of Object.keys(object ?? {})) {
		const near = names.filter((name) => distance(key, name) <= Math.max(2, key.length / 3));

		if (!names.includes(key) && (closed || near.length))
			throw new Error(`${what} has no "${key}"` + (near.length ? `; did it mean "${near[0]}"?` : `; it has ${names.join(', ')}`));
	}
}
