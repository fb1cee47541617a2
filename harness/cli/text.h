/* SPDX-License-Identifier: MIT */
/* Text for people: terminals, colours, columns, wrapping, and messages. */
#ifndef SP_CLI_TEXT_H
#define SP_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <base/buf.h>

/* How one stream is written to. */
struct cli_style {
	/* Colours and weights. */
	bool colour;
	/* A terminal that can redraw: live progress. */
	bool live;
	/* Characters beyond ASCII. */
	bool utf8;
	/* Columns; 0: unknown, do not cut. */
	unsigned width;
};

/* Style of a stream: terminal or not, NO_COLOR, CI, TERM=dumb, the locale's character set. */
struct cli_style cli_style_of(FILE *stream);

/* Width for prose on a stream: that of the terminal, between 60 and 100, else 100. */
unsigned cli_prose_width(FILE *stream);

/* What a text stands for; plain without colour. */
enum cli_ink {
	CLI_PLAIN = 0,
	CLI_BOLD,
	CLI_DIM,
	CLI_GREEN,
	CLI_RED,
	CLI_YELLOW,
	CLI_CYAN,
};

/* Appends text in an ink. */
void cli_text_ink(struct sp_buf *out, const struct cli_style *style, enum cli_ink ink,
		  const char *text);

/*
 * Appends foreign text so that it cannot command a terminal: control bytes and invalid UTF-8 become
 * \xNN; newlines and tabs stay.
 */
void cli_text_safe(struct sp_buf *out, const char *text);

/* Columns of text between out->data[start] and the end: code points, escapes not counted. */
size_t cli_text_columns(const struct sp_buf *out, size_t start);

/* Fills with blanks until the text since `start` has `columns`; at least one blank. */
void cli_text_pad(struct sp_buf *out, size_t start, size_t columns);

/*
 * Appends words wrapped at `width` (0: never); the cursor stands at `column`, further lines begin
 * at `indent`. Newlines in the text are kept.
 */
void cli_text_wrap(struct sp_buf *out, const char *text, size_t column, size_t indent,
		   unsigned width);

/* Cuts a one-line text to `columns` with "…" (or "...") at its end; appends it. */
void cli_text_cut(struct sp_buf *out, const struct cli_style *style, const char *text,
		  size_t columns);

/* Appends one word of a shell command, quoted only where it must be. */
void cli_text_word(struct sp_buf *out, const char *word);

/* Prints "sandproof: MESSAGE" on stderr, wrapped never, foreign text made safe. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
