/* cache: keys and values of all positions in all layers. The positions of a head lie next to
 * each other. A position takes memory when it is written.
 *
 * In Q8_0, the key (or value) of a head at a position has blocks of its own: 32 codes and a
 * scale in half precision, and fewer codes in the last block if the head's width is not a
 * multiple of 32. The numbers are those of the type, but codes and scales lie apart, and keys
 * of 32 positions lie in columns, as kernels/attend.h takes them.
 */
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

#include "core/map.h"
#include "infer/ops.h"
#include "kernels/attend.h"
#include "kernels/kernel.h"

struct cache {
	struct cache_shape shape;
	struct map memory;
	size_t positions;        /* those of the shape, rounded up to whole columns */
	size_t room;             /* bytes of a layer */
	const struct kernel *kernel; /* of the type, */
	const struct kernel *halves; /* and of the scales of Q8_0 */
};

/* As struct ops says. */
struct cache *cache_open(struct device *d, const struct cache_shape *s, struct err *e);
void cache_close(struct cache *c);
uint64_t cache_bytes(const struct cache *c);

/* Keep the key, or value, of a head at a position. */
void cache_put_key(struct cache *c, size_t layer, size_t head, size_t position,
                   const float *key);
void cache_put_value(struct cache *c, size_t layer, size_t head, size_t position,
                     const float *value);

/* A piece of what a head has: `positions` positions from `first` on (for keys, first is a
 * multiple of ATTEND_LANES), and of each the `width` values from `from` on, which is a
 * multiple of 32. If that is not the whole width of the head, a piece of keys has at most
 * ATTEND_LANES positions. */
struct cache_piece {
	size_t layer, head, first, positions, from, width;
};

/* A piece as attention takes it: keys in whole columns, values in rows. They stay in place,
 * or, if many queries will be multiplied with them, become single precision in room, which
 * is large enough for the whole piece. */
void cache_keys(const struct cache *c, const struct cache_piece *p, bool many, float *room,
                struct attend_rows *rows);
void cache_values(const struct cache *c, const struct cache_piece *p, bool many, float *room,
                  struct attend_rows *rows);

/* Prefetch all keys, or values, of these positions of a head, whatever the width is. */
void cache_keys_ahead(const struct cache *c, const struct cache_piece *p);
void cache_values_ahead(const struct cache *c, const struct cache_piece *p);

#endif
