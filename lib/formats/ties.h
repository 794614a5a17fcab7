/* ties: the order of empty tensors. A container whose index is sorted by name
 * keeps the order of the others by their offsets; empty ones share theirs. So
 * where names do not give it, a list of index numbers does.
 */
#ifndef FORMATS_TIES_H
#define FORMATS_TIES_H

#include "model/model.h"

#define TIES_MEMBER "empty" /* of the plan as it lies in the metadata */

/* Do empty tensors that stand together come in another order than their names? */
bool ties_exist(const struct model *m);

/* The index numbers of all empty tensors, in stream order. by_name:
 * model_tensors_by_name. New reference, or NULL (memory). */
json_t *ties_list(const struct model *m, const size_t *by_name);

/* Into order: the numbers of n entries so that a stable sort by offset gives the
 * stream's order. list: as above, or NULL; empty: of each entry, whether it is.
 * 0, -1 (memory), or ERR_CORRUPT where the list is none. */
int ties_order(const json_t *list, const bool *empty, size_t n, size_t *order,
               const char *where, struct err *e);

#endif
