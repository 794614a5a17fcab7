#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/sparse/thinning.h"
#include "core/json.h"
#include "core/text.h"
#include "report/lines.h"
#include "report/table.h"

/* Whether an earlier tensor has this type. */
static bool
seen(const struct model *m, size_t i)
{
	size_t k = 0;

	while (k < i && tensor_type(m->tensors[k]) != tensor_type(m->tensors[i]))
		k++;
	return k < i;
}

static size_t
of_type(const struct model *m, const struct dtype *type)
{
	size_t i, n = 0;

	for (i = 0; i < m->tensor_count; i++)
		n += tensor_type(m->tensors[i]) == type;
	return n;
}

/* Bits that a form needs to find a stored value: each value has them (a mask), or each stored one
 * (indices). */
static double
bits(struct sparse_form f, double values, double share)
{
	if (f.kind == SPARSE_CSR)
		return share * (16 + values);
	return 1.0 / (f.kind == SPARSE_BLOCK ? f.block : 1) + share * values;
}

/* The share of zeros above which the form is shorter. */
static double
pays_from(struct sparse_form f, double values)
{
	if (f.kind == SPARSE_CSR)
		return 1 - values / (16 + values);
	return 1.0 / (f.kind == SPARSE_BLOCK ? f.block : 1) / values;
}

/* A block type stays dense: what one bit a value and half of its values would leave, if the scales
 * stay. */
static void
note_blocks(const struct model *m, const struct dtype *type, struct buf *to)
{
	double all = 8.0 * type->bytes / type->items, value = (int)all, scale = all - value;
	size_t n = of_type(m, type);

	lines_note(to, "%zu tensor%s of %s stay%s dense: at 50 %% zeros, a form for it would be %.2f "
	           "times smaller at best", n, n == 1 ? "" : "s", type->name, n == 1 ? "s" : "",
	           all / (1 + value / 2 + scale));
}

void
thinning_note_possible(const struct thinning *t, struct buf *to)
{
	const struct model *m = t->plan;
	char form[SPARSE_FORM_TEXT];
	size_t i;

	sparse_form_text(t->form, form);
	for (i = 0; i < m->tensor_count && t->form.kind != SPARSE_NONE; i++) {
		const struct dtype *type = tensor_type(m->tensors[i]);
		double values = 8.0 * type->bytes;

		if (seen(m, i))
			continue;
		if (type->quantized && type->items > 1)
			note_blocks(m, type, to);
		else if (sparse_form_fits(type) && tensor_ndim(m->tensors[i]) > 1)
			lines_note(to, "%s of %s: shorter above %.1f %% zeros%s, at 50 %% %.2f times "
			           "smaller at best", form, type->name,
			           100 * pays_from(t->form, values),
			           t->form.kind == SPARSE_BLOCK ? " in whole blocks" : "",
			           values / bits(t->form, values, 0.5));
	}
}

/* Bytes of the tensor as it will be stored. */
static uint64_t
stored(const struct thinning *t, size_t i)
{
	return t->of[i].keeps ? t->of[i].stored : tensor_bytes(t->plan->tensors[i]);
}

static void
sum(const struct thinning *t, uint64_t *in, uint64_t *out, size_t *n)
{
	size_t i;

	*in = *out = *n = 0;
	for (i = 0; i < t->plan->tensor_count; i++) {
		*in += tensor_bytes(t->plan->tensors[i]);
		*out += stored(t, i);
		*n += t->of[i].keeps;
	}
}

void
thinning_note_counted(const struct thinning *t, struct buf *to)
{
	char form[SPARSE_FORM_TEXT], a[32], b[32];
	uint64_t in, out;
	size_t n;

	if (t->form.kind == SPARSE_NONE)
		return;
	sum(t, &in, &out, &n);
	sparse_form_text(t->form, form);
	if (n == 0)
		lines_note(to, "no tensor gets shorter as %s: all stay dense", form);
	else
		lines_note(to, "%s: %zu of %zu tensors, %" PRIu64 " -> %" PRIu64 " bytes (%s -> %s, "
		           "%.2f times smaller)", form, n, t->plan->tensor_count, in, out,
		           text_size(a, sizeof a, in), text_size(b, sizeof b, out),
		           (double)in / (double)(out ? out : 1));
}

void
thinning_put(const struct thinning *t, bool json, struct buf *to)
{
	const struct table table = table_of(t->plan);
	char form[SPARSE_FORM_TEXT], shape[TENSOR_SHAPE_TEXT], a[32], b[32];
	struct buf name = { 0 };
	uint64_t in, out;
	size_t i, n;

	for (i = 0; i < t->plan->tensor_count; i++) {
		const struct tensor *of = t->plan->tensors[i];
		const struct sparse_form f = { t->of[i].keeps ? t->form.kind : SPARSE_NONE,
			t->of[i].keeps ? t->form.block : 0 };
		double zeros = tensor_items(of) ? (double)t->of[i].zeros / (double)tensor_items(of) : 0;

		sparse_form_text(f, form);
		if (json)
			lines_json(to, json_pack("{s:s,s:s,s:s,s:f,s:o,s:o}", "name", tensor_name(of), "type",
			                         tensor_type(of)->name, "form", form, "zeros", zeros, "bytes",
			                         json_from_u64(tensor_bytes(of)), "stored",
			                         json_from_u64(stored(t, i))));
		else
			buf_printf(to, "%s %-*s %*s %-10s %5.1f %% %12" PRIu64 " -> %12" PRIu64 "\n",
			           table_name(&name, table.name, tensor_name(of)), table.shape,
			           tensor_shape_text(of, shape), table.type, tensor_type(of)->name, form,
			           100 * zeros, tensor_bytes(of), stored(t, i));
	}
	buf_free(&name);
	sum(t, &in, &out, &n);
	if (!json)
		buf_printf(to, "%zu of %zu tensors, %s -> %s\n", n, t->plan->tensor_count,
		           text_size(a, sizeof a, in), text_size(b, sizeof b, out));
}
