/* SPDX-License-Identifier: MIT */
/* Recorded dialogues with a driver: does it, or another one, still answer so? */
#include <cli/cli.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/json.h>
#include <base/utf8.h>
#include <cli/registry.h>
#include <cli/text.h>
#include <redact/redact.h>

/* Bytes of a value that are shown. */
#define SHOWN_MAX 400

struct replay_args {
	const char *provider, *store, *lock;
	struct cli_list driver_env;
	struct cli_number limit_ms;
	bool json;
};

static const struct cli_option options[] = {
    CLI_OPTION(struct replay_args, provider, "provider", "SPEC", CLI_TEXT,
	       "the driver for dialogues with a provider: driver:COMMAND…, driver+unix:PATH or "
	       "driver+tcp:127.0.0.1:PORT"),
    CLI_OPTION(
	struct replay_args, store, "store", "SPEC", CLI_TEXT,
	"the driver for dialogues with a store, and with a lock unless --lock names another"),
    CLI_OPTION(struct replay_args, lock, "lock", "SPEC", CLI_TEXT,
	       "the driver for dialogues with a lock"),
    CLI_OPTION(struct replay_args, driver_env, "driver-env", "NAME", CLI_LIST,
	       "a variable of ours that drivers get too; as of `sandproof run`"),
    CLI_OPTION(struct replay_args, limit_ms, "limit-ms", "N", CLI_NUMBER,
	       "longest time for one answer (default 30000)", .min = 1, .max = 3600000),
    CLI_OPTION(struct replay_args, json, "json", NULL, CLI_FLAG,
	       "one JSON object a difference, and one at the end with the numbers"),
};

/* What the replay tells to. */
struct teller {
	bool json;
	struct sp_redact *redact;
};

/* ---- What it says ---- */

/* Masked, cut at a character, and without control bytes. */
static void add_value(const struct teller *teller, const char *text, struct sp_buf *out)
{
	struct sp_buf masked SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_EVENT);
	size_t cut;

	sp_redact_text(teller->redact, text, strlen(text), &masked);
	cut = sp_utf8_cut(sp_buf_str(&masked), masked.len, SHOWN_MAX);
	sp_buf_add(out, sp_buf_str(&masked), cut);
	if (cut < masked.len)
		sp_buf_adds(out, "…");
}

static void add_json(const char *name, const struct teller *teller, const char *text,
		     struct sp_buf *out)
{
	struct sp_buf value SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	add_value(teller, text, &value);
	sp_buf_addf(out, ",\"%s\":", name);
	sp_buf_add_json(out, sp_buf_str(&value), value.len);
}

static void add_line(const char *name, const struct teller *teller, const char *text,
		     struct sp_buf *out)
{
	struct sp_buf value SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	add_value(teller, text, &value);
	sp_buf_addf(out, "      %-10s ", name);
	cli_text_safe(out, sp_buf_str(&value));
	sp_buf_addc(out, '\n');
}

static void differs(void *arg, size_t line, const char *method, const char *at,
		    const char *expected, const char *actual)
{
	const struct teller *teller = arg;
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	if (teller->json) {
		sp_buf_addf(&out, "{\"line\":%zu", line);
		add_json("method", teller, method, &out);
		add_json("at", teller, at, &out);
		add_json("expected", teller, expected, &out);
		add_json("actual", teller, actual, &out);
		sp_buf_adds(&out, "}\n");
	} else {
		sp_buf_addf(&out, "line %zu  %s  ", line, method);
		cli_text_safe(&out, at);
		sp_buf_addc(&out, '\n');
		add_line("expected", teller, expected, &out);
		add_line("actual", teller, actual, &out);
	}
	(void)cli_print(&out);
}

static void note(void *arg, const char *text)
{
	(void)arg;
	cli_say("%s", text);
}

static int tell_counts(const struct replay_args *args, const struct cli_replay_counts *counts)
{
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addf(&out,
		    args->json ? "{\"dialogues\":%zu,\"requests\":%zu,\"differences\":%zu}\n"
			       : "%zu dialogues, %zu requests, %zu differences\n",
		    counts->dialogues, counts->requests, counts->differences);
	return cli_print(&out);
}

/* ---- Doing it ---- */

static int check_spec(const char *option, enum sp_subject_kind kind, const char *spec,
		      struct sp_error *err)
{
	int rc = spec ? cli_spec_check(kind, spec, err) : 0;

	if (rc || !spec || cli_spec_is_driver(kind, spec))
		return rc;
	return sp_error_set(err, SP_INVALID,
			    "%s %s is no driver: a trace is played to driver:COMMAND…, "
			    "driver+unix:PATH or driver+tcp:127.0.0.1:PORT; ours are drivers as "
			    "well: 'driver:%s serve %s %s'",
			    option, spec, cli_program(), option, spec);
}

static int check(const struct replay_args *args, const struct cli_list *words, struct sp_error *err)
{
	int rc;

	if (!words->len)
		return sp_error_set(err, SP_INVALID, "name the trace that is to be played");
	if (!args->provider && !args->store && !args->lock)
		return sp_error_set(err, SP_INVALID,
				    "nobody to play it to: name a --provider, a --store or a "
				    "--lock");
	rc = check_spec("--provider", SP_SUBJECT_PROVIDER, args->provider, err);
	if (!rc)
		rc = check_spec("--store", SP_SUBJECT_STORE, args->store, err);
	if (!rc)
		rc = check_spec("--lock", SP_SUBJECT_LOCK, args->lock, err);
	return rc;
}

/* What drivers are given may come back in what they say. */
static void learn_secrets(const struct replay_args *args, struct sp_redact *redact)
{
	for (size_t i = 0; i < args->driver_env.len; i++) {
		const char *value = getenv(args->driver_env.items[i]);

		if (value)
			(void)sp_redact_add(redact, value);
	}
}

static int replay(const struct cli_command *self, const struct replay_args *args,
		  const struct cli_list *words)
{
	struct teller teller = {args->json, sp_redact_new()};
	struct cli_replay_counts counts = {0, 0, 0};
	struct sp_error err = SP_ERROR_INIT;
	struct cli_replay_options o = {
	    .provider = args->provider,
	    .store = args->store,
	    .lock = args->lock,
	    .driver_env = args->driver_env.items,
	    .n_driver_env = args->driver_env.len,
	    .limit_ms = (uint32_t)args->limit_ms.value,
	    .differs = differs,
	    .note = note,
	    .arg = &teller,
	};
	int rc = teller.redact ? check(args, words, &err)
			       : sp_error_set(&err, SP_INTERNAL, "out of memory");

	if (!rc) {
		learn_secrets(args, teller.redact);
		o.trace = words->items[0];
		rc = cli_replay(&o, &counts, &err);
	}
	sp_redact_free(teller.redact);
	if (rc)
		return cli_fail(self, &err);
	rc = tell_counts(args, &counts);
	return rc ? rc : counts.differences ? SP_EXIT_FAILED : SP_EXIT_OK;
}

static int run_replay(const struct cli_command *self, int argc, char **argv)
{
	struct replay_args args = {.provider = NULL};
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	int code = 0;

	if (cli_begin(self, argc, argv, &args, &words, &code))
		code = cli_too_many_words(self, &words, 1) ? SP_EXIT_USAGE
							   : replay(self, &args, &words);
	cli_list_done(&args.driver_env);
	return code;
}

const struct cli_command cli_replay_command = {
    .name = "replay",
    .synopsis = "TRACE --provider SPEC | --store SPEC | --lock SPEC",
    .summary = "play a recorded dialogue to a driver again",
    .details =
	"Plays the client's part of TRACE, which `sandproof run --trace` wrote, and tells where "
	"the driver answers otherwise: the shape of an answer, the code of an error, and every "
	"value that is neither made up by the driver (handles, ids, roots, addresses) nor a time "
	"nor masked. A request is sent when everything has been answered that the trace shows "
	"answered before it; what a command finds by looking again and again, or "
	"a number of a process, differs by nature. What the driver makes up takes the traced one's "
	"place in later "
	"requests; other numbers, such as ids of processes in a command's text, are sent as they "
	"were, so play a trace that signals by number only to sandboxes that cannot reach "
	"anybody else's processes. Exit 0: the same; 1: differences, or no answer within the "
	"limit; 3: the driver cannot be started or dies, or the trace cannot be read.",
    .options = options,
    .n_options = SP_COUNT(options),
    .examples = "  sandproof run --provider 'driver:./my-driver' --case 'exec.code.*' --trace "
		"--results out/r\n"
		"  sandproof replay out/r.trace --provider 'driver:./my-driver'\n",
    .run = run_replay,
};
