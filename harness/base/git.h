/* SPDX-License-Identifier: MIT */
/*
 * Git helpers over exec (sandbox-contract 1.7), for providers whose platform has none of its own.
 */
#ifndef SP_BASE_GIT_H
#define SP_BASE_GIT_H

#include <sandproof/sandbox.h>

/*
 * Runs one git verb through the sandbox's exec. The token is in the environment
 * of that one command and nowhere else: git asks for it through a helper.
 * SP_INVALID: an unknown verb, a value that starts with '-', a URL with a
 * password in it, or a value that the verb needs and lacks; nothing ran.
 * SP_IO: git failed, its words are the detail (the token blotted out).
 */
int sp_git_over_exec(struct sp_sandbox *sandbox, const struct sp_git_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err);

#endif
