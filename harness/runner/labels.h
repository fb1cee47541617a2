/* SPDX-License-Identifier: MIT */
/* Sets of things by name, each labelled with the case in which it appeared. */
#ifndef SP_RUNNER_LABELS_H
#define SP_RUNNER_LABELS_H

#include <stdbool.h>
#include <stddef.h>

struct sp_labelled {
	char *name;
	/* Id of the case (static text), or NULL for what belongs to the base. */
	const char *label;
	bool seen;
};

/* Names with the case that each is laid to. */
struct sp_labels {
	struct sp_labelled *items;
	size_t len;
	size_t size;
};

/*
 * Between begin and end every thing that is there is named once; what is new gets `label`,
 * what was not named is forgotten.
 */
void sp_labels_begin(struct sp_labels *labels);
void sp_labels_see(struct sp_labels *labels, const char *name, const char *label);
void sp_labels_end(struct sp_labels *labels);
/* Number of things that are not of the base. */
size_t sp_labels_count(const struct sp_labels *labels);
void sp_labels_done(struct sp_labels *labels);

#endif
