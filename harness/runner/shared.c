/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include <string.h>
#include <sys/mman.h>

#include <base/utf8.h>

struct sp_shared *sp_shared_new(void)
{
	struct sp_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

void sp_shared_free(struct sp_shared *shared)
{
	if (shared)
		munmap(shared, sizeof(*shared));
}

void sp_shared_reset(struct sp_shared *shared)
{
	atomic_store(&shared->in_call, 0);
	atomic_store(&shared->in_plugin, 0);
	atomic_store(&shared->call, NULL);
	shared->stuck[0] = '\0';
	shared->dialogue_len = 0;
	shared->dialogue_cut = false;
}

/* Drops whole lines at the front until `len` more bytes fit. */
static void make_room(struct sp_shared *shared, size_t len)
{
	while (shared->dialogue_len + len > sizeof(shared->dialogue)) {
		const char *end = memchr(shared->dialogue, '\n', shared->dialogue_len);
		size_t gone = end ? (size_t)(end - shared->dialogue) + 1 : shared->dialogue_len;

		shared->dialogue_len -= gone;
		memmove(shared->dialogue, shared->dialogue + gone, shared->dialogue_len);
		shared->dialogue_cut = true;
	}
}

void sp_shared_note(struct sp_shared *shared, const char *line, size_t len)
{
	if (len > SP_DIALOGUE_LINE)
		len = sp_utf8_cut(line, len, SP_DIALOGUE_LINE);
	make_room(shared, len + 1);
	memcpy(shared->dialogue + shared->dialogue_len, line, len);
	shared->dialogue_len += len;
	shared->dialogue[shared->dialogue_len++] = '\n';
}

void sp_shared_dialogue(const struct sp_shared *shared, struct sp_buf *out)
{
	size_t len = shared->dialogue_len;

	/* A dying worker may have left anything here. */
	if (len > sizeof(shared->dialogue))
		len = 0;
	if (shared->dialogue_cut)
		sp_buf_adds(out, "(earlier lines dropped)\n");
	sp_buf_add(out, shared->dialogue, len);
}
