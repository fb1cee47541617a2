/* SPDX-License-Identifier: MIT */
/* What `sandproof init` writes; made from init/manifest. */
#ifndef SP_CLI_INIT_FILES_H
#define SP_CLI_INIT_FILES_H

#include <stddef.h>
#include <sys/types.h>

/* A file of new projects. */
struct cli_init_file {
	/* "part": no file of a project, but what @TARGET@ in one stands for. */
	const char *lang;
	/* A kind of subject, "suite", or "*" for every kind that the language has. */
	const char *kind;
	/* Path in the new project. */
	const char *target;
	mode_t mode;
	/* Its text, in which @NAME@ stands for the project's name. */
	const char *text;
};

/* All of them, in the order of the manifest. */
const struct cli_init_file *cli_init_files(size_t *ret_len);

#endif
