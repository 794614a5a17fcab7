#include "hub/fetch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/num.h"

#define WORKERS 64
#define BLOCK (256u << 10) /* hashed at once */
#define HELD_LEAST (UINT64_C(256) << 10) /* bytes in the buffers of a connection */
#define HELD_MOST (UINT64_C(4) << 20)    /* from here on the system chooses */

struct run {
	struct download *d;
	struct partial *p;
	struct web *web;
	struct content_hash *hash;
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* of what follows, up to the next comment */
	size_t next;            /* first piece that no worker has taken */
	bool ranges;            /* the server serves ranges */
	bool whole;             /* it serves whole files only */
	struct err e;           /* the first error */
	char direct[URL_TEXT];  /* where the redirects lead, or "" */
	atomic_bool stop;       /* the download has failed */
	_Atomic uint64_t awaited; /* offset that the hash waits for, or 0 */
};

/* ---- hashes ---- */

void
content_hash_start(struct content_hash *h, enum download_kind kind, uint64_t size)
{
	char head[40];
	int n = snprintf(head, sizeof head, "blob %llu", (unsigned long long)size);

	*h = (struct content_hash){ .git = kind == DOWNLOAD_GIT };
	sha256_start(&h->sha256);
	if (!h->git)
		return;
	sha1_start(&h->sha1);
	sha1_add(&h->sha1, head, (size_t)n + 1);
}

void
content_hash_add(struct content_hash *h, const void *p, size_t n)
{
	sha256_add(&h->sha256, p, n);
	if (h->git)
		sha1_add(&h->sha1, p, n);
}

int
content_hash_finish(struct content_hash *h, char sha256[65], char git[65], struct err *e)
{
	uint8_t sha1[SHA1_BYTES];
	struct digest d;
	size_t i;
	int r = sha256_finish(&h->sha256, &d, e);

	git[0] = '\0';
	if (h->git && sha1_finish(&h->sha1, sha1, e) < 0)
		r = -1;
	if (r < 0)
		return -1;
	digest_text(sha256, &d);
	for (i = 0; h->git && i < SHA1_BYTES; i++)
		snprintf(git + 2 * i, 3, "%02x", sha1[i]);
	return 0;
}

void
content_hash_abandon(struct content_hash *h)
{
	sha256_abandon(&h->sha256);
	if (h->git)
		sha1_abandon(&h->sha1);
}

/* ---- the thread that hashes ---- */

/* Ends all threads; the first error counts. */
static void
fail(struct run *r, const struct err *e)
{
	pthread_mutex_lock(&r->mutex);
	if (r->e.code == ERR_NONE)
		r->e = *e;
	atomic_store(&r->stop, true);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
}

/* The offset after the bytes that have arrived from `at` on, within at's piece. */
static uint64_t
arrived(const struct run *r, uint64_t at)
{
	size_t i = (size_t)(at / r->p->piece);

	return partial_from(r->p, i) + atomic_load(&r->p->have[i]);
}

/* Waits for a block from `at` on. Returns its end; 0 if the download has failed. */
static uint64_t
await_block(struct run *r, uint64_t at)
{
	size_t i = (size_t)(at / r->p->piece);
	uint64_t end = partial_from(r->p, i) + partial_length(r->p, i);
	uint64_t wanted = num_min(end, at + BLOCK);

	if (arrived(r, at) < wanted) {
		pthread_mutex_lock(&r->mutex);
		atomic_store(&r->awaited, wanted);
		while (arrived(r, at) < wanted && !atomic_load(&r->stop))
			pthread_cond_wait(&r->changed, &r->mutex);
		atomic_store(&r->awaited, 0);
		pthread_mutex_unlock(&r->mutex);
	}
	return atomic_load(&r->stop) ? 0 : wanted;
}

static void *
hash_all(void *of)
{
	struct run *r = of;
	uint8_t *block = malloc(BLOCK);
	uint64_t at = 0, end;
	struct err e = ERR_INIT;

	if (!block)
		err_memory(&e);
	while (e.code == ERR_NONE && at < r->p->size && (end = await_block(r, at))) {
		ssize_t n = pread(r->p->fd, block, (size_t)(end - at), (off_t)at);

		if (n <= 0)
			err_errno(&e, r->d->label, "the incomplete file cannot be read");
		else
			content_hash_add(r->hash, block, (size_t)n);
		at += n > 0 ? (uint64_t)n : 0;
	}
	if (e.code != ERR_NONE)
		fail(r, &e);
	free(block);
	return NULL;
}

/* ---- the threads that fetch ---- */

/* A piece on its way. */
struct work {
	struct run *r;
	size_t i;
};

static void
count(struct download *d, uint64_t n)
{
	if (d->progress)
		atomic_fetch_add(d->progress, n);
}

static int
take_bytes(void *ctx, const void *p, size_t n, struct err *e)
{
	struct work *w = ctx;
	struct run *r = w->r;
	uint64_t awaited, end;

	if (partial_put(r->p, w->i, p, n) < 0)
		return err_errno(e, r->d->label, "cannot be written");
	count(r->d, n);
	watch_arrived(r->d->watch, r->p, w->i);
	end = partial_from(r->p, w->i) + atomic_load(&r->p->have[w->i]);
	awaited = atomic_load(&r->awaited);
	if (awaited && end >= awaited && awaited > partial_from(r->p, w->i)) {
		pthread_mutex_lock(&r->mutex);
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->mutex);
	}
	return 0;
}

/* The first answer says whether the server serves ranges. */
static int
take_head(void *ctx, const struct http_answer *a, struct err *e)
{
	struct work *w = ctx;
	struct run *r = w->r;
	struct download *d = r->d;
	uint64_t total = a->ranged ? a->range_total : a->length;
	bool all = r->p->count == 1 && atomic_load(&r->p->have[0]) == 0;
	struct url asked;

	if (total != HTTP_UNKNOWN && total != r->p->size) {
		d->failure = HTTP_CHANGED;
		return err_set(e, ERR_CHECKSUM, d->label, "has %llu bytes on the server, not %llu",
		               (unsigned long long)total, (unsigned long long)r->p->size);
	}
	if (*d->etag && *a->etag && strcmp(d->etag, a->etag) != 0) {
		d->failure = HTTP_CHANGED;
		return err_set(e, ERR_NETWORK, d->label, "has changed meanwhile");
	}
	pthread_mutex_lock(&r->mutex);
	r->ranges = r->ranges || a->ranged;
	r->whole = r->whole || (!a->ranged && !all);
	if (url_parse(&asked, d->url, &(struct err)ERR_INIT) == 0 &&
	    !url_same_origin(&asked, &a->final))
		snprintf(r->direct, sizeof r->direct, "%s", a->final.text);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->mutex);
	return a->ranged || all ? 0 : err_set(e, ERR_NETWORK, d->label, "comes in one piece only");
}

/* Whether a signed address may have expired, so that the first address gives a new one. */
static bool
may_have_expired(const struct http_answer *a)
{
	return a->status == 400 || a->status == 401 || a->status == 403 || a->status == 404 ||
	       a->status == 410;
}

/* The bytes that a connection may hold: lost with a process that is killed, they are to be little
 * of a file. */
static uint64_t
held_of(const struct partial *p)
{
	uint64_t n = p->size / 800;

	return n >= HELD_MOST ? 0 : n < HELD_LEAST ? HELD_LEAST : n;
}

static int
fetch_piece(struct run *r, struct http *h, size_t i, struct http_answer *a, struct err *e)
{
	struct work w = { r, i };
	struct download *d = r->d;
	uint64_t from = partial_from(r->p, i), length = partial_length(r->p, i);
	char direct[URL_TEXT];
	struct http_request q = { .headers = d->headers, .header_count = d->header_count,
		.from = from + atomic_load(&r->p->have[i]),
		.to = from + (d->head ? num_min(d->head, length) : length),
		.if_range = *d->etag ? d->etag : NULL, .stop = &r->stop, .head = take_head,
		.held = held_of(r->p), .data = take_bytes, .ctx = &w };
	struct err why = ERR_INIT;
	int n;

	pthread_mutex_lock(&r->mutex);
	memcpy(direct, r->direct, strlen(r->direct) + 1);
	pthread_mutex_unlock(&r->mutex);
	q.url = *direct ? direct : d->url;
	q.authorization = *direct ? NULL : d->authorization;
	n = http_get(h, &q, a, &why);
	if (n < 0 && *direct && may_have_expired(a)) {
		pthread_mutex_lock(&r->mutex);
		r->direct[0] = '\0';
		pthread_mutex_unlock(&r->mutex);
		q.url = d->url;
		q.authorization = d->authorization;
		q.from = from + atomic_load(&r->p->have[i]);
		why = (struct err)ERR_INIT;
		n = http_get(h, &q, a, &why);
	}
	if (partial_save(r->p, i) < 0 && n == 0)
		n = err_errno(&why, d->label, "cannot be written");
	if (n < 0)
		*e = why;
	return n;
}

/* The next piece that lacks bytes, or count. The first one goes alone until the server has shown
 * that it serves ranges. */
static size_t
next_piece(struct run *r)
{
	const struct partial *p = r->p;
	size_t i;

	pthread_mutex_lock(&r->mutex);
	while (r->next > 0 && !r->ranges && !atomic_load(&r->stop))
		pthread_cond_wait(&r->changed, &r->mutex);
	while (r->next < p->count &&
	       atomic_load(&p->have[r->next]) == partial_length(p, r->next))
		r->next++;
	i = atomic_load(&r->stop) ? p->count : r->next;
	r->next += r->next < p->count;
	pthread_mutex_unlock(&r->mutex);
	return i;
}

static void *
fetch_some(void *of)
{
	struct run *r = of;
	struct err e = ERR_INIT;
	struct http *h = http_open(r->web, &e);
	struct http_answer *a = malloc(sizeof *a);
	size_t i;

	if (h && !a)
		err_memory(&e);
	while (e.code == ERR_NONE && (i = next_piece(r)) < r->p->count) {
		answer_reset(a);
		if (fetch_piece(r, h, i, a, &e) < 0 && !atomic_load(&r->stop)) {
			pthread_mutex_lock(&r->mutex);
			r->d->status = a->status;
			if (r->d->failure == HTTP_FINE)
				r->d->failure = a->failure ? a->failure : HTTP_FINAL;
			r->whole = r->whole || a->failure == HTTP_NO_RANGES;
			pthread_mutex_unlock(&r->mutex);
		}
	}
	if (e.code != ERR_NONE)
		fail(r, &e);
	http_close(h);
	free(a);
	return NULL;
}

/* ---- all threads ---- */

static size_t
missing(const struct partial *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->count; i++)
		n += atomic_load(&p->have[i]) < partial_length(p, i);
	return n;
}

static int
run(struct run *r, struct err *e)
{
	pthread_t worker[WORKERS], hasher;
	size_t n = missing(r->p), i, started = 0;
	size_t jobs = r->d->jobs < WORKERS ? r->d->jobs : WORKERS;
	bool hashes = pthread_create(&hasher, NULL, hash_all, r) == 0;

	n = jobs < n ? jobs : n;
	for (i = 0; hashes && i < n; i++)
		started += pthread_create(&worker[started], NULL, fetch_some, r) == 0;
	if (hashes && n && !started)
		fetch_some(r);
	for (i = 0; i < started; i++)
		pthread_join(worker[i], NULL);
	if (hashes)
		pthread_join(hasher, NULL);
	if (!hashes)
		return err_set(e, ERR_MEMORY, r->d->label, "a thread cannot be started");
	if (r->e.code != ERR_NONE)
		*e = r->e;
	return r->e.code == ERR_NONE ? 0 : -1;
}

/* A server without ranges: the whole file from its beginning. */
static int
take_whole(void *ctx, const void *bytes, size_t n, struct err *e)
{
	struct work *w = ctx;
	struct partial *p = w->r->p;
	const uint8_t *from = bytes;

	content_hash_add(w->r->hash, bytes, n);
	while (n > 0) {
		size_t some = (size_t)num_min(n, partial_length(p, w->i) - p->have[w->i]);

		if (partial_put(p, w->i, from, some) < 0)
			return err_errno(e, w->r->d->label, "cannot be written");
		count(w->r->d, some);
		watch_arrived(w->r->d->watch, p, w->i);
		from += some;
		n -= some;
		w->i += p->have[w->i] == partial_length(p, w->i);
	}
	return 0;
}

static int
begin_whole(void *ctx, struct err *e)
{
	struct work *w = ctx;
	struct run *r = w->r;

	count(r->d, 0 - partial_bytes(r->p));
	w->i = 0;
	watch_void(r->d->watch);
	content_hash_abandon(r->hash);
	content_hash_start(r->hash, r->d->kind, r->p->size);
	return partial_clear(r->p) < 0 ? err_errno(e, r->d->label, "cannot be written") : 0;
}

static int
fetch_whole(struct run *r, struct err *e)
{
	struct download *d = r->d;
	struct http *h = http_open(r->web, e);
	struct http_answer *a = malloc(sizeof *a);
	struct work w = { r, 0 };
	struct http_request q = { .url = d->url, .authorization = d->authorization,
		.headers = d->headers, .header_count = d->header_count, .to = r->p->size,
		.data = take_whole, .again = begin_whole, .ctx = &w };
	int n = -1;

	d->failure = HTTP_FINE;
	if (h && !a)
		err_memory(e);
	else if (h && begin_whole(&w, e) == 0)
		n = http_get(h, &q, a, e);
	if (n < 0 && a && h)
		d->failure = a->failure ? a->failure : HTTP_FINAL;
	http_close(h);
	free(a);
	return n;
}

static struct run *
new_run(struct download *d, struct partial *p, struct web *web, struct content_hash *h,
        struct err *e)
{
	struct run *r = calloc(1, sizeof *r);

	if (!r) {
		err_memory(e);
		return NULL;
	}
	r->d = d;
	r->p = p;
	r->web = web;
	r->hash = h;
	r->ranges = d->ranges || p->resumes;
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->changed, NULL);
	d->failure = HTTP_FINE;
	return r;
}

static void
free_run(struct run *r)
{
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->mutex);
	free(r);
}

int
fetch_pieces(struct download *d, struct partial *p, struct web *web,
             struct content_hash *h, struct err *e)
{
	struct run *r = new_run(d, p, web, h, e);
	int n;

	if (!r)
		return -1;
	count(d, partial_bytes(p));
	n = run(r, e);
	if (n < 0 && r->whole) {
		*e = (struct err)ERR_INIT;
		n = fetch_whole(r, e);
	}
	free_run(r);
	return n;
}

int
fetch_head(struct download *d, struct partial *p, struct web *web, struct err *e)
{
	struct run *r = p->count ? new_run(d, p, web, NULL, e) : NULL;
	struct http_answer *a = malloc(sizeof *a);
	struct http *h = http_open(web, e);
	int n = -1;

	if (a)
		answer_reset(a);
	if (!a)
		err_memory(e);
	else if (r && h)
		n = atomic_load(&p->have[0]) >= num_min(d->head, partial_length(p, 0))
		        ? 0 : fetch_piece(r, h, 0, a, e);
	if (r)
		free_run(r);
	http_close(h);
	free(a);
	return n;
}

/* ---- without a length ---- */

struct stream {
	struct download *d;
	struct content_hash *h;
	int fd;
	uint64_t at;
};

static int
take_stream(void *ctx, const void *bytes, size_t n, struct err *e)
{
	struct stream *s = ctx;
	const uint8_t *from = bytes;

	content_hash_add(s->h, bytes, n);
	while (n > 0) {
		ssize_t r = pwrite(s->fd, from, n, (off_t)s->at);

		if (r < 0 && errno != EINTR)
			return err_errno(e, s->d->label, "cannot be written");
		if (r < 0)
			continue;
		count(s->d, (uint64_t)r);
		from += r;
		n -= (size_t)r;
		s->at += (uint64_t)r;
	}
	return 0;
}

static int
begin_stream(void *ctx, struct err *e)
{
	struct stream *s = ctx;

	count(s->d, 0 - s->at);
	s->at = 0;
	content_hash_abandon(s->h);
	content_hash_start(s->h, DOWNLOAD_UNKNOWN, 0);
	return ftruncate(s->fd, 0) < 0 ? err_errno(e, s->d->label, "cannot be written") : 0;
}

int
fetch_stream(struct download *d, int fd, struct web *web, struct content_hash *h,
             struct err *e)
{
	struct http *c = http_open(web, e);
	struct http_answer *a = malloc(sizeof *a);
	struct stream s = { d, h, fd, 0 };
	struct http_request q = { .url = d->url, .authorization = d->authorization,
		.headers = d->headers, .header_count = d->header_count,
		.limit = DOWNLOAD_WITHOUT_LENGTH, .data = take_stream, .again = begin_stream,
		.ctx = &s };
	int n = -1;

	if (c && !a)
		err_memory(e);
	else if (c && begin_stream(&s, e) == 0)
		n = http_get(c, &q, a, e);
	if (n < 0 && a && c)
		d->failure = a->failure ? a->failure : HTTP_FINAL;
	d->bytes = s.at;
	http_close(c);
	free(a);
	return n;
}
