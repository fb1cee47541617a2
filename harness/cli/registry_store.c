/* SPDX-License-Identifier: MIT */
/* Opens stores and locks. */
#include <base/cleanup.h>
#include <providers/stores/memory.h>

#include "registry_impl.h"

const char *cli_store_lacks(enum cli_scheme scheme)
{
	switch (scheme) {
	case CLI_MEMORY:
		return NULL;
	case CLI_SQLITE:
	case CLI_POSTGRES:
		return "use memory meanwhile";
	case CLI_BASH:
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
	case CLI_RENDER:
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
	case CLI_PLUGIN:
	case CLI_OURS:
		break;
	}
	return "it is neither a store nor a lock";
}

/* Which table of the back end is wanted. */
static int open_scheme(enum sp_subject_kind kind, const struct cli_spec *spec,
		       struct sp_subject *subject, struct sp_error *err)
{
	bool lock = kind == SP_SUBJECT_LOCK;

	switch (spec->scheme) {
	case CLI_MEMORY:
		return lock ? sp_memory_lock_open(&subject->lock, err)
			    : sp_memory_store_open(&subject->store, err);
	case CLI_SQLITE:
	case CLI_POSTGRES:
	case CLI_BASH:
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
	case CLI_RENDER:
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
	case CLI_PLUGIN:
	case CLI_OURS:
		break;
	}
	return sp_error_set(err, SP_UNSUPPORTED, "this program has no such %s",
			    sp_subject_kind_name(kind));
}

static int open_kind(enum sp_subject_kind kind, const char *text, struct sp_subject *subject,
		     struct sp_error *err)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	int rc = cli_spec_parse(kind, text, &spec, err);

	return rc ? rc : open_scheme(kind, &spec, subject, err);
}

int cli_open_store(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		   struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	int rc = open_kind(SP_SUBJECT_STORE, spec, subject, err);

	if (!rc && fault && fault->seam == SP_FAULT_STORE)
		rc = fault->wrap_store(&subject->store, err);
	return rc;
}

int cli_open_lock(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		  struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	int rc = open_kind(SP_SUBJECT_LOCK, spec, subject, err);

	if (!rc && fault && fault->seam == SP_FAULT_LOCK)
		rc = fault->wrap_lock(&subject->lock, err);
	return rc;
}
