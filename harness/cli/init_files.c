/* SPDX-License-Identifier: MIT */
#include <cli/init_files.h>

#include <base/cleanup.h>

/* Each file as read-only bytes, ended by a NUL. */
#define INIT_FILE(n, lang, kind, target, mode, source)                                             \
	__asm__(".pushsection .rodata\n"                                                           \
		"cli_init_text_" #n ":\n"                                                          \
		".incbin \"" source "\"\n"                                                         \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char cli_init_text_##n[];
#include "init_files.inc"
#undef INIT_FILE

#define INIT_FILE(n, lang, kind, target, mode, source)                                             \
	{ lang, kind, target, mode, cli_init_text_##n },
static const struct cli_init_file files[] = {
#include "init_files.inc"
};

const struct cli_init_file *cli_init_files(size_t *ret_len)
{
	*ret_len = SP_COUNT(files);
	return files;
}
