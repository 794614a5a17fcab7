/* forest: decision trees of any library in one form, and the walk from rows to leaves.
 *
 * A reader adds trees one by one: nodes in its own order, with links by number, node 0 the root.
 * forest_add proves that they form a tree (each link inside the list, no node reached twice),
 * and puts them in breadth-first order, the two children of a node side by side. A node of the
 * walk has 16 bytes:
 *
 *     t      go right if x > t; a leaf has +inf, so that it leads to itself
 *     word   number of the feature (24 bits), flags
 *     left   number of the left child, the right one follows it
 *
 * All libraries are expressed by "left if x <= t": XGBoost's "left if x < t" in single precision
 * is x <= t', the next smaller float; scikit-learn compares floats with a double and CatBoost asks
 * for x > t. Rows whose library computes in single precision have been rounded to it, so
 * comparisons of doubles have the same result.
 *
 * Sources of the rules: XGBoost's src/predictor and tree_model.h; LightGBM's include/LightGBM/
 * tree.h; scikit-learn's sklearn/tree/_tree.pyx; CatBoost's documentation of the JSON model.
 */
#ifndef PREDICT_FOREST_H
#define PREDICT_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

#define FOREST_FEATURES (1u << 24)
#define FOREST_NODES (1u << 28)
#define FOREST_GROUPS 65536u
#define FOREST_SETS (1u << 26)   /* words of the sets of categories of all trees */
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define FOREST_VALUES (1u << 27) /* values of leaves that have one for each output */
#else
#define FOREST_VALUES (1u << 17)
#endif
#define FOREST_ZERO_LIMIT ((double)1e-35f) /* LightGBM's kZeroThreshold */

/* What a missing value (NaN) does at a split. */
enum forest_missing {
	FOREST_NONE,  /* it counts as 0 */
	FOREST_NAN,   /* it goes left or right by default_left */
	FOREST_ZEROS, /* as FOREST_NAN; zeros are missing as well */
	FOREST_REFUSE /* the library does not accept it: the caller refuses rows that have one */
};

/* A leaf can be a line: the constant, and the products of weights and features are added to it one by one.
 * A row that lacks one of these features gets the value of the leaf instead. */
struct forest_term {
	double weight;
	uint32_t feature;
};

struct forest_line {
	bool line;         /* false: a leaf as others */
	double constant;
	size_t term, terms;
};

/* A node as a reader gives it. */
struct tree_node {
	double threshold;     /* left if x <= threshold */
	uint32_t feature;
	uint32_t left, right; /* numbers of nodes; left == right == 0: a leaf */
	uint32_t id;          /* of a leaf, as the library counts them */
	size_t values;        /* of a leaf: place of its values in struct tree */
	bool default_left;
	uint8_t missing;      /* enum forest_missing */
	bool category;        /* left if the category is in the set; sets of struct tree */
	bool negative;        /* a category below 0 is a missing value */
	size_t set, set_words;
	bool line;            /* a leaf that is a line (struct forest_line): terms of struct tree */
	double constant;
	size_t term, term_count;
	double cover;         /* rows of training that reached the node, or the sum of their weights */
};

struct tree {
	struct tree_node *nodes;
	size_t count, cap;
	struct buf values; /* doubles */
	struct buf sets;   /* u32: bit c of a set is category c */
	struct buf terms;  /* struct forest_term */
	uint32_t group;    /* output that its leaves add to; unused if a leaf has all outputs */
	bool covered;      /* its nodes have covers */
};

/* A node of the walk. */
struct forest_node {
	double t;
	uint32_t word, left;
};

struct forest_tree {
	uint32_t root, depth, group;
	bool plain;        /* no node needs more than a comparison and the default for NaN */
};

struct forest {
	size_t features;   /* rows have this many values */
	size_t groups;     /* outputs */
	size_t width;      /* values in a leaf: 1, or groups */
	bool single;       /* sums are in single precision */
	bool rounded;      /* values of rows have been rounded to single precision */
	bool average;      /* the sum is divided by the trees of a group */
	bool sums;         /* scores are the sums, and predict_link divides them */
	bool refuses_nan;  /* a node is FOREST_REFUSE */
	double *base, *bias; /* groups values: before the first tree, and after the last: */
	bool scaled;       /* result = scale * sum + bias */
	double scale;

	size_t given;      /* nodes of all trees, reachable or not */
	size_t most;       /* nodes, and values of leaves, at most; 0: any number. A reader of a
	                    * file whose parts can be shared sets it to the bytes of the file */

	struct forest_tree *trees;
	size_t tree_count, tree_cap;
	struct forest_node *nodes;
	uint32_t *leaf;    /* for each node: number of the leaf */
	double *covers;    /* for each node, if the trees are covered */
	bool uncovered;    /* a tree has no covers */
	size_t node_count, node_cap, leaf_cap, cover_cap;
	double *values;    /* width for each leaf */
	size_t value_count, value_cap;
	uint32_t *ids;     /* of leaves */
	size_t leaf_count, id_cap;
	struct buf sets;   /* u32: words of the set, then the set */
	struct forest_line *lines; /* of the first line_cap leaves; NULL: none is a line. width is 1 */
	size_t line_cap;
	struct buf terms;
	uint8_t *block;    /* of forest_reserve: lists in it are not freed by themselves */
	size_t block_bytes;
	struct forest_ranks *ranks; /* the same trees for many rows, or NULL */

	/* Of forest_add and forest_add_lists, for each node of a tree: its number, its depth, whether it has a parent. */
	uint32_t *order, *depth;
	bool *seen;
	size_t order_cap;
};

/* Room for order, depth and seen of a tree of n nodes. 0 or -1. */
int forest_room_of_tree(struct forest *f, size_t n);

/* Prepares a forest; base is zeros, scale 1, and most is kept. 0 or -1. */
int forest_begin(struct forest *f, size_t features, size_t groups, size_t width, struct err *e);
void forest_free(struct forest *f);

/* Empties a tree for the next one, and keeps its memory. */
void tree_clear(struct tree *t);
void tree_free(struct tree *t);

/* Appends a node or a leaf; NULL if memory runs out. */
struct tree_node *tree_add(struct tree *t);
/* Makes node x a leaf with one value. 0 or -1. */
int tree_leaf(struct tree *t, struct tree_node *x, double value, uint32_t id);

/* Refuses more than FOREST_SETS words of sets: used and n more. 0, or -1 with ERR_MEMORY. */
int forest_sets(size_t used, size_t n, const char *where, struct err *e);

/* Adds a tree. where: the file; messages also have the number of the tree. 0, or -1 with e filled (E002
 * for what is not a tree). */
int forest_add(struct forest *f, const struct tree *t, const char *where, struct err *e);

/* A tree as lists: splits have the numbers from 0 on, which is the root; the child ~k is leaf k, which has
 * the id k and one value. */
struct forest_lists {
	const int32_t *left, *right, *feature;
	const double *threshold, *value;
	const bool *missing_right;
	size_t splits, leaves;
	uint32_t group;
};

/* Appends such a tree unless it needs covers. False, with f as it was, if it is not a tree: forest_add has
 * the error. */
bool forest_add_lists(struct forest *f, const struct forest_lists *t);

/* Makes room for these numbers of nodes, leaves and trees in all, so that a reader can append trees that it
 * has proved itself. 0, or -1 with e filled. */
int forest_reserve(struct forest *f, size_t nodes, size_t leaves, size_t trees, struct err *e);

/* For files that have these facts behind the trees, which were added to a forest of FOREST_FEATURES
 * features, one output and leaves of one value: the numbers of features and outputs (before base is
 * set), the output of tree k, and what its leaves are multiplied by, in single precision. 0, or -1
 * with e filled. */
int forest_settle(struct forest *f, size_t features, size_t groups, const char *where, struct err *e);
int forest_assign(struct forest *f, size_t k, double group, const char *where, struct err *e);
void forest_weigh(struct forest *f, size_t k, float weight);

/* Leaves out the trees behind the first n of each output, whose trees can stand in any order. 0
 * or -1. */
int forest_limit(struct forest *f, size_t n, struct err *e);

/* The threshold t' for which "x <= t'" is "x < t" in single precision, except for -inf. */
double forest_below(float t);

/* Makes the form for many rows, which the caller puts into f->ranks when no tree will be added any
 * more; it costs about as much as some hundred rows. NULL if it would need more bytes than most, or if
 * the forest has too many features or thresholds for it, or leaves that are lines. */
struct forest_ranks *forest_ranks(const struct forest *f, size_t most);

#define FOREST_BLOCK 512 /* rows at once */

/* Computes n rows, at most FOREST_BLOCK, of features values each, to sums of groups values each
 * (NULL: none) and to the ids of leaves, one for each tree (NULL: none). missing: a value of the
 * rows may be NaN. */
void forest_rows(const struct forest *f, const double *rows, size_t n, bool missing,
                 double *sums, uint32_t *leaves);

#endif
