/* SPDX-License-Identifier: MIT */
#include <suites/kill/scene.h>

struct sp_cancel *kill_cancel(struct sp_case *t)
{
	struct sp_cancel *cancel = sp_cancel_new();

	if (!cancel)
		sp_case_error(t, SP_HERE, "no memory for a cancel");
	return cancel;
}

void kill_cancel_done(struct sp_cancel **cancel)
{
	*cancel = sp_cancel_unref(*cancel);
}

bool kill_scene_open(struct sp_case *t, struct kill_scene *s)
{
	/* What cases make most; a FIFO that stays unused harms nobody. */
	static const struct sp_place_options stocked = {
		.stock = SP_STOCK_TOKEN("probe") SP_STOCK_FIFO("listening") SP_STOCK_FIFO("heard")
			SP_STOCK_ANSWERER("listener") SP_STOCK_ANSWERER("neighbour")
	};

	s->t = t;
	s->sandbox = sp_case_sandbox(t);
	if (!s->sandbox)
		return false;
	s->cancel = kill_cancel(t);
	return s->cancel && sp_place_open_with(t, s->sandbox, "kill", &stocked, &s->place) &&
	       sp_token_make(&s->place, "probe", &s->probe);
}

bool kill_scene_start(struct kill_scene *s, const char *shape)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;

	options.command = sp_case_format(s->t, shape, s->probe.shell, s->place.hold);
	options.cancel = s->cancel;
	return sp_spawn_with(s->t, s->sandbox, &s->child, &options) && sp_token_await(&s->probe);
}

bool kill_bystander(struct kill_scene *s, const char *name, struct sp_spawned *child,
		    struct sp_answerer *answerer)
{
	return sp_answerer_make(&s->place, name, answerer) &&
	       sp_spawn(s->t, s->sandbox, child, "exec %s", answerer->shell) &&
	       sp_answerer_await(answerer);
}

bool kill_check_usable(struct kill_scene *s)
{
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;

	return sp_sh(s->t, s->sandbox, &result, "printf ok; printf fine >&2; exit 4") &&
	       SP_CHECK_BYTES(s->t, "ok", 2, result.stdout_bytes.data, result.stdout_bytes.len,
			      "a fresh command's stdout") &&
	       SP_CHECK_BYTES(s->t, "fine", 4, result.stderr_bytes.data, result.stderr_bytes.len,
			      "a fresh command's stderr") &&
	       SP_CHECK_INT(s->t, 4, result.exit_code, "a fresh command's code");
}

void kill_scene_done(struct kill_scene *s)
{
	sp_spawned_done(&s->child);
	sp_place_close(&s->place);
	s->cancel = sp_cancel_unref(s->cancel);
}

struct sp_sandbox kill_second_handle(struct sp_case *t, struct sp_sandbox *sandbox)
{
	return sp_second_handle(t, sandbox);
}
