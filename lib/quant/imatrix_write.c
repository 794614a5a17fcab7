/* Both formats of an importance matrix. */
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

#include "quant/imatrix.h"

static void
put_f32(struct buf *b, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	buf_u32(b, bits);
}

static float
largest(const struct imatrix_entry *x)
{
	float most = 0;
	size_t k;

	for (k = 0; k < x->count_n; k++)
		if (x->counts[k] > most)
			most = x->counts[k];
	return most;
}

/* Tokens of the counts, at most, in parts of chunk_tokens. */
static uint64_t
parts_of(const struct imatrix *m, uint64_t chunk_tokens)
{
	float most = 0;
	size_t i;

	for (i = 0; i < m->n; i++)
		if (largest(&m->entries[i]) > most)
			most = largest(&m->entries[i]);
	return num_min((uint64_t)most / chunk_tokens, INT32_MAX);
}

/* ---- the older format ---- */

static int
put_entry(const struct imatrix_entry *x, uint64_t chunk_tokens, struct buf *b, struct out *o,
          struct err *e)
{
	const size_t columns = x->n / x->count_n, name = strlen(x->name);
	const uint64_t calls = num_min(((uint64_t)largest(x) + chunk_tokens - 1) / chunk_tokens,
	                               INT32_MAX);
	size_t k;

	buf_clear(b);
	buf_u32(b, (uint32_t)name);
	buf_put(b, x->name, name);
	buf_u32(b, (uint32_t)calls);
	buf_u32(b, (uint32_t)x->n);
	for (k = 0; k < x->n; k++) {
		const float count = x->counts[k / columns];

		put_f32(b, (count > 0 ? x->values[k] / count : 1) * (float)calls);
	}
	return buf_ok(b) ? out_put(o, b->p, b->n) : err_memory(e);
}

int
imatrix_write_dat(const struct imatrix *m, uint64_t chunk_tokens, struct out *o, struct err *e)
{
	const char *last = m->dataset_count ? m->datasets[m->dataset_count - 1] : "";
	struct buf b = { 0 };
	uint32_t used = 0;
	size_t i;
	int r;

	for (i = 0; i < m->n; i++)
		used += largest(&m->entries[i]) > 0;
	buf_u32(&b, used);
	r = buf_ok(&b) ? out_put(o, b.p, b.n) : err_memory(e);
	for (i = 0; r == 0 && i < m->n; i++)
		if (largest(&m->entries[i]) > 0)
			r = put_entry(&m->entries[i], chunk_tokens, &b, o, e);
	buf_clear(&b);
	buf_u32(&b, (uint32_t)parts_of(m, chunk_tokens));
	buf_u32(&b, (uint32_t)strlen(last));
	buf_text(&b, last);
	if (r == 0)
		r = buf_ok(&b) ? out_put(o, b.p, b.n) : err_memory(e);
	buf_free(&b);
	return r;
}

/* ---- the newer format ---- */

static int
add_keys(const struct imatrix *m, uint64_t chunk_tokens, struct model *plan, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING }, strings = { 1, VALUE_STRING };
	static const struct value_type u32 = { 0, VALUE_U32 };
	static const char *const names[] = { "general.type", "imatrix.datasets",
		"imatrix.chunk_count", "imatrix.chunk_size" };
	const struct value_type types[] = { string, strings, u32, u32 };
	struct buf b = { 0 };
	size_t at[5] = { 0 }, i;
	int r = 0;

	buf_u64(&b, strlen("imatrix"));
	buf_text(&b, "imatrix");
	at[1] = b.n;
	buf_u32(&b, VALUE_STRING);
	buf_u64(&b, m->dataset_count);
	for (i = 0; i < m->dataset_count; i++) {
		buf_u64(&b, strlen(m->datasets[i]));
		buf_text(&b, m->datasets[i]);
	}
	at[2] = b.n;
	buf_u32(&b, (uint32_t)parts_of(m, chunk_tokens));
	at[3] = b.n;
	buf_u32(&b, (uint32_t)chunk_tokens);
	at[4] = b.n;
	if (!buf_ok(&b))
		r = err_memory(e);
	for (i = 0; r == 0 && i < 4; i++)
		r = model_add_meta(plan, names[i], strlen(names[i]), types[i], b.p + at[i],
		                   at[i + 1] - at[i], e);
	buf_free(&b);
	return r;
}

/* matrices × columns values; one matrix is a list. */
static int
add_tensor(struct model *plan, const char *name, const char *ending, size_t matrices,
           size_t columns, struct err *e)
{
	const uint64_t dims[] = { matrices, columns };
	const unsigned skipped = matrices == 1;
	struct buf b = { 0 };
	struct tensor *t = NULL;

	buf_text(&b, name);
	buf_text(&b, ending);
	if (!buf_ok(&b))
		err_memory(e);
	else
		t = tensor_new((char *)b.p, b.n, dtype_by_name("F32"), 2 - skipped, dims + skipped,
		               TENSOR_OWN_SIZE, "importance", e);
	buf_free(&b);
	return t ? model_add_tensor(plan, t, e) : -1;
}

static int
make_plan(const struct imatrix *m, uint64_t chunk_tokens, struct model *plan, struct err *e)
{
	size_t i;

	if (model_init(plan, e) < 0 || add_keys(m, chunk_tokens, plan, e) < 0)
		return -1;
	for (i = 0; i < m->n; i++) {
		const struct imatrix_entry *x = &m->entries[i];

		if (add_tensor(plan, x->name, ".in_sum2", x->count_n, x->n / x->count_n, e) < 0 ||
		    add_tensor(plan, x->name, ".counts", x->count_n, 1, e) < 0)
			return -1;
	}
	return model_check(plan, "importance", e);
}

static int
send_values(const struct model *plan, size_t index, const float *v, size_t n, struct sink *sink,
            struct err *e)
{
	const struct item item = { .kind = ITEM_TENSOR, .index = index,
		.bytes = tensor_bytes(plan->tensors[index]) };
	struct buf b = { 0 };
	size_t k;
	int r;

	for (k = 0; k < n; k++)
		put_f32(&b, v[k]);
	r = buf_ok(&b) ? sink_put(sink, &item, e) : err_memory(e);
	if (r == 0)
		r = sink_write(sink, b.p, b.n, e);
	buf_free(&b);
	return r < 0 ? -1 : sink_put_end(sink, e);
}

int
imatrix_write_model(const struct imatrix *m, uint64_t chunk_tokens, struct sink *sink,
                    struct err *e)
{
	struct model plan = { 0 };
	size_t i;
	int r = make_plan(m, chunk_tokens, &plan, e);

	if (r == 0)
		r = sink_begin(sink, &plan, e);
	for (i = 0; r == 0 && i < m->n; i++) {
		const struct imatrix_entry *x = &m->entries[i];

		r = send_values(&plan, 2 * i, x->values, x->n, sink, e);
		if (r == 0)
			r = send_values(&plan, 2 * i + 1, x->counts, x->count_n, sink, e);
	}
	if (r == 0)
		r = sink_end(sink, e);
	model_free(&plan);
	return r;
}
