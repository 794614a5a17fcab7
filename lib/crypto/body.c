#include "crypto/body.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "core/thread.h"
#include "crypto/pair.h"

#define SPREAD 256 /* chunks a parallel loop over a file: long, so that nobody waits much */
#define PIECE (RANGE_PIECE / 2) /* two of them lie on the stack */

/* Chunks that are hashed side by side: the last may be short. They lie in memory, or
 * each thread reads its own. */
struct batch {
	const uint8_t *p;          /* or */
	const struct range *range; /* from that byte on */
	uint64_t from;
	uint64_t n;
	unsigned step;             /* chunks that one call takes: 2 are a pair */
	struct digest digest[SPREAD];
	bool failed[SPREAD];
	atomic_int fault; /* errno + 1, of one that could not be read; 0: none */
};

void
body_digest_init(struct body_digest *d, unsigned jobs)
{
	*d = (struct body_digest){ .jobs = jobs < 1 ? 1 : jobs };
	if (d->jobs > BODY_JOBS)
		d->jobs = BODY_JOBS;
	/* A pair for each thread, as long as there is room. */
	d->pairs = sha256_pair_pays();
	d->room = d->jobs;
	if (d->pairs)
		d->room = d->jobs > BODY_JOBS / 2 ? BODY_JOBS : 2 * d->jobs;
}

int
body_digest_start(struct body_digest *d, uint64_t size, struct err *e)
{
	size_t room = (size_t)num_min(size, d->room * BODY_CHUNK);

	sha256_abandon(&d->hash);
	if (room > d->held_cap) {
		free(d->held);
		d->held_cap = 0;
		d->held = malloc(room);
		if (!d->held)
			return err_memory(e);
		d->held_cap = room;
	}
	d->size = size;
	d->seen = 0;
	d->held_bytes = 0;
	sha256_start(&d->hash);
	sha256_add_domain(&d->hash, BODY_DOMAIN);
	sha256_add_u64(&d->hash, size);
	return 0;
}

/* Some bytes of the batch: where they lie, or read into piece. NULL: they cannot be. */
static const uint8_t *
bytes_at(struct batch *b, uint64_t at, uint8_t *piece, size_t n)
{
	if (b->p)
		return b->p + at;
	if (range_read(b->range, b->from + at, piece, n) == 0)
		return piece;
	atomic_store(&b->fault, errno + 1);
	return NULL;
}

static void
hash_one(struct batch *b, size_t i)
{
	uint64_t at = i * BODY_CHUNK, end = num_min(b->n, at + BODY_CHUNK);
	uint8_t piece[2 * PIECE];
	struct err unused = ERR_INIT;
	const uint8_t *p;
	struct sha256 h;
	size_t n;

	sha256_start(&h);
	for (; at < end; at += n) {
		n = (size_t)num_min(end - at, b->p ? BODY_CHUNK : sizeof piece);
		p = bytes_at(b, at, piece, n);
		if (!p) {
			sha256_abandon(&h);
			return;
		}
		sha256_add(&h, p, n);
	}
	b->failed[i] = sha256_finish(&h, &b->digest[i], &unused) < 0;
}

/* Two whole chunks. */
static void
hash_pair(struct batch *b, size_t i)
{
	uint64_t at = i * BODY_CHUNK, end = at + BODY_CHUNK;
	uint8_t piece[2][PIECE];
	struct sha256_pair h;

	sha256_pair_start(&h);
	for (; at < end; at += PIECE) {
		const uint8_t *p = bytes_at(b, at, piece[0], PIECE);
		const uint8_t *q = bytes_at(b, at + BODY_CHUNK, piece[1], PIECE);

		if (!p || !q)
			return;
		sha256_pair_add(&h, p, q, PIECE);
	}
	sha256_pair_finish(&h, &b->digest[i], &b->digest[i + 1]);
	b->failed[i] = b->failed[i + 1] = false;
}

static void
hash_some(void *ctx, size_t i)
{
	struct batch *b = ctx;

	i *= b->step;
	if (b->step == 2 && b->n / BODY_CHUNK >= i + 2) {
		hash_pair(b, i);
		return;
	}
	hash_one(b, i);
	if (b->step == 2 && b->n > (i + 1) * BODY_CHUNK)
		hash_one(b, i + 1);
}

/* Up to SPREAD chunks, of which the last may be short. Fewer than a pair for each thread
 * are shared out one by one. */
static int
hash_batch(struct body_digest *d, struct batch *b, const char *name, struct err *e)
{
	size_t i, chunks = (size_t)((b->n + BODY_CHUNK - 1) / BODY_CHUNK);

	b->step = d->pairs && chunks >= 2 * d->jobs ? 2 : 1;
	thread_for(d->jobs, (chunks + b->step - 1) / b->step, hash_some, b);
	if (atomic_load(&b->fault)) {
		errno = atomic_load(&b->fault) - 1;
		return range_fail(name, e);
	}
	for (i = 0; i < chunks; i++) {
		if (b->failed[i])
			return err_memory(e);
		sha256_add(&d->hash, b->digest[i].b, DIGEST_BYTES);
	}
	return 0;
}

/* Hash n bytes that begin a chunk and end one (or the body). */
static int
hash_chunks(struct body_digest *d, const uint8_t *p, size_t n, struct err *e)
{
	struct batch b = { 0 };

	for (; n > 0; p += b.n, n -= b.n) {
		b.p = p;
		b.n = num_min(n, d->room * BODY_CHUNK);
		if (hash_batch(d, &b, NULL, e) < 0)
			return -1;
	}
	return 0;
}

/* Of n bytes at the start of a chunk, those that can be hashed where they lie:
 * enough whole chunks for every thread, or the end of the body. */
static size_t
hash_in_place(const struct body_digest *d, size_t n)
{
	if (d->held_bytes > 0)
		return 0;
	if (d->size - d->seen == n)
		return n;
	n -= n % BODY_CHUNK;
	return n < d->room * BODY_CHUNK ? 0 : n;
}

int
body_digest_add(struct body_digest *d, const void *p, size_t n, struct err *e)
{
	const uint8_t *from = p;

	if (n > d->size - d->seen)
		return err_set(e, ERR_CORRUPT, NULL,
		               "more than the %" PRIu64 " bytes announced", d->size);
	while (n > 0) {
		size_t part = hash_in_place(d, n), room;

		if (part > 0) {
			if (hash_chunks(d, from, part, e) < 0)
				return -1;
		} else {
			room = d->room * BODY_CHUNK - d->held_bytes;
			part = n < room ? n : room;
			memcpy(d->held + d->held_bytes, from, part);
			d->held_bytes += part;
		}
		d->seen += part;
		from += part;
		n -= part;
		if (d->held_bytes == d->room * BODY_CHUNK || d->seen == d->size) {
			if (hash_chunks(d, d->held, d->held_bytes, e) < 0)
				return -1;
			d->held_bytes = 0;
		}
	}
	return 0;
}

int
body_digest_range(struct body_digest *d, const struct range *r, const char *name,
                  struct err *e)
{
	struct batch b = { .range = r };

	for (; d->seen < d->size; d->seen += b.n) {
		b.from = d->seen;
		b.n = num_min(d->size - d->seen, SPREAD * BODY_CHUNK);
		if (hash_batch(d, &b, name, e) < 0)
			return -1;
	}
	return 0;
}

int
body_digest_finish(struct body_digest *d, struct digest *out, struct err *e)
{
	if (d->seen != d->size) {
		sha256_abandon(&d->hash);
		return err_set(e, ERR_CORRUPT, NULL,
		               "%" PRIu64 " of the %" PRIu64 " bytes announced",
		               d->seen, d->size);
	}
	return sha256_finish(&d->hash, out, e);
}

void
body_digest_free(struct body_digest *d)
{
	sha256_abandon(&d->hash);
	free(d->held);
	*d = (struct body_digest){ .jobs = 1 };
}

int
body_digest_of(const void *p, size_t n, struct digest *out, struct err *e)
{
	struct body_digest d;
	int r;

	body_digest_init(&d, 1);
	d.size = n;
	sha256_start(&d.hash);
	sha256_add_domain(&d.hash, BODY_DOMAIN);
	sha256_add_u64(&d.hash, n);
	r = body_digest_add(&d, p, n, e);
	if (r == 0)
		r = body_digest_finish(&d, out, e);
	body_digest_free(&d);
	return r;
}
