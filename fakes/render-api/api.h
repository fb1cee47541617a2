/* SPDX-License-Identifier: MIT */
/* The server itself: what every part of it shares. */
#ifndef FAKE_RENDER_API_API_H
#define FAKE_RENDER_API_API_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <microhttpd.h>

#include <fakes/bash/engine.h>
#include <fakes/render-api/faults.h>
#include <fakes/render-api/listen.h>
#include <fakes/render-api/server.h>

struct peer;
struct workspace;
struct stream;

TAILQ_HEAD(peer_list, peer);
TAILQ_HEAD(workspace_list, workspace);
TAILQ_HEAD(stream_list, stream);

/* Characters of a token, without its NUL. */
#define API_TOKEN_LEN 40

struct api {
	struct fake_engine *engine;
	struct MHD_Daemon *daemon;
	struct api_listener listener;
	/* Private folder: the engine's state and the request logs. */
	char *state_dir;
	/*
	 * Our own epoll set: the daemon's, the engine's, the signals', and every connection for
	 * hang-ups.
	 */
	int epoll_fd;
	int signal_fd;
	enum fake_era era;
	api_faults faults;
	char control_token[API_TOKEN_LEN + 1];
	struct peer_list peers;
	struct workspace_list workspaces;
	/* Idle event streams, the one that was silent longest first. */
	struct stream_list streams;
	uint64_t last_hold;
	/* Next time (monotonic) at which lifetimes and keep-alives are looked at. */
	uint64_t next_tick;
	/* Silence after which a stream gets a comment, in nanoseconds. */
	uint64_t keep_alive;
	/* Some sandbox is over and its engine's side can be given back. */
	bool release_due;
	/*
	 * A connection was resumed inside the daemon's own turn, which does not look at it again by
	 * itself.
	 */
	bool resumed;
	/* A signal said so. */
	bool stopping;
};

/* True when a and b are equal; its time tells nothing about where they differ. */
bool api_secret_equal(const char *a, const char *b);

#endif
