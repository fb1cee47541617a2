/* SPDX-License-Identifier: MIT */
#include <witness/search.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/files.h>

/* Longest environment or command line that is looked at. */
#define PROC_MAX ((size_t)4 << 20)

/* Where things can be written; the system's own programs are left out. */
#define PLACES "/tmp /var/tmp /dev /run /root /home /etc /opt /srv /mnt /var/log /var/lib/misc"

/* Appends one pattern for grep. A bracket keeps the pattern from matching its own text. */
static void add_pattern(struct sp_buf *out, const char *text, size_t len)
{
	sp_buf_adds(out, " -e \"");
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '+')
			sp_buf_adds(out, "[+-]");
		else if (text[i] == '/')
			sp_buf_adds(out, "[/_]");
		else if (i == 1)
			sp_buf_addf(out, "[%c]", text[i]);
		else
			sp_buf_addc(out, text[i]);
	}
	sp_buf_addc(out, '"');
}

/* base64(1) breaks its lines: one of two halves is whole. */
static void add_base64_patterns(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t shift = 0; shift < 3; shift++) {
		struct sp_buf coded SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
		char shifted[SP_CANARY_LEN + 3] = {0};
		size_t first = shift ? 4 : 0, half = ((shift + len) / 3 * 4 - first) / 2;

		memcpy(shifted + shift, text, len);
		sp_buf_add_base64(&coded, shifted, shift + len);
		add_pattern(out, sp_buf_str(&coded) + first, half);
		add_pattern(out, sp_buf_str(&coded) + first + half, half);
	}
}

/* One byte as two hex digits of either case. */
static void add_hex_byte(struct sp_buf *out, unsigned char c)
{
	const char digits[] = {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};

	for (size_t k = 0; k < 2; k++)
		if (isalpha((unsigned char)digits[k]))
			sp_buf_addf(out, "[%c%c]", digits[k], toupper((unsigned char)digits[k]));
		else
			sp_buf_addc(out, digits[k]);
}

/* Every byte as `lead` and two hex digits; a bracket in `lead` keeps it from its own text. */
static void add_escaped_pattern(struct sp_buf *out, const char *lead, const char *text, size_t len)
{
	sp_buf_adds(out, " -e \"");
	for (size_t i = 0; i < len; i++) {
		sp_buf_adds(out, i ? lead : "");
		add_hex_byte(out, (unsigned char)text[i]);
	}
	sp_buf_addc(out, '"');
}

/* Dumps have 16 bytes a line or more, so a line has one of these eighths whole. */
#define HEX_WINDOW 8

static void add_hex_patterns(struct sp_buf *out, const char *text, size_t len)
{
	for (size_t at = 0; at + HEX_WINDOW <= len; at += HEX_WINDOW)
		add_escaped_pattern(out, "[ :]*", text + at, HEX_WINDOW);
}

/*
 * A canary is letters and digits, so in quotes, URL and JSON it is the text itself, unless
 * somebody escapes what needs no escape.
 */
static void add_patterns(struct sp_buf *out, const struct sp_canary *canary)
{
	add_pattern(out, canary->text, SP_CANARY_LEN);
	add_base64_patterns(out, canary->text, SP_CANARY_LEN);
	add_hex_patterns(out, canary->text, SP_CANARY_LEN);
	add_escaped_pattern(out, "[%]", canary->text, SP_CANARY_LEN);
	add_escaped_pattern(out, "[\\]u00", canary->text, SP_CANARY_LEN);
}

int sp_search_isolated(struct sp_case *t, struct sp_sandbox *sandbox)
{
	struct sp_error err = SP_ERROR_INIT;
	char *dir SP_FREE = NULL;
	const char *seen;

	if (sp_tmp_dir("sandproof-isolated-", &dir, &err)) {
		sp_case_error(t, SP_HERE, "no temporary folder: %s", err.message);
		return -1;
	}
	seen = sp_sh_out(t, sandbox, "[ -d '%s' ] && echo shared || echo apart", dir);
	rmdir(dir);
	return seen ? !strcmp(seen, "apart") : -1;
}

/* Without the line of the planted file, which must be there. */
static const char *without_planted(struct sp_case *t, const char *found, const char *planted)
{
	const char *at = strstr(found, planted);
	size_t len = strlen(planted), before;

	if (!at) {
		sp_case_error(t, SP_HERE, "the search does not find what was planted for it in %s",
			      planted);
		return NULL;
	}
	if (at[len] == '\n')
		return sp_case_format(t, "%.*s%s", (int)(at - found), found, at + len + 1);
	/* It was the last line. */
	before = (size_t)(at - found);
	return sp_case_format(t, "%.*s", (int)(before ? before - 1 : 0), found);
}

const char *sp_search_files(struct sp_case *t, struct sp_sandbox *sandbox,
			    const struct sp_canary *canary)
{
	struct sp_buf patterns SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf plant SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	const char *root = sp_sandbox_workspace_root(sandbox);
	struct sp_canary decoy;
	const char *planted, *found;
	int isolated = sp_search_isolated(t, sandbox);

	if (isolated < 0)
		return NULL;
	sp_canary_make(t, &decoy);
	add_patterns(&patterns, canary);
	add_patterns(&patterns, &decoy);
	/* In the form that is hardest to find, not at the start of anything. */
	sp_buf_add_base64(&plant, sp_case_format(t, "ab%scd", decoy.text), SP_CANARY_LEN + 4);
	planted = sp_case_format(t, "%s/search-%s", root, sp_case_unique(t));
	/*
	 * find takes a device that is mounted over a file for the file: it is told apart before
	 * anybody reads it.
	 */
	found = sp_sh_out(t, sandbox,
			  "printf 'x%%s\\n' '%s' >'%s'; LC_ALL=C find %s '%s' \"${HOME:-/root}\" "
			  "-xdev -type f -size -65536k -exec sh -c '"
			  "n=$#; while [ $n -gt 0 ]; do [ ! -f \"$1\" ] || set -- \"$@\" \"$1\"; "
			  "shift; n=$((n-1)); done; [ $# = 0 ] || exec grep -la%s -- \"$@\"' "
			  "sh {} + 2>/dev/null | sort -u; rm -f '%s'",
			  sp_buf_str(&plant), planted, isolated ? PLACES : "", root,
			  sp_buf_str(&patterns), planted);
	return found ? without_planted(t, found, planted) : NULL;
}

const char *sp_search_processes(struct sp_case *t, struct sp_sandbox *sandbox,
				const struct sp_canary *canary)
{
	struct sp_buf patterns SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf decoys SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_canary decoy;
	const char *found;

	sp_canary_make(t, &decoy);
	add_patterns(&patterns, canary);
	add_patterns(&decoys, &decoy);
	found =
	    sp_sh_out(t, sandbox,
		      /*
		       * A shell of its own: it is there when the names are listed, with
		       * the decoy in its environment and among its arguments, wherever the
		       * provider keeps the text of a command.
		       */
		      "export LC_ALL=C SANDPROOF_DECOY=%1$s; sh -s %1$s <<'SEARCH'\n"
		      "cd /proc || exit\n"
		      "[ \"$(grep -la%2$s [0-9]*/environ 2>/dev/null)\" ] && "
		      "[ \"$(grep -la%2$s [0-9]*/cmdline 2>/dev/null)\" ] && echo can\n"
		      "grep -la%3$s [0-9]*/environ [0-9]*/cmdline 2>/dev/null | "
		      "while IFS=/ read -r p f; do echo \"$f $p\"; done\nSEARCH\n:",
		      decoy.text, sp_buf_str(&decoys), sp_buf_str(&patterns));
	if (!found)
		return NULL;
	if (strncmp(found, "can", 3)) {
		sp_case_error(t, SP_HERE,
			      "the search of processes does not find what was planted for it");
		return NULL;
	}
	return found + 3 + (found[3] == '\n');
}

/* ---- Outside ---- */

static bool read_proc(const char *pid, const char *name, struct sp_buf *out)
{
	char path[300];
	int fd SP_CLOSE = -1;
	ssize_t n;

	sp_buf_clear(out);
	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do {
		char *room = sp_buf_reserve(out, 65536);

		n = room ? read(fd, room, 65536) : -1;
		out->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return out->len > 0;
}

static bool is_in_our_namespace(const char *pid)
{
	char path[300], ours[64], theirs[64];
	ssize_t a, b;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	a = readlink("/proc/self/ns/pid", ours, sizeof(ours));
	b = readlink(path, theirs, sizeof(theirs));
	return a > 0 && a == b && !memcmp(ours, theirs, (size_t)a);
}

bool sp_search_check_host(struct sp_case *t, const struct sp_canary *canary, bool own_environ,
			  struct sp_where where)
{
	struct sp_buf bytes SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(PROC_MAX);
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t looked_at = 0;
	bool clean = true;

	while (dir && clean && (entry = readdir(dir))) {
		const char *pid = entry->d_name;

		if (!isdigit((unsigned char)*pid))
			continue;
		if (read_proc(pid, "cmdline", &bytes)) {
			looked_at++;
			clean = sp_canary_check_absent(t, canary, bytes.data, bytes.len, where,
						       "the command line of a process");
		}
		if (clean && own_environ && is_in_our_namespace(pid) &&
		    read_proc(pid, "environ", &bytes))
			clean = sp_canary_check_absent(t, canary, bytes.data, bytes.len, where,
						       "the environment of a process outside the "
						       "sandbox");
	}
	if (dir)
		closedir(dir);
	if (clean && !looked_at) {
		sp_case_error(t, where, "no process of this machine can be looked at");
		return false;
	}
	return clean;
}

bool sp_search_check_timeline(struct sp_case *t, struct sp_sandbox *sandbox,
			      const struct sp_canary *canary, bool *unsupported,
			      struct sp_where where)
{
	struct sp_bytes texts SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_canary decoy;
	int rc;

	sp_canary_make(t, &decoy);
	if (!sp_sh_ok(t, sandbox, ": %s", decoy.text))
		return false;
	rc = sp_sandbox_timeline(sandbox, &texts, sp_case_cancel(t), &err);
	*unsupported = rc == SP_UNSUPPORTED;
	if (*unsupported)
		return true;
	if (!sp_check_ok(t, rc, &err, where, "the timeline is told"))
		return false;
	if (!sp_canary_find(&decoy, texts.data, texts.len)) {
		sp_case_error(t, where,
			      "the timeline does not hold the text of a command that ran");
		return false;
	}
	return sp_canary_check_absent(t, canary, texts.data, texts.len, where,
				      "the timeline of recorded commands");
}

/* Content of a file on its way: there a value may be. */
static bool is_upload(const struct sp_control_request *request)
{
	return !strcmp(request->method, "PUT") && strstr(request->target, "upload");
}

bool sp_search_check_requests(struct sp_case *t, const struct sp_canary *canary,
			      struct sp_where where)
{
	struct sp_control_requests requests SP_CLEANUP(sp_control_requests_done) =
	    SP_CONTROL_REQUESTS_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	bool clean = true;

	if (control->ops->requests(control->self, false, &requests, &err)) {
		sp_case_error(t, where, "control cannot tell the requests: %s", err.message);
		return false;
	}
	if (!requests.len) {
		sp_case_error(t, where, "no request was received at all");
		return false;
	}
	for (size_t i = 0; clean && i < requests.len; i++) {
		const struct sp_control_request *r = &requests.items[i];

		clean = sp_canary_check_absent(t, canary, r->target, strlen(r->target), where,
					       "the target of a request") &&
			(!r->headers ||
			 sp_canary_check_absent(t, canary, r->headers, strlen(r->headers), where,
						"a header of a request")) &&
			(is_upload(r) ||
			 sp_canary_check_absent(
			     t, canary, r->body.data, r->body.len, where,
			     sp_case_format(t, "the body of %s %.200s", r->method, r->target)));
	}
	return clean;
}

/* ---- Archives ---- */

/* Largest archive that is searched. */
#define ARCHIVE_MAX ((size_t)256 << 20)
#define BLOCK 512

/* Blots out what an archive says of running processes: members "environ/PID", in ustar's blocks of
 * 512 bytes. */
static void blot_out_environs(struct sp_bytes *archive)
{
	size_t at = 0;

	while (at + BLOCK <= archive->len && archive->data[at]) {
		const char *header = (char *)archive->data + at;
		size_t size = strtoull(header + 124, NULL, 8);
		size_t room = archive->len - at - BLOCK;

		at += BLOCK;
		size = size < room ? size : room;
		if (!strncmp(header, "environ/", 8))
			memset(archive->data + at, 0, size);
		at += (size + BLOCK - 1) / BLOCK * BLOCK;
	}
}

static bool check_archive(struct sp_case *t, const char *id, const struct sp_canary *canary,
			  const struct sp_canary *decoy, bool running, bool *ret_can,
			  struct sp_where where, const char *what)
{
	struct sp_bytes archive SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	int rc = control->ops->snapshot_read(control->self, id, ARCHIVE_MAX, &archive, &err);

	/* One that failed has no archive. */
	if (rc == SP_NOT_FOUND)
		return true;
	if (rc) {
		sp_case_error(t, where, "control cannot read a snapshot: %s", err.message);
		return false;
	}
	*ret_can = *ret_can || sp_canary_find(decoy, archive.data, archive.len);
	if (!running)
		blot_out_environs(&archive);
	return sp_canary_check_absent(t, canary, archive.data, archive.len, where, what);
}

bool sp_search_check_archives(struct sp_case *t, const struct sp_canary *canary,
			      const struct sp_canary *decoy, bool running, struct sp_where where,
			      const char *what)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;
	bool clean = true, can = false;

	if (control->ops->census(control->self, &census, &err)) {
		sp_case_error(t, where, "control cannot count: %s", err.message);
		return false;
	}
	for (size_t i = 0; clean && census.snapshots && i < census.n_snapshots; i++)
		clean = check_archive(t, census.snapshots[i].id, canary, decoy, running, &can,
				      where, what);
	if (clean && !can) {
		sp_case_error(t, where, "no snapshot holds what was planted for the search");
		return false;
	}
	return clean;
}

bool sp_search_check_error(struct sp_case *t, const struct sp_canary *canary,
			   const struct sp_error *err, struct sp_where where, const char *what)
{
	return sp_canary_check_absent(t, canary, err->message, strlen(err->message), where,
				      sp_case_format(t, "the message of %s", what)) &&
	       sp_canary_check_absent(t, canary, err->detail, strlen(err->detail), where,
				      sp_case_format(t, "the detail of %s", what));
}
