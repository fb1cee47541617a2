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

/* Breaks what `text` holds into lines of `width`. */
static void add_lines(struct sp_buf *out, const struct sp_buf *text, size_t width)
{
	for (size_t i = 0; i < text->len; i++) {
		sp_buf_addc(out, text->data[i]);
		if (i % width == width - 1)
			sp_buf_addc(out, '\n');
	}
}

/* The canary behind `lead` bytes, as a tool would spell it. */
struct form {
	const char *name;
	void (*write)(struct sp_buf *out, const char *text, size_t len);
	/* All bytes of the canary may be cut by lines at any place. */
	bool broken;
};

static void form_plain(struct sp_buf *out, const char *text, size_t len)
{
	sp_buf_add(out, text, len);
}

static void form_base64(struct sp_buf *out, const char *text, size_t len)
{
	sp_buf_add_base64(out, text, len);
}

static void form_base64_lines(struct sp_buf *out, const char *text, size_t len)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_add_base64(&whole, text, len);
	add_lines(out, &whole, 76);
}

static void form_hex(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sp_buf_addf(out, "%02x", (unsigned char)text[i]);
}

static void form_hex_upper(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sp_buf_addf(out, "%02X:", (unsigned char)text[i]);
}

/* xxd -p */
static void form_hex_lines(struct sp_buf *out, const char *text, size_t len)
{
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	form_hex(&whole, text, len);
	add_lines(out, &whole, 60);
}

/* od -t x1, xxd */
static void form_dump(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (i % 16 == 0)
			sp_buf_addf(out, "\n%07zo", i);
		sp_buf_addf(out, " %02x", (unsigned char)text[i]);
	}
}

static void form_url(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sp_buf_addf(out, "%%%02X", (unsigned char)text[i]);
}

static void form_json(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sp_buf_addf(out, "\\u%04x", (unsigned char)text[i]);
}

static const struct form forms[] = {
    {"plain", form_plain, false},
    {"base64", form_base64, false},
    {"base64 in lines", form_base64_lines, true},
    {"hex", form_hex, false},
    {"HEX with colons", form_hex_upper, false},
    {"hex in lines", form_hex_lines, true},
    {"a dump", form_dump, true},
    {"URL, all escaped", form_url, false},
    {"JSON, all escaped", form_json, false},
};

static void check_form(struct sp_case *t, const char *dir, const struct form *form,
		       const struct sp_canary *canary, size_t lead)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf whole SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *path = sp_case_format(t, "%s/form", dir), *found;
	struct sp_error err = SP_ERROR_INIT;

	for (size_t i = 0; i < lead; i++)
		sp_buf_addc(&whole, '-');
	sp_buf_addf(&whole, "%s and more", canary->text);
	sp_buf_adds(&text, "some text, ");
	form->write(&text, whole.data, whole.len);
	sp_buf_add(&text, "\0\xff binary", 9);
	cr_assert_eq(sp_write_file(path, text.data, text.len, 0600, &err), 0, "%s", err.message);
	found = sp_search_files(t, &t->sandbox, canary);
	cr_expect(found && !strcmp(found, path), "%s behind %zu bytes: \"%s\" expected, got \"%s\"",
		  form->name, lead, path, found ? found : recorded(t));
	unlink(path);
}

Test(search, files_in_every_form)
{
	struct sp_case *t CASE = case_new();
	char *dir SP_FREE = workspace(t);
	struct sp_canary canary;

	sp_canary_make(t, &canary);
	SAYS_YES(t, !strcmp(sp_search_files(t, &t->sandbox, &canary), ""));
	/* Wherever a line ends in it. */
	for (size_t i = 0; i < SP_COUNT(forms); i++)
		for (size_t lead = 0; lead < (forms[i].broken ? 32 : 3); lead++)
			check_form(t, dir, &forms[i], &canary, lead);
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
