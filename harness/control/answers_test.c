/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <string.h>

#include <base/cleanup.h>
#include <control/answers.h>

static const char two_lines[] =
    "{\"method\":\"POST\",\"target\":\"/a?b\",\"headers\":\"A: b\\nC: d\",\"cut\":false,"
    "\"body\":\"aGkA\"}\n"
    "{\"method\":\"GET\",\"target\":\"/\",\"headers\":\"\",\"cut\":true,\"body\":\"\"}\n";

static void check_two(const struct sp_control_requests *list, size_t piece)
{
	cr_assert(list->len == 2, "pieces of %zu: 2 expected, got %zu", piece, list->len);
	cr_expect_str_eq(list->items[0].method, "POST");
	cr_expect_str_eq(list->items[0].target, "/a?b");
	cr_expect_str_eq(list->items[0].headers, "A: b\nC: d");
	cr_expect(list->items[0].body.len == 3 && !memcmp(list->items[0].body.data, "hi", 3));
	cr_expect(!list->items[0].cut && list->items[1].cut);
	cr_expect(list->items[1].body.len == 0);
}

/* However the bytes come, the list is the same. */
Test(requests, in_pieces)
{
	for (size_t piece = 1; piece <= sizeof(two_lines); piece++) {
		struct request_reader reader SP_CLEANUP(request_reader_done) = REQUEST_READER_INIT;
		struct sp_control_requests list = SP_CONTROL_REQUESTS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = 0;

		for (size_t at = 0; !rc && at < sizeof(two_lines) - 1; at += piece) {
			size_t left = sizeof(two_lines) - 1 - at;

			rc = request_reader_add(&reader, two_lines + at,
						left < piece ? left : piece, &err);
		}
		if (!rc)
			rc = request_reader_take(&reader, &list, &err);
		cr_assert(!rc, "pieces of %zu: %s", piece, err.message);
		check_two(&list, piece);
		sp_control_requests_done(&list);
	}
}

Test(requests, strange)
{
	static const char *const rows[] = {
	    "{\"method\":\"GET\"",
	    "{}\n",
	    "[]\n",
	    "nonsense\n",
	    "{\"method\":1,\"target\":\"/\",\"headers\":\"\",\"cut\":true,\"body\":\"\"}\n",
	    "{\"method\":\"GET\",\"target\":\"/\",\"headers\":\"\",\"cut\":1,\"body\":\"\"}\n",
	    "{\"method\":\"GET\",\"target\":\"/\",\"headers\":\"\",\"cut\":true,\"body\":\"!\"}\n",
	    "\n",
	};

	for (size_t i = 0; i < SP_COUNT(rows); i++) {
		struct request_reader reader SP_CLEANUP(request_reader_done) = REQUEST_READER_INIT;
		struct sp_control_requests list = SP_CONTROL_REQUESTS_INIT;
		struct sp_error err = SP_ERROR_INIT;
		int rc = request_reader_add(&reader, rows[i], strlen(rows[i]), &err);

		if (!rc)
			rc = request_reader_take(&reader, &list, &err);
		cr_expect(rc == SP_PROTOCOL && *err.message, "`%s`: protocol expected, got %s",
			  rows[i], sp_code_name(rc));
		cr_expect(!list.items, "`%s`: the output was touched", rows[i]);
	}
}

static const char census_text[] =
    "{\"sandboxes\":[{\"id\":\"sbx-1\",\"state\":\"running\",\"processes\":2,\"commands\":1,"
    "\"files\":3}],\"snapshots\":1,\"holds\":5,\"commands_total\":6,"
    "\"cannot_hold\":[\"isolation\"],\"snapshot_list\":[{\"id\":\"snp-1\",\"sandbox_id\":\"sbx-9\","
    "\"name\":null,\"kind\":\"runtime\",\"status\":\"failed\"}],\"later\":true}";

static int read_census(const char *text, struct sp_census *census)
{
	cJSON *json SP_CLEANUP(sp_json_done) = NULL;
	struct sp_error err = SP_ERROR_INIT;

	cr_assert(!sp_json_parse(text, strlen(text), SP_BUF_LINE, &json, &err), "%s", err.message);
	return census_read(json, census, &err);
}

Test(census, whole)
{
	struct sp_census census = SP_CENSUS_INIT;

	cr_assert(!read_census(census_text, &census));
	cr_expect(census.n_sandboxes == 1 && census.sandboxes[0].processes == 2 &&
		  census.sandboxes[0].commands == 1 && census.sandboxes[0].files == 3);
	cr_expect_str_eq(census.sandboxes[0].id, "sbx-1");
	cr_expect_str_eq(census.sandboxes[0].state, "running");
	cr_expect_str_eq(census.snapshots[0].id, "snp-1");
	cr_expect_str_eq(census.snapshots[0].sandbox_id, "sbx-9");
	cr_expect_str_eq(census.snapshots[0].kind, "runtime");
	cr_expect_str_eq(census.snapshots[0].status, "failed");
	cr_expect(!census.snapshots[0].name);
	cr_expect(census.n_snapshots == 1 && census.n_holds == 5 && census.commands_total == 6);
	cr_expect(census.n_cannot_hold == 1);
	cr_expect_str_eq(census.cannot_hold[0], "isolation");
	sp_census_done(&census);
}

/* Each member is required: without it the census is no evidence. */
Test(census, strange)
{
	static const char *const names[] = {
	    "sandboxes", "snapshots",  "holds", "commands_total", "cannot_hold",
	    "processes", "commands\"", "files", "state",	  "\"id",
	    "sandbox_id", "kind", "status"};

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		struct sp_census census = SP_CENSUS_INIT;
		char text[sizeof(census_text)];
		char *at;

		memcpy(text, census_text, sizeof(text));
		at = strstr(text, names[i]);
		cr_assert(at);
		at[1] = 'X';
		cr_expect(read_census(text, &census) == SP_PROTOCOL, "without %s", names[i]);
		cr_expect(!census.sandboxes, "without %s: the output was touched", names[i]);
	}
}
