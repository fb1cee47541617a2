/* SPDX-License-Identifier: MIT */
/*
 * The client of the driver protocol: starts a driver or connects to one, and offers what it offers
 * as the tables of the contract. The process must ignore SIGPIPE.
 */
#ifndef SP_DRIVER_H
#define SP_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sandproof/journal.h>
#include <sandproof/provider.h>
#include <sandproof/store.h>

/* A running driver, counted by reference: each table that was taken of it holds one. */
struct sp_driver;

#define SP_DRIVER_OPTIONS_VERSION 1

/* Which driver, and how. Exactly one of argv, unix_path and tcp is set; all borrowed. */
struct sp_driver_options {
	unsigned version;
	/* Words of the command, ended by NULL; it speaks on its standard input and output. */
	const char *const *argv;
	/* Path of a Unix socket on which somebody speaks already. */
	const char *unix_path;
	/* The same on loopback: "127.0.0.1:PORT". */
	const char *tcp;
	/* Names of variables that it gets besides the standing list; ended by NULL, or NULL. */
	const char *const *env_names;
	/* Folder that instances share, told to the program as SANDPROOF_SHARED, or NULL. */
	const char *shared_folder;
	/* The caller's own part of a shared back end, or NULL. */
	const char *workspace;
	/* Milliseconds until `initialize` has to be answered; 0: 8,000. Attached: no limit. */
	uint32_t start_ms;
	/*
	 * Milliseconds from the end of its input to TERM, and from TERM to KILL; 0: 2,000.
	 */
	uint32_t grace_ms;
	/* File to which the dialogue is appended, redacted, or NULL. */
	const char *trace_path;
};

#define SP_DRIVER_OPTIONS_INIT                                                                     \
	{                                                                                          \
		.version = SP_DRIVER_OPTIONS_VERSION                                               \
	}

/*
 * Starts and initialises. Whatever goes wrong until then is the answer, with the driver's last
 * words as detail: SP_IO (no such program), SP_UNAVAILABLE (nobody listens, it ended),
 * SP_TIMED_OUT, SP_PROTOCOL, or what the driver answers.
 */
int sp_driver_open(const struct sp_driver_options *options, struct sp_driver **ret_driver,
		   struct sp_error *err);
struct sp_driver *sp_driver_ref(struct sp_driver *driver);
/*
 * Drops a reference; with the last one the driver's input ends, and what is left of its tree after
 * the grace is killed. NULL is fine. Returns NULL.
 */
struct sp_driver *sp_driver_unref(struct sp_driver *driver);

/* Each takes what the driver offers; SP_UNSUPPORTED says what it offers instead. */
int sp_driver_provider(struct sp_driver *driver, struct sp_provider *ret_provider,
		       struct sp_error *err);
int sp_driver_store(struct sp_driver *driver, struct sp_store *ret_store, struct sp_error *err);
int sp_driver_lock(struct sp_driver *driver, struct sp_lock *ret_lock, struct sp_error *err);
/* Works on sandboxes of the same driver, which it knows by their ids. */
int sp_driver_journal(struct sp_driver *driver, struct sp_journal *ret_journal,
		      struct sp_error *err);

/*
 * What was wrong with the driver itself since it was asked last: 0, or SP_PROTOCOL with the cause,
 * and its last words as detail. `*ret_gone`: it takes no calls any more; open another one.
 */
int sp_driver_check(struct sp_driver *driver, bool *ret_gone, struct sp_error *err);
/*
 * What its calls wait for: which it has not answered, and which it has not even read. False when
 * every call is answered. Never waits.
 */
bool sp_driver_stuck(struct sp_driver *driver, struct sp_error *ret_why);

#endif
