/* url: addresses of the web, as text that can be compared.
 *
 *     http[s]://HOST[:PORT][/PATH][?QUERY]
 *
 * An address is at most URL_TEXT - 1 bytes of printable ASCII. These are refused, because
 * programs read them in different ways: a user name in the address, a backslash, spaces and
 * control characters, a host that is not letters, digits, ".", "-" and "_" (or an IPv6
 * address in brackets), another scheme. A fragment is dropped.
 *
 * Source: RFC 3986.
 */
#ifndef NET_URL_H
#define NET_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define URL_TEXT 8192
#define URL_HOST 254

struct url {
	char text[URL_TEXT];  /* normal form: lower-case scheme and host, no default port */
	char host[URL_HOST];  /* lower case; an IPv6 address has its brackets */
	uint16_t port;
	bool https;
	bool loopback;        /* localhost, 127.0.0.0/8, [::1] */
	size_t path;          /* offset in text: "/..." with the query */
};

/* Parses an address. ERR_USAGE that names it, without its query, which may be secret. */
int url_parse(struct url *u, const char *text, struct err *e);

/* The target of a redirect: an address, "//HOST/...", "/PATH" or a path relative to base.
 * ERR_CORRUPT. to and base may be the same. */
int url_join(struct url *to, const struct url *base, const char *location, struct err *e);

/* Whether a Location names a host: an address or "//HOST/...". */
bool url_is_absolute(const char *location);

/* Same scheme, host and port. Credentials are only sent to the origin they are meant for. */
bool url_same_origin(const struct url *a, const struct url *b);

/* The address without its query, for messages: signed addresses hold secrets there. */
struct url_label {
	char text[256];
};
struct url_label url_label(const struct url *u);

/* Replaces scheme, host and port by those of `with`, as "HOST[:PORT]" or
 * "http[s]://HOST[:PORT]". ERR_USAGE. */
int url_move(struct url *u, const char *with, struct err *e);

/* Appends s percent-encoded; letters, digits, "-._~" and the characters of keep stay. */
void url_encode(struct buf *b, const char *s, const char *keep);

/* Appends the n bytes of s with %XX decoded. -1 for a malformed %XX or a NUL. */
int url_decode(struct buf *b, const char *s, size_t n);

#endif
