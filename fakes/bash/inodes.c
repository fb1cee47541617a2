/* SPDX-License-Identifier: MIT */
#include <fakes/bash/inodes.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 64

struct fake_inode {
	dev_t dev;
	ino_t ino;
	/* NULL: the slot is free. */
	char *name;
};

/* The slot of a file, or the free one where it belongs. */
static struct fake_inode *find(const struct fake_inodes *inodes, dev_t dev, ino_t ino)
{
	size_t at =
		(size_t)((uint64_t)ino * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (inodes->size - 1);

	while (inodes->slots[at].name &&
	       (inodes->slots[at].ino != ino || inodes->slots[at].dev != dev))
		at = (at + 1) & (inodes->size - 1);
	return &inodes->slots[at];
}

static int grow(struct fake_inodes *inodes)
{
	struct fake_inodes bigger = { .size = inodes->size ? 2 * inodes->size : FIRST_SIZE,
				      .len = inodes->len };

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < inodes->size; i++)
		if (inodes->slots[i].name)
			*find(&bigger, inodes->slots[i].dev, inodes->slots[i].ino) =
				inodes->slots[i];
	free(inodes->slots);
	*inodes = bigger;
	return 0;
}

int fake_inodes_meet(struct fake_inodes *inodes, dev_t dev, ino_t ino, const char *name,
		     const char **ret_first)
{
	struct fake_inode *slot;
	char *copy;

	if (2 * inodes->len >= inodes->size && grow(inodes))
		return -ENOMEM;
	slot = find(inodes, dev, ino);
	*ret_first = slot->name;
	if (slot->name)
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	*slot = (struct fake_inode){ .dev = dev, .ino = ino, .name = copy };
	inodes->len++;
	return 0;
}

void fake_inodes_done(struct fake_inodes *inodes)
{
	for (size_t i = 0; i < inodes->size; i++)
		free(inodes->slots[i].name);
	free(inodes->slots);
	*inodes = (struct fake_inodes){ 0 };
}
