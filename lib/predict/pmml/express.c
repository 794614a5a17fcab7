#include "predict/pmml/express.h"

#include <math.h>
#include <string.h>

#define NO_WORDS UINT32_MAX

/* ---- expressions ---- */

static int compile(struct compiler *c, uint32_t node, uint32_t words);

static bool
is_expression(const struct pmml *p, uint32_t node)
{
	static const char *const names[] = { "Constant", "FieldRef", "NormContinuous", "NormDiscrete", "Discretize",
		"MapValues", "Apply" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (xml_is(&p->x, node, names[i]))
			return true;
	return false;
}

/* A value that an expression gives: a word of the field, or a number. */
static double
value_of(struct compiler *c, uint32_t node, const char *text, uint32_t words)
{
	double v = (double)NAN;

	if (!text)
		pmml_wrong(c->p, node, "%s has no value", xml_name(&c->p->x, node));
	else if (words != NO_WORDS)
		v = pmml_word(c->p, words, text);
	else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		v = *text == 't';
	else
		pmml_number(c->p, node, xml_name(&c->p->x, node), text, &v);
	return v;
}

/* An attribute with such a value, if it is there. */
static int
attribute(struct compiler *c, uint32_t node, const char *name, uint32_t words, double *to)
{
	const char *text = xml_attr(&c->p->x, node, name);

	if (text)
		*to = value_of(c, node, text, words);
	return c->p->e->code == ERR_NONE ? 0 : -1;
}

static int
put_default(struct compiler *c, uint32_t node, const char *name, uint32_t words)
{
	struct derive_op o = { .code = DO_DEFAULT, .n = 1 };

	if (!xml_attr(&c->p->x, node, name))
		return 0;
	return attribute(c, node, name, words, &o.v) < 0 ? -1 : derive_put(c, o);
}

/* The field of an element, as a value on the stack; its number, or UINT32_MAX. */
static uint32_t
put_field(struct compiler *c, uint32_t node)
{
	uint32_t field = pmml_use(c->p, node, xml_attr(&c->p->x, node, "field"));

	return field == UINT32_MAX || derive_slot(c, field) < 0 ? UINT32_MAX : field;
}

static int
put_reference(struct compiler *c, uint32_t node, uint32_t words)
{
	uint32_t field = put_field(c, node);
	const struct pmml_field *f = field == UINT32_MAX ? NULL : &c->p->fields[field];

	if (!f)
		return -1;
	if (words != NO_WORDS ? !f->text || f->base != c->p->fields[words].base : f->text)
		return pmml_refuse(c->p, node, "the texts of %.60s are used as %s", f->name,
		                   words != NO_WORDS ? "those of another field" : "numbers");
	return put_default(c, node, "mapMissingTo", words);
}

static int
put_lines(struct compiler *c, uint32_t node)
{
	struct pmml *p = c->p;
	const char *outliers = xml_attr(&p->x, node, "outliers");
	struct derive_op o = { .code = DO_LINES, .n = 1 };
	double orig, norm, last = -HUGE_VAL, count = 0;
	size_t head;
	uint32_t n;

	if (put_field(c, node) == UINT32_MAX)
		return -1;
	head = derive_number(p, 0) - 1;
	for (n = xml_child(&p->x, node, "LinearNorm"); n; n = xml_next(&p->x, n, "LinearNorm"), last = orig, count++) {
		if (pmml_number(p, n, "orig", xml_attr(&p->x, n, "orig"), &orig) < 0 ||
		    pmml_number(p, n, "norm", xml_attr(&p->x, n, "norm"), &norm) < 0)
			return -1;
		if (!(orig > last))
			return pmml_wrong(p, n, "the values of orig do not grow");
		derive_number(p, orig);
		derive_number(p, norm);
	}
	if (count < 2 || !buf_ok(&p->derived->list))
		return pmml_wrong(p, node, "NormContinuous has fewer than two LinearNorm");
	memcpy(p->derived->list.p + head * sizeof count, &count, sizeof count);
	o.a = head + 1;
	o.v = !outliers || strcmp(outliers, "asIs") == 0 ? OUTLIERS_AS_IS
	      : strcmp(outliers, "asMissingValues") == 0 ? OUTLIERS_MISSING : OUTLIERS_EXTREME;
	return derive_put(c, o) < 0 ? -1 : put_default(c, node, "mapMissingTo", NO_WORDS);
}

static int
put_discrete(struct compiler *c, uint32_t node)
{
	uint32_t field = put_field(c, node);
	double v;

	if (field == UINT32_MAX)
		return -1;
	if (xml_attr(&c->p->x, node, "method") && !pmml_says(c->p, node, "method", "indicator"))
		return pmml_refuse(c->p, node, "this method of NormDiscrete is not read");
	v = pmml_value(c->p, node, field, xml_attr(&c->p->x, node, "value"));
	if (isnan(v) || derive_put(c, (struct derive_op){ .code = DO_CONST, .v = v }) < 0 ||
	    derive_put(c, (struct derive_op){ .code = DO_EQUAL, .n = 2 }) < 0)
		return -1;
	return put_default(c, node, "mapMissingTo", NO_WORDS);
}

static int
put_bins(struct compiler *c, uint32_t node, uint32_t words)
{
	struct pmml *p = c->p;
	struct derive_op o = { .code = DO_BINS, .n = 1, .v = (double)NAN };
	double count = 0;
	size_t head;
	uint32_t b;

	if (put_field(c, node) == UINT32_MAX || attribute(c, node, "defaultValue", words, &o.v) < 0)
		return -1;
	head = derive_number(p, 0) - 1;
	for (b = xml_child(&p->x, node, "DiscretizeBin"); b; b = xml_next(&p->x, b, "DiscretizeBin"), count++) {
		if (derive_interval(p, xml_child(&p->x, b, "Interval")) < 0)
			return -1;
		derive_number(p, value_of(c, b, xml_attr(&p->x, b, "binValue"), words));
	}
	if (p->e->code != ERR_NONE || !buf_ok(&p->derived->list))
		return -1;
	memcpy(p->derived->list.p + head * sizeof count, &count, sizeof count);
	o.a = head + 1;
	return derive_put(c, o) < 0 ? -1 : put_default(c, node, "mapMissingTo", words);
}

/* ---- MapValues ---- */

#define COLUMNS 16

struct map_columns {
	uint32_t fields[COLUMNS];
	const char *names[COLUMNS];
	const char *output;
	size_t n;
};

static const char *
cell(const struct pmml *p, uint32_t row, const char *column)
{
	uint32_t x = column ? xml_child(&p->x, row, column) : XML_NONE;

	return x ? xml_text(&p->x, x) : NULL;
}

static int
map_columns(struct compiler *c, uint32_t node, struct map_columns *m)
{
	struct pmml *p = c->p;
	uint32_t f;

	m->output = xml_attr(&p->x, node, "outputColumn");
	for (f = xml_child(&p->x, node, "FieldColumnPair"); f; f = xml_next(&p->x, f, "FieldColumnPair")) {
		if (m->n == COLUMNS)
			return pmml_refuse(p, f, "MapValues of more than %d columns are not read", COLUMNS);
		m->names[m->n] = xml_attr(&p->x, f, "column");
		m->fields[m->n] = put_field(c, f);
		if (m->fields[m->n++] == UINT32_MAX)
			return -1;
	}
	return m->n && m->output ? 0 : pmml_wrong(p, node, "MapValues has no columns");
}

/* A word leads to a value by its number. */
static int
put_words(struct compiler *c, uint32_t table, const struct map_columns *m, uint32_t words, struct derive_op *o)
{
	struct pmml *p = c->p;
	const char *text, *name = m->names[0];
	size_t i, n;
	double *list, v;
	uint32_t r;

	for (r = xml_child(&p->x, table, "row"); r; r = xml_next(&p->x, r, "row")) /* its words are known then */
		if ((text = cell(p, r, name)) && pmml_word(p, m->fields[0], text) == -1)
			return -1;
	n = p->fields[p->fields[m->fields[0]].base].word_count;
	o->a = derive_number(p, (double)n);
	for (i = 0; i < n; i++)
		derive_number(p, o->v);
	if (!buf_ok(&p->derived->list))
		return err_memory(p->e);
	for (r = xml_child(&p->x, table, "row"); r; r = xml_next(&p->x, r, "row")) {
		if (!(text = cell(p, r, name)) || !cell(p, r, m->output))
			return pmml_wrong(p, r, "a row of the table lacks a column");
		v = pmml_word(p, m->fields[0], text);
		list = (double *)(void *)p->derived->list.p + o->a;
		if (v >= 0)
			list[(size_t)v] = value_of(c, r, cell(p, r, m->output), words);
	}
	o->code = DO_WORDS;
	return 0;
}

static int
put_rows(struct compiler *c, uint32_t table, const struct map_columns *m, uint32_t words, struct derive_op *o)
{
	struct pmml *p = c->p;
	double count = 0;
	size_t k;
	uint32_t r;

	o->a = derive_number(p, 0) - 1;
	for (r = xml_child(&p->x, table, "row"); r; r = xml_next(&p->x, r, "row")) {
		if (++count > DERIVE_ROWS)
			return pmml_refuse(p, r, "a table of more than %d rows is not read", DERIVE_ROWS);
		for (k = 0; k < m->n; k++)
			derive_number(p, pmml_value(p, r, m->fields[k], cell(p, r, m->names[k])));
		derive_number(p, value_of(c, r, cell(p, r, m->output), words));
	}
	if (!buf_ok(&p->derived->list))
		return err_memory(p->e);
	memcpy(p->derived->list.p + o->a * sizeof count, &count, sizeof count);
	return 0;
}

static int
put_map(struct compiler *c, uint32_t node, uint32_t words)
{
	uint32_t table = xml_child(&c->p->x, node, "InlineTable");
	struct map_columns m = { .n = 0 };
	struct derive_op o = { .code = DO_TABLE, .v = (double)NAN };

	if (!table)
		return pmml_refuse(c->p, node, "MapValues without an InlineTable is not read");
	if (map_columns(c, node, &m) < 0 || attribute(c, node, "defaultValue", words, &o.v) < 0)
		return -1;
	o.n = (uint32_t)m.n;
	if ((m.n == 1 && c->p->fields[m.fields[0]].text ? put_words : put_rows)(c, table, &m, words, &o) < 0 ||
	    c->p->e->code != ERR_NONE)
		return -1;
	return derive_put(c, o) < 0 ? -1 : put_default(c, node, "mapMissingTo", words);
}

/* ---- Apply ---- */

static const struct function {
	const char *name;
	uint32_t code;
	uint32_t least, most; /* arguments */
} functions[] = {
	{ "+", DO_ADD, 2, 2 }, { "-", DO_SUBTRACT, 2, 2 }, { "*", DO_MULTIPLY, 2, 2 }, { "/", DO_DIVIDE, 2, 2 },
	{ "pow", DO_POW, 2, 2 }, { "threshold", DO_THRESHOLD, 2, 2 },
	{ "min", DO_MIN, 1, DERIVE_STACK }, { "max", DO_MAX, 1, DERIVE_STACK }, { "sum", DO_SUM, 1, DERIVE_STACK },
	{ "avg", DO_AVG, 1, DERIVE_STACK }, { "product", DO_PRODUCT, 1, DERIVE_STACK },
	{ "exp", DO_EXP, 1, 1 }, { "ln", DO_LN, 1, 1 }, { "log10", DO_LOG10, 1, 1 }, { "sqrt", DO_SQRT, 1, 1 },
	{ "abs", DO_ABS, 1, 1 }, { "floor", DO_FLOOR, 1, 1 }, { "ceil", DO_CEIL, 1, 1 },
	{ "round", DO_ROUND, 1, 1 }, { "not", DO_NOT, 1, 1 },
	{ "isMissing", DO_IS_MISSING, 1, 1 }, { "isNotMissing", DO_IS_NOT_MISSING, 1, 1 },
	{ "equal", DO_EQUAL, 2, 2 }, { "notEqual", DO_NOT_EQUAL, 2, 2 }, { "lessThan", DO_LESS, 2, 2 },
	{ "lessOrEqual", DO_LESS_EQUAL, 2, 2 }, { "greaterThan", DO_GREATER, 2, 2 },
	{ "greaterOrEqual", DO_GREATER_EQUAL, 2, 2 }, { "and", DO_AND, 2, DERIVE_STACK },
	{ "or", DO_OR, 2, DERIVE_STACK }, { "if", DO_IF, 2, 3 }, { "isIn", DO_IS_IN, 2, DERIVE_STACK },
	{ "isNotIn", DO_IS_NOT_IN, 2, DERIVE_STACK },
};

static uint32_t
expression(const struct pmml *p, uint32_t node)
{
	while (node && !is_expression(p, node))
		node = xml_next(&p->x, node, NULL);
	return node;
}

/* The field whose words the arguments of a comparison are. */
static uint32_t
words_of(struct pmml *p, uint32_t node)
{
	uint32_t a, field;

	for (a = xml_child(&p->x, node, "FieldRef"); a; a = xml_next(&p->x, a, "FieldRef")) {
		field = pmml_use(p, a, xml_attr(&p->x, a, "field"));
		if (field == UINT32_MAX || p->fields[field].text)
			return field;
	}
	return NO_WORDS;
}

static int
put_apply(struct compiler *c, uint32_t node, uint32_t words)
{
	struct pmml *p = c->p;
	const char *name = xml_attr(&p->x, node, "function");
	size_t i, n = sizeof functions / sizeof *functions;
	bool compares, chooses;
	uint32_t a, of, count = 0;

	for (i = 0; i < n && (!name || strcmp(functions[i].name, name) != 0); i++)
		;
	if (i == n)
		return pmml_refuse(p, node, "the function %.60s is not known here", name ? name : "");
	compares = (functions[i].code >= DO_IS_MISSING && functions[i].code <= DO_GREATER_EQUAL) ||
	           functions[i].code == DO_IS_IN || functions[i].code == DO_IS_NOT_IN;
	chooses = functions[i].code == DO_IF;
	of = compares ? words_of(p, node) : NO_WORDS;
	for (a = expression(p, xml_child(&p->x, node, NULL)); a; a = expression(p, xml_next(&p->x, a, NULL)), count++)
		if (compile(c, a, chooses && count > 0 ? words : of) < 0)
			return -1;
	if (count < functions[i].least || count > functions[i].most)
		return pmml_wrong(p, node, "the function %s has %u arguments", name, count);
	if (derive_put(c, (struct derive_op){ .code = functions[i].code, .n = count }) < 0)
		return -1;
	return put_default(c, node, "mapMissingTo", words) < 0 || put_default(c, node, "defaultValue", words) < 0
	       ? -1 : 0;
}

/* Computes an expression; words: the field whose words it gives. */
static int
compile(struct compiler *c, uint32_t node, uint32_t words)
{
	struct pmml *p = c->p;
	int r;

	if (pmml_enter(p, node) < 0)
		return -1;
	if (words != NO_WORDS && p->fields[words].open && (xml_is(&p->x, node, "NormContinuous") ||
	    xml_is(&p->x, node, "NormDiscrete") || (xml_is(&p->x, node, "Apply") && !pmml_says(p, node, "function", "if"))))
		return pmml_refuse(p, node, "an expression gives numbers for a field of texts");
	if (xml_is(&p->x, node, "Constant"))
		r = derive_put(c, (struct derive_op){ .code = DO_CONST, .v = value_of(c, node, xml_text(&p->x, node), words) });
	else if (xml_is(&p->x, node, "FieldRef"))
		r = put_reference(c, node, words);
	else if (xml_is(&p->x, node, "NormContinuous"))
		r = put_lines(c, node);
	else if (xml_is(&p->x, node, "NormDiscrete"))
		r = put_discrete(c, node);
	else if (xml_is(&p->x, node, "Discretize"))
		r = put_bins(c, node, words);
	else if (xml_is(&p->x, node, "MapValues"))
		r = put_map(c, node, words);
	else
		r = put_apply(c, node, words);
	p->depth--;
	return r < 0 || p->e->code != ERR_NONE ? -1 : 0;
}

/* ---- derived fields ---- */

/* A field that is another one, maybe in single precision: it has the slot of that, unless some use it in double
 * precision. 1: it is not. */
static int
other_name(struct pmml *p, uint32_t field, uint32_t node)
{
	struct pmml_field *f = &p->fields[field], *of;
	bool text = f->text, single = f->single;
	uint32_t base;

	if (!xml_is(&p->x, node, "FieldRef") || xml_attr(&p->x, node, "mapMissingTo"))
		return 1;
	base = pmml_find(p, xml_attr(&p->x, node, "field"));
	of = base == UINT32_MAX ? NULL : &p->fields[base];
	if (!of || of->slot == SIZE_MAX || of->text != text || (!text && of->single != single &&
	                                                        (!single || p->mixed || of->slot >= p->inputs)))
		return 1;
	f->slot = of->slot;
	f->base = of->base;
	return 0;
}

/* Makes the slots of all fields that an expression uses. */
static int
resolve(struct pmml *p, uint32_t node)
{
	const char *name = xml_attr(&p->x, node, "field");
	uint32_t c;

	if (pmml_enter(p, node) < 0 || (name && pmml_use(p, node, name) == UINT32_MAX))
		return -1;
	for (c = xml_child(&p->x, node, NULL); c; c = xml_next(&p->x, c, NULL))
		if (resolve(p, c) < 0)
			return -1;
	p->depth--;
	return 0;
}

int
pmml_derive(struct pmml *p, uint32_t field)
{
	uint32_t node = expression(p, xml_child(&p->x, p->fields[field].node, NULL));
	struct compiler c = { .p = p, .node = p->fields[field].node };
	struct pmml_field *f = &p->fields[field];
	bool single = f->single, text = f->text;
	size_t slot;
	int r;

	if (f->state == DERIVE_NOW)
		return pmml_wrong(p, c.node, "the field %.60s is derived from itself", f->name);
	if (!node)
		return pmml_refuse(p, c.node, "the field %.60s has no expression that is read here", f->name);
	f->state = DERIVE_NOW;
	if (pmml_enter(p, c.node) < 0)
		return -1;
	r = other_name(p, field, node);
	if (r == 1) {
		/* The fields that it uses come first, as the operations of a slot stand together. */
		r = derive_begin(p) && resolve(p, node) == 0 ? compile(&c, node, text ? field : NO_WORDS) : -1;
		if (r == 0 && single)
			r = derive_put(&c, (struct derive_op){ .code = DO_SINGLE, .n = 1 });
		slot = r == 0 ? derive_end(&c) : SIZE_MAX;
		p->fields[field].slot = slot;
		r = slot == SIZE_MAX ? -1 : 0;
	}
	p->fields[field].state = DERIVE_DONE;
	p->depth--;
	return r;
}
