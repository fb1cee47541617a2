/* SPDX-License-Identifier: MIT */
#include "labels.h"

#include <stdlib.h>
#include <string.h>

void sp_labels_begin(struct sp_labels *labels)
{
	for (size_t i = 0; i < labels->len; i++)
		labels->items[i].seen = false;
}

static bool make_room(struct sp_labels *labels)
{
	size_t size = labels->size ? labels->size * 2 : 32;
	struct sp_labelled *items;

	if (labels->len < labels->size)
		return true;
	items = reallocarray(labels->items, size, sizeof(*items));
	if (!items)
		return false;
	labels->items = items;
	labels->size = size;
	return true;
}

void sp_labels_see(struct sp_labels *labels, const char *name, const char *label)
{
	char *copy;

	for (size_t i = 0; i < labels->len; i++) {
		if (!labels->items[i].seen && !strcmp(labels->items[i].name, name)) {
			labels->items[i].seen = true;
			return;
		}
	}
	copy = strdup(name);
	if (copy && make_room(labels))
		labels->items[labels->len++] = (struct sp_labelled){ copy, label, true };
	else
		free(copy);
}

void sp_labels_end(struct sp_labels *labels)
{
	size_t kept = 0;

	for (size_t i = 0; i < labels->len; i++) {
		if (labels->items[i].seen)
			labels->items[kept++] = labels->items[i];
		else
			free(labels->items[i].name);
	}
	labels->len = kept;
}

size_t sp_labels_count(const struct sp_labels *labels)
{
	size_t count = 0;

	for (size_t i = 0; i < labels->len; i++)
		count += labels->items[i].label != NULL;
	return count;
}

void sp_labels_done(struct sp_labels *labels)
{
	for (size_t i = 0; i < labels->len; i++)
		free(labels->items[i].name);
	free(labels->items);
	memset(labels, 0, sizeof(*labels));
}
