/* SPDX-License-Identifier: MIT */
/*
 * The wrapper under a real bash: whatever a command can see or say is the
 * same with it and without it. Everything happens in a temporary folder that
 * stands for the memory-backed one.
 */
#include <criterion/criterion.h>

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <base/child.h>
#include <base/files.h>

#include "internal.h"

static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/",
					  "LANG=C.UTF-8", NULL};

static char *folder;

static void set_up(void)
{
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_tmp_dir("wrapper-", &folder, &err), 0, "%s", err.message);
}

static void tear_down(void)
{
	sp_remove_tree(folder);
	free(folder);
}

TestSuite(wrapper, .init = set_up, .fini = tear_down, .timeout = 60);

static void run_bash(const char *text, struct sp_run_result *ret)
{
	const char *const argv[] = {"bash", "-c", text, NULL};
	struct sp_error err = SP_ERROR_INIT;

	cr_assert_eq(sp_run(argv, environment, NULL, 0, 1 << 20, NULL, ret, &err), 0, "%s",
		     err.message);
}

static void run_wrapped(struct render_command *command, struct sp_run_result *ret)
{
	struct sp_render_steps steps = sp_render_steps();
	struct sp_buf text = SP_BUF_INIT(SP_BUF_COMMAND);

	cr_assert_eq(render_compose(&steps, folder, command, &text), 0);
	run_bash(sp_buf_str(&text), ret);
	sp_buf_done(&text);
}

static void put_file(const struct render_command *command, const char *suffix, const char *content)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s%s", folder, command ? command->id : "", suffix);
	cr_assert_eq(sp_write_file(path, content, strlen(content), 0600, NULL), 0);
}

static bool has_file(const struct render_command *command, const char *suffix)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s%s", folder, command ? command->id : "", suffix);
	return access(path, F_OK) == 0;
}

/* Process ids differ from run to run; everything from 3 digits on becomes N. */
static void blur(char *text)
{
	char *to = text;

	while (*text) {
		size_t digits = strspn(text, "0123456789");

		if (digits >= 3) {
			*to++ = 'N';
			text += digits;
		} else {
			do
				*to++ = *text++;
			while (digits-- > 1);
		}
	}
	*to = '\0';
}

static const char *const texts[] = {
    "true",
    "false",
    "",
    "   ",
    "\n\n",
    "# only a comment",
    "true # comment at the end",
    "echo $-",
    "set -o",
    "shopt",
    "export -p",
    "env",
    "trap -p; trap",
    "jobs -l; echo \"[$!]\"",
    "echo $0 $# $LINENO $BASH_SUBSHELL",
    "\n\necho $LINENO\necho ${BASH_LINENO[@]}",
    "hash; alias; declare -F; declare -f",
    "umask",
    "pwd; cd -; cd /; cd -; echo \"$OLDPWD\"",
    "echo $SHLVL; bash -c 'echo $SHLVL'",
    "grep -E 'Sig(Pnd|Blk|Ign|Cgt)' /proc/self/status",
    "ls -l /proc/self/fd | sed 's/.* //' | sort; ls /proc/$$/fd",
    "cat; echo $?; read x; echo $?",
    "tr '\\0' ' ' </proc/$$/cmdline | cut -c1-40",
    "echo $?; echo \"$_\"; echo ${BASH_ENV-unset} \"$BASH\" \"$BASH_EXECUTION_STRING\"",
    "echo ${BASH_SOURCE[@]} ${FUNCNAME[@]}; caller",
    "kill -TERM $$",
    "kill -KILL $$",
    "kill -ABRT $$",
    "kill -USR1 $$",
    "kill -SEGV $$",
    "kill -HUP $$",
    "kill -INT $$",
    "(kill -KILL $BASHPID)",
    "(exit 3)",
    "exit 125",
    "exit 126",
    "exit 127",
    "exit 128",
    "exit 143",
    "exit 147",
    "exit 148",
    "exit 255",
    "exit 256",
    "exit -1",
    "trap 'echo bye; exit 9' EXIT; true",
    "trap 'echo term; exit 5' TERM; kill -TERM $$; echo no",
    "trap 'echo caught' USR1; kill -USR1 $$; echo after",
    "trap 'echo child' CHLD; /bin/true; echo z",
    "trap '' TERM; kill -TERM $$; echo alive",
    "cat <<X\nhi $((1+1))\nX",
    "cat <<'X'\n$hi\nX",
    "cat <<X\nunterminated",
    "echo \"unterminated",
    "echo 'unterminated",
    "foo(",
    "if true; then",
    "echo a\r\necho b\r\n",
    "exec ls /proc/self/task | wc -l",
    "exec /bin/false",
    "exec bash -c 'echo $SHLVL $0'",
    "/etc",
    "no-such-command-here",
    "set -e; false; echo no",
    "set -u; echo $nothing_here",
    "set -x; echo traced",
    "set -v; echo shown",
    "exec 3>&1; echo three >&3",
    "exec 3>&1 4>&1; echo four >&4; exec 3>&- 4>&-",
    "echo out; echo err >&2; echo out2; echo err2 >&2",
    "exec 1>&-; echo lost; exec 2>&-; exit 4",
    "printf 'no newline'",
    "printf '\\377\\000x' | od -An -tx1",
    "printf 'a\\0b'",
    "yes | head -1; echo ${PIPESTATUS[@]}",
    "return 5",
    "logout",
    "suspend",
    "wait; echo $?",
    "sleep 0.01 & wait $!; echo $?",
    "sleep 0.01 & wait; jobs",
    "set -m; sleep 0.01 & fg",
    "(sleep 0.05; kill -CONT $$) & kill -STOP $$; wait; exit 7",
    "(sleep 0.05; kill -CONT $$) & kill -TSTP $$; wait; exit 19",
    "getopts a x; echo $OPTIND",
    "dirs -v; complete -p; bind -v 2>&1 | head -1",
    "f() { echo $FUNCNAME \"$@\"; }; f 1 '2 3'",
    "echo ${BASH_VERSION%%.*} $EUID $PPID",
    "echo \"'\\\"\\$\\\\ !*?[]{}~`echo x`\"",
    "echo 'E-0000000000000' '@CMD@ @ID@ @D@ @MARK@ @DIR@'",
    "echo \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 \xff\xfe",
    "test -t 0; echo $?; test -t 1; echo $?; test -t 2; echo $?",
    "ulimit -n; ulimit -c; ulimit -u",
    "type -t set -o; help : | head -1",
    "read -t 0.01 x; echo $?",
    "time true",
    "coproc cat; echo ${#COPROC[@]}; exec {COPROC[1]}>&-; wait",
    "echo <(true) | grep -c fd",
    "[[ /dev/fd/4 -ef /dev/null ]]; echo $?",
    "history; fc -l",
    "echo {a,b}{1..3} ~ *.nothing",
};

static void compare(const char *text, struct render_command *command, const char *way)
{
	struct sp_run_result bare, wrapped;

	command->text = text;
	render_command_init(command);
	run_bash(text, &bare);
	run_wrapped(command, &wrapped);
	blur(bare.out);
	blur(bare.err);
	blur(wrapped.out);
	blur(wrapped.err);
	cr_expect_eq(bare.code, wrapped.code, "%s: <%s>: bare %d, wrapped %d", way, text, bare.code,
		     wrapped.code);
	cr_expect_str_eq(bare.out, wrapped.out, "%s: <%s>\n--- bare\n%s--- wrapped\n%s", way, text,
			 bare.out, wrapped.out);
	cr_expect_str_eq(bare.err, wrapped.err, "%s: <%s>\n--- bare\n%s--- wrapped\n%s", way, text,
			 bare.err, wrapped.err);
	sp_run_result_done(&bare);
	sp_run_result_done(&wrapped);
}

Test(wrapper, is_honest)
{
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct render_command command = {0};

		compare(texts[i], &command, "plain");
	}
}

Test(wrapper, is_honest_in_a_folder)
{
	char here[4096];

	/* Where the bare one starts as well, so that all that may differ is the change itself. */
	cr_assert_not_null(getcwd(here, sizeof(here)));
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct render_command command = {.dir = here};

		compare(texts[i], &command, "cwd");
	}
}

Test(wrapper, is_honest_when_the_edge_wants_base64)
{
	for (size_t i = 0; i < SP_COUNT(texts); i++) {
		struct sp_buf wrapped = SP_BUF_INIT(SP_BUF_COMMAND);
		struct sp_run_result bare, coded;

		/* What is sent is a wrapper's text, which begins with no dash; here each one gets a
		 * "--". */
		if (strstr(texts[i], "/cmdline"))
			continue;
		render_compose_wrapped(texts[i], strlen(texts[i]), &wrapped);
		run_bash(texts[i], &bare);
		run_bash(sp_buf_str(&wrapped), &coded);
		blur(bare.out);
		blur(coded.out);
		cr_expect_eq(bare.code, coded.code, "<%s>: bare %d, coded %d", texts[i], bare.code,
			     coded.code);
		/* Trailing newlines of a text are lost, and only $BASH_EXECUTION_STRING tells. */
		cr_expect_str_eq(bare.out, coded.out, "<%s>\n--- bare\n%s--- coded\n%s", texts[i],
				 bare.out, coded.out);
		sp_run_result_done(&bare);
		sp_run_result_done(&coded);
		sp_buf_done(&wrapped);
	}
}

Test(wrapper, a_command_may_look_like_an_option)
{
	static const char *const odd[] = {"-x", "--", "-c 'echo no'", "+e", "-"};

	for (size_t i = 0; i < SP_COUNT(odd); i++) {
		struct render_command command = {.text = odd[i]};
		struct sp_run_result result;

		render_command_init(&command);
		run_wrapped(&command, &result);
		cr_expect_eq(result.code, 127, "<%s>: %d", odd[i], result.code);
		cr_expect_not_null(strstr(result.err, "command not found"), "<%s>: %s", odd[i],
				   result.err);
		sp_run_result_done(&result);
	}
}

Test(wrapper, runs_long_commands_from_a_file)
{
	static const char tail[] = "\necho $0 $- $LINENO; echo \"$BASH\" >&2; exit 5";
	struct render_command command = {.in_file = true};
	struct sp_run_result result;
	char *text = malloc(200000);

	memset(text, ' ', 200000);
	text[0] = ':';
	memcpy(text + 199000, tail, sizeof(tail));
	render_command_init(&command);
	command.text = text;
	put_file(&command, ".cmd", text);
	run_wrapped(&command, &result);
	cr_expect_eq(result.code, 5, "%d %s", result.code, result.err);
	cr_expect_str_eq(result.out, "bash hBc 2\n", "%s", result.out);
	cr_expect(!has_file(&command, ".cmd"));
	sp_run_result_done(&result);
	free(text);
}

Test(wrapper, a_command_killed_before_its_start_never_runs)
{
	static const struct sp_env env[] = {{"A", "b"}};
	struct render_command command = {.text = "echo ran", .env = env, .n_env = 1};
	struct sp_run_result result;

	render_command_init(&command);
	put_file(&command, ".killed", "");
	put_file(&command, ".env", "export A='b'\n");
	run_wrapped(&command, &result);
	cr_expect_eq(result.code, 143, "%d", result.code);
	cr_expect_str_empty(result.out, "%s", result.out);
	cr_expect_str_empty(result.err, "%s", result.err);
	cr_expect(!has_file(&command, ".env"), "its environment is still there");
	sp_run_result_done(&result);
}

Test(wrapper, a_missing_folder_runs_nothing_and_leaves_the_reason)
{
	struct render_command command = {.text = "echo ran", .dir = "/no/such folder's/here"};
	struct sp_run_result result;
	struct sp_bytes record;
	char path[512];

	render_command_init(&command);
	run_wrapped(&command, &result);
	cr_expect_eq(result.code, 126, "%d", result.code);
	cr_expect_str_empty(result.out, "%s", result.out);
	cr_expect_str_empty(result.err, "%s", result.err);
	snprintf(path, sizeof(path), "%s/%s.pg", folder, command.id);
	cr_assert_eq(sp_read_file(path, 100, &record, NULL), 0);
	cr_expect_str_eq((char *)record.data, "dir\n", "%s", record.data);
	sp_bytes_done(&record);
	sp_run_result_done(&result);
}

Test(wrapper, a_command_of_the_same_code_leaves_the_end)
{
	struct render_command command = {.text = "exit 126"};
	struct sp_run_result result;
	struct sp_bytes record;
	char path[512];

	render_command_init(&command);
	run_wrapped(&command, &result);
	snprintf(path, sizeof(path), "%s/%s.pg", folder, command.id);
	cr_assert_eq(sp_read_file(path, 100, &record, NULL), 0);
	cr_expect_str_eq((char *)record.data, "end\n", "%s", record.data);
	sp_bytes_done(&record);
	sp_run_result_done(&result);
}

Test(wrapper, an_environment_that_is_expected_and_missing_stops_the_command)
{
	struct render_command command = {.text = "echo ran", .overlay_expected = true};
	struct sp_run_result result;

	render_command_init(&command);
	run_wrapped(&command, &result);
	cr_expect_eq(result.code, 125, "%d", result.code);
	cr_expect_str_empty(result.out, "%s", result.out);
	sp_run_result_done(&result);
}

/*
 * What was uploaded is gone, and what is stored later, as a whole new
 * file or in place, cannot come.
 */
Test(wrapper, a_file_whose_upload_was_given_up_cannot_come_later)
{
	static const char *const suffixes[] = {".env", ".cmd"};
	struct sp_env env = {"SECRET", "hunter22"};
	struct render_command command = {.env = &env, .n_env = 1, .in_file = true};
	struct sp_buf text = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_run_result result;
	char path[512], late[512];

	render_command_init(&command);
	put_file(&command, ".env", "export SECRET=hunter22\n");
	cr_assert_eq(render_compose_bar(folder, &command, &text), 0);
	cr_expect(!strstr(sp_buf_str(&text), "hunter22"), "no secret in a command's text");
	run_bash(sp_buf_str(&text), &result);
	cr_expect_eq(result.code, 0);
	put_file(NULL, "late", "export SECRET=hunter22\n");
	snprintf(late, sizeof(late), "%s/late", folder);
	for (size_t i = 0; i < SP_COUNT(suffixes); i++) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s%s", folder, command.id, suffixes[i]);
		cr_expect(!lstat(path, &st) && S_ISDIR(st.st_mode), "%s is no folder", path);
		cr_expect_eq(rename(late, path), -1, "%s was replaced", path);
		cr_expect_eq(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), -1, "%s", path);
	}
	sp_run_result_done(&result);
	sp_buf_done(&text);
}

Test(wrapper, files_of_ended_commands_are_swept)
{
	static const char *const ids[] = {"aaaaaaaaaaaaa", "bbbbbbbbbbbbb", NULL};
	struct render_command one = {.id = "aaaaaaaaaaaaa"}, two = {.id = "bbbbbbbbbbbbb"};
	struct render_command command = {.text = "true", .sweep = ids};
	struct sp_run_result result;

	put_file(&one, ".pg", "end\n");
	put_file(&two, ".killed", "");
	render_command_init(&command);
	run_wrapped(&command, &result);
	cr_expect(!has_file(&one, ".pg") && !has_file(&two, ".killed"));
	cr_expect(has_file(&command, ".pg"));
	sp_run_result_done(&result);
}

/* Values that break careless quoting. */
static const char *const values[] = {
    "plain",
    "",
    " ",
    "a b",
    "it's",
    "\"quoted\"",
    "$HOME",
    "`id`",
    "$(id)",
    "back\\slash",
    "\\n",
    "line\nline",
    "end\n",
    "\n",
    "a\nexport EVIL=1",
    "tab\there",
    "\r\n",
    "-n",
    "!",
    "*",
    "~",
    "#",
    "\xc3\xa4\xe2\x82\xac",
    "\xff\xfe raw bytes \x80",
    "'",
    "''",
    "\\'",
    "'\\''",
    "\x01\x7f",
    "-----BEGIN KEY-----\nab+/=\n-----END KEY-----\n",
    "{\"a\": [1, \"b\\n\"]}",
    "a=b;c&d|e>f<g",
};

Test(wrapper, values_arrive_byte_for_byte)
{
	for (size_t i = 0; i < SP_COUNT(values); i++) {
		/* Set before it: what could spoil the lines after them. */
		const struct sp_env overlay[] = {{"IFS", "0123456789vVaAlL"},
						 {"POSIXLY_CORRECT", "1"},
						 {"CDPATH", "/tmp"},
						 {"PATH", "/nowhere"},
						 {"VALUE", values[i]}};
		const struct sp_env call[] = {{"CALL", values[i]}};
		struct render_command command = {
		    .text = "echo \"${EVIL-}\"; /usr/bin/env -0",
		    .dir = "/usr",
		    .env = call,
		    .n_env = 1,
		    .overlay_expected = true,
		};
		struct sp_buf text = SP_BUF_INIT(SP_BUF_LINE), want = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_run_result result;

		render_command_init(&command);
		render_compose_env(overlay, SP_COUNT(overlay), &text);
		put_file(NULL, "env", sp_buf_str(&text));
		sp_buf_clear(&text);
		render_compose_env(call, 1, &text);
		put_file(&command, ".env", sp_buf_str(&text));
		run_wrapped(&command, &result);
		cr_expect_eq(result.code, 0, "<%s>: %d %s", values[i], result.code, result.err);
		cr_expect_eq(result.out[0], '\n');
		sp_buf_addf(&want, "VALUE=%s", values[i]);
		sp_buf_addc(&want, '\0');
		cr_expect_not_null(memmem(result.out, result.out_len, want.data, want.len), "<%s>",
				   values[i]);
		sp_buf_clear(&want);
		sp_buf_addf(&want, "CALL=%s", values[i]);
		sp_buf_addc(&want, '\0');
		cr_expect_not_null(memmem(result.out, result.out_len, want.data, want.len), "<%s>",
				   values[i]);
		cr_expect_not_null(memmem(result.out, result.out_len, "PWD=/usr", 9));
		cr_expect(!has_file(&command, ".env"), "the command's environment is still there");
		sp_run_result_done(&result);
		sp_buf_done(&text);
		sp_buf_done(&want);
	}
}

/* Every name that bash itself knows, and some of everyday: allowed only if its value arrives. */
Test(wrapper, names_that_are_allowed_are_delivered)
{
	static const char *const names[] = {
	    "A",
	    "_a",
	    "a1",
	    "HOME",
	    "PATH",
	    "LANG",
	    "TERM",
	    "IFS",
	    "PS1",
	    "PS4",
	    "CDPATH",
	    "TMOUT",
	    "BASH",
	    "BASHOPTS",
	    "BASHPID",
	    "BASH_ALIASES",
	    "BASH_ARGC",
	    "BASH_ARGV",
	    "BASH_ARGV0",
	    "BASH_CMDS",
	    "BASH_COMMAND",
	    "BASH_COMPAT",
	    "BASH_ENV",
	    "BASH_EXECUTION_STRING",
	    "BASH_LINENO",
	    "BASH_LOADABLES_PATH",
	    "BASH_REMATCH",
	    "BASH_SOURCE",
	    "BASH_SUBSHELL",
	    "BASH_VERSINFO",
	    "BASH_VERSION",
	    "BASH_XTRACEFD",
	    "CHILD_MAX",
	    "COLUMNS",
	    "COMP_CWORD",
	    "COMP_LINE",
	    "COMP_POINT",
	    "COMP_TYPE",
	    "COMP_KEY",
	    "COMP_WORDBREAKS",
	    "COMP_WORDS",
	    "COMPREPLY",
	    "COPROC",
	    "DIRSTACK",
	    "EMACS",
	    "ENV",
	    "EPOCHREALTIME",
	    "EPOCHSECONDS",
	    "EUID",
	    "EXECIGNORE",
	    "FCEDIT",
	    "FIGNORE",
	    "FUNCNAME",
	    "FUNCNEST",
	    "GLOBIGNORE",
	    "GROUPS",
	    "HISTCMD",
	    "HISTCONTROL",
	    "HISTFILE",
	    "HISTFILESIZE",
	    "HISTIGNORE",
	    "HISTSIZE",
	    "HISTTIMEFORMAT",
	    "HOSTFILE",
	    "HOSTNAME",
	    "HOSTTYPE",
	    "IGNOREEOF",
	    "INPUTRC",
	    "INSIDE_EMACS",
	    "LC_ALL",
	    "LINENO",
	    "LINES",
	    "MACHTYPE",
	    "MAIL",
	    "MAILCHECK",
	    "MAILPATH",
	    "MAPFILE",
	    "OLDPWD",
	    "OPTARG",
	    "OPTERR",
	    "OPTIND",
	    "OSTYPE",
	    "PIPESTATUS",
	    "POSIXLY_CORRECT",
	    "PPID",
	    "PROMPT_COMMAND",
	    "PWD",
	    "RANDOM",
	    "READLINE_LINE",
	    "REPLY",
	    "SECONDS",
	    "SHELL",
	    "SHELLOPTS",
	    "SHLVL",
	    "SRANDOM",
	    "TIMEFORMAT",
	    "TMPDIR",
	    "UID",
	    "USER",
	    "_",
	    "auto_resume",
	    "histchars",
	    "TZ",
	    "LD_X",
	};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		const struct sp_env overlay[] = {{names[i], "5"}};
		struct render_command command = {.dir = "/usr"};
		struct sp_buf text = SP_BUF_INIT(SP_BUF_LINE);
		struct sp_run_result result;
		bool delivered, allowed = render_name_allowed(names[i]);

		sp_buf_addf(&text, "/usr/bin/printenv %s", names[i]);
		command.text = strdup(sp_buf_str(&text));
		sp_buf_clear(&text);
		render_command_init(&command);
		render_compose_env(overlay, 1, &text);
		put_file(NULL, "env", sp_buf_str(&text));
		run_wrapped(&command, &result);
		delivered = !result.code && !strcmp(result.out, "5\n");
		/* A few that arrive are refused all the same: they do not stay what they were set
		 * to. */
		cr_expect(delivered || !allowed,
			  "%s is allowed and not delivered (code %d, \"%s\")", names[i],
			  result.code, result.out);
		free((char *)command.text);
		sp_run_result_done(&result);
		sp_buf_done(&text);
	}
}

Test(wrapper, names_that_are_no_names_are_refused)
{
	static const char *const names[] = {"",	     "1a",  "A B",	"A=B", "A;touch m",
					    "A$(x)", "A-B", "\xc3\xa4", "A\n", "BASH_FUNC_x%%",
					    " A",    "A[0]"};

	for (size_t i = 0; i < SP_COUNT(names); i++)
		cr_expect(!render_name_allowed(names[i]), "<%s>", names[i]);
}
