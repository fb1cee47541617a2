/* SPDX-License-Identifier: MIT */
/* Files with several names, met on a walk: the first name of each is kept. */
#ifndef FAKE_BASH_INODES_H
#define FAKE_BASH_INODES_H

#include <stddef.h>
#include <sys/types.h>

struct fake_inode;

/* All zero is empty. */
struct fake_inodes {
	/* A power of two of slots, at most half full. */
	struct fake_inode *slots;
	size_t size;
	size_t len;
};

/*
 * `*ret_first` is the name under which the file was met before, or NULL: then `name`
 * is kept, copied. 0 or -ENOMEM.
 */
int fake_inodes_meet(struct fake_inodes *inodes, dev_t dev, ino_t ino, const char *name,
		     const char **ret_first);
void fake_inodes_done(struct fake_inodes *inodes);

#endif
