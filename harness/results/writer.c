/* SPDX-License-Identifier: MIT */
#include <results/results.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <results/fields.h>

/* Longest line; evidence is bounded far below it by whoever made it. */
#define LINE_CEILING (4 * 1024 * 1024)

struct sp_results_writer {
	int fd;
	/*
	 * -errno of the first write that failed. Nothing follows it: a line after
	 * half a line would be lost too.
	 */
	int error;
	struct sp_buf line;
};

int sp_results_create(const char *path, struct sp_results_writer **ret_writer, struct sp_error *err)
{
	struct sp_results_writer *writer;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);

	if (fd < 0)
		return sp_error_set_errno(err, errno, "cannot write the results to %s", path);
	writer = calloc(1, sizeof(*writer));
	if (!writer) {
		sp_close(fd);
		return sp_error_set(err, SP_INTERNAL, "no memory for the results writer");
	}
	writer->fd = fd;
	writer->line.ceiling = LINE_CEILING;
	*ret_writer = writer;
	return 0;
}

static void add_text(struct sp_buf *buf, const char *text)
{
	sp_buf_add_json(buf, text ? text : "", text ? strlen(text) : 0);
}

static void add_words(struct sp_buf *buf, const char *words)
{
	const char *between = "";

	sp_buf_addc(buf, '[');
	for (words = words ? words : ""; *words;) {
		size_t len = strcspn(words, " ");

		if (len) {
			sp_buf_adds(buf, between);
			sp_buf_add_json(buf, words, len);
			between = ",";
		}
		words += len + (words[len] == ' ');
	}
	sp_buf_addc(buf, ']');
}

static void add_value(struct sp_buf *buf, const struct sp_field *field, const void *at)
{
	switch (field->kind) {
	case SP_FIELD_TEXT:
		add_text(buf, *(char *const *)at);
		break;
	case SP_FIELD_WORDS:
		add_words(buf, *(char *const *)at);
		break;
	case SP_FIELD_JSON:
		sp_buf_adds(buf, *(char *const *)at ? *(char *const *)at : "null");
		break;
	case SP_FIELD_DIGITS:
		sp_buf_addf(buf, "\"%" PRIu64 "\"", *(const uint64_t *)at);
		break;
	case SP_FIELD_INT:
		sp_buf_addf(buf, "%d", *(const int *)at);
		break;
	case SP_FIELD_UNSIGNED:
		sp_buf_addf(buf, "%u", *(const unsigned *)at);
		break;
	case SP_FIELD_INT64:
		sp_buf_addf(buf, "%" PRId64, *(const int64_t *)at);
		break;
	case SP_FIELD_UINT64:
		sp_buf_addf(buf, "%" PRIu64, *(const uint64_t *)at);
		break;
	case SP_FIELD_SIZE:
		sp_buf_addf(buf, "%zu", *(const size_t *)at);
		break;
	case SP_FIELD_BOOL:
		sp_buf_adds(buf, *(const bool *)at ? "true" : "false");
		break;
	case SP_FIELD_VERDICT:
		add_text(buf, sp_verdict_name(*(const enum sp_verdict *)at));
		break;
	}
}

/*
 * One line is one write, so that a reader never sees two of them mixed and a
 * crash loses at most the last.
 */
static int write_line(struct sp_results_writer *writer, enum sp_line_kind kind, const void *record)
{
	const struct sp_line *line = sp_line_of(kind);
	struct sp_buf *buf = &writer->line;

	if (writer->error)
		return writer->error;
	sp_buf_clear(buf);
	sp_buf_addf(buf, "{\"type\":\"%s\"", line->type);
	for (size_t i = 0; i < line->n_fields; i++) {
		const struct sp_field *field = &line->fields[i];
		const void *at = (const char *)record + field->offset;

		if (!field->required && !*(char *const *)at)
			continue;
		sp_buf_addf(buf, ",\"%s\":", field->name);
		add_value(buf, field, at);
	}
	sp_buf_adds(buf, "}\n");
	writer->error = buf->error ? buf->error : sp_write_all(writer->fd, buf->data, buf->len);
	return writer->error;
}

int sp_results_write_run(struct sp_results_writer *writer, const struct sp_result_run *run)
{
	return write_line(writer, SP_LINE_RUN, run);
}

int sp_results_write_case(struct sp_results_writer *writer, const struct sp_result_case *result)
{
	return write_line(writer, SP_LINE_CASE, result);
}

int sp_results_write_leak(struct sp_results_writer *writer, const struct sp_result_leak *leak)
{
	return write_line(writer, SP_LINE_LEAK, leak);
}

int sp_results_write_defect(struct sp_results_writer *writer, const struct sp_result_defect *defect)
{
	return write_line(writer, SP_LINE_DEFECT, defect);
}

int sp_results_write_end(struct sp_results_writer *writer, const struct sp_result_end *end)
{
	return write_line(writer, SP_LINE_END, end);
}

int sp_results_close(struct sp_results_writer *writer)
{
	int error;

	if (!writer)
		return 0;
	error = writer->error;
	/* Some file systems tell of a full disk only here. */
	if (close(writer->fd) && !error)
		error = -errno;
	sp_buf_done(&writer->line);
	free(writer);
	return error;
}
