/* SPDX-License-Identifier: MIT */
/* P6 to P8: uploads and downloads. */
#include <string.h>

#include <suites/platform/cases.h>
#include <suites/platform/scene.h>

void plat_upload_mode(struct sp_case *t)
{
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_error err = SP_ERROR_INIT;
	const char *path, *said;

	SP_REQUIRE(plat_scene_open(t, &s));
	path = sp_case_format(t, "%s/file", s.dir);
	SP_REQUIRE(plat_ok(t, plat_upload(&s, path, "text", &err), &err, "upload a file"));
	said = plat_run(&s, s.id, "stat -c '%%a %%u' %s", path);
	SP_REQUIRE(said);
	PLAT_FACT(t, !strcmp(said, "600 0"), "uploads are 0600 and root's",
		  "mode and owner are \"%s\"", said);
}

void plat_upload_folder(struct sp_case *t)
{
	static const char fact[] = "an upload into a missing folder is not found, and makes none";
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_error err = SP_ERROR_INIT;
	const char *said;
	int rc;

	SP_REQUIRE(plat_scene_open(t, &s));
	rc = plat_upload(&s, sp_case_format(t, "%s/none/file", s.dir), "text", &err);
	SP_REQUIRE(PLAT_FACT(t, rc == SP_NOT_FOUND, fact, "the answer is %s",
			     rc ? sp_code_name(rc) : "success"));
	said = plat_run(&s, s.id, "[ -e %s/none ] && echo there; :", s.dir);
	SP_REQUIRE(said);
	PLAT_FACT(t, !*said, fact, "the folder is there now");
}

/* Downloads `path`; false after a recorded error. */
static bool download(struct plat_scene *s, const char *path, struct sp_bytes *bytes, bool *archive)
{
	struct sp_platform *platform = &sp_case_subject(s->t)->platform;
	struct sp_error err = SP_ERROR_INIT;
	int rc = platform->ops->raw_download(platform->self, s->id, path, bytes, archive,
					     sp_case_cancel(s->t), &err);

	return plat_ok(s->t, rc, &err, "download");
}

void plat_download_tar(struct sp_case *t)
{
	static const char fact[] = "a .tar reads as itself, a folder as an archive";
	struct plat_scene s PLAT_SCENE = {.t = NULL};
	struct sp_bytes bytes SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	struct sp_bytes folder SP_CLEANUP(sp_bytes_done) = SP_BYTES_INIT;
	bool archive = false, folder_archive = false;
	const char *size;

	SP_REQUIRE(plat_scene_open(t, &s));
	size = plat_run(&s, s.id,
			"cd %s && mkdir in && echo content >in/file && tar -cf a.tar in && "
			"wc -c <a.tar",
			s.dir);
	SP_REQUIRE(size && download(&s, sp_case_format(t, "%s/a.tar", s.dir), &bytes, &archive) &&
		   download(&s, sp_case_format(t, "%s/in", s.dir), &folder, &folder_archive));
	SP_REQUIRE(PLAT_FACT(t, !archive && !strcmp(size, sp_case_format(t, "%zu", bytes.len)),
			     fact, "an archive of %s bytes came as %s of %zu", size,
			     archive ? "an archive" : "a file", bytes.len));
	SP_REQUIRE(PLAT_FACT(t, bytes.len > 300 && !memcmp(bytes.data + 257, "ustar", 5), fact,
			     "the file is not the archive that was made"));
	PLAT_FACT(t, folder_archive, fact, "a folder came as a file of %zu bytes", folder.len);
}
