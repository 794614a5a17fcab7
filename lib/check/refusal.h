/* refusal: the point that a model fails whose reader refuses it.
 *
 * Readers name what is wrong in words and a code. This table gives the number of the point for
 * each (check/points.h), so that a report names the point and not only the message. t_refusal
 * compares the points of about 900 refused files with a list: a message that changes cannot move
 * a point unseen.
 */
#ifndef CHECK_REFUSAL_H
#define CHECK_REFUSAL_H

#include "core/err.h"

/* The number of the point, or 0: not a fault of the model (a file that does not exist, memory,
 * usage). */
unsigned refusal_point(const struct err *e);

#endif
