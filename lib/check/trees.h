/* trees: decision trees whose columns are tensors, as the payloads of APR version 1 become: their
 * figures, and what is wrong with them.
 *
 * The columns of a tree are PREFIXnode_features (I64, a negative number: a leaf), _thresholds
 * (F32), _classes (U64) or _values (F32), _left_child and _right_child (I64), and PREFIXn_features
 * (U64) if it is there. They follow each other, in any order. A tree that lacks one is not judged.
 *
 * Or the trees of a model follow one another in the tensors forest.counts, forest.features,
 * forest.thresholds, forest.left and forest.values (predict/form.h), in any order.
 */
#ifndef CHECK_TREES_H
#define CHECK_TREES_H

#include <stdbool.h>

#include "arch/classic.h"
#include "core/buf.h"
#include "core/err.h"
#include "model/tensor.h"

#define TREES_BYTES (64u << 20) /* of a column; a longer one is left out */
#define TREES_FAULTS 64         /* are kept of all kinds together */

enum trees_fault {
	TREES_CHILD,     /* a child is not a node; number: the child */
	TREES_TWICE,     /* a node has two parents, or is the root and a child: a cycle or a join */
	TREES_UNREACHED, /* number: of nodes that nothing leads to */
	TREES_THRESHOLD, /* is NaN */
	TREES_FEATURE,   /* number: the feature, of `of` */
	TREES_LENGTHS,   /* the columns differ in length */
	TREES_SHARES,    /* the probabilities of a leaf do not sum to 1; sum */
	TREES_KINDS
};

#define TREES_COLUMNS 12

/* The caller sets said, if the model states anything. */
struct trees {
	struct classic_form said;
	uint64_t count, nodes, depth, features, classes; /* of all trees that were read */
	struct trees_found {
		enum trees_fault kind;
		char prefix[64];
		uint64_t tree, node; /* tree: of forest.…, counted from 1; 0: a tree with columns of its own */
		int64_t number, of;
		double sum;
	} found[TREES_FAULTS];
	size_t found_count;

	/* The tree that arrives; or all of forest.… */
	char prefix[64];
	uint64_t tree;
	struct buf columns[TREES_COLUMNS];
	bool has[TREES_COLUMNS];
	unsigned column; /* that is being read, or the number of columns */
};

/* True if the tensor is a column; its bytes are then due, in any pieces. 0 or -1. */
int trees_begin(struct trees *t, const struct tensor *tensor, bool *wanted, struct err *e);
int trees_add(struct trees *t, const uint8_t *p, size_t n, struct err *e);
/* All columns have come. 0 or -1. */
int trees_end(struct trees *t, struct err *e);
void trees_free(struct trees *t);

#endif
