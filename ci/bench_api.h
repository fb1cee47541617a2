/* SPDX-License-Identifier: MIT */
/*
 * A fake API server of our own and the bare calls that figures are taken with. Whatever goes wrong
 * ends the program.
 */
#ifndef CI_BENCH_API_H
#define CI_BENCH_API_H

#include <ci/bench.h>

#include <sandproof/transport.h>

#include <cli/fake.h>

struct bench_place {
	struct cli_fake fake;
	struct sp_transport transport;
	/* Group of its sandboxes, where somebody asked for it. */
	char *group;
};

/* Starts a server and opens a transport to it. */
void bench_place_open(const struct bench *bench, struct bench_place *place);
/* Ends both. */
void bench_place_close(struct bench_place *place);
/* A line of /proc/PID/status of the server ("VmHWM:"), in MB. */
double bench_place_memory(const struct bench_place *place, const char *name);

/* One exchange whose answer is an object; the text of a member, the caller's ("" without one). */
char *bench_ask(struct bench_place *place, const char *bearer, const char *method, const char *url,
		const char *body, const char *member);
/* One of the control plane's, at a path below /v1. */
char *bench_api(struct bench_place *place, const char *method, const char *path, const char *body,
		const char *member);
/* Asks until the thing at the path has this status. */
void bench_await(struct bench_place *place, const char *path, const char *expected);
/* A sandbox, from a snapshot or (NULL) without one; its id. */
char *bench_make(struct bench_place *place, const char *snapshot);
/* Terminates a sandbox. */
void bench_end(struct bench_place *place, const char *id);
/* Mints a run of a kind; the address to call and the token are the caller's. */
char *bench_mint(struct bench_place *place, const char *id, const char *kind, char **ret_token);
/* Runs a command that ends with "ok". */
void bench_call(struct bench_place *place, const char *id, const char *command);

#endif
