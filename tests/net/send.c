/* Sends answers: ranges, and what the faults make of them. */
#include "server.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The bytes that are sent: from begin to end of a body of "size" bytes. */
struct part {
	uint64_t begin, end, size;
};

static const char *
reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = { { 200, "OK" }, { 201, "Created" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 206, "Partial Content" }, { 302, "Found" }, { 307, "Temporary Redirect" },
		{ 401, "Unauthorized" }, { 403, "Forbidden" }, { 404, "Not Found" },
		{ 416, "Range Not Satisfiable" }, { 429, "Too Many Requests" },
		{ 503, "Service Unavailable" } };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Something";
}

/* Appends the request, its headers and the status to the log, as one write. */
static void
log_write(const struct conn *c, const struct request *r, int status)
{
	struct text line = { 0 };
	char path[4096];
	int fd;

	text_print(&line, "%s%s %s %s %d\n", c->cdn ? "cdn" : "hub", c->ssl != NULL ? "s" : "",
			r->method, r->target, status);
	for (size_t i = 0; i < r->headers; i++)
		text_print(&line, "\t%s: %s\n", r->header[i].name, r->header[i].value);
	snprintf(path, sizeof(path), "%s/log", server.root);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, line.at, line.n) != (ssize_t)line.n)
		perror("server: log");
	if (fd >= 0)
		close(fd);
	text_free(&line);
}

/* Reads one range: "bytes=A-B", "bytes=A-" or "bytes=-N". Returns 206, 416, or 200 if it is
 * to be ignored. */
static int
range_read(const char *value, struct part *p)
{
	uint64_t first, last;
	char *end;

	if (strncmp(value, "bytes=", 6) != 0 || strchr(value, ',') != NULL)
		return 200;
	value += 6;
	if (*value == '-') {
		last = strtoull(value + 1, NULL, 10);
		if (last == 0)
			return 416;
		p->begin = last < p->size ? p->size - last : 0;
		return 206;
	}
	first = strtoull(value, &end, 10);
	if (end == value || *end != '-')
		return 200;
	last = end[1] != '\0' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
	if (first >= p->size || last < first)
		return 416;
	p->begin = first;
	p->end = last < p->size ? last + 1 : p->size;
	return 206;
}

/* A range holds only for the file that the client knows. */
static bool
range_valid(const struct request *r, const struct answer *a)
{
	const char *known = request_header(r, "if-range");
	size_t n = strlen(a->etag);

	return known == NULL || (strlen(known) == n + 2 && known[0] == '"' &&
		memcmp(known + 1, a->etag, n) == 0 && known[n + 1] == '"');
}

static void
range_apply(const struct request *r, struct answer *a, const struct fault *f, struct part *p)
{
	const char *range = request_header(r, "range");
	bool asked = a->status == 200 && a->ranges && range != NULL;

	if (a->status == 200 && f->needrange && range == NULL && strcmp(r->method, "GET") == 0) {
		a->body.n = 0;
		answer_text(a, 400, "Bad Request");
		if (a->fd >= 0)
			close(a->fd);
		a->fd = -1;
		*p = (struct part){ 0, a->body.n, a->body.n };
		return;
	}
	if (a->ranges && !f->noranges)
		answer_header(a, "Accept-Ranges", "bytes");
	if (!asked || f->noranges || !range_valid(r, a))
		return;
	a->status = range_read(range, p);
	if (a->status == 206)
		answer_header(a, "Content-Range", "bytes %llu-%llu/%llu",
				(unsigned long long)p->begin + f->badrange,
				(unsigned long long)p->end - 1 + f->badrange, (unsigned long long)p->size);
	if (a->status != 416)
		return;
	answer_header(a, "Content-Range", "bytes */%llu", (unsigned long long)p->size);
	p->begin = p->end = 0;
}

static void
answer_replace(struct answer *a, int status)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->body.n = 0;
	a->ranges = false;
	a->etag[0] = '\0';
	answer_text(a, status, "%s", reason(status));
}

/* What a fault puts in the place of the answer. */
static void
fault_replace(const struct conn *c, const struct request *r, struct answer *a, const struct fault *f)
{
	static unsigned turn;

	if (f->status != 0)
		answer_replace(a, f->status);
	if (f->body != NULL) {
		answer_replace(a, f->status != 0 ? f->status : 200);
		if (!answer_file(a, f->body))
			answer_text(a, 500, "no file %s", f->body);
	}
	if (f->location != NULL || f->loop) {
		text_free(&a->headers);
		answer_replace(a, f->status != 0 ? f->status : 302);
	}
	if (f->location != NULL)
		answer_header(a, "Location", "%s", f->location);
	if (f->loop) {
		struct text to = { 0 };

		base_url(c, c->cdn, &to);
		encode(&to, r->path, "/-_.~");
		answer_header(a, "Location", "%s?turn=%u", to.at, __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED));
		text_free(&to);
	}
	if (f->etag != NULL)
		snprintf(a->etag, sizeof(a->etag), "%s", f->etag);
	if (f->headers.n > 0)
		text_add(&a->headers, f->headers.at, f->headers.n);
}

static bool
chunk_write(struct conn *c, const void *bytes, size_t n, bool chunked)
{
	char size[32];

	if (!chunked)
		return conn_write(c, bytes, n);
	snprintf(size, sizeof(size), "%zx\r\n", n);
	return conn_write(c, size, strlen(size)) && conn_write(c, bytes, n) && conn_write(c, "\r\n", 2);
}

/* Reads bytes of the body at an offset; those after its end are zeros. */
static size_t
body_at(const struct answer *a, const struct part *p, uint64_t at, char *to, size_t n)
{
	ssize_t k;

	memset(to, 0, n);
	if (at >= p->size)
		return n;
	if (n > p->size - at)
		n = (size_t)(p->size - at);
	if (a->fd < 0) {
		memcpy(to, a->body.at + at, n);
		return n;
	}
	k = pread(a->fd, to, n, (off_t)at);
	return k > 0 ? (size_t)k : 0;
}

/* The offset where a fault stops the body. */
static uint64_t
stop_of(const struct fault *f, const struct part *p)
{
	uint64_t stop = f->cut >= p->begin ? f->cut : UINT64_MAX;

	if (f->short_at != UINT64_MAX && p->begin + f->short_at < stop)
		stop = p->begin + f->short_at;
	if (f->stall != UINT64_MAX && p->begin + f->stall < stop)
		stop = p->begin + f->stall;
	return stop;
}

static void
body_send(struct conn *c, const struct request *r, const struct answer *a, const struct fault *f,
		const struct part *p)
{
	uint64_t end = f->endless ? UINT64_MAX : p->end, stop = stop_of(f, p), at = p->begin;
	bool chunked = f->chunked || f->endless;
	size_t room = 262144;
	char *piece = malloc(room);

	while (at < end && at < stop && !c->broken) {
		uint64_t left = (stop < end ? stop : end) - at;
		size_t n = body_at(a, p, at, piece, left < room ? (size_t)left : room);

		if (n == 0)
			c->broken = true;
		if (f->flip >= at && f->flip - at < n)
			piece[f->flip - at] ^= 1;
		if (n > 0 && chunk_write(c, piece, n, chunked))
			count_bytes(r->path, n);
		at += n;
	}
	free(piece);
	if (!c->broken && at == stop && f->stall != UINT64_MAX) {
		count_stall();
		conn_wait(c);
	} else if (at == stop && stop < UINT64_MAX) {
		c->broken = true;
	} else if (chunked) {
		conn_write(c, "0\r\n\r\n", 5);
	}
}

static void
headers_endless(struct conn *c)
{
	char line[256];
	unsigned n = 0;

	do {
		snprintf(line, sizeof(line), "X-More-%u: %0200u\r\n", n, n);
		n++;
	} while (conn_write(c, line, strlen(line)));
}

static void
head_send(struct conn *c, struct answer *a, const struct fault *f, const struct part *p)
{
	struct text head = { 0 };
	uint64_t length = f->length != UINT64_MAX ? f->length : p->end - p->begin;

	text_print(&head, "HTTP/1.1 %d %s\r\n", a->status, reason(a->status));
	if (a->etag[0] != '\0')
		text_print(&head, "ETag: \"%s\"\r\n", a->etag);
	if (a->headers.n > 0)
		text_add(&head, a->headers.at, a->headers.n);
	if (f->chunked || f->endless)
		text_print(&head, "Transfer-Encoding: chunked\r\n");
	else if (a->status != 204)
		text_print(&head, "Content-Length: %llu\r\n", (unsigned long long)length);
	if (f->length != UINT64_MAX)
		text_print(&head, "Connection: close\r\n");
	if (!f->endless_headers)
		text_print(&head, "\r\n");
	conn_write(c, head.at, head.n);
	text_free(&head);
	if (f->endless_headers)
		headers_endless(c);
}

void
answer_send(struct conn *c, const struct request *r, struct answer *a, const struct fault *f)
{
	struct part p;

	fault_replace(c, r, a, f);
	p.size = a->fd >= 0 ? a->size : a->body.n;
	p.begin = 0;
	p.end = p.size;
	range_apply(r, a, f, &p);
	log_write(c, r, f->reset ? 0 : a->status);
	count_request(r->path);
	if (f->reset) {
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
		c->broken = true;
		return;
	}
	head_send(c, a, f, &p);
	if (strcmp(r->method, "HEAD") != 0 && a->status != 204 && !c->broken)
		body_send(c, r, a, f, &p);
	if (f->length != UINT64_MAX)
		c->broken = true;
}
