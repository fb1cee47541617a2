/* SPDX-License-Identifier: MIT */
#include <results/fields.h>

#include <string.h>

#include <base/cleanup.h>

#define FIELD(type, member, kind, required)                                                        \
	{                                                                                          \
#member, SP_FIELD_##kind, offsetof(struct type, member), required                                  \
	}

static const struct sp_field run_fields[] = {
	FIELD(sp_result_run, schema_version, INT, true),
	FIELD(sp_result_run, program_version, TEXT, true),
	FIELD(sp_result_run, suite_version, TEXT, true),
	FIELD(sp_result_run, requirements_sha256, TEXT, true),
	FIELD(sp_result_run, subjects, TEXT, true),
	{ "capabilities", SP_FIELD_JSON, offsetof(struct sp_result_run, capabilities_json), true },
	FIELD(sp_result_run, host, TEXT, true),
	FIELD(sp_result_run, seed, DIGITS, true),
	FIELD(sp_result_run, start, INT64, true),
	FIELD(sp_result_run, jobs, UNSIGNED, true),
	FIELD(sp_result_run, defect, TEXT, false),
	FIELD(sp_result_run, clauses, WORDS, false),
};

static const struct sp_field case_fields[] = {
	FIELD(sp_result_case, id, TEXT, true),
	FIELD(sp_result_case, suite, TEXT, true),
	FIELD(sp_result_case, subject, TEXT, true),
	FIELD(sp_result_case, clause, TEXT, true),
	FIELD(sp_result_case, level, TEXT, true),
	FIELD(sp_result_case, verdict, VERDICT, true),
	FIELD(sp_result_case, message, TEXT, true),
	FIELD(sp_result_case, duration_ms, INT64, true),
	FIELD(sp_result_case, start, INT64, true),
	FIELD(sp_result_case, worker, INT, true),
	FIELD(sp_result_case, attempt, INT, true),
	FIELD(sp_result_case, file, TEXT, true),
	FIELD(sp_result_case, line, INT, true),
	FIELD(sp_result_case, tags, WORDS, true),
	FIELD(sp_result_case, expected, TEXT, false),
	FIELD(sp_result_case, actual, TEXT, false),
	FIELD(sp_result_case, dialogue, TEXT, false),
	FIELD(sp_result_case, rerun, TEXT, false),
};

static const struct sp_field leak_fields[] = {
	FIELD(sp_result_leak, id, TEXT, true),
	FIELD(sp_result_leak, kind, TEXT, true),
	FIELD(sp_result_leak, message, TEXT, true),
};

static const struct sp_field defect_fields[] = {
	FIELD(sp_result_defect, id, TEXT, true),
	FIELD(sp_result_defect, suite, TEXT, true),
	FIELD(sp_result_defect, status, TEXT, true),
	FIELD(sp_result_defect, caught_by, WORDS, true),
	FIELD(sp_result_defect, evidence, TEXT, false),
};

static const struct sp_field end_fields[] = {
	FIELD(sp_result_end, passed, SIZE, true),
	FIELD(sp_result_end, failed, SIZE, true),
	FIELD(sp_result_end, skipped, SIZE, true),
	FIELD(sp_result_end, warned, SIZE, true),
	FIELD(sp_result_end, errors, SIZE, true),
	FIELD(sp_result_end, leaks, SIZE, true),
	FIELD(sp_result_end, xfailed, SIZE, true),
	FIELD(sp_result_end, xpassed, SIZE, true),
	FIELD(sp_result_end, exit_code, INT, true),
	FIELD(sp_result_end, duration_ms, INT64, true),
	FIELD(sp_result_end, commands, UINT64, true),
	FIELD(sp_result_end, interrupted, BOOL, true),
};

static const struct sp_line lines[SP_LINE_MAX_] = {
	[SP_LINE_RUN] = { "run", run_fields, SP_COUNT(run_fields), sizeof(struct sp_result_run) },
	[SP_LINE_CASE] = { "case", case_fields, SP_COUNT(case_fields),
			   sizeof(struct sp_result_case) },
	[SP_LINE_LEAK] = { "leak", leak_fields, SP_COUNT(leak_fields),
			   sizeof(struct sp_result_leak) },
	[SP_LINE_DEFECT] = { "defect", defect_fields, SP_COUNT(defect_fields),
			     sizeof(struct sp_result_defect) },
	[SP_LINE_END] = { "end", end_fields, SP_COUNT(end_fields), sizeof(struct sp_result_end) },
};

const struct sp_line *sp_line_of(enum sp_line_kind kind)
{
	return &lines[kind];
}

const char *sp_field_json_type(enum sp_field_kind kind)
{
	switch (kind) {
	case SP_FIELD_TEXT:
	case SP_FIELD_DIGITS:
	case SP_FIELD_VERDICT:
		return "string";
	case SP_FIELD_WORDS:
		return "array";
	case SP_FIELD_JSON:
		return "any";
	case SP_FIELD_INT:
	case SP_FIELD_UNSIGNED:
	case SP_FIELD_INT64:
	case SP_FIELD_UINT64:
	case SP_FIELD_SIZE:
		return "integer";
	case SP_FIELD_BOOL:
		return "boolean";
	}
	return "any";
}

int sp_line_kind_of(const char *type, size_t len)
{
	for (int kind = 0; kind < SP_LINE_MAX_; kind++)
		if (strlen(lines[kind].type) == len && !memcmp(lines[kind].type, type, len))
			return kind;
	return -1;
}
