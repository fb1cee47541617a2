/* SPDX-License-Identifier: MIT */
/* Paths of the contract, made real and clean: /workspace is virtual, relative ones start at the workspace root. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Appends the components of `path` to a clean absolute one; ".." never leaves the root. */
static void join(struct sp_buf *out, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2)) {
			while (out->len && out->data[out->len - 1] != '/')
				out->len--;
			if (out->len)
				out->len--;
		} else if (len && !(len == 1 && *path == '.')) {
			sp_buf_addc(out, '/');
			sp_buf_add(out, path, len);
		}
		path += len;
		path += strspn(path, "/");
	}
}

int render_path(const struct render_sandbox *sandbox, const char *path, char **ret_path,
		struct sp_error *err)
{
	static const char virtual_root[] = "/workspace";
	const size_t len = sizeof(virtual_root) - 1;
	struct sp_buf real SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (!path || !*path)
		return sp_error_set(err, SP_INVALID, "an empty path");
	if (*path != '/') {
		join(&real, sandbox->root);
	} else if (!strncmp(path, virtual_root, len) && (!path[len] || path[len] == '/')) {
		join(&real, sandbox->root);
		path += len;
	}
	join(&real, path);
	if (!real.len)
		sp_buf_addc(&real, '/');
	if (real.error)
		return sp_error_set(err, SP_INVALID, "a path of %zu bytes is too long", strlen(path));
	real.data[real.len] = '\0';
	*ret_path = sp_buf_take(&real, NULL);
	return *ret_path ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for a path");
}
