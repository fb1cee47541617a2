/* SPDX-License-Identifier: MIT */
/* The guard around the bare platform below a provider. */
#include "guard_impl.h"

#include <string.h>

#include <base/cleanup.h>

#include "making.h"

#define SHOWN_CEILING (64 * 1024)

static const char *reason(int rc, const struct sp_error *err)
{
	return rc && err ? err->message : "";
}

static const char *answer(int rc)
{
	return rc ? sp_code_name(rc) : "ok";
}

static void note_command(struct sp_guard *guard, const char *verb, const char *command, int rc,
			 const struct sp_exec_result *result, const struct sp_error *err)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SHOWN_CEILING);

	sp_show(&line, guard->options.redact, command, strlen(command), 4 * SP_EVIDENCE_SHORT);
	if (!rc && result) {
		sp_buf_addf(&line, " -> code %d, stdout ", result->exit_code);
		sp_show(&line, guard->options.redact, result->stdout_bytes.data,
			result->stdout_bytes.len, SP_EVIDENCE_SHORT);
	} else {
		sp_buf_addf(&line, " -> %s %s", answer(rc), reason(rc, err));
	}
	sp_guard_note(guard, "%s %s", verb, sp_buf_str(&line));
}

static int raw_exec(void *self, const char *id, const char *command,
		    struct sp_exec_result *ret_result, struct sp_cancel *cancel,
		    struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;
	int rc = SP_GUARDED(w->guard, "platform.raw_exec",
			    in.ops->raw_exec(in.self, id, command, ret_result, cancel, err));

	note_command(w->guard, "raw_exec", command, rc, ret_result, err);
	return rc;
}

static int raw_start_and_drop(void *self, const char *id, const char *command,
			      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;
	int rc = SP_GUARDED(w->guard, "platform.raw_start_and_drop",
			    in.ops->raw_start_and_drop(in.self, id, command, cancel, err));

	note_command(w->guard, "raw_start_and_drop", command, rc, NULL, err);
	return rc;
}

static int raw_upload(void *self, const char *id, const char *path, const void *data, size_t len,
		      struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;
	int rc = SP_GUARDED(w->guard, "platform.raw_upload",
			    in.ops->raw_upload(in.self, id, path, data, len, cancel, err));

	sp_guard_note(w->guard, "raw_upload %s %zu bytes -> %s %s", path, len, answer(rc),
		      reason(rc, err));
	return rc;
}

static int raw_download(void *self, const char *id, const char *path, struct sp_bytes *ret_bytes,
			bool *ret_is_archive, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;
	int rc = SP_GUARDED(
	    w->guard, "platform.raw_download",
	    in.ops->raw_download(in.self, id, path, ret_bytes, ret_is_archive, cancel, err));

	sp_guard_note(w->guard, "raw_download %s -> %s %s", path, answer(rc), reason(rc, err));
	return rc;
}

static int raw_snapshot(void *self, const char *id, const char *name, enum sp_snapshot_kind kind,
			char **ret_snapshot_id, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;
	char row[SP_LEDGER_ROW];
	struct sp_shared *making SP_CLEANUP(sp_making_end) =
		sp_making_begin(w->guard->options.shared, w->guard->options.outlives);
	int rc = sp_guard_snapshot_begins(w->guard, &in, id, name, row, cancel, err);

	if (rc)
		return rc;
	rc =
	    SP_GUARDED(w->guard, "platform.raw_snapshot",
		       in.ops->raw_snapshot(in.self, id, name, kind, ret_snapshot_id, cancel, err));
	sp_guard_snapshot_ended(w->guard, row, rc, rc ? NULL : *ret_snapshot_id, err);
	sp_guard_note(w->guard, "raw_snapshot %s -> %s %s", name, answer(rc), reason(rc, err));
	return rc;
}

static int look(void *self, const char *id, struct sp_platform_sandbox *ret_sandbox,
		struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;
	int rc = SP_GUARDED(w->guard, "platform.look",
			    in.ops->look(in.self, id, ret_sandbox, cancel, err));

	sp_guard_note(w->guard, "look at %s -> %s", id, rc ? answer(rc) : ret_sandbox->state);
	return rc;
}

static int snapshots(void *self, const char *group, struct sp_platform_snapshots *ret_snapshots,
		     struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_guarded_platform *w = self;
	struct sp_platform in = w->inner;

	return SP_GUARDED(w->guard, "platform.snapshots",
			  in.ops->snapshots(in.self, group, ret_snapshots, cancel, err));
}

static const char *workspace(void *self)
{
	struct sp_guarded_platform *w = self;

	return w->inner.ops->workspace(w->inner.self);
}

static const struct sp_platform_ops guarded_ops = {
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

void sp_guard_platform(struct sp_guarded_platform *w, struct sp_guard *guard,
		       struct sp_platform *platform)
{
	if (!platform->ops || platform->ops->version != SP_PLATFORM_VERSION)
		return;
	w->guard = guard;
	w->inner = *platform;
	*platform = (struct sp_platform){&guarded_ops, w};
}
