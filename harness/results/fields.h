/* SPDX-License-Identifier: MIT */
/*
 * The fields of each kind of line, in one table: the writer, the reader and
 * the check of the committed schema all walk it, so they cannot disagree.
 */
#ifndef SP_RESULTS_FIELDS_H
#define SP_RESULTS_FIELDS_H

#include <results/results.h>

/* What stands in the line, and what it is in the struct. */
enum sp_field_kind {
	/* String; char *, NULL is left out unless required. */
	SP_FIELD_TEXT = 0,
	/* Array of strings; char *, joined by spaces. */
	SP_FIELD_WORDS,
	/* Any JSON value; char * with its text as it stands, NULL is null. */
	SP_FIELD_JSON,
	/* String of decimal digits, since a JSON number loses digits above 2^53; uint64_t. */
	SP_FIELD_DIGITS,
	/* Integers by the width of the member. */
	SP_FIELD_INT,
	SP_FIELD_UNSIGNED,
	SP_FIELD_INT64,
	SP_FIELD_UINT64,
	SP_FIELD_SIZE,
	/* true or false; bool. */
	SP_FIELD_BOOL,
	/* String with a verdict's name; enum sp_verdict. */
	SP_FIELD_VERDICT,
};

/* One member of a line: its name and where its value lies in the struct. */
struct sp_field {
	const char *name;
	enum sp_field_kind kind;
	size_t offset;
	bool required;
};

/* The kinds of lines. */
enum sp_line_kind {
	SP_LINE_RUN = 0,
	SP_LINE_CASE,
	SP_LINE_LEAK,
	SP_LINE_DEFECT,
	SP_LINE_END,
	SP_LINE_MAX_,
};

struct sp_line {
	/* Value of the member "type". */
	const char *type;
	const struct sp_field *fields;
	size_t n_fields;
	/* Bytes of the struct that the offsets are of. */
	size_t size;
};

/* The table of one kind; never NULL for a valid kind. */
const struct sp_line *sp_line_of(enum sp_line_kind kind);
/* JSON type of a field as the schema names it ("string", "array", "integer", "boolean", "any"). */
const char *sp_field_json_type(enum sp_field_kind kind);
/* Kind of a line by the value of its member "type", or -1. */
int sp_line_kind_of(const char *type, size_t len);

#endif
