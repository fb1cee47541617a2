/* SPDX-License-Identifier: MIT */
#include <witness/twopath.h>

static uint32_t crc_byte(uint32_t crc, unsigned char byte)
{
	crc ^= (uint32_t)byte << 24;
	for (int bit = 0; bit < 8; bit++)
		crc = crc & 0x80000000u ? crc << 1 ^ 0x04c11db7u : crc << 1;
	return crc;
}

uint32_t sp_cksum(const void *data, size_t len)
{
	const unsigned char *bytes = data;
	uint32_t crc = 0;

	for (size_t i = 0; i < len; i++)
		crc = crc_byte(crc, bytes[i]);
	for (size_t n = len; n; n >>= 8)
		crc = crc_byte(crc, n & 0xff);
	return ~crc;
}

static bool check(struct sp_case *t, const char *found, const void *data, size_t len,
		  struct sp_where where, const char *what)
{
	const char *expected;

	if (!found)
		return false;
	expected = sp_case_format(t, "crc %u length %zu", sp_cksum(data, len), len);
	return sp_check_str(t, expected, found, where, "%s", what);
}

bool sp_twopath_check_file(struct sp_case *t, struct sp_sandbox *sandbox, const char *path,
			   const void *data, size_t len, struct sp_where where, const char *what)
{
	const char *found = sp_sh_out(t, sandbox, "set -- $(cksum <%s) && echo crc $1 length $2",
				      path);

	return check(t, found, data, len, where, what);
}

bool sp_twopath_check_output(struct sp_case *t, struct sp_sandbox *sandbox, const char *command,
			     const void *data, size_t len, struct sp_where where, const char *what)
{
	const char *found = sp_sh_out(
		t, sandbox, "set -- $( { %s\n } | cksum) && echo crc $1 length $2", command);

	return check(t, found, data, len, where, what);
}
