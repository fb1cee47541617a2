/* SPDX-License-Identifier: MIT */
/*
 * Unpacking an archive that a sandbox made, and whatever runs in a sandbox is nobody's friend. We
 * walk to every name below our folder without following any link, and replace nothing.
 */
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <base/cleanup.h>
#include <base/files.h>

#define PIECE ((size_t)64 * 1024)
/* Two blocks of zeros end an archive. */
#define END_BYTES 1024
/* Entries of one archive: a bound for what we let somebody make on this machine. */
#define ENTRIES_MAX 1000000
/* Bytes of all its files together. */
#define BYTES_MAX ((int64_t)64 << 30)

struct tar_in {
	int dirfd;
	struct archive *tar;
	struct sp_http_stream *stream;
	struct sp_cancel *cancel;
	struct sp_error *err;
	/* Why the stream could not be read, or 0. */
	int rc;
	size_t entries;
	int64_t bytes;
	unsigned char piece[PIECE];
};

static la_ssize_t on_read(struct archive *tar SP_UNUSED, void *arg, const void **ret_data)
{
	struct tar_in *in = arg;
	size_t n = 0;

	in->rc = in->stream->ops->read(in->stream->self, in->piece, sizeof(in->piece), &n,
				       in->cancel, in->err);
	*ret_data = in->piece;
	return in->rc ? -1 : (la_ssize_t)n;
}

static int hostile(struct tar_in *in, const char *name, const char *why)
{
	return sp_error_set(in->err, SP_PROTOCOL, "the archive holds \"%.100s\", %s",
			    name ? name : "(no name)", why);
}

static int broken(struct tar_in *in)
{
	const char *why = archive_error_string(in->tar);

	if (in->rc)
		return in->rc;
	/* libarchive says so of an archive that ends within an entry. */
	if (why && strstr(why, "Truncated"))
		return sp_error_set(in->err, SP_UNKNOWN_OUTCOME, "the archive was cut off");
	return sp_error_set(in->err, SP_PROTOCOL, "the archive cannot be read: %s",
			    why ? why : "no reason given");
}

/* Length of the leading ".." of a path, in components; -1 when there is one further on. */
static int ups_of(const char *path)
{
	bool down = false;
	int ups = 0;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2)) {
			if (down)
				return -1;
			ups++;
		} else if (len && !(len == 1 && *path == '.')) {
			down = true;
		}
		path += len;
		path += strspn(path, "/");
	}
	return ups;
}

/* Number of folders that a clean name lies in. */
static int folders_of(const char *name)
{
	int n = 0;

	for (; (name = strchr(name, '/')); name++)
		n++;
	return n;
}

/*
 * A link may lead up as far as our folder and then down, over links that were looked at in the same
 * way; up again behind a link could lead anywhere.
 */
static bool leads_inside(const char *name, const char *target)
{
	int ups = ups_of(target);

	return *target && *target != '/' && ups >= 0 && ups <= folders_of(name);
}

/* Relative, without "." and "..", without a slash at its end; "" is our folder. NULL: none such. */
static char *clean_name(const char *name)
{
	char *clean, *to;

	if (!name || *name == '/' || ups_of(name))
		return NULL;
	clean = to = strdup(name);
	while (clean && *name) {
		size_t len = strcspn(name, "/");

		if (len && !(len == 1 && *name == '.')) {
			if (to != clean)
				*to++ = '/';
			memmove(to, name, len);
			to += len;
		}
		name += len;
		name += strspn(name, "/");
	}
	if (clean)
		*to = '\0';
	return clean;
}

static int failed(struct tar_in *in, const char *name)
{
	if (errno == EEXIST)
		return sp_error_set(in->err, SP_CONFLICT,
				    "\"%.100s\" is there already, or twice in the archive", name);
	/* A link or a file stands where a folder was to be. */
	if (errno == ENOTDIR || errno == ELOOP)
		return hostile(in, name, "below something that is no folder");
	return sp_error_set_errno(in->err, errno, "cannot write \"%.100s\"", name);
}

/* The folder that a name lies in, each step without following a link; made where it is missing. */
static int open_parent(struct tar_in *in, const char *name, const char **ret_last)
{
	int at = openat(in->dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *slash;

	for (; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		char *folder SP_FREE = strndup(name, (size_t)(slash - name));
		int above SP_CLOSE = at;

		at = -1;
		if (folder && (!mkdirat(above, folder, 0700) || errno == EEXIST))
			at = openat(above, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	*ret_last = name;
	return at;
}

static int write_data(struct tar_in *in, int fd, const char *name, int64_t size)
{
	const void *data;
	la_int64_t offset;
	size_t len;
	int rc;

	while (!(rc = archive_read_data_block(in->tar, &data, &len, &offset)))
		if (len && pwrite(fd, data, len, offset) != (ssize_t)len)
			return failed(in, name);
	if (rc != ARCHIVE_EOF)
		return broken(in);
	/* What is missing at the end is a hole. */
	return ftruncate(fd, size) ? failed(in, name) : 0;
}

static int add_file(struct tar_in *in, int parent, const char *last, const char *name,
		    struct archive_entry *entry)
{
	int64_t size = archive_entry_size(entry);
	int fd SP_CLOSE = -1;

	if (size < 0 || size > BYTES_MAX - in->bytes)
		return hostile(in, name, "and with it more than 64 GiB");
	in->bytes += size;
	fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(in, name);
	int rc = write_data(in, fd, name, size);

	if (!rc && fchmod(fd, archive_entry_perm(entry) & 0777))
		rc = failed(in, name);
	return rc;
}

/* Whoever unpacks has to be able to write into it. */
static int add_folder(struct tar_in *in, int parent, const char *last, const char *name,
		      struct archive_entry *entry)
{
	struct stat st;

	if (!mkdirat(parent, last, (archive_entry_perm(entry) & 0777) | 0700))
		return 0;
	if (errno == EEXIST && !fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) &&
	    S_ISDIR(st.st_mode))
		return 0;
	errno = EEXIST;
	return failed(in, name);
}

static int add_link(struct tar_in *in, int parent, const char *last, const char *name,
		    const char *target)
{
	if (!target || !leads_inside(name, target))
		return hostile(in, name, "a link that leads out of the folder");
	return symlinkat(target, parent, last) ? failed(in, name) : 0;
}

/* The other name of a file that came before. */
static int add_hard_link(struct tar_in *in, int parent, const char *last, const char *name,
			 const char *target)
{
	char *clean SP_FREE = clean_name(target);
	const char *from_last;
	int from SP_CLOSE = -1;

	if (!clean || !*clean)
		return hostile(in, name, "a link that leads out of the folder");
	from = open_parent(in, clean, &from_last);
	return from < 0 || linkat(from, from_last, parent, last, 0) ? failed(in, name) : 0;
}

/* As bytes; in UTF-8 where the archive says so and our locale has no say in it. */
static const char *name_of(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	return name ? name : archive_entry_pathname_utf8(entry);
}

static int add_entry(struct tar_in *in, struct archive_entry *entry)
{
	char *name SP_FREE = clean_name(name_of(entry));
	const char *last;
	int parent SP_CLOSE = -1;

	if (!name)
		return hostile(in, name_of(entry), "a name outside of the folder");
	if (++in->entries > ENTRIES_MAX)
		return hostile(in, name, "and with it more than a million entries");
	if (!*name)
		return 0;
	parent = open_parent(in, name, &last);
	if (parent < 0)
		return failed(in, name);
	if (archive_entry_hardlink(entry))
		return add_hard_link(in, parent, last, name, archive_entry_hardlink(entry));
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
		return add_file(in, parent, last, name, entry);
	case AE_IFDIR:
		return add_folder(in, parent, last, name, entry);
	case AE_IFLNK:
		return add_link(in, parent, last, name, archive_entry_symlink(entry));
	default:
		return hostile(in, name, "neither file, folder nor link");
	}
}

/*
 * libarchive takes an archive that ends between two entries for a whole one: how far it read for
 * the last look tells whether the two blocks of zeros were there.
 */
static int read_entries(struct tar_in *in)
{
	struct archive_entry *entry;
	la_int64_t before = 0;
	int rc;

	/* A warning is about an alphabet. */
	while (!(rc = archive_read_next_header(in->tar, &entry)) || rc == ARCHIVE_WARN) {
		int added = add_entry(in, entry);

		if (added)
			return added;
		if (archive_read_data_skip(in->tar) < ARCHIVE_WARN)
			return broken(in);
		before = archive_filter_bytes(in->tar, 0);
	}
	if (rc != ARCHIVE_EOF)
		return broken(in);
	if (archive_filter_bytes(in->tar, 0) - before < END_BYTES)
		return sp_error_set(in->err, SP_UNKNOWN_OUTCOME,
				    "the archive ended without its end: it was cut off");
	return 0;
}

/* Padding, and the end of what it came in. */
static int read_rest(struct tar_in *in)
{
	const void *data;
	la_ssize_t n;

	do {
		n = on_read(in->tar, in, &data);
	} while (n > 0);
	return in->rc;
}

int tar_in(int dirfd, struct sp_http_stream *stream, struct sp_cancel *cancel,
	   struct sp_error *err)
{
	struct tar_in *in = calloc(1, sizeof(*in));
	int rc;

	if (in)
		in->tar = archive_read_new();
	if (!in || !in->tar) {
		free(in);
		return sp_error_set(err, SP_INTERNAL, "no memory for an archive");
	}
	in->dirfd = dirfd;
	in->stream = stream;
	in->cancel = cancel;
	in->err = err;
	archive_read_support_format_tar(in->tar);
	rc = archive_read_open(in->tar, in, NULL, on_read, NULL) ? broken(in) : 0;
	if (!rc)
		rc = read_entries(in);
	if (!rc)
		rc = read_rest(in);
	archive_read_free(in->tar);
	free(in);
	return rc;
}
