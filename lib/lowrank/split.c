#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/philox.h"
#include "core/range.h"
#include "kernels/kernel.h"
#include "linear/svd.h"
#include "lowrank/parts.h"

#define PIECE 65536 /* values at a time */
#define LEAST 1e-8  /* share of the mean importance that each column has at least */

struct split {
	struct lowrank *l;
	const struct lowrank_how *how;
	const struct tensor *t;   /* under way, */
	size_t tensor;            /* its index, */
	const struct dtype *type; /* and the type of its factors */
	bool turned;              /* importance is that of rows */
	float *scale;             /* of its columns, or rows; NULL: none */
	float room[PIECE];
	uint8_t bytes[PIECE * sizeof(float)];
	uint8_t *raw;
	size_t raw_cap;
	uint64_t from;
	float *to;
	int fault;
	size_t asked, measured;   /* matrices; those that the importance matrix has */
	uint64_t largest;         /* rank at which some matrix gets smaller */
	struct err *e;
};

/* ---- which matrices ---- */

static struct match
match_of(const struct split *s)
{
	const struct subject *u = &s->l->in->subject;
	struct match m;

	if (u->arch && match_find(u->arch, u->form, tensor_name(s->t), 0, &m))
		return m;
	return (struct match){ .rule = NULL };
}

/* 1, 0 or -1. */
static int
is_asked(struct split *s)
{
	size_t i;
	int r = 0;

	if (tensor_ndim(s->t) != 2 || tensor_dims(s->t)[0] < 2 || tensor_dims(s->t)[1] < 2 ||
	    !merge_is_number(tensor_type(s->t)))
		return 0;
	if (s->how->target_count == 0)
		return s->l->in->layer[s->tensor] != MERGE_APART;
	for (i = 0; r == 0 && i < s->how->target_count; i++)
		r = pattern_match(&s->how->targets[i], tensor_name(s->t), s->e);
	return r;
}

static const struct dtype *
factor_type(const struct dtype *t)
{
	if (strcmp(t->name, "F64") == 0)
		return dtype_by_name("F32");
	if (strcmp(t->name, "F32") == 0 || strcmp(t->name, "BF16") == 0)
		return t;
	return dtype_by_name("F16");
}

/* Bytes of the factors of this rank; UINT64_MAX if they overflow. */
static uint64_t
factor_bytes(const struct split *s, uint64_t rank)
{
	uint64_t n;

	if (num_add(tensor_dims(s->t)[0], tensor_dims(s->t)[1], &n) < 0 ||
	    num_mul(n, rank, &n) < 0 || num_mul(n, s->type->bytes, &n) < 0)
		return UINT64_MAX;
	return n;
}

/* The largest rank at which the factors have fewer bytes than the matrix. */
static uint64_t
rank_limit(const struct split *s)
{
	uint64_t one = factor_bytes(s, 1), most = tensor_bytes(s->t);
	uint64_t side = num_min(tensor_dims(s->t)[0], tensor_dims(s->t)[1]);

	return num_min(side, most > 0 ? (most - 1) / one : 0);
}

/* ---- importance ---- */

static int
set_scale(struct split *s, const float *values, size_t n)
{
	double mean = 0;
	size_t i;

	s->scale = mem_array(n, sizeof *s->scale);
	if (!s->scale)
		return err_memory(s->e);
	for (i = 0; i < n; i++)
		mean += values[i];
	mean /= (double)n;
	for (i = 0; i < n; i++)
		s->scale[i] = mean > 0 ? (float)sqrt(fmax((double)values[i], LEAST * mean)) : 1;
	return 0;
}

/* Fill scale from the entry of the matrix, by its name in GGUF. */
static int
weigh(struct split *s)
{
	struct match m = match_of(s);
	char name[MATCH_NAME];
	const char *own = tensor_name(s->t);
	size_t columns = (size_t)tensor_dims(s->t)[!s->turned];
	struct imatrix_entry *x;

	s->scale = NULL;
	if (!s->how->imatrix)
		return 0;
	if (s->l->in->subject.form != ARCH_GGUF && m.rule && m.rule->role != ROLES &&
	    match_template(m.rule, ARCH_GGUF, m.bias, name))
		own = match_name(m.rule, ARCH_GGUF, m.bias, m.block, m.expert, name);
	x = imatrix_find(s->how->imatrix, own);
	if (!x)
		return 0;
	s->measured++;
	if (x->n != columns)
		return err_set(s->e, ERR_INVALID, tensor_name(s->t), "has %zu columns, but the importance "
		               "matrix %.100s has %zu: it is of another model", columns,
		               s->how->imatrix_name, x->n);
	return set_scale(s, x->values, x->n);
}

/* ---- the values of the matrix ---- */

static void
read_row(void *ctx, size_t i)
{
	struct split *s = ctx;
	size_t columns = (size_t)tensor_row(s->t), k;
	float *to = s->to + i * columns;
	uint64_t row = s->from + i;

	if (merge_input_values(s->l->in, s->tensor, row * columns, to, columns,
	                       s->raw + i * columns * sizeof(double)) < 0) {
		s->fault = 1;
		return;
	}
	for (k = 0; s->scale && k < columns; k++)
		to[k] *= s->scale[s->turned ? row : k];
}

static int
read_rows(void *ctx, size_t row, size_t n, float *to, struct err *e)
{
	struct split *s = ctx;
	size_t i;

	if (mem_grow(&s->raw, &s->raw_cap, n * (size_t)tensor_row(s->t), sizeof(double)) < 0)
		return err_memory(e);
	s->from = row;
	s->to = to;
	for (i = 0; i < n; i++)
		read_row(s, i);
	return s->fault ? range_fail(s->l->in->name, e) : 0;
}

/* ---- the factors ---- */

static int
put(struct split *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (s->type->bytes == 2 && s->type->name[0] == 'F' && fabsf(s->room[i]) > 65504)
			return err_set(s->e, ERR_INVALID, tensor_name(s->t),
			               "has factors that are too large for F16");
	kernel_for(s->type)->encode(s->room, s->bytes, n);
	return spool_put(&s->l->factors, s->bytes, n * s->type->bytes, s->e);
}

/* The value i of vector k of a side, as its factor has it. */
static float
value(const struct split *s, const double *vectors, size_t n, const double *root, size_t k,
      size_t i, bool scaled)
{
	double v = root[k] * vectors[k * n + i];

	return (float)(scaled ? v / (double)s->scale[i] : v);
}

static int
put_left(struct split *s, const struct svd *d, const double *root)
{
	size_t i, k, fill = 0;

	for (i = 0; i < d->rows; i++)
		for (k = 0; k < d->rank; k++) {
			s->room[fill++] = value(s, d->u, d->rows, root, k, i, s->scale && s->turned);
			if (fill == PIECE && put(s, fill) < 0)
				return -1;
			fill %= PIECE;
		}
	return put(s, fill);
}

static int
put_right(struct split *s, const struct svd *d, const double *root)
{
	size_t i, k, fill = 0;

	for (k = 0; k < d->rank; k++)
		for (i = 0; i < d->columns; i++) {
			s->room[fill++] = value(s, d->v, d->columns, root, k, i, s->scale && !s->turned);
			if (fill == PIECE && put(s, fill) < 0)
				return -1;
			fill %= PIECE;
		}
	return put(s, fill);
}

/* Append both tensors to the plan, and their values to the spool. */
static int
put_factors(struct split *s, const struct svd *d)
{
	const uint64_t left[] = { d->rows, d->rank }, right[] = { d->rank, d->columns };
	double *root = mem_array(d->rank, sizeof *root);
	size_t k;
	int r = root ? 0 : err_memory(s->e);

	for (k = 0; r == 0 && k < d->rank; k++)
		root[k] = sqrt(d->s[k]);
	if (r == 0)
		r = lowrank_add_stored(s->l, s->t, LOWRANK_LEFT, s->type, left, s->e);
	if (r == 0)
		r = put_left(s, d, root);
	if (r == 0)
		r = lowrank_add_stored(s->l, s->t, LOWRANK_RIGHT, s->type, right, s->e);
	if (r == 0)
		r = put_right(s, d, root);
	free(root);
	return r;
}

static int
stay(struct split *s, struct lowrank_met *met)
{
	s->l->whole++;
	met->rank = 0;
	s->how->met(s->how->ctx, met);
	return lowrank_add_copy(s->l, s->tensor, s->e);
}

/* The factors of one matrix, if they are smaller than it. */
static int
factor(struct split *s, uint64_t limit)
{
	const struct svd_matrix m = { tensor_name(s->t), (size_t)tensor_dims(s->t)[0],
		(size_t)tensor_dims(s->t)[1], read_rows, s };
	const struct svd_asked asked = { (size_t)(s->how->rank ? s->how->rank : limit),
		s->how->energy, 2, philox_key(0, tensor_name(s->t), 0), s->how->jobs };
	struct lowrank_met met = { .t = s->t, .weighted = s->scale != NULL };
	struct svd d = { 0 };
	int r = svd_of(&d, &m, &asked, s->e);

	if (r == 0 && (d.rank == 0 || (s->how->energy > 0 && d.kept < s->how->energy * d.total &&
	                               !s->how->rank))) {
		r = stay(s, &met);
	} else if (r == 0) {
		met.rank = d.rank;
		met.error = svd_error(&d, d.rank);
		met.bytes = factor_bytes(s, d.rank);
		s->l->factored++;
		s->how->met(s->how->ctx, &met);
		r = put_factors(s, &d);
	}
	svd_free(&d);
	return r;
}

static int
one(struct split *s, size_t i)
{
	struct match m;
	uint64_t limit;
	int asked, r;

	s->tensor = i;
	s->t = merge_input_plan(s->l->in)->tensors[i];
	s->type = factor_type(tensor_type(s->t));
	asked = is_asked(s);
	if (asked <= 0)
		return asked < 0 ? -1 : lowrank_add_copy(s->l, i, s->e);
	s->asked++;
	limit = rank_limit(s);
	if (limit > s->largest)
		s->largest = limit;
	if (limit == 0 || s->how->rank > limit) {
		struct lowrank_met met = { .t = s->t };

		return stay(s, &met);
	}
	m = match_of(s);
	s->turned = s->l->in->subject.form == ARCH_FOLDER && m.rule && m.rule->change == CHANGE_TURN;
	r = weigh(s);
	if (r == 0)
		r = factor(s, limit);
	free(s->scale);
	s->scale = NULL;
	return r;
}

/* ---- the whole ---- */

static int
check(const struct split *s)
{
	const char *name = s->l->in->name;

	if (s->asked == 0)
		return err_set(s->e, ERR_USAGE, name, s->how->target_count
		               ? "no matrix has a name that --target matches"
		               : "has no matrices in layers; --target names others");
	if (s->l->factored == 0 && s->how->rank > s->largest)
		return err_set(s->e, ERR_INVALID, name, "no matrix gets smaller by a rank of %" PRIu64
		               ": %" PRIu64 " is the largest", s->how->rank, s->largest);
	if (s->l->factored == 0)
		return err_set(s->e, ERR_INVALID, name, "no matrix gets smaller and keeps this energy");
	if (s->how->imatrix && s->measured == 0)
		return err_set(s->e, ERR_INVALID, name, "the importance matrix %.100s has none of the "
		               "matrices: it is of another model", s->how->imatrix_name);
	return 0;
}

int
lowrank_split(struct lowrank *l, const struct lowrank_how *how, struct err *e)
{
	struct split *s = mem_array(1, sizeof *s);
	size_t i, n = merge_input_plan(l->in)->tensor_count;
	int r = 0;

	if (!s)
		return err_memory(e);
	*s = (struct split){ .l = l, .how = how, .e = e };
	if (model_find(merge_input_plan(l->in), LOWRANK_KEY))
		r = err_set(e, ERR_INVALID, l->in->name, "has factors of low rank already");
	if (r == 0)
		r = lowrank_begin(l, e);
	for (i = 0; r == 0 && i < n; i++)
		r = one(s, i);
	if (r == 0)
		r = check(s);
	if (r == 0)
		r = lowrank_record(l, how, e);
	if (r == 0)
		r = model_check(&l->out, l->in->name, e);
	free(s->raw);
	free(s);
	return r;
}
