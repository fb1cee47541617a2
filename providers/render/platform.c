/* SPDX-License-Identifier: MIT */
/* The bare platform, for whoever measures it. */
#include "internal.h"

#include <string.h>

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
	int rc =
	    render_run_open(self, sandbox_id, command, strlen(command), cancel, &run, NULL, err);

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

static int raw_snapshot(void *self, const char *sandbox_id, const char *name,
			enum sp_snapshot_kind kind, char **ret_snapshot_id,
			struct sp_cancel *cancel, struct sp_error *err)
{
	return render_capture(self, sandbox_id, name, kind, cancel, ret_snapshot_id, err);
}

static int look(void *self, const char *sandbox_id, struct sp_platform_sandbox *ret_sandbox,
		struct sp_cancel *cancel, struct sp_error *err)
{
	return render_look(self, sandbox_id, ret_sandbox, cancel, err);
}

static int snapshots(void *self, const char *group, struct sp_platform_snapshots *ret_snapshots,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	return render_list_snapshots(self, group, ret_snapshots, cancel, err);
}

static const char *workspace(void *self)
{
	return ((const struct render_core *)self)->owner_id;
}

const struct sp_platform_ops render_platform_ops = {
    .version = SP_PLATFORM_VERSION,
    .raw_exec = raw_exec,
    .raw_start_and_drop = raw_start_and_drop,
    .raw_upload = raw_upload,
    .raw_download = raw_download,
    .raw_snapshot = raw_snapshot,
    .look = look,
    .snapshots = snapshots,
    .workspace = workspace,
};
