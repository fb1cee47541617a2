/* SPDX-License-Identifier: MIT */
/*
 * The grammar of SPECs (`sandproof help providers`): text only, no back
 * end is named or needed here.
 */
#ifndef SP_CLI_SPEC_H
#define SP_CLI_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include <base/buf.h>
#include <sandproof/subject.h>

enum cli_scheme {
	CLI_BASH = 0,
	CLI_LOCAL,
	CLI_LOCAL_POLL,
	CLI_RENDER,
	CLI_DRIVER,
	CLI_DRIVER_UNIX,
	CLI_DRIVER_TCP,
	CLI_PLUGIN,
	CLI_MEMORY,
	CLI_SQLITE,
	CLI_POSTGRES,
	CLI_OURS,
};

/* A SPEC taken apart. */
struct cli_spec {
	enum cli_scheme scheme;
	/*
	 * render: the URL ("https://…", "http://…" on loopback, "unix:PATH"), NULL for the live
	 * service; driver+unix, plugin, sqlite: the path (NULL: sqlite in a temporary folder);
	 * driver+tcp: "HOST:PORT"; postgres: the connection text, or the path of its file when
	 * `from_file`. Owned.
	 */
	char *target;
	/* plugin: what followed "FILE.so:", or NULL. Owned. */
	char *config;
	bool from_file;
	/* driver: the command's words, ended by NULL. Owned. */
	char **words;
	size_t n_words;
};

#define CLI_SPEC_INIT { CLI_BASH, NULL, NULL, false, NULL, 0 }

/*
 * Takes a SPEC apart. SP_INVALID says what is wrong and what to write
 * instead; a SPEC that holds a password or userinfo is refused, and the
 * message does not repeat it.
 */
int cli_spec_parse(enum sp_subject_kind kind, const char *text, struct cli_spec *ret_spec,
		   struct sp_error *err);
/* Frees the texts and clears the struct. */
void cli_spec_done(struct cli_spec *spec);

/* Appends the forms of a kind, one a line, as `help providers` shows them. */
void cli_spec_help(enum sp_subject_kind kind, struct sp_buf *out);

#endif
