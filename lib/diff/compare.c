#include "diff/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/thread.h"
#include "kernels/kernel.h"
#include "stats/values.h"

#define TILE_BYTES (COMPARE_TILE * 8) /* of the widest types with a decoder */
#define BATCH ((uint64_t)COMPARE_TILE * COMPARE_TILES)

struct compare_slot {
	atomic_flag used;
	uint8_t *held, *come; /* TILE_BYTES each */
};

struct compare_part {
	bool same;
	struct digest digest;
	struct pair pair;
};

/* ---- memory ---- */

int
compare_open(struct compare *c, unsigned jobs, double tolerance, struct err *e)
{
	size_t i, n = num_min(jobs ? jobs : 1, COMPARE_TILES);

	*c = (struct compare){ .jobs = (unsigned)n, .tolerance = tolerance };
	c->slots = mem_array(n, sizeof *c->slots);
	c->parts = mem_array(COMPARE_TILES, sizeof *c->parts);
	if (!c->slots || !c->parts)
		return err_memory(e);
	for (i = 0; i < n; i++, c->slot_count++) {
		c->slots[i].held = mem_array(2, TILE_BYTES);
		if (!c->slots[i].held)
			return err_memory(e);
		c->slots[i].come = c->slots[i].held + TILE_BYTES;
		atomic_flag_clear(&c->slots[i].used);
	}
	return 0;
}

void
compare_close(struct compare *c)
{
	while (c->slot_count > 0)
		free(c->slots[--c->slot_count].held);
	free(c->slots);
	free(c->parts);
	free(c->arrived);
	sha256_abandon(&c->hash);
	*c = (struct compare){ 0 };
}

/* No more threads than slots run at a time. */
static struct compare_slot *
take_slot(struct compare *c)
{
	size_t i;

	for (i = 0;; i = (i + 1) % c->slot_count)
		if (!atomic_flag_test_and_set(&c->slots[i].used))
			return &c->slots[i];
}

/* ---- bytes ---- */

static size_t
span(const struct compare *c, const struct compare_half *h, size_t values)
{
	return c->mode == COMPARE_VALUES ? dtype_span(h->type, values) : values;
}

/* The bytes of a tile's values. */
static const uint8_t *
read_tile(struct compare *c, const struct compare_half *h, uint64_t tile, size_t n,
          uint8_t *room)
{
	uint64_t from = (c->mode == COMPARE_VALUES ? h->type->head : 0) + tile * h->tile;
	const uint8_t *p;

	if (h == &c->come && c->pieces)
		return c->arrived + (tile - c->from / COMPARE_TILE) * h->tile;
	p = extent_read(&h->extent, from, room, span(c, h, n));
	if (!p) {
		atomic_store(&c->held_fault, h == &c->held);
		atomic_store(&c->fault, errno + 1);
	}
	return p;
}

/* ---- a tile ---- */

static bool
in_histograms(const struct compare *c, uint64_t tile)
{
	return tile % c->stride == 0;
}

/* kernel_decode without the search for the kernel. */
static void
decode_half(const struct compare_half *h, const uint8_t *x, float *y, size_t n)
{
	if (h->kernel)
		h->kernel->decode(x, y, n);
	else
		kernel_decode(h->type, h->head, x, y, n);
}

/* Values of types that single precision holds are not written in double precision. */
static void
decode_floats(const struct compare *c, struct pair *p, const uint8_t *x, const uint8_t *y,
              size_t n, const struct pair_place *at)
{
	float a[PAIR_VALUES], b[PAIR_VALUES];

	decode_half(&c->held, x, a, n);
	if (x != y)
		decode_half(&c->come, y, b, n);
	pair_of_floats(p, a, x == y ? a : b, n, at);
}

static void
decode_doubles(const struct compare *c, struct pair *p, const uint8_t *x, const uint8_t *y,
               size_t n, const struct pair_place *at)
{
	double a[PAIR_VALUES], b[PAIR_VALUES];

	values_double(c->held.type, c->held.head, x, a, n);
	values_double(c->come.type, c->come.head, y, b, n);
	pair_of(p, a, b, n, at);
}

/* The figures of a tile. y is x if both are the same. */
static void
decode(struct compare *c, struct compare_part *part, const uint8_t *x, const uint8_t *y,
       uint64_t tile, size_t n)
{
	struct pair_place at = { .row = c->row, .tolerance = c->tolerance, .known = c->pair.most,
		.histograms = in_histograms(c, tile) };
	struct pair piece;
	size_t i, k;

	part->pair = (struct pair){ 0 };
	for (i = 0; i < n; i += k) {
		k = (size_t)num_min(n - i, PAIR_VALUES);
		at.index = tile * COMPARE_TILE + i;
		(c->floats ? decode_floats : decode_doubles)(
			c, &piece, x + dtype_span(c->held.type, i), y + dtype_span(c->come.type, i), k, &at);
		pair_join(&part->pair, &piece);
		at.known = fmax(at.known, piece.most);
	}
}

static void
compare_tile(struct compare *c, struct compare_part *part, struct compare_slot *slot,
             uint64_t tile, size_t n)
{
	const uint8_t *x = NULL, *y;

	if (c->mode != COMPARE_DIGEST && !(x = read_tile(c, &c->held, tile, n, slot->held)))
		return;
	y = c->alone ? x : read_tile(c, &c->come, tile, n, slot->come);
	if (!y)
		return;
	if (c->mode == COMPARE_DIGEST) {
		if (sha256_of(y, n, &part->digest) < 0)
			atomic_store(&c->fault, ENOMEM + 1);
		return;
	}
	part->same = x == y || (c->alike && memcmp(x, y, span(c, &c->held, n)) == 0);
	if (!c->looks)
		decode(c, part, x, part->same ? x : y, tile, n);
}

static void
work(void *ctx, size_t i)
{
	struct compare *c = ctx;
	struct compare_slot *slot = take_slot(c);
	size_t at = i * COMPARE_TILE;

	if (atomic_load(&c->fault) == 0)
		compare_tile(c, &c->parts[i], slot, c->from / COMPARE_TILE + i,
		             (size_t)num_min(c->batch - at, COMPARE_TILE));
	atomic_flag_clear(&slot->used);
}

/* ---- a batch ---- */

static size_t
run(struct compare *c)
{
	size_t n = (c->batch + COMPARE_TILE - 1) / COMPARE_TILE;

	thread_for(c->jobs, n, work, c);
	return n;
}

static void
figures(struct compare *c)
{
	size_t i, n = run(c);

	for (i = 0; i < n; i++)
		pair_join(&c->pair, &c->parts[i].pair);
}

/* The figures of all batches before this one, which are the same in both. */
static void
catch_up(struct compare *c)
{
	uint64_t end = c->from;
	size_t batch = c->batch;

	c->alone = true;
	c->batch = (size_t)BATCH;
	for (c->from = 0; c->from < end && atomic_load(&c->fault) == 0; c->from += BATCH)
		figures(c);
	c->alone = false;
	c->from = end;
	c->batch = batch;
}

static void
differs(struct compare *c)
{
	c->same = c->looks = false;
	c->hopeless = c->mode == COMPARE_BYTES;
	if (c->hopeless)
		return;
	catch_up(c);
	figures(c);
}

static void
do_batch(struct compare *c)
{
	size_t i, n;

	if (c->mode == COMPARE_DIGEST) {
		n = run(c);
		for (i = 0; i < n; i++)
			sha256_add(&c->hash, c->parts[i].digest.b, DIGEST_BYTES);
	} else if (c->same) {
		c->looks = true;
		n = run(c);
		for (i = 0; i < n && c->parts[i].same; i++)
			;
		if (i < n && atomic_load(&c->fault) == 0)
			differs(c);
	} else if (!c->hopeless) {
		figures(c);
	}
	c->from += c->batch;
}

static int
failed(struct compare *c, const char *held, const char *name, struct err *e)
{
	int fault = atomic_load(&c->fault);

	if (fault == 0)
		return 0;
	errno = fault - 1;
	return range_fail(atomic_load(&c->held_fault) ? held : name, e);
}

/* ---- a pair ---- */

static void
begin(struct compare *c, const struct tensor *b)
{
	c->come.type = tensor_type(b);
	c->from = 0;
	c->batch = 0;
	c->head_bytes = 0;
	c->arrived_bytes = 0;
	c->pair = (struct pair){ 0 };
	c->hopeless = c->looks = c->alone = false;
	atomic_store(&c->fault, 0);
	atomic_store(&c->held_fault, false);
}

/* Whether tiles of a type can be decoded in the buffers. */
static bool
decodes(const struct dtype *t)
{
	return values_known(t) && dtype_span(t, COMPARE_TILE) <= TILE_BYTES;
}

int
compare_begin(struct compare *c, const struct tensor *a, const struct extent *held,
              const struct tensor *b, struct err *e)
{
	uint64_t tiles;

	begin(c, b);
	c->held.type = tensor_type(a);
	c->held.extent = *held;
	c->mode = decodes(c->held.type) && decodes(c->come.type) ? COMPARE_VALUES : COMPARE_BYTES;
	c->values = c->mode == COMPARE_VALUES ? tensor_items(a) : tensor_bytes(b);
	c->floats = c->mode == COMPARE_VALUES && kernel_decodes(c->held.type) &&
	            kernel_decodes(c->come.type);
	c->held.kernel = c->floats && !c->held.type->head ? kernel_for(c->held.type) : NULL;
	c->come.kernel = c->floats && !c->come.type->head ? kernel_for(c->come.type) : NULL;
	c->row = tensor_row(a) ? tensor_row(a) : 1;
	tiles = c->values / COMPARE_TILE + 1;
	c->stride = (tiles + COMPARE_SAMPLE - 1) / COMPARE_SAMPLE;
	c->held.tile = span(c, &c->held, COMPARE_TILE);
	c->come.tile = span(c, &c->come, COMPARE_TILE);
	c->same = c->alike = c->held.type == c->come.type && tensor_bytes(a) == tensor_bytes(b);
	c->hopeless = c->mode == COMPARE_BYTES && !c->same;
	if (c->mode == COMPARE_VALUES && c->values > 0 && c->held.type->head > 0) {
		const uint8_t *p = extent_read(held, 0, c->held.head, c->held.type->head);

		if (!p)
			return err_set(e, ERR_IO, tensor_name(a), "cannot be read");
		if (p != c->held.head)
			memcpy(c->held.head, p, c->held.type->head);
	}
	return 0;
}

int
compare_begin_digest(struct compare *c, const struct tensor *b, struct err *e)
{
	(void)e;
	begin(c, b);
	c->mode = COMPARE_DIGEST;
	c->values = tensor_bytes(b);
	c->come.tile = COMPARE_TILE;
	c->same = c->alike = false;
	sha256_abandon(&c->hash);
	sha256_start(&c->hash);
	return 0;
}

static size_t
head_of(const struct compare *c)
{
	return c->mode == COMPARE_VALUES ? c->come.type->head : 0;
}

/* The head has come. Tensors whose heads differ mean other values by the same bytes. */
static void
take_head(struct compare *c)
{
	if (c->alike && memcmp(c->held.head, c->come.head, head_of(c)) != 0)
		c->same = c->alike = false;
}

static int
arrived(struct compare *c, const char *held, struct err *e)
{
	c->pieces = true;
	c->batch = (size_t)num_min(BATCH, c->values - c->from);
	do_batch(c);
	c->arrived_bytes = 0;
	return failed(c, held, held, e);
}

int
compare_add(struct compare *c, const uint8_t *p, size_t n, const char *held, struct err *e)
{
	size_t head = head_of(c), full, part;

	if (c->hopeless)
		return 0;
	for (; n > 0 && c->head_bytes < head; n--) {
		c->come.head[c->head_bytes++] = *p++;
		if (c->head_bytes == head)
			take_head(c);
	}
	for (; n > 0; n -= part, p += part) {
		full = span(c, &c->come, (size_t)num_min(BATCH, c->values - c->from));
		if (full == 0)
			return 0;
		if (mem_grow(&c->arrived, &c->arrived_cap, full, 1) < 0)
			return err_memory(e);
		part = (size_t)num_min(n, full - c->arrived_bytes);
		memcpy(c->arrived + c->arrived_bytes, p, part);
		c->arrived_bytes += part;
		if (c->arrived_bytes == full && arrived(c, held, e) < 0)
			return -1;
	}
	return 0;
}

int
compare_extent(struct compare *c, const struct extent *b, const char *held, const char *name,
               struct err *e)
{
	size_t head = head_of(c);
	const uint8_t *p;

	if (c->values == 0)
		return 0;
	if (head > 0 && c->values > 0) {
		p = extent_read(b, 0, c->come.head, head);
		if (!p)
			return range_fail(name, e);
		if (p != c->come.head)
			memcpy(c->come.head, p, head);
		take_head(c);
	}
	c->come.extent = *b;
	c->pieces = false;
	while (c->from < c->values && !c->hopeless && atomic_load(&c->fault) == 0) {
		c->batch = (size_t)num_min(BATCH, c->values - c->from);
		do_batch(c);
	}
	return failed(c, held, name, e);
}

int
compare_end(struct compare *c, enum compare_result *to, const char *held, struct err *e)
{
	*to = c->same ? COMPARE_SAME :
	      c->mode == COMPARE_BYTES ? COMPARE_UNKNOWN : COMPARE_FIGURES;
	return failed(c, held, held, e);
}

int
compare_end_digest(struct compare *c, struct digest *to, struct err *e)
{
	return sha256_finish(&c->hash, to, e);
}
