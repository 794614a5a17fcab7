#include "predict/boost/lightgbm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/decimal.h"
#include "predict/doc.h"

struct json {
	struct predictor *m;
	struct doc *d;
	const char *where;
	struct err *e;
	struct lightgbm_head head;
	bool begun;     /* the trees have begun */
	size_t trees, leaves;
	struct tree tree;
	struct buf features, weights; /* doubles: of the last linear leaf */
};

/* The categories of a split: "1||10||100". */
static void
read_set(struct json *j, size_t node)
{
	struct tree_node *x = &j->tree.nodes[node];
	const char *p = doc_text(j->d), *end = p + strlen(p), *from;
	uint32_t *set;
	double c;

	x->set = j->tree.sets.n / 4;
	x->set_words = 0; /* the member may come twice */
	while (p < end && !j->d->failed) {
		from = p;
		c = decimal_read(&p, end);
		if (p == from || !(c >= 0 && c < FOREST_FEATURES) || c != floor(c)) {
			doc_fail(j->d, "a threshold is not a list of categories");
			return;
		}
		if ((size_t)c / 32 >= x->set_words) {
			size_t more = (size_t)c / 32 + 1 - x->set_words;

			if (forest_sets(j->tree.sets.n / 4, more, j->where, j->e) < 0) {
				j->d->failed = true;
				return;
			}
			buf_zeros(&j->tree.sets, more * 4);
			x->set_words += more;
		}
		if (!buf_ok(&j->tree.sets))
			return;
		set = (uint32_t *)(void *)j->tree.sets.p + x->set;
		set[(size_t)c / 32] |= 1u << ((size_t)c & 31);
		p += end - p > 2 && p[0] == '|' && p[1] == '|' ? 2 : 0;
	}
}

static unsigned
missing_of(const char *word)
{
	return strcmp(word, "Zero") == 0 ? 1 : strcmp(word, "NaN") == 0 ? 2 : 0;
}

/* One of the two lists, empty; the node becomes a linear leaf. */
static struct buf *
list_of(struct json *j, size_t node, struct buf *list)
{
	if (!j->tree.nodes[node].line) {
		buf_clear(&j->features);
		buf_clear(&j->weights);
	}
	j->tree.nodes[node].line = true;
	buf_clear(list);
	return list;
}

/* What a linear leaf adds to its constant. */
static void
read_terms(struct json *j, size_t node)
{
	const struct buf *features = &j->features, *weights = &j->weights;
	struct tree_node *x = &j->tree.nodes[node];
	struct forest_term term = { .weight = 0 };
	size_t i, n = features->n / sizeof(double);
	double feature;

	if (weights->n != features->n) {
		doc_fail(j->d, "a linear leaf has lists that differ in length");
		return;
	}
	x->term = j->tree.terms.n / sizeof term;
	x->term_count = n;
	for (i = 0; i < n; i++) {
		memcpy(&feature, features->p + i * sizeof feature, sizeof feature);
		memcpy(&term.weight, weights->p + i * sizeof term.weight, sizeof term.weight);
		if (!(feature >= 0 && feature < FOREST_FEATURES)) {
			doc_fail(j->d, "a linear leaf has a feature that is out of range");
			return;
		}
		term.feature = (uint32_t)feature;
		buf_put(&j->tree.terms, &term, sizeof term);
	}
}

/* A threshold: dump_model writes 1e300 for what is greater, such as the infinity that only NaN exceeds. */
static double
threshold(double v)
{
	return v >= 1e300 ? HUGE_VAL : v <= -1e300 ? -HUGE_VAL : v;
}

/* A node and all nodes below it; the document bounds the depth. Returns its number. */
static uint32_t
read_node(struct json *j)
{
	struct doc *d = j->d;
	struct tree_node *x = tree_add(&j->tree);
	size_t node = j->tree.count - 1;
	unsigned type = 0;
	double value = 0, index = 0, v = NAN;
	uint32_t left = 0, right = 0;

	if (!x) {
		err_memory(j->e);
		d->failed = true;
	}
	if (d->failed || !doc_object(d))
		return 0;
	while (doc_member(d)) {
		if (doc_named(d, "split_feature"))
			j->tree.nodes[node].feature =
				(uint32_t)doc_integer(d, 0, FOREST_FEATURES, "split_feature");
		else if (doc_named(d, "threshold") && doc_kind(d) == '"')
			read_set(j, node);
		else if (doc_named(d, "threshold"))
			v = threshold(doc_number(d));
		else if (doc_named(d, "decision_type"))
			type |= strcmp(doc_text(d), "==") == 0 ? LIGHTGBM_CATEGORY : 0;
		else if (doc_named(d, "default_left"))
			type |= doc_bool(d) ? LIGHTGBM_LEFT : 0;
		else if (doc_named(d, "missing_type"))
			type |= missing_of(doc_text(d)) << 2;
		else if (doc_named(d, "leaf_value"))
			value = doc_number(d);
		else if (doc_named(d, "leaf_index"))
			index = (double)doc_integer(d, 0, FOREST_NODES, "leaf_index");
		else if (doc_named(d, "internal_count") || doc_named(d, "leaf_count"))
			j->tree.nodes[node].cover = doc_number(d);
		else if (doc_named(d, "left_child"))
			left = read_node(j);
		else if (doc_named(d, "right_child"))
			right = read_node(j);
		else if (doc_named(d, "leaf_const"))
			j->tree.nodes[node].constant = doc_number(d);
		else if (doc_named(d, "leaf_features"))
			doc_numbers(d, list_of(j, node, &j->features));
		else if (doc_named(d, "leaf_coeff"))
			doc_numbers(d, list_of(j, node, &j->weights));
		else
			doc_skip(d);
	}
	x = &j->tree.nodes[node];
	if (!left && !right) {
		if (tree_leaf(&j->tree, x, value, (uint32_t)index) < 0)
			d->failed = err_memory(j->e) < 0;
		if (x->line)
			read_terms(j, node);
		return (uint32_t)node;
	}
	lightgbm_split(x, type);
	x->threshold = x->category ? 0 : v;
	x->left = left;
	x->right = right;
	if (!left || !right)
		doc_fail(d, "a split has one child");
	return (uint32_t)node;
}

static void
read_tree(struct json *j)
{
	struct doc *d = j->d;

	tree_clear(&j->tree);
	if (!doc_object(d))
		return;
	while (doc_member(d)) {
		if (doc_named(d, "tree_structure") && j->tree.count == 0)
			read_node(j);
		else
			doc_skip(d);
	}
	if (d->failed)
		return;
	j->tree.covered = j->m->covers && (j->tree.count == 1 || (j->tree.count && j->tree.nodes[0].cover > 0));
	j->tree.group = (uint32_t)(j->trees % j->m->outputs);
	j->trees++;
	d->failed = forest_add(&j->m->forest, &j->tree, j->where, j->e) < 0;
}

/* The members before the trees must be complete by then, as LightGBM writes them. */
static void
read_trees(struct json *j)
{
	if (j->begun) {
		doc_fail(j->d, "tree_info occurs twice");
		return;
	}
	j->begun = true;
	if (lightgbm_begin(j->m, &j->head, j->where, j->e) < 0)
		j->d->failed = true;
	else if (doc_array(j->d))
		while (doc_item(j->d))
			read_tree(j);
}

static void
read_feature_names(struct json *j)
{
	if (j->m->names || !doc_array(j->d)) {
		doc_fail(j->d, "feature_names occurs twice");
		return;
	}
	while (doc_item(j->d)) {
		const char *text = doc_text(j->d);

		if (!j->d->failed)
			j->d->failed = predictor_add_name(j->m, text, strlen(text), j->e) < 0;
	}
}

static void
read_members(struct json *j)
{
	struct doc *d = j->d;
	struct lightgbm_head *h = &j->head;

	while (doc_member(d)) {
		if (doc_named(d, "version"))
			h->version = *doc_text(d) ? (unsigned)(d->text[1] - '0') : 0;
		else if (doc_named(d, "num_tree_per_iteration"))
			h->per_iteration = doc_number(d);
		else if (doc_named(d, "max_feature_idx"))
			h->features = doc_number(d) + 1;
		else if (doc_named(d, "objective"))
			snprintf(h->objective, sizeof h->objective, "%.255s", doc_text(d));
		else if (doc_named(d, "average_output"))
			h->average = doc_bool(d);
		else if (doc_named(d, "feature_names"))
			read_feature_names(j);
		else if (doc_named(d, "tree_info"))
			read_trees(j);
		else
			doc_skip(d);
	}
}

/* Names are used if there is one for each feature. */
static void
settle_names(struct predictor *m)
{
	size_t i;

	if (!m->names || m->name_count == m->features)
		return;
	for (i = 0; i < m->name_count; i++)
		free(m->names[i]);
	free(m->names);
	m->names = NULL;
	m->name_count = 0;
}

int
lightgbm_json_read(struct predictor *m, const uint8_t *p, size_t n, const char *where,
                   struct err *e)
{
	struct doc *d = malloc(sizeof *d);
	struct json j = { .m = m, .d = d, .where = where, .e = e, .head = { .per_iteration = 1 } };
	int r = -1;

	if (!d)
		return err_memory(e);
	doc_begin(d, false, p, n, where, e);
	if (doc_object(d))
		read_members(&j);
	settle_names(m);
	if (doc_end(d) == 0)
		r = j.begun ? 0 : err_set(e, ERR_CORRUPT, where, "tree_info is missing");
	if (r == 0 && j.trees % m->outputs)
		r = err_set(e, ERR_CORRUPT, where, "%zu trees for %zu classes", j.trees, m->outputs);
	if (r == 0)
		lightgbm_finish(m, &j.head);
	tree_free(&j.tree);
	buf_free(&j.features);
	buf_free(&j.weights);
	free(d);
	return r;
}
