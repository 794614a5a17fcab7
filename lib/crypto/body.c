#include "crypto/body.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "core/thread.h"

/* Chunks that are hashed side by side: the last may be short. */
struct batch {
	const uint8_t *p;
	size_t n;
	struct digest digest[BODY_JOBS];
	bool failed[BODY_JOBS];
};

void
body_digest_init(struct body_digest *d, unsigned jobs)
{
	*d = (struct body_digest){ .jobs = jobs < 1 ? 1 : jobs };
	if (d->jobs > BODY_JOBS)
		d->jobs = BODY_JOBS;
}

int
body_digest_start(struct body_digest *d, uint64_t size, struct err *e)
{
	size_t room = (size_t)num_min(size, d->jobs * BODY_CHUNK);

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

static void
hash_chunk(void *ctx, size_t i)
{
	struct batch *b = ctx;
	size_t from = i * BODY_CHUNK, left = b->n - from;

	b->failed[i] = sha256_of(b->p + from, left < BODY_CHUNK ? left : BODY_CHUNK,
	                         &b->digest[i]) < 0;
}

/* Hash n bytes that begin a chunk and end one (or the body). */
static int
hash_chunks(struct body_digest *d, const uint8_t *p, size_t n, struct err *e)
{
	struct batch b;
	size_t i, chunks;

	while (n > 0) {
		b.p = p;
		b.n = n < d->jobs * BODY_CHUNK ? n : d->jobs * BODY_CHUNK;
		chunks = (b.n + BODY_CHUNK - 1) / BODY_CHUNK;
		thread_for(d->jobs, chunks, hash_chunk, &b);
		for (i = 0; i < chunks; i++) {
			if (b.failed[i])
				return err_memory(e);
			sha256_add(&d->hash, b.digest[i].b, DIGEST_BYTES);
		}
		p += b.n;
		n -= b.n;
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
	return n < d->jobs * BODY_CHUNK ? 0 : n;
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
			room = d->jobs * BODY_CHUNK - d->held_bytes;
			part = n < room ? n : room;
			memcpy(d->held + d->held_bytes, from, part);
			d->held_bytes += part;
		}
		d->seen += part;
		from += part;
		n -= part;
		if (d->held_bytes == d->jobs * BODY_CHUNK || d->seen == d->size) {
			if (hash_chunks(d, d->held, d->held_bytes, e) < 0)
				return -1;
			d->held_bytes = 0;
		}
	}
	return 0;
}

#define SPREAD 256 /* chunks a parallel loop: long, so that no thread waits much */

/* Chunks that each thread reads for itself. */
struct spread {
	const struct range *range;
	uint64_t from, n;
	struct digest digest[SPREAD];
	bool failed[SPREAD];
	atomic_int fault; /* errno + 1, of one that could not be read; 0: none */
};

static void
read_chunk(void *ctx, size_t i)
{
	struct spread *b = ctx;
	uint64_t at = i * BODY_CHUNK, end = num_min(b->n, at + BODY_CHUNK);
	uint8_t piece[RANGE_PIECE];
	struct err unused = ERR_INIT;
	struct sha256 h;
	size_t n;

	sha256_start(&h);
	for (; at < end; at += n) {
		n = (size_t)num_min(end - at, sizeof piece);
		if (range_read(b->range, b->from + at, piece, n) < 0) {
			atomic_store(&b->fault, errno + 1);
			sha256_abandon(&h);
			return;
		}
		sha256_add(&h, piece, n);
	}
	b->failed[i] = sha256_finish(&h, &b->digest[i], &unused) < 0;
}

int
body_digest_range(struct body_digest *d, const struct range *r, const char *name,
                  struct err *e)
{
	struct spread b = { .range = r };
	size_t i, chunks;

	for (; d->seen < d->size; d->seen += b.n) {
		b.from = d->seen;
		b.n = num_min(d->size - d->seen, SPREAD * BODY_CHUNK);
		chunks = (size_t)((b.n + BODY_CHUNK - 1) / BODY_CHUNK);
		thread_for(d->jobs, chunks, read_chunk, &b);
		if (atomic_load(&b.fault)) {
			errno = atomic_load(&b.fault) - 1;
			return range_fail(name, e);
		}
		for (i = 0; i < chunks; i++) {
			if (b.failed[i])
				return err_memory(e);
			sha256_add(&d->hash, b.digest[i].b, DIGEST_BYTES);
		}
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
