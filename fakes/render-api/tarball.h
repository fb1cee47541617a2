/* SPDX-License-Identifier: MIT */
/*
 * A folder of a sandbox as a gzip'ed tar, made piece by piece while it is
 * read. Everything is opened through the engine, which never leaves the sandbox.
 */
#ifndef FAKE_RENDER_API_TARBALL_H
#define FAKE_RENDER_API_TARBALL_H

#include <stddef.h>
#include <sys/types.h>

#include <fakes/bash/engine.h>

struct tarball;

/* NULL with `err` when memory is short or the folder cannot be listed. */
struct tarball *tarball_new(struct fake_sandbox *sandbox, const char *path, struct sp_error *err);
/*
 * Gives up to `max` bytes: their number, 0 at the end, -1 when it failed and what was given is
 * worthless.
 */
ssize_t tarball_read(struct tarball *tarball, char *buffer, size_t max);
void tarball_free(struct tarball *tarball);

#endif
