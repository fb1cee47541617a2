/* SPDX-License-Identifier: MIT */
#include "script.h"

#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>

#include "value.h"

/* Largest trace. */
#define TRACE_MAX ((size_t)1 << 30)
/* A message, masked, in its row. */
#define ROW_MAX (2 * DRV_MAX_FRAME)

static const char *const members[] = {"sent", "received", "refused"};

static cJSON *parse_row(const struct drv_script *script, size_t row, struct sp_error *err)
{
	const struct drv_row *at = &script->rows[row];
	cJSON *json = NULL;

	(void)sp_json_parse((const char *)script->text.data + at->at, at->len, ROW_MAX, &json, err);
	return json;
}

cJSON *drv_script_message(const struct drv_script *script, size_t row)
{
	cJSON *json SP_CLEANUP(sp_json_done) = parse_row(script, row, NULL);
	cJSON *message = NULL;

	for (size_t i = 0; !message && i < SP_COUNT(members); i++)
		message = cJSON_DetachItemFromObjectCaseSensitive(json, members[i]);
	return message;
}

/* ---- Dialogues ---- */

static int find_dialogue(struct drv_script *script, const char *name, size_t *ret_index,
			 struct sp_error *err)
{
	struct drv_dialogue *grown;
	size_t i = 0;

	while (i < script->n_dialogues && strcmp(script->dialogues[i].name, name))
		i++;
	if (i == script->n_dialogues) {
		grown = reallocarray(script->dialogues, i + 1, sizeof(*grown));
		if (!grown)
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		script->dialogues = grown;
		grown[i] = (struct drv_dialogue){.n_requests = 0};
		snprintf(grown[i].name, sizeof(grown[i].name), "%s", name);
		script->n_dialogues++;
	}
	*ret_index = i;
	return 0;
}

static int add_request(struct drv_dialogue *dialogue, size_t row, struct sp_error *err)
{
	if (dialogue->n_requests == dialogue->size) {
		size_t size = dialogue->size ? 2 * dialogue->size : 64;
		size_t *grown = reallocarray(dialogue->requests, size, sizeof(*grown));

		if (!grown)
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		dialogue->requests = grown;
		dialogue->size = size;
	}
	dialogue->requests[dialogue->n_requests++] = row;
	return 0;
}

static unsigned part_of(const char *method)
{
	if (!strcmp(method, "initialize"))
		return 0;
	if (!strncmp(method, "store/", 6))
		return DRV_PART_STORE;
	return strncmp(method, "lock/", 5) ? DRV_PART_PROVIDER : DRV_PART_LOCK;
}

/* ---- One row ---- */

static int take_request(struct drv_script *script, struct drv_row *row, const cJSON *message,
			const char *method, struct sp_error *err)
{
	struct drv_dialogue *dialogue = &script->dialogues[row->dialogue];
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
	int64_t id = 0;

	if (params && !cJSON_IsObject(params))
		return sp_error_set(err, SP_PROTOCOL, "its params are no object");
	if (!dialogue->n_requests != !strcmp(method, "initialize"))
		return sp_error_set(err, SP_PROTOCOL, "initialize is not the first request");
	if (!cJSON_HasObjectItem(message, "id")) {
		row->kind = DRV_ROW_NOTICE;
		return 0;
	}
	if (!sp_json_int(message, "id", &id) || id != (int64_t)dialogue->n_requests + 1)
		return sp_error_set(err, SP_PROTOCOL, "the ids of the requests do not count up");
	row->kind = DRV_ROW_REQUEST;
	dialogue->parts |= part_of(method);
	return add_request(dialogue, (size_t)(row - script->rows), err);
}

static int take_answer(struct drv_script *script, struct drv_row *row, const cJSON *message,
		       struct sp_error *err)
{
	const struct drv_dialogue *dialogue = &script->dialogues[row->dialogue];
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(message, "error");
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(message, "result");
	int64_t id = 0;

	row->kind = DRV_ROW_ANSWER;
	if (!error == !result)
		return sp_error_set(err, SP_PROTOCOL, "an answer has one of result and error");
	if (!sp_json_int(message, "id", &id) || id < 1 || id > (int64_t)dialogue->n_requests)
		return sp_error_set(err, SP_PROTOCOL, "an answer to nothing that was asked");
	row->peer = dialogue->requests[id - 1];
	if (script->rows[row->peer].peer != DRV_NO_ROW)
		return sp_error_set(err, SP_PROTOCOL, "a second answer to one request");
	script->rows[row->peer].peer = (size_t)(row - script->rows);
	return 0;
}

static int take_message(struct drv_script *script, struct drv_row *row, const cJSON *json,
			struct sp_error *err)
{
	const cJSON *sent = cJSON_GetObjectItemCaseSensitive(json, "sent");
	const cJSON *message = sent ? sent : cJSON_GetObjectItemCaseSensitive(json, "received");
	const char *version = sp_json_str(message, "jsonrpc");
	const char *method = sp_json_str(message, "method");

	row->kind = DRV_ROW_OTHER;
	if (!message && sp_json_str(json, "refused"))
		return 0;
	/* What is no message of JSON-RPC broke the driver when it came. */
	if (message && !sent && (!version || strcmp(version, "2.0")))
		return 0;
	if (sent && !method && cJSON_HasObjectItem(sent, "error"))
		return 0;
	if (!version || strcmp(version, "2.0") || (sent && !method))
		return sp_error_set(err, SP_PROTOCOL,
				    "it is no row of a trace: {\"driver\": …, \"sent\": MESSAGE} "
				    "or \"received\"");
	if (sent)
		return take_request(script, row, message, method, err);
	if (!method)
		return take_answer(script, row, message, err);
	row->kind = DRV_ROW_HEARD;
	return 0;
}

static int take_row(struct drv_script *script, size_t row, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = parse_row(script, row, err);
	const char *name = sp_json_str(json, "driver");
	int rc;

	if (!json)
		return err->code;
	if (!name || !*name || strlen(name) >= sizeof(script->dialogues->name))
		return sp_error_set(err, SP_PROTOCOL, "its member \"driver\" names no dialogue");
	rc = find_dialogue(script, name, &script->rows[row].dialogue, err);
	if (rc)
		return rc;
	script->dialogues[script->rows[row].dialogue].last_row = row;
	return take_message(script, &script->rows[row], json, err);
}

/* ---- The file ---- */

static int add_row(struct drv_script *script, size_t at, size_t len, struct sp_error *err)
{
	if (script->n_rows == script->size) {
		size_t size = script->size ? 2 * script->size : 256;
		struct drv_row *grown = reallocarray(script->rows, size, sizeof(*grown));

		if (!grown)
			return sp_error_set(err, SP_INTERNAL, "out of memory");
		script->rows = grown;
		script->size = size;
	}
	script->rows[script->n_rows++] = (struct drv_row){.at = at, .len = len, .peer = DRV_NO_ROW};
	return take_row(script, script->n_rows - 1, err);
}

static int take_rows(struct drv_script *script, struct sp_error *err)
{
	const char *text = (const char *)script->text.data;

	for (size_t at = 0; at < script->text.len;) {
		const char *end = memchr(text + at, '\n', script->text.len - at);
		int rc;

		if (!end) {
			script->cut = true;
			return 0;
		}
		rc = add_row(script, at, (size_t)(end - text) - at, err);
		if (rc)
			return rc;
		at = (size_t)(end - text) + 1;
	}
	return 0;
}

int drv_script_read(const char *path, struct drv_script *ret_script, struct sp_error *err)
{
	struct drv_script script = DRV_SCRIPT_INIT;
	struct sp_error why = SP_ERROR_INIT;
	int rc = sp_read_file(path, TRACE_MAX, &script.text, err);

	if (rc)
		return rc;
	rc = take_rows(&script, &why);
	if (rc)
		sp_error_set(err, why.code, "%s:%zu: %s", path, script.n_rows, why.message);
	else if (!script.n_rows)
		rc = sp_error_set(err, SP_PROTOCOL, "%s:1: there is no dialogue in it", path);
	if (rc)
		drv_script_done(&script);
	else
		*ret_script = script;
	return rc;
}

void drv_script_done(struct drv_script *script)
{
	for (size_t i = 0; i < script->n_dialogues; i++)
		free(script->dialogues[i].requests);
	free(script->dialogues);
	free(script->rows);
	sp_bytes_done(&script->text);
	*script = (struct drv_script)DRV_SCRIPT_INIT;
}
