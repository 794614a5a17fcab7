/* cache: keys and values of all positions so far, of all blocks, each head's positions
 * after another. A position takes memory when it is written.
 */
#ifndef INFER_CACHE_H
#define INFER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/map.h"

struct cache {
	struct map memory;
	size_t size;             /* bytes of a value: 2 for F16, 4 for F32 */
	size_t heads, positions; /* of each block */
	size_t head_k, head_v;   /* values of a head at a position */
};

int cache_open(struct cache *c, size_t blocks, size_t heads, size_t positions,
               size_t head_k, size_t head_v, size_t size, struct err *e);
void cache_close(struct cache *c);

/* Keep a head's key, or value, at a position. */
void cache_put_key(struct cache *c, size_t block, size_t head, size_t position,
                   const float *key);
void cache_put_value(struct cache *c, size_t block, size_t head, size_t position,
                     const float *value);

/* n positions from first on, in single precision: in room, or where they lie. */
const float *cache_keys(const struct cache *c, size_t block, size_t head, size_t first,
                        size_t n, float *room);
const float *cache_values(const struct cache *c, size_t block, size_t head, size_t first,
                          size_t n, float *room);

#endif
