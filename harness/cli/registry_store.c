/* SPDX-License-Identifier: MIT */
/* Opens stores and locks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/cleanup.h>
#include <base/files.h>
#include <providers/driver/driver.h>
#include <providers/plugin/plugin.h>
#include <providers/stores/memory.h>
#ifdef SP_WITH_POSTGRES
#include <providers/stores/postgres/postgres.h>
#endif
#ifdef SP_WITH_SQLITE
#include <providers/stores/sqlite/sqlite.h>
#endif

#include "registry_impl.h"

/* Holders of our own notice the loss of a lease as soon as cases ask for it. */
#define OWN_BEAT_MS 10
/* Longest connection text of a file. */
#define CONNINFO_MAX (64 * 1024)

const char *cli_store_lacks(enum cli_scheme scheme)
{
	switch (scheme) {
	case CLI_MEMORY:
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
		return NULL;
	case CLI_SQLITE:
#ifdef SP_WITH_SQLITE
		return NULL;
#else
		return "build with libsqlite3-dev for it";
#endif
	case CLI_POSTGRES:
#ifdef SP_WITH_POSTGRES
		return NULL;
#else
		return "build with libpq-dev for it";
#endif
	case CLI_BASH:
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
	case CLI_RENDER:
	case CLI_PLUGIN:
	case CLI_OURS:
		break;
	}
	return "it is neither a store nor a lock";
}

/*
 * The file of a run without PATH: in the worker's own temporary folder, which its other processes
 * and further instances share and which goes with the worker.
 */
SP_UNUSED static int own_path(char **ret_path, struct sp_error *err)
{
	int rc;

	if (asprintf(ret_path, "%s/sandproof-store/store.db", sp_tmp_root()) < 0) {
		*ret_path = NULL;
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	}
	*strrchr(*ret_path, '/') = '\0';
	rc = sp_mkdirs(*ret_path, 0700);
	if (rc)
		return sp_error_set_errno(err, -rc, "%s cannot be made", *ret_path);
	(*ret_path)[strlen(*ret_path)] = '/';
	return 0;
}

static int open_sqlite(enum sp_subject_kind kind, const struct cli_spec *spec,
		       struct sp_subject *subject, struct sp_error *err)
{
#ifdef SP_WITH_SQLITE
	struct sp_sqlite_options options = SP_SQLITE_OPTIONS_INIT;
	char *path SP_FREE = NULL;
	int rc = spec->target ? 0 : own_path(&path, err);

	options.path = spec->target ? spec->target : path;
	options.beat_ms = OWN_BEAT_MS;
	options.own_file = !spec->target;
	if (!rc && kind == SP_SUBJECT_LOCK)
		rc = sp_sqlite_lock_open(&options, &subject->lock, err);
	else if (!rc)
		rc = sp_sqlite_store_open(&options, &subject->store, err);
	/* Of two tables in one subject the store's door is the one that matters. */
	if (!rc && !subject->backdoor.ops)
		rc = sp_sqlite_backdoor_open(&options, &subject->backdoor, err);
	return rc;
#else
	(void)spec, (void)subject;
	return sp_error_set(err, SP_UNSUPPORTED, "this program has no such %s",
			    sp_subject_kind_name(kind));
#endif
}

/*
 * The connection text that a file holds, without the end of its line. Each worker and each further
 * instance reads it, so it has to be a file, which says the same each time.
 */
SP_UNUSED static int read_conninfo(const char *path, char **ret_text, struct sp_error *err)
{
	struct sp_bytes bytes = SP_BYTES_INIT;
	struct stat st;
	int rc;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return sp_error_set(err, SP_INVALID,
				    "%s is no file; put the connection text into one", path);
	rc = sp_read_file(path, CONNINFO_MAX, &bytes, err);
	if (!rc && bytes.len && memchr(bytes.data, '\0', bytes.len))
		rc = sp_error_set(err, SP_INVALID,
				  "%s holds a NUL byte, where the connection text would be cut",
				  path);
	if (!rc && !(*ret_text = strndup((const char *)bytes.data, bytes.len)))
		rc = sp_error_set(err, SP_INTERNAL, "out of memory");
	if (!rc)
		(*ret_text)[strcspn(*ret_text, "\r\n")] = '\0';
	sp_bytes_done(&bytes);
	return rc;
}

static int open_postgres(enum sp_subject_kind kind, const struct cli_spec *spec,
			 struct sp_subject *subject, struct sp_error *err)
{
#ifdef SP_WITH_POSTGRES
	struct sp_postgres_options options = SP_POSTGRES_OPTIONS_INIT;
	char *text SP_FREE = NULL;
	int rc = spec->from_file ? read_conninfo(spec->target, &text, err) : 0;

	options.conninfo = spec->from_file ? text : spec->target;
	options.own_server = getenv("SANDPROOF_POSTGRES_DIR");
	if (!rc && kind == SP_SUBJECT_LOCK)
		rc = sp_postgres_lock_open(&options, &subject->lock, err);
	else if (!rc)
		rc = sp_postgres_store_open(&options, &subject->store, err);
	if (!rc && !subject->backdoor.ops)
		rc = sp_postgres_backdoor_open(&options, &subject->backdoor, err);
	return rc;
#else
	(void)spec, (void)subject;
	return sp_error_set(err, SP_UNSUPPORTED, "this program has no such %s",
			    sp_subject_kind_name(kind));
#endif
}

static int open_driver(struct cli_registry *registry, enum sp_subject_kind kind, const char *text,
		       struct sp_subject *subject, struct sp_error *err)
{
	struct sp_driver *driver;
	int rc = cli_driver_of(registry, text, NULL, subject, &driver, err);

	if (rc)
		return rc;
	return kind == SP_SUBJECT_LOCK ? sp_driver_lock(driver, &subject->lock, err) :
					 sp_driver_store(driver, &subject->store, err);
}

/* Which table of the back end is wanted. */
static int open_scheme(struct cli_registry *registry, enum sp_subject_kind kind, const char *text,
		       const struct cli_spec *spec, struct sp_subject *subject,
		       struct sp_error *err)
{
	bool lock = kind == SP_SUBJECT_LOCK;

	switch (spec->scheme) {
	case CLI_MEMORY:
		return lock ? sp_memory_lock_open(&subject->lock, err)
			    : sp_memory_store_open(&subject->store, err);
	case CLI_SQLITE:
		return open_sqlite(kind, spec, subject, err);
	case CLI_POSTGRES:
		return open_postgres(kind, spec, subject, err);
	case CLI_DRIVER:
	case CLI_DRIVER_UNIX:
	case CLI_DRIVER_TCP:
		return open_driver(registry, kind, text, subject, err);
	case CLI_PLUGIN:
		return sp_plugin_open(kind, spec->target, spec->config, subject, err);
	case CLI_BASH:
	case CLI_LOCAL:
	case CLI_LOCAL_POLL:
	case CLI_RENDER:
	case CLI_OURS:
		break;
	}
	return sp_error_set(err, SP_UNSUPPORTED, "this program has no such %s",
			    sp_subject_kind_name(kind));
}

static int open_kind(struct cli_registry *registry, enum sp_subject_kind kind, const char *text,
		     struct sp_subject *subject, struct sp_error *err)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	int rc = cli_spec_parse(kind, text, &spec, err);

	return rc ? rc : open_scheme(registry, kind, text, &spec, subject, err);
}

bool cli_store_outlives(const char *text)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;

	return !cli_spec_parse(SP_SUBJECT_STORE, text, &spec, NULL) && spec.scheme != CLI_MEMORY &&
	       (spec.scheme != CLI_SQLITE || spec.target);
}

int cli_open_store(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		   struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	int rc = open_kind(registry, SP_SUBJECT_STORE, spec, subject, err);

	/*
	 * A store that cannot be opened is handed over empty: a fault may be that somebody goes on.
	 */
	if (fault && fault->seam == SP_FAULT_STORE) {
		int wrapped = fault->wrap_store(&subject->store, rc ? NULL : err);

		rc = !rc || !wrapped ? wrapped : rc;
	}
	return rc;
}

int cli_open_lock(struct cli_registry *registry, const char *spec, struct sp_subject *subject,
		  struct sp_error *err)
{
	const struct sp_fault *fault = registry->options.fault;
	int rc = open_kind(registry, SP_SUBJECT_LOCK, spec, subject, err);

	if (!rc && fault && fault->seam == SP_FAULT_LOCK)
		rc = fault->wrap_lock(&subject->lock, err);
	return rc;
}
