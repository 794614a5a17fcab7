/* ties: the order of empty tensors. In a container whose index is sorted by name, the
 * offsets keep the order of the other tensors, but empty tensors share an offset. If their
 * order is not that of their names, a list of index numbers keeps it.
 */
#ifndef FORMATS_TIES_H
#define FORMATS_TIES_H

#include "model/model.h"

#define TIES_MEMBER "empty" /* of the plan as it lies in the metadata */

/* True if neighbouring empty tensors are in another order than their names. */
bool ties_exist(const struct model *m);

/* The index numbers of all empty tensors, in stream order. by_name:
 * model_tensors_by_name. New reference, or NULL (memory). */
json_t *ties_list(const struct model *m, const size_t *by_name);

/* Into order: the numbers of n entries so that a stable sort by offset gives the
 * stream's order. list: as above, or NULL; empty: of each entry, whether it is.
 * 0, or -1 (out of memory; ERR_CORRUPT if the list is not valid). */
int ties_order(const json_t *list, const bool *empty, size_t n, size_t *order,
               const char *where, struct err *e);

#endif
