/* SPDX-License-Identifier: MIT */
/*
 * One request, from its first header to the end of its answer:
 *
 *   headers -> [early start] -> body -> recorded -> enter -> hold before ->
 *   failure or start -> answered -> hold after -> sent
 *
 * A route does its work in `start` and answers sooner or later by one of the
 * request_answer functions. Until then the connection is suspended; nobody waits for
 * anybody. When the client goes away first, `gone` tells the route.
 */
#ifndef FAKE_RENDER_API_REQUEST_H
#define FAKE_RENDER_API_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include <base/buf.h>
#include <fakes/render-api/api.h>
#include <fakes/render-api/hold.h>
#include <fakes/render-api/model.h>

struct request;

/* Who is asked, and so: which token, which form of error. */
enum plane {
	/* API key; `{message, code?}`. */
	PLANE_CONTROL = 0,
	/* Token of a mint; `{code, message}`. */
	PLANE_PROXY,
	/* Control token. */
	PLANE_ADMIN,
};

enum body_kind {
	/* Whatever comes is logged and ignored. */
	BODY_IGNORED = 0,
	/* An object or nothing, given as request->json. */
	BODY_JSON,
	/*
	 * Given piece by piece to `data`; `start` runs before the first piece, `end` after the last
	 * one.
	 */
	BODY_STREAM,
};

/* A row of the route table. */
struct route {
	const char *method;
	/*
	 * Segments; "*" stands for one, kept in request->params. The first one of the first two
	 * planes is a sandbox where `sandbox` says so.
	 */
	const char *pattern;
	enum plane plane;
	enum body_kind body;
	/* Step of the control table, or -1. */
	int step;
	bool sandbox;
	/* A foreign owner is not found, instead of being refused. */
	bool hides_owner;
	void (*start)(struct request *request);
	void (*data)(struct request *request, const void *data, size_t len);
	void (*end)(struct request *request);
	/* Once, when the client has left or all is done: let go of request->op. */
	void (*gone)(struct request *request);
};

/* Most stars in the pattern of a route. */
#define REQUEST_PARAMS 2

/* A TCP or Unix connection; lives through many requests. */
struct peer {
	TAILQ_ENTRY(peer) entry;
	struct MHD_Connection *connection;
	int fd;
	/* Its other end is closed. */
	bool gone;
	struct request *request;
};

struct request {
	struct api *api;
	struct MHD_Connection *connection;
	struct peer *peer;
	/* NULL when nothing matched (the answer is there already). */
	const struct route *route;
	char *method;
	/* Path and query as they came. */
	char *target;
	char *params[REQUEST_PARAMS];
	struct sp_buf headers;
	/* The body, for a stream only its head for the log. */
	struct sp_buf body;
	bool body_cut;
	cJSON *json;

	struct workspace *workspace;
	struct sandbox *sandbox;
	/*
	 * Record of the token that the proxy was shown; the record itself may be forgotten
	 * meanwhile.
	 */
	char exec_id[ID_SIZE];
	/* What the step has to do wrong. */
	struct failure_plan failure;
	/* Where it stands, and what comes then. */
	struct hold *hold;
	void (*after_hold)(struct request *request);
	struct waker waker;
	void (*after_wake)(struct request *request);
	/* What the route needs to remember. */
	void *op;

	/* The answer, ready to be sent when `ready`. */
	struct MHD_Response *response;
	unsigned status;
	bool drop;
	bool answered;
	bool ready;
	bool sent;

	bool begun;
	/* It stood somewhere before its body was read. */
	bool held_early;
	bool ended;
	/* The route has begun its work. */
	bool started;
	bool suspended;
	/* The client left; nothing may be sent any more. */
	bool gone;
	/*
	 * It left before a command that had arrived was started: the reference that the hold keeps,
	 * or NULL.
	 */
	struct request *orphan;
	/* Callbacks of the engine that still name it, and the connection itself. */
	unsigned refs;
};

/* Keep it alive over an engine's callback. */
struct request *request_ref(struct request *request);
void request_unref(struct request *request);

/* Value of a query argument or header, or NULL. Lives as long as the request. */
const char *request_query(struct request *request, const char *name);
const char *request_header(struct request *request, const char *name);
/*
 * Calls for every value of an argument, comma-joined ones split. Stops at the first false and
 * returns it.
 */
bool request_query_each(struct request *request, const char *name,
			bool (*each)(void *arg, const char *value, size_t len), void *arg);
/* Bearer of the Authorization header, or "". */
const char *request_bearer(struct request *request);

/* Each gives the one answer of a request. `buf` is taken over. */
void request_answer_json(struct request *request, unsigned status, struct sp_buf *buf);
void request_answer_error(struct request *request, unsigned status, const char *code,
			  const char *format, ...) __attribute__((format(printf, 4, 5)));
void request_answer_empty(struct request *request, unsigned status);
/* `response` is taken over. */
void request_answer(struct request *request, unsigned status, struct MHD_Response *response);
/* Close the connection instead. */
void request_answer_drop(struct request *request);
/* The provider's edge says no: HTML, none of the service's headers. */
void request_answer_edge(struct request *request);
/* 429 with its headers; `retry_after_s` 0: without Retry-After, as when capacity is short. */
void request_answer_limited(struct request *request, unsigned retry_after_s, const char *message);

/* Stands at a hold of a step if there is one; `next` runs then or at once. */
void request_stand(struct request *request, enum sp_control_step step, enum sp_control_when when,
		   void (*next)(struct request *request));
/* Goes on once the request's sandbox runs; answers itself when it never will. */
void request_wake(struct request *request, void (*next)(struct request *request));
/* Goes on with a suspended event stream or request. */
void request_resume(struct request *request);
/* False: the client is gone, so there is nothing to wait for. */
bool request_suspend(struct request *request);
/* The client left: what it stood at or waited for is let go. */
void request_client_gone(struct request *request);

/* The daemon's callbacks. */
void *request_on_target(void *api, const char *target, struct MHD_Connection *connection);
enum MHD_Result request_on_access(void *api, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload_data,
				  size_t *upload_data_size, void **request);
void request_on_completed(void *api, struct MHD_Connection *connection, void **request,
			  enum MHD_RequestTerminationCode code);
void peer_on_connection(void *api, struct MHD_Connection *connection, void **peer,
			enum MHD_ConnectionNotificationCode code);
/* Our own poll saw the other end close. */
void peer_on_hangup(struct peer *peer);
/* The server stops: nobody is waited for any more. */
void peer_hangup_all(struct api *api);

#endif
