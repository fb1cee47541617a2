/* SPDX-License-Identifier: MIT */
/* The healthy steps, and the small ones among them. */
#include "internal.h"

#include <string.h>

#include "commands.h"
#include "decode.h"
#include "names.h"
#include "sentinel.h"

/*
 * A bounded read in base64 stays below the 8 MiB that providers usually keep, and is long enough
 * that starting a command costs little beside moving its bytes.
 */
#define READ_MAX (6 * 1000 * 1000)

static size_t line_end(const unsigned char *data, size_t len)
{
	const unsigned char *newline = memchr(data, '\n', len);

	return newline ? (size_t)(newline - data) + 1 : 0;
}

static uint64_t end_position(uint64_t start, const unsigned char *line, size_t len, uint64_t from)
{
	(void)line, (void)from;
	return start + len;
}

static enum sp_journal_strategy strategy(enum sp_journal_strategy asked, bool can_follow)
{
	if (asked != SP_JOURNAL_AUTO)
		return asked;
	return can_follow ? SP_JOURNAL_FOLLOW : SP_JOURNAL_POLL;
}

static uint32_t first_byte_ms(uint32_t asked, bool seen)
{
	return seen ? UINT32_MAX : asked;
}

static enum sp_journal_fate orphan_fate(const struct sp_journal_facts *facts)
{
	if (!facts->mtimes_known)
		return SP_KEPT_AGE_UNAVAILABLE;
	if (facts->newest < 0)
		return SP_KEPT_AGE_MISSING;
	if (facts->now - facts->newest < facts->orphan_age)
		return SP_KEPT_TOO_RECENT;
	return SP_SWEPT_DELETED;
}

static enum sp_journal_fate sweep_fate(const struct sp_journal_facts *facts)
{
	if (facts->deleted >= facts->max_deletes)
		return SP_KEPT_MAX_DELETES;
	if (!facts->asked)
		return SP_KEPT_RECORD_ERROR;
	switch (facts->record) {
	case SP_RECORD_TERMINAL:
		return SP_SWEPT_DELETED;
	case SP_RECORD_OPEN:
		return SP_KEPT_NOT_FINISHED;
	case SP_RECORD_ABSENT:
		return facts->from_journal ? SP_KEPT_NOT_FINISHED : orphan_fate(facts);
	}
	return SP_KEPT_RECORD_ERROR;
}

struct sp_journal_steps sp_journal_steps(void)
{
	return (struct sp_journal_steps){
		.version = SP_JOURNAL_STEPS_VERSION,
		.encode_name = sp_journal_encode,
		.decode_name = sp_journal_decode,
		.nonce = sp_journal_nonce,
		.quote = sp_journal_quote,
		.compose_start = sp_journal_compose_start,
		.compose_prepare = sp_journal_compose_prepare,
		.compose_look = sp_journal_compose_look,
		.compose_follow = sp_journal_compose_follow,
		.compose_poll = sp_journal_compose_poll,
		.compose_probe = sp_journal_compose_probe,
		.compose_stderr = sp_journal_compose_stderr,
		.compose_exists = sp_journal_compose_exists,
		.compose_remove = sp_journal_compose_remove,
		.compose_list = sp_journal_compose_list,
		.compose_mtimes = sp_journal_compose_mtimes,
		.line_end = line_end,
		.end_position = end_position,
		.parse_sentinel = sp_journal_parse_sentinel,
		.fused_sentinel = sp_journal_fused_sentinel,
		.find_exit = sp_journal_find_exit,
		.decode_read = sp_journal_decode_read,
		.strategy = strategy,
		.first_byte_ms = first_byte_ms,
		.read_max = READ_MAX,
		.sweep_fate = sweep_fate,
		.start_detached = true,
		.refuse_reuse = true,
		.look_first = true,
		.verify_place = true,
		.tell_failed_read = true,
		.keep_partial = true,
		.race_abort = true,
		.quiet_abort = true,
		.reread_replaced = true,
		.refollow = true,
		.kill_follower = true,
		.last_sentinel = true,
		.need_witness = true,
		.attach_fails_closed = true,
	};
}
