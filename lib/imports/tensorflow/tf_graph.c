/* Graphs: nodes of a GraphDef and of its functions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "imports/tensorflow/tensorflow.h"

/* One walk through a graph. */
struct walk {
	struct tensorflow *x;
	bool constants;            /* collect them, else only count */
	bool uses;                 /* the second walk, which finds what uses them */
	uint64_t graph;            /* number of the function; 0: the graph itself */
	struct tf_text function;
};

/* ---- nodes ---- */

/* AttrValue: a tensor, or a truth value. */
static int
read_value(const struct protobuf *outer, const struct protobuf_field *f, struct tf_node *n,
           bool tensor)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (tensor && g.number == 8 && g.form == PROTOBUF_BYTES) {
			n->value = g;
			n->in = m;
		}
		if (!tensor && g.number == 5 && g.form == PROTOBUF_VARINT)
			n->transposed = g.value != 0;
	}
	return r;
}

/* An entry of the map of attributes. */
static int
read_attribute(const struct protobuf *outer, const struct protobuf_field *f, struct tf_node *n)
{
	struct protobuf_field g, value = { .p = NULL };
	struct tf_text key = { NULL, 0 };
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == 1 && g.form == PROTOBUF_BYTES)
			key = tf_text_of(&g);
		else if (g.number == 2 && g.form == PROTOBUF_BYTES)
			value = g;
	if (r == 0 && value.p && tf_is(key, "value"))
		return read_value(&m, &value, n, true);
	if (r == 0 && value.p && tf_is(key, "transpose_b"))
		return read_value(&m, &value, n, false);
	return r;
}

/* NodeDef */
static int
read_node(const struct protobuf *outer, const struct protobuf_field *f, struct tf_node *n)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	*n = (struct tf_node){ .inputs = 0 };
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.form != PROTOBUF_BYTES)
			continue;
		if (g.number == 1)
			n->name = tf_text_of(&g);
		else if (g.number == 2)
			n->op = tf_text_of(&g);
		else if (g.number == 3 && n->inputs < TF_INPUTS)
			n->input[n->inputs++] = tf_text_of(&g);
		else if (g.number == 5 && read_attribute(&m, &g, n) < 0)
			return -1;
	}
	return r;
}

/* Collects the constant of a node. */
static int
add_constant(struct walk *w, const struct tf_node *n)
{
	struct tensorflow *x = w->x;
	struct buf name = { 0 };
	struct tf_constant *c;
	int r;

	x->key_bytes += w->function.n + n->name.n;
	if (x->constant_count == TF_TENSORS || x->key_bytes > TF_NAMES)
		return import_fail(&x->import, ERR_CORRUPT, "has more than %u constants, or names that are "
		                   "too long", TF_TENSORS);
	if (mem_grow(&x->constants, &x->constant_cap, x->constant_count + 1, sizeof *x->constants) < 0)
		return err_memory(x->import.err);
	c = &x->constants[x->constant_count];
	*c = (struct tf_constant){ .name = NULL };
	if (w->graph) {
		buf_put(&name, w->function.p, w->function.n);
		buf_text(&name, "/");
	}
	buf_put(&name, n->name.p, n->name.n);
	c->name = (char *)(uintptr_t)buf_string(&name);
	if (!c->name) {
		buf_free(&name);
		return err_memory(x->import.err);
	}
	r = memchr(name.p, 0, name.n) ? import_fail(&x->import, ERR_CORRUPT, "has a node whose name "
	                                            "has a NUL")
	                              : tf_constant(x, &n->in, &n->value, c);
	if (r <= 0) {
		if (r == 0 && c->type->number != TF_STRING && x->unread++ == 0) {
			x->unread_name = n->name;
			x->unread_type = c->type;
		}
		x->texts += r == 0 && c->type->number == TF_STRING;
		free(c->name);
		return r;
	}
	return tf_use_alias(x, n, w->graph, x->constant_count++);
}

static int
use_node(struct walk *w, const struct protobuf *outer, const struct protobuf_field *f)
{
	static const char *const variables[] = { "VarHandleOp", "VariableV2", "Variable" };
	struct tf_node n;
	size_t i;

	if (read_node(outer, f, &n) < 0)
		return -1;
	if (w->uses) {
		tf_use(w->x, &n, w->graph);
		return 0;
	}
	w->x->nodes++;
	for (i = 0; i < sizeof variables / sizeof *variables; i++)
		w->x->variables += tf_is(n.op, variables[i]);
	if (!w->constants)
		return 0;
	if (tf_is(n.op, "Const") && n.value.p)
		return add_constant(w, &n);
	return tf_use_alias(w->x, &n, w->graph, SIZE_MAX);
}

/* ---- functions ---- */

/* FunctionDef: its signature may follow its nodes. */
static int
read_function(struct walk *w, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	w->function = (struct tf_text){ NULL, 0 };
	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0)
		if (g.number == 1 && g.form == PROTOBUF_BYTES &&
		    tf_text_in(&m, &g, 1, &w->function) < 0) /* OpDef: name */
			return -1;
	protobuf_within(&m, outer, f);
	while (r == 0 && (r = protobuf_next(&m, &g)) > 0) {
		r = g.number == 3 && g.form == PROTOBUF_BYTES ? use_node(w, &m, &g) : 0;
		if (r < 0)
			return -1;
	}
	return r;
}

static int
read_library(struct walk *w, const struct protobuf *outer, const struct protobuf_field *f)
{
	struct protobuf_field g;
	struct protobuf m;
	int r;

	protobuf_within(&m, outer, f);
	while ((r = protobuf_next(&m, &g)) > 0) {
		if (g.number != 1 || g.form != PROTOBUF_BYTES)
			continue;
		w->graph++;
		w->x->functions += !w->uses;
		if (read_function(w, &m, &g) < 0)
			return -1;
	}
	return r;
}

/* ---- the graph ---- */

static int
walk(struct walk *w, const uint8_t *p, uint64_t n, uint64_t offset)
{
	struct protobuf_field f;
	struct protobuf m;
	uint64_t functions = 0;
	int r;

	tf_message(w->x, &m, p, n, offset);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.form != PROTOBUF_BYTES)
			continue;
		w->graph = f.number == 1 ? 0 : functions;
		if ((f.number == 1 && use_node(w, &m, &f) < 0) ||
		    (f.number == 2 && read_library(w, &m, &f) < 0))
			return -1;
		functions = f.number == 2 ? w->graph : functions;
	}
	return r;
}

int
tf_graph(struct tensorflow *x, const uint8_t *p, uint64_t n, uint64_t offset, bool constants)
{
	struct walk first = { .x = x, .constants = constants }, second = { .x = x, .uses = true };

	if (walk(&first, p, n, offset) < 0)
		return -1;
	tf_uses_sort(x);
	return x->constant_count ? walk(&second, p, n, offset) : 0;
}

/* ---- tensors ---- */

static int
add_tensor(struct tensorflow *x, const struct tf_constant *c)
{
	struct import_place place = { .p = c->p, .more = { [3] = TF_CONSTANT }, .data = c };

	if (c->numbers) {
		place.p = c->numbers->p ? c->numbers->p : x->import.p;
		place.make = tf_numbers_make;
		place.out = c->type->bytes;
	} else {
		tf_narrow(c->type, &place);
	}
	if (import_tensor(&x->import, c->name, strlen(c->name), dtype_by_name(c->type->type), c->ndim,
	                  c->dims, &place) < 0)
		return -1;
	return tf_relate(x, c->name, NULL, c->layout, c->type);
}

int
tf_add_constants(struct tensorflow *x)
{
	size_t i;

	for (i = 0; i < x->constant_count; i++)
		if (add_tensor(x, &x->constants[i]) < 0)
			return -1;
	return 0;
}

/* ---- the side file ---- */

static int
by_place(const void *a, const void *b)
{
	const struct tf_constant *const *s = a, *const *t = b;

	return (*s)->p < (*t)->p ? -1 : (*s)->p > (*t)->p;
}

static int
put_parts(struct tensorflow *x, struct tf_constant *const *order, size_t n)
{
	struct import_part *parts = mem_array(n + 2, sizeof *parts);
	const struct import *im = &x->import;
	const uint8_t *at = im->p;
	size_t i;
	int r;

	if (!parts)
		return err_memory(im->err);
	parts[0] = (struct import_part){ x->cuts.p, x->cuts.n, NULL };
	for (i = 0; i <= n; i++) {
		const uint8_t *end = i < n ? order[i]->p : im->p + im->n;

		parts[i + 1] = (struct import_part){ at, (uint64_t)(end - at), &im->whole.map };
		at = i < n ? end + order[i]->bytes : end;
	}
	r = import_side(&x->import, TF_GRAPH, "tensorflow-graph", parts, n + 2);
	free(parts);
	return r;
}

int
tf_cut(struct tensorflow *x)
{
	struct tf_constant **order = mem_array(x->constant_count, sizeof *order);
	size_t i, n = 0;
	int r;

	if (!order)
		return err_memory(x->import.err);
	for (i = 0; i < x->constant_count; i++)
		if (x->constants[i].p && x->constants[i].bytes > 0 && x->constants[i].type->number < 29)
			order[n++] = &x->constants[i];
	qsort(order, n, sizeof *order, by_place);
	buf_text(&x->cuts, "TFGRCUT1");
	buf_u64(&x->cuts, x->import.n);
	buf_u64(&x->cuts, n);
	for (i = 0; i < n; i++) {
		buf_u64(&x->cuts, (uint64_t)(order[i]->p - x->import.p));
		buf_u64(&x->cuts, order[i]->bytes);
		buf_u32(&x->cuts, 0);
		buf_u32(&x->cuts, (uint32_t)strlen(order[i]->name));
		buf_text(&x->cuts, order[i]->name);
	}
	r = buf_ok(&x->cuts) ? put_parts(x, order, n) : err_memory(x->import.err);
	free(order);
	return r;
}
