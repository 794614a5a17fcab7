/* whole: types with one scale for all values of a tensor, which stands in front
 * of their codes: Q8_TENSOR, and APR_Q8 of existing .apr files.
 *
 *	 0      4      8                                 0      4
 *	+------+------+-------------------+             +------+--------------+
 *	| d    | zero | code 0, code 1 …  | Q8_TENSOR   | d    | code 0 …     | APR_Q8
 *	+------+------+-------------------+             +------+--------------+
 *	  f32    i32    i8 each                           f32    i8 each
 *
 *	value = d × (code - zero)
 *
 * d is the largest finite magnitude over 127, 1 where there is none, and codes lie
 * between -127 and 127; -128 is read all the same, and so is any zero point, though
 * 0 is what is written. Beyond what d reaches, infinities with it, codes are the
 * outermost; NaN is 0. So what was encoded decodes to finite values.
 *
 * Sources: the version 1 specification, section 6.2; for APR_Q8 the writer of such
 * files, which d and codes agree with but for numbers near the ends of single
 * precision: there d is a little more, so that no code is cut off, or less, so that
 * all are finite.
 *
 * The rest of a kernel is as in kernels/kernel.h.
 */
#ifndef KERNELS_WHOLE_H
#define KERNELS_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

struct whole {
	const char *dtype; /* name of the row in model/dtype.h, whose head it fills */

	/* The head for values of which the largest finite magnitude is most. */
	void (*begin)(float most, uint8_t *head);
	void (*encode)(const uint8_t *head, const float *x, uint8_t *y, size_t n);
	void (*decode)(const uint8_t *head, const uint8_t *x, float *y, size_t n);
};

/* That of a type, or NULL. */
const struct whole *whole_for(const struct dtype *t);

#endif
