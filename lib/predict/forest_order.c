#include <math.h>

#include "predict/forest.h"
#include "predict/walk.h"

/* Counts a node. False if nothing leads to it. */
static inline bool
step(struct forest_order *o)
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

bool
forest_order_split(struct forest_order *o, uint32_t feature, double threshold, bool right,
                   uint32_t first, uint32_t second)
{
	struct forest *f = o->f;
	size_t at = f->node_count + o->i;

	if (!step(o) || first != o->reached || second != o->reached + 1 || feature >= f->features ||
	    isnan(threshold))
		return false;
	f->nodes[at] = (struct forest_node){ .t = threshold, .word = feature | (right ? WALK_RIGHT : 0),
		.left = (uint32_t)(f->node_count + first) };
	o->reached += 2;
	return true;
}

bool
forest_order_leaf(struct forest_order *o, double value)
{
	struct forest *f = o->f;
	size_t at = f->node_count + o->i, k = f->leaf_count + o->leaves;
	uint32_t id = (uint32_t)o->i;

	if (!step(o) || o->leaves > o->n / 2)
		return false;
	f->nodes[at] = (struct forest_node){ .t = HUGE_VAL, .left = (uint32_t)at };
	f->leaf[at] = (uint32_t)k;
	f->ids[k] = id;
	f->values[f->value_count + o->leaves++] = value;
	return true;
}

bool
forest_order_end(struct forest_order *o)
{
	struct forest *f = o->f;

	if (o->i != o->n || o->reached != o->n)
		return false;
	f->trees[f->tree_count++] = (struct forest_tree){ .root = (uint32_t)f->node_count, .depth = o->depth,
		.plain = true };
	f->node_count += o->n;
	f->leaf_count += o->leaves;
	f->value_count += o->leaves;
	f->uncovered = true;
	return true;
}

void
forest_order_drop(struct forest_order *o)
{
	o->f->given -= o->n;
}
