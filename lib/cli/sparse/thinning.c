#include "cli/sparse/thinning.h"

#include <stdlib.h>
#include <string.h>

#include "cli/filter.h"
#include "cli/sparse/cut.h"
#include "core/mem.h"

int
thinning_begin(struct thinning *t, const struct source *source, struct err *e)
{
	t->plan = source->plan;
	t->of = mem_array(t->plan->tensor_count, sizeof *t->of);
	t->encoder = sparse_encoder_new(e);
	if (!t->encoder)
		return -1;
	return t->of ? 0 : err_memory(e);
}

void
thinning_close(struct thinning *t)
{
	free(t->of);
	sparse_encoder_free(t->encoder);
	buf_free(&t->piece);
	buf_free(&t->packed);
}

/* ---- tensors ---- */

/* Whether values of the tensor may become zero. */
static bool
cuts(const struct thinning *t, const struct tensor *of)
{
	return t->threshold > 0 && cut_changes(tensor_type(of));
}

static bool
can_have(const struct thinning *t, const struct tensor *of)
{
	return t->form.kind != SPARSE_NONE && sparse_form_fits(tensor_type(of)) &&
	       tensor_items(of) > 0 && tensor_ndim(of) > 1;
}

/* Whether the tensor gets the form. */
static bool
gets(const struct thinning *t, size_t i)
{
	const struct tensor *of = t->plan->tensors[i];

	if (!can_have(t, of))
		return false;
	return !t->counted || t->of[i].stored < tensor_bytes(of);
}

/* Begins a tensor, and to count what the form would give. */
static int
begin(struct thinning *t, size_t i, struct err *e)
{
	const struct tensor *of = t->plan->tensors[i];
	struct sparse_layout l = sparse_layout_of(of);

	buf_clear(&t->piece);
	if (t->counted)
		return 0;
	l.form = t->form;
	t->of[i].zeros = t->of[i].stored = 0;
	buf_clear(&t->packed);
	if (can_have(t, of))
		sparse_encoder_begin(t->encoder, &l, &t->packed);
	return buf_ok(&t->packed) ? 0 : err_memory(e);
}

static uint64_t
count_zeros(const uint8_t *p, size_t n, size_t element)
{
	static const uint8_t zero[8];
	uint64_t zeros = 0;

	for (; n > 0; n--, p += element)
		zeros += memcmp(p, zero, element) == 0;
	return zeros;
}

/* Makes small values of the piece zero, and counts unless that was done. Its values are whole. */
static int
work(struct thinning *t, size_t i, uint8_t *p, size_t n, struct err *e)
{
	const struct dtype *type = tensor_type(t->plan->tensors[i]);

	if (cuts(t, t->plan->tensors[i]))
		cut_values(type, t->threshold, p, n / type->bytes);
	if (t->counted || !can_have(t, t->plan->tensors[i]))
		return 0;
	t->of[i].zeros += count_zeros(p, n / type->bytes, type->bytes);
	if (sparse_encoder_put(t->encoder, p, n, &t->packed, e) < 0)
		return -1;
	t->of[i].stored += t->packed.n;
	buf_clear(&t->packed);
	return 0;
}

/* Takes the next bytes of tensor i; gives whole values to the sink, unless it is NULL. */
static int
take(struct thinning *t, size_t i, const uint8_t *p, size_t n, struct sink *sink, struct err *e)
{
	size_t element = tensor_type(t->plan->tensors[i])->bytes, whole;

	buf_put(&t->piece, p, n);
	if (!buf_ok(&t->piece))
		return err_memory(e);
	whole = t->piece.n / element * element;
	if (work(t, i, t->piece.p, whole, e) < 0 ||
	    (sink && whole > 0 && sink_write(sink, t->piece.p, whole, e) < 0))
		return -1;
	memmove(t->piece.p, t->piece.p + whole, t->piece.n - whole);
	t->piece.n -= whole;
	return 0;
}

/* ---- hooks ---- */

static int
item(void *ctx, const struct item *in, struct item *out, struct err *e)
{
	struct thinning *t = ctx;
	const struct tensor *of;

	out->same = true;
	if (in->kind != ITEM_TENSOR)
		return 0;
	of = t->plan->tensors[in->index];
	out->same = !cuts(t, of) && (t->counted || !can_have(t, of));
	if (out->same)
		return 0;
	out->gaps = false;
	return begin(t, in->index, e);
}

static int
data(void *ctx, const struct item *in, const uint8_t *p, size_t n, struct sink *sink,
     struct err *e)
{
	if (in->kind != ITEM_TENSOR)
		return sink ? sink_write(sink, p, n, e) : 0;
	return take(ctx, in->index, p, n, sink, e);
}

int
thinning_count(struct thinning *t, struct source *source, bool progress, struct err *e)
{
	const struct flow f = { .item = item, .data = data, .ctx = t };
	size_t i;

	t->counted = false;
	if (filter_flow(source, NULL, progress, &f, e) < 0)
		return -1;
	t->counted = true;
	for (i = 0; i < t->plan->tensor_count; i++)
		t->of[i].keeps = gets(t, i);
	return 0;
}

static int
plan(void *ctx, struct model *out, struct err *e)
{
	static const struct sparse_form dense = { SPARSE_NONE, 0 };
	struct thinning *t = ctx;
	size_t i;

	(void)e;
	for (i = 0; i < out->tensor_count; i++) {
		t->of[i].keeps = gets(t, i);
		tensor_set_form(out->tensors[i], t->of[i].keeps ? t->form : dense);
	}
	return 0;
}

void
thinning_flow(struct thinning *t, struct flow *f)
{
	*f = (struct flow){ .plan = plan, .item = item, .data = data, .ctx = t,
		.operation = t->threshold > 0 ? "apr-sparse --threshold" : NULL };
}
