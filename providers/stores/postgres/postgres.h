/* SPDX-License-Identifier: MIT */
/* Store and lock on a PostgreSQL server, for those who outgrow one machine. */
#ifndef SP_STORES_POSTGRES_H
#define SP_STORES_POSTGRES_H

#include <sandproof/backdoor.h>
#include <sandproof/store.h>

#define SP_POSTGRES_OPTIONS_VERSION 1

/* How to open. Borrowed for the call. */
struct sp_postgres_options {
	unsigned version;
	/*
	 * Keywords or URL, as libpq takes them. No message of ours holds a part of it; the detail
	 * of an error while connecting is libpq's: it names host, socket and user, no password.
	 */
	const char *conninfo;
	/*
	 * Folder of the socket of a server that is the caller's alone, or NULL: there its back
	 * door may make trouble that stays when the process is killed (a closed database, another
	 * version).
	 */
	const char *own_server;
	/*
	 * How long a server may take to say that it stopped what a cancel ended; 0: 5 s. Then the
	 * answer is SP_UNKNOWN_OUTCOME for what could change something.
	 */
	uint32_t stop_ms;
};

#define SP_POSTGRES_OPTIONS_INIT                                                                   \
	{                                                                                          \
		.version = SP_POSTGRES_OPTIONS_VERSION                                             \
	}

/*
 * Opens the store, or the lock service; connections are made as calls need them and kept. The
 * schema "sandproof" is made on first use. SP_INVALID: the text cannot be read or names no such
 * database; SP_DENIED; SP_UNAVAILABLE; SP_UNSUPPORTED: a newer program made the tables.
 */
int sp_postgres_store_open(const struct sp_postgres_options *options, struct sp_store *ret_store,
			   struct sp_error *err);
/*
 * A holder has a session of its own with an advisory lock, whose number is the row of the key's
 * text; it goes when the lock is given back. When the session ends the lease is lost and says so.
 */
int sp_postgres_lock_open(const struct sp_postgres_options *options, struct sp_lock *ret_lock,
			  struct sp_error *err);
/* Opens the back door; some of it needs a superuser. */
int sp_postgres_backdoor_open(const struct sp_postgres_options *options,
			      struct sp_backdoor *ret_door, struct sp_error *err);

#endif
