/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <sandproof/sandproof.h>

#include <base/cleanup.h>

/* ---- every wrapper, called on whatever reference the test prepares ---- */

static struct sp_provider provider;
static struct sp_sandbox sandbox;
static struct sp_process process;
static const struct sp_exec_options command = { .version = SP_EXEC_OPTIONS_VERSION,
						.command = "x" };
static const struct sp_create_options creation = SP_CREATE_OPTIONS_INIT;
static const struct sp_git_options git = SP_GIT_OPTIONS_INIT;

#define WRAPPERS(X)                                                                                \
	X(process_read, "process read",                                                            \
	  sp_process_read(&process, SP_STDOUT, NULL, 0, NULL, NULL, err))                          \
	X(process_write_stdin, "writable_stdin",                                                   \
	  sp_process_write_stdin(&process, NULL, 0, NULL, err))                                    \
	X(process_close_stdin, "writable_stdin", sp_process_close_stdin(&process, err))            \
	X(process_wait, "process wait", sp_process_wait(&process, NULL, NULL, err))                \
	X(process_kill, "killable_processes", sp_process_kill(&process, 15, NULL, err))            \
	X(process_signal, "signals", sp_process_signal(&process, 15, NULL, err))                   \
	X(sandbox_exec, "sandbox exec", sp_sandbox_exec(&sandbox, &command, NULL, err))            \
	X(sandbox_spawn, "background_processes", sp_sandbox_spawn(&sandbox, &command, NULL, err))  \
	X(sandbox_read, "fs_read", sp_sandbox_read(&sandbox, "", NULL, NULL, err))                 \
	X(sandbox_write, "fs_write", sp_sandbox_write(&sandbox, "", NULL, 0, NULL, err))           \
	X(sandbox_list, "fs_list", sp_sandbox_list(&sandbox, "", NULL, NULL, err))                 \
	X(sandbox_mkdir, "fs_mkdir", sp_sandbox_mkdir(&sandbox, "", NULL, err))                    \
	X(sandbox_remove, "fs_remove", sp_sandbox_remove(&sandbox, "", NULL, err))                 \
	X(sandbox_rename, "fs_rename", sp_sandbox_rename(&sandbox, "", "", NULL, err))             \
	X(sandbox_exists, "fs_exists", sp_sandbox_exists(&sandbox, "", NULL, NULL, err))           \
	X(sandbox_lstat, "fs_lstat", sp_sandbox_lstat(&sandbox, "", NULL, NULL, err))              \
	X(sandbox_env_set, "`env`", sp_sandbox_env_set(&sandbox, NULL, 0, NULL, err))              \
	X(sandbox_snapshot, "`snapshots`", sp_sandbox_snapshot(&sandbox, NULL, NULL, NULL, err))   \
	X(sandbox_fork, "`fork`", sp_sandbox_fork(&sandbox, NULL, NULL, err))                      \
	X(sandbox_port_connect, "`ports`", sp_sandbox_port_connect(&sandbox, 1, NULL, NULL, err))  \
	X(sandbox_git, "exec", sp_sandbox_git(&sandbox, &git, NULL, err))                          \
	X(sandbox_timeline, "timeline", sp_sandbox_timeline(&sandbox, NULL, NULL, err))            \
	X(sandbox_destroy, "sandbox destroy", sp_sandbox_destroy(&sandbox, NULL, err))             \
	X(provider_create, "provider create", sp_provider_create(&provider, &creation, NULL, err)) \
	X(provider_resume, "provider resume", sp_provider_resume(&provider, "", NULL, NULL, err))  \
	X(provider_restore, "`snapshots`",                                                         \
	  sp_provider_restore(&provider, "", &creation, NULL, err))                                \
	X(provider_destroy, "provider destroy", sp_provider_destroy(&provider, "", NULL, err))     \
	X(provider_snapshot_delete, "`snapshots`",                                                 \
	  sp_provider_snapshot_delete(&provider, "", NULL, err))                                   \
	X(provider_list, "keep the ids", sp_provider_list(&provider, NULL, NULL, err))

#define DEFINE(name, word, call)                                                                   \
	static int name(struct sp_error *err)                                                      \
	{                                                                                          \
		return call;                                                                       \
	}
WRAPPERS(DEFINE)

static const struct {
	const char *name;
	const char *word;
	int (*call)(struct sp_error *err);
} wrappers[] = {
#define ROW(name, word, call) { #name, word, name },
	WRAPPERS(ROW)
};

static void expect_all(int code, const char *word)
{
	for (size_t i = 0; i < SP_COUNT(wrappers); i++) {
		struct sp_error err = SP_ERROR_INIT;

		cr_expect_eq(wrappers[i].call(&err), code, "%s: %s", wrappers[i].name, err.message);
		cr_expect_eq(err.code, code);
		cr_expect(strstr(err.message, word ? word : wrappers[i].word), "%s: %s",
			  wrappers[i].name, err.message);
		/* The code alone is enough. */
		cr_expect_eq(wrappers[i].call(NULL), code);
	}
}

Test(contract, an_empty_reference_is_invalid)
{
	expect_all(SP_INVALID, "empty reference");
	cr_assert_str_eq(sp_sandbox_id(&sandbox), "");
	cr_assert_str_eq(sp_sandbox_workspace_root(&sandbox), "");
	cr_assert_str_eq(sp_provider_name(&provider), "?");
	cr_assert_eq(sp_provider_capabilities(&provider)->fs, false);
	sp_process_done(&process);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	sp_sandbox_done(NULL);
}

Test(contract, a_missing_entry_is_unsupported_and_says_what_to_do)
{
	static const struct sp_process_ops processes = { .version = SP_PROCESS_VERSION };
	static const struct sp_sandbox_ops sandboxes = { .version = SP_SANDBOX_VERSION };
	static const struct sp_provider_ops providers = { .version = SP_PROVIDER_VERSION };

	process.ops = &processes;
	sandbox.ops = &sandboxes;
	provider.ops = &providers;
	expect_all(SP_UNSUPPORTED, NULL);
	cr_assert_str_eq(sp_sandbox_id(&sandbox), "");
	cr_assert_not_null(sp_provider_capabilities(&provider));
	sp_process_done(&process);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	cr_assert(!process.ops && !sandbox.ops && !provider.ops);
}

static int closed;

static void count_close(void *self)
{
	(void)self;
	closed++;
}

Test(contract, another_version_is_refused_and_never_called)
{
	static const struct sp_process_ops processes = { .version = 99, .release = count_close };
	static const struct sp_sandbox_ops sandboxes = { .version = 99, .close = count_close };
	static const struct sp_provider_ops providers = { .version = 99, .close = count_close };

	process.ops = &processes;
	sandbox.ops = &sandboxes;
	provider.ops = &providers;
	expect_all(SP_UNSUPPORTED, "version 99");
	sp_process_done(&process);
	sp_sandbox_done(&sandbox);
	sp_provider_done(&provider);
	cr_assert_eq(closed, 0);
}

static int say_seven(void *self, const struct sp_exec_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	(void)err;
	ret_result->exit_code = 7;
	return self == &sandbox && !strcmp(options->command, "x") ? 0 : SP_INTERNAL;
}

Test(contract, an_entry_is_called_with_its_self)
{
	static const struct sp_sandbox_ops sandboxes = { .version = SP_SANDBOX_VERSION,
							 .exec = say_seven,
							 .close = count_close };
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;

	sandbox = (struct sp_sandbox){ &sandboxes, &sandbox };
	cr_assert_eq(sp_sandbox_exec(&sandbox, &command, &result, NULL), 0);
	cr_assert_eq(result.exit_code, 7);
	sp_sandbox_done(&sandbox);
	sp_sandbox_done(&sandbox);
	cr_assert_eq(closed, 1);
	cr_assert_null(sandbox.ops);
}

static const char *say_name(void *self)
{
	return self;
}

static const struct sp_capabilities *say_capabilities(void *self)
{
	static const struct sp_capabilities capabilities = { .version = 1, .fs = true };

	(void)self;
	return &capabilities;
}

Test(contract, texts_and_declaration_come_from_the_table)
{
	static const struct sp_sandbox_ops sandboxes = { .version = SP_SANDBOX_VERSION,
							 .id = say_name,
							 .workspace_root = say_name };
	static const struct sp_provider_ops providers = { .version = SP_PROVIDER_VERSION,
							  .name = say_name,
							  .capabilities = say_capabilities };

	sandbox = (struct sp_sandbox){ &sandboxes, "/w" };
	provider = (struct sp_provider){ &providers, "p" };
	cr_assert_str_eq(sp_sandbox_id(&sandbox), "/w");
	cr_assert_str_eq(sp_sandbox_workspace_root(&sandbox), "/w");
	cr_assert_str_eq(sp_provider_name(&provider), "p");
	cr_assert(sp_provider_capabilities(&provider)->fs);
}

Test(contract, options_are_looked_at_first)
{
	static const struct sp_exec_options old = { .version = 0, .command = "x" };
	static const struct sp_exec_options empty = SP_EXEC_OPTIONS_INIT;
	static const struct sp_sandbox_ops sandboxes = { .version = SP_SANDBOX_VERSION,
							 .exec = say_seven };
	struct sp_error err = SP_ERROR_INIT;

	sandbox = (struct sp_sandbox){ &sandboxes, &sandbox };
	cr_assert_eq(sp_sandbox_exec(&sandbox, NULL, NULL, &err), SP_INVALID);
	cr_assert_eq(sp_sandbox_exec(&sandbox, &old, NULL, &err), SP_INVALID);
	cr_assert(strstr(err.message, "_INIT"), "%s", err.message);
	cr_assert_eq(sp_sandbox_spawn(&sandbox, &empty, NULL, &err), SP_INVALID);
	cr_assert(strstr(err.message, "command"), "%s", err.message);
	cr_assert_eq(sp_provider_create(&provider, NULL, NULL, &err), SP_INVALID);
	cr_assert_eq(sp_sandbox_git(&sandbox, NULL, NULL, &err), SP_INVALID);
}

Test(contract, a_subject_closes_each_table_once)
{
	static const struct sp_provider_ops p = { .version = SP_PROVIDER_VERSION,
						  .close = count_close };
	static const struct sp_store_ops s = { .version = SP_STORE_VERSION, .close = count_close };
	static const struct sp_lock_ops l = { .version = SP_LOCK_VERSION, .close = count_close };
	static const struct sp_journal_ops j = { .version = SP_JOURNAL_VERSION,
						 .close = count_close };
	static const struct sp_ensure_ops e = { .version = SP_ENSURE_VERSION,
						.close = count_close };
	static const struct sp_control_ops c = { .version = SP_CONTROL_VERSION,
						 .close = count_close };
	struct sp_subject subject = SP_SUBJECT_INIT;

	subject.provider.ops = &p;
	subject.store.ops = &s;
	subject.lock.ops = &l;
	subject.journal.ops = &j;
	subject.ensure.ops = &e;
	subject.control.ops = &c;
	sp_subject_done(&subject);
	cr_assert_eq(closed, 6);
	sp_subject_done(&subject);
	sp_subject_done(NULL);
	cr_assert_eq(closed, 6);
	cr_assert_eq(subject.version, SP_SUBJECT_VERSION);
}

Test(contract, names_of_kinds_and_steps)
{
	static const char *const kinds[] = { "provider", "store", "lock", "journal", "ensure",
					     "platform" };

	for (int kind = 0; kind < SP_SUBJECT_KIND_MAX_; kind++)
		cr_assert_str_eq(sp_subject_kind_name((enum sp_subject_kind)kind), kinds[kind]);
	cr_assert_str_eq(sp_subject_kind_name((enum sp_subject_kind)99), "unknown");
	for (int step = 0; step < SP_STEP_MAX_; step++)
		cr_assert_eq(sp_control_step_from_name(
				     sp_control_step_name((enum sp_control_step)step)),
			     step);
	cr_assert_str_eq(sp_control_step_name(SP_STEP_SNAPSHOT_DELETE), "snapshot_delete");
	cr_assert_null(sp_control_step_name(SP_STEP_MAX_));
	cr_assert_null(sp_control_step_name((enum sp_control_step) - 1));
	cr_assert_eq(sp_control_step_from_name("nothing"), -1);
	cr_assert_eq(sp_control_step_from_name("CREATE"), -1);
}

/*
 * Each owned value filled, freed and freed again: a sanitizer sees what
 * is forgotten or freed twice.
 */
Test(contract, owned_values_are_freed_whole)
{
	struct sp_exec_result exec = { { (unsigned char *)strdup("o"), 1 },
				       { (unsigned char *)strdup("e"), 1 }, 1, true, true };
	struct sp_dir_list dir = { calloc(1, sizeof(*dir.entries)), 1 };
	struct sp_snapshot_ref ref = { strdup("i"), strdup("l") };
	struct sp_port port = { strdup("u"), strdup("t") };
	struct sp_id_list ids = { calloc(1, sizeof(char *)), 1 };
	struct sp_journal_list journal = { calloc(1, sizeof(*journal.entries)), 1, true };
	struct sp_record record = { strdup("k"), strdup("p"), strdup("i"), NULL, strdup("t"),
				    strdup("r"), 5 };
	struct sp_control_requests requests = { calloc(1, sizeof(*requests.items)), 1 };
	struct sp_census census = { .sandboxes = calloc(1, sizeof(*census.sandboxes)),
				    .n_sandboxes = 1,
				    .snapshots = calloc(1, sizeof(*census.snapshots)),
				    .n_snapshots = 1,
				    .cannot_hold = calloc(1, sizeof(char *)),
				    .n_cannot_hold = 1 };

	dir.entries[0].name = strdup("n");
	dir.entries[0].path = strdup("p");
	ids.ids[0] = strdup("i");
	journal.entries[0].file = strdup("f");
	requests.items[0] = (struct sp_control_request){
		strdup("GET"), strdup("/"), strdup("h"), { (unsigned char *)strdup("b"), 1 }, false
	};
	census.sandboxes[0].id = strdup("i");
	census.sandboxes[0].state = strdup("s");
	census.snapshots[0] = (struct sp_census_snapshot){ strdup("i"), strdup("s"), NULL,
							   strdup("k"), strdup("c") };
	census.cannot_hold[0] = strdup("c");
	for (int again = 0; again < 2; again++) {
		sp_exec_result_done(&exec);
		sp_dir_list_done(&dir);
		sp_snapshot_ref_done(&ref);
		sp_port_done(&port);
		sp_id_list_done(&ids);
		sp_journal_list_done(&journal);
		sp_record_done(&record);
		sp_control_requests_done(&requests);
		sp_census_done(&census);
	}
	cr_assert(!exec.stdout_bytes.data && !dir.entries && !dir.len && !ref.id && !port.token &&
		  !ids.ids && !journal.entries && !record.key && !record.updated_at &&
		  !requests.items && !census.sandboxes && !census.snapshots &&
		  !census.n_cannot_hold);
}
