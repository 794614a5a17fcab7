#include "adapt/packed/packed_work.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "adapt/packed/packed_kind.h"
#include "core/le.h"
#include "core/mem.h"
#include "kernels/kernel.h"

void
packed_work_free(struct packed_work *w)
{
	free(w->bytes);
	free(w->scale);
	free(w->zero);
	free(w->group);
}

int
packed_get(const struct packed *p, const struct packed_reader *in, enum packed_part part,
    uint64_t offset, void *dst, size_t n, struct err *e)
{
	uint64_t all = tensor_bytes(p->from[part]);

	if (offset > all || n > all - offset)
		return err_set(e, ERR_CORRUPT, tensor_name(p->from[part]), "is too short");
	return n == 0 ? 0 : in->read(in->ctx, p->part[part], offset, dst, n, e);
}

/* n little-endian words at dst become numbers of this machine. */
static void
words_native(uint32_t *dst, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		dst[i] = le32((const uint8_t *)&dst[i]);
}

int
packed_get_words(const struct packed *p, const struct packed_reader *in, enum packed_part part,
          uint64_t first, uint32_t *dst, size_t n, struct err *e)
{
	if (packed_get(p, in, part, first * 4, dst, n * 4, e) < 0)
		return -1;
	words_native(dst, n);
	return 0;
}

/* Powers of two without a sign: 2^(code - 127), and one NaN. */
static float
e8m0_value(uint8_t code)
{
	return code == 255 ? NAN : ldexpf(1.0f, code - 127);
}

int
packed_get_scales(const struct packed *p, const struct packed_reader *in, uint64_t first,
           float *dst, size_t n, struct err *e)
{
	const struct dtype *type = tensor_type(p->from[PACKED_SCALE]);
	uint8_t piece[4096];
	size_t i, k, most = sizeof piece / type->bytes;

	for (; n > 0; first += k, dst += k, n -= k) {
		k = n < most ? n : most;
		if (packed_get(p, in, PACKED_SCALE, first * type->bytes, piece, k * type->bytes, e) < 0)
			return -1;
		if (kernel_decodes(type))
			kernel_decode(type, NULL, piece, dst, k);
		for (i = 0; !kernel_decodes(type) && i < k; i++)
			dst[i] = e8m0_value(piece[i]);
	}
	return 0;
}

/* Whether a list of groups has a meaning. compressed-tensors marks one without by -1; old
 * versions of AutoGPTQ left it all zero. */
static bool
means_groups(const struct packed *p, const uint32_t *group, size_t n)
{
	size_t i;

	if (n > 0 && p->kind == packed_words && group[0] == UINT32_MAX)
		return false;
	for (i = 0; i < n && group[i] == 0; i++)
		;
	return i < n || p->groups == 1;
}

int
packed_get_groups(const struct packed *p, const struct packed_reader *in,
                  struct packed_work *w, struct err *e)
{
	size_t i, n = (size_t)tensor_row(p->tensor);
	bool counts = !p->from[PACKED_INDEX];

	w->group = mem_array(n, sizeof *w->group);
	if (!w->group)
		return err_memory(e);
	if (!counts) {
		if (packed_get_words(p, in, PACKED_INDEX, 0, w->group, n, e) < 0)
			return -1;
		counts = !means_groups(p, w->group, n);
	}
	for (i = 0; i < n; i++) {
		if (counts)
			w->group[i] = (uint32_t)(i / p->step[2]);
		if (w->group[i] >= p->groups)
			return err_set(e, ERR_CORRUPT, tensor_name(p->from[p->from[PACKED_INDEX] ?
			               PACKED_INDEX : PACKED_SCALE]), "column %zu is in group %" PRId32
			               ", but there are %" PRIu64, i, (int32_t)w->group[i], p->groups);
	}
	return 0;
}
