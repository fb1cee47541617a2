/* SPDX-License-Identifier: MIT */
#include "meter.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <base/cleanup.h>
#include <base/clock.h>

/* What is left for others of the workspace, and for requests of ours that are on their way. */
#define RESERVE 2
/* A window that is told to be longer is not believed. */
#define WINDOW_MAX_S 600

struct metered {
	struct sp_meter *meter;
	struct sp_transport inner;
	char *token;
};

struct sp_meter *sp_meter_new(void)
{
	struct sp_meter *meter =
	    mmap(NULL, sizeof(*meter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return meter == MAP_FAILED ? NULL : meter;
}

struct sp_meter *sp_meter_free(struct sp_meter *meter)
{
	if (meter)
		munmap(meter, sizeof(*meter));
	return NULL;
}

static bool reached(uint64_t used, uint64_t max)
{
	return max && used >= max;
}

bool sp_meter_used_up(struct sp_meter *meter)
{
	return reached(atomic_load(&meter->requests), meter->max_requests) ||
	       reached(atomic_load(&meter->sandboxes), meter->max_sandboxes);
}

/* Whether the path of a URL ends in `tail`. */
static bool ends_in(const char *url, const char *tail)
{
	size_t len = strcspn(url, "?"), n = strlen(tail);

	return len >= n && !strncmp(url + len - n, tail, n);
}

static bool is_create(const struct sp_http_request *request)
{
	return !strcmp(request->method, "POST") && ends_in(request->url, "/sandboxes");
}

/* What looks, ends and deletes is needed to leave nothing behind. */
static bool is_clean_up(const struct sp_http_request *request)
{
	return strcmp(request->method, "POST") || ends_in(request->url, "/terminate");
}

static int check_budget(struct sp_meter *meter, const struct sp_http_request *request,
			struct sp_error *err)
{
	if (is_create(request) && reached(atomic_load(&meter->sandboxes), meter->max_sandboxes)) {
		atomic_fetch_add(&meter->refused, 1);
		return sp_error_set(err, SP_RATE_LIMITED,
				    "the run's budget of %llu sandboxes is used up",
				    (unsigned long long)meter->max_sandboxes);
	}
	if (!is_clean_up(request) && reached(atomic_load(&meter->requests), meter->max_requests)) {
		atomic_fetch_add(&meter->refused, 1);
		return sp_error_set(err, SP_RATE_LIMITED,
				    "the run's budget of %llu requests is used up",
				    (unsigned long long)meter->max_requests);
	}
	return 0;
}

/* Waits for the service's next window, if this one is used up. */
static int pace(struct sp_meter *meter, struct sp_cancel *cancel, struct sp_error *err)
{
	uint64_t until = atomic_load(&meter->wait_until);
	int rc = sp_cancel_check(cancel, err);

	if (rc || until <= sp_now())
		return rc;
	atomic_fetch_add(&meter->paced, 1);
	while (!rc && until > sp_now()) {
		struct pollfd pfd = {.fd = cancel ? sp_cancel_fd(cancel) : -1, .events = POLLIN};

		if (poll(&pfd, 1, sp_until_ms(until)) < 0 && errno != EINTR)
			return sp_error_set_errno(err, errno, "cannot wait");
		rc = sp_cancel_check(cancel, err);
	}
	return rc;
}

/* A number in a header of the answer, or -1. */
static long header_number(struct sp_http_stream *stream, const char *name)
{
	const char *text = stream->ops->header(stream->self, name);
	char *end;
	long value;

	if (!text || *text < '0' || *text > '9')
		return -1;
	value = strtol(text, &end, 10);
	return *end || value > INT32_MAX ? -1 : value;
}

static void heed(struct sp_meter *meter, struct sp_http_stream *stream)
{
	long remaining = header_number(stream, "RateLimit-Remaining");
	long reset_s = header_number(stream, "RateLimit-Reset");

	if (remaining < 0 || remaining > RESERVE || reset_s < 0 || reset_s > WINDOW_MAX_S)
		return;
	atomic_store(&meter->wait_until, sp_now() + (uint64_t)reset_s * SP_SECOND);
}

static int metered_open(void *self, const struct sp_http_request *request,
			struct sp_http_stream *ret_stream, struct sp_error *err)
{
	struct metered *m = self;
	struct sp_meter *meter = m->meter;
	int rc;

	if (!request->bearer || strcmp(request->bearer, m->token))
		return m->inner.ops->open(m->inner.self, request, ret_stream, err);
	rc = check_budget(meter, request, err);
	if (!rc)
		rc = pace(meter, request->cancel, err);
	if (rc)
		return rc;
	atomic_fetch_add(&meter->requests, 1);
	if (is_create(request))
		atomic_fetch_add(&meter->sandboxes, 1);
	rc = m->inner.ops->open(m->inner.self, request, ret_stream, err);
	if (!rc)
		heed(meter, ret_stream);
	return rc;
}

static void metered_close(void *self)
{
	struct metered *m = self;

	m->inner.ops->close(m->inner.self);
	free(m->token);
	free(m);
}

static const struct sp_transport_ops metered_ops = {
    .version = SP_TRANSPORT_VERSION,
    .open = metered_open,
    .close = metered_close,
};

int sp_meter_wrap(struct sp_meter *meter, const char *token, struct sp_transport *transport,
		  struct sp_error *err)
{
	struct metered *m = calloc(1, sizeof(*m));
	char *copy = strdup(token);

	if (!m || !copy) {
		free(m);
		free(copy);
		return sp_error_set(err, SP_INTERNAL, "no memory for a meter");
	}
	*m = (struct metered){meter, *transport, copy};
	*transport = (struct sp_transport){&metered_ops, m};
	return 0;
}
