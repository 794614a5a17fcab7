#include "infer/cache.h"

#include <string.h>

#include "core/num.h"
#include "kernels/kernel.h"

int
cache_open(struct cache *c, size_t blocks, size_t heads, size_t positions,
           size_t head_k, size_t head_v, size_t size, struct err *e)
{
	uint64_t n;

	*c = (struct cache){ .size = size, .heads = heads, .positions = positions,
		.head_k = head_k, .head_v = head_v };
	if (num_mul(blocks, heads, &n) < 0 || num_mul(n, positions, &n) < 0 ||
	    num_mul(n, (head_k + head_v) * size, &n) < 0)
		return err_memory(e);
	return map_zeros(&c->memory, n, e);
}

void
cache_close(struct cache *c)
{
	map_close(&c->memory);
}

/* Of each block the keys of all heads, then the values. */
static uint8_t *
key_at(const struct cache *c, size_t block, size_t head, size_t position)
{
	size_t at = block * c->heads * c->positions * (c->head_k + c->head_v);

	at += (head * c->positions + position) * c->head_k;
	return c->memory.p + at * c->size;
}

static uint8_t *
value_at(const struct cache *c, size_t block, size_t head, size_t position)
{
	size_t at = block * c->heads * c->positions * (c->head_k + c->head_v);

	at += c->heads * c->positions * c->head_k;
	at += (head * c->positions + position) * c->head_v;
	return c->memory.p + at * c->size;
}

static const struct kernel *
kernel_of(const struct cache *c)
{
	return kernel_for(dtype_by_name(c->size == 2 ? "F16" : "F32"));
}

static void
put(const struct cache *c, uint8_t *to, const float *from, size_t n)
{
	kernel_of(c)->encode(from, to, n);
}

static const float *
get(const struct cache *c, const uint8_t *from, size_t n, float *room)
{
	if (c->size == 4)
		return (const float *)from; /* of ours, and aligned */
	kernel_of(c)->decode(from, room, n);
	return room;
}

void
cache_put_key(struct cache *c, size_t block, size_t head, size_t position,
              const float *key)
{
	put(c, key_at(c, block, head, position), key, c->head_k);
}

void
cache_put_value(struct cache *c, size_t block, size_t head, size_t position,
                const float *value)
{
	put(c, value_at(c, block, head, position), value, c->head_v);
}

const float *
cache_keys(const struct cache *c, size_t block, size_t head, size_t first, size_t n,
           float *room)
{
	return get(c, key_at(c, block, head, first), n * c->head_k, room);
}

const float *
cache_values(const struct cache *c, size_t block, size_t head, size_t first, size_t n,
             float *room)
{
	return get(c, value_at(c, block, head, first), n * c->head_v, room);
}
