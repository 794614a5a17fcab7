/* The bodies of items: the side file, and the values of tensors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/onnx/onnx.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define CODES (1u << 14) /* bytes of codes that are decoded at once */
#else
#define CODES 64u
#endif
#define PIECE (1u << 18) /* bytes of a piece of the map */

struct onnx_box {
	uint16_t value[256];       /* of each code */
	uint8_t codes[CODES];
	uint8_t values[4 * CODES]; /* INT2: four values in a byte; FNUZ: two bytes for one */
};

/* ---- the side file ---- */

static int
by_offset(const void *a, const void *b, void *list)
{
	const struct onnx_tensor *t = list;
	const struct onnx_view *v = &t[*(const size_t *)a].view, *w = &t[*(const size_t *)b].view;

	return v->at < w->at ? -1 : v->at > w->at;
}

/* True if the bytes of the file follow from the tensor: the bits behind the last code are 0. */
static bool
can_cut(const struct onnx *x, const struct onnx_tensor *t)
{
	const struct onnx_view *v = &t->view;
	uint64_t values = 1;
	unsigned i, rest;

	if (v->in != ONNX_RAW || v->bytes == 0)
		return false;
	for (i = 0; i < t->ndim; i++)
		values *= t->dims[i]; /* proved by onnx_tensor */
	rest = (unsigned)(values % 8) * v->type->bits % 8;
	return v->type->bits >= 8 || rest == 0 || x->p[v->at + v->bytes - 1] >> rest == 0;
}

int
onnx_cut(struct onnx *x)
{
	uint64_t left = x->n;
	size_t i;

	x->cut = mem_array(x->tensor_count, sizeof *x->cut);
	if (!x->cut)
		return err_memory(x->err);
	for (i = 0; i < x->tensor_count; i++)
		if (can_cut(x, &x->tensors[i]))
			x->cut[x->cut_count++] = i;
	if (x->cut_count > 0)
		qsort_r(x->cut, x->cut_count, sizeof *x->cut, by_offset, x->tensors);
	buf_text(&x->cuts, "ONNXCUT1");
	buf_u64(&x->cuts, x->n);
	buf_u64(&x->cuts, x->cut_count);
	for (i = 0; i < x->cut_count; i++) {
		const struct onnx_tensor *t = &x->tensors[x->cut[i]];

		buf_u64(&x->cuts, t->view.at);
		buf_u64(&x->cuts, t->view.bytes);
		buf_u32(&x->cuts, t->view.type->decode ? t->view.type->number : 0);
		buf_u32(&x->cuts, (uint32_t)strlen(t->as));
		buf_text(&x->cuts, t->as);
		left -= t->view.bytes;
	}
	if (!buf_ok(&x->cuts))
		return err_memory(x->err);
	return model_add_blob(&x->plan, ONNX_GRAPH, ONNX_GRAPH_TYPE, x->cuts.n + left, x->err);
}

int
onnx_send_blob(struct onnx *x, size_t index, uint64_t bytes)
{
	x->view = NULL;
	x->graph_now = index + 1 == x->plan.blob_count;
	x->left = bytes;
	x->done = x->at = 0;
	x->next_cut = 0;
	return 0;
}

/* A piece of the file that is not cut out. */
static void
uncut_piece(struct onnx *x, const uint8_t **p, size_t *n)
{
	const struct onnx_view *v = NULL;

	for (; x->next_cut < x->cut_count; x->next_cut++) {
		v = &x->tensors[x->cut[x->next_cut]].view;
		if (v->at > x->at)
			break;
		x->at = v->at + v->bytes;
	}
	*n = (size_t)num_min(x->next_cut < x->cut_count ? v->at - x->at : x->n - x->at, PIECE);
	*p = x->p + x->at;
	x->at += *n;
	x->last = *p;
	x->last_bytes = *n;
}

static void
blob_piece(struct onnx *x, const uint8_t **p, size_t *n)
{
	const struct buf *head = x->graph_now ? &x->cuts : &x->relations;

	if (x->done == head->n) {
		uncut_piece(x, p, n);
		return;
	}
	*p = head->p + x->done;
	*n = (size_t)num_min(head->n - x->done, PIECE);
	x->done += *n;
}

/* ---- tensors ---- */

struct reader *
onnx_reader_of(struct onnx *x, const struct onnx_view *v)
{
	if (v->in == ONNX_EXTERNAL)
		return &x->beside;
	return v->in == ONNX_RAW && x->reader.fd >= 0 && x->reader.seekable ? &x->reader : NULL;
}

static int
begin_numbers(struct onnx *x, const struct onnx_view *v)
{
	protobuf_numbers_open(&x->numbers, x->p + v->at, (size_t)v->bytes, v->at, v->field,
	                      onnx_form(v->type), x->source.name, x->err);
	return 0;
}

int
onnx_send_tensor(struct onnx *x, size_t index)
{
	const struct onnx_view *v = &x->tensors[index].view;
	struct reader *r = onnx_reader_of(x, v);
	unsigned code;

	x->view = v;
	x->left = tensor_bytes(x->plan.tensors[index]);
	x->at = v->at;
	x->done = 0;
	if (x->left == 0)
		return 0;
	if (!x->box && v->in == ONNX_DENSE && !(x->box = mem_array(1, sizeof *x->box)))
		return err_memory(x->err);
	if (v->in == ONNX_DENSE)
		return onnx_dense_begin(x, v->sparse);
	if (v->in == ONNX_EXTERNAL) {
		x->files[v->file].used = true;
		if (onnx_open_beside(x, v->file) < 0)
			return -1;
	}
	if (r && reader_seek(r, v->at + (v->in == ONNX_RAW ? x->base : 0)) < 0)
		return -1;
	if (v->in != ONNX_NUMBERS && !v->type->decode)
		return 0;
	if (!x->box && !(x->box = mem_array(1, sizeof *x->box)))
		return err_memory(x->err);
	for (code = 0; v->type->decode && code < (v->type->bits == 8 ? 256u : 1u << v->type->bits);
	     code++)
		x->box->value[code] = v->type->decode(code);
	return v->in == ONNX_NUMBERS ? begin_numbers(x, v) : 0;
}

/* Write numbers of a typed field as little-endian codes: *n bytes of them. */
static int
numbers_to_codes(struct onnx *x, size_t *n)
{
	const struct onnx_type *t = x->view->type;
	const unsigned width = t->bits < 8 ? 1 : t->bits / 8 / t->each;
	uint8_t wide[8];
	uint64_t v;
	int r = 1;

	*n = 0;
	while (*n + width <= CODES && (r = protobuf_number(&x->numbers, &v)) > 0) {
		le64_put(wide, v);
		memcpy(x->box->codes + *n, wide, width);
		*n += width;
	}
	return r < 0 ? -1 : 0;
}

/* The next codes, at most CODES bytes: from the file beside, the file, or numbers. */
static int
next_codes(struct onnx *x, const uint8_t **p, size_t *n)
{
	struct reader *r = onnx_reader_of(x, x->view);
	const uint64_t most = num_min(CODES, x->view->bytes - x->done);

	if (x->view->in == ONNX_NUMBERS) {
		*p = x->box->codes;
		return numbers_to_codes(x, n);
	}
	if (r) {
		*p = reader_some(r, most, n);
		if (!*p)
			return -1;
	} else {
		*p = x->p + x->view->at + x->done;
		*n = (size_t)most;
	}
	x->done += *n;
	return 0;
}

/* Decode the codes into values: *n bytes of them, at most those that are left. */
static void
decode(struct onnx *x, const uint8_t *codes, size_t count, size_t *n)
{
	const unsigned bits = x->view->type->bits, per = x->view->single ? 1 : 8 / bits;
	const unsigned width = strcmp(x->view->type->type, "F16") == 0 ? 2 : 1;
	const unsigned mask = (1u << bits) - 1;
	uint8_t *to = x->box->values;
	unsigned k;
	size_t i;

	for (i = 0; i < count; i++)
		for (k = 0; k < per && (uint64_t)(to - x->box->values) < x->left; k++) {
			const uint16_t v = x->box->value[codes[i] >> k * bits & mask];

			*to++ = (uint8_t)v;
			if (width == 2)
				*to++ = (uint8_t)(v >> 8);
		}
	*n = (size_t)(to - x->box->values);
}

static int
tensor_piece(struct onnx *x, const uint8_t **p, size_t *n)
{
	const bool decodes = x->view->type->decode != NULL;

	if (next_codes(x, p, n) < 0)
		return -1;
	if (*n > 0 && decodes) {
		decode(x, *p, *n, n);
		*p = x->box->values;
	}
	*n = (size_t)num_min(*n, x->left);
	return *n > 0 ? 0 : err_set(x->err, ERR_CORRUPT, x->source.name,
	                            "changed while it was read");
}

/* A piece of values that need no decoding; *put: it is also in o. */
static int
plain_piece(struct onnx *x, struct out *o, const uint8_t **p, size_t *n, bool *put)
{
	struct reader *r = onnx_reader_of(x, x->view);

	if (!r) {
		*p = x->p + x->at;
		*n = (size_t)num_min(x->left, PIECE);
		x->at += *n;
		x->last = *p;
		x->last_bytes = *n;
		return 0;
	}
	*put = o != NULL;
	*p = o ? reader_share(r, o, x->left, n) : reader_some(r, x->left, n);
	return *p ? 0 : -1;
}

int
onnx_send_some(struct onnx *x, struct out *o, const uint8_t **p, size_t *n)
{
	bool put = false;
	int r = 0;

	if (x->last_bytes)
		onnx_release(x, x->last, x->last_bytes);
	x->last_bytes = 0;
	*n = 0;
	if (x->left == 0)
		return 0;
	if (!x->view)
		blob_piece(x, p, n);
	else if (x->view->in == ONNX_DENSE)
		*n = onnx_dense_read(x->view->sparse, x->left, x->box->values, sizeof x->box->values);
	else if (x->view->in != ONNX_NUMBERS && !x->view->type->decode)
		r = plain_piece(x, o, p, n, &put);
	else
		r = tensor_piece(x, p, n);
	if (r < 0)
		return -1;
	if (x->view && x->view->in == ONNX_DENSE)
		*p = x->box->values;
	x->left -= *n;
	return o && !put ? out_put(o, *p, *n) : 0;
}

void
onnx_send_free(struct onnx *x)
{
	free(x->box);
	free(x->cut);
	buf_free(&x->cuts);
	buf_free(&x->relations);
}
