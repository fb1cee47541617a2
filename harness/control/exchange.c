/* SPDX-License-Identifier: MIT */
#include <control/exchange.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include <curl/curl.h>

#include <base/cleanup.h>
#include <base/clock.h>
#include <base/json.h>

/* Only turns a hang into a failure: no call waits for anything but the backend's own work. */
#define LIMIT_MS 60000
/* Between two looks at the cancel's deadline, which its descriptor tells as well. */
#define POLL_MS 1000
/* Handles with a kept connection; more are made and thrown away. */
#define KEPT 4

/* A handle and the multi that owns its kept connection, so that every exchange can be cancelled. */
struct line {
	CURLM *multi;
	CURL *easy;
};

struct exchanger {
	char *unix_path;
	char *origin;
	char *authorization;
	pthread_mutex_t lock;
	struct line kept[KEPT];
	size_t n_kept;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_init(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* ---- where to ---- */

static bool is_loopback_host(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	size_t len = strlen(host);
	char bare[64] = "";

	if (!strcasecmp(host, "localhost"))
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (len < 3 || len - 2 >= sizeof(bare) || host[0] != '[' || host[len - 1] != ']')
		return false;
	memcpy(bare, host + 1, len - 2);
	return inet_pton(AF_INET6, bare, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static void curl_done(char **text)
{
	curl_free(*text);
}

/* The token goes nowhere but to this machine: the URL is taken apart, not compared. */
static bool is_loopback_url(const char *url)
{
	CURLU *parts = curl_url();
	char *scheme SP_CLEANUP(curl_done) = NULL;
	char *host SP_CLEANUP(curl_done) = NULL;
	char *path SP_CLEANUP(curl_done) = NULL;
	char *other SP_CLEANUP(curl_done) = NULL;
	bool good;

	good = parts && !curl_url_set(parts, CURLUPART_URL, url, 0) &&
	       !curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) && !strcmp(scheme, "http") &&
	       !curl_url_get(parts, CURLUPART_HOST, &host, 0) && is_loopback_host(host) &&
	       !curl_url_get(parts, CURLUPART_PATH, &path, 0) && !strcmp(path, "/") &&
	       curl_url_get(parts, CURLUPART_USER, &other, 0) == CURLUE_NO_USER &&
	       curl_url_get(parts, CURLUPART_QUERY, &other, 0) == CURLUE_NO_QUERY &&
	       curl_url_get(parts, CURLUPART_FRAGMENT, &other, 0) == CURLUE_NO_FRAGMENT;
	curl_url_cleanup(parts);
	return good;
}

static int check_url(const char *url, struct sp_error *err)
{
	size_t room = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

	if (!url || !*url)
		return sp_error_set(err, SP_INVALID, "the control URL is missing");
	if (!strncmp(url, "unix:", 5) && url[5] && strlen(url + 5) > room)
		return sp_error_set(err, SP_INVALID,
				    "the path of the control's Unix socket has %zu bytes and a "
				    "socket address holds %zu",
				    strlen(url + 5), room);
	if ((!strncmp(url, "unix:", 5) && url[5]) || is_loopback_url(url))
		return 0;
	return sp_error_set(err, SP_INVALID,
			    "a control URL is unix:PATH or http://HOST:PORT with a loopback host");
}

/* ---- handles ---- */

static void line_done(struct line *line)
{
	curl_easy_cleanup(line->easy);
	if (line->multi)
		curl_multi_cleanup(line->multi);
	*line = (struct line){ NULL, NULL };
}

static struct line take_line(struct exchanger *exchanger)
{
	struct line line = { NULL, NULL };

	pthread_mutex_lock(&exchanger->lock);
	if (exchanger->n_kept)
		line = exchanger->kept[--exchanger->n_kept];
	pthread_mutex_unlock(&exchanger->lock);
	if (!line.easy) {
		line.multi = curl_multi_init();
		line.easy = curl_easy_init();
	}
	if (!line.multi || !line.easy)
		line_done(&line);
	return line;
}

static void give_line(struct exchanger *exchanger, struct line *line)
{
	pthread_mutex_lock(&exchanger->lock);
	if (exchanger->n_kept < KEPT) {
		exchanger->kept[exchanger->n_kept++] = *line;
		*line = (struct line){ NULL, NULL };
	}
	pthread_mutex_unlock(&exchanger->lock);
	line_done(line);
}

int exchanger_new(const char *url, const char *token, struct exchanger **ret_exchanger,
		  struct sp_error *err)
{
	struct exchanger *exchanger;
	int rc;

	pthread_once(&curl_once, curl_init);
	rc = check_url(url, err);
	if (rc)
		return rc;
	if (!token || !*token || strpbrk(token, "\r\n"))
		return sp_error_set(err, SP_INVALID, "the control token is missing");
	exchanger = calloc(1, sizeof(*exchanger));
	if (!exchanger)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	pthread_mutex_init(&exchanger->lock, NULL);
	if (!strncmp(url, "unix:", 5))
		exchanger->unix_path = strdup(url + 5);
	exchanger->origin = strdup(exchanger->unix_path ? "http://localhost" : url);
	if (exchanger->origin && exchanger->origin[strlen(exchanger->origin) - 1] == '/')
		exchanger->origin[strlen(exchanger->origin) - 1] = '\0';
	if (asprintf(&exchanger->authorization, "Authorization: Bearer %s", token) < 0)
		exchanger->authorization = NULL;
	if (!exchanger->origin || !exchanger->authorization) {
		exchanger_free(exchanger);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	*ret_exchanger = exchanger;
	return 0;
}

void exchanger_free(struct exchanger *exchanger)
{
	while (exchanger->n_kept)
		line_done(&exchanger->kept[--exchanger->n_kept]);
	pthread_mutex_destroy(&exchanger->lock);
	free(exchanger->unix_path);
	free(exchanger->origin);
	free(exchanger->authorization);
	free(exchanger);
}

/* ---- one exchange ---- */

/* What curl's callbacks work on. */
struct transfer {
	struct exchange *exchange;
	CURL *easy;
	struct sp_error *err;
	int rc;
};

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	static const char name[] = "x-requests-lost:";
	struct transfer *transfer = arg;
	char value[32] = "";

	if (n < sizeof(name) - 1 || strncasecmp(data, name, sizeof(name) - 1))
		return size * n;
	n -= sizeof(name) - 1;
	memcpy(value, data + sizeof(name) - 1, n < sizeof(value) ? n : sizeof(value) - 1);
	transfer->exchange->lost = strtoull(value, NULL, 10);
	return size * (n + sizeof(name) - 1);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *transfer = arg;
	struct exchange *exchange = transfer->exchange;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &exchange->status);
	if (exchange->sink && exchange->status / 100 == 2)
		transfer->rc = exchange->sink(exchange->arg, data, size * n, transfer->err);
	else if (sp_buf_add(&exchange->answer, data, size * n))
		transfer->rc = sp_error_set(transfer->err, SP_PROTOCOL,
					    "the control's answer is too long");
	return transfer->rc ? 0 : size * n;
}

static void prepare(struct exchanger *exchanger, CURL *easy, struct transfer *transfer,
		    const char *url, struct curl_slist *headers)
{
	struct exchange *exchange = transfer->exchange;

	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* No proxy of the environment's gets to see the token. */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	if (exchanger->unix_path)
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, exchanger->unix_path);
	if (!strcmp(exchange->method, "POST")) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)(exchange->body ? exchange->body->len : 0));
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
				 exchange->body ? sp_buf_str(exchange->body) : "");
	} else if (exchange->bytes) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->n_bytes);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, exchange->bytes);
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, exchange->method);
}

/* Drives the transfer until it ends or the cancel fires. */
static int drive(CURLM *multi, struct sp_cancel *cancel, CURLcode *ret_code, struct sp_error *err)
{
	struct curl_waitfd wait = { .fd = sp_cancel_fd(cancel), .events = CURL_WAIT_POLLIN };
	CURLMsg *message;
	int running = 1;
	int left;
	int rc;

	while (!(rc = sp_cancel_check(cancel, err))) {
		if (curl_multi_perform(multi, &running))
			return sp_error_set(err, SP_INTERNAL, "libcurl failed");
		if (!running)
			break;
		curl_multi_poll(multi, &wait, 1, POLL_MS, NULL);
	}
	while (!rc && (message = curl_multi_info_read(multi, &left)))
		if (message->msg == CURLMSG_DONE)
			*ret_code = message->data.result;
	return rc;
}

static int status_error(const struct exchange *exchange, struct sp_error *err)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	const char *message = NULL;
	enum sp_code code = SP_PROTOCOL;

	if (exchange->status == 400)
		code = SP_INVALID;
	else if (exchange->status == 401)
		code = SP_DENIED;
	else if (exchange->status == 404)
		code = SP_NOT_FOUND;
	else if (exchange->status == 409)
		code = SP_CONFLICT;
	if (!sp_json_parse(sp_buf_str(&exchange->answer), exchange->answer.len, SP_BUF_LINE, &json,
			   NULL))
		message = sp_json_str(json, "message");
	sp_error_set(err, code, "control: %s %s answered %ld: %s", exchange->method,
		     exchange->path, exchange->status, message ? message : "no message");
	if (err)
		err->http_status = (int)exchange->status;
	return code;
}

static int run_on(struct exchanger *exchanger, struct line *line, struct exchange *exchange,
		  const char *url, struct curl_slist *headers, struct sp_cancel *cancel,
		  struct sp_error *err)
{
	struct transfer transfer = { .exchange = exchange, .easy = line->easy, .err = err };
	CURLcode code = CURLE_OK;
	int rc;

	prepare(exchanger, line->easy, &transfer, url, headers);
	curl_multi_add_handle(line->multi, line->easy);
	rc = drive(line->multi, cancel, &code, err);
	curl_easy_getinfo(line->easy, CURLINFO_RESPONSE_CODE, &exchange->status);
	curl_multi_remove_handle(line->multi, line->easy);
	/* What borrows from this call must not outlive it. */
	curl_easy_reset(line->easy);
	if (rc)
		return rc;
	if (transfer.rc)
		return transfer.rc;
	if (code != CURLE_OK)
		return sp_error_set(err, SP_UNAVAILABLE, "the control does not answer: %s",
				    curl_easy_strerror(code));
	return exchange->status / 100 == 2 ? 0 : status_error(exchange, err);
}

static void cancel_done(struct sp_cancel **cancel)
{
	sp_cancel_unref(*cancel);
}

static void headers_done(struct curl_slist **headers)
{
	curl_slist_free_all(*headers);
}

int exchange_run(struct exchanger *exchanger, struct exchange *exchange, struct sp_error *err)
{
	struct sp_buf url SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct curl_slist *headers SP_CLEANUP(headers_done) = NULL;
	struct sp_cancel *limit SP_CLEANUP(cancel_done) = NULL;
	struct line line;
	int rc;

	sp_buf_addf(&url, "%s%s", exchanger->origin, exchange->path);
	headers = curl_slist_append(NULL, exchanger->authorization);
	if (headers && exchange->body)
		curl_slist_append(headers, "Content-Type: application/json");
	if (headers && exchange->bytes)
		curl_slist_append(headers, "Content-Type: application/octet-stream");
	limit = exchange->cancel ? sp_cancel_ref(exchange->cancel) : sp_cancel_new();
	if (!headers || !limit || url.error)
		return sp_error_set(err, SP_INTERNAL, "out of memory or descriptors");
	if (!exchange->cancel)
		sp_cancel_set_deadline(limit, sp_deadline_ms(LIMIT_MS));
	line = take_line(exchanger);
	if (!line.easy)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	rc = run_on(exchanger, &line, exchange, sp_buf_str(&url), headers, limit, err);
	give_line(exchanger, &line);
	return rc;
}

void exchange_done(struct exchange *exchange)
{
	sp_buf_done(&exchange->answer);
}
