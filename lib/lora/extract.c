#include "lora/extract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "core/philox.h"
#include "core/spool.h"
#include "kernels/kernel.h"
#include "linear/svd.h"
#include "lora/written.h"

#define PIECE 65536 /* values at a time */

struct extract {
	const struct lora_extract *x;
	struct lora_written written;
	struct lora_shape *parts;
	size_t part_count, part_cap;
	size_t *wholes;           /* pairs */
	size_t whole_count, whole_cap;
	struct spool spool;       /* values in F32, in the order of the plan */
	float *room;              /* PIECE values, */
	uint8_t *bytes;           /* and in their type */
	size_t pair;              /* under way */
	struct err *e;
};

/* ---- values into the spool ---- */

static int
put(struct extract *x, const float *v, size_t n)
{
	kernel_for(dtype_by_name("F32"))->encode(v, x->bytes, n);
	return spool_put(&x->spool, x->bytes, n * sizeof *v, x->e);
}

/* Vectors of n values, scaled, one behind the other. */
static int
put_vectors(struct extract *x, const double *vectors, size_t n, const double *scale, size_t rank)
{
	size_t k, i, j, take;

	for (k = 0; k < rank; k++)
		for (i = 0; i < n; i += take) {
			take = num_min(n - i, PIECE);
			for (j = 0; j < take; j++)
				x->room[j] = (float)(scale[k] * vectors[k * n + i + j]);
			if (put(x, x->room, take) < 0)
				return -1;
		}
	return 0;
}

/* The same transposed: n rows of `rank` values. */
static int
put_turned(struct extract *x, const double *vectors, size_t n, const double *scale, size_t rank)
{
	size_t i, k, fill = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < rank; k++) {
			x->room[fill++] = (float)(scale[k] * vectors[k * n + i]);
			if (fill == PIECE && put(x, x->room, fill) < 0)
				return -1;
			fill %= PIECE;
		}
	return put(x, x->room, fill);
}

/* A and B. GGUF has A of a table of tokens as inputs × rank. alpha is the rank of the first part; B
 * of another rank takes the difference of the scales. */
static int
put_part(struct extract *x, const struct lora_pair *p, const struct svd *s)
{
	bool turned = p->turned || p->kind == LORA_TABLE;
	const double *a = turned ? s->u : s->v, *b = turned ? s->v : s->u;
	size_t inputs = turned ? s->rows : s->columns, outputs = turned ? s->columns : s->rows, k;
	double *scale = mem_array(s->rank, sizeof *scale);
	int r;

	if (!scale)
		return err_memory(x->e);
	for (k = 0; k < s->rank; k++)
		scale[k] = sqrt(s->s[k]);
	r = p->kind == LORA_TABLE && x->x->form == ARCH_GGUF
		? put_turned(x, a, inputs, scale, s->rank)
		: put_vectors(x, a, inputs, scale, s->rank);
	for (k = 0; k < s->rank; k++)
		scale[k] *= (double)s->rank / x->written.alpha;
	if (r == 0)
		r = put_turned(x, b, outputs, scale, s->rank);
	free(scale);
	return r;
}

/* ---- one tensor ---- */

static int
add_part(struct extract *x, const struct lora_pair *p, const struct svd *s)
{
	bool turned = p->turned || p->kind == LORA_TABLE;

	if (mem_grow(&x->parts, &x->part_cap, x->part_count + 1, sizeof *x->parts) < 0)
		return err_memory(x->e);
	x->parts[x->part_count++] = (struct lora_shape){ tensor_name(p->t), s->rank,
		turned ? s->rows : s->columns, turned ? s->columns : s->rows,
		p->kind == LORA_TABLE };
	if (x->part_count == 1)
		x->written.alpha = (double)s->rank;
	return put_part(x, p, s);
}

static int
read_rows(void *ctx, size_t row, size_t n, float *to, struct err *e)
{
	struct extract *x = ctx;
	uint64_t columns = tensor_row(x->x->pairs[x->pair].t);

	return x->x->read(x->x->ctx, x->pair, false, row * columns, n * (size_t)columns, to, e);
}

static int
matrix(struct extract *x, const struct lora_pair *p, struct lora_met *met)
{
	const struct svd_matrix m = { tensor_name(p->t), (size_t)tensor_dims(p->t)[0],
		(size_t)tensor_dims(p->t)[1], read_rows, x };
	const struct svd_asked asked = { x->x->rank, x->x->energy, 2,
		philox_key(0, tensor_name(p->t), 0), x->x->jobs };
	struct svd s;
	int r = svd_of(&s, &m, &asked, x->e);

	met->rank = s.rank;
	met->total = s.total;
	met->left = s.total > s.kept ? s.total - s.kept : 0;
	if (r == 0 && s.rank > 0)
		r = add_part(x, p, &s);
	svd_free(&s);
	return r;
}

/* The squares of the difference of a tensor that gets no matrices. */
static int
compare(struct extract *x, const struct lora_pair *p, struct lora_met *met)
{
	uint64_t n = tensor_items(p->t), from;
	size_t take, i;

	for (from = 0; from < n; from += take) {
		take = num_min(n - from, PIECE);
		if (x->x->read(x->x->ctx, x->pair, false, from, take, x->room, x->e) < 0)
			return -1;
		for (i = 0; i < take; i++)
			met->total += (double)x->room[i] * x->room[i];
	}
	met->left = p->kind == LORA_WHOLE ? 0 : met->total;
	return 0;
}

static int
whole(struct extract *x, const struct lora_pair *p)
{
	uint64_t n = tensor_items(p->t), from;
	size_t take;

	if (mem_grow(&x->wholes, &x->whole_cap, x->whole_count + 1, sizeof *x->wholes) < 0)
		return err_memory(x->e);
	x->wholes[x->whole_count++] = x->pair;
	for (from = 0; from < n; from += take) {
		take = num_min(n - from, PIECE);
		if (x->x->read(x->x->ctx, x->pair, true, from, take, x->room, x->e) < 0 ||
		    put(x, x->room, take) < 0)
			return -1;
	}
	return 0;
}

static bool
is_part(const struct lora_pair *p)
{
	return p->kind == LORA_MATRIX || p->kind == LORA_TABLE;
}

/* parts: those that get matrices, else the others, which come behind them in the plan. */
static int
all_tensors(struct extract *x, bool parts)
{
	for (x->pair = 0; x->pair < x->x->n; x->pair++) {
		const struct lora_pair *p = &x->x->pairs[x->pair];
		struct lora_met met = { .pair = p };

		if (is_part(p) != parts || tensor_items(p->t) == 0)
			continue;
		if ((parts ? matrix(x, p, &met) : compare(x, p, &met)) < 0)
			return -1;
		if (met.total == 0)
			continue;
		if (p->kind == LORA_WHOLE && whole(x, p) < 0)
			return -1;
		x->x->met(x->x->ctx, &met);
	}
	return 0;
}

/* ---- the result ---- */

static int
make_plan(struct extract *x)
{
	size_t i;

	if (x->part_count == 0)
		return err_set(x->e, ERR_NO, x->x->name, "no weight differs from the base");
	if (lora_written_begin(&x->written, x->parts, x->part_count, x->e) < 0)
		return -1;
	for (i = 0; i < x->whole_count; i++) {
		const struct tensor *t = x->x->pairs[x->wholes[i]].t;

		if (lora_written_whole(&x->written, tensor_name(t), tensor_ndim(t), tensor_dims(t),
		                       x->e) < 0)
			return -1;
	}
	return 0;
}

static int
send(struct extract *x, size_t index, uint64_t *at, struct sink *sink)
{
	const struct tensor *t = x->written.plan.tensors[index];
	const struct item item = { .kind = ITEM_TENSOR, .index = index, .bytes = tensor_bytes(t) };
	uint64_t left;
	size_t n;

	if (sink_put(sink, &item, x->e) < 0)
		return -1;
	for (left = item.bytes; left > 0; left -= n, *at += n) {
		n = num_min(left, PIECE * sizeof(float));
		if (spool_get(&x->spool, *at, x->bytes, n, x->e) < 0 ||
		    sink_write(sink, x->bytes, n, x->e) < 0)
			return -1;
	}
	return sink_put_end(sink, x->e);
}

static int
send_all(struct extract *x, struct sink *sink)
{
	uint64_t at = 0;
	size_t i;

	if (lora_written_head(&x->written, sink, x->e) < 0)
		return -1;
	for (i = 0; i < x->written.plan.tensor_count; i++)
		if (send(x, i, &at, sink) < 0)
			return -1;
	return sink_end(sink, x->e);
}

int
lora_extract(const struct lora_extract *asked, struct sink *sink, struct err *e)
{
	struct extract x = { .x = asked, .e = e, .written = { .form = asked->form,
		.arch = asked->arch, .turned = asked->turned, .from = asked->name } };
	int r = -1;

	x.room = mem_array(PIECE, sizeof *x.room);
	x.bytes = mem_array(PIECE, sizeof *x.room);
	if (!x.room || !x.bytes)
		err_memory(e);
	else if (all_tensors(&x, true) == 0 && all_tensors(&x, false) == 0 && make_plan(&x) == 0)
		r = send_all(&x, sink);
	free(x.room);
	free(x.bytes);
	free(x.parts);
	free(x.wholes);
	spool_free(&x.spool);
	lora_written_free(&x.written);
	return r;
}
