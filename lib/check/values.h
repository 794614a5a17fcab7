/* values: judges what stands in the tensors of a survey.
 *
 * Points 26 to 31, 34, 35, 37 and 41 of the list (check/points.h), and rules of its own, with ids
 * "VALUES-…":
 *   single tensors   what no encoder or training makes, ranges of the architecture
 *                    (arch/normal/normal.h)
 *   siblings         tensors of one role in all blocks: one whose scale is far from all others
 *   bonds            partners in one block, such as queries and keys, grow together in training:
 *                    rows or columns that are strong in one are strong in the other. A tensor
 *                    that is transposed, permuted, shifted or of another block breaks this.
 * tests/bench/FAULTS.md has the share of seeded faults that are found.
 */
#ifndef CHECK_VALUES_H
#define CHECK_VALUES_H

#include "check/finding.h"
#include "check/survey.h"

/* 0, or -1 if memory ran out. */
int values_judge(const struct survey *s, struct findings *f, struct err *e);

/* Compares statistics with those of a model that is known to be good: tensors of the same
 * name, or of the same role if one has names of GGUF and the other of a folder. Means and
 * deviations may differ by what the types lose. */
int values_compare(const struct survey *s, const struct survey *reference, struct findings *f,
                   struct err *e);

/* The rules with ids of their own, up to one without an id. */
extern const struct rule values_rules[];

#endif
