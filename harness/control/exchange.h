/* SPDX-License-Identifier: MIT */
/* One small HTTP exchange with the admin endpoint, from any thread. */
#ifndef SP_CONTROL_EXCHANGE_H
#define SP_CONTROL_EXCHANGE_H

#include <stdint.h>

#include <base/buf.h>
#include <sandproof/cancel.h>

struct exchanger;

/* Longest answer that is kept whole. */
#define EXCHANGE_ANSWER ((size_t)8 << 20)

struct exchange {
	const char *method;
	/* Begins with a slash. */
	const char *path;
	/* JSON, or NULL for none. */
	const struct sp_buf *body;
	/* Bytes instead of JSON, borrowed; NULL for none. */
	const void *bytes;
	size_t n_bytes;
	/* NULL: a limit that only turns a hang into SP_TIMED_OUT. */
	struct sp_cancel *cancel;
	/*
	 * Takes a good answer's bytes as they come, instead of `answer`; non-zero ends the exchange
	 * with that code.
	 */
	int (*sink)(void *arg, const char *data, size_t len, struct sp_error *err);
	void *arg;

	/* Filled by exchange_run(). */
	long status;
	struct sp_buf answer;
	/* Requests that the backend says it could not keep. */
	uint64_t lost;
};

#define EXCHANGE_INIT { .answer = SP_BUF_INIT(EXCHANGE_ANSWER) }

/*
 * `url` is "unix:PATH" or "http://HOST:PORT" on a loopback host; anything else is SP_INVALID.
 * Nothing is sent.
 */
int exchanger_new(const char *url, const char *token, struct exchanger **ret_exchanger,
		  struct sp_error *err);
void exchanger_free(struct exchanger *exchanger);

/*
 * Runs one exchange. Every status but 2xx is an error: SP_INVALID (400), SP_DENIED (401),
 * SP_NOT_FOUND (404), SP_CONFLICT (409), else SP_PROTOCOL. SP_UNAVAILABLE: nobody answers.
 * SP_ABORTED and SP_TIMED_OUT by `cancel`.
 */
int exchange_run(struct exchanger *exchanger, struct exchange *exchange, struct sp_error *err);
void exchange_done(struct exchange *exchange);

#endif
