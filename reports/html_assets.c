/* SPDX-License-Identifier: MIT */
#include <reports/html_parts.h>

/* A file as read-only bytes, ended by a NUL. */
#define EMBED(symbol, file)                                                                        \
	__asm__(".pushsection .rodata\n"                                                           \
		".global " #symbol "\n" #symbol ":\n"                                              \
		".incbin \"" SP_HTML_DIR "/" file "\"\n"                                           \
		".byte 0\n"                                                                        \
		".popsection\n")

EMBED(sp_html_css, "page.css");
EMBED(sp_html_js, "page.js");
