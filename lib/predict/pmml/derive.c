#include "predict/pmml/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/pmml/express.h"

struct derived *
derive_begin(struct pmml *p)
{
	struct derived *d = p->derived;
	size_t i;

	if (d)
		return d;
	d = calloc(1, sizeof *d);
	if (d)
		d->treats = mem_array(p->inputs, sizeof *d->treats);
	if (d)
		d->where = mem_text(p->where, strlen(p->where));
	if (!d || !d->treats || !d->where) {
		derived_free(d);
		err_memory(p->e);
		return NULL;
	}
	d->inputs = p->inputs;
	buf_zeros(&d->list, sizeof(double)); /* never without memory */
	for (i = 0; i < d->inputs; i++)
		d->treats[i] = (struct derive_treat){ .replacement = (double)NAN, .invalid = (double)NAN };
	return p->derived = d;
}

size_t
derive_number(struct pmml *p, double v)
{
	buf_put(&p->derived->list, &v, sizeof v);
	return p->derived->list.n / sizeof v;
}

/* ---- operations ---- */

int
derive_put(struct compiler *c, struct derive_op o)
{
	struct derived *d = derive_begin(c->p);

	if (!d)
		return -1;
	c->top = o.code == DO_CONST || o.code == DO_SLOT ? c->top + 1 : c->top - o.n + 1;
	if (c->top > DERIVE_STACK)
		return pmml_refuse(c->p, c->node, "an expression needs more than %d values at once", DERIVE_STACK);
	buf_put(&d->ops, &o, sizeof o);
	return buf_ok(&d->ops) && buf_ok(&d->list) ? 0 : err_memory(c->p->e);
}

size_t
derive_end(struct compiler *c)
{
	struct derived *d = c->p->derived;
	struct derive_op o = { .code = DO_END };

	if (c->p->e->code != ERR_NONE || !d || c->top != 1)
		return SIZE_MAX;
	buf_put(&d->ops, &o, sizeof o);
	if (!buf_ok(&d->ops) || d->inputs + d->slots >= FOREST_FEATURES) {
		err_memory(c->p->e);
		return SIZE_MAX;
	}
	return d->inputs + d->slots++;
}

int
derive_slot(struct compiler *c, uint32_t field)
{
	const struct pmml_field *f = &c->p->fields[field];

	if (f->slot == SIZE_MAX)
		return pmml_refuse(c->p, c->node, "%.60s is the result of a model, from which no field is derived", f->name);
	return derive_put(c, (struct derive_op){ .code = DO_SLOT, .a = f->slot });
}

size_t
pmml_indicator(struct pmml *p, uint32_t field, double value)
{
	struct compiler c = { .p = p, .node = p->fields[field].node };

	if (derive_slot(&c, field) < 0 || derive_put(&c, (struct derive_op){ .code = DO_CONST, .v = value }) < 0 ||
	    derive_put(&c, (struct derive_op){ .code = DO_EQUAL, .n = 2 }) < 0 ||
	    derive_put(&c, (struct derive_op){ .code = DO_DEFAULT, .n = 1 }) < 0)
		return SIZE_MAX;
	return derive_end(&c);
}

size_t
pmml_product(struct pmml *p, const uint32_t *fields, const double *powers, size_t n)
{
	struct compiler c = { .p = p };
	size_t i;

	for (i = 0; i < n; i++) {
		c.node = p->fields[fields[i]].node;
		if (derive_slot(&c, fields[i]) < 0)
			return SIZE_MAX;
		if (powers[i] != 1 && (derive_put(&c, (struct derive_op){ .code = DO_CONST, .v = powers[i] }) < 0 ||
		                       derive_put(&c, (struct derive_op){ .code = DO_POW, .n = 2 }) < 0))
			return SIZE_MAX;
		if (i > 0 && derive_put(&c, (struct derive_op){ .code = DO_MULTIPLY, .n = 2 }) < 0)
			return SIZE_MAX;
	}
	return derive_end(&c);
}

size_t
pmml_lookup(struct pmml *p, uint32_t field, const double *list, size_t n, double otherwise)
{
	struct compiler c = { .p = p, .node = p->fields[field].node };
	struct derive_op o = { .code = DO_WORDS, .n = 1, .v = otherwise };
	size_t i;

	if (derive_slot(&c, field) < 0)
		return SIZE_MAX;
	o.a = derive_number(p, (double)n);
	for (i = 0; i < n; i++)
		derive_number(p, list[i]);
	return derive_put(&c, o) < 0 || derive_put(&c, (struct derive_op){ .code = DO_DEFAULT, .n = 1 }) < 0 ? SIZE_MAX : derive_end(&c);
}

size_t
pmml_density(struct pmml *p, uint32_t field, double mean, double variance, double threshold)
{
	struct compiler c = { .p = p, .node = p->fields[field].node };
	double at = log(2 * 3.14159265358979323846 * variance) / 2;
	const struct derive_op rest[] = {
		{ .code = DO_CONST, .v = mean }, { .code = DO_SUBTRACT, .n = 2 },
		{ .code = DO_CONST, .v = 2 }, { .code = DO_POW, .n = 2 },
		{ .code = DO_CONST, .v = -2 * variance }, { .code = DO_DIVIDE, .n = 2 },
		{ .code = DO_CONST, .v = at }, { .code = DO_SUBTRACT, .n = 2 },
		{ .code = DO_CONST, .v = log(threshold) }, { .code = DO_MAX, .n = 2 },
		{ .code = DO_DEFAULT, .n = 1 },
	};
	size_t i;

	if (derive_slot(&c, field) < 0)
		return SIZE_MAX;
	for (i = 0; i < sizeof rest / sizeof *rest; i++)
		if (derive_put(&c, rest[i]) < 0)
			return SIZE_MAX;
	return derive_end(&c);
}

int
pmml_drop(struct pmml *p, const bool *used)
{
	struct derived *d = p->derived;
	size_t i, n = pmml_slots(p);

	for (i = 0; d && d->slots && i < n; i++)
		buf_u8(&d->dropped, !used[i]);
	return !d || buf_ok(&d->dropped) ? 0 : err_memory(p->e);
}

/* ---- values of rows ---- */

int
derive_interval(struct pmml *p, uint32_t node)
{
	static const char *const closures[] = { "openOpen", "closedOpen", "openClosed", "closedClosed" };
	const char *closure = xml_attr(&p->x, node, "closure");
	double left = -HUGE_VAL, right = HUGE_VAL;
	unsigned i;

	if (pmml_attr(p, node, "leftMargin", &left) < 0 || pmml_attr(p, node, "rightMargin", &right) < 0)
		return -1;
	for (i = 0; i < 4 && (!closure || strcmp(closure, closures[i]) != 0); i++)
		;
	if (i == 4)
		return pmml_wrong(p, node, "Interval has no closure");
	derive_number(p, left);
	derive_number(p, right);
	derive_number(p, i);
	return 0;
}

/* The ranges and values of a DataField that are valid. */
static int
put_valid(struct pmml *p, const struct pmml_field *f, struct derive_treat *t)
{
	uint32_t node = f->node, i;
	double v;

	t->ranges = p->derived->list.n / sizeof v;
	for (i = xml_child(&p->x, node, "Interval"); i; i = xml_next(&p->x, i, "Interval"), t->range_count++) {
		if (derive_interval(p, i) < 0)
			return -1;
		derive_number(p, 0);
	}
	for (i = xml_child(&p->x, node, "Value"); i && !f->text; i = xml_next(&p->x, i, "Value"), t->range_count++) {
		if (pmml_number(p, i, "a value", xml_attr(&p->x, i, "value"), &v) < 0)
			return -1;
		v = f->single ? (double)(float)v : v;
		derive_number(p, v);
		derive_number(p, v);
		derive_number(p, 3);
		derive_number(p, 0);
	}
	for (i = 0; f->text && i < f->word_count; i++, t->range_count++) {
		derive_number(p, i);
		derive_number(p, i);
		derive_number(p, 3);
		derive_number(p, 0);
	}
	return buf_ok(&p->derived->list) ? 0 : err_memory(p->e);
}

/* What becomes of an invalid value; a word that a row has and the field does not is one. */
static int
treat_invalid(struct pmml *p, struct pmml_field *f, uint32_t mining, struct derive_treat *t)
{
	const char *how = xml_attr(&p->x, mining, "invalidValueTreatment");
	const char *value = xml_attr(&p->x, mining, "invalidValueReplacement");

	if (how && strcmp(how, "asIs") == 0 && !value)
		return 0;
	if (f->text && !f->open && (!how || strcmp(how, "returnInvalid") == 0 || strcmp(how, "asMissing") == 0)) {
		f->unknown = how && *how == 'a' ? PREDICT_UNKNOWN_MISSING : PREDICT_UNKNOWN_REFUSED;
		return 0;
	}
	if (f->text && f->open)
		return 0;
	if (!how || strcmp(how, "returnInvalid") == 0)
		t->refuses = true;
	else
		t->replaces = true;
	if (how && strcmp(how, "asMissing") != 0 && strcmp(how, "returnInvalid") != 0) {
		if (strcmp(how, "asValue") != 0 && strcmp(how, "asIs") != 0)
			return pmml_refuse(p, mining, "invalidValueTreatment %.60s is not read", how);
		t->invalid = pmml_value(p, mining, (uint32_t)(f - p->fields), value);
		if (isnan(t->invalid))
			return -1;
	}
	if (put_valid(p, f, t) < 0)
		return -1;
	p->derived->treated |= t->range_count > 0;
	return 0;
}

static int
treat_outliers(struct pmml *p, uint32_t mining, struct derive_treat *t)
{
	const char *how = xml_attr(&p->x, mining, "outliers");

	t->low = -HUGE_VAL;
	t->high = HUGE_VAL;
	if (!how || strcmp(how, "asIs") == 0)
		return 0;
	t->outliers = strcmp(how, "asMissingValues") == 0 ? OUTLIERS_MISSING : OUTLIERS_EXTREME;
	p->derived->treated = true;
	return pmml_attr(p, mining, "lowValue", &t->low) < 0 || pmml_attr(p, mining, "highValue", &t->high) < 0 ? -1 : 0;
}

int
pmml_treat(struct pmml *p, uint32_t field, uint32_t mining)
{
	struct derived *d = derive_begin(p);
	struct pmml_field *f = &p->fields[field];
	const char *instead = xml_attr(&p->x, mining, "missingValueReplacement");
	struct derive_treat *t = d ? &d->treats[f->slot] : NULL;

	if (!t)
		return -1;
	if (pmml_says(p, mining, "missingValueTreatment", "returnInvalid"))
		return pmml_refuse(p, mining, "missingValueTreatment returnInvalid is not read");
	if (instead) {
		t->replacement = pmml_value(p, mining, field, instead);
		d->replaced = true;
		if (isnan(t->replacement))
			return -1;
	}
	return treat_invalid(p, &p->fields[field], mining, t) < 0 || treat_outliers(p, mining, t) < 0 ? -1 : 0;
}

/* ---- the steps ---- */

/* A step that only replaces missing values, in every column, becomes tensors, unlike others. */
static int
put_impute(struct pmml *p)
{
	struct step *s = predictor_add_step(p->m);
	size_t i;

	if (!s)
		return err_memory(p->e);
	s->kind = &step_impute;
	s->in = s->out = p->inputs;
	s->a = mem_array(p->inputs, sizeof *s->a);
	for (i = 0; s->a && i < p->inputs; i++)
		s->a[i] = p->derived->treats[i].replacement;
	return s->a ? 0 : err_memory(p->e);
}

int
pmml_put_derived(struct pmml *p)
{
	struct derived *d = p->derived;
	struct step *s;
	uint32_t i;

	if (!d || (d->slots == 0 && !d->treated && !d->replaced && !p->mixed))
		return 0;
	for (i = 0; i < d->inputs && !isnan(d->treats[i].replacement); i++)
		;
	if (d->slots == 0 && !d->treated && !p->mixed && i == d->inputs)
		return put_impute(p);
	for (i = 0; i < p->field_count; i++)
		if (p->fields[i].slot < d->inputs && p->fields[i].base == i)
			d->treats[p->fields[i].slot].single = p->fields[i].single && !p->fields[i].text;
	s = buf_ok(&d->list) ? predictor_add_step(p->m) : NULL;
	if (!s)
		return err_memory(p->e);
	s->kind = &step_fields;
	s->in = d->inputs;
	s->out = d->inputs + d->slots;
	s->more = d;
	s->free_more = derived_free;
	p->derived = NULL;
	return 0;
}

size_t
pmml_derived_count(const struct pmml *p)
{
	return p->derived->slots;
}

void
pmml_free_derived(struct pmml *p)
{
	derived_free(p->derived);
}
