/* SPDX-License-Identifier: MIT */
/*
 * A headless Chromium, driven by its DevTools protocol over a pipe: no port, no driver, no package
 * besides the browser. For tests and figures of the HTML report.
 */
#ifndef CI_BROWSER_H
#define CI_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include <base/buf.h>
#include <base/child.h>
#include <sandproof/error.h>

struct browser {
	struct sp_child child;
	/* Our end of the socket that the browser has as 3 and 4. */
	int fd;
	int64_t last_id;
	/* The open page's session, or empty. */
	char session[64];
	char *profile;
	/* Bytes that came and are not read yet. */
	struct sp_buf in;
	/* Exceptions and errors that pages told of. */
	unsigned complaints;
	char complaint[512];
};

/* True when there is a browser on this machine. */
bool browser_is_there(void);
/* Starts it with an empty page; SP_IO with what it said. */
int browser_open(struct browser *browser, struct sp_error *err);
/* Ends it and removes its profile. */
void browser_close(struct browser *browser);

/* Calls a method of the protocol (`params`: JSON text of an object); `*ret_result` is the caller's,
 * may be NULL. */
int browser_call(struct browser *browser, const char *method, const char *params,
		 cJSON **ret_result, struct sp_error *err);
/* Opens a file (absolute path) and waits until it is loaded. */
int browser_load(struct browser *browser, const char *path, struct sp_error *err);
/* Value of a JavaScript expression as text (objects as JSON), malloc'ed; NULL with `err` when it
 * throws. */
char *browser_eval(struct browser *browser, const char *expression, struct sp_error *err);
/* Presses and releases a key: one character, or "Escape". */
int browser_key(struct browser *browser, const char *key, struct sp_error *err);
/* Size of the window in CSS pixels, and whether it is a phone; colours light or dark. */
int browser_look(struct browser *browser, unsigned width, unsigned height, bool phone, bool dark,
		 struct sp_error *err);
/* Saves what is seen (or the whole page) as PNG. */
int browser_shot(struct browser *browser, const char *path, bool whole, struct sp_error *err);

#endif
