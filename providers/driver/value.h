/* SPDX-License-Identifier: MIT */
/*
 * Values as they stand on the wire (PROTOCOL.md, section 2), for both sides. Writers append a
 * member to an object that is being built; readers take a member out of a parsed one and say in
 * words what is wrong with it, without quoting it: it may be a secret.
 */
#ifndef SP_DRIVER_VALUE_H
#define SP_DRIVER_VALUE_H

#include <base/buf.h>
#include <base/json.h>
#include <sandproof/sandbox.h>
#include <sandproof/store.h>

/* Longest line of the protocol with its newline, both ways. */
#define DRV_MAX_FRAME ((size_t)64 * 1024 * 1024)
/* The least that a driver may declare. */
#define DRV_MIN_FRAME ((size_t)64 * 1024)
/* The version that both sides of this program speak. */
#define DRV_PROTOCOL 1

/* A message that is being built: room for a frame and not more. */
#define DRV_BUF_INIT SP_BUF_INIT(DRV_MAX_FRAME)

/* ---- Writing: `name` NULL is an element of an array ---- */

void drv_put_key(struct sp_buf *out, const char *name);
/* Opens with '{' or '['; the closing bracket is sp_buf_addc(). */
void drv_put_open(struct sp_buf *out, const char *name, char bracket);
/* Text that is known to be UTF-8; NULL writes nothing. */
void drv_put_text(struct sp_buf *out, const char *name, const char *text);
/* Bytes in the shorter of their two forms. */
void drv_put_bytes(struct sp_buf *out, const char *name, const void *data, size_t len);
/* Bytes of a C string; NULL writes nothing. */
void drv_put_string(struct sp_buf *out, const char *name, const char *text);
void drv_put_int(struct sp_buf *out, const char *name, int64_t value);
void drv_put_uint(struct sp_buf *out, const char *name, uint64_t value);
void drv_put_bool(struct sp_buf *out, const char *name, bool value);
/* A parsed value as it was; cJSON's own printing rounds large integers. */
void drv_put_json(struct sp_buf *out, const cJSON *value);
/*
 * An environment; of two variables with one name the later one counts. SP_INVALID for a name that
 * is no UTF-8 text, which no driver can be told.
 */
int drv_put_env(struct sp_buf *out, const char *name, const struct sp_env *env, size_t n,
		struct sp_error *err);
/* 0, or SP_INVALID for text that is not UTF-8 and that the protocol has no other form for. */
int drv_check_text(const char *what, const char *text, struct sp_error *err);

/* ---- Reading: each answers 0 or SP_INVALID; "opt" leaves `ret` alone when it is absent ---- */

/* Borrowed from the tree. */
int drv_get_text(const cJSON *object, const char *name, const char **ret, struct sp_error *err);
int drv_get_text_opt(const cJSON *object, const char *name, const char **ret, struct sp_error *err);
/* Owned by the caller. A text is moved out of the tree. */
int drv_get_bytes(cJSON *object, const char *name, struct sp_bytes *ret, struct sp_error *err);
/* The same for an element; `what` names it in messages. */
int drv_take_bytes(cJSON *item, const char *what, struct sp_bytes *ret, struct sp_error *err);
/* Bytes without NUL as a C string, malloc'ed. */
int drv_get_string(cJSON *object, const char *name, char **ret, struct sp_error *err);
int drv_get_string_opt(cJSON *object, const char *name, char **ret, struct sp_error *err);
int drv_get_int(const cJSON *object, const char *name, int64_t *ret, struct sp_error *err);
int drv_get_int_opt(const cJSON *object, const char *name, int64_t *ret, struct sp_error *err);
int drv_get_uint_opt(const cJSON *object, const char *name, uint64_t *ret, struct sp_error *err);
/* An integer within a range. */
int drv_get_range(const cJSON *object, const char *name, int64_t min, int64_t max, int64_t *ret,
		  struct sp_error *err);
int drv_get_bool(const cJSON *object, const char *name, bool *ret, struct sp_error *err);
int drv_get_bool_opt(const cJSON *object, const char *name, bool *ret, struct sp_error *err);
/*
 * Unknown members are ignored, as the protocol says, but one that is nearly a known one is a typing
 * error, which would be read as absent: SP_INVALID names what was meant.
 */
int drv_check_members(const cJSON *object, const char *const *names, size_t n,
		      struct sp_error *err);
/* An array; borrowed. */
int drv_get_array(const cJSON *object, const char *name, const cJSON **ret, struct sp_error *err);
/*
 * Reads an array into zeroed items of `size` bytes, each by `read`. Also after a failure
 * `ret_items` (NULL: none) and `ret_len` are the caller's: the last may be read in part.
 */
int drv_get_list(const cJSON *object, const char *name, size_t size,
		 int (*read)(cJSON *json, void *item, struct sp_error *err), void **ret_items,
		 size_t *ret_len, struct sp_error *err);

/* An environment that was read; free it. */
struct drv_env {
	struct sp_env *items;
	size_t len;
};
#define DRV_ENV_INIT                                                                               \
	{                                                                                          \
		NULL, 0                                                                            \
	}
int drv_get_env_opt(cJSON *object, const char *name, struct drv_env *ret, struct sp_error *err);
void drv_env_done(struct drv_env *env);

/* ---- Words: an index into a list that ends with NULL ---- */

/* The word's index; an absent one is `absent`, or SP_INVALID where that is below 0. */
int drv_get_word(const cJSON *object, const char *name, const char *const *words, int absent,
		 int *ret, struct sp_error *err);

/* enum sp_network */
extern const char *const drv_networks[];
/* enum sp_file_type */
extern const char *const drv_file_types[];
/* enum sp_stream, less 1 */
extern const char *const drv_streams[];
/* enum sp_exit_how */
extern const char *const drv_exit_hows[];
/* enum sp_kill_reach */
extern const char *const drv_reaches[];
/* enum sp_output */
extern const char *const drv_outputs[];
/* enum sp_journal_strategy */
extern const char *const drv_strategies[];
/* enum sp_journal_state */
extern const char *const drv_states[];
/* enum sp_journal_record, then "error" */
extern const char *const drv_record_states[];
/* enum sp_journal_fate */
extern const char *const drv_fates[];

/* ---- Errors ---- */

/* The error object of an answer, filled into `err`; its code, SP_PROTOCOL for one without sense. */
int drv_get_error(const cJSON *error, struct sp_error *err);
/* Appends `"error":{…}`. */
void drv_put_error(struct sp_buf *out, const struct sp_error *err);

/* ---- Declarations ---- */

void drv_put_capabilities(struct sp_buf *out, const struct sp_capabilities *caps);
/* `*ret_memory_dir` is what `ret->memory_dir` points to; malloc'ed or NULL. */
int drv_get_capabilities(cJSON *json, struct sp_capabilities *ret, char **ret_memory_dir,
			 struct sp_error *err);

/* ---- Records ---- */

void drv_put_record(struct sp_buf *out, const char *name, const struct sp_record *record);
int drv_get_record(const cJSON *json, struct sp_record *ret, struct sp_error *err);

/* ---- What a command left ---- */

void drv_put_output(struct sp_buf *out, const struct sp_exec_result *result);
int drv_get_output(cJSON *json, struct sp_exec_result *ret, struct sp_error *err);

#endif
