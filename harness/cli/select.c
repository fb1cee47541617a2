/* SPDX-License-Identifier: MIT */
#include <cli/select.h>

#include <string.h>

#include <base/cleanup.h>
#include <base/nearest.h>
#include <cli/registry.h>
#include <cli/suggest.h>

/* More parts than any CI has machines. */
#define MAX_SHARDS 10000

void cli_filter_done(struct cli_filter_args *args)
{
	cli_list_done(&args->suites);
	cli_list_done(&args->cases);
	cli_list_done(&args->tags);
}

static int parse_shard(const char *text, struct sp_filter *filter, struct sp_error *err)
{
	const char *slash = strchr(text, '/');
	char *first SP_FREE = slash ? strndup(text, (size_t)(slash - text)) : NULL;
	uint64_t part, parts;

	if (!first || cli_parse_number("", slash + 1, 1, MAX_SHARDS, &parts, NULL) ||
	    cli_parse_number("", first, 1, parts, &part, NULL))
		return sp_error_set(err, SP_INVALID,
				    "--shard takes I/N with I from 1 to N, not \"%s\"", text);
	filter->shard = (unsigned)part;
	filter->n_shards = (unsigned)parts;
	return 0;
}

int cli_load_suites(const struct cli_list *files, struct sp_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < files->len; i++)
		rc = cli_suites_add(files->items[i], err);
	return rc;
}

int cli_filter_make(const struct cli_filter_args *args, struct sp_filter *ret_filter,
		    struct sp_error *err)
{
	struct sp_filter filter = {
		.suites = args->suites.items, .n_suites = args->suites.len,
		.cases = args->cases.items,   .n_cases = args->cases.len,
		.tags = args->tags.items,     .n_tags = args->tags.len,
	};
	int rc = cli_check_words(SP_TOPIC_SUITE, &args->suites, err);

	if (!rc)
		rc = cli_check_words(SP_TOPIC_CASE, &args->cases, err);
	if (!rc)
		rc = cli_check_words(SP_TOPIC_TAG, &args->tags, err);
	if (!rc && args->shard)
		rc = parse_shard(args->shard, &filter, err);
	if (!rc)
		*ret_filter = filter;
	return rc;
}

const char *cli_need_name(unsigned bit)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ SP_NEED_CONTROL, "control" },
		{ SP_NEED_FRESH, "fresh" },
		{ SP_NEED_SPAWN, "spawn" },
		{ SP_NEED_KILL, "kill" },
		{ SP_NEED_STDIN, "stdin" },
		{ SP_NEED_PORTS, "ports" },
		{ SP_NEED_FORK, "fork" },
		{ SP_NEED_SNAPSHOTS, "snapshots" },
		{ SP_NEED_NETWORK_POLICY, "network-policy" },
		{ SP_NEED_SUSPENSION, "suspension" },
		{ SP_NEED_SIGNALS, "signals" },
		{ SP_NEED_BYTES, "bytes" },
		{ SP_NEED_OUTPUT_CAP, "output-cap" },
		{ SP_NEED_NO_STDIN, "no-stdin" },
		{ SP_NEED_NO_KILL, "no-kill" },
		{ SP_NEED_NO_SIGNALS, "no-signals" },
		{ SP_NEED_REAPS_GROUP, "reaps-group" },
		{ SP_NEED_UNREAD_BOUND, "unread-bound" },
		{ SP_NEED_REACH_SESSION, "reach-session" },
		{ SP_NEED_REACH_TREE, "reach-tree" },
		{ SP_NEED_NO_SANDBOX, "no-sandbox" },
		{ SP_NEED_ENV, "env" },
		{ SP_NEED_DURABLE, "durable" },
		{ SP_NEED_STORE_FENCE, "store-fence" },
		{ SP_NEED_MULTI_PROCESS, "multi-process" },
		{ SP_NEED_LEASE, "lease" },
		{ SP_NEED_LOCK_FENCE, "lock-fence" },
		{ SP_NEED_PEER, "other-processes" },
		{ SP_NEED_BACKDOOR, "back-door" },
	};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		if (names[i].bit == bit)
			return names[i].name;
	return NULL;
}

const char *cli_level_name(enum sp_level level)
{
	return level == SP_SHOULD ? "SHOULD" : "MUST";
}

char *cli_nearest_fault(const char *id)
{
	struct cli_list names SP_CLEANUP(cli_list_done) = { NULL, 0 };
	size_t n;
	const struct sp_fault *const *faults = cli_faults(&n);

	for (size_t i = 0; i < n; i++)
		cli_list_add(&names, faults[i]->id);
	return sp_nearest(id, names.items, names.len);
}

int cli_unknown_fault(const char *id, struct sp_error *err)
{
	char *near SP_FREE = cli_nearest_fault(id);

	return sp_error_set(err, SP_INVALID, "unknown fault \"%.80s\"%s%s", id,
			    near && *near ? "; the nearest: " : "; see `sandproof list --faults`",
			    near ? near : "");
}
