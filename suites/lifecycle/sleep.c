/* SPDX-License-Identifier: MIT */
/* Suspended and woken: nothing is lost, whatever wakes it. */
#include <string.h>

#include <witness/shell.h>

#include "cases.h"
#include "made.h"

static bool put_to_sleep(struct sp_case *t, struct sp_sandbox *sandbox)
{
	struct sp_control *control = sp_case_control(t);
	struct sp_error err = SP_ERROR_INIT;

	if (!control->ops->set_state(control->self, sp_sandbox_id(sandbox), "suspended", &err))
		return true;
	sp_case_error(t, SP_HERE, "set_state: %s", err.message);
	return false;
}

void life_sleep_files(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	const char *memory = sp_case_capabilities(t)->memory_dir, *name = sp_case_unique(t), *said;

	SP_REQUIRE(sp_made_create(t, &options, &made));
	SP_REQUIRE(sp_sh_ok(t, &made, "echo home >%s; echo tmp >/tmp/%s; %s", name, name,
			    memory ? sp_case_format(t, "echo memory >%s/%s", memory, name) : ":"));
	SP_REQUIRE(put_to_sleep(t, &made));
	said = sp_sh_out(t, &made, "cat %s /tmp/%s%s", name, name,
			 memory ? sp_case_format(t, " %s/%s", memory, name) : "");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, memory ? "home\ntmp\nmemory" : "home\ntmp", said,
		     "what a woken sandbox holds");
}

void life_sleep_upload(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	int rc;

	SP_REQUIRE(sp_made_create(t, &options, &made) && put_to_sleep(t, &made));
	rc = sp_sandbox_write(&made, "woken", "by a file", 9, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "a write to a suspended sandbox"));
	SP_REQUIRE(put_to_sleep(t, &made));
	rc = sp_sandbox_read(&made, "woken", &bytes, sp_case_cancel(t), &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "a read from a suspended sandbox"));
	SP_CHECK_BYTES(t, "by a file", 9, bytes.data, bytes.len, "the file");
}

void life_sleep_env(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_env env[] = { { "SP_AWAKE", sp_case_unique(t) } };
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	const char *said;

	options.env = env;
	options.n_env = 1;
	SP_REQUIRE(sp_made_create(t, &options, &made) && put_to_sleep(t, &made));
	said = sp_sh_out(t, &made, "echo \"${SP_AWAKE-unset}\"");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, env[0].value, said, "the variable in the first command after waking");
}

/* `durable_filesystem`: stopped and started, without a snapshot, by somebody else. */
void life_sleep_durable(struct sp_case *t)
{
	struct sp_create_options options = life_options(t);
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_sandbox other SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_subject *second = sp_case_second(t);
	const char *said;

	if (!sp_case_capabilities(t)->durable_filesystem) {
		sp_skip(t, "needs a durable file system: durable_filesystem is declared false");
		return;
	}
	SP_REQUIRE(second && sp_made_create(t, &options, &made));
	SP_REQUIRE(sp_sh_ok(t, &made,
			    "mkdir -p a/b; echo deep >a/b/c; ln -s c a/b/d; chmod 640 a/b/c"));
	SP_REQUIRE(put_to_sleep(t, &made));
	SP_REQUIRE(life_resume(t, &second->provider, sp_sandbox_id(&made), true, &other,
			       "a stopped one"));
	said = sp_sh_out(t, &other, "cat a/b/d; stat -c %%a a/b/c");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "deep\n640", said, "the files of a stopped and started sandbox");
}
