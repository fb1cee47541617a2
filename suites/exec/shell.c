/* SPDX-License-Identifier: MIT */
/* The shell: POSIX, without a terminal, without profiles, and fresh each time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/buf.h>
#include <witness/mark.h>

#include "cases.h"
#include "run.h"

void exec_shell_posix(struct sp_case *t)
{
	static const struct {
		const char *command;
		const char *out;
	} rows[] = {
		{ "printf 'b\\na\\n' | sort | tr a-z A-Z", "A\nB\n" },
		{ "x='1  2'; set -- \"$x\" 3; echo $# \"$1\"", "2 1  2\n" },
		{ "cat <<EOF\none $((1+1))\nEOF\n", "one 2\n" },
		{ "cat <<'EOF'\n$HOME `x`\nEOF\n", "$HOME `x`\n" },
		{ "(exit 3) || echo $?; ! false || echo never; false || echo $?", "3\n1\n" },
		{ "f() { echo \"f:$*\"; return 4; }; f a b || echo $?", "f:a b\n4\n" },
		{ "trap 'echo bye' EXIT; echo hi; exit 0", "hi\nbye\n" },
		{ "for i in 1 2; do\n\techo $i\ndone", "1\n2\n" },
		{ "case abc in a*) echo a;; *) echo other;; esac", "a\n" },
		{ "echo ${nothing-unset} ${nothing:+set}.", "unset .\n" },
	};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *name = sp_case_unique(t);

	SP_REQUIRE(sandbox);
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		SP_REQUIRE(command_gives(t, rows[i].command,
					 &(struct expected){ .out = rows[i].out }, SP_HERE,
					 rows[i].command));
	/* What the journal stands on: append, and read from a byte on. */
	command_gives(t,
		      sp_case_format(t,
				     "f=/tmp/%s; echo one >>$f; echo two >>$f; tail -c +5 $f; rm "
				     "-f $f",
				     name),
		      &(struct expected){ .out = "two\n" }, SP_HERE, "append and tail -c");
}

void exec_shell_no_terminal(struct sp_case *t)
{
	enum { LEN = 5000 };
	struct sp_buf want SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	SP_REQUIRE(command_gives(t,
				 "for fd in 0 1 2; do if test -t $fd; then echo terminal; else "
				 "echo none; fi; done",
				 &(struct expected){ .out = "none\nnone\nnone\n" }, SP_HERE,
				 "the three standard descriptors"));
	SP_REQUIRE(command_gives(t, "printf 'a\\nb\\n'", &(struct expected){ .out = "a\nb\n" },
				 SP_HERE, "a newline stays one byte"));
	SP_REQUIRE(command_gives(t,
				 "if (: </dev/tty) 2>/dev/null; then echo terminal; else echo "
				 "none; fi",
				 &(struct expected){ .out = "none\n" }, SP_HERE,
				 "the controlling terminal"));
	for (int i = 0; i < LEN; i++)
		sp_buf_addc(&want, 'w');
	command_gives(t, "printf '%05000d' 0 | tr 0 w",
		      &(struct expected){ .out = sp_buf_str(&want), .out_len = want.len }, SP_HERE,
		      "a line of 5,000 characters is not wrapped");
}

void exec_shell_no_profile(struct sp_case *t)
{
	static const char files[] =
		".profile .bash_profile .bash_login .bashrc .bash_logout .env .shrc";
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	struct sp_mark mark SP_MARK = SP_MARK_INIT;

	SP_REQUIRE(sandbox && sp_mark_make(t, sandbox, "profile", &mark));
	SP_REQUIRE(sp_sh_ok(t, sandbox,
			    "cd \"$HOME\" && for f in %s; do printf '%%s\\n' 'echo planted' 'echo "
			    "planted >&2' "
			    "'%s' 'read -r eaten' 'PLANTED=1' >\"$f\" || exit 1; done",
			    files, mark.shell));
	/*
	 * The planted files are live: a login shell does what they say. One command,
	 * so that nothing comes between.
	 */
	SP_REQUIRE(sp_sh_ok(t, sandbox,
			    "{ bash -lc : </dev/null | grep -q planted || sh -lc : </dev/null | "
			    "grep -q planted; } && "
			    "test -e %s && rm -f %s",
			    mark.path, mark.path));
	SP_REQUIRE(command_gives(t, "echo clean ${PLANTED-unset}",
				 &(struct expected){ .out = "clean unset\n" }, SP_HERE,
				 "a command beside planted profiles"));
	sp_mark_check(&mark, false, SP_HERE, "the effect of a planted profile");
}

void exec_shell_no_state(struct sp_case *t)
{
	static const char probe[] =
		"pwd; umask; echo $-; echo ${LEFT-unset}; trap; set -o | grep -c 'on$'; echo ok";
	static const struct {
		const char *command;
		int code;
	} rows[] = {
		{ "exit 3", 3 },
		{ "set -e; false", 1 },
		{ "cd /; LEFT=1; export LEFT", 0 },
		{ "exec true", 0 },
		{ "trap '' TERM INT; trap 'echo trapped' EXIT; trap - EXIT", 0 },
		{ "umask 077", 0 },
		{ "set -f -u; shopt -s extglob 2>/dev/null; alias echo=false; unset PATH", 0 },
		{ "exec >/dev/null 2>&1 </dev/null", 0 },
		{ "ulimit -c 0", 0 },
	};
	struct sp_sandbox *sandbox = sp_case_sandbox(t);
	const char *before;

	SP_REQUIRE(sandbox);
	before = sp_sh_out(t, sandbox, "%s", probe);
	SP_REQUIRE(before);
	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		const char *after;

		SP_REQUIRE(command_gives(t, rows[i].command,
					 &(struct expected){ .out = "", .code = rows[i].code },
					 SP_HERE, rows[i].command));
		after = sp_sh_out(t, sandbox, "%s", probe);
		SP_REQUIRE(after);
		SP_REQUIRE(SP_CHECK_STR(t, before, after,
					"a command after \"%s\" starts as one before it",
					rows[i].command));
	}
}
