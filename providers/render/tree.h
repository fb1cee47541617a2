/* SPDX-License-Identifier: MIT */
/*
 * Whole folders and files of any size between this machine and a sandbox of the Render provider.
 * Everything is streamed: memory does not grow with what is sent or fetched.
 */
#ifndef SP_RENDER_TREE_H
#define SP_RENDER_TREE_H

#include <sandproof/provider.h>

/*
 * Sends what is in `folder` into the sandbox's folder `path`, as a compressed archive. Links are
 * sent as links, hard links as files of their own; sockets, FIFOs and devices are left out. SP_IO:
 * something could not be read, or changed meanwhile. SP_UNSUPPORTED for any other provider.
 */
int sp_render_send_tree(struct sp_provider *provider, const char *sandbox_id, const char *path,
			const char *folder, struct sp_cancel *cancel, struct sp_error *err);
/*
 * Fetches the sandbox's folder `path` into `folder`, which is there and holds none of its names.
 * The archive is a stranger's: a name that leaves the folder or comes twice, a link that leads out
 * of it, and whatever is neither file, folder nor link is SP_PROTOCOL; an archive without its end
 * is SP_UNKNOWN_OUTCOME. What was written before stays. SP_INVALID: `path` is a file.
 */
int sp_render_fetch_tree(struct sp_provider *provider, const char *sandbox_id, const char *path,
			 const char *folder, struct sp_cancel *cancel, struct sp_error *err);
/* Sends the rest of `fd`, from where it stands; it can be read again from there. */
int sp_render_send_file(struct sp_provider *provider, const char *sandbox_id, const char *path,
			int fd, struct sp_cancel *cancel, struct sp_error *err);
/* Fetches a file to where `fd` stands. SP_INVALID: `path` is a folder. */
int sp_render_fetch_file(struct sp_provider *provider, const char *sandbox_id, const char *path,
			 int fd, struct sp_cancel *cancel, struct sp_error *err);

#endif
