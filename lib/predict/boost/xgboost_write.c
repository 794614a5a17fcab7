#include <math.h>
#include <string.h>

#include "core/json.h"
#include "predict/decimal.h"
#include "predict/walk.h"
#include "predict/writers.h"

/* ---- numbers ---- */

/* XGBoost tells integers from other numbers by their text. */
static void
put_float(struct buf *b, double v)
{
	size_t from = b->n;

	if (isnan(v))
		buf_text(b, "NaN");
	else if (isinf(v))
		buf_text(b, v < 0 ? "-Infinity" : "Infinity");
	else
		decimal_write(b, v, true);
	if (isfinite(v) && buf_ok(b) && !memchr(b->p + from, '.', b->n - from) &&
	    !memchr(b->p + from, 'e', b->n - from))
		buf_text(b, "E0");
}

/* ---- one tree ---- */

struct tree_of {
	const struct writer *w;
	const struct forest *f;
	size_t tree;
	uint32_t root, count;
};

static bool
is_leaf(const struct tree_of *t, uint32_t i)
{
	return t->f->nodes[t->root + i].left == t->root + i;
}

static bool
is_category(const struct tree_of *t, uint32_t i)
{
	return !is_leaf(t, i) && t->f->nodes[t->root + i].word & WALK_CATEGORY;
}

/* A node that splits by categories sends those of its list right; here they go left. */
static uint32_t
left_of(const struct tree_of *t, uint32_t i)
{
	return t->f->nodes[t->root + i].left - t->root + is_category(t, i);
}

static uint32_t
right_of(const struct tree_of *t, uint32_t i)
{
	return t->f->nodes[t->root + i].left - t->root + !is_category(t, i);
}

static void
put_left(const struct tree_of *t, uint32_t i, struct buf *b)
{
	buf_printf(b, "%ld", is_leaf(t, i) ? -1L : (long)left_of(t, i));
}

static void
put_right(const struct tree_of *t, uint32_t i, struct buf *b)
{
	buf_printf(b, "%ld", is_leaf(t, i) ? -1L : (long)right_of(t, i));
}

static void
put_index(const struct tree_of *t, uint32_t i, struct buf *b)
{
	buf_printf(b, "%u", is_leaf(t, i) ? 0 : t->f->nodes[t->root + i].word & WALK_FEATURE);
}

static void
put_condition(const struct tree_of *t, uint32_t i, struct buf *b)
{
	double v = t->f->nodes[t->root + i].t;

	if (is_leaf(t, i))
		put_float(b, (double)writer_leaf(t->w, t->tree, t->root + i, 0));
	else if (is_category(t, i))
		buf_text(b, "NaN");
	else
		put_float(b, (double)nextafterf(writer_threshold(v), HUGE_VALF)); /* x < it is x <= t */
}

static void
put_default(const struct tree_of *t, uint32_t i, struct buf *b)
{
	bool right = t->f->nodes[t->root + i].word & WALK_RIGHT;

	buf_text(b, !is_leaf(t, i) && right == is_category(t, i) ? "1" : "0");
}

static void
put_type(const struct tree_of *t, uint32_t i, struct buf *b)
{
	buf_text(b, is_category(t, i) ? "1" : "0");
}

static void
put_cover(const struct tree_of *t, uint32_t i, struct buf *b)
{
	put_float(b, t->f->uncovered ? 0 : t->f->covers[t->root + i]);
}

static void
put_zero(const struct tree_of *t, uint32_t i, struct buf *b)
{
	(void)t;
	(void)i;
	buf_text(b, "0E0");
}

/* The parents of all nodes; children come behind them, so one pass fills in the numbers. */
static void
put_parents(const struct tree_of *t, struct buf *b)
{
	struct buf list = { 0 };
	uint32_t *parent, i;

	buf_zeros(&list, t->count * sizeof *parent);
	if (!buf_ok(&list)) {
		b->failed = true;
		return;
	}
	parent = (uint32_t *)(void *)list.p;
	parent[0] = INT32_MAX;
	for (i = 0; i < t->count; i++)
		if (!is_leaf(t, i))
			parent[left_of(t, i)] = parent[right_of(t, i)] = i;
	for (i = 0; i < t->count; i++)
		buf_printf(b, "%s%u", i ? "," : "", parent[i]);
	buf_free(&list);
}

static void
put_list(const struct tree_of *t, const char *name, struct buf *b,
         void (*put)(const struct tree_of *t, uint32_t i, struct buf *b))
{
	uint32_t i;

	buf_printf(b, ",\"%s\":[", name);
	for (i = 0; i < t->count; i++) {
		buf_text(b, i ? "," : "");
		put(t, i, b);
	}
	buf_text(b, "]");
}

/* The sets of all nodes: their categories, and for each node where they begin. */
static void
put_categories(const struct tree_of *t, struct buf *b)
{
	struct buf all = { 0 }, nodes = { 0 }, from = { 0 }, sizes = { 0 };
	size_t n = 0, before, c;
	uint32_t i;

	for (i = 0; i < t->count; i++) {
		const uint32_t *set = (const uint32_t *)(const void *)t->f->sets.p;

		if (!is_category(t, i))
			continue;
		set += (size_t)t->f->nodes[t->root + i].t;
		for (c = 0, before = n; c < (size_t)set[0] * 32; c++)
			if (set[1 + c / 32] >> c % 32 & 1)
				buf_printf(&all, "%s%zu", n++ ? "," : "", c);
		buf_printf(&nodes, "%s%u", nodes.n ? "," : "", i);
		buf_printf(&from, "%s%zu", from.n ? "," : "", before);
		buf_printf(&sizes, "%s%zu", sizes.n ? "," : "", n - before);
	}
	buf_text(b, "\"categories\":[");
	buf_put(b, all.p, all.n);
	buf_text(b, "],\"categories_nodes\":[");
	buf_put(b, nodes.p, nodes.n);
	buf_text(b, "],\"categories_segments\":[");
	buf_put(b, from.p, from.n);
	buf_text(b, "],\"categories_sizes\":[");
	buf_put(b, sizes.p, sizes.n);
	buf_text(b, "]");
	b->failed |= all.failed || nodes.failed || from.failed || sizes.failed;
	buf_free(&all);
	buf_free(&nodes);
	buf_free(&from);
	buf_free(&sizes);
}

static void
put_tree(const struct writer *w, size_t k, struct buf *b)
{
	struct tree_of t = { w, &w->m->forest, k, w->m->forest.trees[k].root,
		writer_nodes(&w->m->forest, k) };

	buf_printf(b, "%s{\"id\":%zu,", k ? "," : "", k);
	put_categories(&t, b);
	put_list(&t, "base_weights", b, put_zero);
	put_list(&t, "default_left", b, put_default);
	put_list(&t, "left_children", b, put_left);
	put_list(&t, "loss_changes", b, put_zero);
	buf_text(b, ",\"parents\":[");
	put_parents(&t, b);
	buf_text(b, "]");
	put_list(&t, "right_children", b, put_right);
	put_list(&t, "split_conditions", b, put_condition);
	put_list(&t, "split_indices", b, put_index);
	put_list(&t, "split_type", b, put_type);
	put_list(&t, "sum_hessian", b, put_cover);
	buf_printf(b, ",\"tree_param\":{\"num_deleted\":\"0\",\"num_feature\":\"%zu\",\"num_nodes\":\"%u\","
	           "\"size_leaf_vector\":\"0\"}}", w->m->features, t.count);
}

/* ---- the model ---- */

static const struct {
	enum predict_task task;
	enum predict_link link;
	const char *name, *base, *parameters;
} objectives[] = {
	{ PREDICT_VALUE, LINK_NONE, "reg:squarederror", "0E0", "\"reg_loss_param\":{\"scale_pos_weight\":\"1\"}" },
	{ PREDICT_VALUE, LINK_SIGMOID, "reg:logistic", "5E-1", "\"reg_loss_param\":{\"scale_pos_weight\":\"1\"}" },
	{ PREDICT_VALUE, LINK_EXP, "count:poisson", "1E0",
	  "\"poisson_regression_param\":{\"max_delta_step\":\"0.7\"}" },
	{ PREDICT_BINARY, LINK_SIGMOID, "binary:logistic", "5E-1",
	  "\"reg_loss_param\":{\"scale_pos_weight\":\"1\"}" },
	{ PREDICT_BINARY, LINK_HINGE, "binary:hinge", "0E0", NULL },
	{ PREDICT_CLASSES, LINK_SOFTMAX, "multi:softprob", "0E0", "" },
};

static void
put_names(const struct predictor *m, struct buf *b)
{
	size_t i;

	buf_text(b, "\"feature_names\":[");
	for (i = 0; m->names && i < m->name_count; i++) {
		buf_text(b, i ? "," : "");
		json_quote(b, m->names[i], strlen(m->names[i]));
	}
	buf_text(b, "],\"feature_types\":[],");
}

static void
put_booster(const struct writer *w, struct buf *b)
{
	const struct predictor *m = w->m;
	size_t i, k;

	if (m->form == PREDICT_LINEAR) {
		buf_text(b, "\"gradient_booster\":{\"model\":{\"weights\":[");
		for (i = 0; i <= m->features; i++)
			for (k = 0; k < m->outputs; k++) {
				buf_text(b, i || k ? "," : "");
				put_float(b, i == m->features ? m->linear.bias[k] : m->linear.weights[k * m->features + i]);
			}
		buf_text(b, "]},\"name\":\"gblinear\"},");
		return;
	}
	buf_printf(b, "\"gradient_booster\":{\"model\":{\"gbtree_model_param\":{\"num_parallel_tree\":\"1\","
	           "\"num_trees\":\"%zu\",\"size_leaf_vector\":\"0\"},\"tree_info\":[", m->forest.tree_count);
	for (i = 0; i < m->forest.tree_count; i++)
		buf_printf(b, "%s%u", i ? "," : "", m->forest.trees[i].group);
	buf_text(b, "],\"trees\":[");
	for (i = 0; i < m->forest.tree_count; i++)
		put_tree(w, i, b);
	buf_text(b, "]},\"name\":\"gbtree\"},");
}

/* Categories of XGBoost are below 2^24. */
static int
check_sets(const struct writer *w)
{
	const struct forest *f = &w->m->forest;
	uint32_t i;

	for (i = 0; i < f->node_count; i++)
		if (f->nodes[i].left != i && f->nodes[i].word & WALK_NEGATIVE)
			return writer_refuse(w, "categories below zero that are missing values");
	return 0;
}

static int
write(struct writer *w)
{
	const struct predictor *m = w->m;
	struct buf *b = w->to;
	size_t i, n = sizeof objectives / sizeof *objectives;
	bool several = m->task == PREDICT_CLASSES;
	bool fits = m->step_count == 0 && (m->form == PREDICT_TREES || m->form == PREDICT_LINEAR); /* else: writer_begin */

	for (i = 0; i < n && (objectives[i].task != m->task || objectives[i].link != m->link); i++)
		;
	if (fits && (i == n || (m->outputs > 1 && !several)))
		return writer_refuse_link(w);
	if (m->form == PREDICT_TREES && m->forest.width != 1)
		return writer_refuse(w, "leaves with several values");
	if (writer_begin(w) < 0 || (m->form == PREDICT_TREES && check_sets(w) < 0))
		return -1;
	if (m->labels && w->note)
		w->note("XGBoost numbers classes from 0: their names are left out");
	buf_text(b, "{\"learner\":{\"attributes\":{},");
	put_names(m, b);
	put_booster(w, b);
	buf_printf(b, "\"learner_model_param\":{\"base_score\":\"%s\",\"num_class\":\"%zu\","
	           "\"num_feature\":\"%zu\",\"num_target\":\"1\"},\"objective\":{\"name\":\"%s\"",
	           objectives[i].base, several ? m->outputs : 0, m->features, objectives[i].name);
	if (several)
		buf_printf(b, ",\"softmax_multiclass_param\":{\"num_class\":\"%zu\"}", m->outputs);
	else if (objectives[i].parameters)
		buf_printf(b, ",%s", objectives[i].parameters);
	buf_text(b, "}},\"version\":[1,7,4]}\n");
	return buf_ok(b) ? 0 : err_memory(w->e);
}

int
xgboost_write(const struct predictor *m, const char *where, void (*note)(const char *), struct buf *to,
              struct err *e)
{
	struct writer w = { .m = m, .where = where, .title = "XGBoost", .note = note, .to = to, .e = e };
	int r = write(&w);

	writer_end(&w);
	return r;
}
