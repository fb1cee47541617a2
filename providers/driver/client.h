/* SPDX-License-Identifier: MIT */
/* The client's tables: what they share. */
#ifndef SP_DRIVER_CLIENT_H
#define SP_DRIVER_CLIENT_H

#include <base/cleanup.h>

#include "conn.h"

/* struct sp_buf params DRV_PARAMS; then drv_open(), members, drv_call(). */
#define DRV_PARAMS SP_CLEANUP(sp_buf_done) = DRV_BUF_INIT
/* cJSON *result DRV_RESULT; */
#define DRV_RESULT SP_CLEANUP(sp_json_done) = NULL

/* A sandbox of a driver; listed in it, so that journals find it by its id. */
struct drv_sandbox {
	struct drv_sandbox *next;
	struct sp_driver *driver;
	char *handle, *id, *root;
};

/* Begins an object, with one handle or text in it unless `name` is NULL. */
void drv_open(struct sp_buf *params, const char *name, const char *text);
/* Ends the object and calls for nothing but success. */
int drv_call_plain(struct sp_driver *driver, const char *method, struct sp_buf *params,
		   struct sp_cancel *cancel, struct sp_error *err);
/* Ends the object and calls. */
int drv_call_for(struct sp_driver *driver, const char *method, struct sp_buf *params,
		 struct sp_cancel *cancel, cJSON **ret_result, struct sp_error *err);

/* A sandbox or process of what an answer names. */
int drv_make_sandbox(struct sp_driver *driver, const char *method, const cJSON *result,
		     struct sp_sandbox *ret_sandbox, struct sp_error *err);
int drv_make_process(struct sp_driver *driver, const char *method, const cJSON *result,
		     struct sp_cancel *cancel, struct sp_process *ret_process,
		     struct sp_error *err);
/* The sandbox of this driver that was handed out last with the id; malloc'ed handle or NULL. */
char *drv_handle_of(struct sp_driver *driver, const char *id);
/* SP_UNSUPPORTED that says what the driver offers instead of the kind. */
int drv_not_offered(const struct sp_driver *driver, const char *kind, struct sp_error *err);

#endif
