/* SPDX-License-Identifier: MIT */
/*
 * A plugin that breaks where it is told to: CONFIG names the place for what it opens, the variable
 * FAULTY_PLUGIN the one for its loading and its suites. Healthy it runs commands by popen().
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sandproof/plugin.h>

/* Static: one instance at a time is enough here. */
static char fault[64];

static bool is(const char *name)
{
	return !strcmp(fault, name);
}

static bool loads(const char *name)
{
	const char *value = getenv("FAULTY_PLUGIN");

	return value && !strcmp(value, name);
}

/* A sanitizer would make an exit of a signal. */
static void crash(void)
{
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

__attribute__((constructor)) static void constructed(void)
{
	if (loads("crash-in-constructor"))
		crash();
	if (loads("exit-in-constructor"))
		exit(7);
}

/* ---- sandboxes ---- */

static const char *box_id(void *self)
{
	(void)self;
	if (is("crash-in-id"))
		crash();
	return is("null-id") ? NULL : "the-only-one";
}

static const char *box_root(void *self)
{
	(void)self;
	return "/tmp";
}

/* The command that one case alone runs, so that the others show that they go on. */
static bool is_chosen(const char *command)
{
	return !strncmp(command, "exit 2", 6);
}

static int box_exec(void *self, const struct sp_exec_options *options,
		    struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result = SP_EXEC_RESULT_INIT;
	FILE *stream;
	size_t n;

	(void)self;
	if (is_chosen(options->command) && is("crash-in-exec")) {
		fputs("about to crash\n", stderr);
		crash();
	}
	if (is_chosen(options->command) && is("abort-in-exec"))
		abort();
	if (is_chosen(options->command) && is("exit-in-exec"))
		exit(9);
	if (is_chosen(options->command) && is("hang-in-exec"))
		for (;;)
			pause();
	stream = popen(options->command, "r");
	result.stdout_bytes.data = calloc(1, 65536);
	if (!stream || !result.stdout_bytes.data)
		return sp_error_set(err, SP_INTERNAL, "no memory");
	while ((n = fread(result.stdout_bytes.data + result.stdout_bytes.len, 1,
			  65535 - result.stdout_bytes.len, stream)) > 0)
		result.stdout_bytes.len += n;
	result.exit_code = WEXITSTATUS(pclose(stream));
	*ret_result = result;
	return 0;
}

static int box_destroy(void *self, struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)cancel, (void)err;
	if (is("crash-in-destroy"))
		crash();
	return 0;
}

static void box_close(void *self)
{
	(void)self;
}

static int provider_create(void *self, const struct sp_create_options *options,
			   struct sp_sandbox *ret_sandbox, struct sp_error *err)
{
	static struct sp_sandbox_ops ops;

	(void)self, (void)options, (void)err;
	ops = (struct sp_sandbox_ops){
	    .version = is("newer-sandbox") ? SP_SANDBOX_VERSION + 1 : SP_SANDBOX_VERSION,
	    .id = box_id,
	    .workspace_root = box_root,
	    .exec = is("null-exec") ? NULL : box_exec,
	    .destroy = box_destroy,
	    .close = is("null-close-of-sandbox") ? NULL : box_close,
	};
	if (is("crash-in-create"))
		crash();
	if (!is("no-sandbox"))
		*ret_sandbox = (struct sp_sandbox){&ops, NULL};
	return 0;
}

static int provider_resume(void *self, const char *id, struct sp_sandbox *ret_sandbox,
			   struct sp_cancel *cancel, struct sp_error *err)
{
	(void)self, (void)id, (void)cancel, (void)err;
	*ret_sandbox = (struct sp_sandbox)SP_SANDBOX_INIT;
	return 0;
}

static int provider_destroy(void *self, const char *id, struct sp_cancel *cancel,
			    struct sp_error *err)
{
	(void)id;
	return box_destroy(self, cancel, err);
}

static const char *provider_name(void *self)
{
	(void)self;
	return "faulty";
}

static const struct sp_capabilities *provider_capabilities(void *self)
{
	static struct sp_capabilities declared;

	(void)self;
	declared = (struct sp_capabilities){
	    .version =
		is("newer-capabilities") ? SP_CAPABILITIES_VERSION + 1 : SP_CAPABILITIES_VERSION,
	    .exec = true,
	};
	return is("null-capabilities") ? NULL : &declared;
}

static void provider_close(void *self)
{
	(void)self;
	if (is("crash-in-close"))
		crash();
}

static int open_provider(const char *config, struct sp_provider *ret_provider, struct sp_error *err)
{
	static struct sp_provider_ops ops;

	snprintf(fault, sizeof(fault), "%s", config ? config : "");
	if (is("crash-in-open"))
		crash();
	if (is("exit-in-open"))
		exit(8);
	if (is("refused"))
		return sp_error_set(err, SP_DENIED, "no right to open it");
	if (is("refused-silently"))
		return SP_DENIED;
	if (is("no-code"))
		return 7;
	ops = (struct sp_provider_ops){
	    .version = is("newer-table") ? SP_PROVIDER_VERSION + 1 : SP_PROVIDER_VERSION,
	    .name = provider_name,
	    .capabilities = provider_capabilities,
	    .create = is("null-create") ? NULL : provider_create,
	    .resume = provider_resume,
	    .destroy = provider_destroy,
	    .close = is("null-close") ? NULL : provider_close,
	};
	if (!is("no-table"))
		*ret_provider = (struct sp_provider){&ops, NULL};
	return 0;
}

/* ---- suites ---- */

static void own_crash(struct sp_case *t)
{
	SP_CHECK(t, sp_case_sandbox(t), "there is a sandbox");
	crash();
}

static void *crash_thread(void *arg)
{
	(void)arg;
	crash();
	return NULL;
}

/* Beside the subject's calls, on a thread of the case's own. */
static void own_thread(struct sp_case *t)
{
	pthread_t thread;

	SP_CHECK(t, sp_case_sandbox(t), "there is a sandbox");
	if (!pthread_create(&thread, NULL, crash_thread, NULL))
		pthread_join(thread, NULL);
}

static void own_fine(struct sp_case *t)
{
	SP_CHECK(t, sp_case_sandbox(t), "there is a sandbox");
}

#define CASE(id_, run_)                                                                            \
	{                                                                                          \
		.id = id_, SP_CASE_HERE, .clause = "F1", .level = SP_MUST,                         \
		.requirement = "Somebody else's crash is no failure.", .run = run_,                \
	}

static const struct sp_case_def cases[] = {
    CASE("faulty.own.crash", own_crash),
    CASE("faulty.own.thread", own_thread),
    CASE("faulty.own.fine", own_fine),
    /* Of these one at a time is counted in. */
    CASE("faulty.own.fine", own_fine),
    CASE("other.own.fine", own_fine),
    CASE("faulty.own.nothing", NULL),
};

static const struct sp_suite *const *suites(void)
{
	static struct sp_suite suite = {
	    .version = SP_SUITE_VERSION,
	    .name = "faulty",
	    .summary = "cases that crash by themselves",
	    .subject = SP_SUBJECT_PROVIDER,
	    .cases = cases,
	    .n_cases = 3,
	    .clauses_version = "1",
	};
	static const struct sp_suite *const all[] = {&suite, NULL};

	if (loads("suite-newer"))
		suite.version++;
	if (loads("suite-of-ours"))
		suite.name = "kill";
	if (loads("suite-twice"))
		suite.n_cases = 4;
	if (loads("suite-alien-id")) {
		suite.cases = &cases[4];
		suite.n_cases = 1;
	}
	if (loads("suite-no-function")) {
		suite.cases = &cases[5];
		suite.n_cases = 1;
	}
	if (loads("suite-no-subject"))
		suite.subject = SP_SUBJECT_KIND_MAX_;
	return all;
}

const struct sp_plugin *sandproof_plugin_v1(unsigned host_version)
{
	static struct sp_plugin plugin = {
	    .version = SP_PLUGIN_VERSION,
	    .name = "faulty",
	    .open_provider = open_provider,
	};

	if (loads("crash-in-entry"))
		crash();
	if (loads("no-suites"))
		return &plugin;
	plugin.suites = suites();
	return host_version && !loads("refuses-the-host") ? &plugin : NULL;
}
