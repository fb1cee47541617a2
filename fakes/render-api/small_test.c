/* SPDX-License-Identifier: MIT */
/* Tests of what needs no server. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <fakes/render-api/faults.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/listen.h>
#include <fakes/render-api/path.h>
#include <fakes/render-api/record.h>

Test(path, clean)
{
	static const struct {
		const char *path;
		bool clean;
	} rows[] = {
	    {"/", true},	{".", true},	    {"a", true},       {"/a/b", true},
	    {"a b/ü", true},	{"..a/b", true},    {"/a/...", true},  {"../a", true},
	    {"..", true},	{"../../a", true},  {"", false},       {"a/", false},
	    {"/a//b", false},	{"./a", false},	    {"/./a", false},   {"/a/.", false},
	    {"/..", false},	{"a/..", false},    {"a/../b", false}, {"//", false},
	    {"/a/../b", false}, {"../a/..", false},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++)
		cr_expect(path_is_clean(rows[i].path) == rows[i].clean,
			  "`%s`: clean is %d expected, got %d", rows[i].path, rows[i].clean,
			  !rows[i].clean);
}

Test(faults, names)
{
	static const char *const good[] = {"slow-boot", "token-reuse"};
	static const char *const bad[] = {"slow-boot", "suspended-at-capcity"};
	struct sp_error err = SP_ERROR_INIT;
	api_faults faults = 0;

	cr_assert(api_faults_parse(good, 2, &faults, &err) == 0);
	cr_expect(api_fault_on(faults, API_FAULT_SLOW_BOOT));
	cr_expect(api_fault_on(faults, API_FAULT_TOKEN_REUSE));
	cr_expect(!api_fault_on(faults, API_FAULT_EDGE_403));
	cr_expect(api_faults_parse(bad, 2, &faults, &err) == SP_INVALID);
	cr_expect(strstr(err.message, "suspended-at-capcity`; the nearest: suspended-at-capacity"),
		  "the name and the nearest expected, got: %s", err.message);
	cr_expect(api_fault_on(faults, API_FAULT_TOKEN_REUSE), "the output was touched");
}

Test(listen, addresses)
{
	static const struct {
		const char *address;
		const char *origin;
	} rows[] = {
	    {NULL, "http://127.0.0.1:"},
	    {"127.0.0.1:0", "http://127.0.0.1:"},
	    {"localhost:0", "http://127.0.0.1:"},
	    {"127.1.2.3:0", "http://127.1.2.3:"},
	    {"0.0.0.0:0", NULL},
	    {"192.0.2.1:80", NULL},
	    {"example.com:80", NULL},
	    {"127.0.0.1", NULL},
	    {"127.0.0.1:", NULL},
	    {"127.0.0.1:x", NULL},
	    {"127.0.0.1:70000", NULL},
	    {":0", NULL},
	    {"[::2]:0", NULL},
	    {"[::1:0", NULL},
	    {"", NULL},
	    {"unix:", NULL},
	    {"127.0.0.1.example.com:80", NULL},
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct api_listener listener = API_LISTENER_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = api_listen(rows[i].address, &listener, &err);

		cr_expect(rc == (rows[i].origin ? 0 : SP_INVALID), "%s: got %s (%s)",
			  rows[i].address, sp_code_name(rc), err.message);
		if (!rc && rows[i].origin)
			cr_expect(!strncmp(listener.origin, rows[i].origin, strlen(rows[i].origin)),
				  "%s: origin %s expected, got %s", rows[i].address, rows[i].origin,
				  listener.origin);
		api_listener_done(&listener);
	}
}

Test(listen, unix_paths)
{
	char *dir SP_FREE = NULL;
	struct api_listener listener = API_LISTENER_INIT;
	struct api_listener second = API_LISTENER_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct stat st;
	char address[300];
	int first, again, busy, missing;

	cr_assert(!sp_tmp_dir("listen-", &dir, &err));
	snprintf(address, sizeof(address), "unix:%s/s", dir);
	first = api_listen(address, &listener, &err);
	cr_expect(!first && !stat(address + 5, &st) && (st.st_mode & 07777) == 0600,
		  "a socket for its owner only expected");
	busy = api_listen(address, &second, &err);
	cr_expect(busy == SP_IO && err.sys_errno == EADDRINUSE, "a live socket must stay: %s",
		  err.message);
	/* As a server does that was killed: its descriptor closes and the file stays. */
	listener.fd = sp_close(listener.fd);
	again = api_listen(address, &second, &err);
	cr_expect(!again, "a dead socket must be replaced: %s", err.message);
	free(SP_TAKE(listener.unix_path));
	api_listener_done(&second);
	cr_expect(stat(address + 5, &st) && errno == ENOENT, "the socket was left behind");
	snprintf(address, sizeof(address), "unix:%s/no/s", dir);
	missing = api_listen(address, &listener, &err);
	cr_expect(missing == SP_IO, "a missing folder: got %s", sp_code_name(missing));
	snprintf(address, sizeof(address), "unix:%s/%0120d", dir, 0);
	cr_expect(api_listen(address, &listener, &err) == SP_INVALID);
	cr_expect(strstr(err.message, "107"), "the limit must be named: %s", err.message);
	sp_remove_tree(dir);
}

Test(json_out, commas)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(1024);
	static const char expected[] =
	    "{\"a\":\"x\\n\",\"b\":[1,{\"c\":null},true],\"t\":\"1970-01-01T00:00:00Z\"}";

	json_open(&buf, NULL, '{');
	json_str(&buf, "a", "x\n");
	json_open(&buf, "b", '[');
	json_int(&buf, NULL, 1);
	json_open(&buf, NULL, '{');
	json_str(&buf, "c", NULL);
	json_close(&buf, '}');
	json_bool(&buf, NULL, true);
	json_close(&buf, ']');
	json_time(&buf, "t", 0);
	json_close(&buf, '}');
	cr_expect_str_eq(sp_buf_str(&buf), expected);
}

Test(record, a_full_log_counts_what_it_lost)
{
	struct request_log log = REQUEST_LOG_INIT;
	struct record record = {.method = "PUT", .target = "/x", .headers = "", .body_len = 0};
	char *dir SP_FREE = NULL;
	struct sp_error err = SP_ERROR_INIT;
	uint64_t len;

	cr_assert(!sp_tmp_dir("record-", &dir, &err));
	record_add(&log, dir, &record);
	len = log.len;
	cr_expect(log.fd >= 0 && len > 0 && !log.lost);
	log.len = RECORD_LOG;
	record_add(&log, dir, &record);
	cr_expect(log.lost == 1, "1 lost expected, got %llu", (unsigned long long)log.lost);
	log.len = len;
	record_clear(&log);
	cr_expect(log.fd == -1 && !log.len && !log.lost);
	cr_expect(rmdir(dir) == 0, "the log left a file behind");
}
