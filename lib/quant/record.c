#include "quant/record.h"

#include <stdio.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"

#define PREFIX "apr.quantization."
#define LIST_BYTES 32768u /* items of a recorded list; longer lists are cut, and say so */
#define LIST_ITEMS 500u

static int
put_u32(struct model *m, const char *key, uint32_t v, struct err *e)
{
	static const struct value_type u32 = { 0, VALUE_U32 };
	uint8_t wire[4];

	le32_put(wire, v);
	return model_put_meta(m, key, u32, wire, sizeof wire, e);
}

static int
put_u64(struct model *m, const char *key, uint64_t v, struct err *e)
{
	static const struct value_type u64 = { 0, VALUE_U64 };
	uint8_t wire[8];

	le64_put(wire, v);
	return model_put_meta(m, key, u64, wire, sizeof wire, e);
}

static int
put_f32(struct model *m, const char *key, float v, struct err *e)
{
	static const struct value_type f32 = { 0, VALUE_F32 };
	uint8_t wire[4];

	le_f32_put(wire, v);
	return model_put_meta(m, key, f32, wire, sizeof wire, e);
}

static int
put_string(struct model *m, const char *key, const char *text, struct err *e)
{
	static const struct value_type string = { 0, VALUE_STRING };
	struct buf b = { 0 };
	int r;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	r = buf_ok(&b) ? model_put_meta(m, key, string, b.p, b.n, e) : err_memory(e);
	buf_free(&b);
	return r;
}

/* ---- lists of strings ---- */

struct list {
	struct buf items; /* in wire form */
	uint64_t n;
};

static void
list_add(struct list *l, const char *text, size_t n)
{
	buf_u64(&l->items, n);
	buf_put(&l->items, text, n);
	l->n++;
}

static bool
list_full(const struct list *l)
{
	return l->n >= LIST_ITEMS || l->items.n >= LIST_BYTES;
}

/* True if the type is in the list. */
static bool
list_has(const struct list *l, const char *text)
{
	size_t at = 0, n;

	for (; at < l->items.n; at += 8 + n) {
		n = (size_t)le64(l->items.p + at);
		if (n == strlen(text) && memcmp(l->items.p + at + 8, text, n) == 0)
			return true;
	}
	return false;
}

static int
put_list(struct model *m, const char *key, struct list *l, struct err *e)
{
	static const struct value_type strings = { 1, VALUE_STRING };
	struct buf b = { 0 };
	int r = 0;

	if (l->n > 0) {
		buf_u32(&b, VALUE_STRING);
		buf_u64(&b, l->n);
		buf_put(&b, l->items.p, l->items.n);
		r = buf_ok(&b) && buf_ok(&l->items)
		    ? model_put_meta(m, key, strings, b.p, b.n, e) : err_memory(e);
	} else {
		model_unset_meta(m, key);
	}
	buf_free(&b);
	buf_free(&l->items);
	return r;
}

/* ---- the groups ---- */

static int
put_imatrix(const struct recipe_options *o, struct model *m, struct err *e)
{
	const struct imatrix *x = o->imatrix;
	const char *slash = strrchr(o->imatrix_path, '/');

	/* The file's name only: its folder says nothing about the model. */
	if (put_string(m, "quantize.imatrix.file", slash ? slash + 1 : o->imatrix_path,
	               e) < 0 ||
	    (x->dataset_count > 0 &&
	     put_string(m, "quantize.imatrix.dataset", x->datasets[0], e) < 0) ||
	    put_u32(m, "quantize.imatrix.entries_count", (uint32_t)x->n, e) < 0)
		return -1;
	return x->chunks
	           ? put_u32(m, "quantize.imatrix.chunks_count", (uint32_t)x->chunks, e) : 0;
}

static int
put_method(const struct recipe_options *o, struct model *m, struct err *e)
{
	char text[96];

	snprintf(text, sizeof text, "%.64s%s", o->mixture->name, o->how.pure ? " --pure" : "");
	return put_string(m, PREFIX "method", text, e);
}

/* Types that an earlier run recorded come first: only they name the original ones. */
static void
earlier_types(const struct model *m, struct list *l)
{
	const struct meta *k = model_find(m, PREFIX "original_types");
	size_t at, n;
	uint64_t left;

	if (!k || !k->wire || k->type.depth != 1 || k->type.leaf != VALUE_STRING)
		return;
	left = le64(k->wire + 4);
	for (at = 12; left-- > 0 && !list_full(l); at += 8 + n) {
		n = (size_t)le64(k->wire + at); /* the value was proved when it was read */
		list_add(l, (const char *)k->wire + at + 8, n);
	}
}

static int
put_types(const struct recipe *r, struct model *m, struct err *e)
{
	struct list l = { 0 };
	size_t i;

	earlier_types(m, &l);
	for (i = 0; i < r->count; i++) {
		const struct recipe_row *row = &r->rows[i];

		if (row->to != row->from && !list_has(&l, row->from->name) && !list_full(&l))
			list_add(&l, row->from->name, strlen(row->from->name));
	}
	return put_list(m, PREFIX "original_types", &l, e);
}

static int
put_rules(const struct recipe_options *o, struct model *m, struct err *e)
{
	const struct overrides *own = o->how.overrides;
	struct list l = { 0 };
	char text[64];
	size_t i;

	for (i = 0; own && i < own->n; i++) {
		if (list_full(&l) || strlen(own->rules[i].text) > LIST_BYTES / 2) {
			snprintf(text, sizeof text, "and %zu more", own->n - i);
			list_add(&l, text, strlen(text));
			break;
		}
		list_add(&l, own->rules[i].text, strlen(own->rules[i].text));
	}
	if (o->ask && !list_full(&l))
		list_add(&l, "--hook", strlen("--hook"));
	return put_list(m, PREFIX "rules", &l, e);
}

/* How the importance of columns was measured: by a text, by an earlier run of apr-imatrix, or not. */
static int
put_calibration(const struct recipe_options *o, struct model *m, struct err *e)
{
	const struct calibration *c = o->calibration;
	const uint64_t samples = c ? c->samples : o->imatrix ? o->imatrix->chunks : 0;

	model_unset_meta(m, PREFIX "calibration_percentile");
	model_unset_meta(m, PREFIX "calibration_tokens");
	model_unset_meta(m, PREFIX "calibration_sha256");
	if (put_string(m, PREFIX "calibration_method",
	               c ? c->method : o->imatrix ? "imatrix" : "none", e) < 0)
		return -1;
	if (c && c->percentile > 0 &&
	    put_f32(m, PREFIX "calibration_percentile", (float)c->percentile, e) < 0)
		return -1;
	if (!samples)
		model_unset_meta(m, PREFIX "calibration_samples");
	else if (put_u32(m, PREFIX "calibration_samples", (uint32_t)samples, e) < 0)
		return -1;
	if (!c)
		return 0;
	return put_u64(m, PREFIX "calibration_tokens", c->tokens, e) < 0 ? -1
	       : put_string(m, PREFIX "calibration_sha256", c->sha256, e);
}

static int
put_info(const struct recipe *r, const struct recipe_options *o, struct model *m,
         struct err *e)
{
	double bits = model_bits_per_weight(m);

	if (put_method(o, m, e) < 0)
		return -1;
	if (bits > 0 && put_f32(m, PREFIX "bits_per_weight", (float)bits, e) < 0)
		return -1;
	if (put_types(r, m, e) < 0 || put_rules(o, m, e) < 0)
		return -1;
	return put_calibration(o, m, e);
}

int
record_apply(const struct recipe *r, const struct recipe_options *o, struct model *m,
             struct err *e)
{
	if (put_u32(m, "general.quantization_version", MIXTURE_QUANTIZATION_VERSION, e) < 0)
		return -1;
	if (o->mixture->plain)
		model_unset_meta(m, "general.file_type");
	else if (put_u32(m, "general.file_type", o->mixture->file_type, e) < 0)
		return -1;
	if (o->keys && key_values_apply(o->keys, m, e) < 0)
		return -1;
	if (o->imatrix && !o->calibration && put_imatrix(o, m, e) < 0)
		return -1;
	if (o->prune && prune_keys(o->prune, m, e) < 0)
		return -1;
	return o->no_record ? 0 : put_info(r, o, m, e);
}

int
record_warning(struct model *m, const char *text, struct err *e)
{
	return put_string(m, PREFIX "warning", text, e);
}
