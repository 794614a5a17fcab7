#include <math.h>
#include <string.h>

#include "predict/pmml/grow.h"

/* ---- splits ---- */

static bool
same(const struct go *a, const struct go *b)
{
	return a == b || (a->kind == b->kind && a->kind != GO_REST && a->node == b->node && a->child == b->child);
}

static void
join(struct grow *g, uint32_t at, uint32_t left, uint32_t right)
{
	struct tree_node *x = &g->tree.nodes[at];

	x->left = left;
	x->right = right;
	x->cover = g->tree.nodes[left].cover + g->tree.nodes[right].cover;
}

/* The children of a split, and what is known about its field in each. */
static int
branches(struct grow *g, uint32_t at, const struct go *left, const struct known *in_left, const struct go *right,
         const struct known *in_right)
{
	uint32_t l = (uint32_t)g->tree.count, r;

	if (grow_emit(g, left, in_left) < 0)
		return -1;
	r = (uint32_t)g->tree.count;
	if (grow_emit(g, right, in_right) < 0)
		return -1;
	join(g, at, l, r);
	return 0;
}

static const struct known *
find(const struct known *known, size_t slot)
{
	while (known && known->slot != slot)
		known = known->before;
	return known;
}

/* Whether the field is missing: a split of its own, unless that is known. */
static int
ask_missing(struct grow *g, uint32_t node, uint32_t field, const struct go *missing, const struct go *other,
            const struct known *known)
{
	size_t slot = g->p->fields[field].slot;
	struct known gone = { known, slot, true }, there = { known, slot, false };
	const struct known *k = find(known, slot);
	uint32_t at;

	if (k)
		return grow_emit(g, k->missing ? missing : other, known);
	if (same(missing, other))
		return grow_emit(g, other, known);
	if (grow_add(g, node, &at) < 0)
		return -1;
	g->tree.nodes[at] = (struct tree_node){ .feature = (uint32_t)slot, .missing = FOREST_NAN,
		.default_left = true, .category = true }; /* of an empty set */
	return branches(g, at, missing, &gone, other, &there);
}

/* A comparison that is one split: x <= threshold, or x in a set. */
struct split {
	uint32_t predicate, field;
	double threshold;
	bool set;
	size_t place, words;
	const struct go *t, *f, *u;
	const struct go *is, *is_not; /* where the predicate leads, which may be the opposite of the comparison */
};

/* Whether what is known of the field, or has to be asked first, decides where rows go; *r is the result then.
 * twice: the comparison takes two splits. */
static bool
decided(struct grow *g, const struct split *s, bool twice, const struct known *known, int *r)
{
	size_t slot = g->p->fields[s->field].slot;
	const struct known *k = find(known, slot);
	const struct go again = { .kind = GO_REST, .node = s->predicate, .child = s->predicate, .how = '1', .t = s->is,
		.f = s->is_not, .u = s->u };

	if (k && k->missing) {
		*r = grow_emit(g, s->u, known);
		return true;
	}
	if (!k && s->u->kind == GO_REFUSE)
		g->p->m->refuses_nan = true;
	else if (!k && !same(s->u, s->f) && (twice || !same(s->u, s->t))) {
		*r = ask_missing(g, s->predicate, s->field, s->u, &again, known);
		return true;
	}
	return false;
}

/* Left if the comparison holds, else right. */
static int
put_split(struct grow *g, const struct split *s, const struct known *known)
{
	size_t slot = g->p->fields[s->field].slot;
	struct known there = { known, slot, false };
	bool left = same(s->u, s->t) && !find(known, slot);
	bool refused = s->u->kind == GO_REFUSE;
	uint32_t at;

	if (grow_add(g, s->predicate, &at) < 0)
		return -1;
	g->tree.nodes[at] = (struct tree_node){ .feature = (uint32_t)slot, .threshold = s->threshold,
		.missing = FOREST_NAN, .default_left = left, .category = s->set, .set = s->place,
		.set_words = s->words };
	return branches(g, at, s->t, left || refused ? known : &there, s->f, left && !refused ? &there : known);
}

/* ---- predicates ---- */

/* The largest value below v, of the numbers that the field has. */
static double
below(const struct pmml_field *f, double v)
{
	return f->single ? forest_below((float)v) : nextafter(v, -HUGE_VAL);
}

/* The field of a predicate: a value of rows, or a derived one. */
static uint32_t
field_of(struct grow *g, uint32_t predicate)
{
	struct pmml *p = g->p;
	uint32_t field = pmml_use(p, predicate, xml_attr(&p->x, predicate, "field"));

	if (field != UINT32_MAX && p->fields[field].slot == SIZE_MAX) {
		pmml_refuse(p, predicate, "a tree asks for %.60s, the result of a model", p->fields[field].name);
		return UINT32_MAX;
	}
	return field;
}

/* Appends an empty set for the numbers 0 to most. */
static int
begin_set(struct grow *g, struct split *s, size_t most)
{
	s->set = true;
	s->place = g->tree.sets.n / 4;
	s->words = most / 32 + 1;
	if (forest_sets(g->p->m->forest.sets.n / 4 + s->place, s->words, g->p->where, g->p->e) < 0)
		return -1;
	g->p->work += s->words;
	if (g->p->work > g->p->most)
		return pmml_refuse(g->p, s->predicate, "the sets of words take too much room");
	buf_zeros(&g->tree.sets, s->words * 4);
	return buf_ok(&g->tree.sets) ? 0 : err_memory(g->p->e);
}

static void
set_word(struct grow *g, const struct split *s, double v)
{
	uint32_t *set = (uint32_t *)(void *)g->tree.sets.p + s->place;

	if (v >= 0 && v < (double)(s->words * 32))
		set[(size_t)v / 32] |= 1u << ((uint32_t)v & 31);
}

#define WHOLE 65536 /* numbers of fields of integers below this become sets */

static bool
is_whole(const struct pmml_field *f, double v)
{
	return f->text || (f->whole && v >= 0 && v < WHOLE && v == floor(v));
}

static size_t
words_of(const struct grow *g, uint32_t field)
{
	return g->p->fields[g->p->fields[field].base].word_count;
}

/* x = v. A number takes two comparisons: where they are false, it is below or above. */
static int
put_equal(struct grow *g, struct split *s, double v, const struct known *known)
{
	const struct pmml_field *f = &g->p->fields[s->field];
	struct known there = { known, f->slot, false };
	struct split low = *s;
	uint32_t at, left, right;
	int r;

	if (decided(g, s, !is_whole(f, v), known, &r))
		return r;
	if (is_whole(f, v)) {
		if (begin_set(g, s, f->text ? words_of(g, s->field) : (size_t)v) < 0)
			return -1;
		set_word(g, s, v);
		return put_split(g, s, known);
	}
	low.threshold = below(f, v);
	low.t = s->f;
	low.f = s->t;
	if (grow_add(g, s->predicate, &at) < 0)
		return -1;
	g->tree.nodes[at] = (struct tree_node){ .feature = (uint32_t)f->slot, .threshold = v, .missing = FOREST_NAN };
	left = (uint32_t)g->tree.count;
	if (put_split(g, &low, &there) < 0)
		return -1;
	right = (uint32_t)g->tree.count;
	if (grow_emit(g, s->f, known) < 0)
		return -1;
	join(g, at, left, right);
	return 0;
}

static int
emit_simple(struct grow *g, uint32_t predicate, const struct go *t, const struct go *f, const struct go *u,
            const struct known *known)
{
	struct pmml *p = g->p;
	const char *op = xml_attr(&p->x, predicate, "operator");
	uint32_t field = field_of(g, predicate);
	struct split s = { .predicate = predicate, .field = field, .t = t, .f = f, .u = u, .is = t, .is_not = f };
	bool less;
	double v;
	int r;

	if (field == UINT32_MAX || !op)
		return p->e->code != ERR_NONE ? -1 : pmml_wrong(p, predicate, "SimplePredicate has no operator");
	if (strcmp(op, "isMissing") == 0)
		return ask_missing(g, predicate, field, t, f, known);
	if (strcmp(op, "isNotMissing") == 0)
		return ask_missing(g, predicate, field, f, t, known);
	v = pmml_value(p, predicate, field, xml_attr(&p->x, predicate, "value"));
	if (p->e->code != ERR_NONE)
		return -1;
	if (strcmp(op, "notEqual") == 0 || strncmp(op, "greater", 7) == 0) {
		s.t = f;
		s.f = t;
	}
	if (strcmp(op, "notEqual") == 0 || strcmp(op, "equal") == 0)
		return put_equal(g, &s, v, known);
	if (p->fields[field].text)
		return pmml_refuse(p, predicate, "the operator %.30s compares texts", op);
	less = strcmp(op, "lessThan") == 0 || strcmp(op, "greaterOrEqual") == 0;
	if (!less && strcmp(op, "lessOrEqual") != 0 && strcmp(op, "greaterThan") != 0)
		return pmml_wrong(p, predicate, "the operator %.30s is not known", op);
	s.threshold = less ? below(&p->fields[field], v) : v;
	return decided(g, &s, false, known, &r) ? r : put_split(g, &s, known);
}

/* One of several numbers, from the place `at` of the text of the array on. */
static int
emit_numbers(struct grow *g, const struct split *set, size_t from, const struct known *known)
{
	struct pmml *p = g->p;
	const char *text = xml_text(&p->x, xml_child(&p->x, set->predicate, "Array")), *at = text + from;
	struct split s = *set;
	struct go rest = { .kind = GO_REST, .node = s.predicate, .how = 'n', .t = s.t, .f = s.f, .u = s.u };
	char word[PMML_WORD];
	double v;

	if (!pmml_item(&at, word, sizeof word))
		return grow_emit(g, s.f, known);
	v = pmml_value(p, s.predicate, s.field, word);
	if (p->e->code != ERR_NONE)
		return -1;
	rest.child = (uint32_t)(at - text);
	s.f = &rest; /* the other numbers are tried where this one is not */
	return put_equal(g, &s, v, known);
}

/* The values of the array as a set; 1: they are not small whole numbers. */
static int
make_set(struct grow *g, struct split *s, uint32_t array)
{
	struct pmml *p = g->p;
	const char *from = xml_text(&p->x, array), *at = from;
	char word[PMML_WORD];
	double v, most = 0;
	bool text = p->fields[s->field].text;

	while (pmml_item(&at, word, sizeof word)) {
		v = text ? pmml_word_of(p, s->field, word) : pmml_value(p, s->predicate, s->field, word);
		if (p->e->code != ERR_NONE)
			return -1;
		if (!is_whole(&p->fields[s->field], v))
			return 1;
		most = v > most ? v : most;
	}
	if (begin_set(g, s, (size_t)most) < 0)
		return -1;
	for (at = from; pmml_item(&at, word, sizeof word);)
		set_word(g, s, text ? pmml_word_of(p, s->field, word) : pmml_value(p, s->predicate, s->field, word));
	return p->e->code == ERR_NONE ? 0 : -1;
}

static int
emit_set(struct grow *g, uint32_t predicate, const struct go *t, const struct go *f, const struct go *u,
         const struct known *known)
{
	struct pmml *p = g->p;
	uint32_t field = field_of(g, predicate), array = xml_child(&p->x, predicate, "Array");
	bool not_in = pmml_says(p, predicate, "booleanOperator", "isNotIn");
	struct split s = { .predicate = predicate, .field = field, .t = not_in ? f : t, .f = not_in ? t : f, .u = u,
		.is = t, .is_not = f };
	int r;

	if (field == UINT32_MAX)
		return -1;
	if (!array || (!not_in && !pmml_says(p, predicate, "booleanOperator", "isIn")))
		return pmml_wrong(p, predicate, "SimpleSetPredicate has no Array, or no operator");
	if ((p->fields[field].text || p->fields[field].whole) && decided(g, &s, false, known, &r))
		return r;
	r = make_set(g, &s, array);
	if (r != 0)
		return r < 0 ? -1 : emit_numbers(g, &s, 0, known);
	return put_split(g, &s, known);
}

uint32_t
grow_next(const struct xml *x, uint32_t at)
{
	while (at && !xml_is(x, at, "SimplePredicate") && !xml_is(x, at, "SimpleSetPredicate") &&
	       !xml_is(x, at, "CompoundPredicate") && !xml_is(x, at, "True") && !xml_is(x, at, "False"))
		at = xml_next(x, at, NULL);
	return at;
}

int
grow_predicate(struct grow *g, uint32_t predicate, const struct go *t, const struct go *f, const struct go *u,
               const struct known *known)
{
	struct pmml *p = g->p;
	const char *how;
	struct go go = { .kind = GO_REST, .node = predicate, .t = t, .f = f, .u = u };

	if (xml_is(&p->x, predicate, "True"))
		return grow_emit(g, t, known);
	if (xml_is(&p->x, predicate, "False"))
		return grow_emit(g, f, known);
	if (xml_is(&p->x, predicate, "SimplePredicate"))
		return emit_simple(g, predicate, t, f, u, known);
	if (xml_is(&p->x, predicate, "SimpleSetPredicate"))
		return emit_set(g, predicate, t, f, u, known);
	how = xml_attr(&p->x, predicate, "booleanOperator");
	if (!how || (strcmp(how, "and") != 0 && strcmp(how, "or") != 0 && strcmp(how, "xor") != 0 &&
	             strcmp(how, "surrogate") != 0))
		return pmml_wrong(p, predicate, "CompoundPredicate has no operator");
	go.how = (unsigned char)*how;
	go.child = grow_next(&p->x, xml_child(&p->x, predicate, NULL));
	return go.child ? grow_emit(g, &go, known) : pmml_wrong(p, predicate, "CompoundPredicate is empty");
}

/* The predicates of a compound one from go->child on. */
int
grow_rest(struct grow *g, const struct go *go, const struct known *known)
{
	struct go t = *go, f = *go, u = *go;
	uint32_t next;
	struct split set = { .predicate = go->node, .t = go->t, .f = go->f, .u = go->u };

	if (go->how == 'n') {
		set.field = pmml_find(g->p, xml_attr(&g->p->x, go->node, "field"));
		return emit_numbers(g, &set, go->child, known);
	}
	if (go->how == '1')
		return grow_predicate(g, go->child, go->t, go->f, go->u, known);
	if (!go->child)
		return grow_emit(g, go->how == 'a' ? go->t : go->how == 's' ? go->u : go->f, known);
	next = grow_next(&g->p->x, xml_next(&g->p->x, go->child, NULL));
	t.child = f.child = u.child = next;
	switch (go->how) {
	case 'a': /* false decides; after an unknown one, true is unknown */
		u.t = go->u;
		return grow_predicate(g, go->child, &t, go->f, &u, known);
	case 'o':
		u.f = go->u;
		return grow_predicate(g, go->child, go->t, &f, &u, known);
	case 'x':
		t.t = go->f;
		t.f = go->t;
		return grow_predicate(g, go->child, &t, &f, go->u, known);
	default:
		return grow_predicate(g, go->child, go->t, go->f, &u, known);
	}
}
