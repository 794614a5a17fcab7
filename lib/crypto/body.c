#include "crypto/body.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/tasks.h"
#include "crypto/lanes.h"

#define JOBS_MOST 256

/* Chunks that are hashed together. A sanitizer takes longer for the buffer of four than a fuzzer
 * for the rest of an input. */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define TOGETHER (lanes_count() == LANES_MOST ? LANES_MOST : 4)
#else
#define TOGETHER 1
#endif

/* Where the digest of a chunk belongs. */
struct place {
	struct digest *out; /* of the body */
	uint64_t size;      /* of the body */
	const char *name;   /* of the file that the chunk is read from */
	bool first, last;   /* chunk of the body */
};

/* Chunks that one task hashes. */
struct body_batch {
	struct lanes_message m[LANES_MOST];
	struct place place[LANES_MOST];
	size_t n;
	uint8_t *held; /* a buffer for the bytes of chunks that were fed; may be NULL */
};

void
body_digest_init(struct body_digest *d, unsigned jobs)
{
	*d = (struct body_digest){ .jobs = jobs < 1 ? 1 : (unsigned)num_min(jobs, JOBS_MOST) };
}

static void
hash_batch(void *ctx, size_t i)
{
	struct body_batch *b = ctx;

	lanes_hash(b[i].m, b[i].n);
}

/* On the first body that does not come in one piece. */
static int
allocate(struct body_digest *d, struct err *e)
{
	d->chunks = TOGETHER;
	d->buffers_most = d->jobs == 1 ? 1 : BODY_HELD / BODY_CHUNK / d->chunks;
	if (d->buffers_most > d->jobs + 1)
		d->buffers_most = d->jobs + 1;
	d->room = d->jobs == 1 ? 1 : 2 * (size_t)d->jobs + 1;
	d->batches = mem_array(d->room, sizeof *d->batches);
	d->spare = mem_array(d->buffers_most, sizeof *d->spare);
	if (d->batches && d->jobs > 1)
		d->tasks = tasks_new(d->jobs - 1, d->room, hash_batch, d->batches);
	return d->batches && d->spare && (d->tasks || d->jobs == 1) ? 0 : err_memory(e);
}

static void
body_hash_start(struct sha256 *h, uint64_t size)
{
	sha256_start(h);
	sha256_add_domain(h, BODY_DOMAIN);
	sha256_add_u64(h, size);
}

static int
chunk_fault(const struct lanes_message *m, const char *name, struct err *e)
{
	if (m->fault == LANES_MEMORY)
		return err_memory(e);
	errno = m->fault - 1;
	return range_fail(name, e);
}

/* Add the digests of a batch to those of its bodies, and empty it. */
static int
fold(struct body_digest *d, struct body_batch *b, struct err *e)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		const struct place *at = &b->place[i];

		if (b->m[i].fault)
			return chunk_fault(&b->m[i], at->name, e);
		if (at->first) {
			sha256_abandon(&d->hash);
			body_hash_start(&d->hash, at->size);
		}
		sha256_add(&d->hash, b->m[i].digest.b, DIGEST_BYTES);
		if (at->last && sha256_finish(&d->hash, at->out, e) < 0)
			return -1;
	}
	b->n = 0;
	if (b->held)
		d->spare[d->spares++] = b->held;
	b->held = NULL;
	return 0;
}

/* Wait for the oldest batch. */
static int
retire(struct body_digest *d, struct err *e)
{
	size_t i = d->first;

	tasks_await(d->tasks, i);
	d->first = (d->first + 1) % d->room;
	d->waiting--;
	return fold(d, &d->batches[i], e);
}

static struct body_batch *
open_batch(struct body_digest *d)
{
	return &d->batches[(d->first + d->waiting) % d->room];
}

/* Hash the batch that is being filled, or let another thread do it. */
static int
hand_over(struct body_digest *d, struct err *e)
{
	struct body_batch *b = open_batch(d);

	if (!d->tasks) {
		hash_batch(b, 0);
		return fold(d, b, e);
	}
	tasks_start(d->tasks, (size_t)(b - d->batches));
	d->waiting++;
	return d->waiting == d->room ? retire(d, e) : 0;
}

static int
add_chunk(struct body_digest *d, const struct lanes_message *m, const char *name,
          struct err *e)
{
	struct body_batch *b = open_batch(d);

	b->m[b->n] = *m;
	b->place[b->n++] = (struct place){ .out = d->out, .size = d->size, .name = name,
		.first = d->seen == 0, .last = d->seen + m->bytes == d->size };
	d->seen += m->bytes;
	return b->n == d->chunks ? hand_over(d, e) : 0;
}

/* A buffer for the chunks of the batch that is being filled. */
static int
hold(struct body_digest *d, struct err *e)
{
	uint8_t *p;

	while (d->spares == 0 && d->buffers == d->buffers_most)
		if (retire(d, e) < 0)
			return -1;
	if (d->spares == 0) {
		p = malloc(d->chunks * BODY_CHUNK);
		if (!p)
			return err_memory(e);
		d->spare[d->spares++] = p;
		d->buffers++;
	}
	open_batch(d)->held = d->spare[--d->spares];
	return 0;
}

/* Wait for all tasks, and forget what they have done. */
static void
give_up(struct body_digest *d)
{
	struct err unused = ERR_INIT;
	size_t i;

	for (i = 0; i < d->room; i++) {
		struct body_batch *b = &d->batches[i];

		if (d->tasks)
			tasks_await(d->tasks, i);
		b->n = 0;
		fold(d, b, &unused); /* its buffer becomes a spare one */
	}
	sha256_abandon(&d->hash);
	d->first = d->waiting = d->fill = 0;
}

int
body_digest_start(struct body_digest *d, uint64_t size, struct digest *out, struct err *e)
{
	if (d->seen != d->size || d->fill)
		give_up(d);
	d->size = size;
	d->seen = 0;
	d->out = out;
	return d->batches || size == 0 ? 0 : allocate(d, e);
}

static int
whole_body(const uint8_t *p, size_t n, struct digest *out, struct err *e)
{
	struct lanes_message m[LANES_MOST];
	struct sha256 h;
	size_t i, k;

	body_hash_start(&h, n);
	while (n > 0) {
		for (i = 0; i < LANES_MOST && n > 0; i++) {
			size_t part = (size_t)num_min(n, BODY_CHUNK);

			m[i] = (struct lanes_message){ .p = p, .bytes = part };
			p += part;
			n -= part;
		}
		lanes_hash(m, i);
		for (k = 0; k < i; k++) {
			if (m[k].fault) {
				sha256_abandon(&h);
				return err_memory(e);
			}
			sha256_add(&h, m[k].digest.b, DIGEST_BYTES);
		}
	}
	return sha256_finish(&h, out, e);
}

/* Some of n bytes, as many as the current chunk lacks. */
static int
feed(struct body_digest *d, const uint8_t *p, size_t *n, struct err *e)
{
	struct body_batch *b = open_batch(d);
	uint64_t chunk = num_min(d->size - d->seen, BODY_CHUNK);
	struct lanes_message m = { .bytes = chunk };

	if (!b->held && hold(d, e) < 0)
		return -1;
	*n = (size_t)num_min(*n, chunk - d->fill);
	m.p = b->held + b->n * BODY_CHUNK;
	memcpy(b->held + b->n * BODY_CHUNK + d->fill, p, *n);
	d->fill += *n;
	if (d->fill < chunk)
		return 0;
	d->fill = 0;
	return add_chunk(d, &m, NULL, e);
}

int
body_digest_add(struct body_digest *d, const void *p, size_t n, struct err *e)
{
	const uint8_t *from = p;
	size_t part;

	if (n > d->size - d->seen - d->fill)
		return err_set(e, ERR_CORRUPT, NULL,
		               "more than the %" PRIu64 " bytes announced", d->size);
	if (n == d->size && n > 0 && n <= BODY_CHUNK) {
		d->seen = n;
		return whole_body(from, n, d->out, e);
	}
	for (; n > 0; n -= part, from += part) {
		part = n;
		if (feed(d, from, &part, e) < 0)
			return -1;
	}
	return 0;
}

int
body_digest_range(struct body_digest *d, const struct range *r, const char *name,
                  struct err *e)
{
	while (d->seen < d->size) {
		struct lanes_message m = { .range = *r };

		m.bytes = num_min(d->size - d->seen, BODY_CHUNK);
		if (num_add(r->at, d->seen, &m.range.at) < 0) {
			errno = 0;
			return range_fail(name, e);
		}
		if (add_chunk(d, &m, name, e) < 0)
			return -1;
	}
	return 0;
}

int
body_digest_finish(struct body_digest *d, struct err *e)
{
	if (d->seen != d->size)
		return err_set(e, ERR_CORRUPT, NULL,
		               "%" PRIu64 " of the %" PRIu64 " bytes announced",
		               d->seen + d->fill, d->size);
	return d->size == 0 ? whole_body(NULL, 0, d->out, e) : 0;
}

int
body_digest_settle(struct body_digest *d, struct err *e)
{
	if (d->batches && open_batch(d)->n > 0 && hand_over(d, e) < 0)
		return -1;
	while (d->waiting > 0)
		if (retire(d, e) < 0)
			return -1;
	return 0;
}

void
body_digest_free(struct body_digest *d)
{
	size_t i;

	tasks_free(d->tasks);
	for (i = 0; i < d->room && d->batches; i++)
		free(d->batches[i].held);
	for (i = 0; i < d->spares; i++)
		free(d->spare[i]);
	free(d->batches);
	free(d->spare);
	sha256_abandon(&d->hash);
	*d = (struct body_digest){ .jobs = 1 };
}

int
body_digest_of(const void *p, size_t n, struct digest *out, struct err *e)
{
	return whole_body(p, n, out, e);
}
