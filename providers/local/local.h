/* SPDX-License-Identifier: MIT */
/*
 * The local provider: host processes without isolation, the second reference.
 *
 * Choices where the contract leaves one: ids are minted, a lifetime is not
 * kept (nothing runs that could end it), fork() takes the environment along,
 * an absolute working folder is the host's while file calls stay below the
 * sandbox's root (SP_DENIED), exists() does not follow a link, and variables
 * whose value bash would replace are refused with SP_INVALID.
 */
#ifndef SP_LOCAL_H
#define SP_LOCAL_H

#include <sandproof/provider.h>

#define SP_LOCAL_OPTIONS_VERSION 1

struct sp_local_options {
	unsigned version;
	/* Folder below which sandboxes get their roots; NULL: the temporary folder. Copied. */
	const char *base_dir;
	/* Declare no background processes: a journal then has to be polled. */
	bool poll_only;
	/*
	 * Declare neither kill nor signals, and leave a command's group alone when the command
	 * exits: what a poor host offers, so that each of these declarations is tested both ways.
	 */
	bool bare;
	/* Grace between the signal asked for and KILL; UINT32_MAX: 2000. */
	uint32_t kill_grace_ms;
	/* Unread output held per stream of a spawned process; 0: 8 MiB. */
	uint64_t unread_bound;
	/* Cap per stream of exec; 0: 8 MiB. */
	uint64_t output_cap;
};

#define SP_LOCAL_OPTIONS_INIT                                                                      \
	{                                                                                          \
		.version = SP_LOCAL_OPTIONS_VERSION, .kill_grace_ms = UINT32_MAX                   \
	}

/* Opens the provider. SP_IO when the folder cannot be used, SP_UNSUPPORTED without bash. */
int sp_local_open(const struct sp_local_options *options, struct sp_provider *ret_provider,
		  struct sp_error *err);

#endif
