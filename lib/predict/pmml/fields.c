#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/decimal.h"
#include "predict/pmml/pmml.h"

/* ---- errors ---- */

int
pmml_fail(struct pmml *p, uint32_t node, enum err_code code, const char *fmt, ...)
{
	char object[400];
	va_list ap;

	snprintf(object, sizeof object, "%.300s, line %u", p->where, (unsigned)p->x.nodes[node].line);
	va_start(ap, fmt);
	err_vset(p->e, code, object, fmt, ap);
	va_end(ap);
	return -1;
}

int
pmml_enter(struct pmml *p, uint32_t node)
{
	if (p->e->code != ERR_NONE)
		return -1;
	if (++p->depth > PMML_NESTED)
		return pmml_refuse(p, node, "needs more than %d splits or expressions inside each other", PMML_NESTED);
	return 0;
}

/* ---- texts and numbers ---- */

int
pmml_number(struct pmml *p, uint32_t node, const char *what, const char *text, double *to)
{
	const char *at = text, *end = text ? text + strlen(text) : NULL;
	double v = text ? decimal_read(&at, end) : (double)NAN;

	if (!text || at == text || at != end || !isfinite(v))
		return pmml_wrong(p, node, "%s is \"%.60s\", which is not a number", what, text ? text : "");
	*to = v;
	return 0;
}

int
pmml_attr(struct pmml *p, uint32_t node, const char *name, double *to)
{
	const char *text = xml_attr(&p->x, node, name);

	return text ? pmml_number(p, node, name, text, to) : 0;
}

bool
pmml_says(const struct pmml *p, uint32_t node, const char *name, const char *value)
{
	const char *text = xml_attr(&p->x, node, name);

	return text && strcmp(text, value) == 0;
}

bool
pmml_item(const char **at, char *word, size_t n)
{
	const char *p = *at + strspn(*at, " \t\r\n");
	bool quoted = *p == '"';
	size_t k = 0;

	if (!*p)
		return false;
	for (p += quoted; *p && (quoted ? *p != '"' : !strchr(" \t\r\n", *p)); p++) {
		p += p[0] == '\\' && p[1] == '"';
		if (k + 1 < n)
			word[k++] = *p;
	}
	word[k] = 0;
	*at = p + (quoted && *p == '"');
	return true;
}

/* ---- the table of names and words ---- */

static uint32_t
hash(const struct pmml *p, uint32_t of, const char *text)
{
	uint64_t h = (uint64_t)of * 0x9e3779b97f4a7c15u + 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	return (uint32_t)(h ^ h >> 29) & (uint32_t)(p->slots - 1);
}

/* The entry of a text, or an empty one. NULL with an error: the budget of work is spent. */
static struct pmml_entry *
entry(struct pmml *p, uint32_t of, const char *text)
{
	uint32_t at = hash(p, of, text);

	while (p->table[at].text && (p->table[at].of != of || strcmp(p->table[at].text, text) != 0)) {
		if (p->work++ == p->most) {
			err_set(p->e, ERR_MEMORY, p->where, "its names take too much work to find");
			return NULL;
		}
		at = (at + 1) & (uint32_t)(p->slots - 1);
	}
	return &p->table[at];
}

static int
grow_table(struct pmml *p)
{
	struct pmml_entry *old = p->table, *to;
	size_t i, n = p->slots;

	if (p->used * 2 < n)
		return 0;
	p->slots = n ? n * 2 : 256;
	p->table = mem_array(p->slots, sizeof *p->table);
	if (!p->table) {
		free(old);
		p->slots = 0;
		return err_memory(p->e);
	}
	for (i = 0; i < n; i++)
		if (old[i].text && (to = entry(p, old[i].of, old[i].text)))
			*to = old[i];
	free(old);
	return p->e->code == ERR_NONE ? 0 : -1;
}

uint32_t
pmml_find(struct pmml *p, const char *name)
{
	struct pmml_entry *x = p->slots && name ? entry(p, 0, name) : NULL;

	return x && x->text ? x->number : UINT32_MAX;
}

uint32_t
pmml_new_field(struct pmml *p, const char *name, uint32_t node)
{
	struct pmml_entry *x;
	uint32_t number = (uint32_t)p->field_count;

	if (!name) {
		pmml_wrong(p, node, "a field has no name");
		return UINT32_MAX;
	}
	if (grow_table(p) < 0 || !(x = entry(p, 0, name)))
		return UINT32_MAX;
	if (mem_grow(&p->fields, &p->field_cap, p->field_count + 1, sizeof *p->fields) < 0) {
		err_memory(p->e);
		return UINT32_MAX;
	}
	p->used += !x->text;
	*x = (struct pmml_entry){ name, 0, number };
	p->fields[p->field_count++] = (struct pmml_field){ .name = name, .node = node, .base = number,
		.slot = SIZE_MAX, .group = SIZE_MAX };
	return number;
}

static int
add_word(struct pmml *p, uint32_t field, const char *text)
{
	struct pmml_field *f = &p->fields[field];
	struct pmml_entry *x;

	if (grow_table(p) < 0 || !(x = entry(p, field + 1, text)))
		return -1;
	if (x->text)
		return 0;
	if (mem_grow(&f->words, &f->word_cap, f->word_count + 1, sizeof *f->words) < 0)
		return err_memory(p->e);
	*x = (struct pmml_entry){ text, field + 1, (uint32_t)f->word_count };
	f->words[f->word_count++] = text;
	p->used++;
	return 0;
}

double
pmml_word(struct pmml *p, uint32_t field, const char *text)
{
	struct pmml_entry *x;

	field = p->fields[field].base;
	if (p->fields[field].open && add_word(p, field, text) < 0)
		return -1;
	x = p->slots ? entry(p, field + 1, text) : NULL;
	return x && x->text ? (double)x->number : p->e->code == ERR_NONE ? -2 : -1;
}

double
pmml_word_of(struct pmml *p, uint32_t field, const char *text)
{
	uint32_t base = p->fields[field].base;
	struct pmml_entry *x = p->slots ? entry(p, base + 1, text) : NULL;

	if (p->e->code != ERR_NONE || (x && x->text) || !p->fields[base].open)
		return p->e->code != ERR_NONE ? -1 : x && x->text ? (double)x->number : -2;
	if (mem_grow(&p->kept, &p->kept_cap, p->kept_count + 1, sizeof *p->kept) < 0 ||
	    !(p->kept[p->kept_count] = mem_text(text, strlen(text)))) {
		err_memory(p->e);
		return -1;
	}
	return pmml_word(p, base, p->kept[p->kept_count++]);
}

double
pmml_value(struct pmml *p, uint32_t node, uint32_t field, const char *text)
{
	double v = (double)NAN;

	if (!text)
		pmml_wrong(p, node, "%s has no value", xml_name(&p->x, node));
	else if (p->fields[field].text)
		v = pmml_word(p, field, text);
	else if (pmml_number(p, node, "a value", text, &v) == 0)
		v = p->fields[field].single ? (double)(float)v : v;
	return p->e->code == ERR_NONE ? v : (double)NAN;
}

/* ---- the dictionary ---- */

/* Values of a DataField: those that are valid. */
static int
read_values(struct pmml *p, uint32_t number)
{
	uint32_t node = p->fields[number].node, v;

	for (v = xml_child(&p->x, node, "Value"); v; v = xml_next(&p->x, v, "Value")) {
		const char *text = xml_attr(&p->x, v, "value"), *property = xml_attr(&p->x, v, "property");

		if (!text)
			return pmml_wrong(p, v, "Value has no value");
		if (property && strcmp(property, "valid") != 0)
			return pmml_refuse(p, v, "values of the property %.60s are not read", property);
		if (p->fields[number].text && add_word(p, number, text) < 0)
			return -1;
	}
	return 0;
}

/* The type of a DataField or DerivedField. */
static int
read_type(struct pmml *p, uint32_t number)
{
	struct pmml_field *f = &p->fields[number];
	const char *type = xml_attr(&p->x, f->node, "dataType");

	f->text = type && (strcmp(type, "string") == 0 || strcmp(type, "boolean") == 0);
	f->single = type && strcmp(type, "float") == 0;
	f->whole = type && strcmp(type, "integer") == 0;
	if (f->text || f->single || !type || strcmp(type, "double") == 0 || strcmp(type, "integer") == 0)
		return 0;
	return pmml_refuse(p, f->node, "fields of the type %.60s are not read", type);
}

static int
read_dictionary(struct pmml *p, uint32_t dictionary)
{
	uint32_t d, number;

	for (d = xml_child(&p->x, dictionary, "DataField"); d; d = xml_next(&p->x, d, "DataField")) {
		const char *name = xml_attr(&p->x, d, "name");

		if (pmml_find(p, name) != UINT32_MAX)
			return pmml_wrong(p, d, "the field %.60s is there twice", name);
		number = pmml_new_field(p, name, d);
		if (number == UINT32_MAX || read_type(p, number) < 0)
			return -1;
		if (pmml_says(p, d, "dataType", "boolean") &&
		    (add_word(p, number, "false") < 0 || add_word(p, number, "true") < 0))
			return -1;
		if (read_values(p, number) < 0)
			return -1;
		p->fields[number].open = p->fields[number].text && p->fields[number].word_count == 0;
	}
	return 0;
}

/* ---- the schema ---- */

static bool
is_input(const struct pmml *p, uint32_t mining)
{
	const char *usage = xml_attr(&p->x, mining, "usageType");

	return !usage || strcmp(usage, "active") == 0;
}

static bool
is_target(const struct pmml *p, uint32_t mining)
{
	return pmml_says(p, mining, "usageType", "target") || pmml_says(p, mining, "usageType", "predicted");
}

/* A field of the schema: a column of the rows, the target, or neither. */
static int
read_mining(struct pmml *p, uint32_t mining)
{
	const char *name = xml_attr(&p->x, mining, "name");
	uint32_t number = pmml_find(p, name);
	struct pmml_field *f = number == UINT32_MAX ? NULL : &p->fields[number];

	if (!f)
		return p->e->code != ERR_NONE ? -1
		       : pmml_wrong(p, mining, "the field %.60s is not in the dictionary", name ? name : "");
	if (is_target(p, mining)) {
		f->target = true;
		p->target = number;
		return 0;
	}
	if (!is_input(p, mining))
		return 0;
	if (f->slot != SIZE_MAX)
		return pmml_wrong(p, mining, "the field %.60s is there twice", name);
	f->slot = p->inputs++;
	return predictor_add_name(p->m, name, strlen(name), p->e);
}

int
pmml_read_fields(struct pmml *p, uint32_t root, uint32_t model)
{
	uint32_t schema = xml_child(&p->x, model, "MiningSchema"), f;

	p->target = UINT32_MAX;
	if (read_dictionary(p, xml_child(&p->x, root, "DataDictionary")) < 0)
		return -1;
	for (f = xml_child(&p->x, schema, "MiningField"); f; f = xml_next(&p->x, f, "MiningField"))
		if (read_mining(p, f) < 0)
			return -1;
	if (p->inputs == 0)
		return pmml_wrong(p, model, "the model has no active fields");
	for (f = xml_child(&p->x, schema, "MiningField"); f; f = xml_next(&p->x, f, "MiningField"))
		if (is_input(p, f) && pmml_treat(p, pmml_find(p, xml_attr(&p->x, f, "name")), f) < 0)
			return -1;
	return pmml_add_derived(p, xml_child(&p->x, root, "TransformationDictionary")) < 0 ||
	       pmml_add_derived(p, xml_child(&p->x, model, "LocalTransformations")) < 0 ? -1 : 0;
}

int
pmml_check_schema(struct pmml *p, uint32_t model)
{
	static const char *const treats[] = { "missingValueReplacement", "outliers", "lowValue", "highValue" };
	uint32_t f = xml_child(&p->x, xml_child(&p->x, model, "MiningSchema"), "MiningField");
	size_t i;

	if (model == p->top)
		return 0;
	for (; f; f = xml_next(&p->x, f, "MiningField"))
		for (i = 0; i < sizeof treats / sizeof *treats; i++)
			if (xml_attr(&p->x, f, treats[i]))
				return pmml_refuse(p, f, "%s of a model inside a model is not read", treats[i]);
	return pmml_add_derived(p, xml_child(&p->x, model, "LocalTransformations"));
}

int
pmml_add_derived(struct pmml *p, uint32_t transformations)
{
	uint32_t d, number;

	for (d = xml_child(&p->x, transformations, "DerivedField"); d; d = xml_next(&p->x, d, "DerivedField")) {
		number = pmml_new_field(p, xml_attr(&p->x, d, "name"), d);
		if (number == UINT32_MAX || read_type(p, number) < 0)
			return -1;
		p->fields[number].open = p->fields[number].text && !pmml_says(p, d, "dataType", "boolean");
		if (p->fields[number].text && !p->fields[number].open &&
		    (add_word(p, number, "false") < 0 || add_word(p, number, "true") < 0))
			return -1;
	}
	return 0;
}

/* ---- use ---- */

uint32_t
pmml_use(struct pmml *p, uint32_t node, const char *name)
{
	uint32_t number = pmml_find(p, name);
	struct pmml_field *f = number == UINT32_MAX ? NULL : &p->fields[number];

	if (p->e->code != ERR_NONE)
		return UINT32_MAX;
	if (f && f->slot == SIZE_MAX && f->group == SIZE_MAX && xml_is(&p->x, f->node, "DerivedField") &&
	    pmml_derive(p, number) < 0)
		return UINT32_MAX;
	f = number == UINT32_MAX ? NULL : &p->fields[number]; /* the list may have moved */
	if (!f || (f->slot == SIZE_MAX && f->group == SIZE_MAX)) {
		pmml_wrong(p, node, "asks for the field %.60s, which is not an input", name ? name : "");
		return UINT32_MAX;
	}
	f->used = p->fields[f->base].used = true;
	if (f->slot < p->inputs && !f->text) {
		p->uses_single |= f->single;
		p->uses_double |= !f->single;
	}
	return number;
}

size_t
pmml_class_count(const struct pmml *p)
{
	return p->target == UINT32_MAX ? 0 : p->fields[p->target].word_count;
}

/* The classes: values of the target, or the values of an attribute of all elements of a name below a model. */
int
pmml_classes(struct pmml *p, uint32_t model, const char *element, const char *attribute)
{
	struct pmml_field *f;
	uint32_t i;

	if (p->target == UINT32_MAX) {
		p->target = pmml_new_field(p, "", model);
		if (p->target == UINT32_MAX)
			return -1;
		p->fields[p->target].target = true;
	}
	f = &p->fields[p->target];
	if (!f->text) { /* integers stand for their digits */
		f->text = true;
		for (i = xml_child(&p->x, f->node, "Value"); i; i = xml_next(&p->x, i, "Value"))
			if (xml_attr(&p->x, i, "value") && add_word(p, p->target, xml_attr(&p->x, i, "value")) < 0)
				return -1;
	}
	if (p->fields[p->target].word_count)
		return 0;
	for (i = model; i < p->x.count; i++)
		if (xml_is(&p->x, i, element) && xml_attr(&p->x, i, attribute) &&
		    add_word(p, p->target, xml_attr(&p->x, i, attribute)) < 0)
			return -1;
	return pmml_class_count(p) ? 0 : pmml_wrong(p, model, "the model has no classes");
}
