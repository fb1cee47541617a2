/* SPDX-License-Identifier: MIT */
/* One fake for several processes of a run, so that each finds the others' sandboxes. */
#include <cli/fake.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <base/buf.h>
#include <base/cleanup.h>
#include <base/files.h>

static void put(struct sp_buf *out, const char *name, const char *text)
{
	if (!text)
		return;
	sp_buf_addf(out, "%s\"%s\":", out->len > 1 ? "," : "", name);
	sp_buf_add_json(out, text, strlen(text));
}

/* The line that the server said, as far as we keep it; the folder is private. */
static int write_line(const struct cli_fake *fake, const char *path, struct sp_error *err)
{
	struct sp_buf line SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(SP_BUF_LINE);

	sp_buf_addc(&line, '{');
	put(&line, "base_url", fake->base_url);
	put(&line, "api_key", fake->api_key);
	put(&line, "workspace_id", fake->workspace_id);
	put(&line, "control_url", fake->control_url);
	put(&line, "control_token", fake->control_token);
	put(&line, "mode", fake->memory_dir ? "plain" : NULL);
	put(&line, "memory_dir", fake->memory_dir);
	sp_buf_addc(&line, '}');
	return line.error ? sp_error_set(err, SP_INTERNAL, "out of memory")
			  : sp_write_file(path, line.data, line.len, 0600, err);
}

/* Whether somebody listens where the line says. */
static bool answers(const struct cli_fake *fake)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *path = fake->base_url + strlen("unix:");
	int fd SP_CLOSE = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strncmp(fake->base_url, "unix:", 5) || strlen(path) >= sizeof(at.sun_path))
		return false;
	memcpy(at.sun_path, path, strlen(path));
	return fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at));
}

static bool find(struct cli_fake *fake, const char *path)
{
	struct sp_bytes line SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;

	if (!sp_read_file(path, SP_BUF_LINE, &line, NULL) && line.len &&
	    !cli_fake_read_line((char *)line.data, line.len, fake, NULL) && answers(fake))
		return true;
	cli_fake_stop(fake);
	return false;
}

int cli_fake_share(struct cli_fake *fake, const char *folder, struct sp_error *err)
{
	char *lock SP_FREE = NULL, *path SP_FREE = NULL;
	int fd SP_CLOSE = -1;
	int rc = 0;

	if (asprintf(&lock, "%s/bash.lock", folder) < 0 ||
	    asprintf(&path, "%s/bash.json", folder) < 0)
		return sp_error_set(err, SP_INTERNAL, "out of memory");
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX))
		return sp_error_set_errno(err, errno, "the shared folder %s cannot be used",
					  folder);
	if (find(fake, path))
		return 0;
	rc = cli_fake_start(fake, NULL, err);
	if (!rc)
		rc = write_line(fake, path, err);
	return rc;
}
