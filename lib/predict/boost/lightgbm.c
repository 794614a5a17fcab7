#include "predict/boost/lightgbm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/decimal.h"
#include "predict/rows/rows_numbers.h"

/* ---- objectives ---- */

static const struct {
	const char *name;
	enum predict_task task;
	enum predict_link link;
} objectives[] = {
	{ "binary", PREDICT_BINARY, LINK_SIGMOID },
	{ "multiclass", PREDICT_CLASSES, LINK_SOFTMAX },
	{ "multiclassova", PREDICT_CLASSES, LINK_SIGMOID },
	{ "regression", PREDICT_VALUE, LINK_NONE },
	{ "regression_l1", PREDICT_VALUE, LINK_NONE },
	{ "regression_l2", PREDICT_VALUE, LINK_NONE },
	{ "huber", PREDICT_VALUE, LINK_NONE },
	{ "fair", PREDICT_VALUE, LINK_NONE },
	{ "quantile", PREDICT_VALUE, LINK_NONE },
	{ "mape", PREDICT_VALUE, LINK_NONE },
	{ "poisson", PREDICT_VALUE, LINK_EXP },
	{ "gamma", PREDICT_VALUE, LINK_EXP },
	{ "tweedie", PREDICT_VALUE, LINK_EXP },
	{ "cross_entropy", PREDICT_VALUE, LINK_SIGMOID },
	{ "xentropy", PREDICT_VALUE, LINK_SIGMOID },
	{ "cross_entropy_lambda", PREDICT_VALUE, LINK_LOG1P_EXP },
	{ "xentlambda", PREDICT_VALUE, LINK_LOG1P_EXP },
	{ "lambdarank", PREDICT_VALUE, LINK_NONE },
	{ "rank_xendcg", PREDICT_VALUE, LINK_NONE },
	{ "custom", PREDICT_VALUE, LINK_NONE },
	{ "none", PREDICT_VALUE, LINK_NONE },
};

int
lightgbm_objective(struct predictor *m, const char *words, const char *where, struct err *e)
{
	size_t i, n = strcspn(words, " ");
	const char *at = strstr(words, "sigmoid:");

	at = at ? at + strlen("sigmoid:") : NULL;
	m->sharpness = at ? decimal_read(&at, words + strlen(words)) : 1;
	for (i = 0; *words && i < sizeof objectives / sizeof *objectives; i++)
		if (strlen(objectives[i].name) == n && memcmp(objectives[i].name, words, n) == 0)
			break;
	if (i == sizeof objectives / sizeof *objectives)
		return err_set(e, ERR_FORMAT, where, "the objective %s is not known here", words);
	if (!(m->sharpness > 0) || !isfinite(m->sharpness) || (at && *at && *at != ' '))
		return err_set(e, ERR_CORRUPT, where, "the objective has a sigmoid of %g", m->sharpness);
	m->task = *words ? objectives[i].task : PREDICT_VALUE;
	m->link = *words ? objectives[i].link : LINK_NONE;
	if (strncmp(words, "regression", n) == 0 && strstr(words, " sqrt"))
		m->link = LINK_SQUARE;
	return 0;
}

int
lightgbm_begin(struct predictor *m, const struct lightgbm_head *h, const char *where,
               struct err *e)
{
	if (!(h->features >= 1 && h->features <= FOREST_FEATURES && h->features == floor(h->features)))
		return err_set(e, ERR_CORRUPT, where, "the number of features is missing or wrong");
	if (!(h->per_iteration >= 1 && h->per_iteration <= PREDICT_OUTPUTS &&
	      h->per_iteration == floor(h->per_iteration)))
		return err_set(e, ERR_CORRUPT, where, "the number of trees per iteration is wrong");
	m->kind = h->average ? "random forest of LightGBM" : "gradient boosting of LightGBM";
	m->features = (size_t)h->features;
	m->outputs = (size_t)h->per_iteration;
	m->absent = ABSENT_ZERO;
	if (forest_begin(&m->forest, m->features, m->outputs, 1, e) < 0)
		return -1;
	m->forest.average = m->forest.sums = h->average;
	return lightgbm_objective(m, h->objective, where, e);
}

void
lightgbm_finish(struct predictor *m, const struct lightgbm_head *h)
{
	const struct forest *f = &m->forest;
	size_t i;

	if (!h->average || h->version > 2 || m->link == LINK_NONE)
		return;
	for (i = 0; i < f->value_count; i++)
		if (f->values[i] < 0 || (m->task != PREDICT_VALUE && f->values[i] > 1))
			return;
	m->link = m->task == PREDICT_VALUE ? LINK_NONE : LINK_SHARE;
}

void
lightgbm_split(struct tree_node *x, unsigned type)
{
	static const uint8_t missing[] = { FOREST_NONE, FOREST_ZEROS, FOREST_NAN, FOREST_NAN };

	x->category = type & LIGHTGBM_CATEGORY;
	/* A missing category is in no set. */
	x->missing = x->category ? FOREST_NAN : missing[LIGHTGBM_MISSING(type)];
	x->default_left = !x->category && type & LIGHTGBM_LEFT;
}

/* ---- the text ---- */

#define NODE_BYTES 48 /* of a file, about: so that no list is moved while it grows */

enum field {
	FEATURE, THRESHOLD, DECISION, LEFT, RIGHT, VALUE, BOUNDARIES, SETS, CONSTANTS, TERM_COUNTS, TERM_FEATURES,
	TERM_WEIGHTS, COUNTS, LEAF_COUNTS, FIELDS
};
#define FIELD(text) { text, sizeof text - 1 }
static const struct {
	const char *name;
	size_t bytes;
} fields[FIELDS] = {
	FIELD("split_feature"), FIELD("threshold"), FIELD("decision_type"), FIELD("left_child"), FIELD("right_child"),
	FIELD("leaf_value"), FIELD("cat_boundaries"), FIELD("cat_threshold"), FIELD("leaf_const"), FIELD("num_features"),
	FIELD("leaf_features"), FIELD("leaf_coeff"), FIELD("internal_count"), FIELD("leaf_count")
};

struct lines {
	struct predictor *m;
	const char *p, *end;
	const char *key, *value; /* of the line */
	size_t key_bytes, value_bytes;
	const char *where;
	struct err *e;
	struct lightgbm_head head;
	const struct rows_numbers *numbers;
	struct buf field[FIELDS]; /* doubles */
	struct buf lists;         /* of struct forest_lists */
	bool linear;
	double leaves;
	size_t trees;
	struct tree tree;
};

/* The next line, cut at "=". False at the end. */
static bool
next_line(struct lines *l)
{
	const char *end = l->p < l->end ? memchr(l->p, '\n', (size_t)(l->end - l->p)) : NULL, *cut;

	if (l->p == l->end)
		return false;
	end = end ? end : l->end;
	l->key = l->p;
	l->p = end + (end < l->end);
	if (end > l->key && end[-1] == '\r')
		end--;
	cut = memchr(l->key, '=', (size_t)(end - l->key));
	l->key_bytes = (size_t)((cut ? cut : end) - l->key);
	l->value = cut ? cut + 1 : end;
	l->value_bytes = (size_t)(end - l->value);
	return true;
}

static bool
is(const struct lines *l, const char *key)
{
	return l->key_bytes == strlen(key) && memcmp(l->key, key, l->key_bytes) == 0;
}

static double
number(const struct lines *l)
{
	const char *p = l->value;
	double v = decimal_read(&p, l->value + l->value_bytes);

	return p == l->value ? -1 : v;
}

#define SOME 256 /* numbers at once */

/* Appends the numbers of the line. short_ones: they are mostly integers. */
static int
numbers(struct lines *l, struct buf *to, bool short_ones)
{
	const char *p = l->value, *end = l->value + l->value_bytes, *from;
	const struct rows_numbers *level = l->end - end < ROWS_NUMBERS_SLACK ? &rows_numbers_plain : l->numbers;
	double *v;
	size_t n;

	buf_clear(to);
	for (;;) {
		while (p < end && *p == ' ')
			p++;
		if (p == end)
			return buf_ok(to) ? 0 : err_memory(l->e);
		v = (double *)(void *)buf_room(to, SOME * sizeof *v);
		if (!v)
			return err_memory(l->e);
		from = p;
		n = short_ones ? level->integers(&p, end, ' ', v, SOME) : 0;
		n += n == 0 ? level->read(&p, end, ' ', false, v, SOME) : 0;
		to->n += n * sizeof *v;
		if (!p)
			return 0;
		if (n == 0) { /* spaces behind it, or not a number */
			*v = decimal_read(&p, end);
			if (p == from || (p < end && *p != ' '))
				return err_set(l->e, ERR_CORRUPT, l->where, "tree %zu: %.*s is not a list of numbers",
				               l->trees, (int)(l->key_bytes < 40 ? l->key_bytes : 40), l->key);
			to->n += sizeof *v;
		}
	}
}

static double
at(const struct lines *l, enum field k, size_t i)
{
	double v;

	memcpy(&v, l->field[k].p + i * sizeof v, sizeof v);
	return v;
}

static const double *
list(const struct lines *l, enum field k)
{
	return (const double *)(const void *)l->field[k].p;
}

static size_t
length(const struct lines *l, enum field k)
{
	return l->field[k].n / sizeof(double);
}

static int
wrong(const struct lines *l, const char *fact)
{
	char where[400];

	snprintf(where, sizeof where, "%.300s, tree %zu", l->where, l->trees);
	return err_set(l->e, ERR_CORRUPT, where, "%s", fact);
}

/* Copies all sets of the tree. */
static int
put_sets(struct lines *l)
{
	size_t i;

	for (i = 0; i < length(l, SETS); i++) {
		double v = at(l, SETS, i);

		if (!(v >= 0 && v <= UINT32_MAX))
			return wrong(l, "a word of cat_threshold is not one of 32 bits");
		buf_u32(&l->tree.sets, (uint32_t)v);
	}
	return buf_ok(&l->tree.sets) ? 0 : err_memory(l->e);
}

/* A child: a node, or with ~ a leaf, which follows the nodes in struct tree. */
static bool
child(double v, size_t splits, size_t leaves, uint32_t *to)
{
	if (v >= 0 && v < (double)splits)
		*to = (uint32_t)v;
	else if (v < 0 && -v <= (double)leaves)
		*to = (uint32_t)(splits + (size_t)-v - 1);
	else
		return false;
	return v == floor(v);
}

static int
put_split(struct lines *l, size_t i, size_t splits, size_t leaves)
{
	struct tree_node *x = tree_add(&l->tree);
	double feature = at(l, FEATURE, i), type = at(l, DECISION, i), set = at(l, THRESHOLD, i);

	if (!x)
		return err_memory(l->e);
	if (!(feature >= 0 && feature < FOREST_FEATURES) || !(type >= 0 && type < 16))
		return wrong(l, "a split has a feature or a decision_type that is out of range");
	x->feature = (uint32_t)feature;
	lightgbm_split(x, (unsigned)type);
	x->threshold = set;
	if (!child(at(l, LEFT, i), splits, leaves, &x->left) ||
	    !child(at(l, RIGHT, i), splits, leaves, &x->right) || (!x->left && !x->right))
		return wrong(l, "a child is outside the tree");
	if (!x->category)
		return 0;
	if (!(set >= 0 && set + 1 < (double)length(l, BOUNDARIES)) || set != floor(set) ||
	    !(at(l, BOUNDARIES, (size_t)set) >= 0) ||
	    !(at(l, BOUNDARIES, (size_t)set + 1) >= at(l, BOUNDARIES, (size_t)set)) ||
	    !(at(l, BOUNDARIES, (size_t)set + 1) <= (double)length(l, SETS)))
		return wrong(l, "a set of categories is outside its list");
	x->set = (size_t)at(l, BOUNDARIES, (size_t)set);
	x->set_words = (size_t)at(l, BOUNDARIES, (size_t)set + 1) - x->set;
	return 0;
}

/* A number of forest_lists; *good becomes false for all others. */
static inline int32_t
link_at(const double *v, size_t i, bool *good)
{
	int32_t k = v[i] >= INT32_MIN && v[i] <= INT32_MAX ? (int32_t)v[i] : 0;

	*good &= (double)k == v[i];
	return k;
}

/* Fills the lists of a tree whose splits are plain comparisons. False if one is something else. */
static bool
fill_lists(const struct lines *l, struct forest_lists *t, int32_t *links, bool *missing_right)
{
	const double *feature = list(l, FEATURE), *left = list(l, LEFT), *right = list(l, RIGHT);
	const double *type = list(l, DECISION), *threshold = list(l, THRESHOLD);
	size_t i, n = t->splits;
	bool good = true;

	for (i = 0; i < n; i++) {
		unsigned kind = type[i] >= 0 && type[i] < 16 ? (unsigned)type[i] : LIGHTGBM_CATEGORY;
		bool none = LIGHTGBM_MISSING(kind) == 0;

		links[i] = link_at(feature, i, &good);
		links[n + i] = link_at(left, i, &good);
		links[2 * n + i] = link_at(right, i, &good);
		good &= !(kind & LIGHTGBM_CATEGORY) && LIGHTGBM_MISSING(kind) != 1;
		missing_right[i] = none ? !(0 <= threshold[i]) : !(kind & LIGHTGBM_LEFT);
	}
	*t = (struct forest_lists){ .left = links + n, .right = links + 2 * n, .feature = links,
		.threshold = threshold, .value = list(l, VALUE), .missing_right = missing_right,
		.splits = n, .leaves = t->leaves, .group = t->group };
	return good;
}

/* Appends the tree without struct tree. False if forest_add has to look at it. */
static bool
append_tree(struct lines *l, size_t splits, size_t leaves)
{
	struct forest_lists t = { .splits = splits, .leaves = leaves, .group = (uint32_t)(l->trees % l->m->outputs) };
	int32_t *links;

	buf_clear(&l->lists);
	links = (int32_t *)(void *)buf_room(&l->lists, splits * (3 * sizeof *links + sizeof(bool)));
	return links && !l->m->covers && !l->linear && fill_lists(l, &t, links, (bool *)(links + 3 * splits)) &&
	       forest_add_lists(&l->m->forest, &t);
}

/* Copies the terms of all leaves. */
static int
put_terms(struct lines *l)
{
	size_t i;

	if (length(l, CONSTANTS) != length(l, VALUE) || length(l, TERM_COUNTS) != length(l, VALUE) ||
	    length(l, TERM_FEATURES) != length(l, TERM_WEIGHTS))
		return wrong(l, "its lists of linear leaves differ in length");
	for (i = 0; i < length(l, TERM_WEIGHTS); i++) {
		struct forest_term term = { .weight = at(l, TERM_WEIGHTS, i) };
		double feature = at(l, TERM_FEATURES, i);

		if (!(feature >= 0 && feature < FOREST_FEATURES))
			return wrong(l, "a linear leaf has a feature that is out of range");
		term.feature = (uint32_t)feature;
		buf_put(&l->tree.terms, &term, sizeof term);
	}
	return buf_ok(&l->tree.terms) ? 0 : err_memory(l->e);
}

/* Makes a leaf linear; term: the first one of its terms. */
static int
put_line(struct lines *l, struct tree_node *x, size_t leaf, size_t *term)
{
	double n = at(l, TERM_COUNTS, leaf);

	if (!(n >= 0 && n <= (double)(length(l, TERM_WEIGHTS) - *term)) || n != floor(n))
		return wrong(l, "a linear leaf has more features than its list");
	x->line = true;
	x->constant = at(l, CONSTANTS, leaf);
	x->term = *term;
	x->term_count = (size_t)n;
	*term += x->term_count;
	return 0;
}

static int
put_leaves(struct lines *l)
{
	size_t i, term = 0, leaves = length(l, VALUE);

	if (l->linear && put_terms(l) < 0)
		return -1;
	for (i = 0; i < leaves; i++) {
		struct tree_node *x = tree_add(&l->tree);

		if (!x || tree_leaf(&l->tree, x, at(l, VALUE, i), (uint32_t)i) < 0)
			return err_memory(l->e);
		if (l->linear && put_line(l, x, i, &term) < 0)
			return -1;
	}
	return 0;
}

static int
put_tree(struct lines *l)
{
	size_t i, splits = length(l, LEFT), leaves = length(l, VALUE);
	bool counted;

	for (i = FEATURE; i < VALUE; i++)
		if (length(l, (enum field)i) != splits)
			return wrong(l, "its lists of splits differ in length");
	if (leaves != splits + 1 || (double)leaves != l->leaves)
		return wrong(l, "its numbers of splits and leaves do not agree");
	if (append_tree(l, splits, leaves)) {
		l->trees++;
		return 0;
	}
	tree_clear(&l->tree);
	if (put_sets(l) < 0)
		return -1;
	for (i = 0; i < splits; i++)
		if (put_split(l, i, splits, leaves) < 0)
			return -1;
	counted = length(l, COUNTS) == splits && length(l, LEAF_COUNTS) == leaves;
	l->tree.covered = l->m->covers && (counted || leaves == 1);
	if (put_leaves(l) < 0)
		return -1;
	for (i = 0; counted && i < splits + leaves; i++)
		l->tree.nodes[i].cover = i < splits ? at(l, COUNTS, i) : at(l, LEAF_COUNTS, i - splits);
	l->tree.group = (uint32_t)(l->trees % l->m->outputs);
	l->trees++;
	return forest_add(&l->m->forest, &l->tree, l->where, l->e);
}

static int
read_tree(struct lines *l)
{
	size_t i;
	int r = 0;

	for (i = 0; i < FIELDS; i++)
		buf_clear(&l->field[i]);
	l->linear = false;
	while (r == 0 && next_line(l) && l->key_bytes > 0) {
		for (i = 0; i < FIELDS && (fields[i].bytes != l->key_bytes || memcmp(fields[i].name, l->key, l->key_bytes) != 0); i++)
			;
		if (i < COUNTS || (i < FIELDS && l->m->covers))
			r = numbers(l, &l->field[i], i != THRESHOLD && i != VALUE);
		else if (is(l, "is_linear"))
			l->linear = number(l) != 0;
		else if (is(l, "num_leaves"))
			l->leaves = number(l);
	}
	return r < 0 ? -1 : put_tree(l);
}

static int
read_feature_names(struct lines *l)
{
	const char *p = l->value, *end = p + l->value_bytes, *cut;

	if (l->m->names)
		return err_set(l->e, ERR_CORRUPT, l->where, "feature_names occurs twice");
	for (; p < end; p = cut + (cut < end)) {
		cut = memchr(p, ' ', (size_t)(end - p));
		cut = cut ? cut : end;
		if (predictor_add_name(l->m, p, (size_t)(cut - p), l->e) < 0)
			return -1;
	}
	return 0;
}

/* Reads the lines up to the first tree. */
static int
read_head(struct lines *l)
{
	struct lightgbm_head *h = &l->head;

	while (next_line(l) && !is(l, "Tree")) {
		if (is(l, "version"))
			h->version = l->value_bytes == 2 ? (unsigned)(l->value[1] - '0') : 0;
		else if (is(l, "num_tree_per_iteration"))
			h->per_iteration = number(l);
		else if (is(l, "max_feature_idx"))
			h->features = number(l) + 1;
		else if (is(l, "objective"))
			snprintf(h->objective, sizeof h->objective, "%.*s",
			         (int)(l->value_bytes < 255 ? l->value_bytes : 255), l->value);
		else if (is(l, "average_output"))
			h->average = true;
		else if (is(l, "feature_names") && read_feature_names(l) < 0)
			return -1;
		else if (is(l, "end of trees"))
			break;
	}
	return lightgbm_begin(l->m, h, l->where, l->e);
}

int
lightgbm_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct lines l = { .m = m, .p = (const char *)p, .end = (const char *)p + n,
		.where = where, .e = e, .head = { .per_iteration = 1 }, .numbers = rows_numbers_long() };
	size_t i;
	bool ended = false;
	int r = read_head(&l);

	if (r == 0)
		r = forest_reserve(&m->forest, n / NODE_BYTES, n / NODE_BYTES / 2, 0, e);
	while (r == 0 && !ended) {
		if (is(&l, "Tree"))
			r = read_tree(&l);
		else if (is(&l, "end of trees"))
			ended = true;
		if (r == 0 && !ended && !next_line(&l))
			r = err_set(e, ERR_CORRUPT, where, "the line \"end of trees\" is missing");
	}
	if (r == 0 && l.trees % m->outputs)
		r = err_set(e, ERR_CORRUPT, where, "%zu trees for %zu classes", l.trees, m->outputs);
	if (r == 0)
		lightgbm_finish(m, &l.head);
	for (i = 0; i < FIELDS; i++)
		buf_free(&l.field[i]);
	buf_free(&l.lists);
	tree_free(&l.tree);
	return r;
}
