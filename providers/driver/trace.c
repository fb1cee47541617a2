/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <redact/redact.h>

#include "value.h"

struct drv_trace {
	int fd;
	/* Tells the dialogues of a file apart. */
	char driver[13];
	pthread_mutex_t lock;
	struct sp_redact *redact;
};

int drv_trace_open(const char *path, struct drv_trace **ret_trace, struct sp_error *err)
{
	struct drv_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	pthread_mutex_init(&trace->lock, NULL);
	sp_random_id(trace->driver, sizeof(trace->driver) - 1);
	trace->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (trace->fd < 0)
		sp_error_set_errno(err, errno, "the trace %s cannot be written", path);
	else if (!(trace->redact = sp_redact_new()))
		sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!trace->redact) {
		drv_trace_close(trace);
		return err ? err->code : SP_IO;
	}
	*ret_trace = trace;
	return 0;
}

void drv_trace_close(struct drv_trace *trace)
{
	if (!trace)
		return;
	sp_close(trace->fd);
	sp_redact_free(trace->redact);
	pthread_mutex_destroy(&trace->lock);
	free(trace);
}

/* Remembers a value that is a secret, in whichever form it stands. */
static void add_secret(struct drv_trace *trace, const cJSON *value)
{
	const char *encoded = sp_json_str(value, "base64");
	struct sp_buf bytes SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;

	if (cJSON_IsString(value))
		sp_redact_add(trace->redact, value->valuestring);
	else if (encoded && !sp_buf_add_unbase64(&bytes, encoded, strlen(encoded)))
		sp_redact_add(trace->redact, sp_buf_str(&bytes));
}

/* What a message holds that nobody else may read: variables' values and tokens. */
static void learn(struct drv_trace *trace, const char *line, size_t len)
{
	cJSON *message SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *body, *at;

	if (!memmem(line, len, "\"env\":", 6) && !memmem(line, len, "\"token\":", 8))
		return;
	if (sp_json_parse(line, len, DRV_MAX_FRAME, &message, NULL))
		return;
	body = cJSON_GetObjectItemCaseSensitive(message, "params");
	if (!body)
		body = cJSON_GetObjectItemCaseSensitive(message, "result");
	cJSON_ArrayForEach(at, cJSON_GetObjectItemCaseSensitive(body, "env")) add_secret(trace, at);
	add_secret(trace, cJSON_GetObjectItemCaseSensitive(body, "token"));
}

void drv_trace_add(struct drv_trace *trace, bool sent, const char *line, size_t len)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(2 * DRV_MAX_FRAME);
	bool whole;

	if (!trace)
		return;
	whole = !sp_json_scan(line, len, DRV_MAX_FRAME, NULL);
	learn(trace, line, len);
	sp_buf_addf(&out, "{\"driver\":\"%s\",\"%s\":", trace->driver,
		    whole ? sent ? "sent" : "received" : "refused");
	/* A line that is no message is evidence all the same, as text. */
	if (whole)
		sp_redact_text(trace->redact, line, len, &out);
	else
		sp_buf_add_json(&out, line, len);
	sp_buf_adds(&out, "}\n");
	pthread_mutex_lock(&trace->lock);
	if (!out.error)
		(void)sp_write_all(trace->fd, out.data, out.len);
	pthread_mutex_unlock(&trace->lock);
}
