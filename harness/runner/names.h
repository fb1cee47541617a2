/* SPDX-License-Identifier: MIT */
/* Lists of borrowed names, for look-ups and suggestions. */
#ifndef SP_RUNNER_NAMES_H
#define SP_RUNNER_NAMES_H

#include <stddef.h>

struct sp_name_list {
	const char **names;
	size_t len;
	size_t size;
};

/* Appends a borrowed name; 0 or -ENOMEM. */
int sp_name_list_add(struct sp_name_list *list, const char *name);
/* Appends the names of a list that ends with NULL (or is NULL); 0 or -ENOMEM. */
int sp_name_list_add_all(struct sp_name_list *list, const char *const *names);
/* Frees the array, not the names, and clears the struct. */
void sp_name_list_done(struct sp_name_list *list);

#endif
