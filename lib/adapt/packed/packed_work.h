/* packed_work: reads parts of a packed weight. Internal to packed*.c.
 */
#ifndef ADAPT_PACKED_WORK_H
#define ADAPT_PACKED_WORK_H

#include "adapt/packed/packed.h"

/* What some rows need. Arrays of zero or more values, or NULL. */
struct packed_work {
	uint8_t *bytes;
	float *scale;
	int32_t *zero;
	uint32_t *group; /* of each column */
};

void packed_work_free(struct packed_work *w);

/* n bytes of a part. 0 or -1. */
int packed_get(const struct packed *p, const struct packed_reader *in, enum packed_part part,
               uint64_t offset, void *dst, size_t n, struct err *e);

/* n words of 32 bits from number `first` on. 0 or -1. */
int packed_get_words(const struct packed *p, const struct packed_reader *in,
                     enum packed_part part, uint64_t first, uint32_t *dst, size_t n,
                     struct err *e);

/* n scales from number `first` on. 0 or -1. */
int packed_get_scales(const struct packed *p, const struct packed_reader *in, uint64_t first,
                      float *dst, size_t n, struct err *e);

/* Fill w->group, from the tensor that says it or by counting; each number is below
 * p->groups. 0 or -1. */
int packed_get_groups(const struct packed *p, const struct packed_reader *in,
                      struct packed_work *w, struct err *e);

#endif
