/* SPDX-License-Identifier: MIT */
#include <cli/coverage.h>

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>

int cli_coverage_begin(const char *dir, struct sp_error *err)
{
	char *whole SP_FREE = NULL;
	int rc = sp_mkdirs(dir, 0755);

	if (rc)
		return sp_error_set_errno(err, -rc, "--coverage: %s cannot be made", dir);
	whole = realpath(dir, NULL);
	if (!whole || access(whole, W_OK | X_OK))
		return sp_error_set_errno(err, errno, "--coverage: %s cannot be used", dir);
	setenv("GCOV_PREFIX", whole, 1);
	unsetenv("GCOV_PREFIX_STRIP");
	return 0;
}

/* "DIR/home/me/x.gcda" is of "/home/me/x.gcno". */
static void link_notes(const char *dir, const char *counters)
{
	char *link SP_FREE = strdup(counters);
	char *end = link ? strrchr(link, '.') : NULL;

	if (!end)
		return;
	/* Both endings have four letters. */
	memcpy(end, ".gcno", 5);
	/* Where the notes are gone the tools say so themselves. */
	if (!access(link + strlen(dir), R_OK))
		(void)!symlink(link + strlen(dir), link);
}

int cli_coverage_end(const char *dir, size_t *ret_files, struct sp_error *err)
{
	char *whole SP_FREE = realpath(dir, NULL);
	char *const roots[] = {whole, NULL};
	FTS *tree = whole ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	size_t n = 0;

	if (!tree)
		return sp_error_set_errno(err, errno, "--coverage: %s cannot be read", dir);
	for (FTSENT *at; (at = fts_read(tree));) {
		if (at->fts_info != FTS_F || at->fts_namelen < 5 ||
		    strcmp(at->fts_name + at->fts_namelen - 5, ".gcda"))
			continue;
		n++;
		link_notes(whole, at->fts_path);
	}
	fts_close(tree);
	*ret_files = n;
	return 0;
}
