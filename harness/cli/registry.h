/* SPDX-License-Identifier: MIT */
/*
 * The registry: what there is. registry*.c, one file a kind of subject, are the only files of the
 * program that name concrete providers, stores, fakes, faults and suites; everything else,
 * the runner first of all, knows them through these functions.
 */
#ifndef SP_CLI_REGISTRY_H
#define SP_CLI_REGISTRY_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sandproof/case.h>
#include <sandproof/seams.h>
#include <sandproof/subject.h>

#include <base/buf.h>

/* ---- What there is: static, no network, no credentials ---- */

/* All suites, in the order in which they run. */
const struct sp_suite *const *cli_suites(size_t *ret_len);
/*
 * Adds the suites of a plugin (--suite-plugin) behind the others, for the life of the program;
 * `file` is borrowed for as long. SP_IO, SP_UNSUPPORTED: it cannot be loaded; SP_PROTOCOL: its
 * suites do not go with the others. What cli_suites() answered before is void.
 */
int cli_suites_add(const char *file, struct sp_error *err);
/* The plugin's file that a suite came from; NULL for one of ours. */
const char *cli_suite_file(const struct sp_suite *suite);
/* Forgets all suites but ours, for tests. */
void cli_suites_reset(void);
/* All faults, sorted by id; one by id, or NULL. */
const struct sp_fault *const *cli_faults(size_t *ret_len);
const struct sp_fault *cli_fault_find(const char *id);
/* "render-step" and so on. */
const char *cli_fault_seam_name(enum sp_fault_seam seam);
/* True when the fault works on any provider ("level: contract"). */
bool cli_fault_is_contract(const struct sp_fault *fault);

/* One entry of the table of known defects. Texts are owned; NULL where there is none. */
struct cli_defect {
	char *id, *words;
	/* Faults that model it; the entry it is one with; FILE:TEST; why it is not judged. */
	char *faults, *same, *tests, *outside;
};
/* One by id ("contract:C3"); SP_NOT_FOUND when there is none. Freed by cli_defect_done(). */
int cli_defect_find(const char *id, struct cli_defect *ret_defect, struct sp_error *err);
void cli_defect_done(struct cli_defect *defect);
/*
 * Ids of the entries that are placed nowhere, or at a fault that is not there, joined by spaces;
 * malloc'ed. `ret_len` (may be NULL) gets how many entries there are. NULL: no memory.
 */
char *cli_defects_unplaced(size_t *ret_len);

/* Checks a SPEC: SP_INVALID malformed, SP_UNSUPPORTED well-formed and not built yet. */
int cli_spec_check(enum sp_subject_kind kind, const char *spec, struct sp_error *err);
/*
 * False for a plugin that can be loaded and does not offer this kind: a store's own lock is not
 * there then. Starts a process.
 */
bool cli_spec_offers(enum sp_subject_kind kind, const char *spec);
/* The SPEC of a kind that is not named, or NULL when its back end is not built yet. */
const char *cli_spec_default(enum sp_subject_kind kind);
/* True for a SPEC that reaches a service which bills. */
bool cli_spec_is_live(const char *spec);
/* True for a SPEC whose sandboxes live on when the run is killed. */
bool cli_spec_outlives(const char *spec);
/* Whether what a store of this SPEC holds may be there after the run. */
bool cli_store_outlives(const char *spec);
/* True for a SPEC that opens the Render provider, where faults of its steps and transport apply. */
bool cli_spec_is_render(const char *spec);

/* ---- A run's back ends ---- */

/* What --option sets of a back end; "has" fields tell apart from the defaults. Borrowed texts. */
struct cli_settings {
	bool has_kill_grace;
	uint32_t kill_grace_ms;
	/* 0: the provider's default. */
	uint64_t unread_bound;
	uint64_t output_cap;
	uint32_t poll_ms;
	uint32_t start_timeout_ms;
	/* SP_SNAPSHOT_* bit; 0: the provider's default. */
	unsigned snapshot_kind;
	const char *private_dir;
	const char *plan;
};

struct cli_registry_options {
	/*
	 * SPECs, checked before; NULL: not named. A lock is the store's own then,
	 * journal and ensure are ours.
	 */
	const char *provider, *store, *lock, *journal, *ensure;
	struct cli_settings settings;
	/* --control and its token, or NULL. */
	const char *control_url;
	const char *control_token;
	/* Cases get no control, as with a provider that has none. */
	bool no_control;
	/* What may be asked of a service, 0: no limit. Only providers over Render's API count. */
	uint64_t max_requests, max_sandboxes;
	/* Applied to what is opened, or NULL. */
	const struct sp_fault *fault;
	/* Variables that drivers get besides the standing list. */
	const char *const *driver_env;
	size_t n_driver_env;
	/* Where dialogues with drivers are written, or NULL. */
	const char *trace_path;
	/* Drivers of a worker get a folder in common: what several instances share lives there. */
	bool share_drivers;
	/* Such a folder of our own client, or NULL: a fake is then one for all that have it. */
	const char *shared_folder;
};

/* The back ends of one run. All texts of the options are borrowed for its life. */
struct cli_registry;
struct cli_registry *cli_registry_new(const struct cli_registry_options *options);
/* Ends what was started; NULL is fine. */
struct cli_registry *cli_registry_free(struct cli_registry *registry);

/*
 * Whether the credentials that the SPEC needs are there. SP_DENIED names the
 * variables that are missing, and says so when only one of two is set.
 */
int cli_registry_credentials(const struct cli_registry *registry, struct sp_error *err);

/*
 * The entries of struct sp_run_options; `registry` is a struct cli_registry. prepare() may be
 * called before the run as well.
 */
int cli_registry_prepare(void *registry, struct sp_error *err);
void cli_registry_finish(void *registry);
int cli_registry_workspace(void *registry, int worker, char **ret_workspace, struct sp_error *err);
pid_t cli_registry_backend_pid(void *registry);
void cli_registry_backend_ended(void *registry, struct sp_error *err);
int cli_registry_backend_answers(void *registry, struct sp_error *err);
uint64_t cli_registry_commands(void *registry);
/* Writes the coverage of plugins; for a worker that is about to end. */
void cli_registry_dump(void *registry);
int cli_registry_open(void *registry, enum sp_subject_kind kind, const char *spec,
		      const char *workspace, struct sp_subject *ret_subject, struct sp_error *err);

/* What all processes of the run have asked of Render's API; zeros for other providers. */
struct cli_usage {
	uint64_t sandboxes;
	/* To the control plane. */
	uint64_t requests;
	/* Not made because a limit was reached; that waited for the service's next window. */
	uint64_t refused, paced;
	bool used_up;
};
struct cli_usage cli_registry_usage(const struct cli_registry *registry);

/*
 * False when the fault can reach outside its sandbox and the prepared back
 * end does not give every sandbox pid and mount namespaces of its own (or it cannot be told).
 * Opening answers SP_UNSUPPORTED then; nothing overrides it.
 */
bool cli_registry_permits(const struct cli_registry *registry);

/* True for a SPEC of a driver; for one to which we attach (a socket). */
bool cli_spec_is_driver(enum sp_subject_kind kind, const char *spec);
bool cli_spec_is_attached(enum sp_subject_kind kind, const char *spec);

/* ---- The driver protocol, from the driver's side ---- */

struct cli_serve_driver_options {
	/* NULL: not offered. A lock that is not named is the store's own. */
	const char *provider, *store, *lock;
	/* "unix:PATH" or "127.0.0.1:PORT"; NULL: standard input and output. */
	const char *listen;
	struct cli_settings settings;
};

/* Serves until the client goes, or with `listen` until a signal. */
int cli_serve_driver(const struct cli_serve_driver_options *options, struct sp_error *err);

/* ---- A recorded dialogue, played again ---- */

/* See providers/driver/replay.h; the SPECs are of drivers, checked before. */
struct cli_replay_options {
	const char *trace;
	/* NULL: not named. */
	const char *provider, *store, *lock;
	const char *const *driver_env;
	size_t n_driver_env;
	uint32_t limit_ms;
	void (*differs)(void *arg, size_t line, const char *method, const char *at,
			const char *expected, const char *actual);
	void (*note)(void *arg, const char *text);
	void *arg;
};
struct cli_replay_counts {
	size_t dialogues, requests, differences;
};
int cli_replay(const struct cli_replay_options *options, struct cli_replay_counts *ret_counts,
	       struct sp_error *err);

/* ---- The fake API server, in this process ---- */

struct cli_serve_options {
	const char *listen;
	/* "A", "B" or "C"; NULL: the newest. */
	const char *era;
	const char *const *faults;
	size_t n_faults;
	bool json;
	bool die_with_parent;
};

/* Serves until a signal. 0, or the code of what went wrong before it listened. */
int cli_serve_fake(const struct cli_serve_options *options, struct sp_error *err);
/* Whether it has a fault of that name, and one line for each that it has, with what it does. */
bool cli_fake_has_fault(const char *name);
void cli_fake_list_faults(struct sp_buf *out);

#endif
