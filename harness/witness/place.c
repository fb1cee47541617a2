/* SPDX-License-Identifier: MIT */
#include <witness/place.h>

#include <string.h>

/*
 * The scripts stand in files, so that a shape's command is only "sh FILE NAME"
 * and stays legible. Each takes the folder from its own path. They are POSIX
 * shell and block in builtins: no helper process shares their fate.
 *
 * token NAME: takes the lock, opens its FIFO for reading and writing (so that
 * putting a token never blocks and never meets an end of file), says ready
 * and reads. `read` may return early when a trap ran; it is asked again.
 */
#define TOKEN_SCRIPT                                                                               \
	"PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}\n"             \
	"d=${0%/*}; n=$1\n"                                                                        \
	"exec 9>>\"$d/$n.lock\"; flock 9\n"                                                        \
	"exec 8<>\"$d/$n.token\" 7<>\"$d/$n.ready\"\n"                                             \
	"echo $$ >\"$d/$n.pid\"\n"                                                                 \
	"echo ready >&7\n"                                                                         \
	"until read -r token <&8; do :; done\n"                                                    \
	": >\"$d/$n.marker\"\n"

/* answer NAME: answers every line with itself; "end" ends it with code 23. */
#define ANSWER_SCRIPT                                                                              \
	"d=${0%/*}; n=$1\n"                                                                        \
	"exec 8<>\"$d/$n.ask\" 7<>\"$d/$n.tell\"\n"                                                \
	"echo ready >&7\n"                                                                         \
	"while :; do\n"                                                                            \
	"  until read -r line <&8; do :; done\n"                                                   \
	"  echo \"$line\" >&7\n"                                                                   \
	"  if [ \"$line\" = end ]; then exit 23; fi\n"                                             \
	"done\n"

bool sp_place_open_with(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
			const struct sp_place_options *options, struct sp_place *place)
{
	const char *unique = sp_case_unique(t), *dir;

	dir = sp_sh_out(t, sandbox,
			"set -e; umask 077; d=%s/%s-%s; mkdir $d 2>/dev/null || "
			"{ d=/tmp/%s-%s; mkdir $d; }; cd $d; mkfifo hold %s; "
			"printf %%s '%s' >token; printf %%s '%s' >answer; echo $d",
			options->in_memory ? "/dev/shm" : "/tmp", unique, name, unique, name,
			options->stock ? options->stock : "", TOKEN_SCRIPT, ANSWER_SCRIPT);
	if (!dir)
		return false;
	place->t = t;
	place->sandbox = sandbox;
	place->dir = dir;
	place->hold = sp_case_format(t, "read -r hold <%s/hold", dir);
	place->stock = sp_case_format(t, " %s", options->stock ? options->stock : "");
	return true;
}

bool sp_place_open(struct sp_case *t, struct sp_sandbox *sandbox, const char *name,
		   struct sp_place *place)
{
	return sp_place_open_with(t, sandbox, name, &(struct sp_place_options){ NULL, false },
				  place);
}

bool sp_place_fifos(const struct sp_place *place, const char *names)
{
	/* The blank before keeps "b.ask " from being found in "a.b.ask ". */
	if (place->stock && strstr(place->stock, sp_case_format(place->t, " %s", names)))
		return true;
	return sp_sh_ok(place->t, place->sandbox, "cd %s && mkfifo %s", place->dir, names);
}

struct sp_place sp_place_through(const struct sp_place *place, struct sp_sandbox *sandbox)
{
	struct sp_place other = *place;

	other.sandbox = sandbox;
	return other;
}

const char *sp_place_path(const struct sp_place *place, const char *name)
{
	return sp_case_format(place->t, "%s/%s", place->dir, name);
}

void sp_place_close(struct sp_place *place)
{
	struct sp_exec_options options = SP_EXEC_OPTIONS_INIT;
	struct sp_exec_result result SP_RESULT = SP_EXEC_RESULT_INIT;
	struct sp_error err = SP_ERROR_INIT;

	if (!place->sandbox)
		return;
	/*
	 * Opening the hold lets go whoever stands there. A .pid file is there
	 * only when its probe was not found dead; its lock says whether it lives.
	 */
	options.command = sp_case_format(
		place->t,
		"cd %s || exit; exec 8<>hold; printf '\\n\\n\\n\\n\\n\\n\\n\\n' >&8; "
		"for p in *.pid; do [ -e \"$p\" ] || break; "
		"flock -n \"${p%%.pid}.lock\" true || kill -KILL \"$(cat \"$p\")\"; done; "
		"cd / && rm -rf %s",
		place->dir, place->dir);
	options.cancel = sp_case_cancel(place->t);
	(void)sp_sandbox_exec(place->sandbox, &options, &result, &err);
	place->sandbox = NULL;
}

void sp_place_forget(struct sp_place *place)
{
	place->sandbox = NULL;
}
