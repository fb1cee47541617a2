/* SPDX-License-Identifier: MIT */
#include <reports/index.h>

#include <stdlib.h>
#include <string.h>

static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

/* Slot of an equal text, or the empty one where it belongs. */
static size_t slot_of(const struct sp_index *index, const char *key, uint64_t h)
{
	size_t at = h & (index->size - 1);

	while (index->slots[at] && (index->marks[at] != (uint32_t)(h >> 32) ||
				    strcmp(index->keys[index->slots[at] - 1], key)))
		at = (at + 1) & (index->size - 1);
	return at;
}

static void place(struct sp_index *index, size_t number)
{
	uint64_t h = hash(index->keys[number]);
	size_t at = slot_of(index, index->keys[number], h);

	index->slots[at] = (uint32_t)number + 1;
	index->marks[at] = (uint32_t)(h >> 32);
}

static bool grow(struct sp_index *index)
{
	size_t size = index->size ? index->size * 2 : 64;
	struct sp_index grown = {.len = index->len, .size = size};

	if (index->len * 3 < index->size * 2)
		return true;
	grown.keys = reallocarray(index->keys, size, sizeof(*grown.keys));
	if (!grown.keys)
		return false;
	index->keys = grown.keys;
	grown.slots = calloc(size, sizeof(*grown.slots));
	grown.marks = calloc(size, sizeof(*grown.marks));
	if (!grown.slots || !grown.marks) {
		free(grown.slots);
		free(grown.marks);
		return false;
	}
	for (size_t i = 0; i < index->len; i++)
		place(&grown, i);
	free(index->slots);
	free(index->marks);
	*index = grown;
	return true;
}

size_t sp_index_put(struct sp_index *index, const char *key, bool *ret_new)
{
	size_t at;

	key = key ? key : "";
	if (!grow(index))
		return SP_INDEX_NONE;
	at = slot_of(index, key, hash(key));
	if (ret_new)
		*ret_new = !index->slots[at];
	if (!index->slots[at]) {
		index->keys[index->len++] = key;
		place(index, index->len - 1);
		return index->len - 1;
	}
	return index->slots[at] - 1;
}

size_t sp_index_find(const struct sp_index *index, const char *key)
{
	size_t at;

	if (!index->size)
		return SP_INDEX_NONE;
	key = key ? key : "";
	at = slot_of(index, key, hash(key));
	return index->slots[at] ? index->slots[at] - 1 : SP_INDEX_NONE;
}

void sp_index_done(struct sp_index *index)
{
	free(index->keys);
	free(index->slots);
	free(index->marks);
	*index = (struct sp_index)SP_INDEX_INIT;
}
