/* SPDX-License-Identifier: MIT */
#include <ci/bench_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/json.h>
#include <providers/render/http/http.h>

#define ANSWER_MAX ((size_t)1 << 20)

char *bench_ask(struct bench_place *place, const char *bearer, const char *method, const char *url,
		 const char *body, const char *member)
{
	const struct sp_http_header json_header = { "Content-Type", "application/json" };
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_buf answer SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(ANSWER_MAX);
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;
	struct sp_http_stream stream;
	char piece[4096];
	size_t n = 0;

	request.method = method;
	request.url = url;
	request.bearer = bearer;
	request.headers = &json_header;
	request.n_headers = 1;
	request.body = body;
	request.body_len = body ? strlen(body) : 0;
	if (place->transport.ops->open(place->transport.self, &request, &stream, &err))
		bench_die(url, &err);
	while (!stream.ops->read(stream.self, piece, sizeof(piece), &n, NULL, &err) && n)
		sp_buf_add(&answer, piece, n);
	if (stream.ops->status(stream.self) >= 300)
		bench_die(sp_buf_str(&answer), NULL);
	stream.ops->close(stream.self);
	if (!member)
		return NULL;
	if (sp_json_parse(sp_buf_str(&answer), answer.len, ANSWER_MAX, &json, &err))
		bench_die(url, &err);
	return strdup(sp_json_str(json, member) ? sp_json_str(json, member) : "");
}

char *bench_api(struct bench_place *place, const char *method, const char *path, const char *body,
		 const char *member)
{
	char *url SP_FREE = NULL;

	if (asprintf(&url, "http://localhost/v1/%s", path) < 0)
		bench_die("no memory", NULL);
	return bench_ask(place, place->fake.api_key, method, url, body, member);
}

void bench_await(struct bench_place *place, const char *path, const char *expected)
{
	/* A minute turns what never comes into a failure. */
	for (unsigned looks = 0; looks < 30000; looks++) {
		char *status SP_FREE = bench_api(place, "GET", path, NULL, "status");

		if (!strcmp(status, expected))
			return;
		if (strcmp(status, "creating"))
			bench_die(status, NULL);
		usleep(2000);
	}
	bench_die("it is still being created", NULL);
}

char *bench_make(struct bench_place *place, const char *snapshot)
{
	char body[256], path[64];

	snprintf(body, sizeof(body), "{\"ownerId\":\"%s\"%s%s%s}", place->fake.workspace_id,
		 snapshot ? ",\"snapshotId\":\"" : "", snapshot ? snapshot : "",
		 snapshot ? "\"" : "");
	char *id = bench_api(place, "POST", "sandboxes", body, "id");

	snprintf(path, sizeof(path), "sandboxes/%s", id);
	bench_await(place, path, "running");
	return id;
}

void bench_end(struct bench_place *place, const char *id)
{
	char path[64];

	snprintf(path, sizeof(path), "sandboxes/%s/terminate", id);
	bench_api(place, "POST", path, NULL, NULL);
}

char *bench_mint(struct bench_place *place, const char *id, const char *kind, char **ret_token)
{
	struct sp_buf path SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&path, "sandboxes/%s/runs/%s/token", id, kind);
	*ret_token = bench_api(place, "POST", sp_buf_str(&path), "{}", "token");
	sp_buf_clear(&path);
	sp_buf_addf(&path, "http://localhost/proxy/%s/runs/%s", id, kind);
	return strdup(sp_buf_str(&path));
}

void bench_call(struct bench_place *place, const char *id, const char *command)
{
	struct sp_buf body SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char *token SP_FREE = NULL;
	char *url SP_FREE = bench_mint(place, id, "sync", &token);

	sp_buf_adds(&body, "{\"command\":");
	sp_buf_add_json(&body, command, strlen(command));
	sp_buf_addc(&body, '}');
	char *said SP_FREE = bench_ask(place, token, "POST", url, sp_buf_str(&body), "stdout");

	if (strcmp(said, "ok\n"))
		bench_die(command, NULL);
}

double bench_place_memory(const struct bench_place *place, const char *name)
{
	char path[64], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)place->fake.child.pid);
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		fclose(file);
	text[n] = '\0';
	const char *at = strstr(text, name);

	return at ? (double)strtol(at + strlen(name), NULL, 10) / 1024 : 0;
}

void bench_place_open(const struct bench *bench, struct bench_place *place)
{
	struct sp_http_options http = SP_HTTP_OPTIONS_INIT;
	struct sp_error err = SP_ERROR_INIT;

	*place = (struct bench_place){ .fake = CLI_FAKE_INIT };
	if (cli_fake_start(&place->fake, bench->program, &err))
		bench_die("fake-api", &err);
	http.unix_path = place->fake.base_url + 5;
	if (sp_http_transport_open(&http, &place->transport, &err))
		bench_die("transport", &err);
}

void bench_place_close(struct bench_place *place)
{
	place->transport.ops->close(place->transport.self);
	cli_fake_stop(&place->fake);
	free(place->group);
}
