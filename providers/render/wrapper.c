/* SPDX-License-Identifier: MIT */
/* From pieces and values to the texts that run in a sandbox. */
#include "internal.h"

#include <inttypes.h>
#include <string.h>

#include <base/files.h>

/* What stands for "@NAME@" in a piece. */
struct value {
	const char *name;
	const char *text;
};

/* One pass: what a value brings in is never looked at again. */
static void add_piece(struct sp_buf *out, const char *piece, const struct value *values)
{
	while (*piece) {
		size_t plain = strcspn(piece, "@");
		const struct value *v = values;

		sp_buf_add(out, piece, plain);
		piece += plain;
		if (!*piece)
			return;
		while (v->name && strncmp(piece, v->name, strlen(v->name)))
			v++;
		if (v->name) {
			sp_buf_adds(out, v->text);
			piece += strlen(v->name);
		} else {
			sp_buf_addc(out, *piece++);
		}
	}
}

int render_fill_in(const char *piece, const char *private_dir, struct sp_buf *out)
{
	const struct value values[] = {{"@D@", private_dir}, {NULL, NULL}};

	add_piece(out, piece, values);
	return out->error;
}

void render_command_init(struct render_command *command)
{
	uint64_t random;

	sp_random_id(command->id, RENDER_ID_LEN);
	sp_random(&random, sizeof(random));
	/* A limit of 36 years and more, in microseconds: never reached, and 59 bits to tell apart.
	 */
	command->mark = (UINT64_C(1) << 60) | (random >> 5);
}

/* The files of ended commands go in one rm for many: a shell has no builtin that unlinks. */
static void add_sweep(struct sp_buf *out, const char *private_dir, const char *const *sweep)
{
	if (!sweep || !*sweep)
		return;
	sp_buf_addf(out, "command -p rm -f -- %s/{", private_dir);
	for (; *sweep; sweep++)
		sp_buf_addf(out, "%s,", *sweep);
	sp_buf_adds(out, "-}.{pg,killed,env,cmd}\n");
}

static void bar_file(struct sp_buf *out, const char *private_dir, const char *id,
		     const char *suffix)
{
	sp_buf_addf(out,
		    "f=%s/%s.%s;for((i=0;i<99;i++));do command -p rm -f -- $f;"
		    "command -p mkdir -m700 -- $f&&break;done\n",
		    private_dir, id, suffix);
}

int render_compose_bar(const char *private_dir, const struct render_command *command,
		       struct sp_buf *out)
{
	sp_buf_addf(out, "exec 2>/dev/null;[[ -d %s ]]||command -p mkdir -pm700 -- %s\n",
		    private_dir, private_dir);
	if (command->n_env)
		bar_file(out, private_dir, command->id, "env");
	if (command->in_file)
		bar_file(out, private_dir, command->id, "cmd");
	return out->error;
}

/* The fault of values in the text, where the timeline keeps them; the healthy way is a file. */
static void add_call_env(struct sp_buf *out, const struct sp_render_steps *steps,
			 const struct render_command *command, const struct value *values)
{
	struct sp_buf exports SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);

	if (!command->n_env)
		return;
	if (steps->env_in_files) {
		add_piece(out, steps->shell.load_call_env, values);
		return;
	}
	render_compose_env(command->env, command->n_env, &exports);
	sp_buf_adds(out, sp_buf_str(&exports));
}

/* One word, and no option of bash's even if it looks like one. */
static void add_command(struct sp_buf *out, const char *text)
{
	if (*text == '-' || *text == '+')
		sp_buf_adds(out, "-- ");
	sp_buf_add_shell(out, text);
}

int render_compose(const struct sp_render_steps *steps, const char *private_dir,
		   const struct render_command *command, struct sp_buf *out)
{
	const struct sp_render_shell *shell = &steps->shell;
	struct sp_buf dir SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	char mark[24];

	snprintf(mark, sizeof(mark), "%" PRIu64, command->mark);
	sp_buf_add_shell(&dir, command->dir ? command->dir : ".");
	if (command->in_file)
		sp_buf_addf(&text, "%s/%s.cmd", private_dir, command->id);
	else
		add_command(&text, command->text);
	if (dir.error || text.error)
		return dir.error ? dir.error : text.error;

	const struct value values[] = {
	    {"@D@", private_dir},
	    {"@ID@", command->id},
	    {"@MARK@", mark},
	    {"@DIR@", sp_buf_str(&dir)},
	    {"@CMD@", sp_buf_str(&text)},
	    {"@ENV@", command->overlay_expected ? "1" : "0"},
	    {NULL, NULL},
	};

	add_piece(out, shell->open, values);
	add_sweep(out, private_dir, command->sweep);
	add_piece(out, command->in_file ? shell->run_file : shell->run, values);
	add_piece(out, shell->prelude_open, values);
	add_piece(out, shell->mark, values);
	add_piece(out, shell->record_group, values);
	add_piece(out, shell->check_killed, values);
	add_piece(out, shell->load_overlay, values);
	add_call_env(out, steps, command, values);
	if (command->dir)
		add_piece(out, shell->enter_dir, values);
	add_piece(out, shell->prelude_close, values);
	add_piece(out, shell->collect, values);
	add_piece(out, shell->reap_group, values);
	add_piece(out, shell->reap_marked, values);
	add_piece(out, shell->close, values);
	return out->error;
}

/* r is the exit code, g the group, e that there is no record. */
#define BEGIN "exec 2>/dev/null;r=0;g= e=\n"

/*
 * owned PID carries the mark; alive PID is no zombie; group: something of the group is alive;
 * look PID kills what is owned and alive and counts it in d. Without a record when the marker was
 * there it is on its way to its start, where it sees the marker and ends by itself: it is given
 * time for that. nap: a hundredth of a second or as
 * long as told. mapfile is twice as fast as read here. A nap waits for a datagram that nobody
 * sends: no process, no file, and the processor goes to whoever is dying.
 */
#define HELPERS                                                                                    \
	"owned(){ mapfile -s15 l <\"/proc/$1/limits\"&&[[ ${l[*]} = *' @MARK@ '* ]];}\n"           \
	"alive(){ mapfile -d '' s <\"/proc/$1/stat\"&&s=${s##*) }&&[[ $s && $s != [ZX]* ]];}\n"    \
	"group(){ kill -0 -- \"-$g\"||return;for p in /proc/[0-9]*;do "                            \
	"alive \"${p#/proc/}\"&&{ set -- $s;[[ $3 = \"$g\" ]]&&return;};done;return 1;}\n"         \
	"look(){ owned $1&&alive $1&&{ k=1 w+=${d[$1]};"                                           \
	"((d[$1]+=1,e&&d[$1]<20+(@GRACE@<500?@GRACE@:500)))||kill -KILL $1;};}\n"                  \
	"nap(){ read -rt ${1-.01} s <>/dev/udp/127.0.0.1/9;(($?>128))||command -p sleep "          \
	"${1-.01};}\n"

/*
 * A signal's own way to the group: a command that was just accepted may
 * not have recorded itself yet.
 */
#define FIND_TO_SIGNAL                                                                             \
	"for((i=0;i<500;i++));do read -r g <@D@/@ID@.pg&&break;g=;nap;done\n"                      \
	"[[ $g ]]||exit 4;[[ $g = [1-9]* ]]&&owned \"$g\"||exit 3\n"

/* Joins the beginning, pieces (ended by NULL) and the exit. */
static int compose_signal(const char *private_dir, const char *id, uint64_t mark, int signal,
			  uint32_t grace_ms, const char *const *pieces, struct sp_buf *out)
{
	char mark_text[24], signal_text[12], grace[16];

	snprintf(mark_text, sizeof(mark_text), "%" PRIu64, mark);
	snprintf(signal_text, sizeof(signal_text), "%d", signal);
	snprintf(grace, sizeof(grace), "%u", (grace_ms + 9) / 10);

	const struct value values[] = {
	    {"@D@", private_dir},   {"@ID@", id},	{"@MARK@", mark_text},
	    {"@SIG@", signal_text}, {"@GRACE@", grace}, {NULL, NULL},
	};

	add_piece(out, BEGIN, values);
	for (; *pieces; pieces++)
		add_piece(out, *pieces, values);
	sp_buf_adds(out, "exit $r\n");
	return out->error;
}

int render_compose_kill(const struct sp_render_steps *steps, const char *private_dir,
			const char *id, uint64_t mark, int signal, uint32_t grace_ms,
			struct sp_buf *out)
{
	const struct sp_render_shell *shell = &steps->shell;
	/* A shell reads line by line: what comes after the look costs only where it is needed. */
	const char *const pieces[] = {
	    shell->kill_marker, shell->kill_find,     shell->kill_send, shell->kill_look, HELPERS,
	    shell->kill_grace,  shell->kill_escalate, shell->kill_walk, NULL,
	};

	return compose_signal(private_dir, id, mark, signal, grace_ms, pieces, out);
}

int render_compose_signal(const struct sp_render_steps *steps, const char *private_dir,
			  const char *id, uint64_t mark, int signal, struct sp_buf *out)
{
	const char *const pieces[] = {HELPERS, FIND_TO_SIGNAL, steps->shell.signal_send, NULL};

	return compose_signal(private_dir, id, mark, signal, 0, pieces, out);
}

int render_compose_env(const struct sp_env *env, size_t n_env, struct sp_buf *out)
{
	/* Single quotes hold whatever IFS and POSIXLY_CORRECT an earlier line has set. */
	for (size_t i = 0; i < n_env; i++) {
		sp_buf_addf(out, "export %s=", env[i].name);
		sp_buf_add_shell(out, env[i].value);
		sp_buf_addc(out, '\n');
	}
	return out->error;
}

int render_compose_wrapped(const char *text, size_t len, struct sp_buf *out)
{
	/* exec keeps process and descriptors: the text is not read from stdin, which stays the
	 * command's. */
	sp_buf_adds(out, "exec -a \"$0\" \"$BASH\" -c -- \"$(echo ");
	sp_buf_add_base64(out, text, len);
	return sp_buf_adds(out, " | base64 -d)\"");
}
