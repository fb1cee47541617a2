/* SPDX-License-Identifier: MIT */
#include <redact/redact.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <base/cleanup.h>
#include <redact/forms.h>

/* A shorter text would erase ordinary words. */
#define SHORTEST_SECRET 6
#define REPLACEMENT "[redacted]"

/* One of the secrets that a pair of bytes can begin; lists end with 0. */
struct start {
	uint32_t secret, next;
};

struct sp_redact {
	pthread_mutex_t lock;
	struct redact_secret *secrets;
	size_t n_secrets;
	/*
	 * For each pair of bytes the first of `starts`, or 0. A run knows hundreds of secrets, and
	 * texts of a MiB are redacted: looking for each at every byte took seconds.
	 */
	uint32_t heads[65536];
	struct start *starts;
	size_t n_starts;
};

struct sp_redact *sp_redact_new(void)
{
	struct sp_redact *redact = calloc(1, sizeof(*redact));

	if (redact)
		pthread_mutex_init(&redact->lock, NULL);
	return redact;
}

struct sp_redact *sp_redact_free(struct sp_redact *redact)
{
	if (!redact)
		return NULL;
	for (size_t i = 0; i < redact->n_secrets; i++) {
		void *bytes = (void *)redact->secrets[i].bytes;

		explicit_bzero(bytes, redact->secrets[i].len);
		free(bytes);
	}
	free(redact->secrets);
	free(redact->starts);
	pthread_mutex_destroy(&redact->lock);
	free(redact);
	return NULL;
}

static bool is_known(const struct sp_redact *redact, const char *secret, size_t len)
{
	for (size_t i = 0; i < redact->n_secrets; i++)
		if (redact->secrets[i].len == len &&
		    !memcmp(redact->secrets[i].bytes, secret, len))
			return true;
	return false;
}

/* Enters the secret under each pair that begins one of its forms. */
static int add_starts(struct sp_redact *redact, uint32_t secret)
{
	unsigned char pairs[REDACT_PAIRS] = { 0 };
	struct start *grown;
	size_t n = redact->n_starts ? redact->n_starts : 1;

	redact_pairs(&redact->secrets[secret], pairs);
	for (size_t i = 0; i < REDACT_PAIRS; i++)
		n += (size_t)__builtin_popcount(pairs[i]);
	grown = reallocarray(redact->starts, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	redact->starts = grown;
	/* The first is nobody's, so that 0 ends a list. */
	if (!redact->n_starts)
		redact->n_starts = 1;
	for (uint32_t pair = 0; pair < 65536; pair++) {
		if (!(pairs[pair >> 3] >> (pair & 7) & 1))
			continue;
		grown[redact->n_starts] = (struct start){ secret, redact->heads[pair] };
		redact->heads[pair] = (uint32_t)redact->n_starts++;
	}
	return 0;
}

static int add_locked(struct sp_redact *redact, const char *secret, size_t len)
{
	struct redact_secret *grown;
	char *copy SP_FREE = NULL;

	if (is_known(redact, secret, len))
		return 0;
	copy = strdup(secret);
	grown = reallocarray(redact->secrets, redact->n_secrets + 1, sizeof(*grown));
	if (grown)
		redact->secrets = grown;
	if (!copy || !grown)
		return -ENOMEM;
	grown[redact->n_secrets].bytes = (unsigned char *)SP_TAKE(copy);
	grown[redact->n_secrets].len = len;
	return add_starts(redact, (uint32_t)redact->n_secrets++);
}

int sp_redact_add(struct sp_redact *redact, const char *secret)
{
	size_t len = secret ? strlen(secret) : 0;
	int rc;

	if (len < SHORTEST_SECRET)
		return 0;
	pthread_mutex_lock(&redact->lock);
	rc = add_locked(redact, secret, len);
	pthread_mutex_unlock(&redact->lock);
	return rc;
}

/* Longest form of any secret that starts here. */
static size_t match_any(const struct sp_redact *redact, const unsigned char *text, size_t len)
{
	size_t longest = 0;
	uint32_t at;

	/* No form of a secret is a single byte. */
	if (len < 2)
		return 0;
	at = redact->heads[(unsigned)text[0] << 8 | text[1]];
	for (; at; at = redact->starts[at].next) {
		const struct redact_secret *secret = &redact->secrets[redact->starts[at].secret];
		size_t n = redact_match(secret, text, len, NULL);

		if (n > longest)
			longest = n;
	}
	return longest;
}

int sp_redact_head(struct sp_redact *redact, const char *text, size_t len, size_t most,
		   struct sp_buf *out, size_t *ret_seen)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t kept = 0, at = 0, begin = out->len;

	pthread_mutex_lock(&redact->lock);
	while (at < len && !out->error && out->len - begin + (at - kept) < most) {
		size_t n = match_any(redact, bytes + at, len - at);

		if (!n) {
			at++;
			continue;
		}
		sp_buf_add(out, text + kept, at - kept);
		sp_buf_adds(out, REPLACEMENT);
		kept = at += n;
	}
	pthread_mutex_unlock(&redact->lock);
	*ret_seen = at;
	return sp_buf_add(out, text + kept, at - kept);
}

int sp_redact_text(struct sp_redact *redact, const char *text, size_t len, struct sp_buf *out)
{
	size_t seen;

	return sp_redact_head(redact, text, len, SIZE_MAX, out, &seen);
}

const char *sp_redact_find(const char *secret, const void *data, size_t len)
{
	struct redact_secret wanted = { (const unsigned char *)secret, strlen(secret) };
	const unsigned char *bytes = data;
	bool starts[256] = { false };

	if (!wanted.len)
		return NULL;
	redact_starts(&wanted, starts);
	for (size_t at = 0; at < len; at++) {
		const char *form = NULL;

		if (starts[bytes[at]] && redact_match(&wanted, bytes + at, len - at, &form))
			return form;
	}
	return NULL;
}
