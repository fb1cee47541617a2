/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define NULL_TEXT UINT64_MAX

static void put_bytes(struct sp_wire *wire, const void *data, size_t len)
{
	if (wire->bad || len > sizeof(wire->data) - wire->len) {
		wire->bad = true;
		return;
	}
	memcpy(wire->data + wire->len, data, len);
	wire->len += len;
}

void sp_wire_start(struct sp_wire *wire, enum sp_wire_type type)
{
	wire->len = 0;
	wire->at = 0;
	wire->bad = false;
	sp_wire_put(wire, type);
}

void sp_wire_put(struct sp_wire *wire, uint64_t number)
{
	put_bytes(wire, &number, sizeof(number));
}

void sp_wire_put_text(struct sp_wire *wire, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	sp_wire_put(wire, text ? len : NULL_TEXT);
	put_bytes(wire, text ? text : "", len);
}

int sp_wire_send(struct sp_wire *wire, int fd)
{
	if (wire->bad)
		return -EMSGSIZE;
	while (send(fd, wire->data, wire->len, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int sp_wire_recv(struct sp_wire *wire, int fd, int flags)
{
	ssize_t n;

	do
		n = recv(fd, wire->data, sizeof(wire->data), flags);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	wire->len = (size_t)n;
	wire->at = 0;
	wire->bad = false;
	return (int)sp_wire_get(wire);
}

uint64_t sp_wire_get(struct sp_wire *wire)
{
	uint64_t number;

	if (wire->bad || wire->len - wire->at < sizeof(number)) {
		wire->bad = true;
		return 0;
	}
	memcpy(&number, wire->data + wire->at, sizeof(number));
	wire->at += sizeof(number);
	return number;
}

char *sp_wire_get_text(struct sp_wire *wire)
{
	uint64_t len = sp_wire_get(wire);
	char *text;

	if (wire->bad || len == NULL_TEXT)
		return NULL;
	if (len > wire->len - wire->at) {
		wire->bad = true;
		return NULL;
	}
	text = strndup((char *)wire->data + wire->at, (size_t)len);
	wire->at += (size_t)len;
	return text;
}
