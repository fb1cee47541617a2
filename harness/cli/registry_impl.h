/* SPDX-License-Identifier: MIT */
/* Shared between the files of the registry, one a kind of subject; nobody else includes it. */
#ifndef SP_CLI_REGISTRY_IMPL_H
#define SP_CLI_REGISTRY_IMPL_H

#include <cli/fake.h>
#include <cli/registry.h>
#include <cli/spec.h>

struct sp_meter;

/* A workspace that was made for one worker, with its key. */
struct workspace {
	char *id;
	char *api_key;
};

/* A driver that runs; see registry_driver.c. */
struct cli_driver;

struct cli_registry {
	struct cli_registry_options options;
	struct cli_spec spec;
	bool prepared;
	/* Every sandbox has namespaces of its own: asked once, when a fault depends on it. */
	bool isolated;
	/* The store is a plugin that offers no lock, so what stands on it gets one of ours. */
	bool lock_apart;
	/* For bash only. */
	struct cli_fake fake;
	/* Made in the supervisor; workers inherit the table. */
	struct workspace *workspaces;
	size_t n_workspaces;
	/* Of this process. */
	struct cli_driver *drivers;
	/* What is asked of the service; shared by all processes of the run. May be NULL. */
	struct sp_meter *meter;
};

/* What control talks to: what the options name, else the fake of the run; NULL without either. */
const char *cli_control_url(const struct cli_registry *registry);
const char *cli_control_token(const struct cli_registry *registry);

/*
 * Each opens what belongs to one kind into the subject and applies the run's fault, if it is one of
 * that kind. What was opened before a failure stays for sp_subject_done().
 */
int cli_open_provider(struct cli_registry *registry, const char *workspace,
		      struct sp_subject *subject, struct sp_error *err);
/*
 * Before any case: whether the service that a SPEC render names is there and takes the key. The
 * message is the whole story, for a person.
 */
int cli_check_render(struct cli_registry *registry, struct sp_error *err);
int cli_open_store(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		   struct sp_error *err);
int cli_open_lock(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		  struct sp_error *err);
/* These two stand on what was opened before: a provider; a provider, a store and a lock. */
int cli_open_journal(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		     struct sp_error *err);
int cli_open_ensure(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		    struct sp_error *err);

/*
 * The driver of a SPEC for a subject that is being opened; the subject's health holds it. Subjects
 * of different kinds share one, a further instance of a kind gets its own.
 */
struct sp_driver;
int cli_driver_of(struct cli_registry *registry, const char *spec, const char *workspace,
		  struct sp_subject *subject, struct sp_driver **ret_driver, struct sp_error *err);

/* Which driver a SPEC of one means; `options` borrows from it. */
struct sp_driver_options;
void cli_driver_options(const struct cli_spec *spec, struct sp_driver_options *options);

/* Whether stores and locks of a scheme are in this program; NULL when they are, else what to do. */
const char *cli_store_lacks(enum cli_scheme scheme);
/* The same for our own libraries. */
const char *cli_journal_lacks(void);
const char *cli_ensure_lacks(void);

#endif
