/* SPDX-License-Identifier: MIT */
/* Where the server listens: a loopback address or a Unix socket, nothing else. */
#ifndef FAKE_RENDER_API_LISTEN_H
#define FAKE_RENDER_API_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

#include <sandproof/error.h>

struct api_listener {
	/* Listening, non-blocking, close-on-exec. */
	int fd;
	/* Path of the Unix socket, else NULL. */
	char *unix_path;
	/* What the file at that path was when we made it, so that nobody else's is removed. */
	dev_t dev;
	ino_t ino;
	/* "http://127.0.0.1:PORT", or "http://localhost" on a Unix socket. */
	char origin[64];
};

#define API_LISTENER_INIT { .fd = -1 }

/*
 * Listens on "unix:PATH", "HOST:PORT" with a loopback host, or 127.0.0.1 and any
 * port for NULL. SP_INVALID for anything else and for a path that does not fit a socket address;
 * SP_IO.
 */
int api_listen(const char *address, struct api_listener *ret_listener, struct sp_error *err);
/* Closes it and removes its socket file. */
void api_listener_done(struct api_listener *listener);

#endif
