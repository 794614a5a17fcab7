#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/sparse/thinning.h"
#include "core/json.h"
#include "core/text.h"
#include "report/lines.h"
#include "report/table.h"

/* Whether an earlier tensor of this many dimensions or more has this type. */
static bool
seen(const struct model *m, size_t i, unsigned dims)
{
	size_t k = 0;

	while (k < i && (tensor_type(m->tensors[k]) != tensor_type(m->tensors[i]) ||
	                 tensor_ndim(m->tensors[k]) < dims))
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

/* What the form costs a matrix of this type, in bits for each of its values. */
struct cost {
	double group;             /* counts of groups: rows of csr may be short */
	double unit;              /* the bit of a value or block, */
	double index;             /* or the index of a value that is stored, */
	double value;             /* and the value */
};

static struct cost
cost_of(const struct model *m, struct sparse_form f, const struct dtype *type)
{
	struct cost c = { .value = 8.0 * type->bytes };
	double groups = 0, values = 0;
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		const struct tensor *t = m->tensors[i];

		if (tensor_type(t) != type || tensor_ndim(t) < 2 || tensor_items(t) == 0)
			continue;
		values += (double)tensor_items(t);
		groups += (double)sparse_groups(f, tensor_items(t), tensor_row(t));
	}
	c.group = values > 0 ? 32 * groups / values : 0;
	if (f.kind == SPARSE_CSR)
		c.index = 16;
	else
		c.unit = 1.0 / (f.kind == SPARSE_BLOCK ? f.block : 1);
	return c;
}

/* The share of zeros above which the form is shorter. */
static double
pays_from(const struct cost *c)
{
	return 1 - (c->value - c->group - c->unit) / (c->index + c->value);
}

static void
note_form(const struct thinning *t, const struct dtype *type, struct buf *to)
{
	const struct cost c = cost_of(t->plan, t->form, type);
	char form[SPARSE_FORM_TEXT];

	sparse_form_text(t->form, form);
	if (pays_from(&c) >= 1)
		lines_note(to, "%s of %s: never shorter, as its rows are too short", form, type->name);
	else
		lines_note(to, "%s of %s: shorter above %.1f %% zeros%s, at 50 %% %.2f times smaller at "
		           "best", form, type->name, 100 * pays_from(&c),
		           t->form.kind == SPARSE_BLOCK ? " in whole blocks" : "",
		           c.value / (c.group + c.unit + (c.index + c.value) / 2));
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
	size_t i;

	for (i = 0; i < m->tensor_count && t->form.kind != SPARSE_NONE; i++) {
		const struct dtype *type = tensor_type(m->tensors[i]);
		bool blocks = type->quantized && type->items > 1;

		/* A vector may have the type of matrices that come later. */
		if (seen(m, i, blocks ? 1 : 2) || (!blocks && tensor_ndim(m->tensors[i]) < 2))
			continue;
		if (blocks)
			note_blocks(m, type, to);
		else if (sparse_form_fits(type))
			note_form(t, type, to);
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
