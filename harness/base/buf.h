/* SPDX-License-Identifier: MIT */
/*
 * Byte buffers with a mandatory ceiling. A buffer cannot be made without
 * saying how large it may grow; passing the ceiling or running out of memory
 * frees nothing and latches the error, so a chain of additions is checked
 * once, at its end.
 */
#ifndef SP_BASE_BUF_H
#define SP_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <sandproof/types.h>

/* A growing buffer; always followed by a NUL that `len` does not count. */
struct sp_buf {
	char *data;
	size_t len;
	size_t size;
	/* Largest `len` allowed. */
	size_t ceiling;
	/* 0, -ENOBUFS (ceiling) or -ENOMEM; additions after it do nothing. */
	int error;
};

/* A buffer on the stack: struct sp_buf b SP_CLEANUP(sp_buf_done) = SP_BUF_INIT(4096); */
#define SP_BUF_INIT(ceiling_) { .ceiling = (ceiling_) }

/* Named ceilings; a use that needs another one names it beside its type. */
#define SP_BUF_LINE (64 * 1024)
#define SP_BUF_COMMAND (32 * 1024 * 1024)
#define SP_BUF_EVENT (64 * 1024 * 1024)

/* Frees the memory and clears length and error; the ceiling stays. */
void sp_buf_done(struct sp_buf *buf);
/* Length 0, memory and ceiling kept, error cleared. */
void sp_buf_clear(struct sp_buf *buf);
/* Text of the buffer, "" while empty; valid until the next addition. */
const char *sp_buf_str(const struct sp_buf *buf);

/* Each returns 0 or the latched negative errno. */
int sp_buf_add(struct sp_buf *buf, const void *data, size_t len);
int sp_buf_adds(struct sp_buf *buf, const char *text);
int sp_buf_addc(struct sp_buf *buf, char c);
int sp_buf_addf(struct sp_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sp_buf_vaddf(struct sp_buf *buf, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Makes room for `len` more bytes and returns where they go (then add to buf->len), or NULL. */
char *sp_buf_reserve(struct sp_buf *buf, size_t len);
/* Removes `len` bytes from the front. */
void sp_buf_consume(struct sp_buf *buf, size_t len);
/* Latches the error of a part that was to be added: a whole without it is none. */
void sp_buf_inherit(struct sp_buf *buf, const struct sp_buf *part);
/*
 * Moves the memory out (to be freed by the caller; never NULL without an error) and leaves the
 * buffer empty; after an error NULL, and the error stays latched. `ret_len` may be NULL.
 */
char *sp_buf_take(struct sp_buf *buf, size_t *ret_len);
/* Same, as bytes; returns 0 or the latched error. */
int sp_buf_take_bytes(struct sp_buf *buf, struct sp_bytes *ret_bytes);

/* Appends `text` as one single-quoted word of a POSIX shell. */
int sp_buf_add_shell(struct sp_buf *buf, const char *text);
/* Appends `len` bytes of UTF-8 as a JSON string with its quotes; invalid bytes become U+FFFD. */
int sp_buf_add_json(struct sp_buf *buf, const char *text, size_t len);
/*
 * Length of the run at the start that stands for itself in a JSON string: ASCII without control
 * bytes, quotes and backslashes.
 */
size_t sp_json_plain(const char *text, size_t len);
/* Appends the base64 form. */
int sp_buf_add_base64(struct sp_buf *buf, const void *data, size_t len);
/*
 * Appends the bytes that base64 `text` stands for (padding required, no white space); -EINVAL when
 * it is none, and nothing is added or latched then.
 */
int sp_buf_add_unbase64(struct sp_buf *buf, const char *text, size_t len);
/* Appends percent-encoded text; all but A-Z a-z 0-9 - . _ ~ is encoded. */
int sp_buf_add_url(struct sp_buf *buf, const char *text);

#endif
