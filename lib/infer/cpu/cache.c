/* Of each block: keys of all heads, values of all heads, and of Q8_0 the scales of both in
 * the same order.
 */
#include "infer/cpu/cache.h"

#include <string.h>

#include "core/num.h"
#include "kernels/attend.h"

enum { LANES = ATTEND_LANES, BLOCK = ATTEND_BLOCK };

/* Bytes of a value or code, and of a scale. */
static size_t
size_of(const struct cache *c)
{
	return c->type == INFER_CACHE_F32 ? 4 : c->type == INFER_CACHE_F16 ? 2 : 1;
}

static size_t
blocks_of(size_t width)
{
	return (width + BLOCK - 1) / BLOCK;
}

int
cache_open(struct cache *c, size_t blocks, size_t heads, size_t positions,
           size_t head_k, size_t head_v, enum infer_cache type, struct err *e)
{
	uint64_t n, bytes;

	*c = (struct cache){ .type = type, .heads = heads, .head_k = head_k, .head_v = head_v,
		.kernel = kernel_for(dtype_by_name(infer_cache_name(type))),
		.halves = kernel_for(dtype_by_name("F16")) };
	if (num_add(positions, LANES - 1, &n) < 0)
		return err_memory(e);
	c->positions = (size_t)n / LANES * LANES;
	bytes = (head_k + head_v) * size_of(c);
	if (type == INFER_CACHE_Q8_0)
		bytes += 2 * (blocks_of(head_k) + blocks_of(head_v));
	if (num_mul(heads, c->positions, &n) < 0 || num_mul(n, bytes, &n) < 0)
		return err_memory(e);
	c->room = (size_t)n;
	if (num_mul(blocks, n, &n) < 0)
		return err_memory(e);
	return map_zeros(&c->memory, n, e);
}

void
cache_close(struct cache *c)
{
	map_close(&c->memory);
}

/* ---- places ---- */

/* Of a head's first value at a position, of keys at the first of its columns. */
static uint8_t *
key_at(const struct cache *c, size_t block, size_t head, size_t position)
{
	size_t first = position / LANES * LANES;

	return c->memory.p + block * c->room +
	       (head * c->positions + first) * c->head_k * size_of(c);
}

static uint8_t *
value_at(const struct cache *c, size_t block, size_t head, size_t position)
{
	return key_at(c, block, c->heads, 0) +
	       (head * c->positions + position) * c->head_v * size_of(c);
}

static uint8_t *
key_scales(const struct cache *c, size_t block, size_t head, size_t position)
{
	size_t first = position / LANES * LANES;

	return value_at(c, block, c->heads, 0) +
	       (head * c->positions + first) * blocks_of(c->head_k) * 2;
}

static uint8_t *
value_scales(const struct cache *c, size_t block, size_t head, size_t position)
{
	return key_scales(c, block, c->heads, 0) +
	       (head * c->positions + position) * blocks_of(c->head_v) * 2;
}

/* ---- writing ---- */

/* So many values, at most a block, in the type's bytes; of Q8_0 scale is told. */
static void
encode(const struct cache *c, const float *x, size_t n, uint8_t *y, uint8_t *scale)
{
	float whole[BLOCK] = { 0 };
	uint8_t stored[2 + BLOCK];

	if (c->type != INFER_CACHE_Q8_0) {
		c->kernel->encode(x, y, n);
		return;
	}
	memcpy(whole, x, n * sizeof *x);
	c->kernel->encode(whole, stored, BLOCK);
	memcpy(scale, stored, 2);
	memcpy(y, stored + 2, n);
}

void
cache_put_key(struct cache *c, size_t block, size_t head, size_t position,
              const float *key)
{
	size_t size = size_of(c), lane = position % LANES, d, i, n;
	uint8_t *to = key_at(c, block, head, position) + lane * size;
	uint8_t *scales = key_scales(c, block, head, position) + lane * 2;
	uint8_t some[BLOCK * sizeof(float)];

	for (d = 0; d < c->head_k; d += n) {
		n = c->head_k - d < BLOCK ? c->head_k - d : BLOCK;
		encode(c, key + d, n, some, scales + d / BLOCK * LANES * 2);
		for (i = 0; i < n; i++, to += LANES * size)
			memcpy(to, some + i * size, size);
	}
}

void
cache_put_value(struct cache *c, size_t block, size_t head, size_t position,
                const float *value)
{
	uint8_t *to = value_at(c, block, head, position);
	uint8_t *scales = value_scales(c, block, head, position);
	size_t d, n;

	for (d = 0; d < c->head_v; d += n) {
		n = c->head_v - d < BLOCK ? c->head_v - d : BLOCK;
		encode(c, value + d, n, to + d * size_of(c), scales + d / BLOCK * 2);
	}
}

/* ---- reading ---- */

/* In place; of Q8_0 with scales that are read later. */
static struct attend_rows
in_place(const struct cache *c, const uint8_t *p, size_t stride)
{
	static const enum attend_kind kinds[] = { ATTEND_F16, ATTEND_F32, ATTEND_Q8_0 };

	return (struct attend_rows){ .kind = kinds[c->type], .p = p, .stride = stride };
}

/* Scales of n blocks in each of count rows or groups, every one of so many times. */
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
	const uint8_t *at = key_at(c, p->block, p->head, p->first) + p->from * LANES * size_of(c);
	float *numbers = room;

	*rows = in_place(c, at, c->head_k);
	if (c->type == INFER_CACHE_Q8_0) {
		if (many) /* scales behind them */
			room += groups * LANES * p->width;
		read_scales(c, key_scales(c, p->block, p->head, p->first) +
		            p->from / BLOCK * LANES * 2, groups, blocks_of(c->head_k) * LANES,
		            blocks_of(p->width) * LANES, room, rows);
	}
	if (!many || c->type == INFER_CACHE_F32)
		return;
	if (c->type == INFER_CACHE_F16)
		c->kernel->decode(at, numbers, groups * LANES * p->width);
	for (i = 0; c->type == INFER_CACHE_Q8_0 && i < groups; i++)
		for (d = 0; d < p->width; d += n) {
			n = p->width - d < BLOCK ? p->width - d : BLOCK;
			attend_now()->columns((const int8_t *)at + (i * c->head_k + d) * LANES,
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
	const uint8_t *at = value_at(c, p->block, p->head, p->first) + p->from * size_of(c);
	float *numbers = room;
	size_t i;

	*rows = in_place(c, at, c->head_v);
	if (c->type == INFER_CACHE_Q8_0) {
		if (many)
			room += p->positions * p->width;
		read_scales(c, value_scales(c, p->block, p->head, p->first) + p->from / BLOCK * 2,
		            p->positions, blocks_of(c->head_v), blocks_of(p->width), room, rows);
	}
	if (!many || c->type == INFER_CACHE_F32)
		return;
	for (i = 0; i < p->positions; i++)
		if (c->type == INFER_CACHE_F16)
			c->kernel->decode(at + i * c->head_v * 2, numbers + i * p->width, p->width);
		else
			attend_now()->row((const int8_t *)at + i * c->head_v,
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

	ahead(key_at(c, p->block, p->head, p->first), n * c->head_k * size_of(c));
	if (c->type == INFER_CACHE_Q8_0)
		ahead(key_scales(c, p->block, p->head, p->first), n * blocks_of(c->head_k) * 2);
}

void
cache_values_ahead(const struct cache *c, const struct cache_piece *p)
{
	ahead(value_at(c, p->block, p->head, p->first), p->positions * c->head_v * size_of(c));
	if (c->type == INFER_CACHE_Q8_0)
		ahead(value_scales(c, p->block, p->head, p->first),
		      p->positions * blocks_of(c->head_v) * 2);
}
