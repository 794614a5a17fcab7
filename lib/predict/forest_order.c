#include "predict/forest_order.h"

#include <string.h>

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

/* ---- trees as lists ---- */

/* Appends split k, and its children to the queue. */
static bool
put_split(struct forest_order *o, const struct forest_lists *t, uint32_t k, uint32_t *queue)
{
	uint32_t first = (uint32_t)o->reached;

	if (k >= t->splits || o->n - o->reached < 2)
		return false;
	queue[first] = (uint32_t)t->left[k];
	queue[first + 1] = (uint32_t)t->right[k];
	return forest_order_split(o, (uint32_t)t->feature[k], t->threshold[k], t->missing_right[k], first, first + 1);
}

/* Appends the nodes from the root on, each once. queue, seen: room for a tree of o->n nodes; seen is zeros. */
static bool
put_all(struct forest_order *o, const struct forest_lists *t, uint32_t *queue, bool *seen)
{
	bool good = true;
	size_t i;

	queue[0] = t->splits ? 0 : UINT32_MAX;
	for (i = 0; good && i < o->reached; i++) {
		bool leaf = queue[i] >> 31;
		uint32_t k = leaf ? ~queue[i] : queue[i];
		size_t place = leaf ? t->splits + k : k;

		if (place >= o->n || seen[place])
			return false;
		seen[place] = true;
		good = leaf ? forest_order_leaf(o, t->value[k], k) : put_split(o, t, k, queue);
	}
	return good && forest_order_end(o);
}

bool
forest_add_lists(struct forest *f, const struct forest_lists *t)
{
	struct forest_order o;
	struct err e = ERR_INIT;
	size_t n = t->splits + t->leaves;
	bool good;

	if (t->leaves == 0 || t->group >= f->groups || f->width != 1 || forest_order_begin(&o, f, n, &e) < 0)
		return false;
	good = forest_room_of_tree(f, n) == 0;
	if (good) {
		memset(f->seen, 0, n * sizeof *f->seen);
		good = put_all(&o, t, f->order, f->seen);
	}
	if (good)
		f->trees[f->tree_count - 1].group = t->group;
	else
		forest_order_drop(&o);
	return good;
}
