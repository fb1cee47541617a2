/* SPDX-License-Identifier: MIT */
/*
 * The fake API server: Render's sandbox API over fakes/bash, and the admin
 * endpoint behind `control`. One process, one thread, loopback or a Unix
 * socket only.
 */
#ifndef FAKE_RENDER_API_SERVER_H
#define FAKE_RENDER_API_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include <sandproof/error.h>

/* Vocabulary of the service's three eras (render-api 0.2). */
enum fake_era {
	FAKE_ERA_A = 0,
	FAKE_ERA_B,
	FAKE_ERA_C,
};

struct fake_api_options {
	/*
	 * "unix:PATH" or "HOST:PORT" with a loopback host (port 0: any). NULL: 127.0.0.1:0.
	 * Anything else is SP_INVALID.
	 */
	const char *listen;
	enum fake_era era;
	/* Faults by switch, as `--fault` names them. */
	const char *const *faults;
	size_t n_faults;
	/*
	 * Print the JSON line `{base_url, api_key, workspace_id, control_url, control_token, mode,
	 * memory_dir}` on stdout as soon as it listens; else the same as text.
	 */
	bool json;
	/* End when the process that started us ends. */
	bool die_with_parent;
	/* Silence after which a stream gets a comment; 0: 15 s. */
	unsigned keep_alive_ms;
};

/*
 * Serves until SIGTERM or SIGINT, then removes every sandbox, the socket and the
 * temporary folder. Returns 0, or a negative sp_code before it listened.
 */
int fake_api_run(const struct fake_api_options *options, struct sp_error *err);

#endif
