/* cache: keys and values of all positions so far, of all blocks, each head's positions
 * after another. A position takes memory when it is written.
 *
 * Of Q8_0, each head at a position has its own blocks: 32 codes and a scale in half
 * precision, of fewer codes in the last where heads are no multiple of 32 wide. The
 * numbers are those of the type, but codes and scales lie apart, and keys of 32 positions
 * lie in columns, as kernels/attend.h takes them.
 */
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/map.h"
#include "infer/infer.h"
#include "kernels/attend.h"
#include "kernels/kernel.h"

struct cache {
	struct map memory;
	enum infer_cache type;
	size_t heads, positions; /* of each block; positions in whole columns */
	size_t head_k, head_v;   /* values of a head at a position */
	size_t room;             /* bytes of a block */
	const struct kernel *kernel; /* of the type; halves, those of its scales too */
	const struct kernel *halves;
};

int cache_open(struct cache *c, size_t blocks, size_t heads, size_t positions,
               size_t head_k, size_t head_v, enum infer_cache type, struct err *e);
void cache_close(struct cache *c);

/* Keep a head's key, or value, at a position. */
void cache_put_key(struct cache *c, size_t block, size_t head, size_t position,
                   const float *key);
void cache_put_value(struct cache *c, size_t block, size_t head, size_t position,
                     const float *value);

/* A piece of what is kept of a head: of some positions, first being a multiple of
 * ATTEND_LANES where they are keys, width values of each, from value from on, a multiple
 * of 32. Where that is not all of a head, keys are of ATTEND_LANES positions at most. */
struct cache_piece {
	size_t block, head, first, positions, from, width;
};

/* As attention takes them: keys in columns, a whole number of them, values in rows; in
 * place, or if many shall be multiplied with them in single precision. room: for all of the
 * piece. */
void cache_keys(const struct cache *c, const struct cache_piece *p, bool many, float *room,
                struct attend_rows *rows);
void cache_values(const struct cache *c, const struct cache_piece *p, bool many, float *room,
                  struct attend_rows *rows);

/* All keys, or values, of these positions of a head will be asked for soon; width is not
 * looked at. */
void cache_keys_ahead(const struct cache *c, const struct cache_piece *p);
void cache_values_ahead(const struct cache *c, const struct cache_piece *p);

#endif
