/* SPDX-License-Identifier: MIT */
/*
 * The healthy steps. The README explains the wrapper piece by piece; the
 * rules behind it: nothing but literal paths before the user's environment is
 * loaded, every word quoted after it, and no process that the common path can
 * do without.
 */
#include "internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <base/utf8.h>

/* Code points of a label that the service's 64 leave beside the prefix. */
#define LABEL_MAX 59
#define LABEL_PREFIX "tsai-"

/* Naps without a process: reading from a pipe that nobody writes to. */
#define NAP_OPEN "exec 4<> <(:);"
#define NAP "read -t .01 -u 4"
/* Stands for the group in `g`, while it lives. */
#define GROUP_LIVES "kill -0 -- \"-$g\""

static const struct sp_render_shell shell = {
	.open = "exec 3>&2 2>/dev/null;[[ -d @D@ ]]||mkdir -p -m 700 @D@;set -m;unset SHLVL\n",
	.run = "BASH_ENV=/proc/self/fd/4 /bin/bash -c @CMD@ bash 2>&3 3>&- 4<<'E-@ID@'\n",
	.run_file = "BASH_ENV=/proc/self/fd/4 /bin/bash -c '. @CMD@' bash 2>&3 3>&- 4<<'E-@ID@'\n",
	.prelude_open = "{ exec 4<&-;unset BASH_ENV;",
	.mark = "ulimit -R @MARK@||exit 125;",
	.record_group = "printf '%s\\n' $$ >|@D@/@ID@.pg||exit 125;",
	.check_killed = "[[ ! -e @D@/@ID@.killed ]]||exit 143;",
	.load_overlay = "[[ ! -e @D@/env ]]||. @D@/env;",
	.load_call_env = ". @D@/@ID@.env||{ printf env >|@D@/@ID@.why;exit 125;};"
			 "command -p rm -f @D@/@ID@.env;",
	.enter_dir = "cd -- @DIR@||{ printf cwd >|@D@/@ID@.why;exit 126;};unset OLDPWD;",
	.prelude_close = "} 2>/dev/null\nE-@ID@\n",
	/* A job that was stopped has not ended; the shell may have lost its code by then. */
	.collect = "c=$?;case $c in 14[789]|150)wait -f %%;s=$?;"
		   "case $s in 127);;14[789]|150)c=137;;*)c=$s;;esac;;esac\n",
	.reap_group = "read -r g <@D@/@ID@.pg&&[[ $g = [1-9]* ]]&&kill -KILL -- \"-$g\"&&{ " NAP_OPEN
		      "for((i=0;i<200;i++));do " GROUP_LIVES "||break;" NAP ";done;}\n",
	.reap_marked = "",
	.close = "echo end >|@D@/@ID@.pg;exit $c\n",

	.kill_marker = "exec 2>/dev/null;: >|@D@/@ID@.killed;",
	/* The record lies where the command can write: only a leader that carries the mark is believed. */
	.kill_find = "exec 2>/dev/null;g=;read -r g <@D@/@ID@.pg||g=;"
		     "[[ $g = [1-9]* ]]&&mapfile -t l </proc/$g/limits&&[[ \"${l[*]}\" = *@MARK@* ]]||g=;",
	.kill_send = "[[ -z $g ]]||kill -@SIG@ -- \"-$g\";",
	.kill_grace = "if [[ $g ]]&&" GROUP_LIVES ";then " NAP_OPEN
		      "for((i=0;i<@GRACE@;i++));do " GROUP_LIVES "||break;" NAP ";done;fi;",
	.kill_escalate = "[[ -z $g ]]||kill -KILL -- \"-$g\";",
	/* Zombies are dead; who forks while we walk is found by the next walk. */
	.kill_walk = "for((n=0;n<2000;n++));do f=;for p in /proc/[1-9]*;do "
		     "mapfile -t l <$p/limits&&[[ \"${l[*]}\" = *@MARK@* ]]&&read -r s <$p/stat&&"
		     "s=${s##*) }&&[[ $s != [ZX]* ]]&&{ f=1;kill -KILL -- ${p#/proc/};};"
		     "done;[[ $f ]]||break;done;"
		     "command -p rm -f @D@/@ID@.env;[[ -z $f ]]\n",
	.signal_send = "[[ $g ]]||exit 3;kill -@SIG@ -- \"-$g\"||exit 3\n",
};

int render_map_signal(int asked)
{
	switch (asked) {
	case 0:
		return SIGTERM;
	case SIGTERM:
	case SIGINT:
	case SIGHUP:
	case SIGQUIT:
	case SIGKILL:
		return asked;
	default:
		return SIGKILL;
	}
}

size_t render_cap(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
		  size_t len)
{
	uint64_t room = held < cap ? cap - held : 0;

	/* After the first cut nothing is kept any more: what is kept stays a prefix. */
	if (cut_before)
		return 0;
	return len <= room ? len : sp_utf8_cut((const char *)data, len, (size_t)room);
}

char *render_snapshot_name(const char *label)
{
	size_t len = strlen(label), at = 0;
	char *name = NULL;

	for (size_t n = 0; n < LABEL_MAX && at < len; n++) {
		at++;
		while (at < len && ((unsigned char)label[at] & 0xc0) == 0x80)
			at++;
	}
	return asprintf(&name, LABEL_PREFIX "%.*s", (int)at, label) < 0 ? NULL : name;
}

static bool may_start(struct sp_cancel *cancel)
{
	return sp_cancel_check(cancel, NULL) == 0;
}

static int exit_code(int told)
{
	return told;
}

struct sp_render_steps sp_render_steps(void)
{
	return (struct sp_render_steps){
		.version = SP_RENDER_STEPS_VERSION,
		.shell = shell,
		.map_signal = render_map_signal,
		.name_allowed = render_name_allowed,
		.cap = render_cap,
		.may_start = may_start,
		.exit_code = exit_code,
		.snapshot_name = render_snapshot_name,
		.names_before_merge = true,
		.env_in_files = true,
		.one_queue = true,
		.kill_before_wait = true,
		.abort_kills = true,
		.terminate_aborted_create = true,
		.end_needs_exit = true,
		.write_makes_parents = true,
	};
}
