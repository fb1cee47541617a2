/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/path.h>

#include <string.h>

bool path_is_clean(const char *path)
{
	bool leading_dots = *path != '/';

	if (!strcmp(path, ".") || !strcmp(path, "/"))
		return true;
	if (*path == '/')
		path++;
	do {
		size_t len = strcspn(path, "/");
		bool dots = len == 2 && !memcmp(path, "..", 2);

		if (!len || (len == 1 && *path == '.') || (dots && !leading_dots))
			return false;
		leading_dots = leading_dots && dots;
		path += len;
	} while (*path++);
	return true;
}
