/* SPDX-License-Identifier: MIT */
/* Archives on the way: one that is made while it is sent, one that is unpacked while it comes. */
#ifndef SP_RENDER_TAR_H
#define SP_RENDER_TAR_H

#include "internal.h"

/* The content of a folder; NULL without memory. Freed by tar_out_free(). */
struct render_source *tar_out_new(const char *folder, struct sp_error *err);
void tar_out_free(struct render_source *source);

/*
 * Unpacks an archive, read from the stream to its orderly end, below the folder `dirfd`.
 * SP_PROTOCOL: it is hostile or broken; SP_UNKNOWN_OUTCOME: it has no end; SP_CONFLICT: a name is
 * there already; SP_IO.
 */
int tar_in(int dirfd, struct sp_http_stream *stream, struct sp_cancel *cancel,
	   struct sp_error *err);

#endif
