#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "net/web.h"

#define PROGRESS (64u << 10) /* bytes since the last failure that make it a new beginning */

/* A body that several requests bring. */
struct body {
	const struct http_request *q; /* the caller's */
	struct http_answer *a;
	uint64_t got;      /* bytes that data was given */
	uint64_t total;    /* of the file, or HTTP_UNKNOWN */
	char etag[256];    /* strong one of the first answer, or "" */
	bool begun;
};

double
http_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- waiting ---- */

/* At most a quarter of wait, by chance, so that many clients do not come back together. */
static uint64_t
jitter(uint64_t wait)
{
	uint32_t dice = 0;

	if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != sizeof dice)
		return 0;
	return wait / 4 * dice / UINT32_MAX;
}

static void
nap(uint64_t ms, const atomic_bool *stop)
{
	double end = http_clock() + (double)ms / 1000;

	while (!(stop && atomic_load(stop)) && http_clock() < end) {
		struct timespec t = { .tv_nsec = 20000000 };
		double left = end - http_clock();

		if (left < 0.02)
			t.tv_nsec = left > 0 ? (long)(left * 1e9) : 0;
		nanosleep(&t, NULL);
	}
}

static bool
is_busy(int status)
{
	switch (status) {
	case 408:
	case 429:
	case 500:
	case 502:
	case 503:
	case 504:
		return true;
	default:
		return false;
	}
}

/* Waits before another try. -1 if the server wants more time than anybody has. */
static int
pause_before(const struct web *w, unsigned tried, const struct http_request *q,
             const struct http_answer *a, const char *why)
{
	uint64_t wait = (uint64_t)w->o.wait << (tried < 4 ? tried - 1 : 3);
	char text[640];

	wait += jitter(wait);
	if (is_busy(a->status) && a->retry_after != HTTP_NO_WAIT) {
		if (a->retry_after > HTTP_WAIT_MAX)
			return -1;
		wait = wait > a->retry_after * UINT64_C(1000) ? wait : a->retry_after * UINT64_C(1000);
		if (a->retry_after == 0)
			wait = 0;
	}
	snprintf(text, sizeof text, "%s: %.200s; try %u of %u in %.1f s", url_label(&a->final).text,
	         why, tried + 1, w->o.tries, (double)wait / 1000);
	if (w->o.note && !(q->stop && atomic_load(q->stop)))
		w->o.note(text);
	nap(wait, q->stop);
	return 0;
}

/* ---- one body from several requests ---- */

static int
restart(struct body *b, struct err *e)
{
	const struct http_request *q = b->q;

	if (b->got && !q->again)
		return err_set(e, ERR_NETWORK, url_label(&b->a->final).text,
		               "broke off and cannot be continued");
	if (b->got && q->again(q->ctx, e) < 0)
		return -1;
	b->got = 0;
	b->begun = false;
	return 0;
}

static int
take_head(void *ctx, const struct http_answer *a, struct err *e)
{
	struct body *b = ctx;
	uint64_t total = a->ranged ? a->range_total
	                 : b->q->from == 0 && a->status == 200 ? a->length : HTTP_UNKNOWN;

	/* A whole body in answer to a request for its rest is the beginning again. */
	if (b->got && !a->ranged && restart(b, e) < 0)
		return -1;
	if (b->begun && b->total != HTTP_UNKNOWN && total != HTTP_UNKNOWN && total != b->total) {
		b->a->failure = HTTP_CHANGED;
		return err_set(e, ERR_NETWORK, url_label(&a->final).text,
		               "the file has changed meanwhile");
	}
	if (b->begun)
		return 0;
	b->begun = true;
	b->total = total;
	snprintf(b->etag, sizeof b->etag, "%s", answer_etag_is_strong(a->etag) ? a->etag : "");
	return b->q->head ? b->q->head(b->q->ctx, a, e) : 0;
}

static int
take_data(void *ctx, const void *p, size_t n, struct err *e)
{
	struct body *b = ctx;

	b->got += n;
	return b->q->data ? b->q->data(b->q->ctx, p, n, e) : 0;
}

/* The request for what is missing of the body. */
static struct http_request
rest_of(struct body *b)
{
	struct http_request q = *b->q;

	q.from = b->q->from + b->got;
	if (q.limit)
		q.limit = b->q->limit - b->got;
	if (b->got)
		q.if_range = b->q->if_range ? b->q->if_range : *b->etag ? b->etag : NULL;
	q.head = take_head;
	q.data = take_data;
	q.again = NULL;
	q.ctx = b;
	return q;
}

/* Whether a 2xx answer has left bytes of the range out. */
static bool
is_short(const struct body *b)
{
	const struct http_request *q = b->q;

	return q->to && b->got < q->to - q->from && (!q->method || strcmp(q->method, "GET") == 0);
}

/* One try: 0 if the body is complete or the answer final; 1 to try again; -1. */
static int
try(struct http *h, struct body *b, struct err *e)
{
	struct http_request q = rest_of(b);
	struct http_answer *a = b->a;

	if (http_once(h, &q, a, e) < 0) {
		if (b->got && (a->failure == HTTP_NO_RANGES || a->failure == HTTP_CHANGED) &&
		    b->q->again && b->q->from == 0) {
			*e = (struct err)ERR_INIT;
			return restart(b, e) < 0 ? -1 : 1;
		}
		return a->failure == HTTP_TEMPORARY ? 1 : -1;
	}
	if (is_busy(a->status)) {
		err_set(e, ERR_NETWORK, url_label(&a->final).text, "the server answers %d", a->status);
		return 1;
	}
	if (a->status < 200 || a->status > 299)
		return http_refused(a, b->q->url, e);
	if (!is_short(b))
		return 0;
	err_set(e, ERR_NETWORK, url_label(&a->final).text,
	        "the connection broke off");
	return 1;
}

int
http_get(struct http *h, const struct http_request *q, struct http_answer *a, struct err *e)
{
	struct body b = { .q = q, .a = a, .total = HTTP_UNKNOWN };
	const struct web *w = h->web;
	uint64_t before = 0;
	unsigned tried = 0;
	int r;

	for (;;) {
		struct err why = ERR_INIT;

		r = try(h, &b, &why);
		a->got = b.got;
		if (r <= 0 || (q->stop && atomic_load(q->stop))) {
			if (r)
				*e = e->code == ERR_NONE ? why : *e;
			return r ? -1 : 0;
		}
		tried = b.got >= before && b.got - before >= PROGRESS ? 1 : tried + 1;
		before = b.got;
		if (why.code == ERR_NONE)
			why = (struct err){ .code = ERR_NETWORK, .fact = "the file has changed meanwhile" };
		if (tried >= w->o.tries) {
			a->failure = HTTP_TEMPORARY;
			return err_set(e, why.code, why.object, "%s, after %u tries", why.fact, tried);
		}
		if (pause_before(w, tried, q, a, why.fact) < 0)
			return err_set(e, ERR_NETWORK, why.object, "%s, and asks to wait %u seconds", why.fact,
			               (unsigned)a->retry_after);
	}
}

int
http_refused(const struct http_answer *a, const char *url, struct err *e)
{
	struct url u;
	struct url_label name = { "" };

	if (url_parse(&u, url, &(struct err)ERR_INIT) == 0)
		name = url_label(&u);
	switch (a->status) {
	case 401:
	case 403:
	case 407:
	case 451:
		return err_set(e, ERR_ACCESS, name.text, "the server refuses access (%d)%s%s", a->status,
		               *a->error_message ? ": " : "", a->error_message);
	case 404:
	case 410:
		err_set(e, ERR_IO, name.text, "does not exist on the server (%d)", a->status);
		e->missing = 1;
		return -1;
	default:
		return err_set(e, ERR_NETWORK, name.text, "the server answers %d%s%s", a->status,
		               *a->error_message ? ": " : "", a->error_message);
	}
}

/* ---- into memory ---- */

static int
put_bytes(void *ctx, const void *p, size_t n, struct err *e)
{
	struct buf *b = ctx;

	buf_put(b, p, n);
	return buf_ok(b) ? 0 : err_memory(e);
}

static int
forget_bytes(void *ctx, struct err *e)
{
	(void)e;
	buf_clear(ctx);
	return 0;
}

int
http_bytes(struct http *h, const struct http_request *q, struct buf *b,
           struct http_answer *a, struct err *e)
{
	struct http_request all = *q;

	buf_clear(b);
	all.head = NULL;
	all.data = put_bytes;
	all.again = forget_bytes;
	all.ctx = b;
	return http_get(h, &all, a, e);
}

int
http_facts(struct http *h, const char *url, const char *authorization,
           struct http_answer *a, struct err *e)
{
	static const char *const plain[] = { "Accept-Encoding: identity" };
	struct http_request q = { .method = "HEAD", .url = url, .authorization = authorization,
		.headers = plain, .header_count = 1 };
	struct err why = ERR_INIT;

	if (http_get(h, &q, a, &why) == 0)
		return 0;
	if (a->status != 400 && a->status != 403 && a->status != 405 && a->status != 501) {
		*e = e->code == ERR_NONE ? why : *e;
		return -1;
	}
	q.method = NULL;
	q.to = 1;
	if (http_get(h, &q, a, e) < 0)
		return -1;
	if (a->ranged)
		a->length = a->range_total;
	return 0;
}
