/* SPDX-License-Identifier: MIT */
/* Joins the steps' pieces and fills in what they stand for. */
#include "internal.h"

#include <inttypes.h>
#include <string.h>

#include <base/files.h>

/* Marks have this many digits, so none is part of another. */
#define MARK_FLOOR UINT64_C(100000000000000000)

/* What the placeholders of one text stand for. */
struct filling {
	const char *private_dir;
	const char *id;
	uint64_t mark;
	const char *dir;
	/* Already fit for the place it goes to. */
	const char *command;
	int signal;
	unsigned grace;
};

void render_command_init(struct render_command *command)
{
	uint64_t random;

	sp_random_id(command->id, RENDER_ID_LEN);
	sp_random(&random, sizeof(random));
	command->mark = MARK_FLOOR + random % (9 * MARK_FLOOR);
}

/* Appends what a placeholder at `at` stands for; returns its length, 0 when it is none. */
static size_t fill_one(const char *at, const struct filling *filling, struct sp_buf *out)
{
	if (!strncmp(at, "@D@", 3)) {
		sp_buf_adds(out, filling->private_dir);
		return 3;
	}
	if (!strncmp(at, "@ID@", 4)) {
		sp_buf_adds(out, filling->id);
		return 4;
	}
	if (!strncmp(at, "@MARK@", 6)) {
		sp_buf_addf(out, "%" PRIu64, filling->mark);
		return 6;
	}
	if (!strncmp(at, "@DIR@", 5)) {
		sp_buf_add_shell(out, filling->dir ? filling->dir : "/");
		return 5;
	}
	if (!strncmp(at, "@CMD@", 5)) {
		sp_buf_adds(out, filling->command ? filling->command : "");
		return 5;
	}
	if (!strncmp(at, "@SIG@", 5)) {
		sp_buf_addf(out, "%d", filling->signal);
		return 5;
	}
	if (!strncmp(at, "@GRACE@", 7)) {
		sp_buf_addf(out, "%u", filling->grace);
		return 7;
	}
	return 0;
}

static void fill(const char *piece, const struct filling *filling, struct sp_buf *out)
{
	while (*piece) {
		size_t plain = strcspn(piece, "@"), used;

		sp_buf_add(out, piece, plain);
		piece += plain;
		if (!*piece)
			break;
		used = fill_one(piece, filling, out);
		if (!used)
			sp_buf_addc(out, *piece);
		piece += used ? used : 1;
	}
}

/* Files of commands that ended long ago; builtins cannot unlink, so they go in batches. */
static void add_sweep(const char *private_dir, const char *const *ids, struct sp_buf *out)
{
	if (!ids || !*ids)
		return;
	sp_buf_adds(out, "rm -f --");
	for (; *ids; ids++)
		sp_buf_addf(out, " %s/%s.{pg,killed,env,cmd,why}", private_dir, *ids);
	sp_buf_adds(out, " 2>/dev/null\n");
}

static void add_prelude(const struct sp_render_shell *shell, const struct render_command *command,
			const struct filling *filling, struct sp_buf *out)
{
	fill(shell->prelude_open, filling, out);
	fill(shell->mark, filling, out);
	fill(shell->record_group, filling, out);
	fill(shell->check_killed, filling, out);
	/* The folder may have been lost in a restart, and the environment with it. */
	if (command->overlay_expected)
		fill("[[ -e @D@/env ]]||{ printf env >|@D@/@ID@.why;exit 125;};", filling, out);
	fill(shell->load_overlay, filling, out);
	if (command->n_env)
		fill(shell->load_call_env, filling, out);
	if (command->dir)
		fill(shell->enter_dir, filling, out);
	fill(shell->prelude_close, filling, out);
}

/* The step that is undone puts the variables where everybody can read them. */
static void add_inline_env(const struct render_command *command, struct sp_buf *out)
{
	for (size_t i = 0; i < command->n_env; i++) {
		sp_buf_addf(out, "export %s=", command->env[i].name);
		sp_buf_add_shell(out, command->env[i].value);
		sp_buf_addc(out, '\n');
	}
}

int render_compose(const struct sp_render_steps *steps, const char *private_dir,
		   const struct render_command *command, struct sp_buf *out)
{
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct filling filling = { .private_dir = private_dir,
				   .id = command->id,
				   .mark = command->mark,
				   .dir = command->dir };
	const struct sp_render_shell *shell = &steps->shell;
	struct render_command plain = *command;

	if (command->in_file)
		sp_buf_addf(&text, "%s/%s.cmd", private_dir, command->id);
	else
		sp_buf_add_shell(&text, command->text);
	filling.command = sp_buf_str(&text);
	add_sweep(private_dir, command->sweep, out);
	if (!steps->env_in_files) {
		add_inline_env(command, out);
		plain.n_env = 0;
	}
	fill(shell->open, &filling, out);
	fill(command->in_file ? shell->run_file : shell->run, &filling, out);
	add_prelude(shell, &plain, &filling, out);
	fill(shell->collect, &filling, out);
	fill(shell->reap_group, &filling, out);
	fill(shell->reap_marked, &filling, out);
	fill(shell->close, &filling, out);
	return text.error ? text.error : out->error;
}

int render_compose_kill(const struct sp_render_steps *steps, const char *private_dir,
			const char *id, uint64_t mark, int signal, uint32_t grace_ms,
			struct sp_buf *out)
{
	const struct sp_render_shell *shell = &steps->shell;
	const struct filling filling = { .private_dir = private_dir,
					 .id = id,
					 .mark = mark,
					 .signal = signal,
					 .grace = (grace_ms + 9) / 10 };

	fill(shell->kill_marker, &filling, out);
	fill(shell->kill_find, &filling, out);
	fill(shell->kill_send, &filling, out);
	fill(shell->kill_grace, &filling, out);
	fill(shell->kill_escalate, &filling, out);
	fill(shell->kill_walk, &filling, out);
	return out->error;
}

int render_compose_signal(const struct sp_render_steps *steps, const char *private_dir,
			  const char *id, uint64_t mark, int signal, struct sp_buf *out)
{
	const struct filling filling = {
		.private_dir = private_dir, .id = id, .mark = mark, .signal = signal
	};

	/* Accepted and not there yet: its record is about to be written. */
	fill("exec 4<> <(:);for((i=0;i<500;i++));do [[ -s @D@/@ID@.pg ]]&&break;" 
	     "read -t .01 -u 4;done;", &filling, out);
	fill(steps->shell.kill_find, &filling, out);
	fill(steps->shell.signal_send, &filling, out);
	return out->error;
}

int render_compose_env(const struct sp_env *env, size_t n_env, struct sp_buf *out)
{
	for (size_t i = 0; i < n_env; i++) {
		sp_buf_addf(out, "export %s=", env[i].name);
		sp_buf_add_shell(out, env[i].value);
		sp_buf_addc(out, '\n');
	}
	/* The last word of a sourced file is its code. */
	sp_buf_adds(out, ":\n");
	return out->error;
}

int render_compose_wrapped(const char *text, struct sp_buf *out)
{
	/* In the same shell, so that its group, its input and its code stay what they are. */
	sp_buf_adds(out, "eval \"$(echo ");
	sp_buf_add_base64(out, text, strlen(text));
	sp_buf_adds(out, "|base64 -d)\"");
	return out->error;
}
