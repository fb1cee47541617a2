/* SPDX-License-Identifier: MIT */
/* A trace that was read back: which line is what, and which answer belongs to which request. */
#ifndef SP_DRIVER_SCRIPT_H
#define SP_DRIVER_SCRIPT_H

#include <base/json.h>
#include <sandproof/types.h>

/* No row. */
#define DRV_NO_ROW SIZE_MAX

enum drv_row_kind {
	DRV_ROW_REQUEST = 0,
	/* A notification of the client. */
	DRV_ROW_NOTICE,
	DRV_ROW_ANSWER,
	/* A notification of the driver. */
	DRV_ROW_HEARD,
	/* Nothing to play: a line that was no message, the client's no to a driver's request. */
	DRV_ROW_OTHER,
};

/* One line. */
struct drv_row {
	size_t at, len;
	enum drv_row_kind kind;
	/* Index of its dialogue. */
	size_t dialogue;
	/* A request's answer, an answer's request; or DRV_NO_ROW. */
	size_t peer;
};

/* What a dialogue needs, as SP_SUBJECT_* has it: who can play the driver's part. */
enum drv_part { DRV_PART_PROVIDER = 1, DRV_PART_STORE = 2, DRV_PART_LOCK = 4 };

struct drv_dialogue {
	char name[33];
	/* Rows of its requests, by id less 1. */
	size_t *requests, n_requests, size;
	size_t last_row;
	/* enum drv_part of what was called. */
	unsigned parts;
};

struct drv_script {
	struct sp_bytes text;
	struct drv_row *rows;
	size_t n_rows, size;
	struct drv_dialogue *dialogues;
	size_t n_dialogues;
	/* The last line has no end, so it is left out. */
	bool cut;
};

#define DRV_SCRIPT_INIT                                                                            \
	{                                                                                          \
		.text = SP_BYTES_INIT                                                              \
	}

/* Reads and checks a trace: SP_IO, or SP_PROTOCOL with "PATH:LINE:" and what is wrong there. */
int drv_script_read(const char *path, struct drv_script *ret_script, struct sp_error *err);
void drv_script_done(struct drv_script *script);
/* The message of a row, to be freed; NULL without memory. */
cJSON *drv_script_message(const struct drv_script *script, size_t row);

#endif
