#include "cli/sparse/cut.h"

#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"

/* Magnitudes of binary floats have the order of their bits, so the values up to a threshold are
 * those whose bits, without the sign, are at most these: */

static uint64_t
bits64(double threshold)
{
	uint64_t bits;

	memcpy(&bits, &threshold, sizeof bits);
	return bits;
}

static uint32_t
bits32(double threshold)
{
	float f = threshold < (double)3.40282347e38f ? (float)threshold : 3.40282347e38f;
	uint32_t bits;

	if ((double)f > threshold)
		f = nextafterf(f, 0);
	memcpy(&bits, &f, sizeof bits);
	return bits;
}

/* The largest finite half whose value is at most threshold. */
static uint16_t
bits16(double threshold)
{
	uint16_t low = 0, high = 0x7bff, mid;

	while (low < high) {
		mid = (uint16_t)((low + high + 1) / 2);
		if ((double)half_f16_f32(mid) <= threshold)
			low = mid;
		else
			high = (uint16_t)(mid - 1);
	}
	return low;
}

static void
cut16(uint8_t *p, size_t n, uint16_t most)
{
	for (; n > 0; n--, p += 2)
		if ((le16(p) & 0x7fff) <= most)
			le16_put(p, 0);
}

static void
cut32(uint8_t *p, size_t n, uint32_t most)
{
	for (; n > 0; n--, p += 4)
		if ((le32(p) & 0x7fffffff) <= most)
			le32_put(p, 0);
}

static void
cut64(uint8_t *p, size_t n, uint64_t most)
{
	for (; n > 0; n--, p += 8)
		if ((le64(p) & 0x7fffffffffffffff) <= most)
			le64_put(p, 0);
}

bool
cut_changes(const struct dtype *t)
{
	return strcmp(t->name, "F16") == 0 || strcmp(t->name, "BF16") == 0 ||
	       strcmp(t->name, "F32") == 0 || strcmp(t->name, "F64") == 0;
}

void
cut_values(const struct dtype *t, double threshold, uint8_t *p, size_t n)
{
	switch (t->name[0] == 'B' ? 'B' : t->bytes) {
	case 'B':
		cut16(p, n, (uint16_t)(bits32(threshold) >> 16));
		break;
	case 2:
		cut16(p, n, bits16(threshold));
		break;
	case 4:
		cut32(p, n, bits32(threshold));
		break;
	case 8:
		cut64(p, n, bits64(threshold));
		break;
	}
}
