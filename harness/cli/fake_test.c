/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <cli/fake.h>

#define PROGRAM SP_TEST_BIN_DIR "/sandproof"

static const struct {
	const char *line;
	/* NULL: accepted. */
	const char *says;
} lines[] = {
	{ "{\"base_url\":\"unix:/"
	  "a\",\"api_key\":\"k\",\"workspace_id\":\"w\",\"control_url\":\"unix:/"
	  "a\",\"control_token\":\"t\"}",
	  NULL },
	{ "{\"base_url\":\"unix:/"
	  "a\",\"api_key\":\"k\",\"workspace_id\":\"w\",\"control_url\":\"unix:/"
	  "a\"}",
	  "control_token" },
	{ "{\"base_url\":\"\"}", "base_url" },
	{ "{\"base_url\":7}", "base_url" },
	{ "{}", "base_url" },
	{ "[]", "base_url" },
	{ "no JSON", "" },
	{ "", "" },
};

Test(fake, the_line)
{
	for (size_t i = 0; i < SP_COUNT(lines); i++) {
		struct cli_fake fake = CLI_FAKE_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = cli_fake_read_line(lines[i].line, strlen(lines[i].line), &fake, &err);

		cr_expect_eq(rc, lines[i].says ? SP_PROTOCOL : 0, "%s: %s", lines[i].line,
			     sp_code_name(rc));
		cr_expect(!lines[i].says || strstr(err.message, lines[i].says), "%s: %s",
			  lines[i].line, err.message);
		cli_fake_stop(&fake);
	}
}

/* Only plain mode has its memory-backed directory elsewhere. */
Test(fake, plain_mode_says_where_memory_is)
{
#define LINE(mode)                                                                                 \
	"{\"base_url\":\"b\",\"api_key\":\"k\",\"workspace_id\":\"w\",\"control_url\":\"c\","      \
	"\"control_token\":\"t\",\"mode\":\"" mode "\",\"memory_dir\":\"/x/{id}/dev\"}"
	struct cli_fake plain = CLI_FAKE_INIT, namespaces = CLI_FAKE_INIT;

	cr_expect_eq(cli_fake_read_line(LINE("plain"), strlen(LINE("plain")), &plain, NULL), 0);
	cr_expect_str_eq(plain.memory_dir, "/x/{id}/dev");
	cr_expect_eq(cli_fake_read_line(LINE("namespaces"), strlen(LINE("namespaces")), &namespaces,
					NULL), 0);
	cr_expect_null(namespaces.memory_dir);
	cli_fake_stop(&plain);
	cli_fake_stop(&namespaces);
}

Test(fake, folder_for_a_socket)
{
	char *dir SP_FREE = NULL, deep[200];
	struct sp_error err = SP_ERROR_INIT;
	struct stat st;

	memset(deep, 'd', sizeof(deep));
	deep[0] = '/';
	deep[sizeof(deep) - 1] = '\0';
	cr_expect_eq(cli_fake_dir(deep, &dir, &err), 0, "%s", err.message);
	cr_expect_eq(strncmp(dir, "/tmp/sp-", 8), 0, "a place that is too deep gave %s", dir);
	cr_expect_eq(stat(dir, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0700, "mode %o", st.st_mode & 0777);
	sp_remove_tree(dir);
}

Test(fake, a_place_that_cannot_be_written_is_named)
{
	char *dir SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(cli_fake_dir("/proc", &dir, &err), SP_IO);
	cr_expect_not_null(strstr(err.message, "temporary folder in /proc"), "%s", err.message);
	cr_expect_null(dir);
}

Test(fake, a_place_without_room_is_named)
{
	struct sp_error err = SP_ERROR_INIT;

	/* /proc has not one block. */
	cr_expect_eq(sp_tmp_room("/proc", &err), SP_IO);
	cr_expect_not_null(strstr(err.message, "the temporary folder /proc is full"), "%s",
			   err.message);
	cr_expect_eq(sp_tmp_room("/nonexistent", &err), SP_IO);
	cr_expect_eq(sp_tmp_room(sp_tmp_root(), &err), 0, "%s", err.message);
}

Test(fake, starts_and_leaves_nothing)
{
	struct cli_fake fake = CLI_FAKE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = cli_fake_start(&fake, PROGRAM, &err);
	char *dir SP_FREE = fake.dir ? strdup(fake.dir) : NULL;
	bool there = fake.base_url && !strncmp(fake.base_url, "unix:", 5) &&
		     !access(fake.base_url + 5, F_OK);

	cli_fake_stop(&fake);
	cr_expect_eq(rc, 0, "%s", err.message);
	cr_expect(there, "it does not listen where it says");
	cr_expect_eq(fake.child.pid, -1);
	cr_expect(dir && access(dir, F_OK), "%s was left behind", dir);
}

/* What does not start says why, and nothing hangs. */
Test(fake, a_server_that_ends_at_once)
{
	struct cli_fake fake = CLI_FAKE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc = cli_fake_start(&fake, "/bin/false", &err);

	cr_expect_eq(rc, SP_UNAVAILABLE, "%s", sp_code_name(rc));
	cr_expect_not_null(strstr(err.message, "did not start"), "%s", err.message);
	cr_expect_null(fake.dir);
}

Test(fake, a_program_that_is_missing)
{
	struct cli_fake fake = CLI_FAKE_INIT;
	struct sp_error err = SP_ERROR_INIT;

	cr_expect_eq(cli_fake_start(&fake, "/nonexistent/program", &err), SP_IO);
	cr_expect_not_null(strstr(err.message, "/nonexistent/program"), "%s", err.message);
}

Test(fake, without_bash_the_reason_is_told)
{
	struct cli_fake fake = CLI_FAKE_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char *path SP_FREE = strdup(getenv("PATH"));
	int rc;

	setenv("PATH", "/nonexistent", 1);
	rc = cli_fake_start(&fake, PROGRAM, &err);
	setenv("PATH", path, 1);
	cli_fake_stop(&fake);
	/* A server that knows bash by its absolute path starts all the same. */
	cr_expect(!rc || strstr(err.message, "bash"), "%s", err.message);
}
