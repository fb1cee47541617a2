/* SPDX-License-Identifier: MIT */
/*
 * Faults by switch: what `--fault NAME` turns on for every workspace, and control for one of them.
 */
#ifndef FAKE_RENDER_API_FAULTS_H
#define FAKE_RENDER_API_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

#include <sandproof/error.h>

#include <base/buf.h>

/* X(identifier, switch, what it does) */
#define API_FAULTS(X)                                                                              \
	X(SLOW_BOOT, "slow-boot", "a sandbox stays `creating` for 1.6 s of its workspace's clock") \
	X(CREATE_404, "create-404", "slow boot, and a mint meanwhile answers 404")                 \
	X(CREATE_429, "create-429", "slow boot, and a mint meanwhile answers 429")                 \
	X(CREATE_503, "create-503", "slow boot, and a mint meanwhile answers 503")                 \
	X(RATE_LIMIT, "rate-limit", "100 requests a minute and workspace, then 429")               \
	X(EDGE_403, "edge-403", "bodies that the edge dislikes get its HTML page")                 \
	X(CUT_STREAM, "cut-stream", "every event stream ends without its terminal event")          \
	X(LOST_CREATE, "lost-create", "every create is carried out and never answered")            \
	X(DISK_FULL, "disk-full", "every upload answers 507")                                      \
	X(SUSPENDED_AT_CAPACITY, "suspended-at-capacity", "a suspended sandbox cannot wake: 429")  \
	X(TOKEN_EXPIRED, "token-expired", "every token has expired when it is used")               \
	X(TOKEN_REUSE, "token-reuse", "a token may be used more than once")                        \
	X(NO_ENTITLEMENT, "no-entitlement", "the workspace has no sandboxes: 404 everywhere")

/* One value a switch. */
enum api_fault {
#define API_FAULT_ENUM(identifier, name, text) API_FAULT_##identifier,
	API_FAULTS(API_FAULT_ENUM)
#undef API_FAULT_ENUM
	API_FAULT_MAX_,
};

/* A set of faults, one bit each. */
typedef unsigned api_faults;

/* Whether a switch is on. */
static inline bool api_fault_on(api_faults faults, enum api_fault fault)
{
	return faults & (1U << fault);
}

/* The switch of a name, or -1. */
int api_fault_from_name(const char *name);
/* One line a switch: its name and what it does. */
void api_faults_list(struct sp_buf *out);
/* Reads the names of switches; SP_INVALID names the nearest of an unknown one. */
int api_faults_parse(const char *const *names, size_t n, api_faults *ret_faults,
		     struct sp_error *err);

#endif
