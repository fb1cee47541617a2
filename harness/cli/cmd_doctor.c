/* SPDX-License-Identifier: MIT */
#include <cli/cli.h>

#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/child.h>
#include <base/cleanup.h>
#include <base/clock.h>
#include <base/files.h>
#include <cli/fake.h>
#include <cli/registry.h>
#include <cli/text.h>
#include <runner/ledger.h>

#define COLUMN 18
#define OUTPUT_CEILING (256 * 1024)
#define LIMIT_MS 20000

/* One line: what, and what there is to be said about it. */
__attribute__((format(printf, 3, 4))) static void line(struct sp_buf *out, const char *what,
						       const char *format, ...)
{
	size_t start = out->len;
	va_list args;

	sp_buf_addf(out, "  %s", what);
	cli_text_pad(out, start, COLUMN);
	va_start(args, format);
	sp_buf_vaddf(out, format, args);
	va_end(args);
	sp_buf_addc(out, '\n');
}

/* ---- the bash fake ---- */

static const struct {
	const char *name;
	const char *meaning;
} cannot[] = {
    {"isolation", "sandboxes are folders and processes of this machine"},
    {"network-policy", "no policy is enforced"},
    {"hostile-files", "cases with hostile files are skipped"},
    {"memory-directory", "a folder stands for the directory in memory"},
    {"other-users", "cases with other users of a sandbox are skipped"},
    {"server-death", "a server ended by KILL leaves processes"},
};

static const char *meaning_of(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(cannot); i++)
		if (!strcmp(cannot[i].name, name))
			return cannot[i].meaning;
	return "cases that need it are skipped";
}

static void add_census(struct sp_buf *out, const struct sp_census *census)
{
	bool isolated = true;

	for (size_t i = 0; i < census->n_cannot_hold; i++)
		isolated = isolated && strcmp(census->cannot_hold[i], "isolation");
	line(out, "mode", "%s",
	     isolated
		 ? "namespaces: every sandbox has its own files, processes and network"
		 : "plain: this kernel or user allows no namespaces (or SANDPROOF_FAKE=plain)");
	for (size_t i = 0; i < census->n_cannot_hold; i++)
		line(out, "cannot hold", "%s: %s", census->cannot_hold[i],
		     meaning_of(census->cannot_hold[i]));
	if (!census->n_cannot_hold)
		line(out, "cannot hold", "nothing is missing");
	line(out, "network policy",
	     "deny-all and allow-all hold%s; allow-list is taken, told, and "
	     "enforced as deny-all",
	     isolated ? "" : " not");
}

/* Starts the fake as a run would, makes a sandbox in it, and asks what it cannot hold. */
static int ask_fake(struct sp_buf *out, struct sp_error *err)
{
	struct cli_registry_options where = {.provider = "bash"};
	struct cli_registry *registry = cli_registry_new(&where);
	struct sp_subject subject SP_CLEANUP(sp_subject_done) = SP_SUBJECT_INIT;
	struct sp_census census SP_CLEANUP(sp_census_done) = SP_CENSUS_INIT;
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	struct sp_sandbox sandbox = SP_SANDBOX_INIT;
	int rc = registry ? cli_registry_prepare(registry, err)
			  : sp_error_set(err, SP_INTERNAL, "out of memory");

	if (!rc)
		rc = cli_registry_open(registry, SP_SUBJECT_PROVIDER, "bash", NULL, &subject, err);
	if (!rc)
		rc = sp_provider_create(&subject.provider, &options, &sandbox, err);
	if (!rc)
		rc = sp_sandbox_destroy(&sandbox, NULL, err);
	if (!rc)
		rc = subject.control.ops->census(subject.control.self, &census, err);
	if (!rc)
		add_census(out, &census);
	sp_sandbox_done(&sandbox);
	sp_subject_done(&subject);
	cli_registry_free(registry);
	return rc;
}

static int add_fake(struct sp_buf *out)
{
	struct sp_error err = SP_ERROR_INIT;

	sp_buf_adds(out, "the bash fake\n");
	if (!ask_fake(out, &err))
		return 0;
	line(out, "does not work", "%s", err.message);
	if (*err.detail)
		line(out, "", "%s", err.detail);
	return SP_EXIT_HARNESS;
}

/* ---- programs ---- */

/* First line of what a program says of its version; malloc'ed, or NULL where it is not there. */
static char *version_of(const char *program)
{
	const char *argv[] = {program, "--version", NULL};
	struct sp_cancel *limit = sp_cancel_new();
	struct sp_run_result result = {0};
	char *text = NULL;

	sp_cancel_set_deadline(limit, sp_deadline_ms(LIMIT_MS));
	if (!sp_run(argv, NULL, NULL, 0, 64 * 1024, limit, &result, NULL) && result.code != 127)
		text = strndup(result.out ? result.out : "",
			       strcspn(result.out ? result.out : "", "\n"));
	sp_run_result_done(&result);
	sp_cancel_unref(limit);
	return text;
}

static const struct {
	const char *program;
	const char *use;
} programs[] = {
    {"bash", "the commands of every sandbox"},
    {"git", "the git helpers"},
    {"flock", "most cases of kill and journal"},
    {"setsid", "shapes of process trees"},
    {"python3", "some cases, and drivers in Python"},
    {"node", "drivers in TypeScript and JavaScript; at least 18"},
    {"jq", "ci/live"},
};

static void add_programs(struct sp_buf *out)
{
	sp_buf_adds(out, "programs\n");
	for (size_t i = 0; i < SP_COUNT(programs); i++) {
		char *version SP_FREE = version_of(programs[i].program);

		line(out, programs[i].program, "%s (%s)", version ? version : "MISSING",
		     programs[i].use);
	}
}

static void add_stores(struct sp_buf *out)
{
	struct sp_error err = SP_ERROR_INIT;
	glob_t found = {0};
	bool sqlite = !cli_spec_check(SP_SUBJECT_STORE, "sqlite", &err);
	bool postgres = !cli_spec_check(SP_SUBJECT_STORE, "postgres:dbname=x", &err);

	sp_buf_adds(out, "stores\n");
	line(out, "sqlite", sqlite ? "built in" : "not built in: libsqlite3-dev was missing");
	line(out, "postgres", postgres ? "built in" : "not built in: libpq-dev was missing");
	if (!glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found))
		line(out, "", "a private server can be started by ci/postgres (%s)",
		     found.gl_pathv[0]);
	else
		line(out, "", "no server is installed here; name yours with postgres:CONNINFO");
	globfree(&found);
}

/* ---- limits and the rest ---- */

static void add_limit(struct sp_buf *out, const char *what, __rlimit_resource_t resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		line(out, what, "unknown");
	else if (limit.rlim_cur == RLIM_INFINITY)
		line(out, what, "no limit");
	else
		line(out, what, "%" PRIu64, (uint64_t)limit.rlim_cur);
}

static void add_limits(struct sp_buf *out)
{
	const char *scale = getenv("SANDPROOF_TIME_SCALE");
	struct sp_error err = SP_ERROR_INIT;
	cpu_set_t set;

	sp_buf_adds(out, "limits\n");
	line(out, "cores", "%d", sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set));
	line(out, "user", "%s", geteuid() ? "an ordinary one" : "root");
	add_limit(out, "descriptors", RLIMIT_NOFILE);
	add_limit(out, "processes", RLIMIT_NPROC);
	line(out, "temporary", "%s: %s", sp_tmp_root(),
	     sp_tmp_room(sp_tmp_root(), &err) ? err.message : "there is room");
	line(out, "time scale", "%s%s", scale && *scale ? scale : "1",
	     sp_time_scale_valid() ? "" : " (SANDPROOF_TIME_SCALE is no number from 0.1 to 1000)");
}

static void add_live(struct sp_buf *out)
{
	const char *key = getenv("RENDER_API_KEY"), *workspace = getenv("RENDER_WORKSPACE_ID");
	char *folder SP_FREE = sp_ledger_folder(), *pattern SP_FREE = NULL;
	glob_t found = {0};

	sp_buf_adds(out, "live runs\n");
	/* That they are there, never what they are. */
	line(out, "credentials", "RENDER_API_KEY is %s, RENDER_WORKSPACE_ID is %s",
	     key && *key ? "set" : "not set", workspace && *workspace ? "set" : "not set");
	line(out, "ledgers", "%s", folder ? folder : "no place: set XDG_STATE_HOME or HOME");
	if (folder && asprintf(&pattern, "%s/run-*.ndjson", folder) >= 0 &&
	    !glob(pattern, 0, NULL, &found))
		line(out, "", "%zu of running or killed runs; `%s sweep` tells them apart",
		     found.gl_pathc, cli_program());
	globfree(&found);
}

static int run_doctor(const struct cli_command *self, int argc, char **argv)
{
	struct cli_list words SP_CLEANUP(cli_list_done) = {NULL, 0};
	struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(OUTPUT_CEILING);
	int code = 0, rc;

	if (!cli_begin(self, argc, argv, NULL, &words, &code))
		return code;
	if (cli_too_many_words(self, &words, 0))
		return SP_EXIT_USAGE;
	code = add_fake(&out);
	add_programs(&out);
	add_stores(&out);
	add_limits(&out);
	add_live(&out);
	rc = cli_print(&out);
	return code ? code : rc;
}

const struct cli_command cli_doctor_command = {
    .name = "doctor",
    .summary = "say what this machine can and cannot do",
    .details = "Starts the bash fake as a run would, makes a sandbox and removes it, and tells in "
	       "which mode it works and which cases are skipped for that; then programs, stores, "
	       "limits, and what live runs need. Nothing is sent anywhere. Exit 3 when the fake "
	       "does not work here.",
    .examples = "  sandproof doctor\n",
    .run = run_doctor,
};
