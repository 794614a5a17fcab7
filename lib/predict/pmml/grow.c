#include "predict/pmml/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* ---- leaves ---- */

static int
wrong_score(struct grow *g, uint32_t node)
{
	return pmml_wrong(g->p, node, "the score of a node is missing or not known");
}

/* The values of a distribution; the class of the score is the greatest, also among equals. */
static int
distribution(struct grow *g, uint32_t node, double *v, double score)
{
	struct pmml *p = g->p;
	uint32_t s = xml_child(&p->x, node, "ScoreDistribution"), i;
	bool shares = xml_attr(&p->x, s, "probability");
	double sum = 0, x, c;

	for (i = s; i; i = xml_next(&p->x, i, "ScoreDistribution")) {
		const char *name = shares ? "probability" : "recordCount";

		c = xml_attr(&p->x, i, "value") ? pmml_word(p, p->target, xml_attr(&p->x, i, "value")) : -2;
		if (c < 0 || c >= (double)g->classes)
			return p->e->code != ERR_NONE ? -1 : pmml_wrong(p, i, "the class of a distribution is not known");
		if (pmml_number(p, i, name, xml_attr(&p->x, i, name), &x) < 0)
			return -1;
		if (x < 0)
			return pmml_wrong(p, i, "%s is %g", name, x);
		v[(size_t)c] = x;
		sum += x;
	}
	for (i = 0; !shares && sum > 0 && i < g->classes; i++)
		v[i] /= sum;
	if (score < 0)
		return 0;
	for (i = 0, x = 0; i < g->classes; i++)
		x = v[i] > x ? v[i] : x;
	if (v[(size_t)score] < x)
		return pmml_refuse(p, node, "the score of a node is not its most probable class");
	for (i = 0; i < (uint32_t)score; i++)
		if (v[i] == x)
			v[(size_t)score] = nextafter(x, HUGE_VAL);
	return 0;
}

static int
class_values(struct grow *g, uint32_t node, double *v)
{
	struct pmml *p = g->p;
	const char *text = xml_attr(&p->x, node, "score");
	double score = text ? pmml_word(p, p->target, text) : -2;

	if (p->e->code != ERR_NONE)
		return -1;
	if ((text && score < 0) || score >= (double)g->classes)
		return wrong_score(g, node);
	if (!g->leaf->votes && xml_child(&p->x, node, "ScoreDistribution"))
		return distribution(g, node, v, score);
	if (score < 0)
		return wrong_score(g, node);
	v[(size_t)score] = 1;
	return 0;
}

static int
put_leaf(struct grow *g, uint32_t at, uint32_t id, const double *v, size_t n)
{
	struct tree_node *x = &g->tree.nodes[at];
	size_t i;

	x->id = id;
	x->values = g->tree.values.n / sizeof *v;
	for (i = 0; i < n; i++) {
		double y = v[i] * g->leaf->factor;

		buf_put(&g->tree.values, &y, sizeof y);
	}
	g->leaves++;
	return buf_ok(&g->tree.values) ? 0 : err_memory(g->p->e);
}

/* The number of a leaf: the node's id, if it is a number, else the place of the leaf. */
static uint32_t
id_of(const struct grow *g, uint32_t node)
{
	const char *id = xml_attr(&g->p->x, node, "id");
	unsigned long v = 0;
	char *end;

	if (!id || *id < '0' || *id > '9')
		return (uint32_t)g->leaves;
	v = strtoul(id, &end, 10);
	return *end || v > UINT32_MAX ? (uint32_t)g->leaves : (uint32_t)v;
}

static int
emit_leaf(struct grow *g, uint32_t at, const struct go *go)
{
	struct pmml *p = g->p;
	size_t i, n = g->classes ? g->classes : 1;
	double *v = mem_array(n, sizeof *v), cover = 0;
	int r = 0;

	if (!v)
		return err_memory(p->e);
	for (i = 0; go->kind != GO_LEAF && i < n; i++)
		v[i] = go->kind == GO_OTHERWISE ? g->leaf->otherwise : (double)NAN;
	if (go->kind == GO_LEAF && g->classes)
		r = class_values(g, go->node, v);
	else if (go->kind == GO_LEAF)
		r = pmml_number(p, go->node, "the score of a node", xml_attr(&p->x, go->node, "score"), v);
	if (go->kind == GO_LEAF && r == 0) {
		g->covered &= xml_attr(&p->x, go->node, "recordCount") != NULL;
		r = pmml_attr(p, go->node, "recordCount", &cover);
		g->tree.nodes[at].cover = cover;
	}
	if (go->kind == GO_REFUSE)
		p->m->refuses_nan = true;
	if (r == 0)
		r = put_leaf(g, at, id_of(g, go->kind == GO_LEAF ? go->node : XML_NONE), v, n);
	free(v);
	return r;
}

/* ---- nodes ---- */

int
grow_add(struct grow *g, uint32_t node, uint32_t *at)
{
	struct forest *f = &g->p->m->forest;

	if (f->most && g->tree.count + f->given >= f->most)
		return pmml_refuse(g->p, node, "as splits of two the trees have more nodes than the file has bytes");
	*at = (uint32_t)g->tree.count;
	return tree_add(&g->tree) ? 0 : err_memory(g->p->e);
}

static bool
is_node(const struct grow *g, uint32_t node)
{
	return xml_is(&g->p->x, node, g->first ? "Segment" : "Node");
}

static uint32_t
next_node(const struct grow *g, uint32_t at)
{
	while (at && !is_node(g, at))
		at = xml_next(&g->p->x, at, NULL);
	return at;
}

static uint32_t
predicate_of(const struct grow *g, uint32_t node)
{
	return grow_next(&g->p->x, xml_child(&g->p->x, node, NULL));
}

/* Whether b is true wherever a, which asks for the same field, is false. */
static bool
opposite(const struct grow *g, uint32_t a, uint32_t b)
{
	static const char *const pairs[][2] = { { "lessOrEqual", "greaterThan" }, { "lessThan", "greaterOrEqual" },
		{ "equal", "notEqual" }, { "isMissing", "isNotMissing" }, { "isIn", "isNotIn" } };
	const struct xml *x = &g->p->x;
	bool set = xml_is(x, a, "SimpleSetPredicate");
	const char *name = set ? "booleanOperator" : "operator";
	const char *one, *two, *v, *w;
	size_t i;

	if (xml_is(x, b, "True"))
		return true;
	if (strcmp(xml_name(x, a), xml_name(x, b)) != 0 || (!set && !xml_is(x, a, "SimplePredicate")) ||
	    !xml_attr(x, a, "field") || !pmml_says(g->p, b, "field", xml_attr(x, a, "field")))
		return false;
	one = xml_attr(x, a, name);
	two = xml_attr(x, b, name);
	v = set ? xml_text(x, xml_child(x, a, "Array")) : xml_attr(x, a, "value");
	w = set ? xml_text(x, xml_child(x, b, "Array")) : xml_attr(x, b, "value");
	if (!one || !two || (v ? !w || strcmp(v, w) != 0 : w != NULL))
		return false;
	for (i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if ((strcmp(one, pairs[i][0]) == 0 && strcmp(two, pairs[i][1]) == 0) ||
		    (strcmp(one, pairs[i][1]) == 0 && strcmp(two, pairs[i][0]) == 0))
			return true;
	return false;
}

/* The child that stands for a missing value. */
static uint32_t
default_child(struct grow *g, uint32_t node)
{
	const char *id = xml_attr(&g->p->x, node, "defaultChild");
	uint32_t c;

	for (c = next_node(g, xml_child(&g->p->x, node, NULL)); c; c = next_node(g, xml_next(&g->p->x, c, NULL)))
		if (id && pmml_says(g->p, c, "id", id))
			return c;
	return XML_NONE;
}

/* Where an unknown predicate of a child of node leads. */
static int
unknown(struct grow *g, uint32_t node, const struct go *false_, struct go *to)
{
	*to = (struct go){ .kind = GO_NULL };
	switch (g->strategy) {
	case MISSING_LAST:
		*to = (struct go){ .kind = GO_LEAF, .node = node };
		return 0;
	case MISSING_NULL:
		return 0;
	case MISSING_REFUSED:
		to->kind = GO_REFUSE;
		return 0;
	case MISSING_DEFAULT:
		*to = (struct go){ .kind = GO_NODE, .node = default_child(g, node) };
		return to->node ? 0 : pmml_wrong(g->p, node, "a node has no defaultChild among its children");
	default:
		*to = *false_;
		return 0;
	}
}

/* The children of a node from go->child on. */
static int
emit_choice(struct grow *g, const struct go *go, const struct known *known)
{
	uint32_t next = next_node(g, xml_next(&g->p->x, go->child, NULL)), predicate = predicate_of(g, go->child);
	struct go t = { .kind = GO_NODE, .node = go->child }, f = { .kind = GO_CHOICE, .node = go->node, .child = next };
	struct go u;

	if (!go->child) {
		struct go end = { .kind = g->first ? GO_OTHERWISE : g->last ? GO_LEAF : GO_NULL,
			.node = g->last ? go->node : XML_NONE };

		return grow_emit(g, &end, known);
	}
	if (!predicate)
		return pmml_wrong(g->p, go->child, "%s has no predicate", g->first ? "a segment" : "a node");
	if (unknown(g, go->node, &f, &u) < 0)
		return -1;
	if (next && opposite(g, predicate, predicate_of(g, next)))
		f = (struct go){ .kind = GO_NODE, .node = next };
	return grow_predicate(g, predicate, &t, &f, &u, known);
}

static int strategies(struct grow *g, uint32_t tree);

/* A node whose predicate is true. */
static int
emit_node(struct grow *g, const struct go *go, const struct known *known)
{
	uint32_t child = next_node(g, xml_child(&g->p->x, go->node, NULL));
	struct go to = { .kind = child ? GO_CHOICE : GO_LEAF, .node = go->node, .child = child };

	g->emitted++;
	return grow_emit(g, &to, known);
}

/* A segment whose predicate is true: its tree. */
static int
emit_segment(struct grow *g, const struct go *go, const struct known *known)
{
	uint32_t tree = xml_child(&g->p->x, go->node, "TreeModel");
	struct grow saved = *g;
	struct go root = { .kind = GO_NODE, .node = xml_child(&g->p->x, tree, "Node") };
	int r;

	if (!tree)
		return pmml_refuse(g->p, go->node, "selectFirst of models that are not trees is not read");
	g->first = false;
	r = strategies(g, tree) < 0 || pmml_check_schema(g->p, tree) < 0 ? -1
	    : !root.node ? pmml_wrong(g->p, tree, "TreeModel has no Node") : 0;
	if (r == 0) {
		struct go none = { .kind = g->last ? GO_LEAF : GO_NULL, .node = g->last ? root.node : XML_NONE }, u;
		uint32_t predicate = predicate_of(g, root.node);

		u = none;
		r = predicate ? grow_predicate(g, predicate, &root, &none, &u, known)
		              : pmml_wrong(g->p, root.node, "a node has no predicate");
	}
	g->first = saved.first;
	g->strategy = saved.strategy;
	g->last = saved.last;
	return r;
}

int
grow_emit(struct grow *g, const struct go *go, const struct known *known)
{
	uint32_t at;
	int r;

	if (pmml_enter(g->p, go->node ? go->node : 1) < 0)
		return -1;
	if (go->kind == GO_REST)
		r = grow_rest(g, go, known);
	else if (go->kind == GO_CHOICE)
		r = emit_choice(g, go, known);
	else if (go->kind == GO_NODE)
		r = (g->first ? emit_segment : emit_node)(g, go, known);
	else
		r = grow_add(g, go->node ? go->node : 1, &at) < 0 ? -1 : emit_leaf(g, at, go);
	g->p->depth--;
	return r;
}

/* ---- a tree ---- */

static int
strategies(struct grow *g, uint32_t tree)
{
	static const char *const names[] = { "none", "lastPrediction", "nullPrediction", "defaultChild" };
	struct pmml *p = g->p;
	const char *name = xml_attr(&p->x, tree, "missingValueStrategy");
	unsigned i;

	for (i = 0; name && i < 4 && strcmp(name, names[i]) != 0; i++)
		;
	if (i == 4 && strcmp(name, "weightedConfidence") != 0 && strcmp(name, "aggregateNodes") != 0)
		return pmml_wrong(p, tree, "the strategy %.40s is not known", name);
	g->strategy = (enum strategy)i;
	g->last = pmml_says(p, tree, "noTrueChildStrategy", "returnLastPrediction");
	if (xml_child(&p->x, tree, "Targets"))
		return pmml_refuse(p, tree, "Targets of a tree inside a model are not read");
	return 0;
}

static size_t
nodes_below(const struct pmml *p, uint32_t model)
{
	size_t n = 0;
	uint32_t i, end = xml_next(&p->x, model, NULL);

	for (i = model + 1; i < (end ? end : p->x.count); i++)
		n += xml_is(&p->x, i, "Node");
	return n;
}

static int
grow_from(struct grow *g, const struct go *root, uint32_t model)
{
	struct pmml *p = g->p;
	int r;

	g->covered = p->m->covers;
	r = grow_emit(g, root, NULL);
	if (r == 0) {
		g->tree.group = g->leaf->group;
		g->tree.covered = g->covered && g->emitted <= nodes_below(p, model);
		r = forest_add(&p->m->forest, &g->tree, p->where, p->e);
	}
	tree_free(&g->tree);
	return r;
}

int
pmml_grow(struct pmml *p, uint32_t tree, uint32_t predicate, const struct pmml_leaf *leaf)
{
	struct grow g = { .p = p, .leaf = leaf, .classes = leaf->classes ? pmml_class_count(p) : 0 };
	struct go root = { .kind = GO_NODE, .node = xml_child(&p->x, tree, "Node") };
	struct go none, segment, otherwise = { .kind = GO_OTHERWISE };
	uint32_t first;

	if (strategies(&g, tree) < 0)
		return -1;
	first = root.node ? predicate_of(&g, root.node) : XML_NONE;
	if (!first)
		return pmml_wrong(p, tree, "TreeModel has no Node, or its Node has no predicate");
	none = (struct go){ .kind = g.last ? GO_LEAF : GO_NULL, .node = g.last ? root.node : XML_NONE };
	segment = (struct go){ .kind = GO_REST, .node = first, .child = first, .how = '1', .t = &root, .f = &none,
		.u = &none };
	if (!predicate || xml_is(&p->x, predicate, "True"))
		return grow_from(&g, &segment, tree);
	{
		struct go all = { .kind = GO_REST, .node = predicate, .child = predicate, .how = '1', .t = &segment,
			.f = &otherwise, .u = &otherwise };

		return grow_from(&g, &all, tree);
	}
}

int
pmml_grow_first(struct pmml *p, uint32_t segmentation, const struct pmml_leaf *leaf)
{
	struct grow g = { .p = p, .leaf = leaf, .classes = leaf->classes ? pmml_class_count(p) : 0, .first = true };
	struct go root = { .kind = GO_CHOICE, .node = segmentation };

	root.child = next_node(&g, xml_child(&p->x, segmentation, NULL));
	return grow_from(&g, &root, segmentation);
}
