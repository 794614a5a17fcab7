/* Graphs of ONNX row by row: memory, shapes, and the step. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "predict/onnx/onnxops.h"

/* ---- memory ---- */

#define CHUNK 65536

struct ops_chunk {
	struct ops_chunk *next;
	size_t used, size;
	double p[];
};

void *
ops_take(struct ops_arena *a, size_t n, size_t size)
{
	struct ops_chunk *c = a->chunks;
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > a->left)
		return NULL;
	bytes = (bytes + 16) / 8 * 8; /* never without memory */
	if (!c || bytes > c->size - c->used) {
		size_t room = bytes > CHUNK ? bytes : CHUNK;

		c = malloc(sizeof *c + room);
		if (!c)
			return NULL;
		*c = (struct ops_chunk){ a->chunks, 0, room };
		a->chunks = c;
	}
	a->left -= bytes < a->left ? bytes : a->left;
	c->used += bytes;
	return memset((uint8_t *)c->p + c->used - bytes, 0, bytes);
}

void
ops_arena_free(struct ops_arena *a)
{
	while (a->chunks) {
		struct ops_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
}

/* All but one chunk of the usual size, which is empty then. */
static void
arena_clear(struct ops_arena *a)
{
	while (a->chunks && (a->chunks->next || a->chunks->size > CHUNK)) {
		struct ops_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	if (a->chunks)
		a->chunks->used = 0;
	a->left = OPS_CELLS * sizeof(double);
}

/* ---- for operators ---- */

int
ops_wrong(struct ops_run *r, const struct ops_node *n, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_set(r->e, ERR_CORRUPT, r->g->where, "node %zu (%s): %s", n->number, n->name, text);
}

int
ops_refuse(struct ops_run *r, const struct ops_node *n, const char *what)
{
	return r->trial ? 0 : ops_wrong(r, n, "%s", what);
}

int
ops_work(struct ops_run *r, const struct ops_node *n, uint64_t steps)
{
	if (steps > r->work)
		return err_set(r->e, ERR_FORMAT, r->g->where, "node %zu (%s): a row needs too many steps of work",
		               n->number, n->name);
	r->work -= steps;
	return 0;
}

int
ops_make(struct ops_run *r, const struct ops_node *n, struct ops_tensor *t, unsigned type, size_t rank,
         const size_t *dims)
{
	struct ops_tensor to = { .type = type, .rank = rank, .n = 1 };
	size_t i;

	if (rank > OPS_RANK)
		return ops_wrong(r, n, "a tensor has more than %d dimensions", OPS_RANK);
	for (i = 0; i < rank; i++) {
		to.dims[i] = dims[i];
		if (dims[i] > OPS_CELLS || (to.n *= dims[i]) > OPS_CELLS)
			return err_set(r->e, ERR_FORMAT, r->g->where, "node %zu (%s): a row has too many values",
			               n->number, n->name);
	}
	if (type == OPS_STRING)
		to.t = ops_take(&r->memory, to.n, sizeof *to.t);
	else
		to.v = ops_take(&r->memory, to.n, sizeof *to.v);
	if (!to.t && !to.v)
		return err_set(r->e, ERR_FORMAT, r->g->where, "node %zu (%s): a row has too many values", n->number,
		               n->name);
	for (i = 0; type == OPS_STRING && i < to.n; i++)
		to.t[i].p = "";
	*t = to;
	return ops_work(r, n, to.n + 1);
}

int
ops_like(struct ops_run *r, const struct ops_node *n, struct ops_tensor *t, unsigned type,
         const struct ops_tensor *of)
{
	return ops_make(r, n, t, type, of->rank, of->dims);
}

int
ops_round(struct ops_run *r, const struct ops_node *n, struct ops_tensor *t)
{
	size_t i;

	for (i = 0; t->type == OPS_FLOAT && i < t->n; i++)
		t->v[i] = (double)(float)t->v[i];
	if (t->type != OPS_INT32 && t->type != OPS_INT64)
		return 0;
	for (i = 0; i < t->n; i++)
		if (!(fabs(t->v[i]) <= OPS_WHOLE)) {
			t->v[i] = 0;
			if (ops_refuse(r, n, "an integer is larger than 2^53, or not a number") < 0)
				return -1;
		}
	return 0;
}

const struct ops_attribute *
ops_attribute(const struct ops_node *n, const char *name)
{
	size_t i;

	for (i = 0; i < n->attribute_count; i++)
		if (strcmp(n->attributes[i].name, name) == 0)
			return &n->attributes[i];
	return NULL;
}

double
ops_number(const struct ops_node *n, const char *name, double missing)
{
	const struct ops_attribute *a = ops_attribute(n, name);

	return a ? a->number : missing;
}

bool
ops_says(const struct ops_node *n, const char *name, const char *text)
{
	const struct ops_attribute *a = ops_attribute(n, name);

	return a && ops_texts_equal(a->text, (struct step_text){ text, strlen(text) });
}

int
ops_axis(struct ops_run *r, const struct ops_node *n, double axis, size_t rank, size_t *to)
{
	if (axis < 0)
		axis += (double)rank;
	if (!(axis >= 0 && axis < (double)rank))
		return ops_wrong(r, n, "the axis is not one of the %zu dimensions", rank);
	*to = (size_t)axis;
	return 0;
}

void
ops_list(const struct ops_node *n, const struct ops_tensor *const *in, const char *name, size_t i,
         const double **v, size_t *count)
{
	const struct ops_attribute *a = ops_attribute(n, name);

	*v = NULL;
	*count = 0;
	if (a) {
		*v = a->list;
		*count = a->count;
	} else if (i < n->in_count && in[i] && in[i]->type != OPS_STRING) {
		*v = in[i]->v;
		*count = in[i]->n;
	}
}

/* ---- a row ---- */

struct ops_run *
ops_run_new(const struct ops_graph *g, struct err *e)
{
	struct ops_run *r = mem_array(1, sizeof *r);

	if (!r) {
		err_memory(e);
		return NULL;
	}
	*r = (struct ops_run){ .g = g, .e = e };
	r->values = mem_array(g->values, sizeof *r->values);
	r->rooms = mem_array(g->node_count, sizeof *r->rooms);
	r->free_rooms = mem_array(g->node_count, sizeof *r->free_rooms);
	if (r->values && r->rooms && r->free_rooms)
		return r;
	ops_run_free(r);
	err_memory(e);
	return NULL;
}

void
ops_run_free(struct ops_run *r)
{
	size_t i;

	for (i = 0; r && r->rooms && r->free_rooms && i < r->g->node_count; i++)
		if (r->rooms[i])
			r->free_rooms[i](r->rooms[i]);
	if (!r)
		return;
	ops_arena_free(&r->memory);
	step_rows_free(&r->rows);
	step_rows_free(&r->spare);
	free(r->scores);
	free(r->values);
	free(r->rooms);
	free(r->free_rooms);
	free(r);
}

static const struct ops_tensor *
value(const struct ops_run *r, size_t place)
{
	if (place == SIZE_MAX)
		return NULL;
	return r->g->constants[place].type ? &r->g->constants[place] : r->values[place].type ? &r->values[place]
	                                                                                      : NULL;
}

int
ops_run_node(struct ops_run *r, const struct ops_node *n)
{
	const struct ops_tensor **in = ops_take(&r->memory, n->in_count + 8, sizeof *in);
	struct ops_tensor *out = ops_take(&r->memory, n->out_count + 4, sizeof *out);
	size_t i;

	if (!in || !out)
		return err_set(r->e, ERR_FORMAT, r->g->where, "node %zu (%s): a row has too many values", n->number,
		               n->name);
	for (i = 0; i < n->in_count; i++)
		in[i] = value(r, n->in[i]);
	for (i = 0; i < n->op->inputs; i++)
		if (i >= n->in_count || !in[i])
			return ops_wrong(r, n, "input %zu is missing", i);
	if (n->op->run(r, n, in, out) < 0)
		return -1;
	for (i = 0; i < n->out_count; i++)
		if (n->out[i] != SIZE_MAX)
			r->values[n->out[i]] = out[i];
	return 0;
}

static int
put_input(struct ops_run *r, const struct ops_input *in, const double *row, const struct step_text *text)
{
	const struct ops_node none = { .name = "input" };
	const size_t dims[2] = { 1, in->width };
	struct ops_tensor *t = &r->values[in->place];
	static const struct step_text unknown = { "\xff", 1 };
	size_t i;

	if (ops_make(r, &none, t, in->type, in->rank, dims) < 0)
		return -1;
	if (in->type != OPS_STRING) {
		for (i = 0; i < t->n; i++) {
			double v = row[in->from + i];

			t->v[i] = in->type == OPS_BOOL ? v != 0 : in->type == OPS_FLOAT || in->type == OPS_DOUBLE ? v : trunc(v);
		}
		return ops_round(r, &none, t);
	}
	for (i = 0; i < t->n && text; i++)
		t->t[i] = *text;
	for (i = 0; i < t->n && !text; i++) {
		double v = row[in->from + i];

		if (!r->g->words && !step_pool_text(r->pool, v, &t->t[i]))
			t->t[i] = (struct step_text){ "", 0 };
		else if (r->g->words)
			t->t[i] = v >= 0 && v < (double)r->g->word_count
			          ? (struct step_text){ r->g->words[(size_t)v], strlen(r->g->words[(size_t)v]) } : unknown;
	}
	return 0;
}

int
ops_run_row(struct ops_run *r, const double *row, const struct step_text *text)
{
	const struct ops_graph *g = r->g;
	size_t i;

	arena_clear(&r->memory);
	memset(r->values, 0, g->values * sizeof *r->values);
	r->work = OPS_WORK;
	for (i = 0; i < g->input_count; i++)
		if (put_input(r, &g->inputs[i], row, text) < 0)
			return -1;
	for (i = 0; i < g->node_count; i++) {
		size_t first = g->nodes[i].out_count ? g->nodes[i].out[0] : SIZE_MAX;

		if (first != SIZE_MAX && g->constants[first].type)
			continue;
		if (ops_run_node(r, &g->nodes[i]) < 0)
			return -1;
	}
	return 0;
}

/* ---- the step ---- */

/* The number of a label among those of the predictor. -1: it is not there. */
static double
find_label(const struct ops_graph *g, const struct ops_tensor *t)
{
	char text[32];
	struct step_text label = { text, 0 };
	size_t i;

	if (t->type == OPS_STRING)
		label = t->t[0];
	else if (!g->labels)
		return t->v[0] >= 0 && t->v[0] < (double)g->label_count ? trunc(t->v[0]) : -1;
	else
		label.n = (size_t)snprintf(text, sizeof text, "%.17g", t->v[0]);
	for (i = 0; i < g->label_count; i++)
		if (strlen(g->labels[i]) == label.n && memcmp(g->labels[i], label.p, label.n) == 0)
			return (double)i;
	return -1;
}

static int
take_outputs(struct ops_run *r, double *to)
{
	const struct ops_graph *g = r->g;
	size_t i;

	for (i = 0; i < g->output_count; i++) {
		const struct ops_tensor *t = value(r, g->outputs[i].place);
		bool label = g->labelled && i + 1 == g->output_count;

		if (!t || t->n != g->outputs[i].width || (t->type == OPS_STRING && !label))
			return err_set(r->e, ERR_CORRUPT, g->where, "output %zu of a row does not have %zu values", i,
			               g->outputs[i].width);
		if (label) {
			*to = find_label(g, t);
			if (*to < 0)
				return err_set(r->e, ERR_CORRUPT, g->where, "the label of a row is not one of the classes");
		} else if (t->n) {
			memcpy(to, t->v, t->n * sizeof *to);
		}
		to += t->n;
	}
	return 0;
}

static int
apply(const struct step *s, struct step_rows *x, struct step_rows *spare, struct err *e)
{
	const struct ops_graph *g = s->more;
	struct ops_run *r = ops_run_new(g, e);
	const struct step_text *texts = x->texts;
	size_t i;
	int status = r ? step_rows_begin(spare, x->n, s->out, e) : -1;

	if (r)
		r->pool = x->pool;
	for (i = 0; status == 0 && i < x->n; i++)
		if (ops_run_row(r, texts ? NULL : step_row(x, i), texts ? &texts[i] : NULL) < 0 ||
		    take_outputs(r, step_row(spare, i)) < 0)
			status = -1;
	ops_run_free(r);
	if (status == 0)
		step_rows_swap(x, spare);
	return status;
}

const struct step_kind step_graph = { "graph of ONNX", false, false, apply };
const struct step_kind step_graph_texts = { "graph of ONNX", true, false, apply };
