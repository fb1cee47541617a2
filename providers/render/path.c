/* SPDX-License-Identifier: MIT */
/* Paths of the contract to paths of the sandbox: clean by their text, as the service wants them. */
#include "internal.h"

#include <string.h>

/* Adds the components of `path`, "." and ".." resolved, to `out`, which ends without a slash. */
static void add_components(struct sp_buf *out, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !strncmp(path, "..", 2)) {
			while (out->len && out->data[out->len - 1] != '/')
				out->data[--out->len] = '\0';
			if (out->len)
				out->data[--out->len] = '\0';
		} else if (len && (len != 1 || *path != '.')) {
			sp_buf_addc(out, '/');
			sp_buf_add(out, path, len);
		}
		path += len;
		path += *path == '/';
	}
}

int render_path(const struct render_sandbox *sandbox, const char *path, char **ret_path,
		struct sp_error *err)
{
	struct sp_buf clean SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf real SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *text;

	if (!path || !*path)
		return sp_error_set(err, SP_INVALID, "an empty path");
	if (*path != '/')
		sp_buf_adds(&clean, "/workspace");
	add_components(&clean, path);
	text = sp_buf_str(&clean);
	if (!strcmp(text, "/workspace") || !strncmp(text, "/workspace/", 11)) {
		/* A root of "/" adds nothing. */
		if (strcmp(sandbox->root, "/"))
			sp_buf_adds(&real, sandbox->root);
		text += 10;
	}
	sp_buf_adds(&real, text);
	if (!real.len)
		sp_buf_addc(&real, '/');
	if (clean.error || real.error)
		return sp_error_set(err, SP_INVALID, "a path of more than %d bytes", SP_BUF_LINE);
	*ret_path = sp_buf_take(&real, NULL);
	return *ret_path ? 0 : sp_error_set(err, SP_INTERNAL, "no memory for a path");
}
