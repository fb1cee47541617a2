/* SPDX-License-Identifier: MIT */
/* Archives that a client sends, listings, and a disk that becomes full. */
#include <fakes/render-api/testing.h>

#include <archive.h>
#include <archive_entry.h>

/* One entry of an archive to be sent. */
struct item {
	const char *name;
	mode_t mode;
	/* Content of a file, target of a link. */
	const char *text;
	bool hard;
};

static la_ssize_t into(struct archive *archive SP_UNUSED, void *arg, const void *data, size_t len)
{
	return sp_buf_add(arg, data, len) ? -1 : (la_ssize_t)len;
}

static void add_item(struct archive *archive, const struct item *item)
{
	struct archive_entry *entry = archive_entry_new();
	size_t len = S_ISREG(item->mode) && !item->hard ? strlen(item->text) : 0;

	archive_entry_set_pathname(entry, item->name);
	archive_entry_set_mode(entry, item->mode);
	archive_entry_set_size(entry, (int64_t)len);
	if (item->hard)
		archive_entry_set_hardlink(entry, item->text);
	else if (S_ISLNK(item->mode))
		archive_entry_set_symlink(entry, item->text);
	archive_write_header(archive, entry);
	archive_write_data(archive, item->text, len);
	archive_entry_free(entry);
}

/* Sends an archive to a path. */
static struct reply send_archive(struct server *server, const char *id, const char *path, bool gzip,
				 const struct item *items, size_t n)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(TEST_BODY);
	struct archive *archive = archive_write_new();
	struct curl_slist *headers;
	struct reply reply = { .status = 0 };
	char query[256];

	if (gzip)
		archive_write_add_filter_gzip(archive);
	archive_write_set_format_pax_restricted(archive);
	archive_write_open(archive, &body, NULL, into, NULL);
	for (size_t i = 0; i < n; i++)
		add_item(archive, &items[i]);
	archive_write_free(archive);
	snprintf(query, sizeof(query), "?path=%s", path);
	struct mint token = mint(server, id, "files/upload", query);
	CURL *easy = test_easy(server,
			       &(struct ask){ "PUT", token.uri, token.token, body.data, body.len,
					      "Content-Type: application/x-tar" },
			       &reply, &headers);

	if (gzip)
		headers = curl_slist_append(headers, "Content-Encoding: gzip");
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	reply.code = curl_easy_perform(easy);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
	curl_easy_cleanup(easy);
	curl_slist_free_all(headers);
	return reply;
}

/* With its modes and links, below the folder that was named, new files over old ones. */
Test(archive, is_extracted)
{
	static const struct item items[] = {
		{ "./", S_IFDIR | 0755, "", false },
		{ "./a/", S_IFDIR | 0710, "", false },
		{ "a/file", S_IFREG | 0640, "new", false },
		{ "a/again", S_IFREG | 0640, "a/file", true },
		{ "a/link", S_IFLNK | 0777, "../../nowhere", false },
		{ "b/c/deep", S_IFREG | 04755, "no folder before it", false },
		{ "queue", S_IFIFO | 0644, "", false },
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id,
				      "mkdir -p t/a; echo older >t/a/file; echo kept >t/kept; "
				      "ln -s / t/a/link; echo made");

	cr_expect_str_eq(made, "made\n");
	for (int gzip = 0; gzip < 2; gzip++) {
		const char *path = gzip ? "fresh" : "t";
		struct reply put SP_CLEANUP(reply_done) =
			send_archive(&server, id, path, gzip, items, SP_COUNT(items));
		char command[512];

		cr_expect(put.status == 204, "%s: %ld %s", path, put.status, sp_buf_str(&put.body));
		snprintf(command, sizeof(command),
			 "cd %s && stat -c '%%a %%h %%n' a a/file b/c/deep && cat a/again && "
			 "readlink a/link && "
			 "ls -A && stat -c %%U a/file | sed s/$USER/me/",
			 path);
		char *said SP_FREE = run_sync(&server, id, command);

		cr_expect(strstr(said, "710 2 a\n640 2 a/file\n4755 1 b/c/deep\nnew") == said,
			  "%s: %s", path, said);
		cr_expect(strstr(said, "../../nowhere\na\nb\n"), "%s: %s", path, said);
		cr_expect(!strstr(said, "queue"), "%s: %s", path, said);
	}
	server_stop(&server);
}

/* What would leave the folder is refused, and nothing outside is touched. */
Test(archive, hostile)
{
	static const struct {
		const char *what;
		struct item items[2];
		size_t n;
	} rows[] = {
		{ "up", { { "../victim", S_IFREG | 0644, "evil", false } }, 1 },
		{ "up inside", { { "a/../../victim", S_IFREG | 0644, "evil", false } }, 1 },
		{ "absolute", { { "/victim", S_IFREG | 0644, "evil", false } }, 1 },
		{ "through its own link",
		  { { "out", S_IFLNK | 0777, "..", false },
		    { "out/victim", S_IFREG | 0644, "evil", false } },
		  2 },
		{ "through a link that was there",
		  { { "there/victim", S_IFREG | 0644, "evil", false } },
		  1 },
		{ "another name for it", { { "x", S_IFREG | 0644, "../victim", true } }, 1 },
		{ "another name for nothing", { { "x", S_IFREG | 0644, "nothing", true } }, 1 },
		{ "another name by a link", { { "x", S_IFREG | 0644, "there/victim", true } }, 1 },
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		char *made SP_FREE = run_sync(&server, id,
					      "rm -rf t; mkdir -p t/a; ln -s .. t/there; "
					      "echo innocent >victim; echo made");
		struct reply put SP_CLEANUP(reply_done) =
			send_archive(&server, id, "t", false, rows[i].items, rows[i].n);
		char *said SP_FREE = run_sync(&server, id, "cat victim; stat -c %h victim; ls -A");

		cr_expect_str_eq(made, "made\n");
		cr_expect(put.status == 400 && has(&put, "invalid_archive"), "%s: %ld %s",
			  rows[i].what, put.status, sp_buf_str(&put.body));
		cr_expect(!strcmp(said, "innocent\n1\nt\nvictim\n"), "%s: %s", rows[i].what, said);
	}
	server_stop(&server);
}

/* Where it cannot go it says so. */
Test(archive, errors)
{
	static const struct item items[] = { { "file", S_IFREG | 0644, "x", false } };
	static const struct {
		const char *path;
		long status;
		const char *code;
	} rows[] = {
		{ "no/such/folder", 404, "file_not_found" },
		{ "plain-file", 404, "file_not_found" },
		{ "taken", 409, "path_is_a_directory" },
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE =
		run_sync(&server, id, "echo x >plain-file; mkdir -p taken/file; echo made");

	cr_expect_str_eq(made, "made\n");
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct reply put SP_CLEANUP(reply_done) =
			send_archive(&server, id, rows[i].path, true, items, 1);

		cr_expect(put.status == rows[i].status && has(&put, rows[i].code), "%s: %ld %s",
			  rows[i].path, put.status, sp_buf_str(&put.body));
	}
	server_stop(&server);
}

/* A disk that becomes full in the middle: 507, and what was there is as it was. */
Test(archive, disk_full)
{
	static const struct item items[] = { { "file", S_IFREG | 0644, "new", false } };
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *made SP_FREE = run_sync(&server, id, "echo old >file; echo made");

	cr_expect_str_eq(made, "made\n");
	control_fail(&server, "upload", 1, "disk_full", 0);
	struct mint token = mint(&server, id, "files/upload", "?path=file");
	struct reply one SP_CLEANUP(reply_done) = server_ask(
		&server, &(struct ask){ "PUT", token.uri, token.token, "new content", 11, NULL });

	control_fail(&server, "upload", 1, "disk_full", 0);
	struct reply tar SP_CLEANUP(reply_done) = send_archive(&server, id, ".", false, items, 1);
	char *said SP_FREE = run_sync(&server, id, "cat file; ls -A");

	cr_expect(one.status == 507 && has(&one, "insufficient_storage"), "%ld %s", one.status,
		  sp_buf_str(&one.body));
	cr_expect(tar.status == 507 && has(&tar, "insufficient_storage"), "%ld %s", tar.status,
		  sp_buf_str(&tar.body));
	cr_expect_str_eq(said, "old\nfile\n");
	struct reply again SP_CLEANUP(reply_done) = send_archive(&server, id, ".", false, items, 1);

	cr_expect(again.status == 204, "%ld", again.status);
	server_stop(&server);
}

static struct reply list_files(struct server *server, const char *id, const char *home,
			       const char *tail)
{
	struct sp_buf target SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&target, "/v1/sandboxes/%s/files/list?path=", id);
	sp_buf_add_url(&target, home);
	sp_buf_adds(&target, tail);
	return ask_api(server, "GET", sp_buf_str(&target), NULL);
}

/* Names, types, sizes, targets; the entry itself; what is missing; only of one that runs. */
Test(listing, of_a_folder)
{
	static const char *const expected[] = {
		"{\"name\":\"file\",\"type\":\"file\",\"size\":4,\"modifiedAt\":\"2001-02-03T04:05:"
		"06Z\"}",
		"{\"name\":\"folder\",\"type\":\"directory\",\"size\":0,",
		"{\"name\":\"link\",\"type\":\"symlink\",\"size\":0,",
		"\"target\":\"to/nowhere\"}",
	};
	struct server server = server_start('C', NULL);
	char *id SP_FREE = make_sandbox(&server);
	char *home SP_FREE =
		run_sync(&server, id,
			 "printf text >file; TZ=UTC touch -d '2001-02-03 04:05:06' file; "
			 "mkdir folder; ln -s to/nowhere link; pwd");
	char body[128];

	home[strcspn(home, "\n")] = '\0';
	struct reply list SP_CLEANUP(reply_done) = list_files(&server, id, home, "");
	struct reply entry SP_CLEANUP(reply_done) =
		list_files(&server, id, home, "%2Ffile&depth=0");
	struct reply missing SP_CLEANUP(reply_done) = list_files(&server, id, home, "%2Fnone");
	struct reply gone SP_CLEANUP(reply_done) = list_files(&server, id, home, "%2Fnone&depth=0");

	cr_expect(list.status == 200, "%ld %s", list.status, sp_buf_str(&list.body));
	for (size_t i = 0; i < SP_COUNT(expected); i++)
		cr_expect(has(&list, expected[i]), "`%s` expected in %s", expected[i],
			  sp_buf_str(&list.body));
	cr_expect(entry.status == 200 && has(&entry, expected[0]) && !has(&entry, "folder"),
		  "%ld %s", entry.status, sp_buf_str(&entry.body));
	cr_expect(missing.status == 404 && has(&missing, "file_not_found"), "%ld", missing.status);
	cr_expect(gone.status == 404 && has(&gone, "file_not_found"), "%ld", gone.status);
	snprintf(body, sizeof(body), "{\"sandbox_id\":\"%s\",\"state\":\"suspended\"}", id);
	cr_expect(control_do(&server, "POST", "state", body) == 204);
	struct reply asleep SP_CLEANUP(reply_done) = list_files(&server, id, home, "");

	cr_expect(asleep.status == 409 && has(&asleep, "sandbox_not_running"), "%ld",
		  asleep.status);
	server_stop(&server);
}
