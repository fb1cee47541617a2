/* SPDX-License-Identifier: MIT */
/* What is counted, what is refused and what is waited for, over a scripted transport. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/cleanup.h>
#include <base/clock.h>

#include "meter.h"

#define KEY "rnd_key"

/* Headers of every answer; NULL: none. */
static const char *remaining, *reset_s;
static unsigned sent;

static const char *header(void *self SP_UNUSED, const char *name)
{
	if (!strcasecmp(name, "ratelimit-remaining"))
		return remaining;
	return strcasecmp(name, "ratelimit-reset") ? NULL : reset_s;
}

static void stream_close(void *self SP_UNUSED)
{
}

static const struct sp_http_stream_ops stream_ops = {
	.version = SP_HTTP_STREAM_VERSION,
	.header = header,
	.close = stream_close,
};

static int scripted_open(void *self SP_UNUSED, const struct sp_http_request *request SP_UNUSED,
			 struct sp_http_stream *ret_stream, struct sp_error *err SP_UNUSED)
{
	sent++;
	*ret_stream = (struct sp_http_stream){ &stream_ops, NULL };
	return 0;
}

static void scripted_close(void *self SP_UNUSED)
{
}

static const struct sp_transport_ops scripted_ops = {
	.version = SP_TRANSPORT_VERSION,
	.open = scripted_open,
	.close = scripted_close,
};

static struct sp_meter *meter;
static struct sp_transport transport;

static void open_meter(void)
{
	meter = sp_meter_new();
	transport = (struct sp_transport){ &scripted_ops, NULL };
	cr_assert_eq(sp_meter_wrap(meter, KEY, &transport, NULL), 0);
}

static void close_meter(void)
{
	transport.ops->close(transport.self);
	sp_meter_free(meter);
}

TestSuite(meter, .init = open_meter, .fini = close_meter);

static int ask(const char *method, const char *url, const char *bearer, struct sp_cancel *cancel,
	       struct sp_error *err)
{
	struct sp_http_request request = SP_HTTP_REQUEST_INIT;
	struct sp_http_stream stream;
	int rc;

	request.method = method;
	request.url = url;
	request.bearer = bearer;
	request.cancel = cancel;
	rc = transport.ops->open(transport.self, &request, &stream, err);
	if (!rc)
		stream.ops->close(stream.self);
	return rc;
}

#define BASE "https://api.example/v1"

static const struct {
	const char *method, *url, *bearer;
	unsigned requests, sandboxes;
} counted[] = {
	{ "POST", BASE "/sandboxes", KEY, 1, 1 },
	{ "POST", BASE "/sandboxes?ownerId=tea-1", KEY, 1, 1 },
	{ "GET", BASE "/sandboxes", KEY, 1, 0 },
	{ "POST", BASE "/sandboxes/sbx-1/terminate?ownerId=t", KEY, 1, 0 },
	{ "POST", BASE "/sandboxes/sbx-1/snapshots", KEY, 1, 0 },
	{ "POST", "https://sbx-1.oregon.sandbox.onrender.com/runs/stream", "token", 0, 0 },
	{ "PUT", "https://sbx-1.oregon.sandbox.onrender.com/sandboxes", NULL, 0, 0 },
};

Test(meter, requests_to_the_control_plane_are_counted)
{
	for (size_t i = 0; i < SP_COUNT(counted); i++) {
		uint64_t requests = meter->requests, sandboxes = meter->sandboxes;

		cr_expect_eq(ask(counted[i].method, counted[i].url, counted[i].bearer, NULL, NULL),
			     0);
		cr_expect_eq(meter->requests - requests, counted[i].requests, "%s %s",
			     counted[i].method, counted[i].url);
		cr_expect_eq(meter->sandboxes - sandboxes, counted[i].sandboxes, "%s %s",
			     counted[i].method, counted[i].url);
	}
	cr_expect_eq(sent, SP_COUNT(counted));
}

Test(meter, a_child_counts_into_the_same_meter)
{
	pid_t child = fork();

	if (!child)
		_exit(ask("GET", BASE "/sandboxes", KEY, NULL, NULL) != 0);
	waitpid(child, NULL, 0);
	cr_expect_eq(meter->requests, 1u);
}

Test(meter, a_budget_of_sandboxes_refuses_creates_alone)
{
	struct sp_error err = SP_ERROR_INIT;

	meter->max_sandboxes = 1;
	cr_expect(!sp_meter_used_up(meter));
	cr_expect_eq(ask("POST", BASE "/sandboxes", KEY, NULL, NULL), 0);
	cr_expect(sp_meter_used_up(meter));
	cr_expect_eq(ask("POST", BASE "/sandboxes", KEY, NULL, &err), SP_RATE_LIMITED);
	cr_expect(strstr(err.message, "budget of 1 sandboxes"), "%s", err.message);
	cr_expect_eq(ask("POST", BASE "/sandboxes/s/runs/stream/token", KEY, NULL, NULL), 0);
	cr_expect_eq(meter->refused, 1u);
	cr_expect_eq(sent, 2u);
}

/* Whatever is there can still be looked at and removed. */
Test(meter, a_budget_of_requests_lets_clean_up_through)
{
	struct sp_error err = SP_ERROR_INIT;

	meter->max_requests = 1;
	cr_expect_eq(ask("GET", BASE "/sandboxes", KEY, NULL, NULL), 0);
	cr_expect_eq(ask("POST", BASE "/sandboxes/s/runs/stream/token", KEY, NULL, &err),
		     SP_RATE_LIMITED);
	cr_expect(strstr(err.message, "budget of 1 requests"), "%s", err.message);
	cr_expect_eq(ask("GET", BASE "/sandboxes", KEY, NULL, NULL), 0);
	cr_expect_eq(ask("POST", BASE "/sandboxes/s/terminate", KEY, NULL, NULL), 0);
	cr_expect_eq(ask("DELETE", BASE "/sandbox-groups/g/snapshots/s", KEY, NULL, NULL), 0);
	cr_expect_eq(sent, 4u);
}

static const struct {
	const char *remaining, *reset_s;
	bool waits;
} windows[] = {
	{ "50", "60", false }, { "3", "60", false },  { "2", "60", true },  { "0", "60", true },
	{ "0", NULL, false },  { NULL, "60", false }, { "0", "x", false },  { "x", "60", false },
	{ "0", "-1", false },  { "0", "999999", false },
};

/* A wait is seen by its end: the cancel that has fired meanwhile. */
Test(meter, the_service_s_window_is_heeded)
{
	for (size_t i = 0; i < SP_COUNT(windows); i++) {
		struct sp_cancel *cancel = sp_cancel_new();
		struct sp_error err = SP_ERROR_INIT;
		unsigned before;

		meter->wait_until = 0;
		remaining = windows[i].remaining;
		reset_s = windows[i].reset_s;
		cr_expect_eq(ask("GET", BASE "/sandboxes", KEY, NULL, NULL), 0);
		cr_expect_eq(meter->wait_until > sp_now(), windows[i].waits, "%s left for %s s",
			     windows[i].remaining, windows[i].reset_s);
		before = sent;
		sp_cancel_set_deadline(cancel, sp_now() + 1);
		if (windows[i].waits) {
			cr_expect_eq(ask("GET", BASE "/sandboxes", KEY, cancel, &err),
				     SP_TIMED_OUT);
			cr_expect_eq(sent, before, "nothing is sent while it waits");
		}
		sp_cancel_unref(cancel);
	}
	/* A window that is over is not waited for, and other hosts never are. */
	meter->wait_until = sp_now() - 1;
	cr_expect_eq(ask("GET", BASE "/sandboxes", KEY, NULL, NULL), 0);
	meter->wait_until = sp_now() + 3600 * SP_SECOND;
	cr_expect_eq(ask("POST", "https://other/runs/stream", "token", NULL, NULL), 0);
}
