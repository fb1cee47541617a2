/* SPDX-License-Identifier: MIT */
#include <control/answers.h>

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>

/* A body as the backend keeps it. */
#define BODY_MAX ((size_t)1 << 20)

static int strange(const char *what, struct sp_error *err)
{
	return sp_error_set(err, SP_PROTOCOL, "control: %s is missing or of another type", what);
}

static int no_memory(struct sp_error *err)
{
	return sp_error_set(err, SP_INTERNAL, "out of memory");
}

static void request_done(struct sp_control_request *request)
{
	free(request->method);
	free(request->target);
	free(request->headers);
	sp_bytes_done(&request->body);
}

static int copy(const cJSON *json, const char *name, char **field, struct sp_error *err)
{
	const char *text = sp_json_str(json, name);

	if (!text)
		return strange(name, err);
	*field = strdup(text);
	return *field ? 0 : no_memory(err);
}

static int read_body(const cJSON *json, struct sp_bytes *body, struct sp_error *err)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(BODY_MAX);
	const char *text = sp_json_str(json, "body");

	if (!text || sp_buf_add_unbase64(&buf, text, strlen(text)))
		return strange("body", err);
	return sp_buf_take_bytes(&buf, body) ? no_memory(err) : 0;
}

static int read_request(const cJSON *json, struct sp_control_request *request,
			struct sp_error *err)
{
	int rc = copy(json, "method", &request->method, err);

	if (!rc)
		rc = copy(json, "target", &request->target, err);
	if (!rc)
		rc = copy(json, "headers", &request->headers, err);
	if (!rc && !sp_json_bool(json, "cut", &request->cut))
		rc = strange("cut", err);
	return rc ? rc : read_body(json, &request->body, err);
}

static int take_line(struct request_reader *reader, struct sp_error *err)
{
	struct sp_control_requests *list = &reader->list;
	struct sp_control_request request = { .method = NULL };
	struct sp_control_request *longer;
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	int rc = sp_json_parse(sp_buf_str(&reader->line), reader->line.len, reader->line.ceiling,
			       &json, err);

	sp_buf_clear(&reader->line);
	if (!rc)
		rc = read_request(json, &request, err);
	longer = rc ? NULL : reallocarray(list->items, list->len + 1, sizeof(*longer));
	if (!longer) {
		request_done(&request);
		return rc ? rc : no_memory(err);
	}
	list->items = longer;
	list->items[list->len++] = request;
	return 0;
}

int request_reader_add(struct request_reader *reader, const char *data, size_t len,
		       struct sp_error *err)
{
	const char *end = data + len;
	int rc = 0;

	while (!rc && data < end) {
		const char *lf = memchr(data, '\n', (size_t)(end - data));
		size_t n = (size_t)((lf ? lf : end) - data);

		if (sp_buf_add(&reader->line, data, n))
			return sp_error_set(err, SP_PROTOCOL,
					    "control: a line of the log is too long");
		data += n + (lf != NULL);
		if (lf)
			rc = take_line(reader, err);
	}
	return rc;
}

int request_reader_take(struct request_reader *reader, struct sp_control_requests *ret_requests,
			struct sp_error *err)
{
	if (reader->line.len)
		return sp_error_set(err, SP_PROTOCOL, "control: the log was cut off");
	*ret_requests = reader->list;
	reader->list = (struct sp_control_requests)SP_CONTROL_REQUESTS_INIT;
	return 0;
}

void request_reader_done(struct request_reader *reader)
{
	sp_buf_done(&reader->line);
	sp_control_requests_done(&reader->list);
}

static int count(const cJSON *json, const char *name, size_t *ret, struct sp_error *err)
{
	int64_t value;

	if (!sp_json_int(json, name, &value) || value < 0)
		return strange(name, err);
	*ret = (size_t)value;
	return 0;
}

static int read_sandbox(const cJSON *json, struct sp_census_sandbox *sandbox, struct sp_error *err)
{
	int rc = copy(json, "id", &sandbox->id, err);

	if (!rc)
		rc = copy(json, "state", &sandbox->state, err);
	if (!rc)
		rc = count(json, "processes", &sandbox->processes, err);
	if (!rc)
		rc = count(json, "commands", &sandbox->commands, err);
	return rc ? rc : count(json, "files", &sandbox->files, err);
}

static int read_sandboxes(const cJSON *array, struct sp_census *census, struct sp_error *err)
{
	const cJSON *item;
	int rc = 0;

	if (!cJSON_IsArray(array))
		return strange("sandboxes", err);
	census->sandboxes =
		calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*census->sandboxes));
	if (!census->sandboxes)
		return no_memory(err);
	cJSON_ArrayForEach (item, array)
		if (!rc)
			rc = read_sandbox(item, &census->sandboxes[census->n_sandboxes++], err);
	return rc;
}

static int read_snapshot(const cJSON *json, struct sp_census_snapshot *snapshot,
			 struct sp_error *err)
{
	const char *name = sp_json_str(json, "name");
	int rc = copy(json, "id", &snapshot->id, err);

	if (!rc)
		rc = copy(json, "sandbox_id", &snapshot->sandbox_id, err);
	if (!rc)
		rc = copy(json, "kind", &snapshot->kind, err);
	if (!rc)
		rc = copy(json, "status", &snapshot->status, err);
	if (!rc && name) {
		snapshot->name = strdup(name);
		rc = snapshot->name ? 0 : no_memory(err);
	}
	return rc;
}

/* Backends that only count them have no list. */
static int read_snapshots(const cJSON *array, struct sp_census *census, struct sp_error *err)
{
	const cJSON *item;
	size_t n = 0;
	int rc = 0;

	if (!array)
		return 0;
	if (!cJSON_IsArray(array) || (size_t)cJSON_GetArraySize(array) != census->n_snapshots)
		return strange("snapshot_list", err);
	census->snapshots = calloc(census->n_snapshots + 1, sizeof(*census->snapshots));
	if (!census->snapshots)
		return no_memory(err);
	cJSON_ArrayForEach (item, array)
		if (!rc)
			rc = read_snapshot(item, &census->snapshots[n++], err);
	return rc;
}

static int read_names(const cJSON *array, struct sp_census *census, struct sp_error *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(array))
		return strange("cannot_hold", err);
	census->cannot_hold =
		calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*census->cannot_hold));
	if (!census->cannot_hold)
		return no_memory(err);
	cJSON_ArrayForEach (item, array) {
		char *name;

		if (!cJSON_IsString(item))
			return strange("cannot_hold", err);
		name = strdup(item->valuestring);
		if (!name)
			return no_memory(err);
		census->cannot_hold[census->n_cannot_hold++] = name;
	}
	return 0;
}

int census_read(const cJSON *json, struct sp_census *ret_census, struct sp_error *err)
{
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	size_t commands = 0;
	int rc = read_sandboxes(cJSON_GetObjectItemCaseSensitive(json, "sandboxes"), &census, err);

	if (!rc)
		rc = read_names(cJSON_GetObjectItemCaseSensitive(json, "cannot_hold"), &census,
				err);
	if (!rc)
		rc = count(json, "snapshots", &census.n_snapshots, err);
	if (!rc)
		rc = read_snapshots(cJSON_GetObjectItemCaseSensitive(json, "snapshot_list"),
				    &census, err);
	if (!rc)
		rc = count(json, "holds", &census.n_holds, err);
	if (!rc)
		rc = count(json, "commands_total", &commands, err);
	if (rc)
		return rc;
	census.commands_total = commands;
	*ret_census = census;
	census = (struct sp_census)SP_CENSUS_INIT;
	return 0;
}
