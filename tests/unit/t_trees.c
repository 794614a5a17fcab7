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

int
main(void)
{
	test_figures();
	test_faults();
	test_others();
	return test_done();
}
