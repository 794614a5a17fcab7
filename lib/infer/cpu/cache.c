/* A layer has the keys of all heads, then the values of all heads, and in Q8_0 then the scales
 * of both in the same order.
 */
#include "infer/cpu/cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

enum { LANES = ATTEND_LANES, BLOCK = ATTEND_BLOCK };

/* Bytes of a value or code. */
static size_t
size_of(const struct cache *c)
{
	return c->shape.type == CACHE_F32 ? 4 : c->shape.type == CACHE_F16 ? 2 : 1;
}

static size_t
blocks_of(size_t width)
{
	return (width + BLOCK - 1) / BLOCK;
}

static int
allocate(struct cache *c, struct err *e)
{
	struct cache_size size;

	if (cache_size(&c->shape, &size) < 0)
		return err_memory(e);
	c->positions = (size_t)size.positions;
	c->room = (size_t)size.layer;
	return map_zeros(&c->memory, size.bytes, e);
}

struct cache *
cache_open(struct device *d, const struct cache_shape *s, struct err *e)
{
	struct cache *c = mem_array(1, sizeof *c);

	(void)d;
	if (!c) {
		err_memory(e);
		return NULL;
	}
	c->shape = *s;
	c->kernel = kernel_for(dtype_by_name(cache_type_name(s->type)));
	c->halves = kernel_for(dtype_by_name("F16"));
	if (allocate(c, e) == 0)
		return c;
	cache_close(c);
	return NULL;
}

void
cache_close(struct cache *c)
{
	if (!c)
		return;
	map_close(&c->memory);
	free(c);
}

uint64_t
cache_bytes(const struct cache *c)
{
	return c->memory.n;
}

/* ---- places ---- */

/* The place of a head's first value at a position; for keys, at the first position of its
 * columns. */
static uint8_t *
key_at(const struct cache *c, size_t layer, size_t head, size_t position)
{
	size_t first = position / LANES * LANES;

	return c->memory.p + layer * c->room +
	       (head * c->positions + first) * c->shape.head_k * size_of(c);
}

static uint8_t *
value_at(const struct cache *c, size_t layer, size_t head, size_t position)
{
	return key_at(c, layer, c->shape.heads, 0) +
	       (head * c->positions + position) * c->shape.head_v * size_of(c);
}

static uint8_t *
key_scales(const struct cache *c, size_t layer, size_t head, size_t position)
{
	size_t first = position / LANES * LANES;

	return value_at(c, layer, c->shape.heads, 0) +
	       (head * c->positions + first) * blocks_of(c->shape.head_k) * 2;
}

static uint8_t *
value_scales(const struct cache *c, size_t layer, size_t head, size_t position)
{
	return key_scales(c, layer, c->shape.heads, 0) +
	       (head * c->positions + position) * blocks_of(c->shape.head_v) * 2;
}

/* ---- writing ---- */

/* Write n values, at most a block, in the bytes of the type; in Q8_0, write the scale too. */
static void
encode(const struct cache *c, const float *x, size_t n, uint8_t *y, uint8_t *scale)
{
	float whole[BLOCK] = { 0 };
	uint8_t stored[2 + BLOCK];

	if (c->shape.type != CACHE_Q8_0) {
		c->kernel->encode(x, y, n);
		return;
	}
	memcpy(whole, x, n * sizeof *x);
	c->kernel->encode(whole, stored, BLOCK);
	memcpy(scale, stored, 2);
	memcpy(y, stored + 2, n);
}

void
cache_put_key(struct cache *c, size_t layer, size_t head, size_t position,
              const float *key)
{
	size_t size = size_of(c), lane = position % LANES, d, i, n;
	uint8_t *to = key_at(c, layer, head, position) + lane * size;
	uint8_t *scales = key_scales(c, layer, head, position) + lane * 2;
	uint8_t some[BLOCK * sizeof(float)];

	for (d = 0; d < c->shape.head_k; d += n) {
		n = c->shape.head_k - d < BLOCK ? c->shape.head_k - d : BLOCK;
		encode(c, key + d, n, some, scales + d / BLOCK * LANES * 2);
		for (i = 0; i < n; i++, to += LANES * size)
			memcpy(to, some + i * size, size);
	}
}

void
cache_put_value(struct cache *c, size_t layer, size_t head, size_t position,
                const float *value)
{
	uint8_t *to = value_at(c, layer, head, position);
	uint8_t *scales = value_scales(c, layer, head, position);
	size_t d, n;

	for (d = 0; d < c->shape.head_v; d += n) {
		n = c->shape.head_v - d < BLOCK ? c->shape.head_v - d : BLOCK;
		encode(c, value + d, n, to + d * size_of(c), scales + d / BLOCK * 2);
	}
}

/* ---- reading ---- */

/* The bytes in place; the scales of Q8_0 are read later. */
static struct attend_rows
in_place(const struct cache *c, const uint8_t *p, size_t stride)
{
	static const enum attend_kind kinds[] = { ATTEND_F16, ATTEND_F32, ATTEND_Q8_0 };

	return (struct attend_rows){ .kind = kinds[c->shape.type], .p = p, .stride = stride };
}

/* Read the scales of n blocks from each of count rows or groups, stride scales apart. */
static void
read_scales(const struct cache *c, const uint8_t *p, size_t count, size_t stride, size_t n,
            float *room, struct attend_rows *rows)
{
	size_t i;

	rows->scale = room;
	rows->scale_stride = n;
	if (n == stride) {
		c->halves->decode(p, room, count * n);
		return;
	}
	for (i = 0; i < count; i++)
		c->halves->decode(p + i * stride * 2, room + i * n, n);
}

void
cache_keys(const struct cache *c, const struct cache_piece *p, bool many, float *room,
           struct attend_rows *rows)
{
	size_t groups = (p->positions + LANES - 1) / LANES, i, d, n;
	const uint8_t *at = key_at(c, p->layer, p->head, p->first) + p->from * LANES * size_of(c);
	float *numbers = room;

	*rows = in_place(c, at, c->shape.head_k);
	if (c->shape.type == CACHE_Q8_0) {
		if (many) /* scales behind them */
			room += groups * LANES * p->width;
		read_scales(c, key_scales(c, p->layer, p->head, p->first) +
		            p->from / BLOCK * LANES * 2, groups, blocks_of(c->shape.head_k) * LANES,
		            blocks_of(p->width) * LANES, room, rows);
	}
	if (!many || c->shape.type == CACHE_F32)
		return;
	if (c->shape.type == CACHE_F16)
		c->kernel->decode(at, numbers, groups * LANES * p->width);
	for (i = 0; c->shape.type == CACHE_Q8_0 && i < groups; i++)
		for (d = 0; d < p->width; d += n) {
			n = p->width - d < BLOCK ? p->width - d : BLOCK;
			attend_now()->columns((const int8_t *)at + (i * c->shape.head_k + d) * LANES,
			                      rows->scale + i * rows->scale_stride + d / BLOCK * LANES,
			                      n, numbers + (i * p->width + d) * LANES);
		}
	*rows = (struct attend_rows){ .kind = ATTEND_F32, .p = (const uint8_t *)numbers,
		.stride = p->width };
}

void
cache_values(const struct cache *c, const struct cache_piece *p, bool many, float *room,
             struct attend_rows *rows)
{
	const uint8_t *at = value_at(c, p->layer, p->head, p->first) + p->from * size_of(c);
	float *numbers = room;
	size_t i;

	*rows = in_place(c, at, c->shape.head_v);
	if (c->shape.type == CACHE_Q8_0) {
		if (many)
			room += p->positions * p->width;
		read_scales(c, value_scales(c, p->layer, p->head, p->first) + p->from / BLOCK * 2,
		            p->positions, blocks_of(c->shape.head_v), blocks_of(p->width), room, rows);
	}
	if (!many || c->shape.type == CACHE_F32)
		return;
	for (i = 0; i < p->positions; i++)
		if (c->shape.type == CACHE_F16)
			c->kernel->decode(at + i * c->shape.head_v * 2, numbers + i * p->width, p->width);
		else
			attend_now()->row((const int8_t *)at + i * c->shape.head_v,
			                  rows->scale + i * rows->scale_stride, p->width,
			                  numbers + i * p->width);
	*rows = (struct attend_rows){ .kind = ATTEND_F32, .p = (const uint8_t *)numbers,
		.stride = p->width };
}

/* ---- asking ahead ---- */

static void
ahead(const uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i += 64)
		__builtin_prefetch(p + i, 0, 2);
}

void
cache_keys_ahead(const struct cache *c, const struct cache_piece *p)
{
	size_t n = (p->positions + LANES - 1) / LANES * LANES;

	ahead(key_at(c, p->layer, p->head, p->first), n * c->shape.head_k * size_of(c));
	if (c->shape.type == CACHE_Q8_0)
		ahead(key_scales(c, p->layer, p->head, p->first), n * blocks_of(c->shape.head_k) * 2);
}

void
cache_values_ahead(const struct cache *c, const struct cache_piece *p)
{
	ahead(value_at(c, p->layer, p->head, p->first), p->positions * c->shape.head_v * size_of(c));
	if (c->shape.type == CACHE_Q8_0)
		ahead(value_scales(c, p->layer, p->head, p->first),
		      p->positions * blocks_of(c->shape.head_v) * 2);
}
