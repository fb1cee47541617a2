/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/tarball.h>

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>

/* Read from a file and given to the archive at once. */
#define PIECE ((size_t)16 * 1024)
/* What one step can add: a piece, its headers, and what gzip held back. */
#define OUT_CEILING ((size_t)4 << 20)

/* A folder on the way down. */
struct level {
	TAILQ_ENTRY(level) entry;
	/* Below the root; "" is the root itself. */
	char *name;
	struct fake_dir_entry *entries;
	size_t len;
	size_t next;
};

TAILQ_HEAD(level_list, level);

struct tarball {
	struct fake_sandbox *sandbox;
	char *root;
	struct archive *archive;
	struct archive_entry *entry;
	/* Deepest first. */
	struct level_list levels;
	/* The file being copied, and what its header promised and is still owed. */
	int fd;
	uint64_t owed;
	struct sp_buf out;
	size_t given;
	bool ended;
};

static void level_free(struct tarball *tarball, struct level *level)
{
	TAILQ_REMOVE(&tarball->levels, level, entry);
	fake_dir_free(level->entries, level->len);
	free(level->name);
	free(level);
}

/* "ROOT/NAME/LEAF" or "NAME/LEAF", without the parts that are empty. */
static char *join(const char *a, const char *b)
{
	char *path = NULL;

	if (!*a || !*b)
		return strdup(*a ? a : b);
	if (asprintf(&path, "%s%s%s", a, a[strlen(a) - 1] == '/' ? "" : "/", b) < 0)
		return NULL;
	return path;
}

static int descend(struct tarball *tarball, const char *name, struct sp_error *err)
{
	struct level *level = calloc(1, sizeof(*level));
	char *path SP_FREE = join(tarball->root, name);
	int rc = SP_INTERNAL;

	if (level && path) {
		level->name = strdup(name);
		rc = level->name ? fake_dir_list(tarball->sandbox, path, &level->entries,
						 &level->len, err)
				 : SP_INTERNAL;
	}
	if (rc) {
		if (level)
			free(level->name);
		free(level);
		return rc;
	}
	TAILQ_INSERT_HEAD(&tarball->levels, level, entry);
	return 0;
}

static la_ssize_t on_bytes(struct archive *archive SP_UNUSED, void *arg, const void *data,
			   size_t len)
{
	struct tarball *tarball = arg;

	return sp_buf_add(&tarball->out, data, len) ? -1 : (la_ssize_t)len;
}

static struct archive *open_archive(struct tarball *tarball)
{
	struct archive *archive = archive_write_new();

	if (!archive)
		return NULL;
	archive_write_add_filter_gzip(archive);
	archive_write_set_format_pax_restricted(archive);
	archive_write_set_bytes_per_block(archive, 0);
	if (archive_write_open(archive, tarball, NULL, on_bytes, NULL) != ARCHIVE_OK) {
		archive_write_free(archive);
		return NULL;
	}
	return archive;
}

struct tarball *tarball_new(struct fake_sandbox *sandbox, const char *path, struct sp_error *err)
{
	struct tarball *tarball = calloc(1, sizeof(*tarball));

	if (!tarball) {
		sp_error_set(err, SP_INTERNAL, "out of memory");
		return NULL;
	}
	tarball->sandbox = sandbox;
	tarball->fd = -1;
	tarball->out.ceiling = OUT_CEILING;
	TAILQ_INIT(&tarball->levels);
	tarball->root = strdup(path);
	tarball->entry = archive_entry_new();
	tarball->archive = open_archive(tarball);
	if (!tarball->root || !tarball->entry || !tarball->archive) {
		sp_error_set(err, SP_INTERNAL, "out of memory");
		tarball_free(tarball);
		return NULL;
	}
	if (descend(tarball, "", err)) {
		tarball_free(tarball);
		return NULL;
	}
	return tarball;
}

void tarball_free(struct tarball *tarball)
{
	struct level *level;

	while ((level = TAILQ_FIRST(&tarball->levels)))
		level_free(tarball, level);
	if (tarball->archive)
		archive_write_free(tarball->archive);
	archive_entry_free(tarball->entry);
	sp_close(tarball->fd);
	sp_buf_done(&tarball->out);
	free(tarball->root);
	free(tarball);
}

static int add_header(struct tarball *tarball, const char *name, mode_t mode,
		      const struct fake_dir_entry *from, uint64_t size)
{
	struct archive_entry *entry = archive_entry_clear(tarball->entry);

	archive_entry_set_pathname(entry, name);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_size(entry, (int64_t)size);
	archive_entry_set_mtime(entry, from->mtime_ms / 1000, 0);
	if (from->target)
		archive_entry_set_symlink(entry, from->target);
	return archive_write_header(tarball->archive, entry) >= ARCHIVE_WARN ? 0 : -1;
}

/* A file that vanished or was replaced since the listing is left out. */
static int begin_file(struct tarball *tarball, const char *name, const char *path,
		      const struct fake_dir_entry *from)
{
	struct sp_error ignored = SP_ERROR_INIT;
	enum fake_path_kind kind;
	uint64_t size = 0;
	struct stat st;
	int fd SP_CLOSE = -1;

	if (fake_path_open(tarball->sandbox, path, &kind, &fd, &size, &ignored))
		return 0;
	if (kind != FAKE_PATH_FILE || fstat(fd, &st))
		return 0;
	if (add_header(tarball, name, S_IFREG | (st.st_mode & 07777), from, size))
		return -1;
	tarball->owed = size;
	tarball->fd = SP_TAKE_FD(fd);
	return 0;
}

static int begin_dir(struct tarball *tarball, const char *name, const char *path,
		     const struct fake_dir_entry *from)
{
	struct sp_error ignored = SP_ERROR_INIT;
	enum fake_path_kind kind;
	uint64_t size;
	struct stat st = { .st_mode = 0755 };
	int fd SP_CLOSE = -1;

	if (!fake_path_open(tarball->sandbox, path, &kind, &fd, &size, &ignored))
		fstat(fd, &st);
	if (add_header(tarball, name, S_IFDIR | (st.st_mode & 07777), from, 0))
		return -1;
	descend(tarball, name, &ignored);
	return 0;
}

static int begin_entry(struct tarball *tarball, struct level *level)
{
	const struct fake_dir_entry *from = &level->entries[level->next++];
	char *name SP_FREE = join(level->name, from->name);
	char *path SP_FREE = name ? join(tarball->root, name) : NULL;

	if (!path)
		return -1;
	switch (from->type) {
	case DT_REG:
		return begin_file(tarball, name, path, from);
	case DT_DIR:
		return begin_dir(tarball, name, path, from);
	case DT_LNK:
		return add_header(tarball, name, S_IFLNK | 0777, from, 0);
	default:
		/* Sockets, queues and devices stay out, as with every known client. */
		return 0;
	}
}

/* The header promised a length: a file that shrank is filled with zeroes, one that grew is cut. */
static int copy_piece(struct tarball *tarball)
{
	char piece[PIECE];
	size_t want = tarball->owed < PIECE ? (size_t)tarball->owed : PIECE;
	ssize_t n = want ? read(tarball->fd, piece, want) : 0;

	if (n < 0)
		return -1;
	if (n == 0) {
		tarball->owed = 0;
		tarball->fd = sp_close(tarball->fd);
		return archive_write_finish_entry(tarball->archive) == ARCHIVE_OK ? 0 : -1;
	}
	tarball->owed -= (uint64_t)n;
	return archive_write_data(tarball->archive, piece, (size_t)n) == n ? 0 : -1;
}

static int step(struct tarball *tarball)
{
	struct level *level = TAILQ_FIRST(&tarball->levels);

	if (tarball->fd >= 0)
		return copy_piece(tarball);
	if (!level) {
		tarball->ended = true;
		return archive_write_close(tarball->archive) == ARCHIVE_OK ? 0 : -1;
	}
	if (level->next < level->len)
		return begin_entry(tarball, level);
	level_free(tarball, level);
	return 0;
}

ssize_t tarball_read(struct tarball *tarball, char *buffer, size_t max)
{
	size_t n;

	if (tarball->given == tarball->out.len) {
		sp_buf_clear(&tarball->out);
		tarball->given = 0;
	}
	while (!tarball->out.len && !tarball->ended)
		if (step(tarball) || tarball->out.error)
			return -1;
	n = tarball->out.len - tarball->given;
	if (n > max)
		n = max;
	memcpy(buffer, sp_buf_str(&tarball->out) + tarball->given, n);
	tarball->given += n;
	return (ssize_t)n;
}
