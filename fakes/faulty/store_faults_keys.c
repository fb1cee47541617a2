/* SPDX-License-Identifier: MIT */
/* Faults of keys: two become one, or one cannot be had. */
#include "store_faults.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void folds_case_key(const char *key, char *out, size_t size)
{
	size_t i = 0;

	for (; key[i] && i + 1 < size; i++)
		out[i] = (char)((unsigned char)key[i] < 0x80 ? tolower(key[i]) : key[i]);
	out[i] = '\0';
}
STORE_KEY_FAULT(folds_case)

/* key.replace(/[^a-z0-9]/gi, '_') */
static void sanitizes_key(const char *key, char *out, size_t size)
{
	size_t i = 0;

	for (; key[i] && i + 1 < size; i++)
		out[i] = isalnum((unsigned char)key[i]) ? key[i] : '_';
	out[i] = '\0';
}
STORE_KEY_FAULT(sanitizes)

static void trims_key(const char *key, char *out, size_t size)
{
	size_t len;

	key += strspn(key, " \t\n");
	len = strlen(key);
	while (len && strchr(" \t\n", key[len - 1]))
		len--;
	/* Nothing is left of a blank: it gets a name. */
	snprintf(out, size, "%.*s", (int)len, len ? key : "_");
	if (!len)
		snprintf(out, size, "_");
}
STORE_KEY_FAULT(trims)

/* "a" with a combining acute becomes one letter, as in NFC. */
static void normalizes_key(const char *key, char *out, size_t size)
{
	const char *at = strstr(key, "a\xcc\x81");

	if (at)
		snprintf(out, size, "%.*s\xc3\xa1%s", (int)(at - key), key, at + 3);
	else
		snprintf(out, size, "%s", key);
}
STORE_KEY_FAULT(normalizes)

static void cuts_key(const char *key, char *out, size_t size)
{
	(void)size;
	snprintf(out, 200, "%s", key);
}
STORE_KEY_FAULT(cuts)

/* 32-bit FNV-1a. */
static void hashes_key(const char *key, char *out, size_t size)
{
	uint32_t hash = UINT32_C(0x811c9dc5);

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * UINT32_C(0x01000193);
	snprintf(out, size, "%08x", hash);
}
STORE_KEY_FAULT(hashes)

STORE_PUT(refuses_slash_put)
{
	if (record->key && strchr(record->key, '/'))
		return sp_error_set(err, SP_IO, "no such file or directory");
	return sp_store_upsert(&store->inner, record, fence, cancel, err);
}

static const struct fault_store_hooks refuses_slash = {.upsert = refuses_slash_put};
FAULT_WRAP_STORE(wrap_refuses_slash, refuses_slash)

/* WHERE key LIKE $1: a trailing percent sign finds a record that goes on. */
STORE_GET(is_pattern_get)
{
	size_t len = strlen(key);
	char other[SP_KEY_TAKEN + 1];
	int rc = sp_store_get(&store->inner, key, ret_record, ret_found, cancel, err);

	if (rc || *ret_found || !len || !strchr("%_", key[len - 1]))
		return rc;
	snprintf(other, sizeof(other), "%.*sx", (int)len - 1, key);
	return sp_store_get(&store->inner, other, ret_record, ret_found, cancel, err);
}

static const struct fault_store_hooks is_pattern = {.get = is_pattern_get};
FAULT_WRAP_STORE(wrap_is_pattern, is_pattern)

static const struct sp_fault faults[] = {
    STORE_FAULT("store-folds-case", folds_case, "S4", "Keys are compared without case.",
		FAULT_LIST("field:T05"), FAULT_LIST("store.key.look-alikes")),
    STORE_FAULT("store-sanitizes-keys", sanitizes, "S4",
		"Every byte of a key that is no letter or digit becomes an underscore.",
		FAULT_LIST("field:T05"),
		FAULT_LIST("store.key.look-alikes", "store.key.hostile", "store.key.bare")),
    STORE_FAULT("store-trims-keys", trims, "S4", "Blanks at the ends of keys are dropped.",
		FAULT_LIST("field:T05"), FAULT_LIST("store.key.look-alikes")),
    STORE_FAULT("store-normalizes-keys", normalizes, "S4",
		"Keys are normalised to composed characters.", FAULT_LIST("field:T05"),
		FAULT_LIST("store.key.look-alikes")),
    STORE_FAULT("store-cuts-keys", cuts, "S4", "Keys are cut at 199 bytes.",
		FAULT_LIST("field:T05"), FAULT_LIST("store.key.long", "store.input.long-key")),
    STORE_FAULT("store-hashes-keys", hashes, "S4", "A 32-bit hash stands for the key.",
		FAULT_LIST("field:T05", "contract:C190"), FAULT_LIST("store.key.hash")),
    STORE_FAULT("store-refuses-slash", refuses_slash, "S4",
		"A key with a slash is a path whose folder does not exist.",
		FAULT_LIST("field:T06"), FAULT_LIST("store.key.hostile", "store.key.bare")),
    STORE_FAULT("store-key-is-pattern", is_pattern, "S4",
		"get() takes pattern characters of a key as patterns.", FAULT_LIST("field:T07"),
		FAULT_LIST("store.key.patterns")),
};

FAULT_TABLE(fault_store_keys, faults);
