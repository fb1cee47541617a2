/* SPDX-License-Identifier: MIT */
/* Folders that come from a sandbox whose archives are hostile or cut off. */
#include "http/testing.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <archive.h>
#include <archive_entry.h>

#include "internal.h"
#include "tree.h"

#define ID "sbx-1cd4gcph1rs3idesc73a2b2mg"
#define GRANT                                                                                      \
	"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"      \
	"{\"token\":\"t\",\"uri\":\"http://localhost/proxy/x/files/download?path=d\",\"method\":"  \
	"\"GET\"}"
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/x-tar\r\nConnection: close\r\n\r\n"

struct entry {
	const char *name;
	/* AE_IFREG and so on; 0 ends the list. */
	mode_t type;
	/* Content, target of a link, or other name of a hard link. */
	const char *text;
	bool hard;
};

static la_ssize_t to_buf(struct archive *tar SP_UNUSED, void *arg, const void *data, size_t len)
{
	return sp_buf_add(arg, data, len) ? -1 : (la_ssize_t)len;
}

static void add(struct archive *tar, const struct entry *e)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, e->name);
	archive_entry_set_filetype(entry, e->type);
	archive_entry_set_perm(entry, e->type == AE_IFDIR ? 04755 : 04750);
	if (e->hard)
		archive_entry_set_hardlink(entry, e->text);
	else if (e->type == AE_IFLNK)
		archive_entry_set_symlink(entry, e->text);
	else if (e->type == AE_IFREG)
		archive_entry_set_size(entry, (la_int64_t)strlen(e->text));
	cr_assert(archive_write_header(tar, entry) >= ARCHIVE_WARN, "%s: %s", e->name,
		  archive_error_string(tar));
	if (e->type == AE_IFREG && !e->hard)
		archive_write_data(tar, e->text, strlen(e->text));
	archive_entry_free(entry);
}

static void make_tar(const struct entry *entries, struct sp_buf *out)
{
	struct archive *tar = archive_write_new();

	archive_write_set_format_ustar(tar);
	archive_write_set_bytes_per_block(tar, 0);
	cr_assert(!archive_write_open(tar, out, NULL, to_buf, NULL));
	for (; entries->type; entries++)
		add(tar, entries);
	archive_write_close(tar);
	archive_write_free(tar);
}

/* What the client says of an answer; what it wrote is in `folder`. */
static int fetch(const char *head, const void *tar, size_t len, const char *folder,
		 struct sp_error *err)
{
	struct sp_render_options options = SP_RENDER_OPTIONS_INIT;
	struct sp_provider provider = SP_PROVIDER_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(8 << 20);
	struct answer script[3] = {{.text = GRANT, .close = true}};
	struct server server;
	char url[128];

	sp_buf_adds(&text, head);
	sp_buf_add(&text, tar, len);
	script[1] = (struct answer){.text = text.data, .len = text.len, .close = true};
	start(&server, false, script);
	snprintf(url, sizeof(url), "unix:%s", server.path);
	options.base_url = url;
	options.token = "rnd_k";
	options.owner_id = "tea-x";
	cr_assert_eq(sp_render_open(&options, &provider, err), 0, "%s", err->message);
	int rc = sp_render_fetch_tree(&provider, ID, "d", folder, NULL, err);

	sp_provider_done(&provider);
	stop(&server);
	sp_buf_done(&server.requests);
	return rc;
}

/* A folder with another one beside it that nobody may reach: "OUT/in" and "OUT/secret". */
struct place {
	char *out;
	char in[128];
	char secret[128];
};

static void place_open(struct place *place)
{
	cr_assert(!sp_tmp_dir("tree-", &place->out, NULL));
	snprintf(place->in, sizeof(place->in), "%s/in", place->out);
	snprintf(place->secret, sizeof(place->secret), "%s/secret", place->out);
	cr_assert(!mkdir(place->in, 0700));
	cr_assert(!sp_write_file(place->secret, "mine", 4, 0600, NULL));
}

/* Nothing beside the folder changed or appeared. */
static void place_close(struct place *place, const char *what)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct stat st;

	cr_expect(!sp_read_file(place->secret, 64, &bytes, NULL) && bytes.len == 4 &&
		      !memcmp(bytes.data, "mine", 4),
		  "%s: the file outside was changed", what);
	cr_expect(!stat(place->out, &st) && st.st_nlink == 3, "%s: %lu folders outside", what,
		  (unsigned long)st.st_nlink - 2);
	sp_bytes_done(&bytes);
	sp_remove_tree(place->out);
	free(place->out);
}

TestSuite(tree, .timeout = 60);

static const struct {
	const char *what;
	struct entry entries[5];
	int rc;
	const char *says;
} rows[] = {
	{ "as a sandbox makes it",
	  { { "./", AE_IFDIR, "", false },
	    { "./a/", AE_IFDIR, "", false },
	    { "./a/f", AE_IFREG, "text", false },
	    { "b", AE_IFLNK, "a/f", false } },
	  0, "" },
	{ "a folder that was not named before", { { "x/y/z", AE_IFREG, "text", false } }, 0, "" },
	{ "a hard link",
	  { { "f", AE_IFREG, "text", false }, { "g", AE_IFREG, "f", true } }, 0, "" },
	{ "nothing", { { NULL, 0, NULL, false } }, 0, "" },
	{ "an absolute name", { { "/etc/x", AE_IFREG, "text", false } }, SP_PROTOCOL,
	  "outside of the folder" },
	{ "a name that climbs", { { "../secret", AE_IFREG, "text", false } }, SP_PROTOCOL,
	  "outside of the folder" },
	{ "a name that climbs later", { { "a/../../secret", AE_IFREG, "text", false } },
	  SP_PROTOCOL, "outside of the folder" },
	{ "an absolute link", { { "l", AE_IFLNK, "/etc/passwd", false } }, SP_PROTOCOL,
	  "leads out" },
	{ "a link that climbs", { { "a/l", AE_IFLNK, "../../secret", false } }, SP_PROTOCOL,
	  "leads out" },
	{ "a link that climbs as far as it may", { { "a/l", AE_IFLNK, "../b", false } }, 0, "" },
	{ "a link that climbs behind another",
	  { { "a/b/", AE_IFDIR, "", false },
	    { "a/b/up", AE_IFLNK, "../..", false },
	    { "l", AE_IFLNK, "a/b/up/../secret", false } },
	  SP_PROTOCOL, "leads out" },
	{ "a file below a link",
	  { { "d/", AE_IFDIR, "", false },
	    { "l", AE_IFLNK, "d", false },
	    { "l/f", AE_IFREG, "text", false } },
	  SP_PROTOCOL, "no folder" },
	{ "a file below a file",
	  { { "f", AE_IFREG, "", false }, { "f/g", AE_IFREG, "text", false } }, SP_PROTOCOL,
	  "no folder" },
	{ "a file over a link",
	  { { "l", AE_IFLNK, "f", false }, { "l", AE_IFREG, "text", false } }, SP_CONFLICT,
	  "twice" },
	{ "a file twice",
	  { { "f", AE_IFREG, "one", false }, { "f", AE_IFREG, "two", false } }, SP_CONFLICT,
	  "twice" },
	{ "a folder twice",
	  { { "d/", AE_IFDIR, "", false }, { "d", AE_IFDIR, "", false } }, 0, "" },
	{ "a folder over a link",
	  { { "l", AE_IFLNK, "x", false }, { "l", AE_IFDIR, "", false } }, SP_CONFLICT, "twice" },
	{ "a hard link to the outside", { { "h", AE_IFREG, "../secret", true } }, SP_PROTOCOL,
	  "leads out" },
	{ "a device", { { "null", AE_IFCHR, "", false } }, SP_PROTOCOL, "neither file" },
	{ "a FIFO", { { "pipe", AE_IFIFO, "", false } }, SP_PROTOCOL, "neither file" },
};

Test(tree, hostile_archives_are_refused)
{
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct sp_buf tar SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(1 << 20);
		struct sp_error err = SP_ERROR_INIT;
		struct place place;

		place_open(&place);
		make_tar(rows[i].entries, &tar);
		int rc = fetch(HEAD, tar.data, tar.len, place.in, &err);

		cr_expect(rc == rows[i].rc && strstr(err.message, rows[i].says),
			  "%s: %s with `%s` expected, got %s with `%s`", rows[i].what,
			  sp_code_name(rows[i].rc), rows[i].says, sp_code_name(rc), err.message);
		place_close(&place, rows[i].what);
	}
}

/* Modes without what gives rights, contents, links. */
Test(tree, what_was_sent_is_there)
{
	static const struct entry entries[] = {
	    {"./a/", AE_IFDIR, "", false},	{"./a/f", AE_IFREG, "text", false},
	    {"./a/l", AE_IFLNK, "../b", false}, {"b", AE_IFREG, "a/f", true},
	    {NULL, 0, NULL, false},
	};
	struct sp_buf tar SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(1 << 20);
	struct sp_error err = SP_ERROR_INIT;
	struct place place;
	struct stat file, link, other, folder;
	char path[192], target[16] = "";

	place_open(&place);
	make_tar(entries, &tar);
	cr_assert(!fetch(HEAD, tar.data, tar.len, place.in, &err), "%s", err.message);
	int fd = open(place.in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert(!fstatat(fd, "a", &folder, 0) && !fstatat(fd, "a/f", &file, 0) &&
		  !fstatat(fd, "a/l", &link, AT_SYMLINK_NOFOLLOW) && !fstatat(fd, "b", &other, 0));
	cr_expect((folder.st_mode & 07777) == 0755, "%o", folder.st_mode);
	cr_expect((file.st_mode & 07777) == 0750 && file.st_size == 4, "%o %ld", file.st_mode,
		  (long)file.st_size);
	cr_expect(S_ISLNK(link.st_mode) && readlinkat(fd, "a/l", target, 15) == 4, "%s", target);
	cr_expect(other.st_ino == file.st_ino, "b is another file");
	close(fd);
	snprintf(path, sizeof(path), "%s/a/f", place.in);
	struct sp_bytes bytes = SP_BYTES_INIT;

	cr_expect(!sp_read_file(path, 64, &bytes, &err) && !memcmp(bytes.data, "text", 4));
	sp_bytes_done(&bytes);
	place_close(&place, "a good one");
}

/* Wherever it is cut, an archive is not taken for a whole one. */
Test(tree, a_cut_archive_is_not_whole)
{
	static const struct entry entries[] = {
	    {"a", AE_IFREG, "text", false}, {"b", AE_IFREG, "more", false}, {NULL, 0, NULL, false}};
	struct sp_buf tar SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(1 << 20);

	make_tar(entries, &tar);
	cr_assert(tar.len >= 4 * 512 + 1024, "%zu", tar.len);
	for (size_t len = 0; len <= 4 * 512 + 1024; len += 256) {
		struct sp_error err = SP_ERROR_INIT;
		struct place place;
		bool whole = len == 4 * 512 + 1024;

		place_open(&place);
		int rc = fetch(HEAD, tar.data, len, place.in, &err);

		cr_expect(whole ? !rc : rc == SP_UNKNOWN_OUTCOME || rc == SP_PROTOCOL,
			  "%zu bytes: %s expected, got %s (%s)", len, whole ? "ok" : "an error",
			  sp_code_name(rc), err.message);
		place_close(&place, "a cut one");
	}
}

Test(tree, a_file_is_no_folder)
{
	struct sp_error err = SP_ERROR_INIT;
	struct place place;

	place_open(&place);
	int rc = fetch("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
		       "Connection: close\r\n\r\n",
		       "text", 4, place.in, &err);

	cr_expect(rc == SP_INVALID && strstr(err.message, "file and no folder"), "%s: %s",
		  sp_code_name(rc), err.message);
	place_close(&place, "a file");
}

/* An archive that says its names are UTF-8, whatever the alphabet of our locale. */
Test(tree, names_in_utf8)
{
	static const char name[] = "w\xc3\xb6rd";
	/* A header of records for the next entry, and that entry. */
	static const char record[] = "14 path=w\xc3\xb6rd\n";
	const struct entry entries[] = {{"x", AE_IFREG, record, false},
					{"plain", AE_IFREG, "text", false},
					{NULL, 0, NULL, false}};
	struct sp_buf tar SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(1 << 20);
	struct sp_error err = SP_ERROR_INIT;
	struct place place;
	char path[192];
	unsigned sum = 0;

	make_tar(entries, &tar);
	/* The type of the first entry, and its checksum anew. */
	tar.data[156] = 'x';
	memset(tar.data + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += (unsigned char)tar.data[i];
	snprintf(tar.data + 148, 8, "%06o", sum);
	place_open(&place);
	int rc = fetch(HEAD, tar.data, tar.len, place.in, &err);

	snprintf(path, sizeof(path), "%s/%s", place.in, name);
	cr_expect(!rc && !access(path, F_OK), "%s: %s", sp_code_name(rc), err.message);
	place_close(&place, "UTF-8");
}
