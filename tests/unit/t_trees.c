/* t_trees: figures of decision trees whose columns are tensors, and what is wrong with them. */
#include <math.h>
#include <string.h>

#include "check/trees.h"
#include "test.h"

#define NODES 5

/* Split 0 has the children 1 and 2, split 2 the leaves 3 and 4. */
struct example {
	int64_t features[NODES], left[NODES], right[NODES];
	float thresholds[NODES];
	uint64_t classes[NODES], width;
};

static const struct example good = {
	{ 3, -1, 1, -1, -1 }, { 1, -1, 3, -1, -1 }, { 2, -1, 4, -1, -1 }, { 0.5f, 0, 2, 0, 0 },
	{ 0, 1, 0, 2, 0 }, 7
};

static int
feed(struct trees *t, const char *prefix, const char *name, const char *type, const void *p,
     size_t n, struct err *e)
{
	uint64_t dims = n / (strcmp(type, "F32") == 0 ? 4 : 8);
	char text[80];
	struct tensor *tensor;
	bool wanted = false;
	int r;

	snprintf(text, sizeof text, "%s%s", prefix, name);
	tensor = tensor_new(text, strlen(text), dtype_by_name(type), 1, &dims, TENSOR_OWN_SIZE, "m", e);
	r = tensor ? trees_begin(t, tensor, &wanted, e) : -1;
	if (r == 0 && wanted) /* in two pieces */
		r = trees_add(t, p, n / 3, e) < 0 ? -1
		    : trees_add(t, (const uint8_t *)p + n / 3, n - n / 3, e);
	tensor_free(tensor);
	return r;
}

/* nodes: of the classes; of all other columns NODES. */
static int
feed_tree(struct trees *t, const char *prefix, const struct example *x, size_t nodes, struct err *e)
{
	return feed(t, prefix, "node_features", "I64", x->features, sizeof x->features, e) < 0 ||
	       feed(t, prefix, "node_thresholds", "F32", x->thresholds, sizeof x->thresholds, e) < 0 ||
	       feed(t, prefix, "node_samples", "U64", x->classes, sizeof x->classes, e) < 0 ||
	       feed(t, prefix, "node_classes", "U64", x->classes, nodes * 8, e) < 0 ||
	       feed(t, prefix, "node_left_child", "I64", x->left, sizeof x->left, e) < 0 ||
	       feed(t, prefix, "node_right_child", "I64", x->right, sizeof x->right, e) < 0 ||
	       feed(t, prefix, "n_features", "U64", &x->width, 8, e) < 0 ? -1 : 0;
}

static void
test_figures(void)
{
	struct trees t = { 0 };
	struct example stump = good;
	struct err e = ERR_INIT;

	stump.features[0] = -1; /* a leaf: the other nodes are not reached */
	test_ok(feed_tree(&t, "tree_0_", &good, NODES, &e) == 0 &&
	        feed_tree(&t, "tree_1_", &stump, NODES, &e) == 0 && trees_end(&t, &e) == 0 &&
	        t.count == 2 && t.nodes == 10 && t.depth == 2 && t.features == 7 && t.classes == 3 &&
	        t.found_count == 1 && t.found[0].kind == TREES_UNREACHED && t.found[0].number == 4 &&
	        strcmp(t.found[0].prefix, "tree_1_") == 0, "figures of two trees");
	trees_free(&t);
	test_ok(feed(&t, "", "node_features", "I64", good.features, sizeof good.features, &e) == 0 &&
	        trees_end(&t, &e) == 0 && t.count == 0, "a tree that lacks columns is not judged");
	trees_free(&t);
}

static const struct {
	const char *name;
	enum trees_fault kind;
	int column; /* 0 features, 1 left, 2 right */
	size_t node;
	int64_t value;
	size_t found;
} faults[] = {
	{ "a child behind the last node", TREES_CHILD, 1, 2, 5, 2 },
	{ "a child before the first node", TREES_CHILD, 2, 0, -1, 2 },
	{ "a cycle", TREES_TWICE, 2, 2, 0, 2 },
	{ "a node that is its own child", TREES_TWICE, 1, 2, 2, 2 },
	{ "a node with two parents", TREES_TWICE, 1, 2, 1, 2 },
	{ "a feature that the model lacks", TREES_FEATURE, 0, 0, 7, 1 },
	{ "a huge feature", TREES_FEATURE, 0, 2, INT64_MAX, 1 },
	{ "a huge child", TREES_CHILD, 1, 0, INT64_MAX, 2 },
};

static void
test_faults(void)
{
	struct err e = ERR_INIT;
	struct example x;
	size_t i;

	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct trees t = { 0 };

		x = good;
		(faults[i].column == 0 ? x.features : faults[i].column == 1 ? x.left : x.right)
			[faults[i].node] = faults[i].value;
		test_ok(feed_tree(&t, "", &x, NODES, &e) == 0 && trees_end(&t, &e) == 0 &&
		        t.found_count == faults[i].found && t.found[0].kind == faults[i].kind, "%s",
		        faults[i].name);
		trees_free(&t);
	}
}

static void
test_others(void)
{
	struct trees t = { 0 };
	struct err e = ERR_INIT;
	struct example x = good;

	x.thresholds[2] = NAN;
	x.thresholds[3] = NAN; /* of a leaf */
	test_ok(feed_tree(&t, "", &x, NODES, &e) == 0 && trees_end(&t, &e) == 0 && t.found_count == 1 &&
	        t.found[0].kind == TREES_THRESHOLD && t.found[0].node == 2, "a threshold that is NaN");
	trees_free(&t);
	test_ok(feed_tree(&t, "", &good, NODES - 1, &e) == 0 && trees_end(&t, &e) == 0 &&
	        t.found_count == 1 && t.found[0].kind == TREES_LENGTHS, "columns of other lengths");
	trees_free(&t);
}

/* ---- forest.… ---- */

/* A tree of three nodes and a leaf alone. Faults write over one number. */
struct row {
	const char *name;
	int fault;  /* -1: none */
	int column; /* 0 counts, 1 features, 2 left, 3 thresholds, 4 values */
	size_t at;
	double value;
	size_t found;
	uint64_t tree;
};

static const struct row rows[] = {
	{ "as it should be", -1, 0, 0, 3, 0, 0 },
	{ "a child behind the tree", TREES_CHILD, 2, 0, 2, 2, 1 },
	{ "a child that is the root", TREES_TWICE, 2, 0, 0, 2, 1 },
	{ "children before the tree", TREES_CHILD, 2, 0, -5, 3, 1 },
	{ "a feature that the model lacks", TREES_FEATURE, 1, 0, 4, 1, 1 },
	{ "a threshold that is NaN", TREES_THRESHOLD, 3, 0, (double)NAN, 1, 1 },
	{ "a leaf where the tree splits", TREES_UNREACHED, 1, 0, -1, 1, 1 },
	{ "a tree that is longer than the list", TREES_LENGTHS, 0, 1, 2, 1, 2 },
	{ "a tree of no nodes", TREES_LENGTHS, 0, 0, 0, 1, 1 },
	{ "probabilities that sum to 1.5", TREES_SHARES, 4, 0, 0.75, 1, 0 },
	{ "a probability below 0", TREES_SHARES, 4, 2, -0.5, 1, 0 },
	{ "a probability that is NaN", TREES_SHARES, 4, 5, (double)NAN, 1, 0 },
};

static int
feed_form(struct trees *t, const char *name, const char *type, const void *p, uint64_t items, struct err *e)
{
	struct tensor *tensor = tensor_new(name, strlen(name), dtype_by_name(type), 1, &items, TENSOR_OWN_SIZE,
	                                   "m", e);
	bool wanted = false;
	int r = tensor ? trees_begin(t, tensor, &wanted, e) : -1;

	if (r == 0 && wanted)
		r = trees_add(t, p, (size_t)tensor_bytes(tensor), e);
	tensor_free(tensor);
	return r;
}

static void
test_form(const struct row *x)
{
	int32_t counts[2] = { 3, 1 }, features[4] = { 3, -1, -1, -1 }, left[4] = { 1, 0, 0, 0 };
	double thresholds[4] = { 0.5 }, values[6] = { 0.25, 0.75, 1, 0, 0.5, 0.5 };
	int32_t *lists[] = { counts, features, left };
	struct trees t = { .said = { .known = true, .features = 4, .classes = 2, .width = 2, .shares = true,
	                             .average = true } };
	struct err e = ERR_INIT;

	if (x->column < 3)
		lists[x->column][x->at] = (int32_t)x->value;
	else
		(x->column == 3 ? thresholds : values)[x->at] = x->value;
	test_ok(feed_form(&t, "forest.values", "F64", values, 6, &e) == 0 &&
	        feed_form(&t, "forest.left", "I32", left, 4, &e) == 0 &&
	        feed_form(&t, "forest.covers", "F64", values, 4, &e) == 0 &&
	        feed_form(&t, "forest.counts", "I32", counts, 2, &e) == 0 &&
	        feed_form(&t, "forest.thresholds", "F64", thresholds, 4, &e) == 0 &&
	        feed_form(&t, "forest.features", "I32", features, 4, &e) == 0 && trees_end(&t, &e) == 0 &&
	        t.count == 2 && t.nodes == 4 && t.features == 4 && t.classes == 2 && t.found_count == x->found &&
	        (x->fault < 0 ? t.depth == 1
	                      : (int)t.found[0].kind == x->fault && t.found[0].tree == x->tree &&
	                        strcmp(t.found[0].prefix, "forest.") == 0), "forest: %s", x->name);
	trees_free(&t);
}

int
main(void)
{
	size_t i;

	test_figures();
	test_faults();
	test_others();
	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		test_form(&rows[i]);
	return test_done();
}
