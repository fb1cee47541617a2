/* SPDX-License-Identifier: MIT */
/* What a sweep ends and what it leaves, over a workspace that is a table. */
#include <criterion/criterion.h>
#include <string.h>

#include <base/cleanup.h>

#include "runner.h"
#include "sweep.h"

#define AT INT64_C(1800000000500)
#define LIFETIME 4321

/* One sandbox of the scripted workspace. */
struct there {
	const char *id;
	int64_t created_ms;
	uint32_t lifetime_s;
	/* Its look or its destroy fails. */
	bool unseen, stays;
	bool destroyed;
};

static struct there *workspace;
static size_t n_there;
static char deleted[256];
static bool deleting_fails;

static struct there *find(const char *id)
{
	for (size_t i = 0; i < n_there; i++)
		if (!strcmp(workspace[i].id, id))
			return &workspace[i];
	return NULL;
}

static int destroy(void *self SP_UNUSED, const char *id, struct sp_cancel *cancel SP_UNUSED,
		   struct sp_error *err)
{
	struct there *one = find(id);

	if (one && one->stays)
		return sp_error_set(err, SP_UNAVAILABLE, "it stays");
	if (one)
		one->destroyed = true;
	return 0;
}

static int snapshot_delete(void *self SP_UNUSED, const char *reference,
			   struct sp_cancel *cancel SP_UNUSED, struct sp_error *err)
{
	if (deleting_fails)
		return sp_error_set(err, SP_UNAVAILABLE, "it stays");
	snprintf(deleted + strlen(deleted), sizeof(deleted) - strlen(deleted), "%s ", reference);
	return 0;
}

static int list(void *self SP_UNUSED, struct sp_id_list *ret_list,
		struct sp_cancel *cancel SP_UNUSED, struct sp_error *err SP_UNUSED)
{
	ret_list->ids = calloc(n_there + 1, sizeof(*ret_list->ids));
	for (size_t i = 0; i < n_there; i++)
		ret_list->ids[ret_list->len++] = strdup(workspace[i].id);
	return 0;
}

static const struct sp_provider_ops provider_ops = {
    .version = SP_PROVIDER_VERSION,
    .destroy = destroy,
    .snapshot_delete = snapshot_delete,
    .list = list,
};

static int look(void *self SP_UNUSED, const char *id, struct sp_platform_sandbox *ret_sandbox,
		struct sp_cancel *cancel SP_UNUSED, struct sp_error *err)
{
	const struct there *one = find(id);

	if (!one)
		return sp_error_set(err, SP_GONE, "gone");
	if (one->unseen)
		return sp_error_set(err, SP_UNAVAILABLE, "not now");
	*ret_sandbox = (struct sp_platform_sandbox){
	    .state = "running", .created_ms = one->created_ms, .lifetime_s = one->lifetime_s};
	return 0;
}

/* Three snapshots: of our sandbox, of it before the row, and of a stranger's. */
static int snapshots(void *self SP_UNUSED, const char *group SP_UNUSED,
		     struct sp_platform_snapshots *ret_snapshots,
		     struct sp_cancel *cancel SP_UNUSED, struct sp_error *err SP_UNUSED)
{
	static const struct {
		const char *reference, *source;
		int64_t requested_ms;
	} rows[] = {
	    {"sbg/ours", "sbx-mine", AT + 10},
	    {"sbg/older", "sbx-mine", AT - 5000},
	    {"sbg/strange", "sbx-other", AT + 10},
	};

	ret_snapshots->items = calloc(SP_COUNT(rows), sizeof(*ret_snapshots->items));
	for (size_t i = 0; i < SP_COUNT(rows); i++)
		ret_snapshots->items[ret_snapshots->len++] = (struct sp_platform_snapshot){
		    .reference = strdup(rows[i].reference),
		    .source_id = strdup(rows[i].source),
		    .requested_ms = rows[i].requested_ms,
		};
	return 0;
}

static const char *own_workspace(void *self SP_UNUSED)
{
	return "tea-1";
}

static const struct sp_platform_ops platform_ops = {
    .version = SP_PLATFORM_VERSION,
    .look = look,
    .snapshots = snapshots,
    .workspace = own_workspace,
};

static void say(void *arg SP_UNUSED, const char *line)
{
	cr_log_info("%s", line);
}

static struct sp_sweep_counts sweep(const struct sp_book *book, bool end, int64_t now_ms)
{
	struct sp_provider provider = {&provider_ops, NULL};
	struct sp_platform platform = {&platform_ops, NULL};
	struct sp_sweep_options o = {
	    .book = book,
	    .provider = &provider,
	    .platform = &platform,
	    .end = end,
	    .now_ms = now_ms,
	    .say = say,
	};
	struct sp_sweep_counts counts;

	deleted[0] = '\0';
	sp_sweep_book(&o, &counts);
	return counts;
}

/* ---- a create whose outcome is not known ---- */

#define ONE(id_, created_, ...)                                                                    \
	{                                                                                          \
		.id = id_, .created_ms = created_, .lifetime_s = __VA_ARGS__                       \
	}

static const struct {
	const char *what;
	struct there there[3];
	/* No list was taken before the run. */
	bool unlisted;
	/* Index of the one that is ended, or -1. */
	int ended;
	struct sp_sweep_counts counts;
} unknown[] = {
    {"the only one with the fingerprint",
     {ONE("sbx-new", AT + 20, LIFETIME), ONE("sbx-other", AT + 20, LIFETIME + 1)},
     false,
     0,
     {.ended = 1}},
    {"of the same second as the row, which is all that the service tells",
     {ONE("sbx-new", AT / 1000 * 1000, LIFETIME)},
     false,
     0,
     {.ended = 1}},
    {"another lifetime", {ONE("sbx-new", AT + 20, LIFETIME - 1)}, false, -1, {.gone = 1}},
    {"older than the row", {ONE("sbx-new", AT - 2000, LIFETIME)}, false, -1, {.gone = 1}},
    {"of no known age", {ONE("sbx-new", 0, LIFETIME)}, false, -1, {.gone = 1}},
    {"there before the run", {ONE("sbx-before", AT + 20, LIFETIME)}, false, -1, {.gone = 1}},
    {"made by another call", {ONE("sbx-mine", AT + 20, LIFETIME)}, false, -1, {.gone = 1}},
    {"two carry it",
     {ONE("sbx-new", AT + 20, LIFETIME), ONE("sbx-two", AT + 20, LIFETIME)},
     false,
     -1,
     {.left = 1}},
    {"one cannot be looked at",
     {ONE("sbx-new", AT + 20, LIFETIME), ONE("sbx-two", AT, 1, .unseen = true)},
     false,
     -1,
     {.left = 1}},
    {"no list was taken", {ONE("sbx-new", AT + 20, LIFETIME)}, true, -1, {.left = 1}},
    {"nothing is there", {{NULL}}, false, -1, {.gone = 1}},
};

static bool equal(const struct sp_sweep_counts *a, const struct sp_sweep_counts *b)
{
	return a->ended == b->ended && a->gone == b->gone && a->left == b->left &&
	       a->failed == b->failed;
}

Test(sweep, a_create_of_unknown_outcome_never_ends_a_stranger)
{
	struct sp_book_id before[] = {{(char *)"tea-1", NULL},
				      {(char *)"tea-1", (char *)"sbx-before"}};
	struct sp_book_id made[] = {{NULL, (char *)"sbx-mine"}};
	struct sp_book_sandbox row = {
	    .workspace = (char *)"tea-1", .at_ms = AT, .lifetime_s = LIFETIME};

	for (size_t i = 0; i < SP_COUNT(unknown); i++) {
		struct there there[3];
		struct sp_book book = {.sandboxes = &row,
				       .n_sandboxes = 1,
				       .before = before,
				       .n_before = unknown[i].unlisted ? 0 : 2,
				       .made = made,
				       .n_made = 1};
		struct sp_sweep_counts counts;

		memcpy(there, unknown[i].there, sizeof(there));
		workspace = there;
		for (n_there = 0; n_there < 3 && there[n_there].id; n_there++)
			;
		counts = sweep(&book, true, AT + 60000);
		cr_expect(equal(&counts, &unknown[i].counts),
			  "%s: %zu ended, %zu gone, %zu left, %zu failed", unknown[i].what,
			  counts.ended, counts.gone, counts.left, counts.failed);
		for (size_t k = 0; k < n_there; k++)
			cr_expect_eq(there[k].destroyed, (int)k == unknown[i].ended, "%s: %s",
				     unknown[i].what, there[k].id);
	}
}

/* ---- what is known ---- */

Test(sweep, snapshots_and_sandboxes_do_not_depend_on_each_other)
{
	struct there there[] = {ONE("sbx-mine", AT, 1, .stays = true), ONE("sbx-two", AT, 1)};
	struct sp_book_sandbox sandboxes[] = {
	    {.id = (char *)"sbx-mine"}, {.id = (char *)"sbx-two"}, {.id = (char *)"sbx-over"}};
	struct sp_book_snapshot snapshot = {.reference = (char *)"sbg/one"};
	struct sp_book book = {
	    .sandboxes = sandboxes, .n_sandboxes = 3, .snapshots = &snapshot, .n_snapshots = 1};
	struct sp_sweep_counts counts;

	workspace = there;
	n_there = 2;
	counts = sweep(&book, true, AT);
	cr_expect(equal(&counts, &(struct sp_sweep_counts){2, 1, 0, 1}), "a sandbox stays");
	cr_expect_str_eq(deleted, "sbg/one ");
	cr_expect(there[1].destroyed);
	there[1].destroyed = there[0].stays = false;
	deleting_fails = true;
	counts = sweep(&book, true, AT);
	cr_expect(equal(&counts, &(struct sp_sweep_counts){2, 1, 0, 1}), "a snapshot stays");
	cr_expect(there[0].destroyed && there[1].destroyed);
}

Test(sweep, nothing_is_ended_without_being_told_to)
{
	struct there there[] = {ONE("sbx-mine", AT, 1)};
	struct sp_book_sandbox sandbox = {.id = (char *)"sbx-mine"};
	struct sp_book_snapshot snapshot = {.reference = (char *)"sbg/one"};
	struct sp_book book = {
	    .sandboxes = &sandbox, .n_sandboxes = 1, .snapshots = &snapshot, .n_snapshots = 1};
	struct sp_sweep_counts counts;

	workspace = there;
	n_there = 1;
	counts = sweep(&book, false, AT);
	cr_expect(equal(&counts, &(struct sp_sweep_counts){.ended = 2}));
	cr_expect(!there[0].destroyed && !*deleted);
}

Test(sweep, a_snapshot_of_unknown_outcome_is_found_by_its_source)
{
	struct sp_book_id made[] = {{NULL, (char *)"sbx-mine"}};
	struct sp_book_snapshot rows[] = {{.workspace = (char *)"tea-1",
					   .at_ms = AT,
					   .sandbox = (char *)"sbx-mine",
					   .group = (char *)"sbg"},
					  {.reference = (char *)"sbg/known"}};
	struct sp_book book = {.snapshots = rows, .n_snapshots = 1, .made = made, .n_made = 1};
	struct sp_sweep_counts counts = sweep(&book, true, AT + 1000);

	cr_expect(equal(&counts, &(struct sp_sweep_counts){.ended = 1}));
	cr_expect_str_eq(deleted, "sbg/ours ");
	/* A stranger's sandbox is nobody's proof. */
	rows[0].sandbox = (char *)"sbx-other";
	counts = sweep(&book, true, AT + 1000);
	cr_expect(equal(&counts, &(struct sp_sweep_counts){.left = 1}));
	cr_expect_str_eq(deleted, "");
	/* Nor is anything asked about a group that is not known; its own time ends it. */
	rows[0].group = NULL;
	counts = sweep(&book, true, AT + (SP_RUN_SNAPSHOT_LIFETIME_S + 1) * INT64_C(1000));
	cr_expect(equal(&counts, &(struct sp_sweep_counts){.gone = 1}));
}

Test(sweep, another_workspace_is_left_until_its_time)
{
	struct there there[] = {ONE("sbx-mine", AT, 1)};
	struct sp_book_sandbox row = {.workspace = (char *)"tea-2",
				      .id = (char *)"sbx-mine",
				      .at_ms = AT,
				      .lifetime_s = LIFETIME};
	struct sp_book book = {.sandboxes = &row, .n_sandboxes = 1};
	struct sp_sweep_counts counts;

	workspace = there;
	n_there = 1;
	counts = sweep(&book, true, AT + 1000);
	cr_expect(equal(&counts, &(struct sp_sweep_counts){.left = 1}));
	counts = sweep(&book, true, AT + (LIFETIME + 1) * INT64_C(1000));
	cr_expect(equal(&counts, &(struct sp_sweep_counts){.gone = 1}));
	cr_expect(!there[0].destroyed);
}
