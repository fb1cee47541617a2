/* SPDX-License-Identifier: MIT */
/* The Render provider (sandbox-contract 5) over a transport. */
#ifndef SP_RENDER_H
#define SP_RENDER_H

#include <sandproof/platform.h>
#include <sandproof/provider.h>
#include <sandproof/seams.h>
#include <sandproof/transport.h>

struct sp_meter;

#define SP_RENDER_OPTIONS_VERSION 1

/* All texts are copied. */
struct sp_render_options {
	unsigned version;
	/* API key and workspace ("tea-…"); NULL: RENDER_API_KEY, RENDER_WORKSPACE_ID. Missing:
	 * SP_DENIED naming the variables. */
	const char *token;
	const char *owner_id;
	/* "https://api.render.com/v1" when NULL; http only on loopback; "unix:PATH" for a Unix
	 * socket. */
	const char *base_url;
	/* Plan of new sandboxes; NULL: the service's default. */
	const char *plan;
	/* Grace between the signal asked for and KILL; UINT32_MAX: 2000. */
	uint32_t kill_grace_ms;
	/* Unread output held per stream of a spawned process; 0: 8 MiB. */
	uint64_t unread_bound;
	/* Cap per stream of exec; 0: 8 MiB. */
	uint64_t output_cap;
	/* Private folder in the memory-backed directory, of letters, digits and "/._-"; "{id}"
	 * stands for the sandbox's id. NULL: /dev/tsai. */
	const char *private_dir;
	/* Kind of snapshot() (item 25): SP_SNAPSHOT_FILESYSTEM or SP_SNAPSHOT_RUNTIME; 0:
	 * filesystem. */
	unsigned snapshot_kind;
	/* Seconds after which the service deletes a snapshot; 0: the service's default. */
	uint32_t snapshot_lifetime_s;
	/* Milliseconds between two looks at a sandbox that is starting; 0: 500. */
	uint32_t poll_ms;
	/* Milliseconds until creating or resuming is given up; 0: 180,000. */
	uint32_t start_timeout_ms;
	/* What carries the requests, consumed on success; ops NULL: libcurl. It knows no
	 * credentials, so token and owner_id are needed all the same. */
	struct sp_transport transport;
	/* Counts, limits and paces requests to the control plane; outlives the provider. NULL:
	 * nobody does. */
	struct sp_meter *meter;
	/* NULL: the healthy steps. Copied. */
	const struct sp_render_steps *steps;
};

#define SP_RENDER_OPTIONS_INIT                                                                     \
	{                                                                                          \
		.version = SP_RENDER_OPTIONS_VERSION, .kill_grace_ms = UINT32_MAX                  \
	}

/* Opens the provider; nothing is sent. SP_INVALID names the option that is wrong; SP_DENIED: no
 * credentials. */
int sp_render_open(const struct sp_render_options *options, struct sp_provider *ret_provider,
		   struct sp_error *err);

/*
 * Asks the service for one page of the workspace's sandboxes and changes nothing. The message says
 * for a person what to look at: SP_DENIED (key, access), SP_NOT_FOUND (address without /v1,
 * workspace, entitlement), SP_PROTOCOL (what answers is not the API), SP_INVALID (our clock is over
 * a minute off the service's), SP_UNAVAILABLE (nobody there). SP_UNSUPPORTED for any other
 * provider.
 */
int sp_render_check(struct sp_provider *provider, struct sp_cancel *cancel, struct sp_error *err);

/* The healthy steps. */
struct sp_render_steps sp_render_steps(void);

/* The bare platform below an open Render provider; borrowed from it. ops NULL for any other
 * provider. */
struct sp_platform sp_render_platform(struct sp_provider *provider);

#endif
