/* SPDX-License-Identifier: MIT */
/* Both answers of each search. */
#include <criterion/criterion.h>

#include <base/files.h>
#include <witness/search.h>

#include "testing.h"

/* A folder for the stub's workspace and home, so that the search looks nowhere else. */
static char *workspace(struct sp_case *t)
{
	struct sp_error err = SP_ERROR_INIT;
	char *dir = NULL;

	cr_assert_eq(sp_tmp_dir("search-test-", &dir, &err), 0, "%s", err.message);
	setenv("HOME", dir, 1);
	t->root = dir;
	return dir;
}

static void write_form(struct sp_buf *buf, unsigned form, const struct sp_canary *canary)
{
	const char *before = &"---"[3 - form % 3];

	sp_buf_adds(buf, "some text, ");
	if (form < 3) {
		struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		sp_buf_addf(&whole, "%s%s and more", before, canary->text);
		sp_buf_add_base64(buf, whole.data, whole.len);
	} else if (form < 5) {
		for (const char *c = canary->text; *c; c++)
			sp_buf_addf(buf, form == 3 ? "%02x" : "%02X", (unsigned char)*c);
	} else {
		sp_buf_adds(buf, canary->text);
	}
	sp_buf_add(buf, "\0\xff binary", 9);
}

Test(search, files_in_every_form)
{
	struct sp_case *t CASE = case_new();
	char *dir SP_FREE = workspace(t);
	struct sp_canary canary;
	struct sp_error err = SP_ERROR_INIT;

	sp_canary_make(t, &canary);
	SAYS_YES(t, !strcmp(sp_search_files(t, &t->sandbox, &canary), ""));
	for (unsigned form = 0; form < 6; form++) {
		struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		const char *path = sp_case_format(t, "%s/form%u", dir, form);
		const char *found;

		write_form(&text, form, &canary);
		cr_assert_eq(sp_write_file(path, text.data, text.len, 0600, &err), 0, "%s",
			     err.message);
		found = sp_search_files(t, &t->sandbox, &canary);
		cr_expect(found && !strcmp(found, path), "form %u: \"%s\" expected, got \"%s\"",
			  form, path, found ? found : recorded(t));
		unlink(path);
	}
	t->gone = true;
	SAYS_NO(t, sp_search_files(t, &t->sandbox, &canary), "exec of a plain command");
	sp_remove_tree(dir);
}

Test(search, processes_inside_and_outside)
{
	struct sp_case *t CASE = case_new();
	struct sp_spawned environ_child = SP_SPAWNED_INIT, argv_child = SP_SPAWNED_INIT;
	struct sp_canary in_environ, in_argv;
	char pid[32] = "", text[64];
	const char *found;
	size_t n = 0;

	sp_canary_make(t, &in_environ);
	sp_canary_make(t, &in_argv);
	setenv("SEARCH_TEST", in_environ.text, 1);
	cr_expect(sp_spawn(t, &t->sandbox, &environ_child, "echo $$; exec sleep 1000"));
	unsetenv("SEARCH_TEST");
	cr_expect(!sp_process_read(&environ_child.process, SP_STDOUT, pid, sizeof(pid) - 1, &n,
				   t->cancel, NULL));
	pid[strcspn(pid, "\n")] = '\0';
	found = sp_search_processes(t, &t->sandbox, &in_environ);
	snprintf(text, sizeof(text), "environ %s", pid);
	cr_expect(found && strstr(found, text), "%s expected, got %s", text,
		  found ? found : recorded(t));
	cr_expect(found && !strstr(found, "cmdline"), "%s", found);
	SAYS_NO(t, sp_search_check_host(t, &in_environ, true, SP_HERE), "environment");
	SAYS_YES(t, sp_search_check_host(t, &in_environ, false, SP_HERE));
	SAYS_YES(t, sp_search_check_host(t, &in_argv, true, SP_HERE));
	cr_expect(sp_spawn(t, &t->sandbox, &argv_child, "echo on; sleep 1000; : %s", in_argv.text));
	cr_expect(!sp_process_read(&argv_child.process, SP_STDOUT, pid, 3, &n, t->cancel, NULL));
	found = sp_search_processes(t, &t->sandbox, &in_argv);
	cr_expect(found && strstr(found, "cmdline "), "a command line expected, got %s",
		  found ? found : recorded(t));
	SAYS_NO(t, sp_search_check_host(t, &in_argv, false, SP_HERE), "command line");
	sp_spawned_done(&environ_child);
	sp_spawned_done(&argv_child);
}

Test(search, requests)
{
	struct sp_case *t CASE = case_new();
	char target[128];
	const char *const plain[][2] = {{"GET", "/v1/sandboxes"}};
	const char *const telling[][2] = {{"GET", target}};
	struct sp_canary canary;

	sp_canary_make(t, &canary);
	SAYS_NO(t, sp_search_check_requests(t, &canary, SP_HERE), "no request");
	t->back.requests = plain;
	t->back.n_requests = 1;
	SAYS_YES(t, sp_search_check_requests(t, &canary, SP_HERE));
	snprintf(target, sizeof(target), "/v1/sandboxes?token=%s", canary.text);
	t->back.requests = telling;
	SAYS_NO(t, sp_search_check_requests(t, &canary, SP_HERE), "target");
}

Test(search, errors_and_timeline)
{
	struct sp_case *t CASE = case_new();
	struct sp_canary canary;
	struct sp_error err = SP_ERROR_INIT;
	bool unsupported = false;

	sp_canary_make(t, &canary);
	sp_error_set(&err, SP_INVALID, "cannot take it");
	SAYS_YES(t, sp_search_check_error(t, &canary, &err, SP_HERE, "x"));
	sp_error_set_detail(&err, sp_case_format(t, "because of %s", canary.text));
	SAYS_NO(t, sp_search_check_error(t, &canary, &err, SP_HERE, "x"), "detail");
	sp_error_set(&err, SP_INVALID, "cannot take %s", canary.text);
	SAYS_NO(t, sp_search_check_error(t, &canary, &err, SP_HERE, "x"), "message");
	SAYS_YES(t, sp_search_check_timeline(t, &t->sandbox, &canary, &unsupported, SP_HERE));
	cr_expect(unsupported);
}
