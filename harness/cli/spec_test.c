/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include <base/cleanup.h>
#include <cli/registry.h>
#include <cli/spec.h>

/* A SPEC as one text: "scheme target config|words", or the message. */
static void describe(enum sp_subject_kind kind, const char *text, struct sp_buf *out)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (cli_spec_parse(kind, text, &spec, &err)) {
		sp_buf_adds(out, err.message);
		return;
	}
	sp_buf_addf(out, "%d %s%s %s", (int)spec.scheme, spec.from_file ? "@" : "",
		    spec.target ? spec.target : "-", spec.config ? spec.config : "-");
	for (size_t i = 0; i < spec.n_words; i++)
		sp_buf_addf(out, "|%s", spec.words[i]);
}

#define P SP_SUBJECT_PROVIDER
#define S SP_SUBJECT_STORE
#define L SP_SUBJECT_LOCK
#define J SP_SUBJECT_JOURNAL

static const struct {
	enum sp_subject_kind kind;
	const char *spec;
	const char *expected;
} good[] = {
	{ P, "bash", "0 - -" },
	{ P, "local", "1 - -" },
	{ P, "local:poll", "2 - -" },
	{ P, "local:bare", "1 bare -" },
	{ P, "render", "3 - -" },
	{ P, "render:https://api.example.com/v1", "3 https://api.example.com/v1 -" },
	{ P, "render:http://127.0.0.1:8080/v1", "3 http://127.0.0.1:8080/v1 -" },
	{ P, "render:http://localhost/v1", "3 http://localhost/v1 -" },
	{ P, "render:http://[::1]:1/v1", "3 http://[::1]:1/v1 -" },
	{ P, "render:unix:/tmp/api.sock", "3 unix:/tmp/api.sock -" },
	{ P, "driver:node driver.mjs", "4 - -|node|driver.mjs" },
	{ P, "driver:  a   b  ", "4 - -|a|b" },
	{ P, "driver:'a b' \"c d\" e\\ f '' g\"h\"i", "4 - -|a b|c d|e f||ghi" },
	{ P, "driver:'a\\b' \"c\\\"d\" $HOME", "4 - -|a\\b|c\"d|$HOME" },
	{ P, "driver+unix:/run/d.sock", "5 /run/d.sock -" },
	{ P, "driver+tcp:127.0.0.1:9000", "6 127.0.0.1:9000 -" },
	{ P, "driver+tcp:[::1]:9000", "6 [::1]:9000 -" },
	{ P, "plugin:./mine.so", "7 ./mine.so -" },
	{ P, "plugin:./mine.so:key=value", "7 ./mine.so key=value" },
	{ S, "memory", "8 - -" },
	{ S, "sqlite", "9 - -" },
	{ S, "sqlite:/var/x.db", "9 /var/x.db -" },
	{ S, "postgres:host=/run dbname=x", "10 host=/run dbname=x -" },
	{ S, "postgres:@/etc/x", "10 @/etc/x -" },
	{ S, "driver:python3 store.py", "4 - -|python3|store.py" },
	{ L, "sqlite", "9 - -" },
	{ J, "plugin:j.so", "7 j.so -" },
};

Test(spec, good)
{
	for (size_t i = 0; i < SP_COUNT(good); i++) {
		struct sp_buf out SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

		describe(good[i].kind, good[i].spec, &out);
		cr_expect_str_eq(sp_buf_str(&out), good[i].expected, "%s: \"%s\", expected \"%s\"",
				 good[i].spec, sp_buf_str(&out), good[i].expected);
	}
}

/* Each message must hold the second text. */
static const struct {
	enum sp_subject_kind kind;
	const char *spec;
	const char *says;
} bad[] = {
	{ P, "", "unknown provider" },
	{ P, ":", "unknown provider" },
	{ P, "bsh", "the nearest: bash" },
	{ P, "Bash", "the nearest: bash" },
	{ P, "rendr:https://x", "the nearest: render" },
	{ P, "sqlite", "unknown provider" },
	{ P, "memory", "unknown provider" },
	{ S, "bash", "unknown store" },
	{ J, "memory", "unknown journal" },
	{ P, "bash:x", "takes nothing after its name" },
	{ P, "local:", "the variants local:poll and local:bare" },
	{ P, "local:pull", "the variants local:poll and local:bare" },
	{ P, "render:", "needs https://" },
	{ P, "render:api.render.com", "needs https://" },
	{ P, "render:ftp://x", "needs https://" },
	{ P, "render:https://", "needs https://" },
	{ P, "render:https:///v1", "needs https://" },
	{ P, "render:http://api.render.com/v1", "only on loopback" },
	{ P, "render:http://127.0.0.1.evil.example/v1", "only on loopback" },
	{ P, "render:http://127.0.0.1:99999/v1", "only on loopback" },
	{ P, "render:http://127.0.0.1:80x/v1", "only on loopback" },
	{ P, "render:unix:", "needs the path of a socket" },
	{ P, "driver", "needs a command" },
	{ P, "driver:", "needs a command" },
	{ P, "driver:   ", "needs a command" },
	{ P, "driver:''", "needs a command" },
	{ P, "driver:'a", "quote (') that is not closed" },
	{ P, "driver:a \"b", "quote (\") that is not closed" },
	{ P, "driver+unix:", "needs the path of a socket" },
	{ P, "driver+unix", "needs the path of a socket" },
	{ P, "driver+tcp:example.com:80", "loopback address" },
	{ P, "driver+tcp:127.0.0.1", "loopback address" },
	{ P, "driver+tcp:127.0.0.1:0", "loopback address" },
	{ P, "driver+tcp:127.0.0.1:x", "loopback address" },
	{ P, "driver+tcp:127.0.0.1:80/x", "loopback address" },
	{ P, "driver+tcp:", "loopback address" },
	{ P, "plugin", "needs a shared object" },
	{ P, "plugin:", "needs a shared object" },
	{ P, "plugin:mine", "needs a shared object" },
	{ P, "plugin:.so", "needs a shared object" },
	{ S, "memory:x", "takes nothing after its name" },
	{ S, "sqlite:", "needs a path" },
	{ S, "postgres", "needs a connection text" },
	{ S, "postgres:", "needs a connection text" },
	{ S, "postgres:@", "needs a connection text" },
	{ S, "postgres:host=x password=hunter22", "environment" },
	{ S, "postgres:postgresql://u:hunter22@h/d", "environment" },
	{ P, "render:https://u:hunter22@api.render.com/v1", "environment" },
	{ P, "driver:node d.js --token=hunter22", "environment" },
	{ P, "bash:password=hunter22", "environment" },
};

Test(spec, bad)
{
	for (size_t i = 0; i < SP_COUNT(bad); i++) {
		struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = cli_spec_parse(bad[i].kind, bad[i].spec, &spec, &err);

		cr_expect_eq(rc, SP_INVALID, "\"%s\" gave %s", bad[i].spec, sp_code_name(rc));
		cr_expect_not_null(strstr(err.message, bad[i].says),
				   "\"%s\" said \"%s\", not \"%s\"", bad[i].spec, err.message,
				   bad[i].says);
		cr_expect_null(strstr(err.message, "hunter22"), "\"%s\" shows its secret: %s",
			       bad[i].spec, err.message);
	}
}

Test(spec, too_long_for_a_socket)
{
	struct cli_spec spec SP_CLEANUP(cli_spec_done) = CLI_SPEC_INIT;
	struct sp_error err = SP_ERROR_INIT;
	char text[300];

	memset(text, 'x', sizeof(text));
	memcpy(text, "driver+unix:/", 13);
	text[sizeof(text) - 1] = '\0';
	cr_expect_eq(cli_spec_parse(P, text, &spec, &err), SP_INVALID);
	cr_expect_not_null(strstr(err.message, "a Unix socket takes 107"), "%s", err.message);
}

static const struct {
	enum sp_subject_kind kind;
	const char *spec;
	int code;
} built[] = {
	{ P, "bash", 0 },
	{ P, "local", 0 },
	{ P, "local:poll", 0 },
	{ P, "render", 0 },
	{ P, "render:unix:/tmp/x", 0 },
	{ P, "driver:node d.mjs", 0 },
	{ P, "driver+unix:/tmp/x", 0 },
	{ P, "driver+tcp:127.0.0.1:1", 0 },
	{ S, "driver:node d.mjs", 0 },
	{ SP_SUBJECT_JOURNAL, "driver:node d.mjs", 0 },
	{ SP_SUBJECT_ENSURE, "driver:node d.mjs", SP_UNSUPPORTED },
	{ P, "plugin:x.so", 0 },
	{ S, "memory", 0 },
	{ SP_SUBJECT_LOCK, "memory", 0 },
	{ SP_SUBJECT_LOCK, "bash", SP_INVALID },
	{ S, "sqlite", 0 },
	{ S, "sqlite:/tmp/x.db", 0 },
	{ SP_SUBJECT_LOCK, "sqlite", 0 },
	{ S, "postgres:x=y", 0 },
	{ SP_SUBJECT_LOCK, "postgres:@/tmp/x", 0 },
	{ S, "postgres:host=x password=y", SP_INVALID },
	{ P, "bsh", SP_INVALID },
};

Test(registry, what_is_built)
{
	for (size_t i = 0; i < SP_COUNT(built); i++) {
		struct sp_error err = SP_ERROR_INIT;
		int rc = cli_spec_check(built[i].kind, built[i].spec, &err);

		cr_expect_eq(rc, built[i].code, "%s: %s (%s), expected %s", built[i].spec,
			     sp_code_name(rc), err.message, sp_code_name(built[i].code));
	}
	cr_expect_str_eq(cli_spec_default(P), "bash");
	cr_expect_str_eq(cli_spec_default(S), "sqlite");
	cr_expect_null(cli_spec_default(SP_SUBJECT_LOCK), "a lock is the store's own");
}

Test(registry, live_is_what_bills)
{
	cr_expect(cli_spec_is_live("render"));
	cr_expect(cli_spec_is_live("render:https://api.render.com/v1"));
	cr_expect_not(cli_spec_is_live("render:http://127.0.0.1:80/v1"));
	cr_expect_not(cli_spec_is_live("render:unix:/tmp/x"));
	cr_expect_not(cli_spec_is_live("bash"));
	cr_expect_not(cli_spec_is_live("local"));
}

Test(registry, credentials_are_named)
{
	struct cli_registry_options options = { .provider = "render" };
	struct cli_registry *registry = cli_registry_new(&options);
	struct sp_error err = SP_ERROR_INIT;

	unsetenv("RENDER_API_KEY");
	unsetenv("RENDER_WORKSPACE_ID");
	cr_expect_eq(cli_registry_credentials(registry, &err), SP_DENIED);
	cr_expect_str_eq(err.message, "RENDER_API_KEY and RENDER_WORKSPACE_ID are not set");
	setenv("RENDER_API_KEY", "rnd_hunter22", 1);
	cr_expect_eq(cli_registry_credentials(registry, &err), SP_DENIED);
	cr_expect_str_eq(err.message, "RENDER_API_KEY is set but RENDER_WORKSPACE_ID is not");
	setenv("RENDER_WORKSPACE_ID", "tea-1", 1);
	cr_expect_eq(cli_registry_credentials(registry, &err), 0);
	cli_registry_free(registry);
}

/* A fault that can hurt the machine opens nothing where nobody vouches for namespaces. */
Test(registry, dangerous_faults_are_refused)
{
	struct sp_fault fault = { .version = SP_FAULT_VERSION, .id = "made-up",
				  .seam = SP_FAULT_PROVIDER, .reaches_outside = true };
	struct cli_registry_options options = { .provider = "local", .fault = &fault };
	struct cli_registry *registry = cli_registry_new(&options);
	struct sp_subject subject = SP_SUBJECT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	cr_expect_eq(cli_registry_prepare(registry, &err), 0, "%s", err.message);
	cr_expect_not(cli_registry_permits(registry));
	rc = cli_registry_open(registry, P, "local", NULL, &subject, &err);
	cr_expect_eq(rc, SP_UNSUPPORTED, "%s", sp_code_name(rc));
	cr_expect_not_null(strstr(err.message, "made-up can reach outside"), "%s", err.message);
	cli_registry_free(registry);
}
