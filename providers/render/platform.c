/* SPDX-License-Identifier: MIT */
/* The bare platform: commands and transfers exactly as given, without wrapper, cap or env files. */
#include "internal.h"

static int raw_exec(void *self, const char *sandbox_id, const char *command,
		    struct sp_exec_result *ret_result, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	return render_shell(self, sandbox_id, command, SP_BUF_EVENT, cancel, ret_result, err);
}

static int raw_start_and_drop(void *self, const char *sandbox_id, const char *command,
			      struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_run *run;
	int rc = render_run_open(self, sandbox_id, command, cancel, &run, err);

	if (!rc)
		render_run_close(run);
	return rc;
}

static int raw_upload(void *self, const char *sandbox_id, const char *path, const void *data,
		      size_t len, struct sp_cancel *cancel, struct sp_error *err)
{
	return render_upload(self, sandbox_id, path, data, len, cancel, err);
}

static int raw_download(void *self, const char *sandbox_id, const char *path,
			struct sp_bytes *ret_bytes, bool *ret_is_archive, struct sp_cancel *cancel,
			struct sp_error *err)
{
	return render_download(self, sandbox_id, path, ret_bytes, ret_is_archive, cancel, err);
}

const struct sp_platform_ops render_platform_ops = {
	.version = SP_PLATFORM_VERSION,
	.raw_exec = raw_exec,
	.raw_start_and_drop = raw_start_and_drop,
	.raw_upload = raw_upload,
	.raw_download = raw_download,
};
