/* ties: the order of empty tensors. In a container whose index is sorted by name, offsets give
 * the order of tensors, but empty tensors share an offset. If the order of empty tensors is
 * not that of their names, a list of index numbers keeps it.
 */
#ifndef FORMATS_TIES_H
#define FORMATS_TIES_H

#include "model/model.h"

#define TIES_MEMBER "empty" /* the list's name in the plan in the metadata */

/* True if neighbouring empty tensors are not in the order of their names. */
bool ties_exist(const struct model *m);

/* The index numbers of all empty tensors, in stream order. by_name:
 * model_tensors_by_name. New reference, or NULL (memory). */
json_t *ties_list(const struct model *m, const size_t *by_name);

/* Fill order with the numbers of n entries, so that a stable sort by offset gives the
 * stream's order. list: as above, or NULL; empty: for each entry, true if it is empty. 0, or
 * -1: out of memory, or ERR_CORRUPT if the list is not valid. */
int ties_order(const json_t *list, const bool *empty, size_t n, size_t *order,
               const char *where, struct err *e);

#endif
