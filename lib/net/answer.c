#include "net/answer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/num.h"
#include "core/text.h"

void
answer_reset(struct http_answer *a)
{
	/* The large fields are texts: their first byte empties them. */
	a->status = 0;
	a->failure = HTTP_FINE;
	a->length = a->range_total = a->linked_size = HTTP_UNKNOWN;
	a->ranged = a->accepts_ranges = a->bad_range = false;
	a->range_from = a->range_to = a->got = 0;
	a->retry_after = HTTP_NO_WAIT;
	a->etag[0] = a->linked_etag[0] = a->last_modified[0] = a->repo_commit[0] = '\0';
	a->error_code[0] = a->error_message[0] = a->digest[0] = a->authenticate[0] = '\0';
	a->content_type[0] = a->upload[0] = a->range[0] = a->location[0] = a->next[0] = a->body[0] = '\0';
	a->body_bytes = 0;
}

/* ---- values ---- */

/* A header's value, without the spaces around it. */
struct value {
	const char *p;
	size_t n;
};

static void
copy(char *to, size_t size, struct value v)
{
	size_t i;

	to[0] = '\0';
	if (v.n >= size)
		return;
	for (i = 0; i < v.n; i++)
		if ((unsigned char)v.p[i] < ' ' || v.p[i] == 0x7f)
			return;
	memcpy(to, v.p, v.n);
	to[v.n] = '\0';
}

/* A whole value of digits. */
static bool
number(struct value v, uint64_t *n)
{
	char digits[24];

	if (v.n >= sizeof digits)
		return false;
	copy(digits, sizeof digits, v);
	return text_u64(digits, 0, UINT64_MAX - 1, n) == 0;
}

/* bytes FIRST-LAST/TOTAL, where TOTAL may be "*" */
static bool
content_range(const char *s, struct http_answer *a)
{
	uint64_t first, last, total = HTTP_UNKNOWN;

	if (strncasecmp(s, "bytes ", 6) != 0)
		return false;
	s += 6;
	if (text_digits(&s, &first) < 0 || *s++ != '-' || text_digits(&s, &last) < 0 ||
	    *s++ != '/' || last < first || num_add(last, 1, &last) < 0)
		return false;
	if (strcmp(s, "*") != 0 &&
	    (text_digits(&s, &total) < 0 || *s || last > total || total == HTTP_UNKNOWN))
		return false;
	a->range_from = first;
	a->range_to = last;
	a->range_total = total;
	return true;
}

/* "api";r=0;t=55: none left, and more in 55 seconds. */
static void
rate_limit(const char *s, struct http_answer *a)
{
	const char *r = strstr(s, ";r="), *t = strstr(s, ";t=");
	uint64_t left, wait;

	if (!r || !t)
		return;
	r += 3;
	t += 3;
	if (text_digits(&r, &left) == 0 && left == 0 && text_digits(&t, &wait) == 0 &&
	    wait < UINT32_MAX - 1 && a->retry_after == HTTP_NO_WAIT)
		a->retry_after = (uint32_t)wait + 1;
}

/* The next of a list: <ADDRESS>; rel="next", ... */
static void
links(const char *s, struct http_answer *a)
{
	while ((s = strchr(s, '<'))) {
		const char *end = strchr(s, '>'), *stop, *rel;

		if (!end)
			return;
		stop = strchr(end, '<');
		rel = strstr(end, "rel=\"next\"");
		rel = rel ? rel : strstr(end, "rel=next");
		if (rel && (!stop || rel < stop) && end - s > 1) {
			copy(a->next, sizeof a->next, (struct value){ s + 1, (size_t)(end - s - 1) });
			return;
		}
		s = end;
	}
}

/* ---- lines ---- */

/* Headers that are copied. */
static const struct {
	const char *name;
	size_t at, size;
} texts[] = {
#define TEXT_FIELD(name, field) \
	{ name, offsetof(struct http_answer, field), sizeof ((struct http_answer *)0)->field }
	TEXT_FIELD("etag", etag),
	TEXT_FIELD("x-linked-etag", linked_etag),
	TEXT_FIELD("last-modified", last_modified),
	TEXT_FIELD("x-repo-commit", repo_commit),
	TEXT_FIELD("x-error-code", error_code),
	TEXT_FIELD("x-error-message", error_message),
	TEXT_FIELD("docker-content-digest", digest),
	TEXT_FIELD("docker-upload-uuid", upload),
	TEXT_FIELD("range", range),
	TEXT_FIELD("www-authenticate", authenticate),
	TEXT_FIELD("content-type", content_type),
	TEXT_FIELD("location", location),
};

static void
header(struct http_answer *a, const char *name, struct value v)
{
	char text[URL_TEXT + 256];
	uint64_t n;
	size_t i;

	for (i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(name, texts[i].name) == 0)
			copy((char *)a + texts[i].at, texts[i].size, v);
	copy(text, sizeof text, v);
	if (strcmp(name, "content-length") == 0 && number(v, &n)) {
		a->length = n;
	} else if (strcmp(name, "x-linked-size") == 0 && number(v, &n)) {
		a->linked_size = n;
	} else if (strcmp(name, "retry-after") == 0 && number(v, &n)) {
		a->retry_after = n < UINT32_MAX - 1 ? (uint32_t)n : UINT32_MAX - 1;
	} else if (strcmp(name, "ratelimit") == 0) {
		rate_limit(text, a);
	} else if (strcmp(name, "accept-ranges") == 0) {
		a->accepts_ranges = strcasecmp(text, "bytes") == 0;
	} else if (strcmp(name, "link") == 0) {
		links(text, a);
	} else if (strcmp(name, "content-range") == 0) {
		a->ranged = a->status == 206 && content_range(text, a);
		a->bad_range = a->status == 206 && !a->ranged;
		a->accepts_ranges = a->accepts_ranges || a->ranged;
	}
}

static void
status_line(struct http_answer *a, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);
	size_t at = space ? (size_t)(space - line) + 1 : n;

	answer_reset(a);
	if (n >= at + 3 && isdigit((unsigned char)line[at]) && isdigit((unsigned char)line[at + 1]) &&
	    isdigit((unsigned char)line[at + 2]))
		a->status = (line[at] - '0') * 100 + (line[at + 1] - '0') * 10 + line[at + 2] - '0';
}

void
answer_line(struct http_answer *a, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	char name[40];
	size_t i, length;
	struct value v;

	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		status_line(a, line, n);
		return;
	}
	length = colon ? (size_t)(colon - line) : sizeof name;
	if (length >= sizeof name)
		return;
	for (i = 0; i < length; i++)
		name[i] = (char)tolower((unsigned char)line[i]);
	name[length] = '\0';
	v = (struct value){ colon + 1, n - length - 1 };
	while (v.n && (*v.p == ' ' || *v.p == '\t')) {
		v.p++;
		v.n--;
	}
	while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
		v.n--;
	header(a, name, v);
}

bool
answer_etag(char *dst, size_t size, const char *etag)
{
	size_t n, i;

	if (strncmp(etag, "W/", 2) == 0)
		etag += 2;
	n = strlen(etag);
	if (n >= 2 && etag[0] == '"' && etag[n - 1] == '"') {
		etag++;
		n -= 2;
	}
	if (n == 0 || n >= size)
		return false;
	for (i = 0; i < n; i++)
		if (etag[i] <= ' ' || etag[i] >= 0x7f || etag[i] == '"')
			return false;
	memcpy(dst, etag, n);
	dst[n] = '\0';
	return true;
}

bool
answer_etag_is_strong(const char *etag)
{
	size_t n = strlen(etag);

	return n > 2 && etag[0] == '"' && etag[n - 1] == '"';
}
