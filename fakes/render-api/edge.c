/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/edge.h>

#include <string.h>

/*
 * A download that follows another command on the same line; JSON spells a new line "\n", which ends
 * the line for the edge as well.
 */
static bool has_chained_download(const char *body, size_t len)
{
	const char *end = body + len;
	const char *at = body;

	while ((at = memchr(at, ';', (size_t)(end - at)))) {
		at++;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if (end - at >= 5 && (!memcmp(at, "curl ", 5) || !memcmp(at, "wget ", 5)))
			return true;
	}
	return false;
}

bool edge_refuses(const struct request *request)
{
	static const char *const literals[] = { "/etc/passwd", "/etc/hosts", "/etc/shadow" };
	const char *body = sp_buf_str(&request->body);
	size_t len = request->body.len;

	if (!request->route || request->route->plane == PLANE_ADMIN ||
	    !api_fault_on(request->workspace->faults, API_FAULT_EDGE_403))
		return false;
	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++)
		if (memmem(body, len, literals[i], strlen(literals[i])))
			return true;
	return has_chained_download(body, len);
}
