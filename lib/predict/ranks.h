/* ranks: a forest in a form for speed. The thresholds of each feature are sorted once; a value of a row
 * becomes its rank, the number of thresholds that it is greater than, and "x > t" becomes a comparison
 * of two small integers with the same result.
 *
 * A column is a feature and what becomes of its missing values: left, they have the lowest rank;
 * right, the highest. Columns of a feature share its thresholds and follow each other. Trees go through these forms:
 *
 *     cuts    all rows at once (predict/cuts.h): small trees, and the top of large ones
 *     heap    4 bytes a node, node i has the children 2i and 2i + 1; leaves above the last level are
 *             continued to the left. For the rest of large trees, and for single rows
 *     nodes   8 bytes a node, with the number of the left child: large trees that are too
 *             uneven for a heap
 *     walk    of predict/walk.h: trees with categories
 *
 * Only leaves come out, so sums are those of predict/walk.h.
 */
#ifndef PREDICT_RANKS_H
#define PREDICT_RANKS_H

#include "predict/cuts.h"
#include "predict/forest.h"
#include "predict/walk.h"

#define RANKS_COLUMNS 8192
#define RANKS_FEATURES (1u << 20)
#define RANKS_TOP 63     /* cuts of a tree that is too large to be one list of cuts: */
#define RANKS_LEVELS 6   /* the upper levels of a heap, or that many nodes */
#define RANKS_DEPTH 14   /* levels of a heap, at most */
#define RANKS_FEWEST 32  /* rows: fewer are walked one by one */

struct rank_column {
	uint32_t feature;
	bool right, zeros;     /* missing values go right; zeros are missing */
	uint32_t first, count; /* of struct forest_ranks' thresholds */
	struct cuts_list list; /* the same, if rows are rounded */
};

/* A node of the form "nodes", with the number of the forest's node. */
struct rank_node {
	int16_t rank;
	uint16_t column;
	uint32_t left;
};

struct rank_heap {
	uint16_t column;
	int16_t rank;
};

struct rank_tree {
	enum rank_form { RANK_WALKS, RANK_CUTS, RANK_HEAPS, RANK_NODES } form;
	bool heaped;           /* has a heap */
	bool full;             /* the leaves of the heap have the numbers from `leaf` on */
	uint8_t depth;         /* levels of the heap */
	uint32_t leaf;         /* the first leaf of the tree */
	size_t exits;          /* form heap or nodes: where its cuts lead to */
	size_t from, both, to; /* cuts */
	size_t heap;           /* place of node 0, which is not used */
	size_t leaves;         /* place of the numbers of the heap's leaves, unless it is full */
};

struct forest_ranks {
	const struct cuts_level *level;
	size_t bytes;          /* of a rank in a block: 1 or 2 */
	struct rank_column *columns;
	size_t column_count;
	double *thresholds;
	float *floats;         /* of the lists of columns */
	uint32_t *list_column; /* of each feature with columns: the first one */
	uint32_t *list_from, *list_half; /* of each of these, as in struct cuts_lists, and 15 more */
	size_t list_count;
	struct rank_tree *trees;
	struct cut *cuts;
	uint32_t *exits;
	struct rank_heap *heaps;
	uint32_t *leaves;
	struct cuts_trees *together; /* WALK_ROWS heaps of six levels, again; NULL: not made */
	struct rank_node *nodes;
	float *singles;        /* values of leaves, if the forest has sums in single precision */
};

/* What making one needs. */
struct rank_building {
	const struct forest *f;
	struct forest_ranks *r;
	uint32_t *keys;        /* for each feature and kind of column: a count, then the column and one */
	size_t cut_count, exit_count, heap_count, leaf_count;
};

/* Makes the trees; columns are there. 0, or -1 if memory runs out. */
int ranks_trees(struct rank_building *b);

/* The number behind the last node of a tree, which is in breadth-first order. */
size_t ranks_end(const struct forest *f, const struct forest_tree *t);
bool ranks_leaf(const struct forest *f, size_t node);
const struct rank_column *ranks_column(const struct rank_building *b, const struct forest_node *n);

/* The rank of x in a column, from 0: the number of thresholds below it. */
uint32_t ranks_of(const struct forest_ranks *r, const struct rank_column *c, double x);
/* What stands for rank 0. */
int32_t ranks_lowest(const struct forest_ranks *r);

void ranks_free(struct forest_ranks *r);

/* As forest_rows, without what becomes of the sums at the end. False, and nothing is done, if
 * memory runs out. */
bool ranks_rows(const struct forest *f, const double *rows, size_t n, bool missing, double *sums,
                uint32_t *leaves);

/* The ranks of one row, one for each column, in an array of CUTS_COLUMNS at least. */
void ranks_row(const struct forest *f, const double *row, int16_t *ranks);
/* The leaves of one row in WALK_ROWS trees from tree k on. False: they have no heaps of one depth. */
bool ranks_trees_of_row(const struct forest *f, size_t k, const int16_t *ranks,
                        uint32_t leaf[WALK_ROWS]);

#endif
