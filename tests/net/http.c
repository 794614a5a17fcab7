#include "server.h"

#include <ctype.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
text_add(struct text *t, const void *bytes, size_t n)
{
	t->at = realloc(t->at, t->n + n + 1);
	if (t->at == NULL)
		abort();
	if (n > 0)
		memcpy(t->at + t->n, bytes, n);
	t->n += n;
	t->at[t->n] = '\0';
}

static void
text_vprint(struct text *t, const char *format, va_list args)
{
	char *made = NULL;
	int n = vasprintf(&made, format, args);

	if (n < 0)
		abort();
	text_add(t, made, (size_t)n);
	free(made);
}

void
text_print(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_vprint(t, format, args);
	va_end(args);
}

void
text_free(struct text *t)
{
	free(t->at);
	*t = (struct text){ 0 };
}

bool
conn_write(struct conn *c, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0 && !c->broken) {
		ssize_t k = c->ssl != NULL ? SSL_write(c->ssl, at, (int)n) : write(c->fd, at, n);

		if (k <= 0) {
			c->broken = true;
			break;
		}
		at += k;
		n -= (size_t)k;
	}
	return !c->broken;
}

static ssize_t
conn_read(struct conn *c, void *to, size_t n)
{
	return c->ssl != NULL ? SSL_read(c->ssl, to, (int)n) : read(c->fd, to, n);
}

void
conn_wait(struct conn *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	while (poll(&p, 1, -1) < 0)
		;
	c->broken = true;
}

/* Reads until the empty line after the headers; returns its end in c->ahead, or 0. */
static size_t
head_read(struct conn *c)
{
	for (;;) {
		char *end = memmem(c->ahead, c->n, "\r\n\r\n", 4);
		ssize_t k;

		if (end != NULL)
			return (size_t)(end - c->ahead) + 4;
		if (c->n == sizeof(c->ahead))
			return 0;
		k = conn_read(c, c->ahead + c->n, sizeof(c->ahead) - c->n);
		if (k <= 0)
			return 0;
		c->n += (size_t)k;
	}
}

/* Moves n bytes of the body into "to". */
static bool
body_take(struct conn *c, struct text *to, uint64_t n)
{
	while (n > 0) {
		size_t k = c->n < n ? c->n : (size_t)n;
		ssize_t got;

		text_add(to, c->ahead, k);
		memmove(c->ahead, c->ahead + k, c->n - k);
		c->n -= k;
		n -= k;
		if (n == 0)
			break;
		got = conn_read(c, c->ahead, sizeof(c->ahead));
		if (got <= 0)
			return false;
		c->n = (size_t)got;
	}
	return true;
}

/* One line of a chunked body, without its end. */
static bool
line_take(struct conn *c, struct text *line)
{
	line->n = 0;
	do {
		if (!body_take(c, line, 1))
			return false;
	} while (line->n < 2 || memcmp(line->at + line->n - 2, "\r\n", 2) != 0);
	line->n -= 2;
	line->at[line->n] = '\0';
	return true;
}

static bool
chunks_take(struct conn *c, struct text *to)
{
	struct text line = { 0 };
	bool ok = false;

	while (line_take(c, &line)) {
		uint64_t n = strtoull(line.at, NULL, 16);

		if (!body_take(c, to, n) || !line_take(c, &line))
			break;
		if (n == 0) {
			ok = true;
			break;
		}
	}
	text_free(&line);
	return ok;
}

const char *
request_header(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->headers; i++)
		if (strcasecmp(r->header[i].name, name) == 0)
			return r->header[i].value;
	return NULL;
}

static bool
body_read(struct conn *c, struct request *r)
{
	const char *length = request_header(r, "content-length");
	const char *coding = request_header(r, "transfer-encoding");
	const char *expect = request_header(r, "expect");
	bool chunks = coding != NULL && strcasecmp(coding, "chunked") == 0;

	if (length == NULL && !chunks)
		return true;
	if (expect != NULL && strcasecmp(expect, "100-continue") == 0)
		conn_write(c, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	return chunks ? chunks_take(c, &r->body) : body_take(c, &r->body, strtoull(length, NULL, 10));
}

void
decode(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		unsigned byte;

		if (*text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]) &&
				sscanf(text + 1, "%2x", &byte) == 1 && byte != 0) {
			*to++ = (char)byte;
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

void
encode(struct text *to, const char *text, const char *safe)
{
	for (; *text != '\0'; text++) {
		if (isalnum((unsigned char)*text) || strchr(safe, *text) != NULL)
			text_add(to, text, 1);
		else
			text_print(to, "%%%02X", (unsigned char)*text);
	}
}

/* Splits the head, which ends with an empty line, into its parts. */
static bool
head_split(struct request *r)
{
	char *save = NULL, *line = strtok_r(r->head, "\r\n", &save), *mark;

	if (line == NULL)
		return false;
	r->method = line;
	mark = strchr(line, ' ');
	if (mark == NULL)
		return false;
	*mark = '\0';
	r->target = mark + 1;
	mark = strchr(r->target, ' ');
	if (mark == NULL)
		return false;
	*mark = '\0';
	while ((line = strtok_r(NULL, "\r\n", &save)) != NULL && r->headers < LIMIT_HEADERS) {
		mark = strchr(line, ':');
		if (mark == NULL)
			continue;
		*mark++ = '\0';
		mark += strspn(mark, " \t");
		r->header[r->headers].name = line;
		r->header[r->headers++].value = mark;
	}
	r->path = strndup(r->target, strcspn(r->target, "?"));
	r->query = strchr(r->target, '?') != NULL ? strchr(r->target, '?') + 1 : "";
	decode(r->path);
	return true;
}

bool
request_read(struct conn *c, struct request *r)
{
	size_t n = head_read(c);

	if (n == 0)
		return false;
	r->head = strndup(c->ahead, n);
	memmove(c->ahead, c->ahead + n, c->n - n);
	c->n -= n;
	return head_split(r) && body_read(c, r);
}

void
request_free(struct request *r)
{
	free(r->head);
	free(r->path);
	text_free(&r->body);
}

char *
request_query(const struct request *r, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = r->query; *at != '\0';) {
		size_t length = strcspn(at, "&");

		if (length > n && strncmp(at, name, n) == 0 && at[n] == '=') {
			char *value = strndup(at + n + 1, length - n - 1);

			decode(value);
			return value;
		}
		at += length + (at[length] == '&');
	}
	return NULL;
}

void
base_url(const struct conn *c, bool cdn, struct text *to)
{
	text_print(to, "%s://%s:%d", c->ssl != NULL ? "https" : "http",
			cdn ? server.cdn_host : "127.0.0.1",
			server.port[(c->ssl != NULL ? 2 : 0) + (cdn ? 1 : 0)]);
}

void
answer_header(struct answer *a, const char *name, const char *format, ...)
{
	va_list args;

	text_print(&a->headers, "%s: ", name);
	va_start(args, format);
	text_vprint(&a->headers, format, args);
	va_end(args);
	text_print(&a->headers, "\r\n");
}

void
answer_text(struct answer *a, int status, const char *format, ...)
{
	va_list args;

	a->status = status;
	va_start(args, format);
	text_vprint(&a->body, format, args);
	va_end(args);
}

void
answer_error(struct answer *a, int status, const char *code, const char *format, ...)
{
	struct text message = { 0 };
	va_list args;

	va_start(args, format);
	text_vprint(&message, format, args);
	va_end(args);
	if (code != NULL)
		answer_header(a, "X-Error-Code", "%s", code);
	answer_header(a, "X-Error-Message", "%s", message.at);
	answer_text(a, status, "%s", message.at);
	text_free(&message);
}
