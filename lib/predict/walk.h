/* walk: from rows to the leaves of trees, several rows at a time, so that the loads of one row
 * wait while those of another arrive.
 */
#ifndef PREDICT_WALK_H
#define PREDICT_WALK_H

#include "predict/forest.h"

/* Flags of struct forest_node, in word. */
#define WALK_FEATURE 0x00ffffffu
#define WALK_RIGHT 0x01000000u    /* a missing value goes right */
#define WALK_ZEROS 0x02000000u    /* a zero is a missing value */
#define WALK_CATEGORY 0x04000000u /* t is the place of a set */
#define WALK_NEGATIVE 0x08000000u /* what is below 0 is a missing value */

#define WALK_ROWS 8

/* The child of a split to which a row goes: the definition. */
uint32_t walk_step(const struct forest *f, const struct forest_node *n, const double *row);

/* The leaves, by their number in the forest, that n rows reach in a tree. */
void walk_leaves(const struct forest *f, const struct forest_tree *t, const double *rows, size_t n,
                 bool missing, uint32_t *leaf);

/* Copies the line of a leaf of the tree that is being added. 0, or -1 with e filled. */
int lines_put(struct forest *f, const struct tree *t, const struct tree_node *x, const char *where,
              struct err *e);

/* forest_rows of a forest with lines: n rows, without the ends of the sums. */
void lines_rows(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
                uint32_t *leaves);

/* Adds the leaves of one tree to the sums of n rows, in the order and precision of the library. */
void walk_add(const struct forest *f, const struct forest_tree *t, const uint32_t *leaf, size_t n,
              double *sums);

#endif
