/* SPDX-License-Identifier: MIT */
/*
 * Snapshots (items 8 to 14, 23 to 25). A reference is "GROUP/SNAPSHOT": the
 * service finds no snapshot by its id alone.
 *
 * Filesystem kind: the overlay lies in memory and is never captured, so it stays
 * where it is. Runtime kind: memory is captured, so the overlay is taken out for
 * the capture and put back after it, and nobody starts meanwhile. Put back only
 * where nothing lies: what another process has written since is newer.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include <base/clock.h>
#include <base/utf8.h>

enum snapshot_status {
	SNAPSHOT_CREATING = 0,
	SNAPSHOT_AVAILABLE,
	SNAPSHOT_FAILED,
};

/* A reference taken apart. */
struct reference {
	char *group;
	char *snapshot;
};

static void reference_done(struct reference *ref)
{
	free(ref->group);
	free(ref->snapshot);
}

static int split(const char *text, struct reference *ret_ref, struct sp_error *err)
{
	const char *slash = text ? strchr(text, '/') : NULL;

	if (!slash)
		return sp_error_set(err, SP_INVALID, "not a snapshot reference of render");
	ret_ref->group = strndup(text, (size_t)(slash - text));
	ret_ref->snapshot = strdup(slash + 1);
	if (!ret_ref->group || !ret_ref->snapshot)
		return sp_error_set(err, SP_INTERNAL, "no memory for a reference");
	if (!render_id_ok(ret_ref->group) || !render_id_ok(ret_ref->snapshot))
		return sp_error_set(err, SP_INVALID, "not a snapshot reference of render");
	return 0;
}

/* Snapshot id of a reference, malloc'ed: what a create takes. */
int render_snapshot_id(const char *ref_text, char **ret_id, struct sp_error *err)
{
	struct reference ref SP_CLEANUP(reference_done) = {NULL, NULL};
	int rc = split(ref_text, &ref, err);

	if (!rc)
		*ret_id = SP_TAKE(ref.snapshot);
	return rc;
}

static int parse(const struct render_answer *answer, cJSON **ret_json, struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;

	if (!sp_json_parse((const char *)answer->body.data, answer->body.len, RENDER_ANSWER_MAX,
			   ret_json, &inner))
		return 0;
	return sp_error_set(err, SP_PROTOCOL, "a snapshot's answer: %s", inner.message);
}

static int status_of(const cJSON *json, enum snapshot_status *ret_status, struct sp_error *err)
{
	static const char *const names[] = {"creating", "available", "failed"};
	const char *text = sp_json_str(json, "status");

	for (size_t i = 0; text && i < SP_COUNT(names); i++)
		if (!strcmp(text, names[i])) {
			*ret_status = (enum snapshot_status)i;
			return 0;
		}
	return sp_error_set(err, SP_PROTOCOL, "a snapshot has the unknown status \"%.64s\"",
			    text ? text : "(none)");
}

static int path_of(const struct reference *ref, struct sp_buf *path, struct sp_error *err)
{
	sp_buf_addf(path, "/sandbox-groups/%s/snapshots/%s", ref->group, ref->snapshot);
	return path->error ? sp_error_set(err, SP_INTERNAL, "no memory for a path") : 0;
}

/* ---- Deleting ---- */

/* One try; SP_CONFLICT while it is being captured. */
static int delete_once(struct render_core *core, const struct reference *ref,
		       struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct sp_id_list list SP_CLEANUP(sp_id_list_done) = SP_ID_LIST_INIT;
	int rc = path_of(ref, &path, err);

	if (!rc)
		rc = render_call(core, "DELETE", sp_buf_str(&path), NULL, NULL, 204,
				 "delete the snapshot", cancel, &answer, err);
	/* A workspace without the service answers 404 as well: that is no deleted snapshot. */
	if (rc == SP_NOT_FOUND)
		rc = render_list(core, cancel, &list, err);
	return rc;
}

/* Waits for the end of a capture, which nothing else can end. */
static int delete_reference(struct render_core *core, const struct reference *ref,
			    struct sp_cancel *cancel, struct sp_error *err)
{
	uint64_t limit = sp_deadline_ms(core->start_timeout_ms);
	uint32_t pause = render_next_pause(core, 0);
	int rc;

	while ((rc = delete_once(core, ref, cancel, err)) == SP_CONFLICT && sp_now() < limit) {
		rc = render_pause(pause, cancel, err);
		if (rc)
			break;
		pause = render_next_pause(core, pause);
	}
	return rc;
}

int render_snapshot_delete(void *self, const char *snapshot_id, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	struct reference ref SP_CLEANUP(reference_done) = {NULL, NULL};
	int rc = split(snapshot_id, &ref, err);

	return rc ? rc : delete_reference(self, &ref, cancel, err);
}

/* After a capture that failed or that nobody waits for: it is billed until it is deleted. */
static void take_back(struct render_core *core, const struct reference *ref, struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	struct sp_cancel *limit;

	if (!core->steps.snapshot_cleans_up)
		return;
	limit = sp_cancel_new();
	if (limit)
		sp_cancel_set_deadline(limit, sp_deadline_ms(RENDER_CLEANUP_MS));
	if (delete_reference(core, ref, limit, &inner)) {
		char words[SP_ERROR_TEXT];

		snprintf(words, sizeof(words), "snapshot %s/%s " SP_MAY_BE_THERE ": %.300s",
			 ref->group, ref->snapshot, inner.message);
		sp_error_set_detail(err, words);
	}
	sp_cancel_unref(limit);
}

/* ---- Taking ---- */

static int await_capture(struct render_core *core, const struct reference *ref,
			 struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	uint64_t limit = sp_deadline_ms(core->start_timeout_ms);
	uint32_t pause = render_next_pause(core, 0);
	int rc = path_of(ref, &path, err);

	while (!rc) {
		struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
		cJSON *json SP_CLEANUP(sp_json_done) = NULL;
		enum snapshot_status status = SNAPSHOT_CREATING;

		rc = render_call(core, "GET", sp_buf_str(&path), NULL, NULL, 200,
				 "look at the snapshot", cancel, &answer, err);
		if (!rc)
			rc = parse(&answer, &json, err);
		if (!rc)
			rc = status_of(json, &status, err);
		if (rc)
			return rc;
		if (status == SNAPSHOT_AVAILABLE)
			return 0;
		if (status == SNAPSHOT_FAILED) {
			sp_error_set(err, SP_UNAVAILABLE, "the capture of a snapshot failed");
			sp_error_set_detail(err, sp_json_str(json, "error"));
			return SP_UNAVAILABLE;
		}
		if (sp_now() > limit)
			return sp_error_set(err, SP_UNAVAILABLE,
					    "a snapshot was not captured within %u ms",
					    core->start_timeout_ms);
		rc = render_pause(pause, cancel, err);
		pause = render_next_pause(core, pause);
	}
	return rc;
}

/* Ids in an answer; SP_UNKNOWN_OUTCOME: there is a snapshot, and the answer does not name it. */
static int read_ids(const struct render_answer *answer, struct reference *ret_ref,
		    struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *group = NULL, *snapshot = NULL;

	if (!parse(answer, &json, NULL)) {
		group = sp_json_str(json, "sandboxGroupId");
		snapshot = sp_json_str(json, "id");
	}
	if (!render_id_ok(group) || !render_id_ok(snapshot))
		return sp_error_set(err, SP_UNKNOWN_OUTCOME,
				    "a snapshot was taken and its answer names no id");
	ret_ref->group = strdup(group);
	ret_ref->snapshot = strdup(snapshot);
	return ret_ref->group && ret_ref->snapshot
		   ? 0
		   : sp_error_set(err, SP_INTERNAL, "no memory for a reference");
}

static void compose(const struct render_core *core, const struct render_wish *wish,
		    struct sp_buf *body)
{
	char until[32];

	sp_buf_addf(body, "{\"kind\":\"%s\",\"name\":", wish->kind);
	sp_buf_add_json(body, wish->name, strlen(wish->name));
	if (core->snapshot_lifetime_s) {
		sp_wall_format(sp_wall_ms() + (int64_t)core->snapshot_lifetime_s * 1000, until,
			       sizeof(until));
		sp_buf_addf(body, ",\"expiresAt\":\"%s\"", until);
	}
	sp_buf_addc(body, '}');
}

/* Posts it; an answer that is not read could leave a snapshot that nobody knows of. */
static int post(struct render_core *core, const struct render_wish *wish, struct sp_cancel *cancel,
		struct reference *ret_ref, struct sp_error *err)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct render_answer answer SP_CLEANUP(render_answer_done) = {0};
	struct sp_error inner = SP_ERROR_INIT;
	int rc;

	sp_buf_addf(&path, "/sandboxes/%s/snapshots", wish->sandbox);
	compose(core, wish, &body);
	if (path.error || body.error)
		return sp_error_set(err, SP_INVALID, "the name of a snapshot is too long");
	rc = render_call_through(core, "POST", sp_buf_str(&path), &body, 202, "take a snapshot",
				 cancel, &answer, &inner);
	if (rc == SP_NOT_FOUND)
		return render_confirm_gone(core, wish->sandbox, cancel, err);
	/* Silence and a gateway's own answer say nothing about what the service did. */
	if ((rc == SP_TIMED_OUT && !sp_cancel_check(cancel, NULL)) || inner.http_status == 502 ||
	    inner.http_status == 504)
		rc = sp_error_set(&inner, SP_UNKNOWN_OUTCOME,
				  "a snapshot was asked for and no answer came");
	if (!rc)
		rc = read_ids(&answer, ret_ref, &inner);
	if (rc && err)
		*err = inner;
	return rc;
}

/* Posts it, and finds it again where the answer was lost. */
static int request(struct render_core *core, const struct render_wish *wish,
		   struct sp_cancel *cancel, struct reference *ret_ref, struct sp_error *err)
{
	struct render_newest before SP_CLEANUP(render_newest_done) = {NULL, NULL};
	struct sp_error inner = SP_ERROR_INIT;
	int rc;

	render_newest_look(core, wish->sandbox, cancel, &before);
	rc = sp_cancel_check(cancel, &inner);
	if (!rc)
		rc = post(core, wish, cancel, ret_ref, &inner);
	if (rc == SP_UNKNOWN_OUTCOME || rc == SP_TIMED_OUT) {
		ret_ref->snapshot = render_find_lost(core, &before, wish);
		if (ret_ref->snapshot) {
			ret_ref->group = SP_TAKE(before.group);
			return 0;
		}
		sp_error_set_detail(&inner, "no snapshot is listed that must be this one; it "
				    SP_MAY_BE_THERE ", until it expires");
	}
	if (rc && err)
		*err = inner;
	return rc;
}

static int join(const struct reference *ref, char **ret_text, struct sp_error *err)
{
	char *text;

	if (asprintf(&text, "%s/%s", ref->group, ref->snapshot) < 0)
		return sp_error_set(err, SP_INTERNAL, "no memory for a reference");
	*ret_text = text;
	return 0;
}

int render_capture(struct render_core *core, const char *id, const char *name,
		   enum sp_snapshot_kind kind, struct sp_cancel *cancel, char **ret_ref,
		   struct sp_error *err)
{
	struct reference ref SP_CLEANUP(reference_done) = {NULL, NULL};
	const struct render_wish wish = {
	    id, name, kind == SP_SNAPSHOT_RUNTIME ? "runtime" : "filesystem"};
	int rc = request(core, &wish, cancel, &ref, err);

	if (rc)
		return rc;
	rc = await_capture(core, &ref, cancel, err);
	if (!rc)
		rc = join(&ref, ret_ref, err);
	if (rc)
		take_back(core, &ref, err);
	return rc;
}

/* ---- A handle's snapshot ---- */

/* One bare command. Any code but 0 means that the sandbox is not as a capture needs it. */
static int command(struct render_sandbox *sandbox, const char *piece, struct sp_cancel *cancel,
		   struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int rc = render_fill_in(piece, sandbox->dir, &text);

	if (rc)
		return sp_error_set(err, SP_INTERNAL, "no memory for a command");
	rc = render_shell(sandbox->core, sandbox->id, sp_buf_str(&text), SP_BUF_LINE, cancel,
			  &result, err);
	if (!rc && result.exit_code) {
		rc = sp_error_set(err, SP_UNAVAILABLE,
				  "sandbox %s cannot be prepared for a snapshot (code %d)",
				  sandbox->id, result.exit_code);
		sp_error_set_detail(err, (const char *)result.stderr_bytes.data);
	}
	return rc;
}

/* Takes the overlay out; what it held is kept for putting it back. */
static int hide(struct render_sandbox *sandbox, struct sp_cancel *cancel, struct sp_error *err)
{
	struct sp_bytes overlay = SP_BYTES_INIT;
	struct sp_error inner = SP_ERROR_INIT;
	char *path SP_FREE = NULL;
	bool is_archive = false;
	int rc;

	if (asprintf(&path, "%s/env", sandbox->dir) < 0) {
		path = NULL;
		return sp_error_set(err, SP_INTERNAL, "no memory for a path");
	}
	rc = render_download(sandbox->core, sandbox->id, path, &overlay, &is_archive, cancel,
			     &inner);
	if (rc && rc != SP_NOT_FOUND) {
		if (err)
			*err = inner;
		return rc;
	}
	/* What an earlier failure left to be put back is older than what lies there. */
	if (!rc)
		render_env_keep(sandbox, &overlay);
	sp_bytes_done(&overlay);
	return command(sandbox, sandbox->core->steps.snapshot_hide, cancel, err);
}

/* Whatever became of the capture, the environment is put back, also after an abort. */
static int put_back(struct render_sandbox *sandbox, struct sp_error *err)
{
	struct sp_cancel *limit = sp_cancel_new();
	int rc;

	if (limit)
		sp_cancel_set_deadline(limit, sp_deadline_ms(RENDER_CLEANUP_MS));
	rc = render_env_put_back(sandbox, limit, err);
	sp_cancel_unref(limit);
	return rc;
}

/* One round: wake, hide, capture, put back. SP_CONFLICT when it fell asleep in between. */
static int take(struct render_sandbox *sandbox, const char *name, struct sp_cancel *cancel,
		char **ret_ref, struct sp_error *err)
{
	const struct sp_render_steps *steps = &sandbox->core->steps;
	enum sp_snapshot_kind kind = sandbox->core->snapshot_kind;
	bool runtime = kind == SP_SNAPSHOT_RUNTIME;
	struct sp_error inner = SP_ERROR_INIT;
	int rc = *steps->snapshot_wake ? command(sandbox, steps->snapshot_wake, cancel, err) : 0;

	if (!rc && runtime)
		rc = hide(sandbox, cancel, err);
	if (!rc)
		rc = render_capture(sandbox->core, sandbox->id, name, kind, cancel, ret_ref, err);
	/* The reference is worth more than the overlay, which the next command writes first. */
	if (runtime && steps->snapshot_writes_back && put_back(sandbox, &inner) && !rc &&
	    !steps->snapshot_outlives_write_back) {
		free(*ret_ref);
		*ret_ref = NULL;
		rc = inner.code;
		if (err)
			*err = inner;
	}
	return rc;
}

/* SP_CONFLICT of the service: gone, or only asleep again, which is worth another round. */
static int why_not_running(struct render_sandbox *sandbox, struct sp_cancel *cancel,
			   struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	enum render_state state;
	int rc = render_get_state(sandbox->core, sandbox->id, cancel, &state, &inner);

	if (!rc && (state == RENDER_TERMINATED || state == RENDER_ERRORED))
		rc = sp_error_set(&inner, SP_GONE, "sandbox %s is gone", sandbox->id);
	if (rc && err)
		*err = inner;
	return rc;
}

static int take_awake(struct render_sandbox *sandbox, const char *name, struct sp_cancel *cancel,
		      char **ret_ref, struct sp_error *err)
{
	struct sp_error inner = SP_ERROR_INIT;
	int rc = 0;

	for (int tries = 0; tries < RENDER_RETRIES; tries++) {
		inner = (struct sp_error)SP_ERROR_INIT;
		rc = take(sandbox, name, cancel, ret_ref, &inner);
		if (rc != SP_CONFLICT)
			break;
		rc = why_not_running(sandbox, cancel, &inner);
		if (rc)
			break;
		rc = sp_error_set(&inner, SP_CONFLICT, "sandbox %s does not stay awake",
				  sandbox->id);
	}
	if (rc && err)
		*err = inner;
	return rc;
}

int render_snapshot(void *self, const char *label, struct sp_snapshot_ref *ret_ref,
		    struct sp_cancel *cancel, struct sp_error *err)
{
	struct render_sandbox *sandbox = self;
	const struct sp_render_steps *steps = &sandbox->core->steps;
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;
	char *name SP_FREE = steps->snapshot_name(label);
	int rc = render_sandbox_check(sandbox, err);

	if (rc)
		return rc;
	if (label)
		ref.label = strdup(label);
	if (!name || (label && !ref.label))
		return sp_error_set(err, SP_INTERNAL, "no memory for a label");
	if (!sp_utf8_valid(name, strlen(name)))
		return sp_error_set(err, SP_INVALID, "the label of a snapshot is not UTF-8");
	rc = sp_cancel_check(cancel, err);
	if (!rc && steps->snapshot_alone)
		rc = render_queue_enter(sandbox, true, cancel, err);
	if (rc)
		return rc;
	rc = take_awake(sandbox, name, cancel, &ref.id, err);
	if (steps->snapshot_alone)
		render_queue_leave(sandbox, true);
	if (rc)
		return rc;
	*ret_ref = ref;
	ref = (struct sp_snapshot_ref)SP_SNAPSHOT_REF_INIT;
	return 0;
}
