/* SPDX-License-Identifier: MIT */
/* The table of routes, and the ones that its rows name. */
#ifndef FAKE_RENDER_API_ROUTES_H
#define FAKE_RENDER_API_ROUTES_H

#include <fakes/render-api/request.h>

/*
 * Finds the row of a request and fills its parameters. NULL: none; then `*ret_wrong_method` says
 * whether the path is known.
 */
const struct route *route_find(struct request *request, const char *method, const char *path,
			       bool *ret_wrong_method);

/*
 * Common to lists: reads `limit` and `cursor`. False: it has answered 400. A missing cursor is
 * UINT64_MAX.
 */
bool route_page(struct request *request, uint64_t *ret_limit, uint64_t *ret_before);
/* The opaque cursor of an item. */
void route_cursor(struct sp_buf *buf, uint64_t number);

/* routes_sandboxes.c */
void route_create(struct request *request);
void route_get(struct request *request);
void route_list(struct request *request);
void route_terminate(struct request *request);
void route_suspend(struct request *request);
/* routes_groups.c */
void route_groups(struct request *request);
/* A method whose wire form is not known: as if the path were not there. */
void route_unknown(struct request *request);
/* routes_files.c */
void route_files(struct request *request);
/* routes_snapshots.c */
void route_snapshot_create(struct request *request);
void route_snapshots(struct request *request);
void route_snapshot_get(struct request *request);
void route_snapshot_delete(struct request *request);
/* Whether a snapshot may have this name. */
bool snapshot_name_is_good(const char *name);
/* routes_mint.c */
void route_mint_run_sync(struct request *request);
void route_mint_run_stream(struct request *request);
void route_mint_upload(struct request *request);
void route_mint_download(struct request *request);
/* routes_execs.c */
void route_execs(struct request *request);
void route_exec(struct request *request);
void route_exec_status(struct request *request);
/* proxy_run.c */
void proxy_run_sync(struct request *request);
void proxy_run_sync_gone(struct request *request);
void proxy_run_stream(struct request *request);
void proxy_run_stream_gone(struct request *request);
/* proxy_upload.c */
void proxy_upload(struct request *request);
void proxy_upload_data(struct request *request, const void *data, size_t len);
void proxy_upload_end(struct request *request);
void proxy_upload_gone(struct request *request);
/* proxy_download.c */
void proxy_download(struct request *request);
/* admin.c */
void admin_workspace_new(struct request *request);
void admin_hold(struct request *request);
void admin_held(struct request *request);
void admin_held_gone(struct request *request);
void admin_release(struct request *request);
void admin_fail(struct request *request);
void admin_fault(struct request *request);
void admin_requests(struct request *request);
void admin_census(struct request *request);
void admin_state(struct request *request);
void admin_clock(struct request *request);
void admin_reset(struct request *request);
/* admin_archive.c */
void admin_archive(struct request *request);
void admin_plant(struct request *request);
void admin_plant_data(struct request *request, const void *data, size_t len);
void admin_plant_end(struct request *request);
void admin_plant_gone(struct request *request);

#endif
