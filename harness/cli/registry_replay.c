/* SPDX-License-Identifier: MIT */
/* A trace played to the drivers of SPECs. */
#include "registry_impl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <providers/driver/replay.h>

/* One SPEC that was named, and the driver that it means. */
struct part {
	struct cli_spec spec;
	struct sp_driver_options options;
};

static int read_part(enum sp_subject_kind kind, const char *text, const char *const *names,
		     const char *folder, struct part *part, struct sp_error *err)
{
	part->spec = (struct cli_spec)CLI_SPEC_INIT;
	part->options = (struct sp_driver_options)SP_DRIVER_OPTIONS_INIT;
	if (!text)
		return 0;
	part->options.env_names = names;
	part->options.shared_folder = folder;
	if (cli_spec_parse(kind, text, &part->spec, err))
		return err->code;
	cli_driver_options(&part->spec, &part->options);
	return 0;
}

static int replay(const struct cli_replay_options *o, const char *folder, const char *const *names,
		  struct sp_replay_counts *counts, struct sp_error *err)
{
	struct part provider, store, lock;
	struct sp_replay_options options = {
	    .provider = o->provider ? &provider.options : NULL,
	    .store = o->store ? &store.options : NULL,
	    .lock = o->lock ? &lock.options : NULL,
	    .limit_ms = o->limit_ms,
	    .differs = o->differs,
	    .note = o->note,
	    .arg = o->arg,
	};
	int rc = read_part(SP_SUBJECT_PROVIDER, o->provider, names, folder, &provider, err);
	int rc_store = read_part(SP_SUBJECT_STORE, o->store, names, folder, &store, err);
	int rc_lock = read_part(SP_SUBJECT_LOCK, o->lock, names, folder, &lock, err);

	rc = rc ? rc : rc_store ? rc_store : rc_lock;
	if (!rc)
		rc = sp_replay(o->trace, &options, counts, err);
	cli_spec_done(&provider.spec);
	cli_spec_done(&store.spec);
	cli_spec_done(&lock.spec);
	return rc;
}

int cli_replay(const struct cli_replay_options *options, struct cli_replay_counts *ret_counts,
	       struct sp_error *err)
{
	const char **names SP_FREE = calloc(options->n_driver_env + 1, sizeof(*names));
	struct sp_replay_counts counts = {0, 0, 0};
	char *folder SP_FREE = NULL;
	int rc;

	if (!names)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	if (options->n_driver_env)
		memcpy(names, options->driver_env, options->n_driver_env * sizeof(*names));
	signal(SIGPIPE, SIG_IGN);
	rc = sp_tmp_dir("sandproof-replay-", &folder, err);
	if (rc)
		return rc;
	rc = replay(options, folder, names, &counts, err);
	sp_remove_tree(folder);
	*ret_counts =
	    (struct cli_replay_counts){counts.dialogues, counts.requests, counts.differences};
	return rc;
}
