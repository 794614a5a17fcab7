#include "merge/input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/adapt.h"
#include "arch/form.h"
#include "arch/match.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "kernels/kernel.h"
#include "merge/layer.h"
#include "stats/values.h"
#include "tokenizer/tokenizer.h"

static struct source *
source_of(const struct merge_input *in)
{
	return in->adapted ? in->adapted : in->source;
}

const struct model *
merge_input_plan(const struct merge_input *in)
{
	return source_of(in)->plan;
}

void
merge_input_close(struct merge_input *in)
{
	size_t i;

	for (i = 0; i < in->record_count; i++)
		buf_free(&in->records[i]);
	free(in->records);
	buf_free(&in->licence);
	free(in->by_name);
	free(in->layer);
	free(in->heads);
	store_free(&in->store);
	if (in->subject.plan)
		subject_close(&in->subject);
	source_close(in->adapted);
	*in = (struct merge_input){ 0 };
}

/* ---- the form ---- */

/* Give the source the form of the other model. */
static int
adapt(struct merge_input *in, const struct merge_input *like, const char *arch, bool places,
      unsigned jobs, struct err *e)
{
	struct adapt_options how = { .arch = arch, .relaxed = true, .jobs = jobs, .places = places,
		.no_record = true, .file = in->label };
	const struct arch *row, *other;
	enum arch_form form;

	if (!like || !form_of(merge_input_plan(like), arch, &row, &how.form) ||
	    !form_of(in->source->plan, arch, &other, &form) || form == how.form)
		return 0;
	in->adapted = adapt_source(in->source, &how, e);
	if (in->adapted)
		return 0;
	if (e->code == ERR_INVALID || e->code == ERR_FORMAT)
		err_hint(e, "%.100s has another form, and this model cannot get it; apr-adapt gives "
		         "both the same", like->name);
	return -1;
}

/* ---- items ---- */

static int
keep_body(struct merge_input *in, struct buf *to, struct err *e)
{
	const uint8_t *p;
	size_t n;

	do {
		if (source_read(source_of(in), &p, &n, e) < 0)
			return -1;
		if (to && to->n + n > SUBJECT_BYTES)
			return err_set(e, ERR_MEMORY, in->name, "its licence is too long");
		if (to)
			buf_put(to, p, n);
	} while (n > 0);
	return to && !buf_ok(to) ? err_memory(e) : 0;
}

static int
keep_record(struct merge_input *in, const struct item *item, struct err *e)
{
	struct buf head = { 0 };
	int r = 0;

	if (item->kind == ITEM_SIGN)
		r = flow_record(&head, in->operation, in->source->verified, item->head, item->head_bytes, e);
	else
		buf_put(&head, item->head, item->head_bytes);
	if (r == 0 && (!buf_ok(&head) || mem_grow(&in->records, &in->record_cap,
	                                          in->record_count + 1, sizeof head) < 0))
		r = err_memory(e);
	if (r < 0) {
		buf_free(&head);
		return -1;
	}
	in->records[in->record_count++] = head;
	return keep_body(in, NULL, e);
}

static int
keep(struct merge_input *in, const struct item *item, struct err *e)
{
	switch (item->kind) {
	case ITEM_TENSOR:
		return store_take(&in->store, item, e);
	case ITEM_LICENCE:
		in->has_licence = true;
		return keep_body(in, &in->licence, e);
	case ITEM_PROV:
	case ITEM_SIGN:
		return keep_record(in, item, e);
	default:
		return keep_body(in, NULL, e);
	}
}

/* ---- what is where ---- */

static int
index_tensors(struct merge_input *in, struct err *e)
{
	const struct model *m = merge_input_plan(in);
	size_t i;

	in->by_name = model_tensors_by_name(m, e);
	in->layer = mem_array(m->tensor_count, sizeof *in->layer);
	in->heads = mem_array(m->tensor_count, sizeof *in->heads);
	if (!in->by_name || !in->layer || !in->heads)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++) {
		const struct dtype *t = tensor_type(m->tensors[i]);

		in->layer[i] = merge_layer_of(tensor_name(m->tensors[i]));
		if (in->layer[i] != MERGE_APART && in->layer[i] >= in->layers)
			in->layers = in->layer[i] + 1;
		if (t->head > 0 && tensor_bytes(m->tensors[i]) > 0 &&
		    merge_input_bytes(in, i, 0, in->heads[i], t->head) < 0)
			return range_fail(in->name, e);
	}
	return 0;
}

int
merge_input_read(struct merge_input *in, struct source *source, const struct merge_input *like,
                 const char *arch, bool places, unsigned jobs, struct err *e)
{
	struct err unknown = ERR_INIT;
	struct item item;
	bool more;
	int r = 0;

	in->source = source;
	in->name = source->name;
	if (adapt(in, like, arch, places, jobs, e) < 0 ||
	    subject_read_blobs(&in->subject, source_of(in), &item, &more, e) < 0 ||
	    store_open(&in->store, source_of(in), 1, e) < 0)
		return -1;
	in->tensors.sources = merge_input_plan(in)->tensor_count;
	in->store.t = &in->tensors;
	subject_find(&in->subject, arch, &unknown); /* an unknown architecture is not an error */
	while (more && r == 0) {
		r = keep(in, &item, e);
		if (r == 0 && (r = source_next(source_of(in), &item, e)) >= 0) {
			more = r > 0;
			r = 0;
		}
	}
	return r < 0 ? -1 : index_tensors(in, e);
}

size_t
merge_input_find(const struct merge_input *in, const char *name)
{
	const struct model *m = merge_input_plan(in);
	size_t low = 0, high = m->tensor_count;

	while (low < high) {
		size_t at = low + (high - low) / 2;
		int order = strcmp(tensor_name(m->tensors[in->by_name[at]]), name);

		if (order == 0)
			return in->by_name[at];
		if (order < 0)
			low = at + 1;
		else
			high = at;
	}
	return SIZE_MAX;
}

static bool
match(const struct merge_input *in, size_t tensor, struct match *m)
{
	const struct model *plan = in->subject.plan;

	return in->subject.arch && match_find(in->subject.arch, in->subject.form,
	                                      tensor_name(plan->tensors[tensor]), 0, m);
}

const char *
merge_input_folder_name(const struct merge_input *in, size_t tensor, char to[MERGE_NAME])
{
	struct match m;

	return match(in, tensor, &m) && m.rule->role != ROLES
		? match_name(m.rule, ARCH_FOLDER, m.bias, m.block, m.expert, to) : NULL;
}

enum role
merge_input_role(const struct merge_input *in, size_t tensor)
{
	struct match m;

	return match(in, tensor, &m) ? m.rule->role : ROLES;
}

bool
merge_input_is_before(const struct merge_input *in, size_t tensor)
{
	const char *name = tensor_name(merge_input_plan(in)->tensors[tensor]);
	struct match m;

	if (match(in, tensor, &m))
		return m.rule->role <= ROLE_EMBED_NORM || m.rule->role == ROLE_ROPE_FREQS;
	return strstr(name, "emb") || strstr(name, "wte") || strstr(name, "wpe");
}

/* ---- values ---- */

bool
merge_is_number(const struct dtype *t)
{
	return kernel_decodes(t) || strcmp(t->name, "F64") == 0;
}

int
merge_input_bytes(struct merge_input *in, size_t tensor, uint64_t from, uint8_t *to, size_t n)
{
	struct err e = ERR_INIT;

	errno = 0;
	return n == 0 ? 0 : store_read(&in->store, tensor, from, to, n, &e);
}

int
merge_input_values(struct merge_input *in, size_t tensor, uint64_t from, float *to, size_t n,
                   uint8_t *raw)
{
	const struct dtype *t = tensor_type(merge_input_plan(in)->tensors[tensor]);
	uint64_t at = t->head + from / t->items * t->bytes;

	if (merge_input_bytes(in, tensor, at, raw, dtype_span(t, n)) < 0)
		return -1;
	if (kernel_decodes(t) && n % t->items == 0)
		kernel_decode(t, in->heads[tensor], raw, to, n);
	else
		values_float(t, in->heads[tensor], raw, to, n);
	return 0;
}

/* Whether a block of zero bytes decodes to zeros. */
static bool
is_zero_block(const struct dtype *t)
{
	static const uint8_t zeros[1024];
	float v[1024];
	size_t i;

	if (t->head > 0 || t->items > sizeof v / sizeof *v || t->bytes > sizeof zeros)
		return false;
	if (!kernel_decodes(t))
		return merge_is_number(t); /* F64 */
	kernel_decode(t, NULL, zeros, v, t->items);
	for (i = 0; i < t->items; i++)
		if (v[i] != 0 || signbit(v[i]))
			return false;
	return true;
}

uint64_t
merge_input_zeros(const struct merge_input *in, size_t tensor, uint64_t from, uint64_t n)
{
	const struct dtype *t = tensor_type(merge_input_plan(in)->tensors[tensor]);
	uint64_t at = from / t->items * t->bytes, bytes;

	if (!in->store.at[tensor].gaps)
		return 0;
	bytes = store_zeros((void *)(uintptr_t)&in->store, tensor, at, dtype_span(t, n));
	return bytes > 0 && is_zero_block(t) ? num_min(n, bytes / t->bytes * t->items) : 0;
}

/* ---- tokens ---- */

static bool
same_bytes(const struct merge_input *a, const struct merge_input *b, bool *some)
{
	struct value_type type;
	const uint8_t *p, *q;
	size_t n, k;

	p = weights_value(&a->subject.w, "tokenizer.ggml.tokens", &type, &n);
	q = weights_value(&b->subject.w, "tokenizer.ggml.tokens", &type, &k);
	if (!p && !q) {
		p = weights_file(&a->subject.w, "tokenizer.json", &n);
		q = weights_file(&b->subject.w, "tokenizer.json", &k);
	}
	*some = p && q;
	return *some && n == k && memcmp(p, q, n) == 0;
}

static int
compare_tokens(const struct merge_input *a, const struct merge_input *b, const struct tokenizer *x,
               const struct tokenizer *y, struct err *e)
{
	uint32_t n = tokenizer_count(x), i;

	if (tokenizer_count(y) != n)
		return err_set(e, ERR_INVALID, b->name, "has %u tokens, and %s %u", tokenizer_count(y),
		               a->name, n);
	for (i = 0; i < n; i++) {
		struct token_row p, q;

		tokenizer_row(x, i, &p);
		tokenizer_row(y, i, &q);
		if (p.n != q.n || memcmp(p.text, q.text, p.n) != 0)
			return err_set(e, ERR_INVALID, b->name, "its token %u is \"%.*s\", and that of "
			               "%s is \"%.*s\"", i, (int)num_min(q.n, 40), q.text, a->name,
			               (int)num_min(p.n, 40), p.text);
	}
	return 0;
}

int
merge_input_same_tokens(const struct merge_input *a, const struct merge_input *b, struct err *e)
{
	const struct tokenizer_options how = { .list = true, .any = true };
	struct tokenizer *x, *y = NULL;
	struct err unreadable = ERR_INIT;
	bool some;
	int r = 0;

	if (same_bytes(a, b, &some) || !some)
		return 0;
	x = tokenizer_of(&a->subject.w, &how, &unreadable);
	if (x)
		y = tokenizer_of(&b->subject.w, &how, &unreadable);
	if (x && y)
		r = compare_tokens(a, b, x, y, e);
	tokenizer_free(x);
	tokenizer_free(y);
	return r;
}

void
merge_input_drop_files(struct merge_input *in)
{
	size_t i;

	for (i = 0; i < in->subject.w.plan->blob_count; i++) {
		free((void *)(uintptr_t)in->subject.w.blobs[i].p);
		in->subject.w.blobs[i] = (struct weights_blob){ 0 };
	}
}
