/* SPDX-License-Identifier: MIT */
#include <ci/browser.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <base/json.h>

/* A screenshot of a long page, in base64. */
#define MESSAGE_MAX ((size_t)256 << 20)
/* A browser that says nothing for so long has hung. */
#define PATIENCE_MS 60000
#define PROGRAM "/usr/bin/chromium"

bool browser_is_there(void)
{
	return !access(PROGRAM, X_OK);
}

/* ---- Messages: JSON objects, each ended by a NUL ---- */

static int send_message(struct browser *b, const char *text, struct sp_error *err)
{
	int rc = sp_write_all(b->fd, text, strlen(text) + 1);

	return rc ? sp_error_set_errno(err, -rc, "the browser does not listen") : 0;
}

static int receive_more(struct browser *b, struct sp_error *err)
{
	struct pollfd ready = {.fd = b->fd, .events = POLLIN};
	char *room = sp_buf_reserve(&b->in, 1 << 16);
	ssize_t n;

	if (!room)
		return sp_error_set(err, SP_PROTOCOL, "the browser says too much");
	if (poll(&ready, 1, PATIENCE_MS) == 0)
		return sp_error_set(err, SP_TIMED_OUT, "the browser has been silent for a minute");
	n = read(b->fd, room, 1 << 16);
	if (n <= 0)
		return sp_error_set(err, SP_IO, "the browser went away");
	b->in.len += (size_t)n;
	return 0;
}

static int receive(struct browser *b, cJSON **ret, struct sp_error *err)
{
	size_t seen = 0;

	for (;;) {
		char *end =
		    b->in.len > seen ? memchr(b->in.data + seen, '\0', b->in.len - seen) : NULL;
		int rc;

		if (end) {
			*ret = cJSON_Parse(b->in.data);
			sp_buf_consume(&b->in, (size_t)(end - b->in.data) + 1);
			return *ret ? 0
				    : sp_error_set(err, SP_PROTOCOL, "the browser talks nonsense");
		}
		seen = b->in.len;
		rc = receive_more(b, err);
		if (rc)
			return rc;
	}
}

/* Events are looked at for what went wrong on the page. */
static void take_event(struct browser *b, const cJSON *message)
{
	const char *method = sp_json_str(message, "method");
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
	const cJSON *entry = cJSON_GetObjectItemCaseSensitive(params, "entry");
	const char *level = sp_json_str(entry, "level");
	char *text SP_FREE = NULL;

	if (!method)
		return;
	if (strcmp(method, "Runtime.exceptionThrown") &&
	    (strcmp(method, "Log.entryAdded") || !level || strcmp(level, "error")))
		return;
	text = cJSON_PrintUnformatted(params);
	b->complaints++;
	snprintf(b->complaint, sizeof(b->complaint), "%s", text ? text : method);
}

int browser_call(struct browser *b, const char *method, const char *params, cJSON **ret_result,
		 struct sp_error *err)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_MAX);
	int64_t wanted = ++b->last_id;
	int rc;

	sp_buf_addf(&text, "{\"id\":%lld,\"method\":\"%s\",\"params\":%s", (long long)wanted,
		    method, params ? params : "{}");
	if (*b->session)
		sp_buf_addf(&text, ",\"sessionId\":\"%s\"", b->session);
	sp_buf_addc(&text, '}');
	rc = send_message(b, sp_buf_str(&text), err);
	while (!rc) {
		cJSON *message SP_CLEANUP(sp_json_done) = NULL;
		int64_t id = 0;

		rc = receive(b, &message, err);
		if (rc)
			break;
		if (!sp_json_int(message, "id", &id) || id != wanted) {
			take_event(b, message);
			continue;
		}
		if (cJSON_GetObjectItemCaseSensitive(message, "error")) {
			char *why SP_FREE = cJSON_PrintUnformatted(message);

			return sp_error_set(err, SP_PROTOCOL, "%s: %s", method,
					    why ? why : "error");
		}
		if (ret_result)
			*ret_result = cJSON_DetachItemFromObjectCaseSensitive(message, "result");
		return 0;
	}
	return rc;
}

/* ---- Life ---- */

static int attach(struct browser *b, struct sp_error *err)
{
	cJSON *target SP_CLEANUP(sp_json_done) = NULL, *session SP_CLEANUP(sp_json_done) = NULL;
	char params[256];
	int rc = browser_call(b, "Target.createTarget", "{\"url\":\"about:blank\"}", &target, err);

	if (rc)
		return rc;
	snprintf(params, sizeof(params), "{\"targetId\":\"%s\",\"flatten\":true}",
		 sp_json_str(target, "targetId") ? sp_json_str(target, "targetId") : "");
	rc = browser_call(b, "Target.attachToTarget", params, &session, err);
	if (rc)
		return rc;
	snprintf(b->session, sizeof(b->session), "%s",
		 sp_json_str(session, "sessionId") ? sp_json_str(session, "sessionId") : "");
	rc = browser_call(b, "Page.enable", NULL, NULL, err);
	if (!rc)
		rc = browser_call(b, "Runtime.enable", NULL, NULL, err);
	return rc ? rc : browser_call(b, "Log.enable", NULL, NULL, err);
}

int browser_open(struct browser *b, struct sp_error *err)
{
	char profile[256];
	/* The browser reads from 3 and writes to 4. */
	const char *const argv[] = {
	    "sh",
	    "-c",
	    "exec \"$@\" 4>&3",
	    "sh",
	    PROGRAM,
	    "--headless",
	    "--no-sandbox",
	    "--disable-gpu",
	    "--disable-breakpad",
	    "--disable-crash-reporter",
	    "--no-first-run",
	    "--disable-background-networking",
	    "--hide-scrollbars",
	    "--allow-file-access-from-files",
	    "--remote-debugging-pipe",
	    profile,
	    NULL,
	};
	int pair[2], rc;

	*b = (struct browser){.child = SP_CHILD_INIT, .fd = -1, .in = SP_BUF_INIT(MESSAGE_MAX)};
	rc = sp_tmp_dir("browser-", &b->profile, err);
	if (rc)
		return rc;
	snprintf(profile, sizeof(profile), "--user-data-dir=%s", b->profile);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return sp_error_set_errno(err, errno, "socketpair");
	b->fd = pair[0];
	b->child.argv = argv;
	b->child.extra = pair[1];
	rc = sp_child_start(&b->child, err);
	return rc ? rc : attach(b, err);
}

void browser_close(struct browser *b)
{
	*b->session = '\0';
	/* It ends its own children when it is asked. */
	if (b->fd >= 0 && b->child.pid > 0 && !browser_call(b, "Browser.close", NULL, NULL, NULL)) {
		struct pollfd ended = {.fd = b->child.pidfd, .events = POLLIN};

		(void)poll(&ended, 1, PATIENCE_MS);
	}
	sp_child_done(&b->child);
	b->fd = sp_close(b->fd);
	sp_buf_done(&b->in);
	if (b->profile)
		sp_remove_tree(b->profile);
	free(b->profile);
	b->profile = NULL;
}

/* ---- Pages ---- */

char *browser_eval(struct browser *b, const char *expression, struct sp_error *err)
{
	struct sp_buf params SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_MAX);
	cJSON *answer SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *value;

	sp_buf_adds(&params, "{\"returnByValue\":true,\"awaitPromise\":true,\"expression\":");
	sp_buf_add_json(&params, expression, strlen(expression));
	sp_buf_addc(&params, '}');
	if (browser_call(b, "Runtime.evaluate", sp_buf_str(&params), &answer, err))
		return NULL;
	if (cJSON_GetObjectItemCaseSensitive(answer, "exceptionDetails")) {
		char *why SP_FREE = cJSON_PrintUnformatted(answer);

		(void)sp_error_set(err, SP_PROTOCOL, "%.200s: %s", expression, why ? why : "");
		return NULL;
	}
	value = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(answer, "result"),
						 "value");
	if (cJSON_IsString(value))
		return strdup(value->valuestring);
	return value ? cJSON_PrintUnformatted(value) : strdup("undefined");
}

int browser_load(struct browser *b, const char *path, struct sp_error *err)
{
	struct sp_buf url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf params SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	int rc;

	if (*path != '/')
		return sp_error_set(err, SP_INVALID, "%s is no absolute path", path);
	sp_buf_addf(&url, "file://%s", path);
	sp_buf_adds(&params, "{\"url\":");
	sp_buf_add_json(&params, sp_buf_str(&url), url.len);
	sp_buf_addc(&params, '}');
	rc = browser_call(b, "Page.navigate", sp_buf_str(&params), NULL, err);
	while (!rc) {
		cJSON *message SP_CLEANUP(sp_json_done) = NULL;
		const char *method;

		rc = receive(b, &message, err);
		if (rc)
			break;
		take_event(b, message);
		method = sp_json_str(message, "method");
		if (method && !strcmp(method, "Page.loadEventFired"))
			break;
	}
	return rc;
}

int browser_key(struct browser *b, const char *key, struct sp_error *err)
{
	bool escape = !strcmp(key, "Escape");
	char params[256];
	int rc;

	if (escape)
		snprintf(
		    params, sizeof(params),
		    "{\"type\":\"rawKeyDown\",\"key\":\"Escape\",\"windowsVirtualKeyCode\":27}");
	else
		snprintf(params, sizeof(params),
			 "{\"type\":\"keyDown\",\"key\":\"%s\",\"text\":\"%s\"}", key, key);
	rc = browser_call(b, "Input.dispatchKeyEvent", params, NULL, err);
	snprintf(params, sizeof(params), "{\"type\":\"keyUp\",\"key\":\"%s\"}", key);
	return rc ? rc : browser_call(b, "Input.dispatchKeyEvent", params, NULL, err);
}

int browser_look(struct browser *b, unsigned width, unsigned height, bool phone, bool dark,
		 struct sp_error *err)
{
	char params[256];
	int rc;

	snprintf(params, sizeof(params),
		 "{\"width\":%u,\"height\":%u,\"deviceScaleFactor\":1,\"mobile\":%s}", width,
		 height, phone ? "true" : "false");
	rc = browser_call(b, "Emulation.setDeviceMetricsOverride", params, NULL, err);
	if (rc)
		return rc;
	snprintf(params, sizeof(params),
		 "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"%s\"}]}",
		 dark ? "dark" : "light");
	return browser_call(b, "Emulation.setEmulatedMedia", params, NULL, err);
}

int browser_shot(struct browser *b, const char *path, bool whole, struct sp_error *err)
{
	struct sp_buf png SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(MESSAGE_MAX);
	cJSON *answer SP_CLEANUP(sp_json_done) = NULL;
	const char *data;
	int rc = browser_call(b, "Page.captureScreenshot",
			      whole ? "{\"format\":\"png\",\"captureBeyondViewport\":true}"
				    : "{\"format\":\"png\"}",
			      &answer, err);

	if (rc)
		return rc;
	data = sp_json_str(answer, "data");
	if (!data || sp_buf_add_unbase64(&png, data, strlen(data)))
		return sp_error_set(err, SP_PROTOCOL, "the browser's picture cannot be read");
	return sp_write_file(path, png.data, png.len, 0644, err);
}
