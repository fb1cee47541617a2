/* SPDX-License-Identifier: MIT */
#include <results/texts.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Texts up to this length are looked up: names, clauses, places. Longer ones hardly repeat. */
#define SHORT 64
#define CHUNK ((size_t)256 * 1024)

/* A piece of memory; texts never move. */
struct chunk {
	struct chunk *next;
	size_t size, used;
	char data[];
};

struct sp_texts {
	/* The first one is being filled. */
	struct chunk *chunks;
	/* Short texts by hash: open addressing, a power of two, at most two thirds full. */
	char **table;
	size_t table_size, n_short;
};

struct sp_texts *sp_texts_new(void)
{
	return calloc(1, sizeof(struct sp_texts));
}

void sp_texts_free(struct sp_texts *texts)
{
	if (!texts)
		return;
	for (struct chunk *chunk = texts->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(texts->table);
	free(texts);
}

char *sp_texts_reserve(struct sp_texts *texts, size_t max)
{
	struct chunk *chunk = texts->chunks;
	size_t size = max < CHUNK ? CHUNK : max + 1;

	if (chunk && chunk->size - chunk->used > max)
		return chunk->data + chunk->used;
	/* A large reservation of which little was kept leaves room; another chunk costs nothing
	 * until it is touched. */
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	*chunk = (struct chunk){.next = texts->chunks, .size = size};
	texts->chunks = chunk;
	return chunk->data;
}

static uint64_t hash(const char *text, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}

/* Slot of an equal text, or the empty one where it belongs. */
static char **slot_of(char **table, size_t size, const char *text, size_t len)
{
	size_t at = hash(text, len) & (size - 1);

	while (table[at] && (strncmp(table[at], text, len) || table[at][len]))
		at = (at + 1) & (size - 1);
	return &table[at];
}

static int make_room(struct sp_texts *texts)
{
	size_t size = texts->table_size ? texts->table_size * 2 : 1024;
	char **table;

	if (texts->n_short * 3 < texts->table_size * 2)
		return 0;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -1;
	for (size_t i = 0; i < texts->table_size; i++)
		if (texts->table[i])
			*slot_of(table, size, texts->table[i], strlen(texts->table[i])) =
			    texts->table[i];
	free(texts->table);
	texts->table = table;
	texts->table_size = size;
	return 0;
}

char *sp_texts_keep(struct sp_texts *texts, size_t len)
{
	struct chunk *chunk = texts->chunks;
	char *text = chunk->data + chunk->used;
	char **slot = NULL;

	text[len] = '\0';
	if (len <= SHORT) {
		if (make_room(texts))
			return NULL;
		slot = slot_of(texts->table, texts->table_size, text, len);
		if (*slot)
			return *slot;
		*slot = text;
		texts->n_short++;
	}
	chunk->used += len + 1;
	return text;
}

char *sp_texts_add(struct sp_texts *texts, const char *text, size_t len)
{
	char *room = sp_texts_reserve(texts, len);

	if (!room)
		return NULL;
	memcpy(room, text, len);
	return sp_texts_keep(texts, len);
}
