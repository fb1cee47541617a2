/* SPDX-License-Identifier: MIT */
/* Aborts, failures of the service, and what the calls cost. */
#include <stdlib.h>
#include <string.h>

#include <base/sha256.h>
#include <witness/call.h>
#include <witness/count.h>
#include <witness/gate.h>

#include "cases.h"
#include "run.h"

static void unref(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

void fs_abort_before(struct sp_case *t)
{
	struct sp_cancel *cancel SP_CLEANUP(unref) = sp_cancel_new();
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(cancel && yard_open(t, &y) && put_text(&y, yard_path(&y, "f"), "old"));
	sp_cancel_abort(cancel, "changed my mind");
	for (size_t i = 0; i < n_fs_calls; i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc = fs_calls[i].call(y.sandbox, yard_path(&y, "f"), cancel, &err);

		SP_REQUIRE(SP_CHECK_CODE(t, SP_ABORTED, rc, &err, "%s with a cancel that has fired",
					 fs_calls[i].name));
		SP_REQUIRE(SP_CHECK(t, strstr(err.message, "changed my mind") != NULL,
				    "%s tells the abort's reason, but says \"%s\"",
				    fs_calls[i].name, err.message));
	}
	says(&y, "f\nold", "what is there", "cd %s && ls && cat f", y.dir);
}

struct one_call {
	const struct named_call *call;
	struct sp_sandbox *sandbox;
	const char *path;
};

static int call_it(void *arg, struct sp_cancel *cancel, struct sp_call_result *result)
{
	struct one_call *one = arg;

	return one->call->call(one->sandbox, one->path, cancel, &result->err);
}

/* The abort comes while the back end stands at `step` of the call. */
static bool aborted_at(const struct yard *y, const struct named_call *which, const char *path,
		       enum sp_control_step step, enum sp_control_when when)
{
	struct sp_case *t = y->t;
	struct one_call one = { which, y->sandbox, path };
	struct sp_call *call SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	const char *what = sp_case_format(t, "%s that was aborted %s %s", which->name,
					  when == SP_BEFORE ? "before" : "after",
					  sp_control_step_name(step));

	if (!sp_gate_shut(t, y->sandbox, step, when, &gate))
		return false;
	call = sp_call_start(t, call_it, &one);
	if (!call || !sp_gate_await(&gate))
		return false;
	sp_call_abort(call, "changed my mind");
	result = sp_call_join(call);
	return result && SP_CHECK_CODE(t, SP_ABORTED, result->rc, &result->err, "%s", what) &&
	       SP_CHECK(t, strstr(result->err.message, "changed my mind") != NULL,
			"%s tells the reason: \"%s\"", what, result->err.message) &&
	       sp_gate_open(&gate);
}

/* Every place at which a call can stand: its token's mint and then the command or the transfer. */
void fs_abort_during(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y));
	for (size_t i = 0; i < n_fs_calls; i++) {
		bool read = !strcmp(fs_calls[i].name, "read");
		bool write = !strcmp(fs_calls[i].name, "write");
		enum sp_control_step mint = read    ? SP_STEP_MINT_DOWNLOAD
					    : write ? SP_STEP_MINT_UPLOAD
						    : SP_STEP_MINT_RUN;
		enum sp_control_step deed = read    ? SP_STEP_DOWNLOAD
					    : write ? SP_STEP_UPLOAD
						    : SP_STEP_RUN;
		/* Of its own: what was asked for before the abort may still be done later. */
		const char *path = yard_path(&y, fs_calls[i].name);

		SP_REQUIRE(put_text(&y, path, "old"));
		SP_REQUIRE(aborted_at(&y, &fs_calls[i], path, mint, SP_BEFORE) &&
			   aborted_at(&y, &fs_calls[i], path, mint, SP_AFTER) &&
			   aborted_at(&y, &fs_calls[i], path, deed, SP_BEFORE) &&
			   aborted_at(&y, &fs_calls[i], path, deed, SP_AFTER));
		/* Nobody stands in the way of the next call. */
		SP_REQUIRE(put_text(&y, yard_path(&y, "after"), "new") &&
			   gives_text(&y, yard_path(&y, "after"), "new"));
	}
}

void fs_failure_is_not_absence(struct sp_case *t)
{
	static const struct {
		enum sp_control_how how;
		int status;
		const char *what;
	} rows[] = { { SP_FAIL_STATUS, 500, "status 500" },
		     { SP_FAIL_STATUS, 401, "status 401" },
		     { SP_FAIL_DROP, 0, "no answer" },
		     { SP_FAIL_CUT, 0, "an answer cut off" } };
	static const enum sp_control_step steps[] = { SP_STEP_RUN, SP_STEP_DOWNLOAD,
						      SP_STEP_UPLOAD };
	struct sp_control *control = sp_case_control(t);
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "f"), "old"));
	for (size_t r = 0; r < SP_COUNT(rows); r++) {
		for (size_t s = 0; s < SP_COUNT(steps); s++)
			control->ops->fail(control->self, steps[s], 0, rows[r].how, rows[r].status,
					   NULL);
		for (size_t i = 0; i < n_fs_calls; i++) {
			struct sp_error err = SP_ERROR_INIT;
			int rc = fs_calls[i].call(y.sandbox, yard_path(&y, "f"), sp_case_cancel(t),
						  &err);

			SP_CHECK(t, rc < 0 && rc != SP_NOT_FOUND && rc != SP_GONE,
				 "%s with %s: an error, neither success nor \"missing\" nor "
				 "\"gone\", but %s",
				 fs_calls[i].name, rows[r].what, rc ? sp_code_name(rc) : "success");
		}
		for (size_t s = 0; s < SP_COUNT(steps); s++)
			control->ops->fail(control->self, steps[s], 0, -1, 0, NULL);
		if (sp_case_failed(t))
			return;
	}
}

/* Over what is there, where nothing is, and once more with room. */
void fs_disk_full(struct sp_case *t)
{
	static const char *const rows[] = { "f", "new" };
	struct sp_control *control = sp_case_control(t);
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "f"), "old"));
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc;

		control->ops->fail(control->self, SP_STEP_UPLOAD, 1, SP_FAIL_DISK_FULL, 507, NULL);
		rc = sp_sandbox_write(y.sandbox, yard_path(&y, rows[i]), "new content", 11,
				      sp_case_cancel(t), &err);
		control->ops->fail(control->self, SP_STEP_UPLOAD, 0, -1, 0, NULL);
		SP_REQUIRE(SP_CHECK_CODE(t, SP_IO, rc, &err, "a write to %s that finds no room",
					 rows[i]));
	}
	SP_REQUIRE(says(&y, "f\nold", "what is there after it", "cd %s && ls -A && cat f", y.dir));
	SP_REQUIRE(put_text(&y, yard_path(&y, "f"), "again"));
	gives_text(&y, yard_path(&y, "f"), "again");
}

/* COUNT: what each call asks of the back end. */
void fs_costs(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;

	SP_REQUIRE(yard_open(t, &y) && put_text(&y, yard_path(&y, "f"), "old"));
	for (size_t i = 0; i < n_fs_calls; i++) {
		bool read = !strcmp(fs_calls[i].name, "read"),
		     write = !strcmp(fs_calls[i].name, "write");
		struct sp_error err = SP_ERROR_INIT;
		const char *path = yard_path(&y, !strcmp(fs_calls[i].name, "list") ? "." : "f");

		if (!strcmp(fs_calls[i].name, "mkdir"))
			path = yard_path(&y, "made");
		if (!strcmp(fs_calls[i].name, "rename"))
			SP_REQUIRE(put_text(&y, path, "old"));
		SP_REQUIRE(sp_count_forget_requests(t));
		SP_REQUIRE(SP_CHECK_OK(t,
				       fs_calls[i].call(y.sandbox, path, sp_case_cancel(t), &err),
				       &err, "%s", fs_calls[i].name));
		SP_REQUIRE(SP_CHECK_INT(t, read || write ? 0 : 1,
					sp_count_requests(t, "POST", "/proxy/"),
					"commands of one %s", fs_calls[i].name));
		SP_REQUIRE(SP_CHECK_INT(t, write, sp_count_requests(t, "PUT", ""),
					"uploads of one %s", fs_calls[i].name));
	}
	SP_REQUIRE(sp_count_forget_requests(t) && put_text(&y, yard_path(&y, "x/y/z"), "deep"));
	SP_REQUIRE(SP_CHECK_INT(t, 1, sp_count_requests(t, "POST", "/proxy/"),
				"commands of a write below a missing folder"));
	SP_CHECK_INT(t, 2, sp_count_requests(t, "PUT", ""),
		     "uploads of a write below a missing folder");
}

/* Where it is declared: whoever looks sees the old or the new content, whole. */
void fs_write_atomic(struct sp_case *t)
{
	struct yard y YARD = YARD_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	size_t len = 256 * 1024;
	char *text SP_FREE = malloc(len);
	char hex[2][SP_SHA256_HEX];
	const char *said = "no";

	if (!sp_case_capabilities(t)->atomic_write) {
		sp_skip(t, "needs atomic writes: atomic_write is declared false");
		return;
	}
	SP_REQUIRE(text && yard_open(t, &y));
	for (int i = 0; i < 2; i++) {
		memset(text, 'a' + i, len);
		sp_sha256_hex(text, len, hex[i]);
	}
	SP_REQUIRE(put(&y, yard_path(&y, "f"), text, len));
	SP_REQUIRE(sp_spawn(t, y.sandbox, &child,
			    "cd %s; i=0; while [ $i -lt 100 ]; do sha256sum <f >>seen; i=$((i+1)); "
			    "done; : >done",
			    y.dir));
	for (int i = 0; !strcmp(said, "no"); i++) {
		memset(text, 'a' + i % 2, len);
		SP_REQUIRE(put(&y, yard_path(&y, "f"), text, len));
		said = sp_sh_out(t, y.sandbox, "[ -e %s/done ] && echo yes || echo no", y.dir);
		SP_REQUIRE(said != NULL);
	}
	says(&y, "", "digests of mixtures that a reader saw",
	     "cut -c1-64 %s/seen | sort -u | grep -v -e %s -e %s || :", y.dir, hex[0], hex[1]);
}
