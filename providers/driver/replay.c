/* SPDX-License-Identifier: MIT */
/*
 * One pass over the trace, line by line: a request is sent, an answer is waited for. So a request
 * goes out exactly when everything that stood answered before it has been answered, and what was
 * in flight together is in flight together again. No line is waited for by time.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/cleanup.h>
#include <base/clock.h>

#include "compare.h"
#include "conn.h"
#include "made.h"
#include "script.h"
#include "stream.h"

#define LIMIT_MS 30000
/* The rest of many differences is counted. */
#define MAX_TOLD 200

/* One request that was sent: to be answered. */
struct asked {
	struct asked *next;
	struct replay *replay;
	char *method;
	int64_t id;
	bool answered;
	/* NULL: the driver is gone. */
	cJSON *answer;
};

/* A lease that the new driver told lost. */
struct lost {
	struct lost *next;
	size_t dialogue;
	char *lease;
};

/* One dialogue that is played. */
struct player {
	struct replay *replay;
	size_t index;
	/* NULL: left out. */
	const struct sp_driver_options *options;
	struct sp_driver *driver;
	/* Told by the new driver, and in the trace up to here; the line of the last one. */
	size_t violations, traced_violations;
	size_t violation_line;
};

struct replay {
	const struct sp_replay_options *options;
	struct sp_replay_counts *counts;
	struct drv_script script;
	struct drv_made made;
	struct drv_streams streams;
	struct player *players;
	/* By row. */
	struct asked **asked;
	/* Requests that are not of the trace. */
	struct asked *own;
	bool told_of_masks;
	/* An answer did not come: nothing after it makes sense. */
	bool stuck;

	/* What the drivers' threads write: answers, `lost`, violations. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct lost *lost;
};

/* ---- Telling ---- */

struct place {
	struct replay *replay;
	size_t line;
	const char *method;
};

static void tell(void *arg, const char *at, const char *expected, const char *actual)
{
	const struct place *place = arg;
	const struct sp_replay_options *options = place->replay->options;

	if (place->replay->counts->differences++ < MAX_TOLD)
		options->differs(options->arg, place->line, place->method, at, expected, actual);
}

static void note(struct replay *replay, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct replay *replay, const char *format, ...)
{
	char text[SP_ERROR_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	replay->options->note(replay->options->arg, text);
}

/* ---- What the driver says ---- */

static void on_answer(void *arg, struct drv_call *call)
{
	struct asked *asked = arg;
	struct replay *replay = asked->replay;

	pthread_mutex_lock(&replay->lock);
	asked->answered = true;
	asked->answer = call ? SP_TAKE(call->answer) : NULL;
	pthread_cond_broadcast(&replay->changed);
	pthread_mutex_unlock(&replay->lock);
}

static void add_lost(struct replay *replay, size_t dialogue, const cJSON *params)
{
	const char *lease = sp_json_str(params, "lease");
	struct lost *lost = lease ? calloc(1, sizeof(*lost)) : NULL;

	if (!lost)
		return;
	*lost = (struct lost){replay->lost, dialogue, strdup(lease)};
	replay->lost = lost;
}

static void on_heard(void *arg, const char *method, const cJSON *params)
{
	struct player *player = arg;

	pthread_mutex_lock(&player->replay->lock);
	if (!strcmp(method, "lock/lost"))
		add_lost(player->replay, player->index, params);
	else if (!strcmp(method, "$/violation"))
		player->violations++;
	pthread_cond_broadcast(&player->replay->changed);
	pthread_mutex_unlock(&player->replay->lock);
}

/* ---- Waiting ---- */

static uint64_t limit_of(const struct replay *replay)
{
	return sp_deadline_ms(replay->options->limit_ms ? replay->options->limit_ms : LIMIT_MS);
}

/* Waits for a change; false when the limit passed. Called with the lock held. */
static bool await_change(struct replay *replay, uint64_t deadline)
{
	const struct timespec until = {(time_t)(deadline / SP_SECOND),
				       (long)(deadline % SP_SECOND)};

	return !pthread_cond_timedwait(&replay->changed, &replay->lock, &until);
}

static bool await_answer(struct replay *replay, struct asked *asked)
{
	uint64_t deadline = limit_of(replay);
	bool in_time = true;

	pthread_mutex_lock(&replay->lock);
	while (!asked->answered && in_time)
		in_time = await_change(replay, deadline);
	in_time = asked->answered;
	pthread_mutex_unlock(&replay->lock);
	return in_time;
}

/* ---- Sending ---- */

static int gone(struct player *player, size_t line, struct sp_error *err)
{
	struct sp_error cause = SP_ERROR_INIT;
	bool is_gone;

	(void)sp_driver_check(player->driver, &is_gone, &cause);
	sp_error_set(err, SP_UNAVAILABLE, "at line %zu of the trace: %s", line,
		     cause.code ? cause.message : "the driver is gone");
	sp_error_set_detail(err, cause.detail);
	return SP_UNAVAILABLE;
}

static bool is_masked(const cJSON *item)
{
	const cJSON *at;

	if (cJSON_IsString(item))
		return strstr(item->valuestring, DRV_MASK) != NULL;
	cJSON_ArrayForEach(at, item)
	{
		if (is_masked(at))
			return true;
	}
	return false;
}

/* The parameters as the new driver has to hear them. */
static int make_params(struct replay *replay, size_t row, cJSON *message, struct sp_buf *out)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");

	if (is_masked(params) && !replay->told_of_masks) {
		replay->told_of_masks = true;
		note(replay,
		     "line %zu: the trace has " DRV_MASK " in place of a secret; that is what the "
		     "driver gets, and what depends on it may differ",
		     row + 1);
	}
	if (drv_made_replace(&replay->made, replay->script.rows[row].dialogue, params))
		return -1;
	if (params)
		drv_put_json(out, params);
	else
		sp_buf_adds(out, "{}");
	return out->error;
}

/* Sends the request of a row; again, when its answer was not enough. */
static int ask(struct player *player, size_t row, struct asked **ret_asked, struct sp_error *err)
{
	struct replay *replay = player->replay;
	struct sp_buf params SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	cJSON *message SP_CLEANUP(sp_json_done) = drv_script_message(&replay->script, row);
	const char *method = sp_json_str(message, "method");
	struct asked *asked = calloc(1, sizeof(*asked));

	if (!method || !asked || make_params(replay, row, message, &params) ||
	    !(asked->method = strdup(method))) {
		free(asked);
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	asked->replay = replay;
	*ret_asked = asked;
	drv_made_removed(&replay->made, player->index, method,
			 cJSON_GetObjectItemCaseSensitive(message, "params"));
	asked->id = drv_post(player->driver, asked->method, &params, on_answer, asked);
	replay->counts->requests++;
	return asked->id ? 0 : gone(player, row + 1, err);
}

static void free_asked(struct asked *asked)
{
	if (!asked)
		return;
	cJSON_Delete(asked->answer);
	free(asked->method);
	free(asked);
}

/* ---- Answers ---- */

/* Waits for the answer: 1 it is there, 0 not in time, or an error. */
static int take(struct player *player, struct asked *asked, size_t line, struct sp_error *err)
{
	struct place place = {player->replay, line, asked->method};

	if (await_answer(player->replay, asked))
		return asked->answer ? 1 : gone(player, line, err);
	player->replay->stuck = true;
	tell(&place, "answer", "an answer", "none within the limit; nothing after it was played");
	return 0;
}

static const cJSON *result_of(const cJSON *answer)
{
	return cJSON_GetObjectItemCaseSensitive(answer, "result");
}

static int compare_plain(struct player *player, struct asked *asked, size_t row, cJSON *expected,
			 struct sp_error *err)
{
	struct replay *replay = player->replay;
	struct place place = {replay, row + 1, asked->method};

	if (sp_json_str(result_of(expected), "process"))
		drv_streams_forget(&replay->streams, player->index,
				   sp_json_str(result_of(expected), "process"));
	/* What this answer makes up stands for the traced one from here on, in itself as well. */
	if (drv_made_learn(&replay->made, player->index, asked->method, result_of(expected),
			   result_of(asked->answer)) ||
	    drv_made_replace(&replay->made, player->index, expected))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	drv_compare(asked->method, expected, asked->answer, tell, &place);
	return 0;
}

/* ---- Output, which may come in other pieces ---- */

static struct drv_stream *stream_of(struct player *player, size_t row)
{
	cJSON *message SP_CLEANUP(sp_json_done) = drv_script_message(&player->replay->script, row);
	const cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
	const char *method = sp_json_str(message, "method");
	const char *process = sp_json_str(params, "process");
	const char *name = sp_json_str(params, "stream");

	if (!method || strcmp(method, "process/read") || !process || !name)
		return NULL;
	return drv_stream_of(&player->replay->streams, player->index, process, name);
}

/* A piece of one side; false when the other has something else, which is told. */
static bool add_piece(struct player *player, struct drv_stream *stream, bool actual, size_t line,
		      const cJSON *result)
{
	struct place place = {player->replay, line, "process/read"};
	struct sp_buf bytes SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	const cJSON *data = cJSON_GetObjectItemCaseSensitive(result, "data");
	struct sp_buf shown SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	struct sp_buf piece SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;

	if (!drv_bytes_of(data, &bytes) || strstr(sp_buf_str(&bytes), DRV_MASK))
		stream->given_up = true;
	if (drv_stream_add(stream, actual, bytes.data, bytes.len))
		return true;
	stream->given_up = true;
	sp_buf_add_json(&shown, stream->ahead.data,
			stream->ahead.len < 200 ? stream->ahead.len : 200);
	drv_put_json(&piece, data);
	tell(&place, "result.data", sp_buf_str(actual ? &shown : &piece),
	     sp_buf_str(actual ? &piece : &shown));
	return false;
}

/* Reads on until the new driver has told as much as the trace. */
static int read_on(struct player *player, struct drv_stream *stream, size_t row, bool to_the_end,
		   struct sp_error *err)
{
	size_t request = player->replay->script.rows[row].peer;
	int rc = 1;

	while (rc > 0 && !stream->ended && (to_the_end || drv_stream_missing(stream))) {
		struct asked *asked = NULL;
		const cJSON *result;

		rc = ask(player, request, &asked, err);
		if (!rc)
			rc = take(player, asked, row + 1, err);
		result = rc > 0 ? result_of(asked->answer) : NULL;
		stream->ended = rc > 0 && (!result || cJSON_HasObjectItem(result, "end"));
		if (rc > 0 && !stream->ended)
			add_piece(player, stream, true, row + 1, result);
		/* One that is not answered yet belongs to the driver's thread until the end. */
		if (rc > 0)
			free_asked(asked);
		else if (asked)
			player->replay->asked[row] = asked;
	}
	return rc < 0 ? rc : 0;
}

static void check_end(struct player *player, struct drv_stream *stream, size_t line, bool traced)
{
	struct place place = {player->replay, line, "process/read"};
	char size[64];

	if (player->replay->stuck)
		return;
	if (traced && drv_stream_spare(stream)) {
		snprintf(size, sizeof(size), "%zu bytes more", drv_stream_spare(stream));
		stream->given_up = true;
		tell(&place, "result", "the end of the stream", size);
	} else if (stream->ended && drv_stream_missing(stream)) {
		snprintf(size, sizeof(size), "%zu bytes more", drv_stream_missing(stream));
		stream->given_up = true;
		tell(&place, "result", size, "the end of the stream");
	}
}

static int compare_read(struct player *player, struct asked *asked, struct drv_stream *stream,
			size_t row, cJSON *expected, struct sp_error *err)
{
	const cJSON *traced = result_of(expected);
	const cJSON *actual = asked ? result_of(asked->answer) : NULL;
	bool to_the_end = cJSON_HasObjectItem(traced, "end");
	int rc;

	if (asked && (!traced || !actual))
		return compare_plain(player, asked, row, expected, err);
	if (drv_made_replace(&player->replay->made, player->index, expected))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (cJSON_HasObjectItem(actual, "end"))
		stream->ended = true;
	else if (actual)
		add_piece(player, stream, true, row + 1, actual);
	if (traced && !to_the_end)
		add_piece(player, stream, false, row + 1, traced);
	rc = read_on(player, stream, row, to_the_end, err);
	if (!rc)
		check_end(player, stream, row + 1, to_the_end);
	return rc;
}

/* The new driver has told already what the trace's next read tells. */
static bool is_ahead(struct player *player, size_t row)
{
	size_t answer = player->replay->script.rows[row].peer;
	struct sp_buf bytes SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct drv_stream *stream = answer == DRV_NO_ROW ? NULL : stream_of(player, row);
	cJSON *message SP_CLEANUP(sp_json_done) = NULL;
	const cJSON *result;

	if (!stream || (!stream->ended && !drv_stream_spare(stream)))
		return false;
	message = drv_script_message(&player->replay->script, answer);
	result = result_of(message);
	if (stream->ended)
		return result != NULL;
	return drv_bytes_of(cJSON_GetObjectItemCaseSensitive(result, "data"), &bytes) &&
	       bytes.len <= drv_stream_spare(stream);
}

/* ---- Lines ---- */

static int open_driver(struct player *player, size_t line, struct sp_error *err)
{
	struct sp_error why = SP_ERROR_INIT;
	int rc = drv_open_silent(player->options, on_heard, player, &player->driver, &why);

	if (rc)
		sp_error_set(err, SP_UNAVAILABLE, "line %zu: the driver cannot be started: %s",
			     line, why.message);
	else
		player->replay->counts->dialogues++;
	return rc ? SP_UNAVAILABLE : 0;
}

static int play_request(struct player *player, size_t row, struct sp_error *err)
{
	int rc = player->driver ? 0 : open_driver(player, row + 1, err);

	if (rc || is_ahead(player, row))
		return rc;
	return ask(player, row, &player->replay->asked[row], err);
}

/* `$/cancel` names its call by the id, which is another one here. */
static int play_notice(struct player *player, size_t row, struct sp_error *err)
{
	struct replay *replay = player->replay;
	struct drv_dialogue *dialogue = &replay->script.dialogues[player->index];
	cJSON *message SP_CLEANUP(sp_json_done) = drv_script_message(&replay->script, row);
	cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
	cJSON *id = cJSON_GetObjectItemCaseSensitive(params, "id");
	struct sp_buf text SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	int64_t traced;

	if (sp_json_int(params, "id", &traced) && traced >= 1 &&
	    traced <= (int64_t)dialogue->n_requests) {
		const struct asked *asked = replay->asked[dialogue->requests[traced - 1]];

		if (!asked)
			return 0;
		cJSON_SetNumberValue(id, (double)asked->id);
	}
	if (make_params(replay, row, message, &text))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	drv_notify(player->driver, sp_json_str(message, "method"), &text);
	return 0;
}

static int play_answer(struct player *player, size_t row, struct sp_error *err)
{
	struct replay *replay = player->replay;
	size_t request = replay->script.rows[row].peer;
	struct asked *asked = replay->asked[request];
	cJSON *expected SP_CLEANUP(sp_json_done) = drv_script_message(&replay->script, row);
	struct drv_stream *stream = stream_of(player, request);
	int rc = asked ? take(player, asked, row + 1, err) : 1;

	if (rc <= 0)
		return rc;
	if (stream)
		rc = compare_read(player, asked, stream, row, expected, err);
	else
		rc = compare_plain(player, asked, row, expected, err);
	free_asked(asked);
	replay->asked[request] = NULL;
	return rc;
}

static bool was_lost(const struct replay *replay, size_t dialogue, const char *lease)
{
	const struct lost *at = replay->lost;

	while (at && (at->dialogue != dialogue || strcmp(at->lease, lease)))
		at = at->next;
	return at != NULL;
}

/* A lease that was lost: what came afterwards may depend on it. */
static void await_loss(struct player *player, size_t row, const char *lease)
{
	struct place place = {player->replay, row + 1, "lock/lost"};
	struct replay *replay = player->replay;
	uint64_t deadline = limit_of(replay);
	bool in_time = true, lost;

	pthread_mutex_lock(&replay->lock);
	while (!(lost = was_lost(replay, player->index, lease)) && in_time)
		in_time = await_change(replay, deadline);
	pthread_mutex_unlock(&replay->lock);
	if (lost)
		return;
	replay->stuck = true;
	tell(&place, "the notification", "the lease is lost",
	     "it was not, within the limit; nothing after it was played");
}

static int play_heard(struct player *player, size_t row, struct sp_error *err)
{
	cJSON *message SP_CLEANUP(sp_json_done) = drv_script_message(&player->replay->script, row);
	cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
	const char *method = sp_json_str(message, "method");

	if (drv_made_replace(&player->replay->made, player->index, params))
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (method && !strcmp(method, "lock/lost") && sp_json_str(params, "lease"))
		await_loss(player, row, sp_json_str(params, "lease"));
	if (method && !strcmp(method, "$/violation")) {
		player->traced_violations++;
		player->violation_line = row + 1;
	}
	return 0;
}

/* ---- The end of a dialogue ---- */

/* What the trace has no answer to is waited for all the same: the driver may end over it. */
static int await_rest(struct player *player, struct sp_error *err)
{
	const struct drv_dialogue *dialogue = &player->replay->script.dialogues[player->index];

	for (size_t i = 0; !player->replay->stuck && i < dialogue->n_requests; i++) {
		size_t row = dialogue->requests[i];
		struct asked *asked = player->replay->asked[row];

		if (!asked)
			continue;
		if (!await_answer(player->replay, asked))
			note(player->replay, "line %zu: %s is not answered, as in the trace",
			     row + 1, asked->method);
		else if (!asked->answer)
			return gone(player, row + 1, err);
		else
			(void)drv_made_learn(&player->replay->made, player->index, asked->method,
					     result_of(asked->answer), result_of(asked->answer));
	}
	return 0;
}

static void compare_violations(struct player *player)
{
	struct place place = {player->replay, player->violation_line, "$/violation"};
	char expected[32], actual[32];
	size_t told;

	pthread_mutex_lock(&player->replay->lock);
	told = player->violations;
	pthread_mutex_unlock(&player->replay->lock);
	if (told == player->traced_violations)
		return;
	if (!place.line)
		place.line = player->replay->script.dialogues[player->index].last_row + 1;
	snprintf(expected, sizeof(expected), "%zu", player->traced_violations);
	snprintf(actual, sizeof(actual), "%zu", told);
	tell(&place, "how many", expected, actual);
}

/* Named again after this row, so that somebody else will see to it. */
static bool is_named_later(const struct replay *replay, size_t row, const char *traced)
{
	const struct drv_row *at = &replay->script.rows[row];
	size_t from = at->at + at->len;

	return !replay->stuck && memmem(replay->script.text.data + from,
					replay->script.text.len - from, traced, strlen(traced));
}

/* False when there is no answer in time: the others need not be tried. */
static bool remove_item(struct player *player, const struct drv_made_item *item, bool *ret_removed)
{
	struct sp_buf params SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT;
	struct asked *asked = calloc(1, sizeof(*asked));
	bool in_time;

	if (!asked)
		return false;
	asked->replay = player->replay;
	asked->next = player->replay->own;
	player->replay->own = asked;
	drv_put_open(&params, NULL, '{');
	drv_put_text(&params, strcmp(item->remove, "provider/destroy") ? "snapshot" : "id",
		     item->actual);
	sp_buf_addc(&params, '}');
	(void)drv_post(player->driver, item->remove, &params, on_answer, asked);
	in_time = await_answer(player->replay, asked);
	*ret_removed = in_time && result_of(asked->answer);
	return in_time;
}

/* What the dialogue made and the trace does not remove any more. */
static void remove_rest(struct player *player, size_t row)
{
	struct replay *replay = player->replay;
	bool in_time = true, removed = false;

	for (size_t i = 0; i < replay->made.len; i++) {
		struct drv_made_item *item = &replay->made.items[i];

		if (!item->remove || item->dialogue != player->index ||
		    is_named_later(replay, row, item->traced))
			continue;
		in_time = in_time && remove_item(player, item, &removed);
		if (!removed)
			note(replay, "left behind: %s", item->actual);
		item->remove = NULL;
		removed = false;
	}
}

static int end_dialogue(struct player *player, size_t row, struct sp_error *err)
{
	int rc = await_rest(player, err);

	if (!rc && !player->replay->stuck)
		compare_violations(player);
	remove_rest(player, row);
	player->driver = sp_driver_unref(player->driver);
	return rc;
}

/* ---- All of it ---- */

static int play_row(struct replay *replay, size_t row, struct sp_error *err)
{
	const struct drv_row *at = &replay->script.rows[row];
	struct player *player = &replay->players[at->dialogue];
	int rc = 0;

	if (!player->options)
		return 0;
	switch (at->kind) {
	case DRV_ROW_REQUEST:
		rc = play_request(player, row, err);
		break;
	case DRV_ROW_NOTICE:
		rc = play_notice(player, row, err);
		break;
	case DRV_ROW_ANSWER:
		rc = play_answer(player, row, err);
		break;
	case DRV_ROW_HEARD:
		rc = play_heard(player, row, err);
		break;
	case DRV_ROW_OTHER:
		break;
	}
	if (!rc && !replay->stuck && row == replay->script.dialogues[at->dialogue].last_row)
		rc = end_dialogue(player, row, err);
	return rc;
}

/* Who plays a dialogue; one in which nothing was called is anybody's. */
static const struct sp_driver_options *choose(const struct sp_replay_options *options,
					      unsigned parts)
{
	const struct sp_driver_options *lock = options->lock ? options->lock : options->store;

	if (parts & DRV_PART_PROVIDER)
		return options->provider;
	if (parts & DRV_PART_STORE)
		return options->store;
	if (parts & DRV_PART_LOCK)
		return lock;
	return options->provider ? options->provider : options->store ? options->store : lock;
}

static int prepare(struct replay *replay, struct sp_error *err)
{
	const struct drv_script *script = &replay->script;
	size_t left_out = 0;

	replay->players = calloc(script->n_dialogues, sizeof(*replay->players));
	replay->asked = calloc(script->n_rows, sizeof(struct asked *));
	if (!replay->players || !replay->asked)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	for (size_t i = 0; i < script->n_dialogues; i++) {
		replay->players[i] = (struct player){
		    .replay = replay,
		    .index = i,
		    .options = choose(replay->options, script->dialogues[i].parts),
		};
		left_out += !replay->players[i].options;
	}
	if (left_out == script->n_dialogues)
		return sp_error_set(err, SP_INVALID,
				    "the trace has no dialogue with what is named; it takes "
				    "another of --provider, --store and --lock");
	if (left_out)
		note(replay, "%zu of %zu dialogues are left out: nobody is named for them",
		     left_out, script->n_dialogues);
	if (script->cut)
		note(replay, "line %zu is cut off, and taken as the end of the trace",
		     script->n_rows + 1);
	return 0;
}

static void finish(struct replay *replay)
{
	for (size_t i = 0; replay->players && i < replay->script.n_dialogues; i++) {
		struct player *player = &replay->players[i];

		if (!player->driver)
			continue;
		replay->stuck = true;
		remove_rest(player, replay->script.n_rows - 1);
		player->driver = sp_driver_unref(player->driver);
	}
	for (size_t i = 0; replay->asked && i < replay->script.n_rows; i++)
		free_asked(replay->asked[i]);
	while (replay->own) {
		struct asked *next = replay->own->next;

		free_asked(replay->own);
		replay->own = next;
	}
	while (replay->lost) {
		struct lost *next = replay->lost->next;

		free(replay->lost->lease);
		free(replay->lost);
		replay->lost = next;
	}
	free(replay->asked);
	free(replay->players);
	drv_made_done(&replay->made);
	drv_streams_done(&replay->streams);
	drv_script_done(&replay->script);
	pthread_cond_destroy(&replay->changed);
	pthread_mutex_destroy(&replay->lock);
}

static void init_locks(struct replay *replay)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&replay->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&replay->changed, &attr);
	pthread_condattr_destroy(&attr);
}

int sp_replay(const char *trace, const struct sp_replay_options *options,
	      struct sp_replay_counts *counts, struct sp_error *err)
{
	struct replay replay = {.options = options, .counts = counts, .script = DRV_SCRIPT_INIT};
	int rc = drv_script_read(trace, &replay.script, err);

	if (rc)
		return rc;
	init_locks(&replay);
	rc = prepare(&replay, err);
	for (size_t row = 0; !rc && !replay.stuck && row < replay.script.n_rows; row++)
		rc = play_row(&replay, row, err);
	finish(&replay);
	return rc;
}
