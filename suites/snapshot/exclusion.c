/* SPDX-License-Identifier: MIT */
/* S2, S3: what no snapshot holds, of either kind, whoever writes meanwhile. */
#include <suites/snapshot/cases.h>
#include <suites/snapshot/scene.h>

static bool check_archives(struct snap_scene *s, const struct sp_secret *secret, const char *what)
{
	return sp_search_check_archives(s->t, &secret->canary, &s->decoy, true, SP_HERE, what);
}

void snap_exclude_overlay(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_secret odd[2];
	struct sp_env vars[2];

	SP_REQUIRE(snap_scene_open(t, &s));
	for (int i = 0; i < 2; i++) {
		sp_secret_make(t, &odd[i]);
		vars[i] = (struct sp_env){i ? "lower_case" : "FOO", odd[i].value};
	}
	SP_REQUIRE(
	    sp_vars_set(t, s.sandbox, vars, 2, SP_HERE, "env_set of secrets with odd names"));
	SP_REQUIRE(
	    sp_vars_arrive(t, s.sandbox, NULL, 0, vars, 2, SP_HERE, "secrets with odd names"));
	SP_REQUIRE(snap_take(&s, "exclude"));
	SP_REQUIRE(check_archives(&s, &s.secret, "the snapshot"));
	for (int i = 0; i < 2; i++)
		SP_REQUIRE(
		    check_archives(&s, &odd[i], "the snapshot, for a secret with an odd name"));
	SP_REQUIRE(sp_vars_arrive(t, s.sandbox, NULL, 0, &s.var, 1, SP_HERE, "after the snapshot"));
	sp_vars_arrive(t, s.sandbox, NULL, 0, vars, 2, SP_HERE, "after the snapshot");
}

/* Without a back door: what comes back is searched. */
void snap_exclude_restored(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox restored SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_secret today;
	struct sp_env var = {SNAP_NAME, NULL};
	const char *ref, *found;

	SP_REQUIRE(snap_scene_open(t, &s));
	ref = snap_take(&s, "restored");
	SP_REQUIRE(ref);
	sp_secret_make(t, &today);
	var.value = today.value;
	SP_REQUIRE(sp_vars_set(t, s.sandbox, &var, 1, SP_HERE, "rotation after the snapshot"));
	restored = snap_restore_ok(t, ref, &var, 1);
	SP_REQUIRE(restored.ops);
	SP_REQUIRE(sp_vars_arrive(t, &restored, NULL, 0, &var, 1, SP_HERE, "today's secret"));
	SP_REQUIRE(
	    sp_secret_check_no_file(t, &restored, &s.secret, SP_HERE, "the restored sandbox"));
	found = sp_search_processes(t, &restored, &s.secret.canary);
	SP_REQUIRE(found);
	SP_CHECK_STR(t, "", found, "processes of the restored sandbox with yesterday's secret");
	SP_REQUIRE(sp_sh_ok(t, &restored, "grep -q %s decoy", s.decoy.text));
	snap_destroy(t, &restored);
}

void snap_exclude_call(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_holder holder SP_HOLDER = SP_HOLDER_INIT;

	SP_REQUIRE(snap_scene_open(t, &s) && sp_holder_start(t, s.sandbox, &holder));
	SP_REQUIRE(snap_take(&s, "call"));
	SP_REQUIRE(sp_search_check_archives(t, &holder.secret.canary, &s.decoy, false, SP_HERE,
					    "the snapshot, for a running command's own secret"));
	sp_search_check_archives(t, &s.secret.canary, &s.decoy, false, SP_HERE,
				 "the snapshot, beside a running command");
}

/* Where older versions of this provider had the sandbox's variables. */
#define OLD_OVERLAY "/tmp/tsai/env"

void snap_exclude_old_overlay(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_secret old;
	struct sp_error err = SP_ERROR_INIT;
	const char *text;

	SP_REQUIRE(sp_case_sandbox(t));
	if (strcmp(sp_provider_name(sp_case_provider(t)), "render")) {
		sp_skip(t, "needs a provider whose older versions are known to this suite");
		return;
	}
	SP_REQUIRE(snap_is_isolated(t) && snap_scene_open(t, &s));
	sp_secret_make(t, &old);
	text = sp_case_format(t, "export OLD='%s'\n", old.canary.text);
	SP_REQUIRE(SP_CHECK_OK(
	    t,
	    sp_sandbox_write(s.sandbox, OLD_OVERLAY, text, strlen(text), sp_case_cancel(t), &err),
	    &err, "the old file is planted"));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "[ -s " OLD_OVERLAY " ]"));
	SP_REQUIRE(snap_take(&s, "old"));
	SP_REQUIRE(check_archives(&s, &old, "the snapshot, for a file that an older version left"));
	sp_sh_ok(t, s.sandbox, "[ ! -e " OLD_OVERLAY " ]");
}

/* ---- A writer with a queue of its own, while the capture is held ---- */

/* Sets another secret through the other handle, and sees it there. */
static bool write_meanwhile(struct snap_scene *s, struct sp_secret *secret, struct sp_env *var)
{
	sp_secret_make(s->t, secret);
	*var = (struct sp_env){SNAP_NAME, secret->value};
	return sp_vars_set(s->t, &s->other, var, 1, SP_HERE, "env_set by another process") &&
	       sp_vars_arrive(s->t, &s->other, NULL, 0, var, 1, SP_HERE,
			      "what another process has set");
}

/* Returns whether the archives were reached; the snapshot holds neither secret. */
static bool foreign_writer(struct snap_scene *s)
{
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;
	struct sp_secret secret;
	struct sp_env var;

	if (!snap_other(s) || !sp_gate_shut(s->t, s->sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate) ||
	    !snap_start(s, &call) || !sp_gate_await(&gate) || !write_meanwhile(s, &secret, &var) ||
	    !sp_gate_open(&gate))
		return false;
	result = snap_joined(&call);
	return SP_CHECK_OK(s->t, result->rc, &result->err, "a snapshot beside another writer") &&
	       check_archives(s, &s->secret, "the snapshot, for the secret before it") &&
	       check_archives(s, &secret, "the snapshot, for a secret that was set during it") &&
	       sp_vars_arrive(s->t, s->sandbox, NULL, 0, &var, 1, SP_HERE,
			      "what was set last, through the first handle") &&
	       sp_vars_arrive(s->t, &s->other, NULL, 0, &var, 1, SP_HERE,
			      "what was set last, through the other handle");
}

void snap_foreign_filesystem(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	long before, after;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_FILESYSTEM) && snap_scene_open(t, &s));
	SP_REQUIRE(sp_count_forget_requests(t));
	before = sp_count_requests(t, "PUT", "");
	SP_REQUIRE(before >= 0 && foreign_writer(&s));
	after = sp_count_requests(t, "PUT", "");
	SP_CHECK_INT(t, 1, after, "files that were written: the other process's, and nothing back");
}

/* The variables stay where they are while a file system is captured. */
void snap_foreign_in_place(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_FILESYSTEM) && snap_scene_open(t, &s) &&
		   snap_other(&s));
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate));
	SP_REQUIRE(snap_start(&s, &call) && sp_gate_await(&gate));
	SP_REQUIRE(sp_vars_arrive(t, &s.other, NULL, 0, &s.var, 1, SP_HERE,
				  "a command of another process during the capture"));
	SP_REQUIRE(sp_gate_open(&gate));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the snapshot"));
	check_archives(&s, &s.secret, "the snapshot");
}

void snap_runtime_foreign(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s));
	foreign_writer(&s);
}

void snap_runtime_foreign_declared(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;

	if (!sp_case_capabilities(t)->snapshot_lock) {
		sp_skip(t, "needs a lock in the sandbox: snapshot_lock is declared false");
		return;
	}
	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s));
	foreign_writer(&s);
}

/* Under the caller's lock: the other process has written before, and writes again after. */
void snap_runtime_foreign_locked(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_secret theirs, later;
	struct sp_env var;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s) &&
		   snap_other(&s));
	SP_REQUIRE(write_meanwhile(&s, &theirs, &var));
	SP_REQUIRE(snap_take(&s, "locked"));
	SP_REQUIRE(check_archives(&s, &s.secret, "the snapshot, for our secret"));
	SP_REQUIRE(check_archives(&s, &theirs, "the snapshot, for another process's secret"));
	SP_REQUIRE(sp_vars_arrive(t, &s.other, NULL, 0, &var, 1, SP_HERE, "the other's, put back"));
	SP_REQUIRE(write_meanwhile(&s, &later, &var));
	sp_vars_arrive(t, s.sandbox, NULL, 0, &var, 1, SP_HERE,
		       "a rotation after it, through our handle");
}

/* ---- Runtime kind: out, captured, back ---- */

void snap_runtime_commands_wait(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_call *exec SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s) &&
		   snap_other(&s));
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate));
	SP_REQUIRE(snap_start(&s, &call) && sp_gate_await(&gate));
	options.command = sp_vars_command(t, &s.var, 1);
	exec = sp_call_exec(t, s.sandbox, &options);
	/* It waits, or it runs with its environment: then that must not be captured. */
	SP_REQUIRE(exec && (sp_rounds_done(t, &s.other, exec) || sp_rounds(t, &s.other)));
	SP_REQUIRE(sp_gate_open(&gate));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the snapshot"));
	result = sp_call_join(exec);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "a command during the capture"));
	SP_REQUIRE(sp_vars_found(t, (char *)result->exec.stdout_bytes.data, &s.var, 1, SP_HERE,
				 "a command during the capture"));
	check_archives(&s, &s.secret, "the snapshot");
}

/* What this handle sets during the capture comes after it, and is what counts. */
void snap_runtime_sets_wait(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_call *set SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_env var = {SNAP_NAME, NULL};
	struct sp_call_result *result;
	struct sp_secret later;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s) &&
		   snap_other(&s));
	sp_secret_make(t, &later);
	var.value = later.value;
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate));
	SP_REQUIRE(snap_start(&s, &call) && sp_gate_await(&gate));
	set = sp_vars_set_call(t, s.sandbox, &var);
	SP_REQUIRE(set && (sp_rounds_done(t, &s.other, set) || sp_rounds(t, &s.other)));
	SP_REQUIRE(sp_gate_open(&gate));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the snapshot"));
	result = sp_call_join(set);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "env_set during the capture"));
	SP_REQUIRE(check_archives(&s, &s.secret, "the snapshot, for the secret before it"));
	SP_REQUIRE(check_archives(&s, &later, "the snapshot, for what was set meanwhile"));
	SP_REQUIRE(sp_vars_arrive(t, s.sandbox, NULL, 0, &var, 1, SP_HERE, "the next command"));
	sp_vars_arrive(t, &s.other, NULL, 0, &var, 1, SP_HERE, "another process's next command");
}

/* Its variables have been sent, and it has not begun to load them. */
void snap_runtime_starting(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_call *exec SP_CALL = NULL;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_env var = {"SP_CALL", NULL};
	struct sp_call_result *result;
	struct sp_secret secret;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s) &&
		   snap_other(&s));
	sp_secret_make(t, &secret);
	var.value = secret.value;
	options.command = sp_vars_command(t, &var, 1);
	options.env = &var;
	options.n_env = 1;
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_RUN, SP_BEFORE, &gate));
	exec = sp_call_exec(t, s.sandbox, &options);
	SP_REQUIRE(exec && sp_gate_await(&gate));
	/* It waits for the start, or it is taken: then without what was sent. */
	SP_REQUIRE(snap_start(&s, &call) &&
		   (sp_rounds_done(t, &s.other, call.call) || sp_rounds(t, &s.other)));
	SP_REQUIRE(sp_gate_open(&gate));
	result = sp_call_join(exec);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the command that was starting"));
	SP_REQUIRE(sp_vars_found(t, (char *)result->exec.stdout_bytes.data, &var, 1, SP_HERE,
				 "the command that was starting"));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err, "the snapshot"));
	sp_search_check_archives(t, &secret.canary, &s.decoy, false, SP_HERE,
				 "the snapshot, for a starting command's own secret");
}

void snap_runtime_written_back(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s) &&
		   snap_other(&s));
	SP_REQUIRE(snap_take(&s, "back"));
	sp_vars_arrive(t, &s.other, NULL, 0, &s.var, 1, SP_HERE,
		       "another process's command after the snapshot");
}

void snap_runtime_write_back_fails(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct snap_call call SNAP_CALL = SNAP_CALL_INIT;
	struct sp_gate gate SP_GATE = SP_GATE_INIT;
	struct sp_call_result *result;

	SP_REQUIRE(snap_is_kind(t, SP_SNAPSHOT_RUNTIME) && snap_scene_open(t, &s));
	SP_REQUIRE(sp_gate_shut(t, s.sandbox, SP_STEP_CAPTURE, SP_BEFORE, &gate));
	SP_REQUIRE(snap_start(&s, &call) && sp_gate_await(&gate));
	SP_REQUIRE(snap_fail(t, SP_STEP_UPLOAD, SP_FAIL_DISK_FULL, 0));
	SP_REQUIRE(sp_gate_open(&gate));
	result = snap_joined(&call);
	SP_REQUIRE(SP_CHECK_OK(t, result->rc, &result->err,
			       "the snapshot, although nothing can be put back"));
	SP_REQUIRE(SP_CHECK_INT(t, 1, (long long)s.n_refs, "references that the caller has"));
	sp_vars_arrive(t, s.sandbox, NULL, 0, &s.var, 1, SP_HERE, "the next command");
}
