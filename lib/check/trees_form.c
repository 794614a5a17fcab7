/* Trees that follow one another in forest.… : counts are nodes of each tree, left is the number of the left
 * child in its tree, which the right child follows; feature -1 is a leaf, and values are those of leaves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/trees_parts.h"
#include "core/le.h"

enum { COUNTS = TREES_FORM, FEATURES, THRESHOLDS, LEFT, VALUES };

static const struct {
	const char *name, *type;
	unsigned bytes;
} columns[] = {
	{ "forest.counts", "I32", 4 }, { "forest.features", "I32", 4 }, { "forest.thresholds", "F64", 8 },
	{ "forest.left", "I32", 4 }, { "forest.values", "F64", 8 },
};

unsigned
trees_form_column(const struct tensor *tensor)
{
	unsigned i;

	for (i = 0; i < TREES_COLUMNS - TREES_FORM; i++)
		if (strcmp(tensor_name(tensor), columns[i].name) == 0 &&
		    strcmp(tensor_type(tensor)->name, columns[i].type) == 0 &&
		    tensor_bytes(tensor) <= TREES_BYTES)
			return TREES_FORM + i;
	return TREES_COLUMNS;
}

static size_t
items(const struct trees *t, unsigned column)
{
	return t->columns[column].n / columns[column - TREES_FORM].bytes;
}

static int32_t
whole(const struct trees *t, unsigned column, size_t i)
{
	return (int32_t)le32(t->columns[column].p + i * 4);
}

static double
real(const struct trees *t, unsigned column, size_t i)
{
	return le_f64(t->columns[column].p + i * 8);
}

static void
see_split(struct trees_walk *w, size_t first, uint32_t node, uint32_t depth)
{
	struct trees *t = w->t;
	int64_t feature = whole(t, FEATURES, first + node), left = whole(t, LEFT, first + node);

	if (t->said.known && (uint64_t)feature >= t->said.features)
		trees_fault(t, (struct trees_found){ .kind = TREES_FEATURE, .node = node, .number = feature,
		                                     .of = (int64_t)t->said.features });
	else if ((uint64_t)feature >= t->features)
		t->features = (uint64_t)feature + 1;
	if (isnan(real(t, THRESHOLDS, first + node)))
		trees_fault(t, (struct trees_found){ .kind = TREES_THRESHOLD, .node = node });
	trees_reach(w, node, left, depth + 1);
	trees_reach(w, node, left + 1, depth + 1);
}

/* The n nodes from the first one are a tree. */
static int
see_tree(struct trees *t, size_t first, size_t n, struct err *e)
{
	struct trees_walk w;
	int r = trees_walk_begin(&w, t, n, e);
	size_t i;

	if (r == 0) {
		w.seen[0] = true;
		w.count = 1;
		for (i = 0; i < w.count; i++)
			if (whole(t, FEATURES, first + w.order[i]) >= 0)
				see_split(&w, first, w.order[i], w.depth[i]);
		if (w.count < n)
			trees_fault(t, (struct trees_found){ .kind = TREES_UNREACHED,
			                                     .number = (int64_t)(n - w.count), .of = (int64_t)n });
	}
	trees_walk_free(&w);
	return r;
}

/* The leaves of forests whose predictions are means of probabilities: each sums to 1. */
static void
see_shares(struct trees *t)
{
	uint64_t width = t->said.width, i, k;
	double sum, low;

	if (!t->said.shares || !t->said.average || width < 2)
		return;
	t->tree = 0;
	for (i = 0; i < items(t, VALUES) / width; i++) {
		for (k = 0, sum = low = 0; k < width; k++) {
			double v = real(t, VALUES, (size_t)(i * width + k));

			sum += v;
			low = v < low ? v : low;
		}
		if (!(fabs(sum - 1) < 1e-3) || low < 0)
			trees_fault(t, (struct trees_found){ .kind = TREES_SHARES, .node = i, .sum = sum });
	}
}

static int
see_trees(struct trees *t, struct err *e)
{
	size_t nodes = items(t, FEATURES), first = 0, i, count = items(t, COUNTS);
	int64_t n = 0;
	int r = 0;

	t->count += count;
	t->nodes += nodes;
	for (i = 0; r == 0 && i < count; i++, first += (size_t)n) {
		n = whole(t, COUNTS, i);
		t->tree = i + 1;
		if (n < 1 || (uint64_t)n > nodes - first) {
			trees_fault(t, (struct trees_found){ .kind = TREES_LENGTHS, .number = (int64_t)(nodes - first),
			                                     .of = n });
			return 0;
		}
		r = see_tree(t, first, (size_t)n, e);
	}
	return r;
}

int
trees_form_end(struct trees *t, struct err *e)
{
	unsigned k, wrong = 0;
	int r = 0;

	strcpy(t->prefix, "forest.");
	t->tree = 0;
	for (k = THRESHOLDS; k <= LEFT; k++)
		if (t->has[k] && t->has[FEATURES] && items(t, k) != items(t, FEATURES)) {
			trees_fault(t, (struct trees_found){ .kind = TREES_LENGTHS, .number = (int64_t)items(t, k),
			                                     .of = (int64_t)items(t, FEATURES) });
			wrong++;
		}
	if (!wrong && t->has[COUNTS] && t->has[FEATURES] && t->has[THRESHOLDS] && t->has[LEFT]) {
		if (t->said.known) {
			t->classes = t->said.classes;
			t->features = t->said.features;
		}
		r = see_trees(t, e);
		see_shares(t);
	}
	t->tree = 0;
	t->prefix[0] = 0;
	trees_clear(t, TREES_FORM, TREES_COLUMNS);
	return r;
}
