#include "predict/apr1_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/walk.h"
#include "predict/writers.h"

struct maker {
	const struct predictor *m;
	struct apr1_payload *to;
	struct err *e;
	bool failed;
};

/* ---- tensors ---- */

/* A new tensor, whose values the caller puts before the next one; NULL if memory has run out. */
static struct buf *
add(struct maker *x, const char *prefix, const char *name, const char *type, unsigned ndim, uint64_t a,
    uint64_t b)
{
	struct apr1_payload *to = x->to;
	struct apr1_tensor *t;
	char text[64];

	snprintf(text, sizeof text, "%s%s", prefix, name);
	if (mem_grow(&to->list, &to->cap, to->count + 1, sizeof *to->list) < 0)
		x->failed = true;
	if (x->failed)
		return NULL;
	t = &to->list[to->count++];
	*t = (struct apr1_tensor){ .name = mem_text(text, strlen(text)), .type = type, .ndim = ndim,
		.dims = { a, b } };
	x->failed |= !t->name;
	return &t->data;
}

static void
put_single(struct buf *b, double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	if (b)
		buf_u32(b, bits);
}

static void
put_word(struct buf *b, uint64_t v)
{
	if (b)
		buf_u64(b, v);
}

static void
single(struct maker *x, const char *prefix, const char *name, double v)
{
	put_single(add(x, prefix, name, "F32", 0, 0, 0), v);
}

static void
word(struct maker *x, const char *prefix, const char *name, uint64_t v)
{
	put_word(add(x, prefix, name, "U64", 0, 0, 0), v);
}

/* ---- sums of products and centers ---- */

static void
coefficients(struct maker *x)
{
	const struct predictor *m = x->m;
	struct buf *b = add(x, "", "coefficients", "F32", 1, m->features, 0);
	size_t i;

	for (i = 0; i < m->features; i++)
		put_single(b, m->linear.weights[i]);
	single(x, "", "intercept", m->linear.bias[0]);
}

static int
make_linear(struct maker *x, char why[256])
{
	const struct predictor *m = x->m;
	bool two = m->task == PREDICT_BINARY && m->link == LINK_SIGMOID && m->sharpness == 1;
	struct buf *b;

	if (m->outputs != 1 || (!two && (m->task != PREDICT_VALUE || m->link != LINK_NONE))) {
		snprintf(why, 256, "%s", m->outputs != 1 ? "linear scores of several outputs"
		         : "the link between linear scores and what is predicted");
		return 0;
	}
	x->to->type = two ? "LOGISTIC_REGRESSION" : "LINEAR_REGRESSION";
	x->to->layout = two ? "LogisticRegression" : "LinearRegression";
	coefficients(x);
	if (two) {
		single(x, "", "learning_rate", 0);
		word(x, "", "max_iter", 0);
		single(x, "", "tol", 0);
	} else if ((b = add(x, "", "fit_intercept", "BOOL", 0, 0, 0))) {
		buf_u8(b, 1);
	}
	return 1;
}

static int
make_centers(struct maker *x)
{
	const struct predictor *m = x->m;
	struct buf *b;
	size_t i;

	x->to->type = "KMEANS";
	x->to->layout = "KMeans";
	word(x, "", "n_clusters", m->outputs);
	word(x, "", "max_iter", 0);
	single(x, "", "tol", 0);
	b = add(x, "", "centroids", "F32", 2, m->outputs, m->features);
	for (i = 0; i < m->outputs * m->features; i++)
		put_single(b, m->linear.weights[i]);
	single(x, "", "inertia", 0);
	word(x, "", "n_iter", 0);
	return 1;
}

/* ---- trees ---- */

/* The class with the greatest share. pure: it has all of it. */
static size_t
class_of(const struct forest *f, uint32_t node, bool *pure)
{
	const double *v = f->values + (size_t)f->leaf[node] * f->width;
	size_t k, best = 0;

	for (k = 1; k < f->width; k++)
		if (v[k] > v[best])
			best = k;
	for (k = 0; k < f->width; k++)
		*pure &= v[k] == (k == best);
	return best;
}

/* The nodes of a tree from the root on, left before right: their numbers, and for each the place of its
 * right child. 0, or -1 if memory has run out. */
static int
in_order(const struct forest *f, size_t tree, uint32_t *order, uint32_t *right)
{
	uint32_t n = 0, waiting = 0, node, all = writer_nodes(f, tree);
	uint32_t *waits = mem_array((size_t)all * 2 + 2, sizeof *waits);

	if (!waits)
		return -1;
	waits[waiting++] = f->trees[tree].root;
	waits[waiting++] = UINT32_MAX;
	while (waiting > 0) {
		uint32_t parent = waits[--waiting];

		node = waits[--waiting];
		if (parent != UINT32_MAX)
			right[parent] = n;
		order[n] = node;
		if (f->nodes[node].left != node) {
			waits[waiting++] = f->nodes[node].left + 1;
			waits[waiting++] = n;
			waits[waiting++] = f->nodes[node].left;
			waits[waiting++] = UINT32_MAX;
		}
		n++;
	}
	free(waits);
	return 0;
}

/* The columns one after another, each over all nodes. */
static void
put_columns(struct maker *x, const char *prefix, const uint32_t *order, const uint32_t *right, uint32_t n)
{
	const struct forest *f = &x->m->forest;
	bool classes = x->m->task == PREDICT_CLASSES, pure = true;
	struct buf *b[6];
	uint32_t i;

	/* The list may move: one column after the other. */
	b[0] = add(x, prefix, "node_features", "I64", 1, n, 0);
	for (i = 0; i < n; i++)
		put_word(b[0], f->nodes[order[i]].left == order[i] ? UINT64_MAX
		                                                   : f->nodes[order[i]].word & WALK_FEATURE);
	b[1] = add(x, prefix, "node_thresholds", "F32", 1, n, 0);
	for (i = 0; i < n; i++)
		put_single(b[1], f->nodes[order[i]].left == order[i] ? 0
		                 : (double)writer_threshold(f->nodes[order[i]].t));
	b[2] = add(x, prefix, classes ? "node_classes" : "node_values", classes ? "U64" : "F32", 1, n, 0);
	for (i = 0; i < n; i++) {
		bool leaf = f->nodes[order[i]].left == order[i];

		if (classes)
			put_word(b[2], leaf ? class_of(f, order[i], &pure) : 0);
		else
			put_single(b[2], leaf ? f->values[f->leaf[order[i]]] : 0);
	}
	b[3] = add(x, prefix, "node_samples", "U64", 1, n, 0);
	for (i = 0; i < n; i++)
		put_word(b[3], f->nodes[order[i]].left == order[i] && !f->uncovered
		               ? (uint64_t)fmin(f->covers[order[i]], 9e15) : 0);
	b[4] = add(x, prefix, "node_left_child", "I64", 1, n, 0);
	for (i = 0; i < n; i++)
		put_word(b[4], f->nodes[order[i]].left == order[i] ? UINT64_MAX : i + 1);
	b[5] = add(x, prefix, "node_right_child", "I64", 1, n, 0);
	for (i = 0; i < n; i++)
		put_word(b[5], f->nodes[order[i]].left == order[i] ? UINT64_MAX : right[i]);
}

static void
put_tree(struct maker *x, const char *prefix, size_t tree)
{
	uint32_t n = writer_nodes(&x->m->forest, tree);
	uint32_t *order = mem_array(n, sizeof *order), *right = mem_array(n, sizeof *right);

	if (!order || !right || in_order(&x->m->forest, tree, order, right) < 0)
		x->failed = true;
	else
		put_columns(x, prefix, order, right, n);
	free(order);
	free(right);
	if (x->m->task == PREDICT_CLASSES) {
		word(x, prefix, "n_features", x->m->features);
	} else {
		word(x, prefix, "min_samples_split", 2);
		word(x, prefix, "min_samples_leaf", 1);
	}
}

/* What no payload has: the first of these that the model has, or NULL. */
static const char *
beyond(const struct predictor *m, bool *pure)
{
	const struct forest *f = &m->forest;
	bool classes = m->task == PREDICT_CLASSES && m->link == LINK_SHARE && f->width == m->outputs;
	uint32_t i;
	size_t k;

	if (!classes && (m->task != PREDICT_VALUE || m->link != LINK_NONE || m->outputs != 1))
		return "trees whose leaves add to scores of classes, or with a link";
	if (f->scaled || (!f->average && f->tree_count != 1))
		return "sums of trees, such as boosting";
	for (k = 0; k < m->outputs; k++)
		if (f->base[k] != 0)
			return "a score before the first tree";
	if (!m->rounds)
		return "comparisons in double precision";
	for (i = 0; i < f->node_count; i++) {
		const struct forest_node *x = &f->nodes[i];

		if (x->left == i && classes)
			class_of(f, i, pure);
		else if (x->left != i && x->word & WALK_CATEGORY)
			return "splits by categories";
		else if (x->left != i && (x->word & WALK_ZEROS || (!f->refuses_nan && !(x->word & WALK_RIGHT))))
			return "missing values that go left";
	}
	return classes && f->tree_count > 1 && !*pure ? "leaves with shares of several classes" : NULL;
}

static int
make_trees(struct maker *x, char why[256])
{
	const struct predictor *m = x->m;
	bool classes = m->task == PREDICT_CLASSES, forest = m->forest.tree_count != 1, pure = true;
	const char *what = beyond(m, &pure);
	char prefix[48] = "";
	size_t i;

	if (what || m->forest.tree_count > 65536) {
		snprintf(why, 256, "%s", what ? what : "more than 65536 trees");
		return 0;
	}
	x->to->type = forest ? "RANDOM_FOREST" : "DECISION_TREE";
	x->to->layout = forest ? classes ? "RandomForestClassifier" : "RandomForestRegressor"
	                       : classes ? "DecisionTreeClassifier" : "DecisionTreeRegressor";
	x->to->lost = pure ? NULL : "leaves keep their class, and not its probability";
	if (forest)
		put_word(add(x, "", "tree_count", "U64", 0, 0, 0), m->forest.tree_count);
	for (i = 0; i < m->forest.tree_count; i++) {
		if (forest)
			snprintf(prefix, sizeof prefix, "tree_%zu_", i);
		put_tree(x, prefix, i);
	}
	if (forest) {
		word(x, "", "n_estimators", m->forest.tree_count);
		add(x, "", "oob_indices", "U64", 1, 0, 0);
		add(x, "", "oob_indices_lengths", "U64", 1, 0, 0);
	}
	return 1;
}

/* ---- all ---- */

int
apr1_payload_make(const struct predictor *m, struct apr1_payload *to, char why[256], struct err *e)
{
	struct maker x = { .m = m, .to = to, .e = e };
	size_t i;
	int r = 0;

	*to = (struct apr1_payload){ .lost = NULL };
	if (m->form == PREDICT_STEPS)
		snprintf(why, 256, "computations in steps");
	else if (m->step_count)
		snprintf(why, 256, "the steps in front of the model (the first: %.80s)", m->steps[0].kind->name);
	else if (m->words)
		snprintf(why, 256, "features that are texts");
	else
		r = m->form == PREDICT_TREES ? make_trees(&x, why)
		    : m->form == PREDICT_LINEAR ? make_linear(&x, why) : make_centers(&x);
	for (i = 0; i < to->count; i++)
		x.failed |= !buf_ok(&to->list[i].data);
	return x.failed ? err_memory(e) : r;
}

void
apr1_payload_free(struct apr1_payload *p)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		free(p->list[i].name);
		buf_free(&p->list[i].data);
	}
	free(p->list);
	*p = (struct apr1_payload){ .lost = NULL };
}
