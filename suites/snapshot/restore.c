/* SPDX-License-Identifier: MIT */
/* S6, S7: what comes back of a snapshot. */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <suites/snapshot/cases.h>
#include <suites/snapshot/scene.h>
#include <witness/count.h>

void snap_restore_today(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox with SP_HANDLE = SP_SANDBOX_INIT, without SP_HANDLE = SP_SANDBOX_INIT;
	const struct sp_env today[] = {{SNAP_NAME, "today"}, {"SP_NEW", "new"}};
	const struct sp_env none[] = {{SNAP_NAME, NULL}, {"SP_NEW", NULL}};
	const struct sp_env own = {SNAP_NAME, "own"};
	const char *ref;

	SP_REQUIRE(snap_scene_open(t, &s));
	ref = snap_take(&s, "today");
	SP_REQUIRE(ref);
	with = snap_restore_ok(t, ref, today, 2);
	SP_REQUIRE(with.ops &&
		   sp_vars_arrive(t, &with, NULL, 0, today, 2, SP_HERE, "restored with variables"));
	SP_REQUIRE(sp_vars_arrive(t, &with, &own, 1, &own, 1, SP_HERE, "a command's own value"));
	if (sp_case_capabilities(t)->background_processes)
		SP_REQUIRE(sp_vars_arrive_spawned(t, &with, NULL, 0, today, 2, SP_HERE,
						  "restored with variables, spawned") &&
			   sp_vars_arrive_spawned(t, &with, &own, 1, &own, 1, SP_HERE,
						  "a spawned command's own value"));
	without = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(without.ops && sp_vars_arrive(t, &without, NULL, 0, none, 2, SP_HERE,
						 "restored without variables"));
	SP_REQUIRE(snap_destroy(t, &with));
	snap_destroy(t, &without);
}

/* On the way from one sandbox to the next nobody is told. */
void snap_restore_secrecy(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox restored SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_secret today;
	struct sp_env var = {SNAP_NAME, NULL};
	bool unsupported = false;
	const char *ref;

	SP_REQUIRE(snap_scene_open(t, &s) && sp_count_forget_requests(t));
	sp_secret_make(t, &today);
	var.value = today.value;
	ref = snap_take(&s, "secrecy");
	SP_REQUIRE(ref);
	restored = snap_restore_ok(t, ref, &var, 1);
	SP_REQUIRE(restored.ops);
	SP_REQUIRE(sp_vars_arrive(t, &restored, NULL, 0, &var, 1, SP_HERE, "today's secret"));
	SP_REQUIRE(sp_vars_arrive(t, s.sandbox, NULL, 0, &s.var, 1, SP_HERE, "the source's"));
	SP_REQUIRE(sp_search_check_requests(t, &s.secret.canary, SP_HERE));
	SP_REQUIRE(sp_search_check_requests(t, &today.canary, SP_HERE));
	SP_REQUIRE(sp_search_check_timeline(t, s.sandbox, &s.secret.canary, &unsupported, SP_HERE));
	SP_REQUIRE(sp_search_check_timeline(t, &restored, &today.canary, &unsupported, SP_HERE));
	snap_destroy(t, &restored);
}

/* A socket of ours on the loopback; -1 after a recorded error. */
static int listener(struct sp_case *t, unsigned *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, len) && !listen(fd, 4) &&
	    !getsockname(fd, (struct sockaddr *)&address, &len)) {
		*ret_port = ntohs(address.sin_port);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	sp_case_error(t, SP_HERE, "no listener on the loopback");
	return -1;
}

/* Whether a command of the sandbox reaches the port: 1, 0, or -1 after a recorded failure. */
static int reaches(struct sp_case *t, struct sp_sandbox *sandbox, unsigned port)
{
	const char *said = sp_sh_out(
	    t, sandbox,
	    "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%u' 2>/dev/null && echo yes || echo no", port);

	return said ? !strcmp(said, "yes") : -1;
}

void snap_restore_policy(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox open SP_HANDLE = SP_SANDBOX_INIT, shut SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	unsigned port = 0;
	int fd SP_CLOSE = listener(t, &port);
	const char *ref;
	int rc, seen;

	SP_REQUIRE(fd >= 0 && snap_is_isolated(t) && snap_scene_open(t, &s));
	ref = snap_take(&s, "policy");
	SP_REQUIRE(ref);
	open = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(open.ops);
	seen = reaches(t, &open, port);
	SP_REQUIRE(seen >= 0);
	if (!seen) {
		sp_skip(t, "needs a listener that the sandbox can reach");
		return;
	}
	shut = snap_restore(t, ref, NULL, 0, SP_NETWORK_DENY, &rc, &err);
	SP_REQUIRE(SP_CHECK_OK(t, rc, &err, "restore with the policy deny"));
	seen = reaches(t, &shut, port);
	SP_REQUIRE(seen >= 0);
	SP_CHECK(t, !seen, "a sandbox restored with the policy deny does not reach our listener");
	SP_REQUIRE(snap_destroy(t, &open));
	snap_destroy(t, &shut);
}

void snap_restore_independent(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox one SP_HANDLE = SP_SANDBOX_INIT, two SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *ref, *seen[2];

	SP_REQUIRE(snap_scene_open(t, &s) && sp_sh_ok(t, s.sandbox, "echo then >state"));
	ref = snap_take(&s, "independent");
	SP_REQUIRE(ref && sp_sh_ok(t, s.sandbox, "echo later >state; : >new"));
	one = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(one.ops);
	SP_REQUIRE(SP_CHECK(t, strcmp(sp_sandbox_id(&one), sp_sandbox_id(s.sandbox)) != 0,
			    "a restored sandbox has an id of its own"));
	SP_REQUIRE(
	    sp_sh_ok(t, &one, "[ \"$(cat state)\" = then ] && [ ! -e new ] && echo own >state"));
	SP_REQUIRE(sp_sh_ok(t, s.sandbox, "[ \"$(cat state)\" = later ]"));
	SP_REQUIRE(SP_CHECK_OK(t, sp_sandbox_destroy(s.sandbox, sp_case_cancel(t), &err), &err,
			       "destroy of the source"));
	SP_REQUIRE(sp_sh_ok(t, &one, "[ \"$(cat state)\" = own ]"));
	two = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(two.ops && sp_sh_ok(t, &two, "[ \"$(cat state)\" = then ]"));
	seen[0] = sp_sh_out(t, &one, "cat /proc/sys/kernel/random/uuid");
	seen[1] = sp_sh_out(t, &two, "cat /proc/sys/kernel/random/uuid");
	SP_REQUIRE(
	    seen[0] && seen[1] &&
	    SP_CHECK(t, strcmp(seen[0], seen[1]) != 0, "two restores draw different numbers"));
	SP_REQUIRE(snap_delete_all(&s));
	SP_REQUIRE(sp_sh_ok(t, &one, "true") && sp_sh_ok(t, &two, "[ \"$(cat state)\" = then ]"));
	SP_REQUIRE(snap_destroy(t, &one));
	snap_destroy(t, &two);
}

/* A reference like a real one in everything but one character of its end. */
static const char *like(struct sp_case *t, const char *ref)
{
	size_t len = strlen(ref);

	return sp_case_format(t, "%.*s%c", (int)(len ? len - 1 : 0), ref,
			      len && ref[len - 1] == '0' ? '1' : '0');
}

void snap_restore_unknown(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox none SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_error err = SP_ERROR_INIT;
	const char *ref, *refs[6];
	int rc;

	SP_REQUIRE(snap_scene_open(t, &s));
	ref = snap_take(&s, "gone");
	SP_REQUIRE(ref);
	ref = sp_case_format(t, "%s", ref);
	SP_REQUIRE(snap_delete_all(&s));
	refs[0] = ref;
	refs[1] = like(t, ref);
	refs[2] = "";
	refs[3] = "no reference at all";
	refs[4] = "../../v1/sandboxes";
	refs[5] = sp_case_format(t, "%s/%s", ref, ref);
	for (size_t i = 0; i < SP_COUNT(refs); i++) {
		none = snap_restore(t, refs[i], NULL, 0, SP_NETWORK_DEFAULT, &rc, &err);
		SP_REQUIRE(SP_CHECK(t, rc != 0, "restore of %s is an error",
				    i == 0 ? "a deleted snapshot" : "what is no snapshot"));
		if (i < 2)
			SP_REQUIRE(SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err,
						 "restore of a snapshot that is not there"));
	}
	sp_sh_ok(t, s.sandbox, "true");
}

void snap_delete_idempotent(struct sp_case *t)
{
	struct snap_scene s SNAP_SCENE = SNAP_SCENE_INIT;
	struct sp_sandbox used SP_HANDLE = SP_SANDBOX_INIT, none SP_HANDLE = SP_SANDBOX_INIT;
	struct sp_provider *provider = sp_case_provider(t);
	struct sp_error err = SP_ERROR_INIT;
	const char *ref;
	int rc;

	SP_REQUIRE(snap_scene_open(t, &s));
	ref = snap_take(&s, "twice");
	SP_REQUIRE(ref);
	used = snap_restore_ok(t, ref, NULL, 0);
	SP_REQUIRE(used.ops);
	snap_destroy(t, &used);
	SP_REQUIRE(SP_CHECK_OK(t,
			       sp_provider_snapshot_delete(provider, ref, sp_case_cancel(t), &err),
			       &err, "delete"));
	SP_REQUIRE(SP_CHECK_OK(t,
			       sp_provider_snapshot_delete(provider, ref, sp_case_cancel(t), &err),
			       &err, "delete again"));
	none = snap_restore(t, ref, NULL, 0, SP_NETWORK_DEFAULT, &rc, &err);
	SP_REQUIRE(SP_CHECK_CODE(t, SP_NOT_FOUND, rc, &err, "restore of a deleted snapshot"));
	rc = sp_provider_snapshot_delete(provider, "no reference at all", sp_case_cancel(t), &err);
	SP_CHECK(t, rc == SP_INVALID || rc == 0,
		 "deleting what is no reference is invalid, not a crash (%d)", rc);
}
