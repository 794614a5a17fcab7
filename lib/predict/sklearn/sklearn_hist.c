/* Boosting by histograms. A node has 52 bytes, packed: f64 value, u32 rows, u32 feature, f64
 * threshold, u8 whether a missing value goes left, u32 left child, u32 right child, f64 gain, u32
 * depth, u8 whether it is a leaf, u8 bin, u8 whether the feature is a category, u32 row of the sets;
 * from version 1.4 on the feature has 8 bytes. A set has 256 bits.
 *
 * Source: scikit-learn's documentation of its dtype PREDICTOR_RECORD_DTYPE. */
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "predict/sklearn/sklearn.h"

#define SHORT_NODE 52
#define LONG_NODE 56
#define WORDS 8 /* of a set */

struct parts {
	struct sklearn_array nodes, sets;
	size_t bytes;
	const struct seen *seen;
};

/* The categories that training saw, as a set for each feature; one that it did not see goes where
 * missing values go. */
struct seen {
	uint32_t (*sets)[WORDS];
	size_t n;
};

static int
read_seen(struct sklearn *s, pickle_ref r, struct seen *to)
{
	pickle_ref list = sklearn_field(s, sklearn_field(s, r, "_bin_mapper"), "bin_thresholds_");
	const struct pickle_cell *c = NULL;
	size_t i, k;

	if (list != PICKLE_NOTHING && pickle_node(&s->k, list)->kind == PICKLE_LIST)
		c = pickle_first(&s->k, list);
	to->n = c ? pickle_items(&s->k, list, NULL, 0) : 0;
	to->sets = mem_array(to->n, sizeof *to->sets);
	if (!to->sets)
		return err_memory(s->e);
	for (k = 0; c; c = pickle_next(&s->k, c), k++) {
		struct sklearn_array a;
		int status = sklearn_array(s, c->node, &a);

		for (i = 0; status == 0 && a.v && i < a.n; i++)
			if (a.v[i] >= 0 && a.v[i] < 32 * WORDS)
				to->sets[k][(size_t)a.v[i] / 32] |= 1u << ((size_t)a.v[i] % 32);
		sklearn_array_free(&a);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int
put_set(struct sklearn *s, struct tree *t, const struct parts *a, uint32_t row, struct tree_node *x)
{
	bool all = !x->default_left || x->feature >= a->seen->n;
	size_t i;

	if (!a->sets.v || a->sets.ndim != 2 || a->sets.dims[1] != WORDS || row >= a->sets.dims[0])
		return sklearn_wrong(s, "a node has a set of categories that is not there");
	x->category = x->negative = true;
	x->set = t->sets.n / 4;
	x->set_words = WORDS;
	for (i = 0; i < WORDS; i++) {
		double v = a->sets.v[row * WORDS + i];

		if (!(v >= 0 && v <= UINT32_MAX))
			return sklearn_wrong(s, "a set of categories is not of 32 bits");
		buf_u32(&t->sets, (uint32_t)v | (all ? 0 : ~a->seen->sets[x->feature][i]));
	}
	return buf_ok(&t->sets) ? 0 : err_memory(s->e);
}

static int
put_node(struct sklearn *s, struct tree *t, const struct parts *a, size_t i)
{
	const uint8_t *p = a->nodes.raw.p + i * a->bytes, *q = p + a->bytes - SHORT_NODE;
	uint64_t feature = a->bytes == SHORT_NODE ? le32(p + 12) : le64(p + 12);
	struct tree_node *x = tree_add(t);

	if (!x)
		return err_memory(s->e);
	x->cover = le32(p + 8);
	if (q[45])
		return tree_leaf(t, x, sklearn_double(p), (uint32_t)i) < 0 ? err_memory(s->e) : 0;
	x->left = le32(q + 25);
	x->right = le32(q + 29);
	if (feature >= s->m->features || x->left == 0 || x->right == 0)
		return err_set(s->e, ERR_CORRUPT, s->where, "node %zu of a tree has wrong links", i);
	x->id = (uint32_t)i;
	x->feature = (uint32_t)feature;
	x->threshold = sklearn_double(q + 16);
	x->missing = FOREST_NAN;
	x->default_left = q[24] != 0;
	return q[47] ? put_set(s, t, a, le32(q + 48), x) : 0;
}

static int
read_parts(struct sklearn *s, pickle_ref r, struct parts *a)
{
	if (sklearn_array(s, sklearn_field(s, r, "nodes"), &a->nodes) < 0 ||
	    sklearn_array(s, sklearn_field(s, r, "raw_left_cat_bitsets"), &a->sets) < 0)
		return -1;
	a->bytes = strcmp(a->nodes.code, "V52") == 0 ? SHORT_NODE
	           : strcmp(a->nodes.code, "V56") == 0 ? LONG_NODE : 0;
	if (!a->bytes)
		return err_set(s->e, ERR_FORMAT, s->where, "the nodes of a tree are of the type %s",
		               a->nodes.code);
	return a->nodes.ndim == 1 && a->nodes.n > 0 ? 0 : sklearn_wrong(s, "a tree has no nodes");
}

static int
add_tree(struct sklearn *s, pickle_ref r, uint32_t group, const struct seen *seen)
{
	struct parts a = { .seen = seen };
	struct tree t = { .group = group, .covered = s->m->covers };
	size_t i;
	int status = read_parts(s, r, &a);

	for (i = 0; status == 0 && i < a.nodes.n; i++)
		status = put_node(s, &t, &a, i);
	if (status == 0)
		status = forest_sets(s->m->forest.sets.n / 4, t.sets.n / 4, s->where, s->e);
	if (status == 0)
		status = forest_add(&s->m->forest, &t, s->where, s->e);
	sklearn_array_free(&a.nodes);
	sklearn_array_free(&a.sets);
	tree_free(&t);
	return status;
}

/* A list of rounds, each a list of trees, one for each output. */
static int
add_trees(struct sklearn *s, pickle_ref rounds, const struct seen *seen)
{
	const struct pickle_cell *c, *d;
	uint32_t group;

	if (rounds == PICKLE_NOTHING || pickle_node(&s->k, rounds)->kind != PICKLE_LIST)
		return sklearn_wrong(s, "the model has no list of trees");
	for (c = pickle_first(&s->k, rounds); c; c = pickle_next(&s->k, c)) {
		if (pickle_node(&s->k, c->node)->kind != PICKLE_LIST ||
		    pickle_items(&s->k, c->node, NULL, 0) != s->m->outputs)
			return sklearn_wrong(s, "a round has another number of trees than there are outputs");
		for (d = pickle_first(&s->k, c->node), group = 0; d; d = pickle_next(&s->k, d), group++)
			if (add_tree(s, d->node, group, seen) < 0)
				return -1;
	}
	return 0;
}

static int
read_base(struct sklearn *s, pickle_ref r)
{
	pickle_ref base = sklearn_field(s, r, "_baseline_prediction");
	double one, *v;
	size_t k;

	if (s->m->outputs == 1 && sklearn_number(s, base, &one) == 0) {
		s->m->forest.base[0] = one;
		return 0;
	}
	v = sklearn_vector(s, base, s->m->outputs, NULL, "first predictions");
	for (k = 0; v && k < s->m->outputs; k++)
		s->m->forest.base[k] = v[k];
	free(v);
	return v ? 0 : -1;
}

static void
read_link(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref loss = sklearn_field(s, r, "loss");
	bool logarithm = loss != PICKLE_NOTHING &&
	                 (pickle_is(&s->k, loss, "poisson") || pickle_is(&s->k, loss, "gamma"));

	s->m->task = !classes ? PREDICT_VALUE : s->m->outputs > 1 ? PREDICT_CLASSES : PREDICT_BINARY;
	s->m->link = classes ? s->m->outputs > 1 ? LINK_SOFTMAX : LINK_SIGMOID
	                     : logarithm ? LINK_EXP : LINK_NONE;
	s->m->sharpness = 1;
}

int
sklearn_histograms(struct sklearn *s, pickle_ref r, bool classes)
{
	double n = sklearn_or(s, r, "_n_features", sklearn_or(s, r, "n_features_in_", 0));
	double outputs = sklearn_or(s, r, "n_trees_per_iteration_", 1);
	struct seen seen = { .n = 0 };
	int status;

	if (!(n >= 1 && n <= FOREST_FEATURES && outputs >= 1 && outputs <= PREDICT_OUTPUTS))
		return sklearn_wrong(s, "the number of features or outputs is missing");
	if (!sklearn_none(s, sklearn_field(s, r, "_preprocessor")))
		return err_set(s->e, ERR_FORMAT, s->where, "boosting with categories of a data frame is not read");
	s->m->kind = "gradient boosting of scikit-learn";
	s->m->features = (size_t)n;
	s->m->outputs = (size_t)outputs;
	if (forest_begin(&s->m->forest, s->m->features, s->m->outputs, 1, s->e) < 0 ||
	    read_base(s, r) < 0)
		return -1;
	read_link(s, r, classes);
	status = read_seen(s, r, &seen);
	if (status == 0)
		status = add_trees(s, sklearn_field(s, r, "_predictors"), &seen);
	free(seen.sets);
	return status;
}
