/* The tensors of each model folder as GGUF, at four types of matrices: names, order, shapes,
 * types and digests of what llama.cpp's converter writes. */
#include <math.h>

#include "adapt/tensors/values.h"
#include "convert.h"
#include "core/le.h"
#include "crypto/digest.h"

static const char *data;

/* ---- the source in memory ---- */

struct memory {
	const struct tensors *p;
	const struct weights *w;
	struct packed_reader packed;
};

static int
read_plan(void *ctx, size_t tensor, uint64_t offset, uint8_t *dst, size_t n, struct err *e)
{
	const struct memory *m = ctx;

	(void)e;
	memcpy(dst, m->w->tensors[tensor] + offset, n);
	return 0;
}

static int
read_source(void *ctx, size_t source, uint64_t from, uint8_t *dst, size_t n, struct err *e)
{
	struct memory *m = ctx;
	const struct packed *w;
	uint64_t row, first, rows;
	uint8_t *x;
	int r;

	if (source < m->p->sources)
		return read_plan(ctx, source, from, dst, n, e);
	w = &m->p->packed.p[source - m->p->sources];
	row = dtype_span(tensor_type(w->tensor), tensor_row(w->tensor));
	first = from / row;
	rows = (from + n - 1) / row - first + 1;
	x = malloc(rows * row);
	r = tensor_type(w->tensor)->items > 1
	            ? packed_blocks(w, &m->packed, first, rows, x, e)
	            : packed_rows(w, &m->packed, first, rows, (float *)x, e);
	if (r == 0)
		memcpy(dst, x + (from - first * row), n);
	free(x);
	return r;
}

static int
equal(void *ctx, size_t a, size_t b, struct err *e)
{
	const struct weights *w = ((const struct memory *)ctx)->w;

	(void)e;
	return memcmp(w->tensors[a], w->tensors[b], tensor_bytes(w->plan->tensors[a])) == 0;
}

/* ---- comparison ---- */

/* Values that the reference computes in single precision: within four units in the last
 * place. */
static bool
nearly(struct values *v, const struct weights *expected, const char *name, struct err *e)
{
	const uint8_t *p;
	uint64_t at = 0;
	size_t i, n;

	for (i = 0; i < expected->plan->tensor_count; i++)
		if (strcmp(tensor_name(expected->plan->tensors[i]), name) == 0)
			break;
	if (i == expected->plan->tensor_count)
		return false;
	while (values_next(v, &p, &n, e) == 0 && n > 0) {
		size_t k;

		for (k = 0; k < n; k += 4, at += 4) {
			int32_t a = (int32_t)le32(p + k), b = (int32_t)le32(expected->tensors[i] + at);

			if (a - b > 4 || b - a > 4)
				return false;
		}
	}
	return e->code == ERR_NONE;
}

static bool
same_bytes(struct values *v, const char *digest, struct err *e)
{
	struct sha256 h;
	struct digest d;
	const uint8_t *p;
	char hex[DIGEST_TEXT];
	size_t n;

	sha256_start(&h);
	while (values_next(v, &p, &n, e) == 0 && n > 0)
		sha256_add(&h, p, n);
	if (sha256_finish(&h, &d, e) < 0)
		return false;
	return strcmp(digest_text(hex, &d), digest) == 0;
}

static bool
same_shape(const struct tensor *t, const json_t *shape)
{
	unsigned i, n = tensor_ndim(t);

	if (json_array_size(shape) != n)
		return false;
	for (i = 0; i < n; i++)
		if ((uint64_t)json_integer_value(json_array_get(shape, n - 1 - i)) != tensor_dims(t)[i])
			return false;
	return true;
}

/* Whether a row of the plan is the expected tensor. */
static bool
same_tensor(struct values *v, const struct tensors_row *row, const json_t *x,
            const char *type, const struct weights *expected, struct err *e)
{
	const char *name = json_string_value(json_object_get(x, "name"));
	const json_t *result = json_object_get(x, type), *digest = json_array_get(result, 1);

	if (strcmp(tensor_name(row->t), name) != 0 ||
	    !same_shape(row->t, json_object_get(x, "shape")) ||
	    strcmp(tensor_type(row->t)->name, json_string_value(json_array_get(result, 0))) != 0 ||
	    values_begin(v, row, e) < 0)
		return false;
	if (json_is_null(digest))
		return true;
	if (row->made || row->math == MATH_NEG_EXP)
		return nearly(v, expected, name, e);
	return same_bytes(v, json_string_value(digest), e);
}

static void
one_type(struct convert *c, const struct load *hf, const json_t *list, const char *type)
{
	struct tensors p;
	struct memory m = { .p = &p, .w = &hf->weights, .packed = { read_plan, &m } };
	const struct tensors_options o = { .type = dtype_by_name(type), .anywhere = true,
		.equal = equal, .ctx = &m };
	struct values v = { .in = { .read = read_source, .ctx = &m }, .jobs = 2 };
	struct err e = ERR_INIT;
	const char *wrong = "";
	size_t i, n = json_array_size(list);

	if (tensors_to_gguf(&p, &c->subject, &o, &e) == 0) {
		for (i = 0; i < n && i < p.count && !*wrong; i++)
			if (!same_tensor(&v, &p.rows[i], json_array_get(list, i), type,
			                 &c->expected.weights, &e))
				wrong = tensor_name(p.rows[i].t);
		if (p.count != n && !*wrong)
			wrong = "the number of tensors";
	}
	test_ok(e.code == ERR_NONE && !*wrong, "%s at %s: all tensors are equal %s %s %s", c->name,
	        type, wrong, e.object, e.fact);
	values_free(&v);
	tensors_free(&p);
}

static void
each(struct convert *c)
{
	static const char *const types[] = { "f32", "f16", "bf16", "q8_0" };
	struct err e = ERR_INIT;
	struct buf text = { 0 };
	struct load hf;
	char path[4096];
	json_t *o = NULL;
	struct reader r;
	size_t i;

	snprintf(path, sizeof path, "%s/convert/%s/expected.json", data, c->name);
	if (reader_open(&r, path, &e) == 0) {
		reader_rest(&r, &text, 64u << 20);
		o = json_parse(text.p, text.n, ERR_CORRUPT, path, &e);
	}
	reader_close(&r);
	snprintf(path, sizeof path, "%s/convert/%s/hf", data, c->name);
	if (o && load_open(&hf, path, NULL, &e) == 0)
		for (i = 0; i < 4; i++)
			one_type(c, &hf, json_object_get(o, "tensors"), types[i]);
	if (!test_ok(e.code == ERR_NONE, "%s was read %s %s", c->name, e.object, e.fact))
		return;
	load_close(&hf);
	json_decref(o);
	buf_free(&text);
}

int
main(void)
{
	data = test_data();
	if (data)
		convert_each(data, each);
	else
		test_skip("tensors", "no reference data in APR_TEST_DATA");
	return test_done();
}
