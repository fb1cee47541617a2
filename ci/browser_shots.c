/* SPDX-License-Identifier: MIT */
/* Pictures of an HTML report for people to look at: browser_shots PAGE FOLDER [ANCHOR...] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/cleanup.h>
#include <ci/browser.h>

static const struct {
	const char *name;
	unsigned width, height;
	bool phone, dark;
} looks[] = {
    {"desktop-light", 1280, 1400, false, false},
    {"desktop-dark", 1280, 1400, false, true},
    {"phone-light", 390, 1200, true, false},
    {"phone-dark", 390, 1200, true, true},
};

static int shoot(struct browser *b, const char *folder, const char *look, const char *anchor,
		 struct sp_error *err)
{
	char path[4096], script[256];
	char *done SP_FREE = NULL;

	snprintf(
	    script, sizeof(script),
	    "(document.getElementById('%.100s')||document.body).scrollIntoView({block:'start'})",
	    anchor);
	done = browser_eval(b, script, err);
	snprintf(path, sizeof(path), "%s/%s-%s.png", folder, anchor, look);
	return done ? browser_shot(b, path, false, err) : SP_PROTOCOL;
}

int main(int argc, char **argv)
{
	struct browser b;
	struct sp_error err = SP_ERROR_INIT;
	char *page SP_FREE = NULL;
	int rc;

	if (argc < 3) {
		fputs("usage: browser_shots PAGE FOLDER [ANCHOR...]\n", stderr);
		return 2;
	}
	page = realpath(argv[1], NULL);
	if (!page) {
		fprintf(stderr, "browser_shots: there is no %s\n", argv[1]);
		return 2;
	}
	rc = browser_open(&b, &err);
	for (size_t i = 0; !rc && i < SP_COUNT(looks); i++) {
		rc = browser_look(&b, looks[i].width, looks[i].height, looks[i].phone,
				  looks[i].dark, &err);
		if (!rc)
			rc = browser_load(&b, page, &err);
		if (!rc)
			rc = shoot(&b, argv[2], looks[i].name, "top", &err);
		for (int a = 3; !rc && a < argc; a++)
			rc = shoot(&b, argv[2], looks[i].name, argv[a], &err);
	}
	if (rc)
		fprintf(stderr, "browser_shots: %s\n", err.message);
	else if (b.complaints)
		fprintf(stderr, "browser_shots: the page complained: %s\n", b.complaint);
	browser_close(&b);
	return rc != 0;
}
