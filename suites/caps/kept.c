/* SPDX-License-Identifier: MIT */
/* The declaration against the live subject: what is true works, what is false refuses. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <witness/fifo.h>
#include <witness/made.h>
#include <witness/place.h>

#include "cases.h"

void caps_basics_work(struct sp_case *t)
{
	const struct sp_capabilities *c = sp_case_capabilities(t);
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_env env[] = { { "SP_CAPS", sp_case_unique(t) } };
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *said, *path = sp_case_format(t, "caps-%s", sp_case_unique(t));

	SP_REQUIRE(sandbox &&
		   SP_CHECK(t, c->exec, "exec is declared: nothing can be shown without it"));
	if (c->fs) {
		SP_REQUIRE(SP_CHECK_OK(t,
				       sp_sandbox_write(sandbox, path, "x", 1, sp_case_cancel(t),
							&err),
				       &err, "write, with fs declared"));
		SP_REQUIRE(
			SP_CHECK_OK(t,
				    sp_sandbox_read(sandbox, path, &bytes, sp_case_cancel(t), &err),
				    &err, "read, with fs declared"));
		SP_REQUIRE(SP_CHECK_BYTES(t, "x", 1, bytes.data, bytes.len, "the file"));
		SP_REQUIRE(sp_sh_ok(t, sandbox, "rm %s", path));
	}
	if (c->env) {
		SP_REQUIRE(SP_CHECK_OK(t,
				       sp_sandbox_env_set(sandbox, env, 1, sp_case_cancel(t), &err),
				       &err, "env_set, with env declared"));
		said = sp_sh_out(t, sandbox, "echo \"${SP_CAPS-unset}\"");
		SP_REQUIRE(said != NULL);
		SP_REQUIRE(SP_CHECK_STR(t, env[0].value, said, "the variable, with env declared"));
	}
	if (c->background_processes) {
		struct sp_place place SP_PLACE = SP_PLACE_INIT;
		struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
		struct sp_exit exit;

		/* The spawn has answered while the command stands. */
		SP_REQUIRE(sp_place_open(t, sandbox, "caps", &place) &&
			   sp_spawn(t, sandbox, &child, "%s; exit 7", place.hold) &&
			   sp_sh_ok(t, sandbox, "echo go >%s", sp_place_path(&place, "hold")) &&
			   sp_spawned_wait(&child, &exit));
		SP_CHECK_INT(t, 7, exit.code,
			     "the code of a spawned command, with background_processes declared");
	}
}

/* Reads what the server behind an http URL says; the text, or NULL. Loopback only. */
static bool fetch(const char *url, char answer[512])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *port = strrchr(url, ':');
	int fd SP_CLOSE = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t n;

	answer[0] = '\0';
	if (fd < 0 || !port)
		return false;
	at.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
		return false;
	while (len < 511 && (n = read(fd, answer + len, 511 - len)) > 0)
		len += (size_t)n;
	answer[len] = '\0';
	return true;
}

void caps_ports_work(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_place place SP_PLACE = SP_PLACE_INIT;
	struct sp_spawned child SP_SPAWNED = SP_SPAWNED_INIT;
	struct sp_port port SP_CLEANUP(sp_port_done) = SP_PORT_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *number, *word = sp_case_unique(t);
	struct sp_fifo up;
	char answer[512];

	SP_REQUIRE(sandbox && sp_place_open(t, sandbox, "port", &place) &&
		   sp_fifo_make(&place, "up", &up));
	SP_REQUIRE(sp_spawn(t, sandbox, &child,
			    "python3 -c '\nimport socket, sys\ns = "
			    "socket.create_server((\"127.0.0.1\", 0))\n"
			    "open(\"%s/number\", "
			    "\"w\").write(str(s.getsockname()[1]))\nopen(\"%s\", "
			    "\"w\").write(\"up\\n\")\n"
			    "c, a = s.accept()\nc.sendall(b\"%s\")\nc.close()\n'",
			    place.dir, up.path, word));
	SP_REQUIRE(sp_fifo_take(&up));
	number = sp_sh_out(t, sandbox, "cat %s/number", place.dir);
	SP_REQUIRE(number != NULL);
	SP_REQUIRE(SP_CHECK_OK(t,
			       sp_sandbox_port_connect(sandbox, (unsigned)strtoul(number, NULL, 10),
						       &port, sp_case_cancel(t), &err),
			       &err, "port_connect, with ports declared"));
	if (strncmp(port.url, "http://127.0.0.1:", 17)) {
		sp_skip(t, "needs a URL on loopback: the port answers at a place that the case "
			   "does not reach");
		return;
	}
	SP_REQUIRE(SP_CHECK(t, fetch(port.url, answer), "%s takes a connection", port.url));
	SP_CHECK_STR(t, word, answer, "what the server in the sandbox says");
}

void caps_fork_works(struct sp_case *t)
{
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_sandbox copy SP_MADE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *said;

	SP_REQUIRE(sandbox && sp_sh_ok(t, sandbox, "echo old >shared"));
	sp_case_own_sandbox(t, NULL);
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_fork(sandbox, &copy, sp_case_cancel(t), &err), &err,
			       "fork, with fork declared"));
	sp_case_own_sandbox(t, sp_sandbox_id(&copy));
	SP_REQUIRE(SP_CHECK(t, strcmp(sp_sandbox_id(&copy), sp_sandbox_id(sandbox)) != 0,
			    "a fork has an id of its own"));
	said = sp_sh_out(t, &copy, "cat shared");
	SP_REQUIRE(said && SP_CHECK_STR(t, "old", said, "the file in the fork"));
	SP_REQUIRE(sp_sh_ok(t, &copy, "echo copy >shared"));
	said = sp_sh_out(t, sandbox, "cat shared");
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "old", said, "the file in the source, after the fork wrote its own");
}

void caps_memory_dir(struct sp_case *t)
{
	const char *dir = sp_case_capabilities(t)->memory_dir, *said;
	struct sp_sandbox *sandbox = sp_case_sandbox(t);

	if (!dir) {
		sp_skip(t, "needs a memory-backed directory: memory_dir is not declared");
		return;
	}
	SP_REQUIRE(sandbox != NULL);
	said = sp_sh_out(t, sandbox, "f=%s/caps-%s; echo kept >$f && cat $f && rm $f", dir,
			 sp_case_unique(t));
	SP_REQUIRE(said != NULL);
	SP_CHECK_STR(t, "kept", said, "a file in the declared memory-backed directory");
}

/* ---- False ---- */

static int try_ports(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_error *err)
{
	struct sp_port port SP_CLEANUP(sp_port_done) = SP_PORT_INIT;

	return sp_sandbox_port_connect(sandbox, 8080, &port, sp_case_cancel(t), err);
}

static int try_fork(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_error *err)
{
	struct sp_sandbox copy SP_MADE = SP_SANDBOX_INIT;

	return sp_sandbox_fork(sandbox, &copy, sp_case_cancel(t), err);
}

static int try_snapshot(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_error *err)
{
	struct sp_snapshot_ref ref SP_CLEANUP(sp_snapshot_ref_done) = SP_SNAPSHOT_REF_INIT;

	return sp_sandbox_snapshot(sandbox, sp_case_unique(t), &ref, sp_case_cancel(t), err);
}

static int try_restore(struct sp_case *t, struct sp_sandbox *sandbox SP_UNUSED,
		       struct sp_error *err)
{
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;

	options.cancel = sp_case_cancel(t);
	return sp_provider_restore(sp_case_provider(t), "snapshot", &options, &made, err);
}

static int try_snapshot_delete(struct sp_case *t, struct sp_sandbox *sandbox SP_UNUSED,
			       struct sp_error *err)
{
	return sp_provider_snapshot_delete(sp_case_provider(t), "snapshot", sp_case_cancel(t), err);
}

static int try_spawn(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_error *err)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_process process = SP_PROCESS_INIT;
	int rc;

	options.command = ":";
	options.cancel = sp_case_cancel(t);
	rc = sp_sandbox_spawn(sandbox, &options, &process, err);
	sp_process_done(&process);
	return rc;
}

static int try_env(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_error *err)
{
	const struct sp_env var = { "SP_CAPS", "1" };

	return sp_sandbox_env_set(sandbox, &var, 1, sp_case_cancel(t), err);
}

static int try_policy(struct sp_case *t, struct sp_sandbox *sandbox SP_UNUSED,
		      struct sp_error *err)
{
	struct sp_sandbox made SP_MADE = SP_SANDBOX_INIT;
	struct sp_create_options options = SP_CREATE_OPTIONS_INIT;
	int rc;

	options.network = SP_NETWORK_DENY;
	options.cancel = sp_case_cancel(t);
	sp_case_own_sandbox(t, NULL);
	rc = sp_provider_create(sp_case_provider(t), &options, &made, err);
	if (made.ops)
		sp_case_own_sandbox(t, sp_sandbox_id(&made));
	return rc;
}

/* Each flag, and the calls that refuse where it is false. */
static const struct {
	const char *flag;
	size_t offset;
	const char *call;
	int (*try)(struct sp_case *t, struct sp_sandbox *sandbox, struct sp_error *err);
} refusals[] = {
#define FLAG(name) #name, offsetof(struct sp_capabilities, name)
	{ FLAG(ports), "port_connect", try_ports },
	{ FLAG(fork), "fork", try_fork },
	{ FLAG(snapshots), "snapshot", try_snapshot },
	{ FLAG(snapshots), "restore", try_restore },
	{ FLAG(snapshots), "snapshot_delete", try_snapshot_delete },
	{ FLAG(background_processes), "spawn", try_spawn },
	{ FLAG(env), "env_set", try_env },
	{ FLAG(network_policy), "create with deny", try_policy },
#undef FLAG
};

void caps_false_refuses(struct sp_case *t)
{
	const struct sp_capabilities *c = sp_case_capabilities(t);
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	size_t refused = 0;

	SP_REQUIRE(sandbox != NULL);
	for (size_t i = 0; i < SP_COUNT(refusals); i++) {
		struct sp_error err = SP_ERROR_INIT;

		if (*(const bool *)((const char *)c + refusals[i].offset))
			continue;
		refused++;
		SP_CHECK_CODE(t, SP_UNSUPPORTED, refusals[i].try(t, sandbox, &err), &err,
			      "%s, with %s declared false", refusals[i].call, refusals[i].flag);
		SP_CHECK(t, strstr(err.message, refusals[i].flag) != NULL,
			 "%s: the refusal names the capability %s, but says \"%s\"",
			 refusals[i].call, refusals[i].flag, err.message);
	}
	if (!refused)
		sp_skip(t, "needs a flag that is declared false: all are true");
}
