/* SPDX-License-Identifier: MIT */
#include <results/results.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>
#include <base/json.h>
#include <results/fields.h>

#define FILE_MAX (1024UL * 1024 * 1024)
#define LINE_MAX_BYTES (16UL * 1024 * 1024)

/* Where the reader is, for messages. */
struct reader {
	const char *path;
	size_t line;
	struct sp_error *err;
};

static int bad(const struct reader *r, const char *name, const char *what)
{
	return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: \"%s\" %s", r->path, r->line, name,
			    what);
}

static int read_text(const struct reader *r, const char *name, const cJSON *item, char **ret)
{
	if (!cJSON_IsString(item))
		return bad(r, name, "is not a string");
	*ret = strdup(item->valuestring);
	return *ret ? 0 : sp_error_set(r->err, SP_INTERNAL, "no memory");
}

static int read_words(const struct reader *r, const char *name, const cJSON *item, char **ret)
{
	struct sp_buf words SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LINE_MAX_BYTES);
	const cJSON *word;

	if (!cJSON_IsArray(item))
		return bad(r, name, "is not an array");
	cJSON_ArrayForEach(word, item) {
		if (!cJSON_IsString(word))
			return bad(r, name, "holds something else than strings");
		sp_buf_addf(&words, "%s%s", words.len ? " " : "", word->valuestring);
	}
	*ret = sp_buf_take(&words, NULL);
	return *ret ? 0 : sp_error_set(r->err, SP_INTERNAL, "no memory");
}

static int read_json(const struct reader *r, const cJSON *item, char **ret)
{
	if (cJSON_IsNull(item))
		return 0;
	*ret = cJSON_PrintUnformatted(item);
	return *ret ? 0 : sp_error_set(r->err, SP_INTERNAL, "no memory");
}

static int read_digits(const struct reader *r, const char *name, const cJSON *item, uint64_t *ret)
{
	const char *text = cJSON_IsString(item) ? item->valuestring : "";
	char *end = NULL;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return bad(r, name, "is not a string of digits");
	*ret = value;
	return 0;
}

static int read_int(const struct reader *r, const struct sp_field *field, const cJSON *object,
		    void *to)
{
	int64_t low = field->kind == SP_FIELD_INT ? INT_MIN : field->kind == SP_FIELD_INT64 ?
							     INT64_MIN : 0;
	int64_t high = field->kind == SP_FIELD_INT ? INT_MAX :
		       field->kind == SP_FIELD_UNSIGNED ? (int64_t)UINT_MAX : INT64_MAX;
	int64_t value;

	if (!sp_json_int(object, field->name, &value))
		return bad(r, field->name, "is not an integer");
	if (value < low || value > high)
		return bad(r, field->name, "is out of range");
	if (field->kind == SP_FIELD_INT)
		*(int *)to = (int)value;
	else if (field->kind == SP_FIELD_UNSIGNED)
		*(unsigned *)to = (unsigned)value;
	else if (field->kind == SP_FIELD_SIZE)
		*(size_t *)to = (size_t)value;
	else
		*(int64_t *)to = value;
	return 0;
}

static int read_verdict(const struct reader *r, const char *name, const cJSON *item,
			enum sp_verdict *ret)
{
	int verdict = cJSON_IsString(item) ? sp_verdict_from_name(item->valuestring) : -1;

	if (verdict < 0)
		return bad(r, name, "is not a verdict");
	*ret = (enum sp_verdict)verdict;
	return 0;
}

static int read_field(const struct reader *r, const struct sp_field *field, const cJSON *object,
		      void *record)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, field->name);
	void *to = (char *)record + field->offset;

	if (!item)
		return field->required ? bad(r, field->name, "is missing") : 0;
	switch (field->kind) {
	case SP_FIELD_TEXT:
		return read_text(r, field->name, item, to);
	case SP_FIELD_WORDS:
		return read_words(r, field->name, item, to);
	case SP_FIELD_JSON:
		return read_json(r, item, to);
	case SP_FIELD_DIGITS:
		return read_digits(r, field->name, item, to);
	case SP_FIELD_INT:
	case SP_FIELD_UNSIGNED:
	case SP_FIELD_INT64:
	case SP_FIELD_UINT64:
	case SP_FIELD_SIZE:
		return read_int(r, field, object, to);
	case SP_FIELD_BOOL:
		return sp_json_bool(object, field->name, to) ?
			       0 : bad(r, field->name, "is not true or false");
	case SP_FIELD_VERDICT:
		return read_verdict(r, field->name, item, to);
	}
	return 0;
}

static int read_record(const struct reader *r, enum sp_line_kind kind, const cJSON *object,
		       void *record)
{
	const struct sp_line *line = sp_line_of(kind);
	int rc = 0;

	for (size_t i = 0; !rc && i < line->n_fields; i++)
		rc = read_field(r, &line->fields[i], object, record);
	if (rc)
		sp_line_done(kind, record);
	return rc;
}

/* Room for one more element, zeroed; NULL without memory. */
static void *one_more(void *array_, size_t *len, size_t size)
{
	void **array = array_;
	char *grown;

	/* Grows at powers of two. */
	if (!(*len & (*len - 1))) {
		grown = reallocarray(*array, *len ? *len * 2 : 1, size);
		if (!grown)
			return NULL;
		*array = grown;
	}
	return memset((char *)*array + *len * size, 0, size);
}

static int read_run(const struct reader *r, const cJSON *object, struct sp_results *results)
{
	int64_t version = 0;

	if (results->run.schema_version)
		return bad(r, "run", "is there a second time");
	if (sp_json_int(object, "schema_version", &version) && version != SP_RESULTS_SCHEMA_VERSION)
		return sp_error_set(r->err, SP_PROTOCOL,
				    "%s has schema_version %lld, this program reads version %d",
				    r->path, (long long)version, SP_RESULTS_SCHEMA_VERSION);
	return read_record(r, SP_LINE_RUN, object, &results->run);
}

/* A line of a kind that is appended to an array. */
static int read_element(const struct reader *r, enum sp_line_kind kind, const cJSON *object,
			void *array, size_t *len)
{
	void *record = one_more(array, len, sp_line_of(kind)->size);
	int rc;

	if (!record)
		return sp_error_set(r->err, SP_INTERNAL, "no memory");
	rc = read_record(r, kind, object, record);
	if (!rc)
		++*len;
	return rc;
}

static int read_line(const struct reader *r, const char *text, size_t len,
		     struct sp_results *results)
{
	cJSON *object SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error why = SP_ERROR_INIT;
	const char *type;

	if (sp_json_parse(text, len, LINE_MAX_BYTES, &object, &why))
		return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: %s", r->path, r->line,
				    why.message);
	type = sp_json_str(object, "type");
	if (!type)
		return bad(r, "type", "is missing");
	if (r->line == 1 && strcmp(type, "run"))
		return sp_error_set(r->err, SP_PROTOCOL, "%s does not begin with a run line",
				    r->path);
	if (results->complete)
		return sp_error_set(r->err, SP_PROTOCOL, "%s, line %zu: more after the end",
				    r->path, r->line);
	if (!strcmp(type, "run"))
		return read_run(r, object, results);
	if (!strcmp(type, "case"))
		return read_element(r, SP_LINE_CASE, object, &results->cases, &results->n_cases);
	if (!strcmp(type, "leak"))
		return read_element(r, SP_LINE_LEAK, object, &results->leaks, &results->n_leaks);
	if (!strcmp(type, "end")) {
		results->complete = true;
		return read_record(r, SP_LINE_END, object, &results->end);
	}
	/* Known to the format, not read by anybody here yet. */
	return strcmp(type, "defect") ? bad(r, "type", "is not known") : 0;
}

static void count_case(const struct sp_result_case *result, struct sp_result_end *end)
{
	switch (result->verdict) {
	case SP_PASS:
		end->passed++;
		break;
	case SP_FAIL:
		end->failed++;
		break;
	case SP_WARN:
		end->warned++;
		break;
	case SP_SKIP:
		end->skipped++;
		break;
	case SP_XFAIL:
		end->xfailed++;
		break;
	case SP_XPASS:
		end->xpassed++;
		break;
	case SP_ERROR:
	case SP_VERDICT_MAX_:
		end->errors++;
		break;
	}
}

/* What a cut-off file can still say about its end. */
static void reconstruct_end(struct sp_results *results)
{
	struct sp_result_end *end = &results->end;

	memset(end, 0, sizeof(*end));
	end->leaks = results->n_leaks;
	end->interrupted = true;
	for (size_t i = 0; i < results->n_cases; i++) {
		const struct sp_result_case *result = &results->cases[i];
		int64_t until = result->start + result->duration_ms - results->run.start;

		count_case(result, end);
		if (until > end->duration_ms)
			end->duration_ms = until;
	}
}

int sp_results_read(const char *path, struct sp_results *ret_results, struct sp_error *err)
{
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_results results SP_CLEANUP(sp_results_done) = { 0 };
	struct reader r = { .path = path, .err = err };
	const char *at, *end;
	int rc = sp_read_file(path, FILE_MAX, &bytes, err);

	if (rc)
		return rc;
	at = (const char *)bytes.data;
	for (; (end = memchr(at, '\n', bytes.len - (size_t)(at - (char *)bytes.data))); at = end + 1) {
		r.line++;
		rc = read_line(&r, at, (size_t)(end - at), &results);
		if (rc)
			return rc;
	}
	if (!r.line)
		return sp_error_set(err, SP_PROTOCOL, "%s holds no whole line", path);
	if (!results.complete)
		reconstruct_end(&results);
	*ret_results = results;
	memset(&results, 0, sizeof(results));
	return 0;
}

void sp_results_done(struct sp_results *results)
{
	for (size_t i = 0; i < results->n_cases; i++)
		sp_line_done(SP_LINE_CASE, &results->cases[i]);
	for (size_t i = 0; i < results->n_leaks; i++)
		sp_line_done(SP_LINE_LEAK, &results->leaks[i]);
	sp_line_done(SP_LINE_RUN, &results->run);
	free(results->cases);
	free(results->leaks);
	memset(results, 0, sizeof(*results));
}
