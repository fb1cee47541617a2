/* SPDX-License-Identifier: MIT */
/*
 * Trees of files into an archive and out of it. Both sides work with
 * descriptors of folders, one component at a time and never through a link, so neither
 * what runs in a sandbox meanwhile nor what stands in an archive leads anywhere
 * else. Both use a bounded amount of memory, but for one name per file with several links.
 * Any thread; one at a time per object.
 *
 * Errors are -errno: -ENOSPC also when `limit` is used up, -ECANCELED after `*stop`, -EBADMSG for
 * an archive that is damaged, -EPERM for one that holds what no capture writes.
 */
#ifndef FAKE_BASH_ARCHIVE_H
#define FAKE_BASH_ARCHIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An extended attribute that no file has: the entry, a FIFO, stands for a
 * socket. Archives have no sockets.
 */
#define ARCHIVE_SOCKET "sandproof.socket"

struct fake_pack;

/*
 * Begins an archive at the current place of `fd` (borrowed). `limit`: bytes
 * after which the disk is full.
 */
int fake_pack_open(int fd, uint64_t limit, const atomic_bool *stop, struct fake_pack **ret_pack);
/*
 * Adds a folder (borrowed) and all below it on the same file system, named "PREFIX/…". Devices are
 * left out, except the whiteouts of an overlay. What vanishes meanwhile is left out; what shrinks
 * is filled with zeroes.
 */
int fake_pack_tree(struct fake_pack *pack, const char *prefix, int dir_fd);
/* Adds a file that holds these bytes. */
int fake_pack_bytes(struct fake_pack *pack, const char *name, const void *data, size_t len);
/* Ends the archive, unless something failed before, and frees it; the first error of all. */
int fake_pack_close(struct fake_pack *pack);

struct fake_unpack;

/* What an entry's name means. */
enum fake_place {
	/*
	 * Extract it as `*ret_rest` below the folder `*ret_fd` (borrowed; "" is the folder itself).
	 */
	FAKE_PLACE_HERE = 0,
	/* Read over it. */
	FAKE_PLACE_SKIP,
	/* Not now: it is the first one of the next call. */
	FAKE_PLACE_LATER,
	/* It has no place at all. */
	FAKE_PLACE_REFUSE,
};
typedef enum fake_place (*fake_place_fn)(void *arg, const char *name, int *ret_fd,
					 const char **ret_rest);

/* What is accepted, besides files, folders and links. */
struct fake_unpack_rules {
	/*
	 * FIFOs, sockets, owners, attributes and whiteouts, as a capture writes them; otherwise
	 * all of these are passed over.
	 */
	bool whole;
	/* Attributes of the system are put in place: only where they mean nothing outside. */
	bool privileged;
	/* gzip is undone. */
	bool compressed;
};

/*
 * Reads an archive from the current place of `fd` (borrowed). `limit`: bytes of content (and 512
 * for each entry) after which the disk is full.
 */
int fake_unpack_open(int fd, const struct fake_unpack_rules *rules, uint64_t limit,
		     const atomic_bool *stop, struct fake_unpack **ret_unpack);
/*
 * Extracts until an entry comes later (returns 0) or the archive ends (returns 1). What is there
 * already and is no folder is replaced.
 */
int fake_unpack_run(struct fake_unpack *unpack, fake_place_fn place, void *arg);
/*
 * Reads the next entry whole if it has this name; -EBADMSG when it has not, or is
 * longer than `max`. A NUL is added.
 */
int fake_unpack_bytes(struct fake_unpack *unpack, const char *name, char *data, size_t max);
void fake_unpack_free(struct fake_unpack *unpack);

#endif
