/* SPDX-License-Identifier: MIT */
/* Keys are compared exactly, and are nothing but text. */
#include <stdlib.h>
#include <string.h>

#include <suites/store/cases.h>
#include <suites/store/scene.h>

#define N_KEYS_MAX 64

/* Each key holds a record of its own; deleting them one by one leaves the rest. */
static void keys_apart(struct sp_case *t, const char *const *keys, size_t n)
{
	struct sp_store *store = sp_case_store(t);
	struct sp_record records[N_KEYS_MAX];

	for (size_t i = 0; i < n; i++) {
		records[i] = store_version(t, keys[i], (unsigned)i + 1);
		SP_REQUIRE(store_lacks(t, store, keys[i]));
		SP_REQUIRE(store_put(t, store, &records[i]));
	}
	for (size_t i = 0; i < n; i++)
		SP_REQUIRE(store_holds(t, store, &records[i]));
	for (size_t i = 0; i < n; i++) {
		SP_REQUIRE(store_delete(t, store, keys[i]));
		SP_REQUIRE(store_lacks(t, store, keys[i]));
		for (size_t k = i + 1; k < n; k++)
			SP_REQUIRE(store_holds(t, store, &records[k]));
	}
}

/* The same text around each of the parts. */
static void parts_apart(struct sp_case *t, const char *const *parts, size_t n)
{
	const char *unique = sp_case_unique(t);
	const char *keys[N_KEYS_MAX];

	for (size_t i = 0; i < n; i++)
		keys[i] = sp_case_format(t, "%s%s", unique, parts[i]);
	keys_apart(t, keys, n);
}

void store_key_look_alikes(struct sp_case *t)
{
	static const char *const parts[] = {
	    "a_b",	"a:b",		"a/b", "A_B",	       "a b",	   "ab",	"a-b",
	    "a.b",	"ab ",		" ab", "ab\n",	       "ab\t",	   "a\xcc\x81", "\xc3\xa1",
	    "@",	"_40",		"%40", "ss",	       "\xc3\x9f", "i",		"\xc4\xb0",
	    "\xc4\xb1", "\xef\xac\x80", "ff",  "\xe2\x84\xaa", "k",	   "K",		"1",
	    "01",	"1.0",		"+1",  "\xef\xbb\xbf", "",
	};

	parts_apart(t, parts, SP_COUNT(parts));
}

void store_key_hostile(struct sp_case *t)
{
	static const char *const parts[] = {
	    "/",	 "..",		"/..",	       "/../..", "/.",	      "//",
	    "\\",	 "CON",		"%2f",	       "%00",	 "'",	      "\"",
	    "`",	 "';--",	"' OR '1'='1", "\\'",	 "%",	      "_",
	    "*",	 "?",		"[a]",	       "$1",	 "$(id)",     ";",
	    "&",	 "|",		"\n",	       "\r\n",	 "\x01",      "\xf0\x9f\xa6\x80",
	    "__proto__", "constructor", "toString",    "null",	 "undefined", "~",
	    "-",	 "#",		"<x>",	       "{}",
	};

	parts_apart(t, parts, SP_COUNT(parts));
}

/*
 * Whether a key that anybody may use is free; a record there is left alone, whoever's it is.
 * Answers false after a recorded failure or skip.
 */
static bool is_free(struct sp_case *t, const char *key)
{
	struct sp_record got STORE_RECORD = SP_RECORD_INIT;
	struct sp_error err = SP_ERROR_INIT;
	bool found = false;
	int rc = sp_store_get(sp_case_store(t), key, &got, &found, sp_case_cancel(t), &err);

	if (!SP_CHECK_OK(t, rc, &err, "get of the key \"%s\"", key))
		return false;
	if (found)
		sp_skip(t,
			"needs a store without a record of the key \"%s\": it holds one, which may "
			"be somebody's",
			key);
	return !found;
}

/* Keys that are nothing else have no unique text around them. */
void store_key_bare(struct sp_case *t)
{
	static const char *const keys[] = {"/",	     "..",	".", " ",    "%",
					   "_",	     "*",	"0", "null", "__proto__",
					   "/tmp/x", "../../x", "-", "'",    "\n"};

	for (size_t i = 0; i < SP_COUNT(keys); i++)
		SP_REQUIRE(is_free(t, keys[i]));
	keys_apart(t, keys, SP_COUNT(keys));
}

void store_key_patterns(struct sp_case *t)
{
	static const char *const patterns[] = {"%", "_", "*", "?", ".*", "[", "%%"};
	const char *unique = sp_case_unique(t);
	struct sp_record record = store_record(t, sp_case_format(t, "%sx", unique));

	SP_REQUIRE(store_keeps(t, sp_case_store(t), &record));
	for (size_t i = 0; i < SP_COUNT(patterns); i++) {
		const char *key = sp_case_format(t, "%s%s", unique, patterns[i]);

		SP_REQUIRE(store_lacks(t, sp_case_store(t), key));
		SP_REQUIRE(store_delete(t, sp_case_store(t), key));
		SP_REQUIRE(store_holds(t, sp_case_store(t), &record));
	}
}

void store_key_long(struct sp_case *t)
{
	static const size_t lengths[] = {63, 64, 255, 256, 300, SP_KEY_TAKEN};
	const char *keys[2 * SP_COUNT(lengths)];
	char *fill SP_FREE = malloc(SP_KEY_TAKEN + 1);
	const char *unique = sp_case_unique(t);

	if (!fill)
		return;
	memset(fill, 'k', SP_KEY_TAKEN);
	fill[SP_KEY_TAKEN] = '\0';
	/* Two of each length that differ in the last byte alone. */
	for (size_t i = 0; i < SP_COUNT(lengths); i++)
		for (size_t k = 0; k < 2; k++)
			keys[2 * i + k] = sp_case_format(t, "%s%.*s%c", unique,
							 (int)(lengths[i] - strlen(unique) - 1),
							 fill, k ? 'x' : 'y');
	keys_apart(t, keys, SP_COUNT(keys));
}

void store_key_hash(struct sp_case *t)
{
	/*
	 * Pairs with equal 32-bit FNV-1a, equal CRC-32 and equal Java hash: these work from left to
	 * right, so that what is equal stays equal whatever follows.
	 */
	static const char *const parts[] = {"costarring", "liquid", "plumless",
					    "buckeroo",	  "AaAa",   "BBBB"};
	const char *unique = sp_case_unique(t);
	const char *keys[SP_COUNT(parts)];

	for (size_t i = 0; i < SP_COUNT(parts); i++)
		keys[i] = sp_case_format(t, "%s%s", parts[i], unique);
	keys_apart(t, keys, SP_COUNT(keys));
}
