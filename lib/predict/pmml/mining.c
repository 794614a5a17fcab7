/* Trees, alone and in sums, averages, votes and chains. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/pmml/pmml.h"
#include "predict/pmml/tables.h"

/* ---- parts ---- */

struct rescale {
	double factor, constant;
};

/* The Targets of a model of numbers. */
static int
read_targets(struct pmml *p, uint32_t model, struct rescale *r)
{
	static const char *const refused[] = { "castInteger", "min", "max" };
	uint32_t t = xml_child(&p->x, xml_child(&p->x, model, "Targets"), "Target");
	size_t i;

	*r = (struct rescale){ .factor = 1 };
	if (xml_next(&p->x, t, "Target"))
		return pmml_refuse(p, t, "a model with several targets is not read");
	for (i = 0; t && i < sizeof refused / sizeof *refused; i++)
		if (xml_attr(&p->x, t, refused[i]))
			return pmml_refuse(p, t, "%s of a Target is not read", refused[i]);
	return t && (pmml_attr(p, t, "rescaleFactor", &r->factor) < 0 ||
	             pmml_attr(p, t, "rescaleConstant", &r->constant) < 0) ? -1 : 0;
}

static bool
classifies(const struct pmml *p, uint32_t model)
{
	return pmml_says(p, model, "functionName", "classification");
}

static int
begin(struct pmml *p, uint32_t model, size_t groups, size_t width)
{
	bool single = pmml_says(p, model, "x-mathContext", "float");

	if (forest_begin(&p->m->forest, FOREST_FEATURES, groups, width, p->e) < 0)
		return -1;
	p->m->form = PREDICT_TREES;
	p->m->outputs = groups;
	p->m->forest.single = p->m->single = single;
	return 0;
}

/* The task and the link of classes whose shares the trees have. */
static int
begin_classes(struct pmml *p, uint32_t model)
{
	if (pmml_classes(p, model, "Node", "score") < 0)
		return -1;
	p->m->task = PREDICT_CLASSES;
	p->m->link = LINK_SHARE;
	return begin(p, model, pmml_class_count(p), pmml_class_count(p));
}

/* The model in a Segment. */
static uint32_t
model_of(const struct pmml *p, uint32_t segment)
{
	uint32_t c = xml_child(&p->x, segment, NULL);

	while (c && !strstr(xml_name(&p->x, c), "Model"))
		c = xml_next(&p->x, c, NULL);
	return c;
}

static uint32_t
predicate_of(const struct pmml *p, uint32_t segment)
{
	static const char *const names[] = { "True", "False", "SimplePredicate", "SimpleSetPredicate",
		"CompoundPredicate" };
	uint32_t c;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if ((c = xml_child(&p->x, segment, names[i])))
			return c;
	return XML_NONE;
}

/* ---- segments ---- */

static const struct method {
	const char *name;
	bool sums, votes, weighted, averages, classes, values;
} methods[] = {
	{ "sum", true, false, false, false, false, true },
	{ "weightedSum", true, false, true, false, false, true },
	{ "x-weightedSum", true, false, true, false, false, true },
	{ "average", false, false, false, true, true, true },
	{ "weightedAverage", false, false, true, true, true, true },
	{ "majorityVote", false, true, false, true, true, false },
	{ "weightedMajorityVote", false, true, true, true, true, false },
};

static const struct method *
method_of(struct pmml *p, uint32_t segmentation)
{
	const char *name = xml_attr(&p->x, segmentation, "multipleModelMethod");
	size_t i;

	for (i = 0; i < sizeof methods / sizeof *methods; i++)
		if (name && strcmp(methods[i].name, name) == 0)
			return &methods[i];
	pmml_refuse(p, segmentation, "%.40s of models is not read", name ? name : "Segmentation without a method");
	return NULL;
}

struct ensemble {
	const struct method *how;
	struct pmml_leaf leaf;
	double weights; /* sum of them */
	size_t trees;
};

static int read_ensemble(struct pmml *p, uint32_t model, struct ensemble *to);

static int
read_segment(struct pmml *p, uint32_t segment, struct ensemble *to)
{
	uint32_t model = model_of(p, segment), predicate = predicate_of(p, segment);
	struct pmml_leaf leaf = to->leaf;
	struct ensemble inner = *to;
	double weight = 1;

	if (!predicate || !model)
		return pmml_wrong(p, segment, "a segment has no predicate or no model");
	if (xml_is(&p->x, predicate, "False"))
		return 0;
	if (!to->how->sums && !xml_is(&p->x, predicate, "True"))
		return pmml_refuse(p, segment, "%s of segments with predicates is not read", to->how->name);
	if (pmml_attr(p, segment, "weight", &weight) < 0)
		return -1;
	leaf.factor *= to->how->weighted ? weight : 1;
	to->weights += weight;
	to->trees++;
	if (xml_is(&p->x, model, "TreeModel"))
		return pmml_check_schema(p, model) < 0 ? -1 : pmml_grow(p, model, predicate, &leaf);
	if (!xml_is(&p->x, model, "MiningModel") || !to->how->sums || !xml_is(&p->x, predicate, "True"))
		return pmml_refuse(p, model, "%s in %s of models is not read", xml_name(&p->x, model), to->how->name);
	inner.leaf = leaf;
	return read_ensemble(p, model, &inner);
}

/* The trees of a MiningModel, whose method is that of `to`, if that has one. */
static int
read_ensemble(struct pmml *p, uint32_t model, struct ensemble *to)
{
	uint32_t segmentation = xml_child(&p->x, model, "Segmentation"), s;
	const struct method *how = method_of(p, segmentation);
	struct rescale r;

	if (!how || pmml_check_schema(p, model) < 0)
		return -1;
	if (to->how && (how != to->how || read_targets(p, model, &r) < 0 || r.factor != 1 || r.constant != 0))
		return pmml_refuse(p, model, "%s of %s of models is not read", to->how->name, how->name);
	if (pmml_says(p, segmentation, "missingPredictionTreatment", "skipSegment"))
		return pmml_refuse(p, segmentation, "missingPredictionTreatment skipSegment is not read");
	if (!(classifies(p, model) ? how->classes : how->values))
		return pmml_refuse(p, segmentation, "%s is not read for %s", how->name,
		                   classifies(p, model) ? "classes" : "numbers");
	to->how = how;
	to->leaf.votes = how->votes;
	for (s = xml_child(&p->x, segmentation, "Segment"); s; s = xml_next(&p->x, s, "Segment"))
		if (read_segment(p, s, to) < 0)
			return -1;
	return to->trees ? 0 : pmml_wrong(p, model, "MiningModel has no segments");
}

/* How the sums of an ensemble that is the whole model become its values. */
static int
finish(struct pmml *p, uint32_t model, const struct ensemble *en, const struct rescale *r)
{
	struct forest *f = &p->m->forest;
	size_t k;

	f->average = en->how->averages && !en->how->weighted;
	f->scale = r->factor;
	if (en->how->averages && en->how->weighted) {
		if (!(en->weights > 0 && isfinite(en->weights)))
			return pmml_wrong(p, model, "the weights of the segments have the sum %g", en->weights);
		f->scale /= en->weights;
	}
	for (k = 0; k < f->groups; k++)
		f->bias[k] = r->constant;
	f->scaled = f->scale != 1 || r->constant != 0;
	return 0;
}

/* ---- chains ---- */

/* The names by which later models know the result of a model. */
static int
name_result(struct pmml *p, uint32_t model, size_t group)
{
	uint32_t o = xml_child(&p->x, xml_child(&p->x, model, "Output"), "OutputField"), field;
	const char *feature;

	for (; o; o = xml_next(&p->x, o, "OutputField")) {
		feature = xml_attr(&p->x, o, "feature");
		if (feature && strcmp(feature, "predictedValue") != 0)
			continue;
		field = pmml_new_field(p, xml_attr(&p->x, o, "name"), o);
		if (field == UINT32_MAX)
			return -1;
		p->fields[field].group = group;
	}
	return 0;
}

/* Trees of numbers as one of the results of a chain: table t multiplies them. */
static int
read_result(struct pmml *p, uint32_t model, size_t group, double coefficient)
{
	struct ensemble en = { .leaf = { .group = (uint32_t)group } };
	struct forest *f = &p->m->forest;
	struct rescale r;
	size_t trees = f->tree_count;

	if (classifies(p, model))
		return pmml_refuse(p, model, "a chain of models of classes is not read");
	if (read_targets(p, model, &r) < 0)
		return -1;
	en.leaf.factor = coefficient * r.factor;
	if (xml_is(&p->x, model, "TreeModel"))
		return pmml_check_schema(p, model) < 0 || pmml_grow(p, model, XML_NONE, &en.leaf) < 0 ? -1
		       : (f->bias[group] += coefficient * r.constant, 0);
	if (!xml_is(&p->x, model, "MiningModel"))
		return pmml_refuse(p, model, "%s in a chain of models is not read", xml_name(&p->x, model));
	if (read_ensemble(p, model, &en) < 0)
		return -1;
	if (en.how->averages) /* of this result alone */
		pmml_scale(f, trees, 1 / (en.how->weighted ? en.weights : (double)en.trees));
	f->bias[group] += coefficient * r.constant;
	return 0;
}

/* Which table takes each result; each takes one, and none twice. */
static int
match_results(struct pmml *p, uint32_t model, const struct pmml_tables *t, struct pmml_term *results, size_t n)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		const struct pmml_term *x = &t->terms[i];

		if (x->group == SIZE_MAX || x->group >= n)
			return pmml_refuse(p, model, "the last model of the chain also takes fields of rows");
		if (results[x->group].group != SIZE_MAX || (i > 0 && t->terms[i - 1].table == x->table))
			return pmml_refuse(p, model, "the last model of the chain adds results of several models");
		results[x->group] = (struct pmml_term){ .group = x->group, .table = x->table,
			.coefficient = x->coefficient };
	}
	for (i = 0; i < n; i++)
		if (results[i].group == SIZE_MAX)
			return pmml_refuse(p, model, "the last model of the chain does not take all results");
	return 0;
}

static int
grow_results(struct pmml *p, uint32_t segmentation, const struct pmml_tables *t, const struct pmml_term *results)
{
	struct forest *f = &p->m->forest;
	size_t i = 0, k;
	uint32_t s;

	for (k = 0; k < f->groups; k++)
		f->bias[k] = t->intercepts[k];
	for (s = xml_child(&p->x, segmentation, "Segment"); xml_next(&p->x, s, "Segment");
	     s = xml_next(&p->x, s, "Segment"), i++) {
		if (results[i].table >= f->groups) /* the second class of two, which is what is left */
			return pmml_refuse(p, s, "a chain to the second of two classes is not read");
		if (read_result(p, model_of(p, s), results[i].table, results[i].coefficient) < 0)
			return -1;
	}
	for (k = 0; k < f->groups; k++)
		f->scaled |= f->bias[k] != 0;
	return 0;
}

/* The results in front of the last model, whose names its tables use. */
static int
name_results(struct pmml *p, uint32_t segmentation, size_t *n, uint32_t *last)
{
	uint32_t s, next, predicate;

	for (s = xml_child(&p->x, segmentation, "Segment"); s; s = next) {
		next = xml_next(&p->x, s, "Segment");
		predicate = predicate_of(p, s);
		*last = model_of(p, s);
		if (!*last || !xml_is(&p->x, predicate, "True"))
			return pmml_refuse(p, s, "a chain of models under conditions is not read");
		if (next && name_result(p, *last, (*n)++) < 0)
			return -1;
	}
	return *last ? 0 : pmml_wrong(p, segmentation, "the chain has no models");
}

static int read_any(struct pmml *p, uint32_t model);

static int
read_chain(struct pmml *p, uint32_t model)
{
	uint32_t segmentation = xml_child(&p->x, model, "Segmentation"), last = XML_NONE;
	struct pmml_tables t = { .count = 0 };
	struct pmml_term *results = NULL;
	struct rescale r;
	size_t n = 0, i;
	int status = -1;

	if (name_results(p, segmentation, &n, &last) < 0 || read_targets(p, model, &r) < 0)
		return -1;
	if (r.factor != 1 || r.constant != 0)
		return pmml_refuse(p, model, "Targets of a chain are not read");
	if (n == 0)
		return pmml_check_schema(p, last) < 0 ? -1 : read_any(p, last);
	if (!xml_is(&p->x, last, "RegressionModel"))
		return pmml_refuse(p, last, "a chain that ends in %s is not read", xml_name(&p->x, last));
	results = mem_array(n, sizeof *results);
	for (i = 0; results && i < n; i++)
		results[i].group = SIZE_MAX;
	if (!results)
		err_memory(p->e);
	else if (pmml_read_tables(p, last, &t) == 0 && match_results(p, last, &t, results, n) == 0 &&
	         begin(p, model, t.outputs, 1) == 0) {
		p->m->forest.single = p->m->single |= pmml_says(p, last, "x-mathContext", "float");
		status = grow_results(p, segmentation, &t, results);
	}
	pmml_free_tables(&t);
	free(results);
	return status;
}

/* ---- whole models ---- */

int
pmml_read_tree(struct pmml *p, uint32_t model)
{
	struct pmml_leaf leaf = { .classes = classifies(p, model), .factor = 1 };
	struct rescale r;

	p->m->kind = "decision tree of PMML";
	if ((leaf.classes ? begin_classes(p, model) : begin(p, model, 1, 1)) < 0 || read_targets(p, model, &r) < 0)
		return -1;
	p->m->forest.scale = r.factor;
	p->m->forest.bias[0] = r.constant;
	p->m->forest.scaled = !leaf.classes && (r.factor != 1 || r.constant != 0);
	return pmml_grow(p, model, XML_NONE, &leaf);
}

/* The tree of all trees: the first segment decides whose predicate is true. */
static int
read_first(struct pmml *p, uint32_t model)
{
	struct pmml_leaf leaf = { .classes = classifies(p, model), .factor = 1, .otherwise = (double)NAN };

	if ((leaf.classes ? begin_classes(p, model) : begin(p, model, 1, 1)) < 0)
		return -1;
	return pmml_grow_first(p, xml_child(&p->x, model, "Segmentation"), &leaf);
}

int
pmml_read_mining(struct pmml *p, uint32_t model)
{
	uint32_t segmentation = xml_child(&p->x, model, "Segmentation");
	struct ensemble en = { .leaf = { .classes = classifies(p, model), .factor = 1 } };
	struct rescale r;

	p->m->kind = "trees of PMML";
	if (!segmentation)
		return pmml_refuse(p, model, "MiningModel has no Segmentation");
	if (pmml_says(p, segmentation, "multipleModelMethod", "modelChain"))
		return read_chain(p, model);
	if (read_targets(p, model, &r) < 0)
		return -1;
	if (pmml_says(p, segmentation, "multipleModelMethod", "selectFirst"))
		return r.factor != 1 || r.constant != 0 ? pmml_refuse(p, model, "Targets of selectFirst are not read")
		                                        : read_first(p, model);
	if ((en.leaf.classes ? begin_classes(p, model) : begin(p, model, 1, 1)) < 0 ||
	    read_ensemble(p, model, &en) < 0)
		return -1;
	return finish(p, model, &en, &r);
}

static int
read_any(struct pmml *p, uint32_t model)
{
	int r;

	if (pmml_enter(p, model) < 0)
		return -1;
	r = pmml_read_model(p, model);
	p->depth--;
	return r;
}
