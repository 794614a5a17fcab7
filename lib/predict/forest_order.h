/* forest_order: trees whose nodes are in the order of a forest already.
 */
#ifndef PREDICT_FOREST_ORDER_H
#define PREDICT_FOREST_ORDER_H

#include <math.h>

#include "predict/forest.h"
#include "predict/walk.h"

/* A tree that a reader appends itself: nodes in breadth-first order, so that the children of each split are
 * the next two nodes without a parent, and all of them are reached. Leaves have one value. */
struct forest_order {
	struct forest *f;
	size_t n, i;         /* nodes, and those so far */
	size_t reached;      /* nodes that are a child, or the root */
	size_t leaves;
	size_t level;        /* the first node of the next level */
	uint32_t depth;
};

/* Makes room for a tree of n nodes. 0, or -1 with e filled. */
int forest_order_begin(struct forest_order *o, struct forest *f, size_t n, struct err *e);

/* Counts a node. False if nothing leads to it. */
static inline bool
forest_order_step(struct forest_order *o)
{
	if (o->i >= o->n || o->i >= o->reached)
		return false;
	if (o->i == o->level) {
		o->level = o->reached;
		o->depth++;
	}
	o->i++;
	return true;
}

/* Append the next node. False, and forest_order_drop is due, if the tree is something else. right: a
 * missing value goes right. */
static inline bool
forest_order_split(struct forest_order *o, uint32_t feature, double threshold, bool right,
                   uint32_t first, uint32_t second)
{
	struct forest *f = o->f;
	size_t at = f->node_count + o->i;

	if (!forest_order_step(o) || first != o->reached || second != o->reached + 1 || feature >= f->features ||
	    isnan(threshold))
		return false;
	f->nodes[at] = (struct forest_node){ .t = threshold, .word = feature | (right ? WALK_RIGHT : 0),
		.left = (uint32_t)(f->node_count + first) };
	o->reached += 2;
	return true;
}

static inline bool
forest_order_leaf(struct forest_order *o, double value, uint32_t id)
{
	struct forest *f = o->f;
	size_t at = f->node_count + o->i, k = f->leaf_count + o->leaves;

	if (!forest_order_step(o) || o->leaves > o->n / 2)
		return false;
	f->nodes[at] = (struct forest_node){ .t = HUGE_VAL, .left = (uint32_t)at };
	f->leaf[at] = (uint32_t)k;
	f->ids[k] = id;
	f->values[f->value_count + o->leaves++] = value;
	return true;
}

/* Ends the tree, for output 0. False as above. */
bool forest_order_end(struct forest_order *o);
void forest_order_drop(struct forest_order *o);

#endif
