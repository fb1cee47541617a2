/* SPDX-License-Identifier: MIT */
#include <cli/live.h>

#include <stdlib.h>
#include <unistd.h>

#include <base/buf.h>
#include <base/files.h>
#include <reports/tap.h>

#define POINT_CEILING ((size_t)16 << 20)

struct cli_live {
	struct sp_buf buf;
	size_t points;
	/* -errno of the first write that failed; a reader that went away does not end the run. */
	int error;
};

/* A point is one write, so that its reader never waits for the rest of one. */
static void pass(struct cli_live *live)
{
	int rc = live->buf.error ? live->buf.error : 0;

	if (!rc && !live->error)
		rc = sp_write_all(STDOUT_FILENO, live->buf.data, live->buf.len);
	if (rc && !live->error)
		live->error = rc;
	sp_buf_clear(&live->buf);
}

struct cli_live *cli_live_new(void)
{
	struct cli_live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->buf.ceiling = POINT_CEILING;
	sp_tap_begin(&live->buf);
	pass(live);
	return live;
}

int cli_live_done(struct cli_live *live, bool complete)
{
	int error;

	if (!live)
		return 0;
	sp_tap_end(&live->buf, live->points,
		   complete ? NULL : "the run was interrupted: not every case has a result");
	pass(live);
	error = live->error;
	sp_buf_done(&live->buf);
	free(live);
	return error;
}

/* ---- listening ---- */

static void on_case_ended(void *arg, const struct sp_result_case *result)
{
	struct cli_live *live = arg;

	sp_tap_case(&live->buf, ++live->points, result, NULL);
	pass(live);
}

static void on_leaked(void *arg, const struct sp_result_leak *leak)
{
	struct cli_live *live = arg;

	sp_tap_leak(&live->buf, ++live->points, leak);
	pass(live);
}

struct sp_run_listener cli_live_listener(struct cli_live *live)
{
	return (struct sp_run_listener){
	    .arg = live,
	    .case_ended = on_case_ended,
	    .leaked = on_leaked,
	};
}
