/* SPDX-License-Identifier: MIT */
#include <base/git.h>

#include <string.h>

#include <base/buf.h>
#include <base/cleanup.h>

/*
 * The first, empty helper forgets those of the machine. The names are expanded by git's own shell.
 */
#define HELPER                                                                                     \
	" -c credential.helper= -c 'credential.helper=!f(){ "                                      \
	"printf \"username=%s\\npassword=%s\\n\" \"$GIT_ASKPASS_USER\" \"$GIT_ASKPASS_TOKEN\"; };f'"

static int refuse(struct sp_error *err, const char *what)
{
	return sp_error_set(err, SP_INVALID, "git: %s", what);
}

/* "scheme://user:secret@host": what stands in a command is recorded. */
static bool has_password(const char *url)
{
	const char *host = strstr(url, "://");
	size_t authority = host ? strcspn(host + 3, "/?#") : 0;
	const char *at = host ? memchr(host + 3, '@', authority) : NULL;

	return at && memchr(host + 3, ':', (size_t)(at - host - 3));
}

static int check(const struct sp_git_options *o, struct sp_error *err)
{
	const char *const values[] = { o->dir, o->url, o->ref, o->user };

	if (!o->verb)
		return refuse(err, "no verb");
	for (size_t i = 0; i < SP_COUNT(values); i++)
		if (values[i] && *values[i] == '-')
			return refuse(err, "a value that starts with '-' would be an option");
	if (o->url && has_password(o->url))
		return refuse(err, "a password has no place in a URL; give it as the token");
	return 0;
}

static void add_word(struct sp_buf *text, const char *word)
{
	sp_buf_addc(text, ' ');
	sp_buf_add_shell(text, word);
}

static int clone(const struct sp_git_options *o, struct sp_buf *text, struct sp_error *err)
{
	if (!o->url || !o->dir)
		return refuse(err, "clone needs a URL and a folder");
	sp_buf_adds(text, "d=");
	sp_buf_add_shell(text, o->dir);
	sp_buf_adds(text, "; case $d in */*) mkdir -p -- \"${d%/*}/\" || exit;; esac; git" HELPER
			  " clone");
	if (o->depth >= 0)
		sp_buf_addf(text, " --depth %d --single-branch", o->depth ? o->depth : 1);
	if (o->ref) {
		sp_buf_adds(text, " --branch");
		add_word(text, o->ref);
	}
	sp_buf_adds(text, " --");
	add_word(text, o->url);
	sp_buf_adds(text, " \"$d\"");
	return 0;
}

static int commit(const struct sp_git_options *o, struct sp_buf *text, struct sp_error *err)
{
	if (!o->message)
		return refuse(err, "commit needs a message");
	/* As one word with its option a message may start as it likes. */
	sp_buf_adds(text, "git commit --message=");
	sp_buf_add_shell(text, o->message);
	return 0;
}

static int branch(const struct sp_git_options *o, struct sp_buf *text, struct sp_error *err)
{
	if (!o->ref)
		return refuse(err, "branch needs a name");
	sp_buf_adds(text, "git branch --");
	add_word(text, o->ref);
	return 0;
}

static const struct {
	const char *name;
	/* The whole command, where no value is part of it. */
	const char *text;
	int (*compose)(const struct sp_git_options *o, struct sp_buf *text, struct sp_error *err);
} verbs[] = {
	{ "clone", NULL, clone },
	{ "status", "git status --porcelain=v1 --branch", NULL },
	{ "add", "git add --all -- .", NULL },
	{ "commit", NULL, commit },
	{ "push", "git" HELPER " push", NULL },
	{ "pull", "git" HELPER " pull --ff-only", NULL },
	{ "branch", NULL, branch },
};

static int compose(const struct sp_git_options *o, struct sp_buf *text, struct sp_error *err)
{
	for (size_t i = 0; i < SP_COUNT(verbs); i++) {
		if (strcmp(verbs[i].name, o->verb))
			continue;
		if (verbs[i].compose)
			return verbs[i].compose(o, text, err);
		sp_buf_adds(text, verbs[i].text);
		return 0;
	}
	return refuse(err, "clone, status, add, commit, push, pull and branch are the verbs");
}

/* Git repeats what a server says to it, and a server may repeat the token. */
static void blot_out(struct sp_bytes *bytes, const char *token)
{
	size_t len = token ? strlen(token) : 0;
	unsigned char *at = bytes->data;

	while (len && bytes->data &&
	       (at = memmem(at, bytes->len - (size_t)(at - bytes->data), token, len)))
		memset(at, '*', len);
}

int sp_git_over_exec(struct sp_sandbox *sandbox, const struct sp_git_options *options,
		     struct sp_exec_result *ret_result, struct sp_error *err)
{
	struct sp_exec_result result SP_CLEANUP(sp_exec_result_done) = SP_EXEC_RESULT_INIT;
	struct sp_buf text SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_COMMAND);
	struct sp_exec_options exec = SP_EXEC_OPTIONS_INIT;
	const struct sp_env env[] = {
		{ "GIT_TERMINAL_PROMPT", "0" },
		{ "GIT_ASKPASS_USER", options->user ? options->user : "x-access-token" },
		{ "GIT_ASKPASS_TOKEN", options->token },
	};
	int rc = check(options, err);

	if (!rc)
		rc = compose(options, &text, err);
	if (!rc && text.error)
		rc = refuse(err, "a value is too long");
	if (rc)
		return rc;
	exec.command = sp_buf_str(&text);
	exec.cwd = strcmp(options->verb, "clone") ? options->dir : NULL;
	exec.env = env;
	exec.n_env = options->token ? 3 : 1;
	exec.cancel = options->cancel;
	rc = sp_sandbox_exec(sandbox, &exec, &result, err);
	if (rc)
		return rc;
	blot_out(&result.stdout_bytes, options->token);
	blot_out(&result.stderr_bytes, options->token);
	if (result.exit_code) {
		sp_error_set(err, SP_IO, "git %s failed (code %d)", options->verb,
			     result.exit_code);
		sp_error_set_detail(err, (const char *)result.stderr_bytes.data);
		return SP_IO;
	}
	*ret_result = result;
	result = (struct sp_exec_result)SP_EXEC_RESULT_INIT;
	return 0;
}
