#include "net/url.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* ---- parsing ---- */

static int
refuse(struct err *e, const char *text, const char *fact)
{
	char shown[200];
	size_t n = strcspn(text, "?#");

	/* A user name and its password are not repeated either. */
	if (memchr(text, '@', n))
		n = strcspn(text, "/") + 2 < n ? strcspn(text, "/") + 2 : n;
	snprintf(shown, sizeof shown, "%.*s", (int)(n < 190 ? n : 190), text);
	return err_set(e, ERR_USAGE, shown, "%s", fact);
}

static bool
is_name(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(".-_", s[i]))
			return false;
	return n > 0 && s[0] != '-' && s[0] != '.';
}

/* "[" hexadecimal digits, ":" and "." "]" */
static bool
is_ipv6(const char *s, size_t n)
{
	size_t i;

	if (n < 4 || s[0] != '[' || s[n - 1] != ']')
		return false;
	for (i = 1; i + 1 < n; i++)
		if (!isxdigit((unsigned char)s[i]) && s[i] != ':' && s[i] != '.')
			return false;
	return memchr(s, ':', n) != NULL;
}

/* "127." and three more numbers. */
static bool
is_loopback(const char *host)
{
	uint64_t v;
	int i;

	if (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
		return true;
	if (strncmp(host, "127.", 4) != 0)
		return false;
	for (i = 0, host += 4; i < 3; i++) {
		if (text_digits(&host, &v) < 0 || v > 255 || *host != (i < 2 ? '.' : '\0'))
			return false;
		host += i < 2;
	}
	return true;
}

/* The n bytes HOST[:PORT] at s. Returns the fact if they are wrong. */
static const char *
take_host(struct url *u, const char *s, size_t n)
{
	const char *colon = s[0] == '[' ? memchr(s, ']', n) : memchr(s, ':', n);
	size_t host = colon ? (size_t)(colon - s) + (s[0] == '[') : n, i;
	uint64_t port = u->https ? 443 : 80;
	char digits[8] = "";

	if (memchr(s, '@', n))
		return "has a user name, which is not accepted in an address";
	if (host >= URL_HOST || host == 0)
		return host ? "has a host name that is too long" : "has no host";
	if (!is_name(s, host) && !is_ipv6(s, host))
		return "has a host name that is not valid";
	if (host < n) {
		if (s[host] != ':' || n - host - 1 > 5 || n - host < 2)
			return "has a port that is not valid";
		memcpy(digits, s + host + 1, n - host - 1);
		if (text_u64(digits, 1, 65535, &port) < 0)
			return "has a port that is not valid";
	}
	for (i = 0; i < host; i++)
		u->host[i] = (char)tolower((unsigned char)s[i]);
	u->host[host] = '\0';
	u->port = (uint16_t)port;
	u->loopback = is_loopback(u->host);
	return NULL;
}

/* Writes the normal form; rest is "/...", "?..." or "". */
static const char *
compose(struct url *u, const char *rest, size_t n)
{
	char port[8] = "", path[URL_TEXT];
	int head;

	if (n >= URL_TEXT)
		return "is too long";
	memcpy(path, rest, n);
	path[n] = '\0';
	if (u->port != (u->https ? 443 : 80))
		snprintf(port, sizeof port, ":%u", (unsigned)u->port);
	head = snprintf(u->text, sizeof u->text, "http%s://%s%s", u->https ? "s" : "", u->host,
	                port);
	u->path = (size_t)head;
	if (u->path + n + 2 > URL_TEXT)
		return "is too long";
	snprintf(u->text + head, sizeof u->text - u->path, "%s%s", *path == '/' ? "" : "/", path);
	return NULL;
}

static const char *
parse(struct url *u, const char *text)
{
	size_t i, n = strlen(text), host;
	const char *wrong;

	*u = (struct url){ .port = 0 };
	if (n >= URL_TEXT)
		return "is too long";
	for (i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f || text[i] == '\\')
			return "has characters that must be percent-encoded";
	u->https = strncasecmp(text, "https://", 8) == 0;
	if (!u->https && strncasecmp(text, "http://", 7) != 0)
		return "does not begin with https:// or http://";
	text += u->https ? 8 : 7;
	host = strcspn(text, "/?#");
	wrong = take_host(u, text, host);
	return wrong ? wrong : compose(u, text + host, strcspn(text + host, "#"));
}

int
url_parse(struct url *u, const char *text, struct err *e)
{
	const char *wrong = parse(u, text);

	return wrong ? refuse(e, text, wrong) : 0;
}

/* ---- redirects ---- */

bool
url_is_absolute(const char *location)
{
	size_t scheme = strspn(location, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                       "0123456789+.-");

	return strncmp(location, "//", 2) == 0 || (scheme && location[scheme] == ':');
}

int
url_join(struct url *to, const struct url *base, const char *location, struct err *e)
{
	char text[URL_TEXT];
	struct url made;
	const char *wrong;
	size_t n = strcspn(base->text + base->path, "?") + base->path;
	int length;

	if (strncmp(location, "//", 2) == 0) {
		length = snprintf(text, sizeof text, "http%s:%s", base->https ? "s" : "", location);
	} else if (url_is_absolute(location)) {
		length = snprintf(text, sizeof text, "%s", location);
	} else if (*location == '/') {
		length = snprintf(text, sizeof text, "%.*s%s", (int)base->path, base->text, location);
	} else {
		if (*location != '?')
			while (n > base->path && base->text[n - 1] != '/')
				n--;
		length = snprintf(text, sizeof text, "%.*s%s", (int)n, base->text, location);
	}
	wrong = length < 0 || (size_t)length >= sizeof text ? "is too long" : parse(&made, text);
	if (wrong)
		return err_set(e, ERR_CORRUPT, url_label(base).text,
		               "redirects to an address that %s", wrong);
	*to = made;
	return 0;
}

bool
url_same_origin(const struct url *a, const struct url *b)
{
	return a->https == b->https && a->port == b->port && strcmp(a->host, b->host) == 0;
}

struct url_label
url_label(const struct url *u)
{
	struct url_label label;
	size_t n = strcspn(u->text, "?");

	if (n < sizeof label.text)
		snprintf(label.text, sizeof label.text, "%.*s", (int)n, u->text);
	else
		snprintf(label.text, sizeof label.text, "%.*s...", (int)sizeof label.text - 4, u->text);
	return label;
}

int
url_move(struct url *u, const char *with, struct err *e)
{
	char text[URL_TEXT];
	struct url made;
	const char *wrong, *scheme = strstr(with, "://") ? "" : u->https ? "https://" : "http://";
	int n = snprintf(text, sizeof text, "%s%s", scheme, with);

	wrong = n < 0 || (size_t)n >= sizeof text ? "is too long" : parse(&made, text);
	if (!wrong && strlen(made.text) > made.path + 1)
		wrong = "has a path, where only a host and a port can stand";
	if (!wrong)
		wrong = compose(&made, u->text + u->path, strlen(u->text + u->path));
	if (wrong)
		return refuse(e, with, wrong);
	*u = made;
	return 0;
}

/* ---- percent-encoding ---- */

void
url_encode(struct buf *b, const char *s, const char *keep)
{
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || strchr("-._~", *s) || strchr(keep, *s))
			buf_u8(b, (uint8_t)*s);
		else
			buf_printf(b, "%%%02X", (unsigned)(uint8_t)*s);
}

static int
hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

int
url_decode(struct buf *b, const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		int high, low;

		if (s[i] != '%') {
			buf_u8(b, (uint8_t)s[i]);
			continue;
		}
		high = i + 2 < n ? hex(s[i + 1]) : -1;
		low = i + 2 < n ? hex(s[i + 2]) : -1;
		if (high < 0 || low < 0 || high + low == 0)
			return -1;
		buf_u8(b, (uint8_t)(high << 4 | low));
		i += 2;
	}
	return 0;
}
