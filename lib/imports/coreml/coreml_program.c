/* The operations of a program. */
#include "imports/coreml/coreml_program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"

#define DEPTH 8      /* of blocks in operations */
#define TYPE 64      /* bytes of the type of an operation */

/* An operation that gives a constant. */
struct op {
	const uint8_t *name;
	size_t name_bytes;
	struct protobuf_field message;
	char type[TYPE];
	bool used;  /* as an operand of another one */
	bool made;
	struct coreml_value *value; /* NULL: not read so far, or not a tensor of numbers */
};

struct program {
	struct coreml *s;
	const char *function; /* precedes names, with a dot; NULL: nothing */
	struct op *ops;
	size_t count, cap;
	struct op **sorted;
};

/* The operands of an operation. */
struct operands {
	struct coreml_operands find; /* first: find() gets its address */
	struct program *p;
	const struct op *op;
	const char *name;
	unsigned depth;
};

static int
fail(const struct program *p, const char *what)
{
	return import_fail(&p->s->import, ERR_CORRUPT, "%s", what);
}

static void
open_field(const struct program *p, struct protobuf *m, const struct protobuf_field *f)
{
	protobuf_open(m, f->p, (size_t)f->value, p->s->import.source.name, p->s->import.err);
}

static bool
is_text(const struct protobuf_field *f, const char *text)
{
	return f->p && f->value == strlen(text) && memcmp(f->p, text, strlen(text)) == 0;
}

/* An entry of a map: its key and its value; either may be missing. */
static int
read_entry(const struct program *p, const struct protobuf_field *entry,
           struct protobuf_field *key, struct protobuf_field *value)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	*key = *value = (struct protobuf_field){ .p = NULL };
	open_field(p, &m, entry);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.form == PROTOBUF_BYTES && f.number <= 2)
			*(f.number == 1 ? key : value) = f;
	return r;
}

/* Find the value of a key in the maps of a message that have this number. 1 or 0, or -1. */
static int
find_entry(const struct program *p, const struct protobuf_field *in, uint32_t number,
           const char *key, struct protobuf_field *value)
{
	struct protobuf_field f, k, v;
	struct protobuf m;
	int r, found = 0;

	open_field(p, &m, in);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number != number || f.form != PROTOBUF_BYTES)
			continue;
		if (read_entry(p, &f, &k, &v) < 0)
			return -1;
		if (is_text(&k, key) && v.p && !found++)
			*value = v;
	}
	return r < 0 ? -1 : found;
}

/* ---- collecting constants ---- */

static int collect_block(struct program *p, const struct protobuf_field *block, unsigned depth);

/* The name of an output of an operation. */
static int
read_output(const struct program *p, const struct protobuf_field *output, struct op *x)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	x->name = NULL;
	open_field(p, &m, output);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES && f.value > 0 && f.value < 65536) {
			x->name = f.p;
			x->name_bytes = (size_t)f.value;
		}
	if (r == 0 && (!x->name || memchr(x->name, 0, x->name_bytes)))
		return fail(p, "has a constant without a name");
	return r;
}

/* The number of its outputs; 0: the operation is not known. */
static unsigned
outputs_of(const struct op *x)
{
	return strcmp(x->type, "const") == 0 ? 1 : coreml_constexpr_outputs(x->type);
}

/* Add an output of an operation. */
static int
add_op(struct program *p, const struct op *x)
{
	if (outputs_of(x) == 0) {
		import_fail(&p->s->import, ERR_FORMAT, "has weights made by %s, which is not read", x->type);
		return err_hint(p->s->import.err, "coremltools can decompress them: "
		                "coremltools.optimize.coreml.decompress_weights");
	}
	if (p->count == IMPORT_TENSORS)
		return import_fail(&p->s->import, ERR_CORRUPT, "has more than %u constants", IMPORT_TENSORS);
	if (mem_grow(&p->ops, &p->cap, p->count + 1, sizeof *p->ops) < 0)
		return err_memory(p->s->import.err);
	p->ops[p->count++] = *x;
	return 0;
}

static int
collect_op(struct program *p, const struct protobuf_field *from, unsigned depth)
{
	struct op x = { .message = *from };
	struct protobuf_field f;
	struct protobuf m;
	bool constant = false;
	unsigned outputs = 0;
	int r;

	open_field(p, &m, from);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES)
			continue;
		if (f.number == 1 && f.value < TYPE) {
			memcpy(x.type, f.p, (size_t)f.value);
			x.type[f.value] = '\0';
			constant = strcmp(x.type, "const") == 0 || strncmp(x.type, "constexpr_", 10) == 0;
		}
		if (f.number == 4 && collect_block(p, &f, depth + 1) < 0)
			return -1;
	}
	if (r < 0 || !constant)
		return r;
	open_field(p, &m, from);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 3 && f.form == PROTOBUF_BYTES) {
			if (read_output(p, &f, &x) < 0 || add_op(p, &x) < 0)
				return -1;
			if (++outputs > outputs_of(&x))
				return fail(p, "has a constant with too many outputs");
		}
	return r < 0 ? -1 : outputs > 0 ? 0 : fail(p, "has a constant without a name");
}

static int
collect_block(struct program *p, const struct protobuf_field *block, unsigned depth)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	if (depth > DEPTH)
		return import_fail(&p->s->import, ERR_CORRUPT, "has blocks in more than %d others", DEPTH);
	open_field(p, &m, block);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 3 && f.form == PROTOBUF_BYTES && collect_op(p, &f, depth) < 0)
			return -1;
	return r;
}

/* ---- names ---- */

static int
by_name(const void *a, const void *b)
{
	const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;
	int r = memcmp(x->name, y->name, x->name_bytes < y->name_bytes ? x->name_bytes : y->name_bytes);

	return r ? r : (x->name_bytes > y->name_bytes) - (x->name_bytes < y->name_bytes);
}

static int
sort_ops(struct program *p)
{
	size_t i;

	p->sorted = mem_array(p->count, sizeof(struct op *));
	if (!p->sorted)
		return err_memory(p->s->import.err);
	for (i = 0; i < p->count; i++)
		p->sorted[i] = &p->ops[i];
	if (p->count)
		qsort(p->sorted, p->count, sizeof *p->sorted, by_name);
	for (i = 1; i < p->count; i++)
		if (by_name(&p->sorted[i - 1], &p->sorted[i]) == 0)
			return fail(p, "has two constants of one name");
	return 0;
}

static struct op *
find_op(const struct program *p, const struct protobuf_field *name)
{
	struct op key = { .name = name->p, .name_bytes = (size_t)name->value };
	const struct op *k = &key;
	struct op **found = p->count ? bsearch(&k, p->sorted, p->count, sizeof *p->sorted, by_name) : NULL;

	return found ? *found : NULL;
}

/* The name of an operation's tensor, in a new string. */
static char *
name_of(const struct program *p, const struct op *x)
{
	struct buf b = { 0 };

	if (p->function)
		buf_printf(&b, "%s.", p->function);
	buf_put(&b, x->name, x->name_bytes);
	if (buf_string(&b))
		return (char *)b.p;
	buf_free(&b);
	err_memory(p->s->import.err);
	return NULL;
}

/* ---- values ---- */

static int make_value(struct program *p, struct op *x, unsigned depth);

struct coreml_value *
coreml_value_new(struct coreml *s)
{
	struct coreml_value *v = mem_array(1, sizeof *v);

	if (!v) {
		err_memory(s->import.err);
		return NULL;
	}
	v->next = s->values;
	s->values = v;
	return v;
}

/* A Value as a value of the source: NULL in *to if it is not a tensor of numbers. */
static int
own_value(struct program *p, const char *name, const struct protobuf_field *from,
          struct coreml_value **to)
{
	struct coreml_value *v = coreml_value_new(p->s), *next;
	int r;

	if (!v)
		return -1;
	next = v->next;
	r = coreml_value_read(p->s, name, from, v);
	v->next = next;
	*to = r > 0 ? v : NULL;
	return r < 0 ? -1 : 0;
}

/* The value of the only Binding of an Argument. */
static int
take_argument(const struct operands *x, const struct protobuf_field *argument,
              struct coreml_value **to)
{
	struct protobuf_field f, binding = { .p = NULL }, what = { .p = NULL };
	struct program *p = x->p;
	struct protobuf m;
	struct op *op;
	int r;

	open_field(p, &m, argument);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 1 && f.form == PROTOBUF_BYTES)
			binding = f;
	if (r < 0 || !binding.p)
		return r;
	open_field(p, &m, &binding);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number <= 2 && f.form == PROTOBUF_BYTES)
			what = f;
	if (r < 0 || !what.p)
		return r;
	if (what.number == 2)
		return own_value(p, x->name, &what, to);
	op = find_op(p, &what);
	if (!op)
		return err_set(p->s->import.err, ERR_CORRUPT, x->name, "is made of a value that is not a "
		               "constant");
	op->used = true;
	if (make_value(p, op, x->depth + 1) < 0)
		return -1;
	*to = op->value;
	return 0;
}

static int
find_operand(const struct coreml_operands *from, const char *key, const struct coreml_value **v)
{
	const struct operands *x = (const struct operands *)from;
	struct coreml_value *to = NULL;
	struct protobuf_field f;
	int r;

	*v = NULL;
	r = find_entry(x->p, &x->op->message, 2, key, &f);
	if (r > 0)
		r = take_argument(x, &f, &to);
	else if (r == 0 && (r = find_entry(x->p, &x->op->message, 5, key, &f)) > 0)
		r = own_value(x->p, x->name, &f, &to);
	*v = to;
	return r < 0 ? -1 : 0;
}

static int
make(struct program *p, struct op *x, const char *name, unsigned depth)
{
	struct operands operands = { { find_operand }, p, x, name, depth };
	struct protobuf_field f;
	int r;

	if (depth > COREML_MADE)
		return coreml_too_deep(p->s, name);
	if (strcmp(x->type, "const") != 0) {
		x->value = coreml_value_new(p->s);
		return x->value ? coreml_constexpr(p->s, x->type, name, &operands.find, x->value) : -1;
	}
	r = find_entry(p, &x->message, 5, "val", &f);
	if (r == 0)
		return err_set(p->s->import.err, ERR_CORRUPT, name, "is a constant without a value");
	return r < 0 ? -1 : own_value(p, name, &f, &x->value);
}

/* Make the value of an operation, if it is not there. */
static int
make_value(struct program *p, struct op *x, unsigned depth)
{
	char *name;
	int r;

	if (x->made)
		return 0;
	name = name_of(p, x);
	if (!name)
		return -1;
	r = make(p, x, name, depth);
	x->made = true;
	free(name);
	return r;
}

/* ---- tensors ---- */

/* A constant is a weight if it is in a file, or is of floats with a dimension at least. */
static bool
is_weight(const struct coreml_value *v)
{
	return v->at != coreml_stored || v->in_file || (v->type->kind == COREML_FLOAT && v->ndim > 0);
}

static int
add_tensor(struct program *p, struct op *x)
{
	char *name;
	int r;

	if (make_value(p, x, 0) < 0)
		return -1;
	if (!x->value || !is_weight(x->value)) {
		p->s->arguments++;
		return 0;
	}
	name = name_of(p, x);
	r = name ? coreml_value_add(p->s, name, x->value) : -1;
	free(name);
	return r;
}

/* True if an operation uses this output, or the other one of the same operation. */
static bool
is_used(const struct program *p, size_t i)
{
	const uint8_t *op = p->ops[i].message.p;

	return p->ops[i].used || (i > 0 && p->ops[i - 1].message.p == op && p->ops[i - 1].used) ||
	       (i + 1 < p->count && p->ops[i + 1].message.p == op && p->ops[i + 1].used);
}

/* First the values that are made, which say what is an operand. */
static int
add_tensors(struct program *p)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (strcmp(p->ops[i].type, "const") != 0 && make_value(p, &p->ops[i], 0) < 0)
			return -1;
	for (i = 0; i < p->count; i++)
		if (!is_used(p, i) && add_tensor(p, &p->ops[i]) < 0)
			return -1;
	return 0;
}

/* ---- functions ---- */

static int
read_function(struct coreml *s, const struct protobuf_field *function, const char *name)
{
	struct program p = { .s = s, .function = name };
	struct protobuf_field f, opset = { .p = NULL }, block;
	struct protobuf m;
	char *key;
	int r;

	open_field(&p, &m, function);
	while ((r = protobuf_next(&m, &f)) > 0)
		if (f.number == 2 && f.form == PROTOBUF_BYTES)
			opset = f;
	if (r < 0)
		return -1;
	key = opset.p && !memchr(opset.p, 0, (size_t)opset.value)
	      ? mem_text((const char *)opset.p, (size_t)opset.value) : mem_text("", 0);
	if (!key)
		return err_memory(s->import.err);
	r = find_entry(&p, function, 3, key, &block);
	free(key);
	if (r == 0)
		return fail(&p, "has a function without a block of its opset");
	if (r > 0)
		r = collect_block(&p, &block, 0) < 0 || sort_ops(&p) < 0 || add_tensors(&p) < 0 ? -1 : 0;
	free(p.sorted);
	free(p.ops);
	return r;
}

/* Read the functions, or only count them. */
static int
each_function(struct coreml *s, const struct protobuf_field *program, size_t *count, bool named,
              bool read)
{
	struct program p = { .s = s };
	struct protobuf_field f, key, function;
	struct protobuf m;
	char *name;
	int r;

	open_field(&p, &m, program);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number != 2 || f.form != PROTOBUF_BYTES)
			continue;
		++*count;
		if (!read)
			continue;
		if (read_entry(&p, &f, &key, &function) < 0)
			return -1;
		if (!key.p || !function.p || memchr(key.p, 0, (size_t)key.value))
			return fail(&p, "has a function without a name");
		name = mem_text((const char *)key.p, (size_t)key.value);
		if (!name)
			return err_memory(s->import.err);
		r = read_function(s, &function, named ? name : NULL);
		free(name);
		if (r < 0)
			return -1;
	}
	return r;
}

int
coreml_program(struct coreml *s, const struct protobuf_field *program)
{
	size_t count = 0, again = 0;

	if (each_function(s, program, &count, false, false) < 0)
		return -1;
	return each_function(s, program, &again, count > 1, true);
}

void
coreml_values_free(struct coreml *s)
{
	struct coreml_value *next;

	for (; s->values; s->values = next) {
		next = s->values->next;
		free(s->values->owned);
		free(s->values->counts);
		free(s->values);
	}
}
