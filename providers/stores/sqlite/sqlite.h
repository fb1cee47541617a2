/* SPDX-License-Identifier: MIT */
/*
 * Store and lock in one SQLite file: WAL, every acknowledged write synced, safe
 * for several threads and processes of one machine.
 */
#ifndef SP_STORES_SQLITE_H
#define SP_STORES_SQLITE_H

#include <sandproof/backdoor.h>
#include <sandproof/store.h>

#define SP_SQLITE_OPTIONS_VERSION 1

/* How to open; 0 takes the default. The path is borrowed for the call. */
struct sp_sqlite_options {
	unsigned version;
	/* The file; it is made, in a folder that exists. */
	const char *path;
	/* How long a call waits for a file that somebody else keeps locked: 30 s. */
	uint32_t busy_ms;
	/* How long a lease lives without its holder: 15 s. */
	uint32_t lease_ms;
	/* How often a holder looks whether it still is one: a quarter of a second. */
	uint32_t beat_ms;
	/*
	 * The file is the caller's alone and goes with it: its back door may make trouble that
	 * stays when the process is killed (another file in its place, another version).
	 */
	bool own_file;
};

#define SP_SQLITE_OPTIONS_INIT                                                                     \
	{                                                                                          \
		.version = SP_SQLITE_OPTIONS_VERSION                                               \
	}

/*
 * Opens the store, or the lock service; each has a connection of its own. The file gets its tables
 * on first use. SP_INVALID: the path is a folder or a URI, or the file is of another program;
 * SP_UNSUPPORTED: a newer program made it; SP_PROTOCOL: it is damaged; SP_DENIED, SP_IO,
 * SP_UNAVAILABLE (locked).
 */
int sp_sqlite_store_open(const struct sp_sqlite_options *options, struct sp_store *ret_store,
			 struct sp_error *err);
int sp_sqlite_lock_open(const struct sp_sqlite_options *options, struct sp_lock *ret_lock,
			struct sp_error *err);
/* Opens the back door of the file. */
int sp_sqlite_backdoor_open(const struct sp_sqlite_options *options, struct sp_backdoor *ret_door,
			    struct sp_error *err);

#endif
