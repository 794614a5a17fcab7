/* whole: types with one scale for all values of a tensor, stored in front of
 * their codes: Q8_TENSOR, and APR_Q8 of existing .apr files.
 *
 *	 0      4      8                                 0      4
 *	+------+------+-------------------+             +------+--------------+
 *	| d    | zero | code 0, code 1 …  | Q8_TENSOR   | d    | code 0 …     | APR_Q8
 *	+------+------+-------------------+             +------+--------------+
 *	  f32    i32    i8 each                           f32    i8 each
 *
 *	value = d × (code - zero)
 *
 * d is the largest finite magnitude over 127, or 1 if there is none. Codes lie between
 * -127 and 127, and zero is 0; readers accept -128 and any zero point. Values beyond
 * the reach of d, infinities included, get the outermost codes; NaN gets 0. So what was
 * encoded decodes to finite values.
 *
 * Sources: the version 1 specification, section 6.2; for APR_Q8 the writer of such
 * files. d and codes agree with it except near the ends of single precision: there d
 * is a little larger, so that no code is cut off, or smaller, so that all values are
 * finite.
 *
 * For the rest see kernels/kernel.h.
 */
#ifndef KERNELS_WHOLE_H
#define KERNELS_WHOLE_H

#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

struct whole {
	const char *dtype; /* name of the row in model/dtype.h; the functions fill and read its head */

	/* Write the head for values whose largest finite magnitude is most. */
	void (*begin)(float most, uint8_t *head);
	void (*encode)(const uint8_t *head, const float *x, uint8_t *y, size_t n);
	void (*decode)(const uint8_t *head, const uint8_t *x, float *y, size_t n);
};

/* The functions for a type, or NULL. */
const struct whole *whole_for(const struct dtype *t);

#endif
