/* SPDX-License-Identifier: MIT */
/* The pool of idle handles: what keeps connections alive between calls and across threads. */
#include "internal.h"

#include <stdlib.h>

static struct http_slot *slot_new(void)
{
	struct http_slot *slot = malloc(sizeof(*slot));

	if (!slot)
		return NULL;
	slot->next = NULL;
	slot->multi = curl_multi_init();
	slot->easy = curl_easy_init();
	if (!slot->multi || !slot->easy) {
		http_slot_free(slot);
		return NULL;
	}
	curl_multi_setopt(slot->multi, CURLMOPT_MAXCONNECTS, 4L);
	return slot;
}

void http_slot_free(struct http_slot *slot)
{
	if (slot->easy)
		curl_easy_cleanup(slot->easy);
	if (slot->multi)
		curl_multi_cleanup(slot->multi);
	free(slot);
}

struct http_slot *http_slot_take(struct http_transport *transport)
{
	struct http_slot *slot;

	pthread_mutex_lock(&transport->lock);
	slot = transport->idle;
	if (slot) {
		transport->idle = slot->next;
		transport->n_idle--;
	}
	pthread_mutex_unlock(&transport->lock);
	return slot ? slot : slot_new();
}

void http_slot_put(struct http_transport *transport, struct http_slot *slot)
{
	/* Forgets the request, its bearer included; the connections stay with the multi. */
	curl_easy_reset(slot->easy);
	pthread_mutex_lock(&transport->lock);
	if (transport->n_idle < HTTP_IDLE_SLOTS) {
		slot->next = transport->idle;
		transport->idle = slot;
		transport->n_idle++;
		slot = NULL;
	}
	pthread_mutex_unlock(&transport->lock);
	if (slot)
		http_slot_free(slot);
}
