#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/web.h"

/* ---- maps of hosts ---- */

int
web_map_check(const char *map, struct err *e)
{
	const char *equals = strchr(map, '=');
	char old[URL_HOST + 16];
	struct url u = { .text = "https://h/", .path = 9, .https = true };
	int n;

	if (!equals || equals == map || !equals[1])
		return err_set(e, ERR_USAGE, map, "is not of the form OLD=NEW");
	n = snprintf(old, sizeof old, "https://%.*s", (int)(equals - map), map);
	if (n < 0 || (size_t)n >= sizeof old || url_parse(&u, old, e) < 0)
		return err_set(e, ERR_USAGE, map, "has a host name that is too long");
	return url_move(&u, equals + 1, e);
}

/* Whether the host of u is the n bytes HOST or HOST:PORT at old. */
static bool
is_host(const struct url *u, const char *old, size_t n)
{
	char full[URL_HOST + 8];

	snprintf(full, sizeof full, "%s:%u", u->host, (unsigned)u->port);
	return (strlen(u->host) == n && strncasecmp(u->host, old, n) == 0) ||
	       (strlen(full) == n && strncasecmp(full, old, n) == 0);
}

static int
apply_maps(const struct web_options *o, struct url *u, struct err *e)
{
	size_t i;

	for (i = 0; i < o->map_count; i++) {
		const char *equals = strchr(o->maps[i], '=');

		if (is_host(u, o->maps[i], (size_t)(equals - o->maps[i])))
			return url_move(u, equals + 1, e);
	}
	return 0;
}

/* ---- redirects ---- */

static bool
is_redirect(const struct http_request *q, const struct http_answer *a)
{
	bool reads = !q->method || strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;

	switch (a->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308:
		return reads && *a->location && !q->stop_redirect &&
		       !(q->stop_absolute && url_is_absolute(a->location));
	default:
		return false;
	}
}

static int
allow(const struct web_options *o, const struct url *u, struct err *e)
{
	if (u->https || u->loopback || o->insecure_http)
		return 0;
	err_set(e, ERR_USAGE, url_label(u).text,
	        "is not encrypted: whoever is on the way could read and change it");
	return err_hint(e, "use https, or allow it with --insecure-http");
}

static int
follow(const struct web_options *o, struct url *to, const struct http_answer *a,
       struct err *e)
{
	struct url from = *to;
	struct url_label name = url_label(&from);

	if (url_join(to, &from, a->location, e) < 0 || apply_maps(o, to, e) < 0)
		return -1;
	if (from.https && !to->https)
		return err_set(e, ERR_NETWORK, name.text,
		               "redirects from https to http, which is refused");
	if (!to->https && !to->loopback && !o->insecure_http)
		return err_set(e, ERR_NETWORK, name.text,
		               "redirects to an address that is not encrypted");
	return 0;
}

/* Text of a header line: no line breaks, which would begin another header. */
static bool
is_line(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static int
check_lines(const struct http_request *q, struct err *e)
{
	size_t i;

	for (i = 0; i < q->header_count; i++)
		if (!is_line(q->headers[i]))
			return err_set(e, ERR_USAGE, NULL, "a header has control characters");
	if (!is_line(q->authorization) || (q->authorization && strlen(q->authorization) > 4000))
		return err_set(e, ERR_ACCESS, NULL,
		               "the token is too long or has control characters");
	return is_line(q->if_range) ? 0
	                            : err_set(e, ERR_CORRUPT, NULL, "the ETag has control characters");
}

int
http_once(struct http *h, const struct http_request *q, struct http_answer *a, struct err *e)
{
	const struct web_options *o = &h->web->o;
	struct url first, to;
	unsigned hops;

	answer_reset(a);
	a->failure = HTTP_FINAL;
	if (check_lines(q, e) < 0 || url_parse(&first, q->url, e) < 0)
		return -1;
	to = first;
	if (apply_maps(o, &to, e) < 0 || allow(o, &to, e) < 0)
		return -1;
	for (hops = 0; hops <= HTTP_REDIRECTS; hops++) {
		bool trusted = url_same_origin(&first, &to) && (to.https || to.loopback);

		if (http_perform(h, q, &to, hops == 0, trusted, a, e) < 0)
			return -1;
		if (!is_redirect(q, a))
			return 0;
		if (follow(o, &to, a, e) < 0) {
			a->failure = HTTP_FINAL;
			return -1;
		}
	}
	a->failure = HTTP_FINAL;
	return err_set(e, ERR_NETWORK, url_label(&first).text, "has more than %d redirects",
	               HTTP_REDIRECTS);
}
