/* Graphs of ONNX as predictors: columns, categories, labels and scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxops.h"

#define WORDS ((size_t)1 << 22) /* categories of all columns of texts */

static int
wrong(struct ops_reader *x, const char *what)
{
	return err_set(x->x->e, ERR_FORMAT, x->x->where, "%s", what);
}

/* The node that makes a value; NULL: it is an input or a constant. */
static const struct ops_node *
maker(const struct ops_reader *x, size_t place)
{
	return place == SIZE_MAX ? NULL : ((struct ops_node **)(void *)x->producers.p)[place];
}

static int
add_numbers(struct ops_reader *x, const double *v, size_t n)
{
	char text[32];
	size_t i;

	for (i = 0; i < n; i++) {
		snprintf(text, sizeof text, "%.17g", v[i]);
		if (predictor_add_label(x->x->m, text, strlen(text), x->x->e) < 0)
			return -1;
	}
	return 0;
}

static int
add_texts(struct ops_reader *x, const struct step_text *t, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (memchr(t[i].p, '\0', t[i].n) || predictor_add_label(x->x->m, t[i].p, t[i].n, x->x->e) < 0)
			return wrong(x, "a label has a zero byte");
	return 0;
}

/* Labels of the first attribute that the node has among these. 1, 0 or -1. */
static int
add_listed(struct ops_reader *x, const struct ops_node *n)
{
	static const char *const names[] = { "classlabels_strings", "classlabels_int64s", "values_strings", "values_int64s",
		"values_tensor", "classes_strings", "cats_strings" };
	const struct ops_attribute *a = NULL;
	size_t i;
	int r;

	for (i = 0; !a && i < sizeof names / sizeof *names; i++)
		a = ops_attribute(n, names[i]);
	if (!a)
		return 0;
	if (a->tensor.type)
		r = a->tensor.t ? add_texts(x, a->tensor.t, a->tensor.n) : add_numbers(x, a->tensor.v, a->tensor.n);
	else
		r = a->text_count ? add_texts(x, a->texts, a->text_count) : add_numbers(x, a->list, a->count);
	return r < 0 ? -1 : 1;
}

/* Whether a value is found in front of the node: its operator only moves it. */
static bool
passes(const struct ops_node *n)
{
	static const char *const names[] = { "Cast", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Flatten", "ZipMap" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(n->name, names[i]) == 0)
			return true;
	return false;
}

/* Finds the labels that a value is one of. *places: it is the number of a class instead. 0 or -1. */
static int
trace_labels(struct ops_reader *x, size_t place, bool *places)
{
	const struct ops_node *n;
	const struct ops_tensor *c;

	while ((n = maker(x, place)) && passes(n))
		place = n->in[0];
	if (!n)
		return 0;
	if (strcmp(n->name, "ArrayFeatureExtractor") == 0 || strcmp(n->name, "Gather") == 0) {
		c = n->in[0] == SIZE_MAX ? NULL : &x->g->constants[n->in[0]];
		return !c || !c->type ? 0 : c->t ? add_texts(x, c->t, c->n) : add_numbers(x, c->v, c->n);
	}
	*places = strncmp(n->name, "Arg", 3) == 0;
	if (strstr(n->name, "Classifier")) {
		const struct predictor *m = ops_model(n);
		size_t i;

		for (i = 0; i < m->label_count; i++)
			if (predictor_add_label(x->x->m, m->labels[i], strlen(m->labels[i]), x->x->e) < 0)
				return -1;
		*places = m->label_count == 0;
		return 0;
	}
	return strcmp(n->name, "LabelEncoder") == 0 || strcmp(n->name, "CategoryMapper") == 0
	       ? add_listed(x, n) < 0 ? -1 : 0 : 0;
}

static const struct ops_tensor *
made(const struct ops_reader *x, size_t place)
{
	return x->g->constants[place].type ? &x->g->constants[place] : &x->run->values[place];
}

/* The outputs of a classifier: scores, then the label. */
static int
set_classes(struct ops_reader *x, size_t label, size_t scores)
{
	struct ops_graph *g = x->g;
	struct predictor *m = x->x->m;
	const struct ops_tensor *v = scores == SIZE_MAX ? NULL : made(x, scores);
	const struct ops_node *zip = maker(x, scores);
	size_t count = v ? v->n : 0;
	bool places = false;

	if (zip && strcmp(zip->name, "ZipMap") == 0 && add_listed(x, zip) < 0)
		return -1;
	if (m->label_count == 0 && trace_labels(x, label, &places) < 0)
		return -1;
	if (m->label_count == 0 && !places)
		return wrong(x, "the classes of the labels are not known");
	if (v && v->n)
		g->outputs[g->output_count++] = (struct ops_output){ scores, v->n };
	g->outputs[g->output_count++] = (struct ops_output){ label, 1 };
	g->labelled = m->chosen = true;
	m->task = PREDICT_CLASSES;
	m->classes = m->label_count ? m->label_count : count;
	m->link = count == m->classes ? LINK_SHARE : LINK_NONE;
	m->single = !v || v->type == OPS_FLOAT;
	g->labels = m->labels;
	g->label_count = m->classes;
	m->outputs = count + 1;
	return m->classes ? 0 : wrong(x, "the classes of the labels are not known");
}

/* All outputs, one behind the other. */
static int
set_values(struct ops_reader *x)
{
	const size_t *places = (const size_t *)(const void *)x->outputs.p;
	size_t i, n = x->outputs.n / sizeof *places;
	struct ops_graph *g = x->g;
	struct predictor *m = x->x->m;

	m->task = PREDICT_VALUE;
	m->link = LINK_NONE;
	m->single = true;
	m->outputs = 0;
	for (i = 0; i < n; i++) {
		const struct ops_tensor *t = made(x, places[i]);

		if (t->type == OPS_STRING)
			return wrong(x, "an output is a list of texts");
		m->single &= t->type != OPS_DOUBLE;
		g->outputs[g->output_count++] = (struct ops_output){ places[i], t->n };
		m->outputs += t->n;
	}
	return 0;
}

/* A label is one text, or one integer beside scores. */
int
ops_set_outputs(struct ops_reader *x)
{
	const size_t *places = (const size_t *)(const void *)x->outputs.p;
	size_t i, n = x->outputs.n / sizeof *places, label = SIZE_MAX, scores = SIZE_MAX;
	bool known = false;

	x->g->outputs = mem_array(n + 1, sizeof *x->g->outputs);
	if (!x->g->outputs)
		return err_memory(x->x->e);
	for (i = 0; i < n; i++) {
		const struct ops_tensor *t = made(x, places[i]);

		if (!t->type)
			return wrong(x, "an output is not made");
		if (t->type == OPS_STRING ? label == SIZE_MAX && t->n == 1
		    : (t->type == OPS_INT64 || t->type == OPS_INT32) && label == SIZE_MAX && n > 1 && t->n == 1)
			label = places[i];
		else if (scores == SIZE_MAX && (t->type == OPS_FLOAT || t->type == OPS_DOUBLE))
			scores = places[i];
	}
	if (label == SIZE_MAX)
		return set_values(x);
	if (made(x, label)->type != OPS_STRING) { /* numbers without a list stay numbers */
		const struct ops_node *zip = maker(x, scores);

		known = zip && strcmp(zip->name, "ZipMap") == 0;
		if (!known && trace_labels(x, label, &known) < 0)
			return -1;
		if (!known && x->x->m->label_count == 0)
			return set_values(x);
	}
	return set_classes(x, label, scores);
}

/* ---- columns ---- */

static int
name_columns(struct ops_reader *x)
{
	struct predictor *m = x->x->m;
	const struct step_text *names = (const struct step_text *)(const void *)x->names.p;
	char text[320];
	size_t i, k;
	int r = 0;

	if (x->g->input_count == 1 && !x->g->inputs[0].names)
		return 0;
	for (i = 0; i < x->g->input_count; i++)
		for (k = 0; k < x->g->inputs[i].width && r == 0; k++) {
			const struct ops_input *in = &x->g->inputs[i];
			struct step_text t = in->names ? in->names->texts[k] : names[in->place];
			int n = t.n < 256 ? (int)t.n : 256;

			if (in->names || in->width == 1)
				snprintf(text, sizeof text, "%.*s", n, t.p);
			else
				snprintf(text, sizeof text, "%.*s_%zu", n, t.p, k);
			r = predictor_add_name(m, text, strlen(text), x->x->e);
		}
	return r;
}

/* Calls add for each text that a column can be compared with. */
static int
each_word(struct ops_reader *x, int (*add)(void *ctx, struct step_text t), void *ctx)
{
	static const char *const names[] = { "keys_strings", "cats_strings", "classes_strings", "pool_strings", "keys_tensor" };
	size_t i, k, j;

	for (i = 0; i < x->g->node_count; i++)
		for (k = 0; k < sizeof names / sizeof *names; k++) {
			const struct ops_attribute *a = ops_attribute(&x->g->nodes[i], names[k]);
			const struct step_text *t = a && a->tensor.t ? a->tensor.t : a ? a->texts : NULL;

			for (j = 0; a && j < (a->tensor.t ? a->tensor.n : a->text_count); j++)
				if (add(ctx, t[j]) < 0)
					return -1;
		}
	for (i = 0; i < x->g->values; i++)
		for (j = 0; x->g->constants[i].t && j < x->g->constants[i].n; j++)
			if (add(ctx, x->g->constants[i].t[j]) < 0)
				return -1;
	return 0;
}

static int
add_text(void *ctx, struct step_text t)
{
	struct buf *b = ctx;

	buf_put(b, &t, sizeof t);
	return buf_ok(b) ? 0 : -1;
}

/* All categories of the graph, each one once and without zero bytes, at the front of the table. 0 or -1. */
static int
find_words(struct ops_reader *x, struct ops_table *t, size_t *count)
{
	static const struct step_text none = { "", 0 };
	struct buf all = { 0 };
	size_t k;
	int r = 0;

	*count = 0;
	if (each_word(x, add_text, &all) < 0 ||
	    ops_table(t, NULL, all.p ? (const struct step_text *)(const void *)all.p : &none, all.n / sizeof none) < 0)
		r = err_memory(x->x->e);
	for (k = 0; r == 0 && k < t->n; k++)
		if ((k == 0 || !ops_texts_equal(t->keys[k].text, t->keys[k - 1].text)) &&
		    !memchr(t->keys[k].text.p, '\0', t->keys[k].text.n))
			t->keys[(*count)++] = t->keys[k];
	buf_free(&all);
	return r;
}

/* Gives a column the categories. 0 or -1. */
static int
fill_words(struct ops_reader *x, struct predict_words *w, const struct ops_table *t, size_t count)
{
	w->unused = count == 0;
	w->texts = mem_array(count, sizeof *w->texts);
	while (w->texts && w->count < count &&
	       (w->texts[w->count] = mem_text(t->keys[w->count].text.p, t->keys[w->count].text.n)))
		w->count++;
	x->g->words = w->texts;
	x->g->word_count = w->count;
	return w->texts && w->count == count ? 0 : err_memory(x->x->e);
}

/* A column of texts is any text if the graph looks into texts; else it is one of all categories of the graph, or
 * unknown. */
int
ops_set_words(struct ops_reader *x)
{
	struct predictor *m = x->x->m;
	struct ops_table t = { .n = 0 };
	size_t i, k, columns = 0, count = 0;
	int r = 0;

	for (i = 0; i < x->g->input_count && !x->g->reads_texts; i++)
		columns += x->g->inputs[i].type == OPS_STRING ? x->g->inputs[i].width : 0;
	if (columns == 0)
		return 0;
	if (!x->run->texts)
		r = find_words(x, &t, &count);
	if (r == 0 && (count > WORDS / columns || !(m->words = mem_array(m->features, sizeof *m->words))))
		r = err_set(x->x->e, ERR_FORMAT, x->x->where, "%zu columns of %zu categories are too many", columns, count);
	if (r == 0)
		m->word_count = m->features;
	for (i = 0; r == 0 && i < x->g->input_count; i++)
		for (k = 0; x->g->inputs[i].type == OPS_STRING && r == 0 && k < x->g->inputs[i].width; k++)
			if (x->run->texts)
				m->words[x->g->inputs[i].from + k].text = true;
			else
				r = fill_words(x, &m->words[x->g->inputs[i].from + k], &t, count);
	free(t.keys);
	return r;
}

int
ops_set_inputs(struct ops_reader *x)
{
	struct ops_graph *g = x->g;
	struct predictor *m = x->x->m;
	size_t i;

	for (i = 0; i < g->input_count; i++) {
		if (g->inputs[i].width == 0)
			return wrong(x, "the width of the rows is not known");
		g->inputs[i].from = m->features;
		m->features += g->inputs[i].width;
		if (m->features > FOREST_FEATURES)
			return wrong(x, "the rows are too wide");
	}
	g->reads_texts = g->input_count == 1 && g->inputs[0].type == OPS_STRING && g->inputs[0].width == 1;
	if (g->reads_texts)
		return 0;
	return name_columns(x);
}

/* ---- for messages ---- */

void
onnxops_names(const struct step *s, struct buf *to)
{
	const struct ops_graph *g = s->more;
	size_t i, k;

	for (i = 0; i < g->node_count && to->n < 300; i++) {
		for (k = 0; k < i && g->nodes[k].name != g->nodes[i].name; k++)
			;
		if (k == i)
			buf_printf(to, "%s%s", i ? ", " : "", g->nodes[i].name);
	}
	if (i < g->node_count)
		buf_text(to, ", ...");
}
