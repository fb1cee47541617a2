/* SPDX-License-Identifier: MIT */
/* The healthy steps. The shell's pieces are explained one by one in the README. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#include <base/files.h>
#include <base/utf8.h>

/*
 * Nothing of ours reaches the command's outputs: our stderr goes away first
 * and the command gets the real one back from descriptor 3. Job control gives the command
 * a process group of its own.
 */
#define OPEN                                                                                       \
	"exec 3>&2 2>/dev/null;set -m;unset POSIXLY_CORRECT;[[ -d @D@ ]]||mkdir -pm700 -- @D@\n"

/* `exec -a` keeps $0, SHLVL and the argument list what they are without a wrapper. */
#define RUN "BASH_ENV=/proc/self/fd/4 exec -a \"$0\" \"$BASH\" -c @CMD@ 2>&3 3>&- 4<<'E-@ID@' &\n"

/* eval keeps $0, $- and the line numbers; an argument of this length does not exist. */
#define RUN_FILE                                                                                   \
	"BASH_ENV=/proc/self/fd/4 exec -a \"$0\" \"$BASH\" -c "                                    \
	"'eval \"$(command -p cat -- @CMD@;command -p rm -f -- @CMD@)\"' "                         \
	"2>&3 3>&- 4<<'E-@ID@' &\n"

#define PRELUDE_OPEN "{ exec 4<&-;unset BASH_ENV;"

/* RLIMIT_RTTIME means nothing outside real-time scheduling and is inherited by everything. */
#define MARK "ulimit -R @MARK@||{ echo mark >@D@/@ID@.pg;exit 125;};"

#define RECORD_GROUP "echo \"$$\" >@D@/@ID@.pg||exit 125;"

#define CHECK_KILLED                                                                               \
	"[[ ! -e @D@/@ID@.killed ]]||"                                                             \
	"{ command -p rm -f -- @D@/@ID@.env @D@/@ID@.cmd;exit 143;};"

#define LOAD_OVERLAY                                                                               \
	"if [[ -e @D@/env ]];then . @D@/env;"                                                      \
	"elif ((@ENV@));then echo env >@D@/@ID@.pg;exit 125;fi;"

#define LOAD_CALL_ENV                                                                              \
	"if [[ -e @D@/@ID@.env ]];then . @D@/@ID@.env;command -p rm -f -- @D@/@ID@.env;"           \
	"else echo call >@D@/@ID@.pg;exit 125;fi;"

#define ENTER_DIR "cd -- @DIR@||{ echo dir >@D@/@ID@.pg;exit 126;};unset OLDPWD;export OLDPWD;"

/* The last word sets $_ to what it is without a prelude. */
#define PRELUDE_CLOSE "} 2>/dev/null\n: \"$0\"\nE-@ID@\n"

/* Without job control `wait` sees ends only: a stopped and continued command keeps its code. */
#define COLLECT "set +m;wait $!;c=$?\n"

/*
 * $! is the group, whatever the command wrote into its record. After a kill the kill's
 * own command sees to the rest, so that children keep their grace.
 */
#define REAP_GROUP                                                                                 \
	"if [[ ! -e @D@/@ID@.killed ]]&&kill -KILL -- \"-$!\";then "                               \
	"for((i=0;i<500;i++));do k=;for p in /proc/[0-9]*/stat;do "                                \
	"s=;read -rd '' s <\"$p\";set -- ${s##*) };"                                               \
	"[[ $3 = \"$!\" && $1 != [ZX] ]]&&k=1;done;"                                               \
	"[[ $k ]]||break;kill -KILL -- \"-$!\";"                                                   \
	"read -rt .0003 s <>/dev/udp/127.0.0.1/9;(($?>128))||command -p sleep .01;done;fi\n"

/* A reason in the record is left there: the caller asks for it after a silent 125 or 126. */
#define CLOSE                                                                                      \
	"[[ $c = 12[56] ]]&&read -r g <@D@/@ID@.pg&&[[ $g = [a-z]* ]]||echo end >@D@/@ID@.pg\n"    \
	"exit $c\n"

/* r is the exit code: 1 as long as it is not sure that nothing can start. */
#define KILL_MARKER                                                                                \
	": >@D@/@ID@.killed||{ command -p mkdir -pm700 -- @D@&&: >@D@/@ID@.killed;}||r=1\n"

/* Valid only with its newline, and only if the group's leader carries the mark. e: no record. */
#define KILL_FIND                                                                                  \
	"read -r g <@D@/@ID@.pg||g= e=1\n"                                                         \
	"[[ $g = [1-9]* ]]&&mapfile -s15 l <\"/proc/$g/limits\"&&"                                 \
	"[[ ${l[*]} = *' @MARK@ '* ]]&&r=0||g=\n"

#define KILL_SEND "[[ $g ]]&&kill -@SIG@ -- \"-$g\"\n"

/*
 * The common case, and cheap: the leader is gone, nothing carries the mark, and nobody has started
 * a process since we were started, so nobody can have moved on while we looked. After another
 * signal than KILL the group may hold one that has put the mark away.
 */
#define KILL_LOOK                                                                                  \
	"cd /proc;k=;for p in [1-9]*;do((p==1||p==$$))||{ mapfile -s15 l <$p/limits&&"             \
	"[[ ${l[*]} = *' @MARK@ '* ]]&&k=1;};done;read -r l l l l n <loadavg\n"                    \
	"[[ $k || $n != $$ || $g && -e $g ]]||{ ((@SIG@!=9))&&kill -0 -- \"-$g\";}||exit $r\n"

/* Most groups are gone before the first look is over; then in growing steps. */
#define KILL_GRACE                                                                                 \
	"if [[ $g ]]&&((@SIG@!=9));then "                                                          \
	"nap .00001;for((i=0;i<20;i++));do group||break;nap .0003;done;"                           \
	"for((i=0;i<@GRACE@;i++));do group||break;nap;done;fi\n"

#define KILL_ESCALATE "[[ $g ]]&&((@SIG@!=9))&&group&&kill -KILL -- \"-$g\"\n"

/*
 * Looks at everything, then at what was started since, by number: whoever goes up the numbers
 * meets a process before those that it starts, so a chain of processes is caught. Two looks at
 * everything that find nothing, while nothing is started, prove that nothing is left: what was
 * not yet to be seen in the first one is in the second. Where others start processes all the time,
 * or the kernel does not tell the last number, ten looks that find nothing have to do. What was
 * killed must be seen dead; w: it was met again, and gets the processor.
 */
#define KILL_WALK                                                                                  \
	"d=();for((i=b=c=q=0;i<1000;i++));do k= w= n=0;read -r l l l l n </proc/loadavg\n"         \
	"if((b&&b<n&&n<b+500));then c=0;for((p=b+1;p<=n;p++));do look $p;done;"                    \
	"else((c=n==b?c+1:1));a=();for p in /proc/[1-9]*;do a[${p#/proc/}]=;done;"                 \
	"for p in ${!a[*]};do look $p;done;fi;((b=n<$$?0:n))\n"                                    \
	"if [[ $k ]];then c=0 q=0;elif((++q>9||(b&&c>1)));then "                                   \
	"for p in ${!d[*]};do look $p;done;[[ ! $k && $g ]]&&group&&w=1&&kill -KILL -- \"-$g\";"   \
	"[[ $k$w ]]||break;k=1;fi;[[ ! $w ]]||if((i<20));then nap .0001;else nap;fi;done\n"        \
	"[[ ! $k ]]||r=1\n"

/* The command wakes the sandbox; /tmp is on the disk, where older versions had the overlay. */
#define SNAPSHOT_WAKE "command -p rm -rf -- /tmp/tsai"

/*
 * A command that has just been accepted is about to take its own variables; what is left after
 * that belongs to nobody.
 */
#define SNAPSHOT_HIDE                                                                              \
	"for((i=0;i<500;i++));do set -- @D@/*.env;[[ -e $1 ]]||break;command -p sleep .01;done\n"  \
	"command -p rm -f -- @D@/env @D@/env.back @D@/*.env"

/* Whatever a snapshot holds of an environment is not today's. */
#define RESTORE_RESET "command -p rm -rf -- /tmp/tsai @D@/env @D@/env.back @D@/*.env\n"

#define SIGNAL_SEND "kill -@SIG@ -- \"-$g\"||r=3\n"

static bool may_start(struct sp_cancel *cancel)
{
	return !sp_cancel_check(cancel, NULL);
}

static int exit_code(int told)
{
	return told;
}

size_t render_cap(uint64_t held, uint64_t cap, bool cut_before, const unsigned char *data,
		  size_t len)
{
	uint64_t room = held < cap ? cap - held : 0;

	/* Once something was dropped, what follows would leave a hole. */
	if (cut_before)
		return 0;
	return len <= room ? len : sp_utf8_cut((const char *)data, len, (size_t)room);
}

char *render_snapshot_name(const char *label)
{
	struct sp_buf name SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);
	char random[21];
	size_t len = 0;

	if (!label) {
		sp_random_id(random, sizeof(random) - 1);
		label = random;
	}
	/* 59 code points: 64 is the service's limit. */
	for (int points = 0; label[len] && points < 59; points++)
		do
			len++;
		while ((label[len] & 0xc0) == 0x80);
	sp_buf_adds(&name, "tsai-");
	sp_buf_add(&name, label, len);
	return sp_buf_take(&name, NULL);
}

struct sp_render_steps sp_render_steps(void)
{
	return (struct sp_render_steps){
	    .version = SP_RENDER_STEPS_VERSION,
	    .shell =
		{
		    .open = OPEN,
		    .run = RUN,
		    .run_file = RUN_FILE,
		    .prelude_open = PRELUDE_OPEN,
		    .mark = MARK,
		    .record_group = RECORD_GROUP,
		    .check_killed = CHECK_KILLED,
		    .load_overlay = LOAD_OVERLAY,
		    .load_call_env = LOAD_CALL_ENV,
		    .enter_dir = ENTER_DIR,
		    .prelude_close = PRELUDE_CLOSE,
		    .collect = COLLECT,
		    .reap_group = REAP_GROUP,
		    /* What left the group on purpose may outlive the command; only a kill reaches
		       it. */
		    .reap_marked = "",
		    .close = CLOSE,
		    .kill_marker = KILL_MARKER,
		    .kill_find = KILL_FIND,
		    .kill_send = KILL_SEND,
		    .kill_look = KILL_LOOK,
		    .kill_grace = KILL_GRACE,
		    .kill_escalate = KILL_ESCALATE,
		    .kill_walk = KILL_WALK,
		    .signal_send = SIGNAL_SEND,
		},
	    .map_signal = render_map_signal,
	    .name_allowed = render_name_allowed,
	    .cap = render_cap,
	    .may_start = may_start,
	    .exit_code = exit_code,
	    .snapshot_name = render_snapshot_name,
	    .snapshot_wake = SNAPSHOT_WAKE,
	    .snapshot_hide = SNAPSHOT_HIDE,
	    .restore_reset = RESTORE_RESET,
	    .names_before_merge = true,
	    .env_in_files = true,
	    .env_refuses_long = true,
	    .start_cleans_up = true,
	    .one_queue = true,
	    .kill_before_wait = true,
	    .abort_kills = true,
	    .terminate_aborted_create = true,
	    .end_needs_exit = true,
	    .write_makes_parents = true,
	    .resume_wakes = true,
	    .resume_waits = true,
	    .resume_end_is_gone = true,
	    .gone_needs_list = true,
	    .snapshot_alone = true,
	    .snapshot_writes_back = true,
	    .snapshot_outlives_write_back = true,
	    .snapshot_cleans_up = true,
	    .snapshot_finds_lost = true,
	    .restore_sends_policy = true,
	};
}
