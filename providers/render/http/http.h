/* SPDX-License-Identifier: MIT */
/* The transport over libcurl: pulled by the calling thread, connections kept and shared, TLS
 * verified, redirects refused. */
#ifndef SP_HTTP_H
#define SP_HTTP_H

#include <sandproof/transport.h>

#define SP_HTTP_OPTIONS_VERSION 1

struct sp_http_options {
	unsigned version;
	/* Send every request over this Unix socket, or NULL. Copied. */
	const char *unix_path;
	/* PEM file of a private certificate authority (loopback tests), or NULL. Copied. */
	const char *ca_file;
	/* Milliseconds until a connection must stand; 0: 10,000. */
	uint32_t connect_timeout_ms;
	/* Value of User-Agent; NULL: "sandproof/VERSION". Copied. */
	const char *user_agent;
};

#define SP_HTTP_OPTIONS_INIT                                                                       \
	{                                                                                          \
		.version = SP_HTTP_OPTIONS_VERSION                                                 \
	}

/* Opens a transport. SP_INTERNAL when libcurl cannot be set up. */
int sp_http_transport_open(const struct sp_http_options *options,
			   struct sp_transport *ret_transport, struct sp_error *err);

#endif
