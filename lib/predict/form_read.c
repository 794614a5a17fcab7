#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/le.h"
#include "core/mem.h"
#include "predict/form.h"
#include "predict/form_words.h"
#include "predict/walk.h"

struct form_reader {
	struct form_source *s;
	struct predictor *m;
	const struct weights *w;
	struct err *e;
	const json_t *o;
	uint64_t width;
	struct form_list counts, groups, features, thresholds, left, flags, sets, words, covers, ids, values;
};

static int
wrong(const struct form_reader *x, const char *what)
{
	return err_set(x->e, ERR_CORRUPT, x->w->name, "%s", what);
}

/* ---- tensors ---- */

static int
find(const struct form_reader *x, const char *name, const char *type, uint64_t n, bool must,
     struct form_list *to)
{
	return form_find(x->s, name, type, n, must, to);
}

static uint32_t
word_at(const struct form_list *l, uint64_t i)
{
	return le32(l->p + 4 * i);
}

static double
double_at(const struct form_list *l, uint64_t i)
{
	return le_f64(l->p + 8 * i);
}

/* ---- the key ---- */

static int
choice(const struct form_reader *x, const char *name, const char *const *words)
{
	const char *text = json_string_value(json_object_get(x->o, name));
	int i;

	for (i = 0; text && words[i]; i++)
		if (strcmp(words[i], text) == 0)
			return i;
	err_set(x->e, ERR_FORMAT, x->w->name, FORM_KEY ": %s is missing, or not known here", name);
	return -1;
}

static int
count(const struct form_reader *x, const char *name, uint64_t most, uint64_t *to)
{
	if (json_member_u64(x->o, name, to) < 0 || *to < 1 || *to > most)
		return err_set(x->e, ERR_CORRUPT, x->w->name, FORM_KEY ": %s is not a number from 1 to %" PRIu64,
		               name, most);
	return 0;
}

static int
read_texts(const struct form_reader *x, const char *name,
           int (*add)(struct predictor *m, const char *text, size_t n, struct err *e))
{
	const json_t *a = json_object_get(x->o, name);
	size_t i;

	for (i = 0; i < json_array_size(a); i++) {
		const char *text = json_string_value(json_array_get(a, i));

		if (!text)
			return wrong(x, FORM_KEY " has names that are not texts");
		if (add(x->m, text, strlen(text), x->e) < 0)
			return -1;
	}
	return 0;
}

/* The kinds are texts of the program, which outlive the model. */
static const char *
kind_of(const char *text)
{
	static const char *const kinds[] = { "AdaBoost of scikit-learn", "bagging of scikit-learn",
		"calibrated model of scikit-learn", "clusters of PMML", "decision tree", "decision tree of PMML", "decision tree of scikit-learn",
		"generalized linear model of scikit-learn", "gradient boosting of CatBoost",
		"gradient boosting of LightGBM", "gradient boosting of XGBoost", "gradient boosting of scikit-learn",
		"isolation forest of scikit-learn", "k-means", "k-means of scikit-learn", "linear boosting of XGBoost",
		"linear classifier of scikit-learn", "linear discriminant of scikit-learn", "linear model",
		"linear model of ONNX", "linear model of PMML", "trees of PMML", "linear model of one class of scikit-learn", "linear model of scikit-learn",
		"logistic regression", "logistic regression of scikit-learn", "mixture of scikit-learn", "n-grams",
		"model of a transformed target of scikit-learn", "naive Bayes of scikit-learn",
		"nearest center of scikit-learn", "neighbours of scikit-learn", "network of Keras", "network of ONNX",
		"network of TensorFlow Lite", "network of scikit-learn", "one model for each class of scikit-learn",
		"one model for each output of scikit-learn", "quadratic discriminant of scikit-learn", "random forest",
		"random forest of LightGBM", "random forest of scikit-learn", "scaler of ONNX",
		"stack of models of scikit-learn", "support vector machine of ONNX",
		"support vector machine of scikit-learn", "transformer of scikit-learn", "trees of ONNX",
		"vote of models of scikit-learn" };
	size_t i;

	for (i = 0; text && i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i], text) == 0)
			return kinds[i];
	return "classical model";
}

/* What each feature is: null for a number, "unused", "text", or a list of texts. */
static int
read_word(struct form_reader *x, const json_t *v, struct predict_words *to)
{
	const char *said = json_string_value(v), *text;
	size_t i, n = json_array_size(v);

	to->unused = said && strcmp(said, "unused") == 0;
	to->text = said && strcmp(said, "text") == 0;
	to->texts = n ? mem_array(n, sizeof *to->texts) : NULL;
	if (n && !to->texts)
		return err_memory(x->e);
	for (i = 0; i < n; i++) {
		text = json_string_value(json_array_get(v, i));
		if (!text)
			return wrong(x, FORM_KEY ": a category is not a text");
		to->texts[i] = mem_text(text, strlen(text));
		if (!to->texts[to->count++])
			return err_memory(x->e);
	}
	return 0;
}

static int
read_words(struct form_reader *x)
{
	const json_t *list = json_object_get(x->o, "words"), *unknown = json_object_get(x->o, "unknown");
	size_t i, n = json_array_size(list);
	json_int_t v;

	if (n == 0)
		return 0;
	x->m->words = mem_array(n, sizeof *x->m->words);
	if (!x->m->words)
		return err_memory(x->e);
	x->m->word_count = n;
	for (i = 0; i < n; i++)
		if (read_word(x, json_array_get(list, i), &x->m->words[i]) < 0)
			return -1;
	for (i = 0; i < n && i < json_array_size(unknown); i++) {
		v = json_integer_value(json_array_get(unknown, i));
		if (v < 0 || v > PREDICT_UNKNOWN_REFUSED)
			return wrong(x, FORM_KEY ": unknown is out of its bounds");
		x->m->words[i].unknown = (uint8_t)v;
	}
	return 0;
}

static int
read_key(struct form_reader *x)
{
	struct predictor *m = x->m;
	int form = choice(x, "form", form_forms), task = choice(x, "task", form_tasks);
	int link = choice(x, "link", form_links);
	uint64_t features, outputs;
	size_t i;

	if (form < 0 || task < 0 || link < 0 || count(x, "features", FOREST_FEATURES, &features) < 0 ||
	    count(x, "outputs", form == PREDICT_STEPS ? FOREST_FEATURES : PREDICT_OUTPUTS, &outputs) < 0)
		return -1;
	m->form = (enum predict_form)form;
	m->task = (enum predict_task)task;
	m->link = (enum predict_link)link;
	m->features = (size_t)features;
	m->outputs = (size_t)outputs;
	m->kind = kind_of(json_string_value(json_object_get(x->o, "kind")));
	m->sharpness = json_number_value(json_object_get(x->o, "sharpness"));
	m->absent = json_is_false(json_object_get(x->o, "absent_is_zero")) ? ABSENT_MISSING : ABSENT_ZERO;
	for (i = 0; i < FORM_OF_FOREST; i++)
		*form_flag(m, i) = json_is_true(json_object_get(x->o, form_flags[i]));
	if (!isfinite(m->sharpness))
		return wrong(x, FORM_KEY " has a sharpness that is not finite");
	return read_texts(x, "names", predictor_add_name) < 0 ||
	       read_texts(x, "labels", predictor_add_label) < 0 || read_words(x) < 0 ? -1 : 0;
}

/* ---- sums of products ---- */

static int
read_linear(struct form_reader *x)
{
	struct predictor *m = x->m;

	m->linear.weights = form_doubles(x->s, "linear.weights", (uint64_t)m->outputs * m->features);
	if (m->linear.weights && m->form == PREDICT_LINEAR)
		m->linear.bias = form_doubles(x->s, "linear.bias", m->outputs);
	return m->linear.weights && (m->form == PREDICT_CENTERS || m->linear.bias) ? 0 : -1;
}

/* ---- trees ---- */

static int
find_lists(struct form_reader *x)
{
	uint64_t nodes;

	if (find(x, "forest.counts", "I32", 0, true, &x->counts) < 0 ||
	    find(x, "forest.groups", "I32", x->counts.n, true, &x->groups) < 0 ||
	    find(x, "forest.features", "I32", 0, true, &x->features) < 0)
		return -1;
	nodes = x->features.n;
	if (find(x, "forest.thresholds", "F64", nodes, true, &x->thresholds) < 0 ||
	    find(x, "forest.left", "I32", nodes, true, &x->left) < 0 ||
	    find(x, "forest.flags", "I8", nodes, true, &x->flags) < 0 ||
	    find(x, "forest.sets", "I32", nodes, false, &x->sets) < 0 ||
	    find(x, "forest.words", "I32", 0, false, &x->words) < 0 ||
	    find(x, "forest.covers", "F64", nodes, false, &x->covers) < 0 ||
	    find(x, "forest.ids", "I32", 0, true, &x->ids) < 0 ||
	    find(x, "forest.values", "F64", 0, true, &x->values) < 0)
		return -1;
	if (!x->m->covers)
		x->covers.p = NULL;
	return x->values.n == x->ids.n * x->width ? 0
	       : wrong(x, "forest.values does not fit the leaves");
}

/* The set of a node, from forest.words to the tree. */
static int
put_set(const struct form_reader *x, struct tree *t, struct tree_node *to, uint64_t i)
{
	uint64_t k, at = x->sets.p ? word_at(&x->sets, i) : UINT64_MAX, n;

	if (at >= x->words.n || (n = word_at(&x->words, at)) > x->words.n - at - 1)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "the set of node %" PRIu64 " is outside its list", i);
	to->set = t->sets.n / 4;
	to->set_words = (size_t)n;
	if (forest_sets(x->m->forest.sets.n / 4 + to->set, (size_t)n, x->w->name, x->e) < 0)
		return -1;
	for (k = 0; k < n; k++) {
		uint32_t word = word_at(&x->words, at + 1 + k);

		buf_put(&t->sets, &word, sizeof word);
	}
	return 0;
}

/* Node i, or a leaf, the next one in the lists of leaves. */
static int
put_node(const struct form_reader *x, struct tree *t, uint64_t i, uint64_t *leaf)
{
	struct tree_node *to = tree_add(t);
	unsigned flags = x->flags.p[i];
	uint64_t k;

	if (!to)
		return err_memory(x->e);
	to->cover = x->covers.p ? double_at(&x->covers, i) : 0;
	if (word_at(&x->features, i) == UINT32_MAX) {
		if (*leaf >= x->ids.n)
			return wrong(x, "there are more leaves than forest.ids has numbers");
		to->id = word_at(&x->ids, *leaf);
		to->values = t->values.n / sizeof(double);
		for (k = 0; k < x->width; k++) {
			double v = double_at(&x->values, *leaf * x->width + k);

			buf_put(&t->values, &v, sizeof v);
		}
		++*leaf;
		return 0;
	}
	to->feature = word_at(&x->features, i);
	to->threshold = double_at(&x->thresholds, i);
	to->left = word_at(&x->left, i);
	to->right = to->left + 1;
	to->missing = flags & FORM_ZEROS ? FOREST_ZEROS : FOREST_NAN;
	to->default_left = !(flags & FORM_RIGHT);
	to->category = flags & FORM_CATEGORY;
	to->negative = flags & FORM_NEGATIVE;
	if (to->left == 0 || to->right == 0)
		return err_set(x->e, ERR_CORRUPT, x->w->name, "node %" PRIu64 " lacks a child", i);
	return to->category ? put_set(x, t, to, i) : 0;
}

/* ---- trees whose nodes stand in the order of the forest ---- */

/* Appends leaf k of the lists as the node `to`. */
static void
append_leaf(const struct form_reader *x, struct forest_node *to, size_t k)
{
	struct forest *f = &x->m->forest;
	size_t at = (size_t)(to - f->nodes), i;

	*to = (struct forest_node){ .t = HUGE_VAL, .left = (uint32_t)at };
	f->leaf[at] = (uint32_t)k;
	f->ids[k] = word_at(&x->ids, k);
	for (i = 0; i < f->width; i++)
		f->values[k * f->width + i] = double_at(&x->values, k * f->width + i);
}

/* Appends split i, whose left child must be node `child` of its tree. False for what forest_add has
 * to look at. */
static bool
append_split(const struct form_reader *x, struct forest_node *to, uint64_t i, size_t root, size_t child)
{
	uint32_t feature = word_at(&x->features, i), flags = x->flags.p[i];
	double t = double_at(&x->thresholds, i);

	if (feature >= x->m->features || isnan(t) || flags & FORM_CATEGORY || word_at(&x->left, i) != child)
		return false;
	*to = (struct forest_node){ .t = t, .left = (uint32_t)(root + child), .word = feature |
		(flags & FORM_RIGHT ? WALK_RIGHT : 0) | (flags & FORM_ZEROS ? WALK_ZEROS : 0) };
	return true;
}

/* Appends the n nodes from `at` on, if each split has the next two nodes as its children: then they are a
 * tree, in breadth-first order. False, and the forest as it was, if they are something else. */
static bool
append_tree(const struct form_reader *x, uint64_t at, size_t n, uint32_t group, uint64_t *leaf)
{
	struct forest *f = &x->m->forest;
	size_t root = f->node_count, next = f->leaf_count, reached = 1, end = 1, i;
	struct forest_tree t = { .root = (uint32_t)root, .group = group, .plain = true };

	if (*leaf != next) /* a tree had leaves that nothing leads to */
		return false;
	for (i = 0; i < n && i < reached; i++) {
		struct forest_node *to = &f->nodes[root + i];

		if (i == end) { /* a level further down */
			t.depth++;
			end = reached;
		}
		if (word_at(&x->features, at + i) == UINT32_MAX) {
			if (next == x->ids.n)
				return false;
			append_leaf(x, to, next++);
		} else if (append_split(x, to, at + i, root, reached)) {
			t.plain &= !(to->word & WALK_ZEROS);
			reached += 2;
		} else {
			return false;
		}
	}
	if (i != n || reached != n)
		return false;
	f->trees[f->tree_count++] = t;
	f->node_count += n;
	f->value_count += (next - f->leaf_count) * f->width;
	*leaf = f->leaf_count = next;
	f->uncovered = true;
	return true;
}

/* ---- all trees ---- */

static int
put_trees(struct form_reader *x)
{
	struct forest *f = &x->m->forest;
	struct tree t = { .group = 0 };
	uint64_t k, i, at = 0, leaf = 0, n;
	char where[400];
	int r = forest_reserve(f, x->features.n, x->ids.n, x->counts.n, x->e);

	for (k = 0; r == 0 && k < x->counts.n; k++, at += n) {
		n = word_at(&x->counts, k);
		if (n <= x->features.n - at && !x->covers.p && word_at(&x->groups, k) < f->groups &&
		    append_tree(x, at, (size_t)n, word_at(&x->groups, k), &leaf))
			continue;
		tree_clear(&t);
		snprintf(where, sizeof where, "%.300s, tree %" PRIu64, x->w->name, k);
		if (n > x->features.n - at)
			r = err_set(x->e, ERR_CORRUPT, where, "it has more nodes than forest.features");
		for (i = 0; r == 0 && i < n; i++)
			r = put_node(x, &t, at + i, &leaf);
		t.group = word_at(&x->groups, k);
		t.covered = x->covers.p != NULL;
		if (r == 0)
			r = forest_add(f, &t, where, x->e);
	}
	tree_free(&t);
	if (r == 0 && (at != x->features.n || leaf != x->ids.n))
		r = wrong(x, "forest.counts leaves some of the nodes or leaves");
	return r;
}

static int
read_trees(struct form_reader *x)
{
	struct predictor *m = x->m;
	double *base, *bias, scale = json_number_value(json_object_get(x->o, "scale"));
	size_t i;

	if (count(x, "width", m->outputs, &x->width) < 0)
		return -1;
	if ((x->width != 1 && x->width != m->outputs) || !isfinite(scale))
		return wrong(x, FORM_KEY " has a wrong width or scale");
	if (find_lists(x) < 0 || forest_begin(&m->forest, m->features, m->outputs, (size_t)x->width, x->e) < 0)
		return -1;
	for (i = FORM_OF_FOREST; i < FORM_FLAGS; i++)
		*form_flag(m, i) = json_is_true(json_object_get(x->o, form_flags[i]));
	m->forest.scale = scale;
	base = form_doubles(x->s, "forest.base", m->outputs);
	bias = base ? form_doubles(x->s, "forest.bias", m->outputs) : NULL;
	if (bias) {
		memcpy(m->forest.base, base, m->outputs * sizeof *base);
		memcpy(m->forest.bias, bias, m->outputs * sizeof *bias);
	}
	free(base);
	free(bias);
	return bias ? put_trees(x) : -1;
}

/* ---- models ---- */

int
form_read_model(struct form_source *s)
{
	struct form_reader x = { .s = s, .m = s->m, .w = s->w, .e = s->e, .o = s->o };
	uint64_t version;

	if (json_member_u64(s->o, "version", &version) < 0 || version != 1)
		return err_set(s->e, ERR_VERSION, s->w->name, FORM_KEY " is of a version that is not known here");
	if (read_key(&x) < 0 || form_read_steps(s) < 0 ||
	    (x.m->form == PREDICT_TREES ? read_trees(&x) : x.m->form == PREDICT_STEPS ? 0 : read_linear(&x)) < 0)
		return -1;
	return predictor_finish(x.m, s->w->name, s->e);
}

int
form_read(struct predictor *m, const struct weights *w, struct err *e)
{
	struct form_names names = { .n = 0 };
	struct form_budget budget = { .models = 0 };
	struct form_source s = { .m = m, .w = w, .e = e, .names = &names, .budget = &budget };
	struct value_type type;
	size_t n = 0;
	const uint8_t *p = weights_value(w, FORM_KEY, &type, &n);
	json_t *o;
	int r;

	if (!p || type.depth || type.leaf != VALUE_STRING || n < 8)
		return err_set(e, ERR_CORRUPT, w->name, FORM_KEY " is not a text");
	s.o = o = json_parse(p + 8, n - 8, ERR_CORRUPT, FORM_KEY, e);
	if (!o)
		return -1;
	r = form_names_begin(&names, w, e) < 0 ? -1 : form_read_model(&s);
	free(names.sorted);
	json_decref(o);
	return r;
}
