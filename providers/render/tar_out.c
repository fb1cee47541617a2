/* SPDX-License-Identifier: MIT */
/* A folder as a compressed archive, made piece by piece as it is asked for. */
#include "tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <base/buf.h>
#include <base/cleanup.h>

/* Read of a file at a time. */
#define PIECE ((size_t)64 * 1024)
/* What may be written and not yet asked for; the compressor gives what it has in bursts. */
#define OUT_CEILING ((size_t)16 << 20)

struct tar_out {
	char *folder;
	struct archive *disk;
	struct archive *tar;
	struct archive_entry *entry;
	/* The file that is being read, or -1, and what it still has to give. */
	int fd;
	int64_t left;
	bool over;
	struct sp_buf out;
	size_t given;
	unsigned char piece[PIECE];
	struct render_source source;
};

static la_ssize_t on_write(struct archive *tar SP_UNUSED, void *arg, const void *data, size_t len)
{
	struct tar_out *out = arg;

	return sp_buf_add(&out->out, data, len) ? -1 : (la_ssize_t)len;
}

static void close_archives(struct tar_out *out)
{
	archive_entry_free(SP_TAKE(out->entry));
	archive_read_free(SP_TAKE(out->disk));
	archive_write_free(SP_TAKE(out->tar));
	sp_close(out->fd);
	out->fd = -1;
	sp_buf_clear(&out->out);
	out->given = 0;
	out->over = false;
}

static int broken(struct tar_out *out, struct archive *archive)
{
	return sp_error_set(&out->source.error, SP_IO, "cannot archive %s: %s", out->folder,
			    archive_error_string(archive) ? archive_error_string(archive)
							  : "no memory");
}

static int begin(void *arg, struct sp_error *err)
{
	struct tar_out *out = arg;
	int rc;

	close_archives(out);
	out->source.error = (struct sp_error)SP_ERROR_INIT;
	out->entry = archive_entry_new();
	out->disk = archive_read_disk_new();
	out->tar = archive_write_new();
	if (!out->entry || !out->disk || !out->tar)
		return sp_error_set(err, SP_INTERNAL, "no memory for an archive");
	archive_read_disk_set_symlink_physical(out->disk);
	/* Names are bytes in this one; the newer formats want to know their alphabet. */
	archive_write_set_format_gnutar(out->tar);
	archive_write_add_filter_gzip(out->tar);
	archive_write_set_bytes_in_last_block(out->tar, 1);
	rc = archive_write_open(out->tar, out, NULL, on_write, NULL) ? broken(out, out->tar)
	     : archive_read_disk_open(out->disk, out->folder)	     ? broken(out, out->disk)
								     : 0;
	if (rc && err)
		*err = out->source.error;
	return rc;
}

/* Opens the file of the entry and makes sure that it is the one that was looked at. */
static int open_file(struct tar_out *out)
{
	const char *path = archive_entry_sourcepath(out->entry);
	struct stat st;

	out->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (out->fd < 0 || fstat(out->fd, &st))
		return sp_error_set_errno(&out->source.error, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || st.st_ino != (ino_t)archive_entry_ino64(out->entry))
		return sp_error_set(&out->source.error, SP_IO, "%s changed while it was read",
				    path);
	out->left = st.st_size;
	archive_entry_set_size(out->entry, st.st_size);
	return 0;
}

static bool is_sent(mode_t type)
{
	return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
}

/* The folder itself is not in its archive; names are relative to it. */
static int add_entry(struct tar_out *out)
{
	const char *path = archive_entry_pathname(out->entry) + strlen(out->folder);
	char *name SP_FREE = strdup(path + strspn(path, "/"));
	mode_t type = archive_entry_filetype(out->entry);
	int rc = 0;

	archive_read_disk_descend(out->disk);
	if (!name)
		return sp_error_set(&out->source.error, SP_INTERNAL, "no memory for an archive");
	if (!*name || !is_sent(type))
		return 0;
	if (type == AE_IFREG)
		rc = open_file(out);
	if (rc)
		return rc;
	archive_entry_set_pathname(out->entry, name);
	archive_entry_set_hardlink(out->entry, NULL);
	return archive_write_header(out->tar, out->entry) ? broken(out, out->tar) : 0;
}

static int next_entry(struct tar_out *out)
{
	int rc = archive_read_next_header2(out->disk, out->entry);

	if (rc == ARCHIVE_EOF) {
		out->over = true;
		return archive_write_close(out->tar) ? broken(out, out->tar) : 0;
	}
	return rc ? broken(out, out->disk) : add_entry(out);
}

static int more_of_file(struct tar_out *out)
{
	size_t want = out->left < (int64_t)PIECE ? (size_t)out->left : PIECE;
	ssize_t n = want ? read(out->fd, out->piece, want) : 0;

	if (n < 0 || (want && !n))
		return sp_error_set(&out->source.error, SP_IO, "%s changed while it was read",
				    archive_entry_sourcepath(out->entry));
	if (n && archive_write_data(out->tar, out->piece, (size_t)n) != n)
		return broken(out, out->tar);
	out->left -= n;
	if (!out->left) {
		sp_close(out->fd);
		out->fd = -1;
	}
	return 0;
}

static int64_t give(void *arg, void *buffer, size_t max)
{
	struct tar_out *out = arg;
	size_t n;

	while (out->given == out->out.len && !out->over) {
		sp_buf_clear(&out->out);
		out->given = 0;
		int rc = out->fd >= 0 ? more_of_file(out) : next_entry(out);

		if (rc)
			return rc;
	}
	n = out->out.len - out->given;
	n = n < max ? n : max;
	if (n)
		memcpy(buffer, out->out.data + out->given, n);
	out->given += n;
	return (int64_t)n;
}

struct render_source *tar_out_new(const char *folder, struct sp_error *err)
{
	struct tar_out *out = calloc(1, sizeof(*out));
	size_t len = strlen(folder);

	while (len > 1 && folder[len - 1] == '/')
		len--;
	if (out)
		out->folder = strndup(folder, len);
	if (!out || !out->folder) {
		free(out);
		sp_error_set(err, SP_INTERNAL, "no memory for an archive");
		return NULL;
	}
	out->fd = -1;
	out->out.ceiling = OUT_CEILING;
	out->source = (struct render_source){
	    .read = give, .rewind = begin, .arg = out, .error = SP_ERROR_INIT, .gzip = true};
	return &out->source;
}

void tar_out_free(struct render_source *source)
{
	struct tar_out *out = source ? source->arg : NULL;

	if (!out)
		return;
	close_archives(out);
	sp_buf_done(&out->out);
	free(out->folder);
	free(out);
}
