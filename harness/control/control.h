/* SPDX-License-Identifier: MIT */
/* Client of a fake's admin endpoint. */
#ifndef SP_CONTROL_CLIENT_H
#define SP_CONTROL_CLIENT_H

#include <sandproof/control.h>

/*
 * Opens the control of one workspace. `url` is "unix:PATH" or "http://HOST:PORT…" on
 * loopback; `token` the control token. Nothing is sent. SP_INVALID for any other URL.
 */
int sp_control_open(const char *url, const char *token, const char *workspace_id,
		    struct sp_control *ret_control, struct sp_error *err);

/* Whether the server answers anything at all before the cancel fires; 0 or why it does not. */
int sp_control_answers(const char *url, const char *token, struct sp_cancel *cancel);

/* A new workspace with a key of its own, for one worker. Texts are the caller's to free. */
int sp_control_new_workspace(const char *url, const char *token, char **ret_workspace_id,
			     char **ret_api_key, struct sp_error *err);

#endif
