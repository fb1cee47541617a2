/* SPDX-License-Identifier: MIT */
/*
 * The fake API server as a child of a run: started on a Unix socket in a
 * private folder, asked where it listens, and ended. The server is this very
 * program (`sandproof fake-api`), so nothing here names it.
 */
#ifndef SP_CLI_FAKE_H
#define SP_CLI_FAKE_H

#include <stdbool.h>

#include <base/child.h>
#include <sandproof/error.h>

/* A running server. Texts are owned. */
struct cli_fake {
	struct sp_child child;
	/* Private folder with the socket and the server's stderr. */
	char *dir;
	char *base_url;
	char *api_key;
	char *workspace_id;
	char *control_url;
	char *control_token;
	/*
	 * Where a sandbox's memory-backed directory is ("{id}" stands for its id),
	 * or NULL: at its usual place.
	 */
	char *memory_dir;
	/* It did not answer once: it is not waited for any more. */
	bool hung;
};

#define CLI_FAKE_INIT { .child = SP_CHILD_INIT }

/*
 * Starts a server and waits until it says where it listens. Call on the
 * thread that lives as long as the run: the child ends with the thread that started it.
 * `program` NULL: this program. SP_IO, SP_UNSUPPORTED, SP_TIMED_OUT or SP_PROTOCOL; the
 * message holds the server's own last words. Nothing is left behind then.
 */
int cli_fake_start(struct cli_fake *fake, const char *program, struct sp_error *err);

/*
 * The fake of whoever came first to a private folder that several processes of a run share, else
 * one that is started here; it ends with the process that started it.
 */
int cli_fake_share(struct cli_fake *fake, const char *folder, struct sp_error *err);

/* Says that it ended on its own, with its last words. */
void cli_fake_ended(const struct cli_fake *fake, struct sp_error *err);

/* Whether it answers at all, within a bounded time; SP_UNAVAILABLE says that it does not. */
int cli_fake_answers(struct cli_fake *fake, struct sp_error *err);

/*
 * Asks it to end (it removes its sandboxes), waits, kills it if it does not, removes the folder;
 * frees the texts. A cleared one is fine.
 */
void cli_fake_stop(struct cli_fake *fake);

/*
 * Makes a private folder in which a socket called "api" has a path that fits
 * into a Unix socket's address: below `root`, else below /tmp. Malloc'ed. SP_IO names the place.
 */
int cli_fake_dir(const char *root, char **ret_path, struct sp_error *err);

/* Reads the server's one line into the struct; SP_PROTOCOL names what is missing. */
int cli_fake_read_line(const char *line, size_t len, struct cli_fake *fake, struct sp_error *err);

#endif
