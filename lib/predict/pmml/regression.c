#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/pmml/pmml.h"
#include "predict/pmml/tables.h"

/* ---- terms ---- */

void
pmml_free_tables(struct pmml_tables *t)
{
	free(t->terms);
	free(t->intercepts);
	*t = (struct pmml_tables){ 0 };
}

void
pmml_scale(struct forest *f, size_t first, double by)
{
	size_t i, k = first < f->tree_count ? f->trees[first].root : f->node_count;

	for (i = k; i < f->node_count; i++)
		if (f->nodes[i].left == i)
			f->values[f->leaf[i]] *= by;
}

static int
put_term(struct pmml *p, struct pmml_tables *t, struct pmml_term x)
{
	if (mem_grow(&t->terms, &t->cap, t->count + 1, sizeof *t->terms) < 0)
		return err_memory(p->e);
	x.table = t->tables - 1;
	t->terms[t->count++] = x;
	return 0;
}

static int
number_of(struct pmml *p, uint32_t node, const char *name, double *to)
{
	return pmml_number(p, node, name, xml_attr(&p->x, node, name), to);
}

static int
read_numeric(struct pmml *p, uint32_t node, struct pmml_tables *t)
{
	uint32_t field = pmml_use(p, node, xml_attr(&p->x, node, "name"));
	struct pmml_term x = { .slot = SIZE_MAX, .group = SIZE_MAX };
	double exponent = 1;

	if (field == UINT32_MAX || number_of(p, node, "coefficient", &x.coefficient) < 0 ||
	    pmml_attr(p, node, "exponent", &exponent) < 0)
		return -1;
	if (p->fields[field].text)
		return pmml_refuse(p, node, "NumericPredictor of texts is not read");
	x.slot = p->fields[field].slot;
	x.group = p->fields[field].group;
	if (exponent != 1) {
		if (x.slot == SIZE_MAX)
			return pmml_refuse(p, node, "a power of the result of a model is not read");
		x.slot = pmml_product(p, &field, &exponent, 1);
		if (x.slot == SIZE_MAX)
			return -1;
	}
	return put_term(p, t, x);
}

static int
read_categorical(struct pmml *p, uint32_t node, struct pmml_tables *t)
{
	uint32_t field = pmml_use(p, node, xml_attr(&p->x, node, "name"));
	struct pmml_term x = { .group = SIZE_MAX };
	double v;

	if (field == UINT32_MAX || number_of(p, node, "coefficient", &x.coefficient) < 0)
		return -1;
	v = pmml_value(p, node, field, xml_attr(&p->x, node, "value"));
	if (p->e->code != ERR_NONE)
		return -1;
	if (p->fields[field].slot == SIZE_MAX)
		return pmml_refuse(p, node, "a category of the result of a model is not read");
	x.slot = pmml_indicator(p, field, v);
	return x.slot == SIZE_MAX ? -1 : put_term(p, t, x);
}

#define FACTORS 32

static int
read_product(struct pmml *p, uint32_t node, struct pmml_tables *t)
{
	struct pmml_term x = { .group = SIZE_MAX };
	uint32_t fields[FACTORS], f;
	double powers[FACTORS];
	size_t n = 0;

	if (number_of(p, node, "coefficient", &x.coefficient) < 0)
		return -1;
	for (f = xml_child(&p->x, node, "FieldRef"); f; f = xml_next(&p->x, f, "FieldRef"), n++) {
		if (n == FACTORS)
			return pmml_refuse(p, node, "PredictorTerm of more than %d fields is not read", FACTORS);
		fields[n] = pmml_use(p, f, xml_attr(&p->x, f, "field"));
		powers[n] = 1;
		if (fields[n] == UINT32_MAX)
			return -1;
		if (p->fields[fields[n]].text)
			return pmml_refuse(p, f, "PredictorTerm of texts is not read");
	}
	if (n == 0)
		return pmml_wrong(p, node, "PredictorTerm has no fields");
	x.slot = pmml_product(p, fields, powers, n);
	return x.slot == SIZE_MAX ? -1 : put_term(p, t, x);
}

static int
read_table(struct pmml *p, uint32_t table, struct pmml_tables *t)
{
	uint32_t c;
	int r = pmml_attr(p, table, "intercept", &t->intercepts[t->tables++]);

	for (c = xml_child(&p->x, table, NULL); c && r == 0; c = xml_next(&p->x, c, NULL)) {
		if (xml_is(&p->x, c, "NumericPredictor"))
			r = read_numeric(p, c, t);
		else if (xml_is(&p->x, c, "CategoricalPredictor"))
			r = read_categorical(p, c, t);
		else if (xml_is(&p->x, c, "PredictorTerm"))
			r = read_product(p, c, t);
	}
	return r;
}

/* ---- links ---- */

static const struct normalization {
	const char *name;
	enum predict_link value, two, many; /* for a number; for two classes; for several */
} normalizations[] = {
	{ "none", LINK_NONE, LINK_NONE, LINK_SHARE },
	{ "logit", LINK_SIGMOID, LINK_SIGMOID, LINK_NONE },
	{ "softmax", LINK_SIGMOID, LINK_SOFTMAX, LINK_SOFTMAX },
	{ "simplemax", LINK_NONE, LINK_PORTION, LINK_PORTION },
	{ "exp", LINK_EXP, LINK_NONE, LINK_NONE },
	{ "probit", LINK_PROBIT, LINK_PROBIT, LINK_NONE },
	{ "cloglog", LINK_CLOGLOG, LINK_CLOGLOG, LINK_NONE },
	{ "loglog", LINK_LOGLOG, LINK_LOGLOG, LINK_NONE },
	{ "cauchit", LINK_CAUCHIT, LINK_CAUCHIT, LINK_NONE },
};

/* The classes in the order of the outputs: those of the tables; of two, whose second is what is left, the second
 * one first. */
static int
put_labels(struct pmml *p, uint32_t model, bool turned)
{
	uint32_t t = xml_child(&p->x, model, "RegressionTable"), second = xml_next(&p->x, t, "RegressionTable");
	const char *text;

	for (t = turned ? second : t; t; t = turned ? t == second ? xml_child(&p->x, model, "RegressionTable") : XML_NONE
	                                            : xml_next(&p->x, t, "RegressionTable")) {
		text = xml_attr(&p->x, t, "targetCategory");
		if (!text)
			return pmml_wrong(p, t, "a table has no targetCategory");
		if (predictor_add_label(p->m, text, strlen(text), p->e) < 0)
			return -1;
	}
	return 0;
}

static int
set_link(struct pmml *p, uint32_t model, struct pmml_tables *t)
{
	const char *name = xml_attr(&p->x, model, "normalizationMethod");
	const struct normalization *n = normalizations;
	size_t i, all = sizeof normalizations / sizeof *normalizations;
	bool classes = pmml_says(p, model, "functionName", "classification");

	for (i = 0; name && i < all && strcmp(normalizations[i].name, name) != 0; i++)
		;
	if (name && i == all)
		return pmml_refuse(p, model, "the normalization %.40s is not known", name);
	n += name ? i : 0;
	p->m->sharpness = 1;
	t->outputs = t->tables;
	if (!classes) {
		p->m->task = PREDICT_VALUE;
		p->m->link = n->value;
		return t->tables == 1 ? 0 : pmml_wrong(p, model, "a model of numbers has %zu tables", t->tables);
	}
	if (t->tables < 2)
		return pmml_wrong(p, model, "a model of classes has %zu tables", t->tables);
	p->m->task = PREDICT_CLASSES;
	p->m->link = t->tables == 2 ? n->two : n->many;
	if (p->m->link == LINK_NONE && (t->tables > 2 || strcmp(n->name, "exp") == 0))
		return pmml_refuse(p, model, "the normalization %s of %zu classes is not read", n->name, t->tables);
	if (t->tables > 2 || n->two == LINK_SOFTMAX || n->two == LINK_PORTION)
		return put_labels(p, model, false);
	p->m->task = PREDICT_BINARY;
	p->m->ties_up = true; /* the first table's class */
	t->outputs = 1;
	return put_labels(p, model, true);
}

int
pmml_read_tables(struct pmml *p, uint32_t model, struct pmml_tables *to)
{
	uint32_t t, n = 0;

	if (pmml_check_schema(p, model) < 0)
		return -1;
	for (t = xml_child(&p->x, model, "RegressionTable"); t; t = xml_next(&p->x, t, "RegressionTable"))
		n++;
	to->intercepts = mem_array((size_t)n + 1, sizeof *to->intercepts);
	if (!to->intercepts)
		return err_memory(p->e);
	for (t = xml_child(&p->x, model, "RegressionTable"); t; t = xml_next(&p->x, t, "RegressionTable"))
		if (read_table(p, t, to) < 0)
			return -1;
	return set_link(p, model, to);
}

/* ---- a model of its own ---- */

/* Values that do not count. */
static int
drop_others(struct pmml *p, const struct pmml_tables *t, size_t n)
{
	bool *used = mem_array(n, sizeof *used);
	size_t i;
	int r;

	if (!used)
		return err_memory(p->e);
	for (i = 0; i < t->count; i++)
		used[t->terms[i].slot] = true;
	r = pmml_drop(p, used);
	free(used);
	return r;
}

static int
put_linear(struct pmml *p, uint32_t model, const struct pmml_tables *t)
{
	struct predictor *m = p->m;
	size_t i, n = pmml_slots(p), room;

	if (__builtin_mul_overflow(n, t->outputs, &room) || room > 4 * m->forest.most)
		return pmml_refuse(p, model, "%zu outputs of %zu fields take more room than the file", t->outputs, n);
	m->form = PREDICT_LINEAR;
	m->outputs = t->outputs;
	m->single = pmml_says(p, model, "x-mathContext", "float");
	m->linear.weights = mem_array(room, sizeof(double));
	m->linear.bias = mem_array(t->outputs, sizeof(double));
	if (!m->linear.weights || !m->linear.bias)
		return err_memory(p->e);
	memcpy(m->linear.bias, t->intercepts, t->outputs * sizeof(double));
	for (i = 0; i < t->count; i++) {
		if (t->terms[i].slot == SIZE_MAX)
			return pmml_refuse(p, model, "a table takes the result of a model");
		if (t->terms[i].table < t->outputs)
			m->linear.weights[t->terms[i].table * n + t->terms[i].slot] += t->terms[i].coefficient;
	}
	return drop_others(p, t, n);
}

int
pmml_read_regression(struct pmml *p, uint32_t model)
{
	struct pmml_tables t = { .count = 0 };
	uint32_t target = xml_child(&p->x, xml_child(&p->x, model, "Targets"), "Target");
	int r;

	p->m->kind = "linear model of PMML";
	if (xml_attr(&p->x, target, "rescaleFactor") || xml_attr(&p->x, target, "rescaleConstant") ||
	    xml_attr(&p->x, target, "castInteger") || xml_attr(&p->x, target, "min") || xml_attr(&p->x, target, "max"))
		return pmml_refuse(p, target, "Targets of a RegressionModel are not read");
	r = pmml_read_tables(p, model, &t) < 0 ? -1 : put_linear(p, model, &t);
	pmml_free_tables(&t);
	return r;
}
