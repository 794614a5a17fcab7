/* border: which of the values of a tensor are the n largest in magnitude, in constant memory.
 *
 * Magnitudes of single precision have the order of their bits without the sign. One pass counts
 * the upper 16 of these 31 bits (coarse), a second one the lower 15 bits of those values that
 * share the upper ones with the border (fine). Among equal values, those with the lower index
 * come first. NaN is larger than any number.
 */
#ifndef STATS_BORDER_H
#define STATS_BORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BORDER_COARSE 65536 /* bins; the upper half stays empty, as bits have no sign */
#define BORDER_FINE 32768
#define BORDER_SHIFT 15

/* A value is above the border if its bits are at least `from`, or if they are `equal` and fewer
 * than `take` values with the same bits come before it. */
struct border {
	uint64_t rank;      /* values above the border */
	bool open;          /* still to be found: */
	uint32_t bin;       /* the upper bits of the border, and */
	uint64_t before;    /* the values of higher bins */
	uint32_t from, equal;
	uint64_t take;      /* 0: values that are equal to the border are all on one side */
};

static inline uint32_t
border_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	return bits & 0x7fffffffu;
}

/* Begin a border with `rank` of n values above it. It is not open if that is none or all. */
void border_begin(struct border *b, uint64_t rank, uint64_t n);

/* Add the magnitudes of n values to the bins of a pass. */
void border_count(uint32_t *coarse, const float *x, size_t n);
void border_count_fine(const struct border *b, uint32_t *fine, const float *x, size_t n);

/* After the passes over all values. */
void border_coarse(struct border *b, const uint64_t *bins);
void border_fine(struct border *b, const uint64_t *bins);

/* The number of n values that are equal to the border; 0 if their order does not matter. */
uint64_t border_equals(const struct border *b, const float *x, size_t n);

/* Whether a value is above; *equals counts the values of the tensor that were equal before. */
static inline bool
border_above(const struct border *b, uint32_t bits, uint64_t *equals)
{
	if (bits >= b->from)
		return true;
	return bits == b->equal && b->take > 0 && (*equals)++ < b->take;
}

/* Whether a piece of a tensor needs only a comparison: all of its values that are equal to the border
 * are above it, or none. before: equal values before the piece; here: in it. *from: the bits from
 * which on values are above. */
static inline bool
border_plain(const struct border *b, uint64_t before, uint64_t here, uint32_t *from)
{
	bool none = b->take <= before, all = here <= b->take - before;

	*from = none ? b->from : b->equal;
	return none || all;
}

#endif
