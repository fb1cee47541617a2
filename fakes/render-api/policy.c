/* SPDX-License-Identifier: MIT */
#include <fakes/render-api/policy.h>

#include <stdlib.h>
#include <string.h>

#include <base/json.h>

#define DOMAINS_MAX 100
#define DOMAIN_LEN_MAX 253

/* Letters, digits, hyphens and dots; a wildcard only as the leftmost label. */
static bool is_domain(const char *text)
{
	if (!strncmp(text, "*.", 2))
		text += 2;
	if (!*text || strlen(text) > DOMAIN_LEN_MAX || strstr(text, "..") || *text == '.' ||
	    text[strlen(text) - 1] == '.')
		return false;
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
	       strlen(text);
}

void policy_free(struct sandbox_wish *wish)
{
	for (size_t i = 0; i < wish->n_domains; i++)
		free(wish->domains[i]);
	free(wish->domains);
	wish->domains = NULL;
	wish->n_domains = 0;
}

static bool read_domains(const cJSON *domains, struct sandbox_wish *wish)
{
	int n = cJSON_GetArraySize(domains);
	const cJSON *item;

	if (!cJSON_IsArray(domains) || !n || n > DOMAINS_MAX)
		return false;
	wish->domains = calloc((size_t)n, sizeof(*wish->domains));
	if (!wish->domains)
		return false;
	cJSON_ArrayForEach (item, domains) {
		if (!cJSON_IsString(item) || !is_domain(item->valuestring))
			return false;
		wish->domains[wish->n_domains] = strdup(item->valuestring);
		if (!wish->domains[wish->n_domains])
			return false;
		wish->n_domains++;
	}
	return true;
}

bool policy_read(enum fake_era era, const cJSON *policy, struct sandbox_wish *wish,
		 const char **ret_why)
{
	static const char *const names[] = { "allow-all", "deny-all", "allow-list" };
	const char *name = policy ? sp_json_str(policy, "default") : "allow-all";
	const cJSON *domains = cJSON_GetObjectItemCaseSensitive(policy, "allowedDomains");
	size_t known = era == FAKE_ERA_A ? 2 : 3;

	wish->network = NULL;
	for (size_t i = 0; name && i < known; i++)
		if (!strcmp(names[i], name))
			wish->network = names[i];
	*ret_why = "invalid networkPolicy.default";
	if (!wish->network)
		return false;
	*ret_why = "allowedDomains is required with allow-list and only there";
	if (!strcmp(wish->network, "allow-list") != (domains != NULL))
		return false;
	*ret_why = "invalid allowedDomains";
	if (domains && !read_domains(domains, wish)) {
		policy_free(wish);
		return false;
	}
	return true;
}
