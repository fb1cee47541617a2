/* SPDX-License-Identifier: MIT */
/* Listing a folder. */
#include <fakes/render-api/routes.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <fakes/render-api/json_out.h>
#include <fakes/render-api/path.h>

#define LIST_CEILING ((size_t)64 << 20)

/* The service knows three types; what is none of them has no content either. */
static const char *type_name(unsigned char type)
{
	return type == DT_DIR ? "directory" : type == DT_LNK ? "symlink" : "file";
}

static void entry_json(struct sp_buf *buf, const struct fake_dir_entry *entry)
{
	json_open(buf, NULL, '{');
	json_str(buf, "name", entry->name);
	json_str(buf, "type", type_name(entry->type));
	json_int(buf, "size", (int64_t)entry->size);
	json_time(buf, "modifiedAt", entry->mtime_ms);
	if (entry->target)
		json_str(buf, "target", entry->target);
	json_close(buf, '}');
}

static void answer_list(struct request *request, const char *path,
			const struct fake_dir_entry *entries, size_t len)
{
	struct sp_buf buf SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(LIST_CEILING);

	json_open(&buf, NULL, '{');
	json_str(&buf, "path", path);
	json_open(&buf, "entries", '[');
	for (size_t i = 0; i < len; i++)
		entry_json(&buf, &entries[i]);
	json_close(&buf, ']');
	json_close(&buf, '}');
	request_answer_json(request, MHD_HTTP_OK, &buf);
}

static void answer_error(struct request *request, const struct sp_error *err)
{
	if (err->code == SP_NOT_FOUND)
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "file_not_found", "%s",
				     err->message);
	else if (err->code == SP_DENIED)
		request_answer_error(request, MHD_HTTP_FORBIDDEN, "permission_denied", "%s",
				     err->message);
	else
		request_answer_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, "%s",
				     err->message);
}

static void list_folder(struct request *request, const char *path)
{
	struct fake_dir_entry *entries = NULL;
	struct sp_error err = SP_ERROR_INIT;
	size_t len = 0;

	if (fake_dir_list(request->sandbox->handle, path, &entries, &len, &err)) {
		answer_error(request, &err);
		return;
	}
	answer_list(request, path, entries, len);
	fake_dir_free(entries, len);
}

/* The entry itself, as its folder has it. */
static void list_entry(struct request *request, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder SP_FREE = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	struct fake_dir_entry root = { .name = (char *)"/", .type = DT_DIR };
	struct fake_dir_entry *entries = NULL;
	struct sp_error err = SP_ERROR_INIT;
	size_t len = 0, at = 0;

	if (!slash[1]) {
		answer_list(request, path, &root, 1);
		return;
	}
	if (!folder ||
	    fake_dir_list(request->sandbox->handle, folder, &entries, &len, &err)) {
		answer_error(request, &err);
		return;
	}
	while (at < len && strcmp(entries[at].name, slash + 1))
		at++;
	if (at < len)
		answer_list(request, path, &entries[at], 1);
	else
		request_answer_error(request, MHD_HTTP_NOT_FOUND, "file_not_found",
				     "there is no %s", path);
	fake_dir_free(entries, len);
}

/* How more than one level would be flattened is not known: that is refused rather than invented. */
void route_files(struct request *request)
{
	const char *path = request_query(request, "path");
	const char *depth = request_query(request, "depth");

	if (!path || *path != '/' || !path_is_clean(path))
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL,
				     "path must be absolute and clean");
	else if (depth && strcmp(depth, "0") && strcmp(depth, "1"))
		request_answer_error(request, MHD_HTTP_BAD_REQUEST, NULL, "depth must be 0 or 1");
	else if (sandbox_state(request->sandbox) != FAKE_RUNNING)
		request_answer_error(request, MHD_HTTP_CONFLICT, "sandbox_not_running",
				     "sandbox is not running");
	else if (depth && !strcmp(depth, "0"))
		list_entry(request, path);
	else
		list_folder(request, path);
}
