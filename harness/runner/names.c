/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int sp_name_list_add(struct sp_name_list *list, const char *name)
{
	if (list->len == list->size) {
		size_t size = list->size ? list->size * 2 : 64;
		const char **names = reallocarray(list->names, size, sizeof(*names));

		if (!names)
			return -ENOMEM;
		list->names = names;
		list->size = size;
	}
	list->names[list->len++] = name;
	return 0;
}

int sp_name_list_add_all(struct sp_name_list *list, const char *const *names)
{
	int rc = 0;

	for (; !rc && names && *names; names++)
		rc = sp_name_list_add(list, *names);
	return rc;
}

void sp_name_list_done(struct sp_name_list *list)
{
	free(list->names);
	memset(list, 0, sizeof(*list));
}
