/* SPDX-License-Identifier: MIT */
/* Reading and writing files are native transfers; the other calls of fs come with a later step. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

int render_fs_read(void *self, const char *path, struct sp_bytes *ret_bytes,
		   struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	struct sp_bytes bytes = SP_BYTES_INIT;
	char *real SP_FREE = NULL;
	bool archive = false;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc)
		rc = render_path(sandbox, path, &real, err);
	if (!rc)
		rc = render_download(sandbox->core, sandbox->id, real, &bytes, &archive, cancel, err);
	if (rc)
		return rc;
	/* Only a folder comes as an archive; a .tar file comes as it is. */
	if (archive) {
		sp_bytes_done(&bytes);
		return sp_error_set(err, SP_CONFLICT, "%s is a folder", path);
	}
	*ret_bytes = bytes;
	return 0;
}

static int make_parent(struct render_sandbox *sandbox, const char *real, struct sp_cancel *cancel,
		       struct sp_error *err)
{
	struct sp_exec_result made SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf command SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char *parent SP_FREE = strdup(real);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	int rc;

	if (!slash)
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	slash[slash == parent] = '\0';
	sp_buf_adds(&command, "mkdir -p -- ");
	sp_buf_add_shell(&command, parent);
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(&command), SP_BUF_LINE, cancel, &made,
			  err);
	if (rc || !made.exit_code)
		return rc;
	sp_error_set(err, SP_CONFLICT, "the folder of %s cannot be made", real);
	sp_error_set_detail(err, (const char *)made.stderr_bytes.data);
	return SP_CONFLICT;
}

int render_fs_write(void *self, const char *path, const void *data, size_t len,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	char *real SP_FREE = NULL;
	int rc = render_sandbox_check(sandbox, err);

	if (!rc)
		rc = render_path(sandbox, path, &real, err);
	if (!rc)
		rc = render_upload(sandbox->core, sandbox->id, real, data, len, cancel, err);
	if (rc != SP_NOT_FOUND || !sandbox->core->steps.write_makes_parents)
		return rc;
	rc = make_parent(sandbox, real, cancel, err);
	return rc ? rc : render_upload(sandbox->core, sandbox->id, real, data, len, cancel, err);
}
