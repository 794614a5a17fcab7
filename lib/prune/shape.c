/* Heads of attention and neurons of feed-forward networks that go.
 *
 * Heads go in whole groups that share a key and a value, with the columns of the output matrix
 * that read them. A neuron is a row of gate and up, and a column of down.
 *
 * The score of a group or a neuron is the sum over its columns j of the output or down matrix of
 * m[j] · |column j|²: m is the mean square of what the column is multiplied with, so this is its
 * part in the mean square of the output; without an importance matrix, m is the product of the
 * |row|² of the matrices that make it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/hyper.h"
#include "arch/match.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/range.h"
#include "kernels/kernel.h"
#include "prune/choose.h"
#include "prune/plan.h"
#include "prune/take.h"

#define NONE SIZE_MAX
#define RAW 8 /* the most bytes of a value */
#define LISTS 10 /* of a layer, at most */

struct shape {
	struct prune_plan *p;
	struct hyper h;
	size_t (*weight)[ROLES], (*bias)[ROLES]; /* of each layer, or NONE */
	uint64_t group;           /* heads that share a key */
	struct prune_list *lists; /* the next to be made */
};

static const struct tensor *
tensor_at(const struct shape *s, size_t i)
{
	return merge_input_plan(s->p->in)->tensors[i];
}

/* ---- the tensors ---- */

static int
check_form(const struct shape *s, struct err *e)
{
	const struct subject *u = &s->p->in->subject;

	if (u->arch && u->form == ARCH_GGUF)
		return 0;
	err_set(e, ERR_FORMAT, s->p->in->name, u->arch ? "heads and neurons are taken from models in "
	        "the form of GGUF" : "its architecture is not known, so its heads and neurons are "
	        "not either");
	return u->arch ? err_hint(e, "apr-adapt gguf gives it this form, and apr-adapt hf its own "
	                          "again") : -1;
}

static int
find_tensors(struct shape *s, struct err *e)
{
	const struct model *m = merge_input_plan(s->p->in);
	struct match found;
	size_t i, k;

	s->weight = mem_array((size_t)s->h.layers, sizeof *s->weight);
	s->bias = mem_array((size_t)s->h.layers, sizeof *s->bias);
	if (!s->weight || !s->bias)
		return err_memory(e);
	for (i = 0; i < s->h.layers; i++)
		for (k = 0; k < ROLES; k++)
			s->weight[i][k] = s->bias[i][k] = NONE;
	for (i = 0; i < m->tensor_count; i++)
		if (match_find(s->p->in->subject.arch, ARCH_GGUF, tensor_name(m->tensors[i]), 0, &found) &&
		    found.rule->role != ROLES && s->p->in->layer[i] < s->h.layers)
			(found.bias ? s->bias : s->weight)[s->p->in->layer[i]][found.rule->role] = i;
	return 0;
}

/* Whether a tensor, if there is one, is a list of n values. */
static bool
is_list(const struct shape *s, size_t i, uint64_t n)
{
	const struct tensor *t = i == NONE ? NULL : tensor_at(s, i);

	return !t || (tensor_ndim(t) == 1 && tensor_dims(t)[0] == n && tensor_type(t)->items == 1 &&
	              tensor_type(t)->head == 0);
}

/* The weight of a role, a matrix of this shape, and its bias if it has one. NONE with e filled. */
static size_t
need(const struct shape *s, size_t layer, enum role role, uint64_t rows, uint64_t columns,
     struct err *e)
{
	size_t i = s->weight[layer][role];
	const struct tensor *t = i == NONE ? NULL : tensor_at(s, i);
	char text[TENSOR_SHAPE_TEXT];

	if (!t)
		err_set(e, ERR_FORMAT, s->p->in->name, "layer %zu has no tensor %.60s: heads and neurons "
		        "of this architecture cannot be taken", layer, role_name(role, ARCH_GGUF));
	else if (tensor_ndim(t) != 2 || tensor_dims(t)[0] != rows || tensor_dims(t)[1] != columns)
		err_set(e, ERR_INVALID, tensor_name(t), "is %s, not %" PRIu64 "x%" PRIu64,
		        tensor_shape_text(t, text), rows, columns);
	else if (!kernel_decodes(tensor_type(t)) || tensor_type(t)->head > 0)
		err_set(e, ERR_FORMAT, tensor_name(t), "%s cannot be decoded", tensor_type(t)->name);
	else if (!is_list(s, s->bias[layer][role], rows))
		err_set(e, ERR_INVALID, tensor_name(t), "its bias has not %" PRIu64 " values", rows);
	else
		return i;
	return NONE;
}

/* ---- scores ---- */

/* Add the squares of the values of a matrix to the sums of its rows and of its columns; either may
 * be NULL. */
static int
add_squares(const struct shape *s, size_t tensor, double *rows, double *columns, struct err *e)
{
	size_t n = (size_t)tensor_row(tensor_at(s, tensor)), i, k;
	uint64_t count = tensor_dims(tensor_at(s, tensor))[0];
	float *x = mem_array(n, sizeof *x);
	uint8_t *raw = mem_array(n, RAW);
	int r = x && raw ? 0 : err_memory(e);

	for (i = 0; r == 0 && i < count; i++) {
		if (merge_input_values(s->p->in, tensor, i * n, x, n, raw) < 0)
			r = range_fail(s->p->in->name, e);
		for (k = 0; r == 0 && k < n; k++) {
			double v = (double)x[k] * (double)x[k];

			if (rows)
				rows[i] += v;
			if (columns)
				columns[k] += v;
		}
	}
	free(x);
	free(raw);
	return r;
}

/* Multiply each number by the mean square of what its column is multiplied with. *found is false
 * if there is none. */
static int
weigh(const struct shape *s, size_t tensor, double *columns, bool *found, struct err *e)
{
	const struct tensor *t = tensor_at(s, tensor);
	const float *means = NULL;
	size_t i;

	if (s->p->how.imatrix &&
	    prune_means(s->p, t, tensor_name(t), PRUNE_WHOLE, &means, e) < 0)
		return -1;
	*found = means != NULL;
	for (i = 0; means && i < tensor_row(t); i++)
		columns[i] *= (double)means[i];
	s->p->unmeasured += s->p->how.imatrix && !means;
	return 0;
}

/* ---- lists ---- */

/* A new list: of each index of `of`, `each` values in a row, from `base` on. Returns NULL with e
 * filled. */
static struct prune_list *
spread(struct shape *s, const struct prune_list *of, uint64_t each, uint64_t base, struct err *e)
{
	struct prune_list *l = s->lists;
	size_t i;
	uint64_t k;

	l->at = mem_array(of->n * (size_t)each, sizeof *l->at);
	if (!l->at) {
		err_memory(e);
		return NULL;
	}
	s->lists++;
	for (i = 0; i < of->n; i++)
		for (k = 0; k < each; k++)
			l->at[l->n++] = base + of->at[i] * each + k;
	return l;
}

/* Append the values of b to a. */
static int
append(struct prune_list *a, const struct prune_list *b, struct err *e)
{
	a->cap = a->n;
	if (mem_grow(&a->at, &a->cap, a->n + b->n, sizeof *a->at) < 0)
		return err_memory(e);
	memcpy(a->at + a->n, b->at, b->n * sizeof *b->at);
	a->n += b->n;
	return 0;
}

/* Rows or columns of a tensor stay; values of one with one dimension, whichever they are. */
static void
keep(struct shape *s, size_t tensor, const struct prune_list *rows,
     const struct prune_list *columns)
{
	struct prune_row *row;

	if (tensor == NONE)
		return;
	row = &s->p->rows[tensor];
	if (tensor_ndim(tensor_at(s, tensor)) < 2) {
		row->kept_columns = rows ? rows : columns;
		return;
	}
	if (rows)
		row->kept_rows = rows;
	if (columns)
		row->kept_columns = columns;
}

static void
keep_rows(struct shape *s, size_t layer, enum role role, const struct prune_list *rows)
{
	keep(s, s->weight[layer][role], rows, NULL);
	keep(s, s->bias[layer][role], rows, NULL);
}

/* ---- heads ---- */

static int
check_heads(const struct shape *s, struct err *e)
{
	const struct hyper *h = &s->h;
	uint64_t n = s->p->how.heads;

	if (arch_scales_wide(h->arch, h->layers) || h->post_only)
		return err_set(e, ERR_FORMAT, s->p->in->name, "its attention depends on the number of "
		               "heads: none can be taken");
	if (n >= h->heads)
		return err_set(e, ERR_INVALID, s->p->in->name, "has %" PRIu64 " heads: %" PRIu64
		               " cannot go", h->heads, n);
	if (n % s->group == 0)
		return 0;
	err_set(e, ERR_INVALID, s->p->in->name, "its %" PRIu64 " heads share keys and values in groups "
	        "of %" PRIu64 ": %" PRIu64 " is not a number of whole groups", h->heads, s->group, n);
	return err_hint(e, "a multiple of %" PRIu64 " below %" PRIu64, s->group, h->heads);
}

/* The score of each column of the output matrix. */
static int
score_heads(const struct shape *s, size_t o, size_t v, uint64_t v_row, double *columns,
            struct err *e)
{
	const struct hyper *h = &s->h;
	uint64_t n = tensor_dims(tensor_at(s, v))[0], i;
	bool found;
	double *rows;
	int r;

	if (add_squares(s, o, NULL, columns, e) < 0 || weigh(s, o, columns, &found, e) < 0)
		return -1;
	if (found)
		return 0;
	rows = mem_array((size_t)n, sizeof *rows);
	r = rows ? add_squares(s, v, rows, NULL, e) : err_memory(e);
	for (i = 0; r == 0 && i < h->heads * h->head_v; i++)
		columns[i] *= rows[v_row + i / h->head_v / s->group * h->head_v + i % h->head_v];
	free(rows);
	return r;
}

/* The rows of fused queries, keys and values. */
static int
keep_fused(struct shape *s, size_t layer, const struct prune_list *kept, struct err *e)
{
	const struct hyper *h = &s->h;
	uint64_t q = h->heads * h->head_k, k = h->kv_heads * h->head_k;
	struct prune_list *rows = spread(s, kept, s->group * h->head_k, 0, e);
	struct prune_list *keys = rows ? spread(s, kept, h->head_k, q, e) : NULL;
	struct prune_list *values = keys ? spread(s, kept, h->head_v, q + k, e) : NULL;

	if (!values || append(rows, keys, e) < 0 || append(rows, values, e) < 0)
		return -1;
	keep_rows(s, layer, ROLE_QKV, rows);
	return 0;
}

static int
keep_parts(struct shape *s, size_t layer, const struct prune_list *kept, struct err *e)
{
	const struct hyper *h = &s->h;
	const struct prune_list *q = spread(s, kept, s->group * h->head_k, 0, e);
	const struct prune_list *k = q ? spread(s, kept, h->head_k, 0, e) : NULL;
	const struct prune_list *v = k ? spread(s, kept, h->head_v, 0, e) : NULL;

	if (!v)
		return -1;
	keep_rows(s, layer, ROLE_Q, q);
	keep_rows(s, layer, ROLE_K, k);
	keep_rows(s, layer, ROLE_V, v);
	return 0;
}

static int
take_heads(struct shape *s, size_t layer, struct err *e)
{
	const struct hyper *h = &s->h;
	bool fused = s->weight[layer][ROLE_QKV] != NONE;
	uint64_t q = h->heads * h->head_k, k = h->kv_heads * h->head_k;
	uint64_t v = h->kv_heads * h->head_v, wide = h->heads * h->head_v;
	size_t o = need(s, layer, ROLE_O, h->width, wide, e), values = NONE;
	double *columns = mem_array((size_t)wide, sizeof *columns);
	struct prune_list *kept = s->lists++;
	const struct prune_list *all;
	int r = columns ? 0 : err_memory(e);

	if (r == 0 && o != NONE && fused)
		values = need(s, layer, ROLE_QKV, q + k + v, h->width, e);
	else if (r == 0 && o != NONE && need(s, layer, ROLE_Q, q, h->width, e) != NONE &&
	         need(s, layer, ROLE_K, k, h->width, e) != NONE)
		values = need(s, layer, ROLE_V, v, h->width, e);
	if (values == NONE)
		r = -1;
	if (r == 0 && (!is_list(s, s->weight[layer][ROLE_Q_NORM], h->head_k) ||
	               !is_list(s, s->weight[layer][ROLE_K_NORM], h->head_k)))
		r = err_set(e, ERR_FORMAT, s->p->in->name, "layer %zu has norms of more than one head: "
		            "its heads cannot be taken", layer);
	if (r == 0)
		r = score_heads(s, o, values, fused ? q + k : 0, columns, e);
	if (r == 0)
		r = choose_kept(columns, h->kv_heads, s->group * h->head_v, s->p->how.heads / s->group, kept, e);
	free(columns);
	if (r < 0 || (fused ? keep_fused(s, layer, kept, e) : keep_parts(s, layer, kept, e)) < 0 ||
	    !(all = spread(s, kept, s->group * h->head_v, 0, e)))
		return -1;
	keep(s, o, NULL, all);
	return 0;
}

/* ---- neurons ---- */

/* The tensors of a feed-forward network; gate is NONE if there is none of its own. */
struct feed {
	size_t up, gate, down;
	uint64_t n;
	bool fused;               /* up has the rows of the gate, then its own */
};

static int
find_feed(const struct shape *s, size_t layer, struct feed *f, struct err *e)
{
	uint64_t width = s->h.width;

	f->fused = s->p->in->subject.arch->flags & ARCH_GATE_IN_UP;
	f->gate = s->weight[layer][ROLE_GATE];
	f->down = s->weight[layer][ROLE_DOWN];
	f->n = f->down == NONE ? 0 : tensor_row(tensor_at(s, f->down));
	f->down = need(s, layer, ROLE_DOWN, width, f->n, e);
	if (f->down == NONE)
		return -1;
	f->up = need(s, layer, ROLE_UP, f->fused ? 2 * f->n : f->n, width, e);
	if (f->up == NONE || (f->gate != NONE && need(s, layer, ROLE_GATE, f->n, width, e) == NONE))
		return -1;
	return s->p->how.neurons < f->n ? 0
		: err_set(e, ERR_INVALID, s->p->in->name, "layer %zu has %" PRIu64 " neurons: %" PRIu64
		          " cannot go", layer, f->n, s->p->how.neurons);
}

/* Multiply each score by the squares of row i of a matrix, and of row n + i if there is one. */
static int
multiply_rows(const struct shape *s, size_t tensor, double *columns, uint64_t n, struct err *e)
{
	uint64_t count = tensor_dims(tensor_at(s, tensor))[0], i;
	double *rows = mem_array((size_t)count, sizeof *rows);
	int r = rows ? add_squares(s, tensor, rows, NULL, e) : err_memory(e);

	for (i = 0; r == 0 && i < count; i++)
		columns[i % n] *= rows[i];
	free(rows);
	return r;
}

static int
score_neurons(const struct shape *s, const struct feed *f, double *columns, struct err *e)
{
	bool found;

	if (add_squares(s, f->down, NULL, columns, e) < 0 ||
	    weigh(s, f->down, columns, &found, e) < 0)
		return -1;
	if (found)
		return 0;
	if (multiply_rows(s, f->up, columns, f->n, e) < 0)
		return -1;
	return f->gate == NONE ? 0 : multiply_rows(s, f->gate, columns, f->n, e);
}

static int
take_neurons(struct shape *s, size_t layer, struct err *e)
{
	struct prune_list *kept = s->lists, *up, *second;
	struct feed f;
	double *columns;
	int r;

	if (find_feed(s, layer, &f, e) < 0)
		return -1;
	s->lists++;
	columns = mem_array((size_t)f.n, sizeof *columns);
	r = columns ? score_neurons(s, &f, columns, e) : err_memory(e);
	if (r == 0)
		r = choose_kept(columns, f.n, 1, s->p->how.neurons, kept, e);
	free(columns);
	if (r < 0 || !(up = spread(s, kept, 1, 0, e)))
		return -1;
	if (f.fused &&
	    (!(second = spread(s, kept, 1, f.n, e)) || append(up, second, e) < 0))
		return -1;
	keep(s, f.down, NULL, kept);
	keep_rows(s, layer, ROLE_GATE, kept);
	keep_rows(s, layer, ROLE_UP, up);
	return 0;
}

/* ---- the result ---- */

/* Take a number off a key, or off each item of its list. */
static int
lower(struct prune_plan *p, const char *name, uint64_t by, struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	char key[256];
	const struct meta *k;
	uint8_t wire[4];
	uint64_t n;
	size_t i;

	snprintf(key, sizeof key, "%s.%s", p->in->subject.arch->name, name);
	k = model_find(&p->out, key);
	if (!k || !k->wire)
		return k ? err_set(e, ERR_FORMAT, p->in->name, "key %s is too long", key) : 0;
	if (k->type.depth == 0) {
		if (value_u64(k->type, k->wire, k->wire_bytes, &n) < 0 || n < by)
			return err_set(e, ERR_INVALID, p->in->name, "key %s has an unexpected value", key);
		le32_put(wire, (uint32_t)(n - by));
		return model_set_meta(&p->out, key, u32, wire, sizeof wire, e);
	}
	if (k->type.depth > 1 || value_leaf_bytes(k->type.leaf) != 4)
		return err_set(e, ERR_FORMAT, p->in->name, "key %s is a list of another type", key);
	for (i = 12; i + 4 <= k->wire_bytes; i += 4) {
		if (le32(k->wire + i) < by)
			return err_set(e, ERR_INVALID, p->in->name, "key %s has an unexpected value", key);
		le32_put(k->wire + i, le32(k->wire + i) - (uint32_t)by);
	}
	return 0;
}

/* Set a key that programs compute from others if it is missing. */
static int
settle(struct prune_plan *p, const char *name, uint64_t value, struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	char key[256];
	uint8_t wire[4];

	snprintf(key, sizeof key, "%s.%s", p->in->subject.arch->name, name);
	if (model_find(&p->out, key))
		return 0;
	le32_put(wire, (uint32_t)value);
	return model_set_meta(&p->out, key, u32, wire, sizeof wire, e);
}

static int
put_keys(const struct shape *s, struct err *e)
{
	struct prune_plan *p = s->p;

	if (p->how.neurons && lower(p, "feed_forward_length", p->how.neurons, e) < 0)
		return -1;
	if (!p->how.heads)
		return 0;
	if (settle(p, "attention.head_count_kv", s->h.kv_heads, e) < 0 ||
	    settle(p, "attention.key_length", s->h.head_k, e) < 0 ||
	    settle(p, "attention.value_length", s->h.head_v, e) < 0)
		return -1;
	return lower(p, "attention.head_count", p->how.heads, e) < 0 ? -1
		: lower(p, "attention.head_count_kv", p->how.heads / s->group, e);
}

/* Whether the columns of a tensor that stay can be stored in its type. */
static int
check_blocks(const struct tensor *t, const struct prune_list *kept, uint64_t columns, struct err *e)
{
	const struct dtype *type = tensor_type(t);

	if (!dtype_fills(type, columns)) {
		err_set(e, ERR_INVALID, tensor_name(t), "rows of %" PRIu64 " values would not fill "
		        "blocks of %u of %s", columns, type->items, type->name);
		return err_hint(e, "prune before apr-quant, or choose another number");
	}
	if (take_keeps_blocks(kept, type) || (kernel_encodes(type) && kernel_for(type)->encode))
		return 0;
	err_set(e, ERR_INVALID, tensor_name(t), "its blocks of %u values do not stay whole, and %s "
	        "cannot be encoded again", type->items, type->name);
	return err_hint(e, "prune before apr-quant");
}

int
prune_put_shapes(struct prune_plan *p, struct err *e)
{
	size_t i;

	for (i = 0; i < p->out.tensor_count; i++) {
		const struct tensor *t = p->out.tensors[i];
		const struct prune_row *row = &p->rows[i];
		unsigned n = tensor_ndim(t);
		uint64_t dims[TENSOR_DIMS];
		struct tensor *made;

		if (!row->kept_rows && !row->kept_columns)
			continue;
		memcpy(dims, tensor_dims(t), n * sizeof *dims);
		if (row->kept_rows)
			dims[n - 2] = row->kept_rows->n;
		if (row->kept_columns)
			dims[n - 1] = row->kept_columns->n;
		if (check_blocks(t, row->kept_columns, dims[n - 1], e) < 0)
			return -1;
		made = tensor_new(tensor_name(t), strlen(tensor_name(t)), tensor_type(t), n, dims,
		                  TENSOR_OWN_SIZE, p->in->name, e);
		if (!made)
			return -1;
		tensor_free(p->out.tensors[i]);
		p->out.tensors[i] = made;
		p->pruned++;
	}
	return 0;
}

static int
take_layers(struct shape *s, struct err *e)
{
	size_t i;

	for (i = 0; i < s->h.layers; i++)
		if ((s->p->how.heads && take_heads(s, i, e) < 0) ||
		    (s->p->how.neurons && take_neurons(s, i, e) < 0))
			return -1;
	return prune_put_shapes(s->p, e) < 0 ? -1 : put_keys(s, e);
}

int
prune_shape(struct prune_plan *p, struct err *e)
{
	struct shape s = { .p = p };
	int r = -1;

	if (check_form(&s, e) < 0)
		return -1;
	if (hyper_read(&s.h, &p->in->subject.w, e) == 0) {
		s.group = s.h.heads / s.h.kv_heads;
		p->list_count = (size_t)s.h.layers * LISTS;
		p->lists = s.lists = mem_array(p->list_count, sizeof *p->lists);
		if (s.h.layers > PRUNE_LAYERS)
			r = err_set(e, ERR_INVALID, p->in->name, "has more than %" PRIu64 " layers",
			            PRUNE_LAYERS);
		else if (!p->lists)
			r = err_memory(e);
		else if ((!p->how.heads || check_heads(&s, e) == 0) && find_tensors(&s, e) == 0)
			r = take_layers(&s, e);
	}
	free(s.weight);
	free(s.bias);
	hyper_free(&s.h);
	return r;
}
