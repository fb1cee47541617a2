/* SPDX-License-Identifier: MIT */
/* Text into XML 1.0, so that no text makes the file unreadable. */
#ifndef SP_REPORTS_XML_H
#define SP_REPORTS_XML_H

#include <stddef.h>

#include <base/buf.h>

/*
 * Appends text without terminal colours and titles (ANSI escapes), and with
 * everything that XML forbids made visible: a byte as \x1b, a code point as
 * \ufffe. Not yet escaped. Returns 0 or the buffer's error.
 */
int sp_xml_clean(struct sp_buf *buf, const char *text, size_t len);

/* Appends text (NULL is empty) as content of an element, cleaned and escaped. */
int sp_xml_text(struct sp_buf *buf, const char *text);
/* Same, as value of an attribute between double quotes; newlines and tabs are kept as references.
 */
int sp_xml_attribute(struct sp_buf *buf, const char *text);

#endif
