/* Parts that get the same rows: FeatureUnion, and what all steps of parts need. */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "predict/sklearn/sklearn.h"
#include "predict/step_columns.h"

#define PARTS 4096

void
sklearn_aside(struct sklearn *s, struct sklearn_aside *kept)
{
	struct predictor *m = s->m;

	*kept = (struct sklearn_aside){ m->steps, m->step_count, m->step_cap };
	m->steps = NULL;
	m->step_count = m->step_cap = 0;
}

void
sklearn_back(struct sklearn *s, const struct sklearn_aside *kept, struct step_part *part)
{
	struct predictor *m = s->m;

	free(s->fill);
	s->fill = NULL;
	part->steps = m->steps;
	part->step_count = m->step_count;
	m->steps = kept->steps;
	m->step_count = kept->count;
	m->step_cap = kept->cap;
}

int
sklearn_join(struct sklearn *s, struct step_part *part)
{
	size_t i, width = part->width;

	for (i = 0; i < part->step_count; i++) {
		const struct step *x = &part->steps[i];

		if ((x->kind->texts && i > 0) || x->in != width || x->out == 0 || x->out > SKLEARN_VALUES)
			return err_set(s->e, ERR_CORRUPT, s->where, "a step takes %zu %s, and the one before it gives "
			               "%zu values", x->in, x->kind->texts ? "text" : "values", width);
		width = x->out;
	}
	part->out = width;
	return 0;
}

struct step_columns *
sklearn_union(struct sklearn *s, size_t n)
{
	struct step *step = sklearn_step(s, &step_parts, 0, 0);
	struct step_columns *x = step && n <= PARTS ? mem_array(1, sizeof *x) : NULL;

	if (!x) {
		if (step)
			sklearn_wrong(s, "a union has too many parts");
		return NULL;
	}
	step->more = x;
	step->free_more = step_columns_free;
	x->parts = mem_array(n, sizeof *x->parts);
	if (!x->parts)
		err_memory(s->e);
	return x->parts ? x : NULL;
}

int
sklearn_union_end(struct sklearn *s)
{
	struct step *step = &s->m->steps[s->m->step_count - 1];
	struct step_columns *x = step->more;
	size_t k, n = s->m->step_count > 1 ? step[-1].out : s->width;

	for (k = 0; k < x->n; k++)
		if (x->parts[k].step_count) {
			n = x->parts[k].steps[0].in;
			step->kind = x->parts[k].steps[0].kind->texts ? &step_parts_texts : step->kind;
		}
	step->in = n;
	for (k = 0; k < x->n; k++) {
		struct step_part *part = &x->parts[k];

		part->width = n;
		if (step->kind == &step_parts_texts && (part->step_count == 0 || !part->steps[0].kind->texts))
			return sklearn_wrong(s, "a union has parts of texts and of numbers");
		if (sklearn_join(s, part) < 0)
			return -1;
		step->out += part->out;
		if (step->out > SKLEARN_VALUES)
			return sklearn_wrong(s, "a union has too many values");
	}
	return 0;
}

/* ---- FeatureUnion ---- */

/* The weight of a part, or 1. */
static double
weight_of(struct sklearn *s, pickle_ref weights, pickle_ref name)
{
	const uint8_t *p;
	char text[128];
	size_t n;
	double v;

	if (sklearn_none(s, weights) || pickle_node(&s->k, weights)->kind != PICKLE_DICT ||
	    pickle_node(&s->k, name)->kind != PICKLE_TEXT)
		return 1;
	p = pickle_bytes(&s->k, name, &n);
	snprintf(text, sizeof text, "%.*s", n < sizeof text ? (int)n : (int)sizeof text - 1, (const char *)p);
	return sklearn_number(s, sklearn_entry(s, weights, text), &v) == 0 ? v : 1;
}

/* Multiplies what a part gives. */
static int
weigh(struct sklearn *s, double weight)
{
	size_t j, n = s->m->step_count ? s->m->steps[s->m->step_count - 1].out : 0;
	struct step *x;

	if (weight == 1 || n == 0)
		return weight == 1 ? 0 : sklearn_wrong(s, "a part that passes its rows has a weight");
	x = sklearn_step(s, &step_stretch, n, n);
	if (!x || !(x->b = mem_array(n, sizeof *x->b)))
		return x ? err_memory(s->e) : -1;
	for (j = 0; j < n; j++)
		x->b[j] = weight;
	return 0;
}

static int
read_part(struct sklearn *s, pickle_ref pair, pickle_ref weights, struct step_columns *x)
{
	struct sklearn_aside kept;
	pickle_ref item[2];
	bool passes;
	int status = 0;

	if (pickle_items(&s->k, pair, item, 2) != 2)
		return sklearn_wrong(s, "a part of a union is not a name and an estimator");
	if (pickle_is(&s->k, item[1], "drop"))
		return 0;
	passes = sklearn_none(s, item[1]) || pickle_is(&s->k, item[1], "passthrough");
	sklearn_aside(s, &kept);
	s->depth++;
	if (!passes)
		status = sklearn_estimator(s, item[1]);
	s->depth--;
	if (status == 0)
		status = weigh(s, weight_of(s, weights, item[0]));
	sklearn_back(s, &kept, &x->parts[x->n]);
	x->n++;
	return status;
}

int
sklearn_featureunion(struct sklearn *s, pickle_ref r, bool classes)
{
	pickle_ref list = sklearn_field(s, r, "transformer_list"), weights = sklearn_field(s, r, "transformer_weights");
	const struct pickle_cell *c;
	struct step_columns *x;

	(void)classes;
	if (list == PICKLE_NOTHING || pickle_node(&s->k, list)->kind != PICKLE_LIST)
		return sklearn_wrong(s, "the union has no list of parts");
	x = sklearn_union(s, pickle_node(&s->k, list)->count);
	for (c = x ? pickle_first(&s->k, list) : NULL; c; c = pickle_next(&s->k, c))
		if (read_part(s, c->node, weights, x) < 0)
			return -1;
	if (!x || x->n == 0)
		return x ? sklearn_wrong(s, "the union has no parts") : -1;
	return sklearn_union_end(s);
}
