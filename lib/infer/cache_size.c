/* The bytes of a cache. Kernels take keys in columns of ATTEND_LANES positions, so positions are
 * rounded up to whole columns. */
#include "core/num.h"
#include "infer/ops.h"
#include "kernels/attend.h"

static uint64_t
blocks_of(uint64_t width)
{
	return (width + ATTEND_BLOCK - 1) / ATTEND_BLOCK;
}

int
cache_size(const struct cache_shape *s, struct cache_size *to)
{
	uint64_t each = s->type == CACHE_F32 ? 4 : s->type == CACHE_F16 ? 2 : 1, n;
	uint64_t bytes = (s->head_k + s->head_v) * each;

	if (num_add(s->positions, ATTEND_LANES - 1, &n) < 0)
		return -1;
	to->positions = n / ATTEND_LANES * ATTEND_LANES;
	if (s->type == CACHE_Q8_0)
		bytes += 2 * (blocks_of(s->head_k) + blocks_of(s->head_v));
	if (num_mul(s->heads, to->positions, &n) < 0 || num_mul(n, bytes, &to->layer) < 0)
		return -1;
	return num_mul(s->layers, to->layer, &to->bytes);
}
