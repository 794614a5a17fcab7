#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/container.h"
#include "formats/gguf/gguf_writer.h"
#include "stream/frame.h"

/* ---- pieces of the header ---- */

static void
put_text(struct buf *b, const char *s, size_t n)
{
	buf_u64(b, n);
	buf_put(b, s, n);
}

static void
put_bytes_key(struct buf *b, const char *prefix, const char *name, uint64_t bytes)
{
	gguf_put_key(b, prefix, name, VALUE_ARRAY);
	buf_u32(b, VALUE_U8);
	buf_u64(b, bytes);
}

static void
put_alignment(struct gguf_sink *s, struct buf *b)
{
	gguf_put_key(b, GGUF_ALIGN_KEY, "", VALUE_U32);
	buf_u32(b, (uint32_t)s->alignment);
}

/* True for a key of the model that would clash with the split keys of a shard. */
static bool
is_kept(const struct gguf_sink *s, const struct meta *k)
{
	return s->split.count && gguf_is_split_key(k->key);
}

/* Append a metadata key and, if it is inline, its value. */
static void
put_meta(const struct gguf_sink *s, const struct meta *k, struct buf *b)
{
	if (gguf_is_json(k))
		gguf_put_key(b, GGUF_JSON, k->key, VALUE_STRING);
	else
		gguf_put_key(b, is_kept(s, k) ? GGUF_KEPT : "", k->key, k->type.depth ? VALUE_ARRAY : k->type.leaf);
	if (gguf_is_json(k))
		buf_u64(b, k->wire ? k->wire_bytes : s->plan->blobs[k->blob].bytes);
	if (k->wire)
		buf_put(b, k->wire, k->wire_bytes);
}

/* Append the split keys of a shard, with the types that llama-gguf-split uses. */
static void
put_split(const struct gguf_sink *s, struct buf *b)
{
	size_t i;

	if (s->split.count == 0)
		return;
	gguf_put_key(b, GGUF_SPLIT_NO, "", VALUE_U16);
	buf_u16(b, (uint16_t)s->split.number);
	gguf_put_key(b, GGUF_SPLIT_COUNT, "", VALUE_U16);
	buf_u16(b, (uint16_t)s->split.count);
	gguf_put_key(b, GGUF_SPLIT_TENSORS, "", VALUE_I32);
	buf_u32(b, (uint32_t)s->split.tensors);
	if (!s->order)
		return;
	gguf_put_key(b, GGUF_ORDER, "", VALUE_ARRAY);
	buf_u32(b, VALUE_U64);
	buf_u64(b, json_array_size(s->order));
	for (i = 0; i < json_array_size(s->order); i++) {
		uint64_t at = 0;

		if (json_value_u64(json_array_get(s->order, i), &at) < 0)
			at = 0; /* a reader will find that this is not an order */
		buf_u64(b, at);
	}
}

static void
put_carriers(const struct tensor *t, struct buf *b)
{
	unsigned i;

	gguf_put_key(b, GGUF_DTYPE, tensor_name(t), VALUE_STRING);
	put_text(b, tensor_type(t)->name, strlen(tensor_type(t)->name));
	gguf_put_key(b, GGUF_SHAPE, tensor_name(t), VALUE_ARRAY);
	buf_u32(b, VALUE_U64);
	buf_u64(b, tensor_ndim(t));
	for (i = 0; i < tensor_ndim(t); i++)
		buf_u64(b, tensor_dims(t)[i]);
}

static void
put_entry(const struct tensor *t, uint64_t offset, struct buf *b)
{
	unsigned i, n = tensor_ndim(t);

	put_text(b, tensor_name(t), strlen(tensor_name(t)));
	if (gguf_is_foreign(t) && !gguf_is_scaled(t)) {
		buf_u32(b, 1);
		buf_u64(b, tensor_bytes(t));
		buf_u32(b, (uint32_t)dtype_by_name("I8")->ggml);
	} else {
		buf_u32(b, n);
		for (i = 0; i < n; i++)
			buf_u64(b, tensor_dims(t)[n - 1 - i]);
		buf_u32(b, (uint32_t)(gguf_is_scaled(t) ? dtype_by_name("I8") : tensor_type(t))->ggml);
	}
	buf_u64(b, offset);
}

/* ---- writing the header as its parts become known ---- */

static int
flush_piece(struct gguf_sink *s, struct err *e)
{
	int r;

	if (!buf_ok(&s->piece))
		return err_memory(e);
	r = out_put(s->to, s->piece.p, s->piece.n);
	buf_clear(&s->piece);
	return r;
}

/* Write the metadata keys up to the next one whose value comes in a blob. */
static int
put_metadata(struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;

	while (s->keys < m->meta_count) {
		const struct meta *k = &m->meta[s->keys];

		if (s->alignment_at == s->keys)
			put_alignment(s, &s->piece);
		s->keys++;
		put_meta(s, k, &s->piece);
		if (flush_piece(s, e) < 0)
			return -1;
		if (!k->wire)
			return 0;
	}
	return 0;
}

/* Leave room for the prov and sign frames, which come last. */
static int
put_late_keys(struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t sign = MODEL_SIGN_HEAD + model_sign_body(s->whole);
	char number[24];
	size_t i;

	if (s->options.plain)
		return 0;
	s->prov_at = mem_array(m->prov_count, sizeof *s->prov_at);
	s->sign_at = mem_array((size_t)m->signatures, sizeof *s->sign_at);
	if (!s->prov_at || !s->sign_at)
		return err_memory(e);
	for (i = 0; i < m->prov_count; i++) {
		snprintf(number, sizeof number, "%zu", i);
		gguf_put_key(&s->piece, GGUF_PROV, number, VALUE_STRING);
		buf_u64(&s->piece, m->provs[i]);
		if (flush_piece(s, e) < 0)
			return -1;
		s->prov_at[i] = out_tell(s->to);
		if (out_zeros(s->to, m->provs[i]) < 0)
			return -1;
	}
	for (i = 0; i < m->signatures; i++) {
		snprintf(number, sizeof number, "%zu", i);
		put_bytes_key(&s->piece, GGUF_SIGN, number, sign);
		if (flush_piece(s, e) < 0)
			return -1;
		s->sign_at[i] = out_tell(s->to);
		if (out_zeros(s->to, sign) < 0)
			return -1;
	}
	return 0;
}

/* Write the keys after the metadata whose size follows from the plan. */
static int
put_fixed(struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	if (s->fixed_done)
		return 0;
	s->fixed_done = true;
	if (s->alignment_at == m->meta_count)
		put_alignment(s, &s->piece);
	put_split(s, &s->piece);
	for (i = 0; i < m->tensor_count; i++)
		if (gguf_is_scaled(m->tensors[i]))
			gguf_put_scale_keys(s, i);
		else if (gguf_is_foreign(m->tensors[i]))
			put_carriers(m->tensors[i], &s->piece);
	return flush_piece(s, e) < 0 ? -1 : put_late_keys(s, e);
}

/* Write the index in the order of the data, which readers prefer. Only a model that came from
 * a GGUF file with another order keeps that order. */
static int
put_index(struct gguf_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	json_t *list = model_source_is(m, format_gguf.name)
		? json_object_get(m->source, "index_order") : NULL;
	size_t i, *order = model_order(list, m->tensor_count, e);
	uint64_t data;
	int r = order ? 0 : -1;

	for (i = 0; r == 0 && i < m->tensor_count; i++) {
		put_entry(m->tensors[order[i]], s->offsets[order[i]], &s->piece);
		r = flush_piece(s, e);
	}
	free(order);
	if (r < 0)
		return -1;
	s->header_done = true;
	s->header_bytes = out_tell(s->to);
	if (num_align(s->header_bytes, s->alignment, &data) < 0 ||
	    num_add(data, s->data_bytes, &s->data_bytes) < 0)
		return err_set(e, ERR_INVALID, s->out.name, "its size does not fit in 64 bits");
	if (m->tensor_count == 0)
		return 0;
	s->header_bytes = data;
	return out_zeros(s->to, data - out_tell(s->to));
}

/* Write apr.reserve: the header ends where the data begins, so only a key can keep room. */
static int
put_reserve(struct gguf_sink *s, struct err *e)
{
	if (s->options.reserve == 0)
		return 0;
	put_bytes_key(&s->piece, GGUF_RESERVE, "", s->options.reserve);
	return flush_piece(s, e) < 0 ? -1 : out_zeros(s->to, s->options.reserve);
}

/* Write the rest of the header. All blobs have come by now. */
static int
finish_header(struct gguf_sink *s, struct err *e)
{
	if (s->header_done)
		return 0;
	return put_fixed(s, e) < 0 || put_reserve(s, e) < 0 ? -1 : put_index(s, e);
}

/* ---- notes ---- */

/* Warn if other programs cannot load the file. A model from a GGUF file needs no warning. */
static void
say_loadable(const struct gguf_sink *s)
{
	const struct model *m = s->whole;

	if (s->sink.note && s->split.number == 0 && m->tensor_count > 0 &&
	    !model_source_is(m, format_gguf.name) && !model_find(m, "general.architecture"))
		s->sink.note("other programs cannot load this file: the model has no "
		             "general.architecture, and its names and keys are not those of GGUF");
}

static void
say_foreign(const struct gguf_sink *s)
{
	uint64_t foreign = 0;
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++)
		foreign += gguf_is_foreign(s->plan->tensors[i]);
	sink_tell(&s->sink, "tensors stored as I8, because GGUF does not have their type",
	          foreign);
}

/* ---- the verbs ---- */

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	s->plan = plan;
	if (!s->whole)
		s->whole = plan;
	if (gguf_lay_out(s, e) < 0)
		return -1;
	if (out_reserve(&s->out, model_space(plan, s->data_bytes)) < 0 || gguf_scales_begin(s, e) < 0)
		return -1;
	say_loadable(s);
	say_foreign(s);
	buf_text(&s->piece, "GGUF");
	buf_u32(&s->piece, GGUF_VERSION);
	buf_u64(&s->piece, plan->tensor_count);
	buf_u64(&s->piece, gguf_count_keys(s));
	return flush_piece(s, e) < 0 ? -1 : put_metadata(s, e);
}

static int
put_blob(struct sink *sink, const struct item *item, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;
	const struct blob *b = s->blob = &s->plan->blobs[item->index];

	if (strcmp(b->type, MODEL_VALUE) == 0) {
		s->now = VALUE; /* its key is written already */
		return 0;
	}
	if (s->options.plain)
		return 0;
	s->now = SIDE_FILE;
	if (put_fixed(s, e) < 0)
		return -1;
	put_bytes_key(&s->piece, GGUF_BLOB, b->name, b->bytes);
	return flush_piece(s, e);
}

static int
put_licence(struct sink *sink, const struct item *item, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	(void)item;
	if (s->options.plain)
		return 0;
	s->now = PLAIN;
	if (put_fixed(s, e) < 0)
		return -1;
	put_bytes_key(&s->piece, GGUF_LICENCE, "", s->plan->licence);
	return flush_piece(s, e);
}

static int
put_tensor(struct sink *sink, const struct item *item, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;
	size_t i = item->index;

	s->now = PLAIN;
	if (finish_header(s, e) < 0)
		return -1;
	if (gguf_is_scaled(s->plan->tensors[i]))
		gguf_scaled_begin(s, i);
	return out_zeros(s->to, s->header_bytes + s->offsets[i] - out_tell(s->to));
}

static int
patch(struct gguf_sink *s, const void *p, size_t n)
{
	if (out_patch(s->to, s->late, p, n) < 0)
		return -1;
	s->late += n;
	return 0;
}

static int
put_late(struct sink *sink, const struct item *item, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	/* prov_at and sign_at are known once the header is written; a model without tensors
	 * gets its header only now. */
	if (finish_header(s, e) < 0)
		return -1;
	if (s->options.plain)
		return 0;
	s->now = LATE;
	s->late = (item->kind == ITEM_PROV ? s->prov_at : s->sign_at)[item->index];
	return patch(s, item->head, item->head_bytes);
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	static const struct container_puts puts = { .title = "GGUF", .blob = put_blob,
		.licence = put_licence, .tensor = put_tensor, .late = put_late };

	((struct gguf_sink *)sink)->now = DROPPED;
	return container_put(sink, &puts, item, e);
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	switch (s->now) {
	case DROPPED:
		return 0;
	case LATE:
		return patch(s, p, n);
	case SCALED:
		return gguf_scaled_write(s, p, n, e);
	case VALUE:
	case SIDE_FILE:
	case PLAIN:
		break;
	}
	return out_put(s->to, p, n);
}

static int
zeros(struct sink *sink, uint64_t n, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	return s->now == PLAIN ? out_hole(s->to, n) : sink_write_zeros(sink, n, e);
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	if (s->now == VALUE)
		return put_metadata(s, e);
	if (s->now == SIDE_FILE) {
		gguf_put_key(&s->piece, GGUF_TYPE, s->blob->name, VALUE_STRING);
		put_text(&s->piece, s->blob->type, strlen(s->blob->type));
		return flush_piece(s, e);
	}
	return 0;
}

/* Write everything except the prov and sign frames. */
static int
finish(struct gguf_sink *s, struct err *e)
{
	uint64_t at, padded;

	if (finish_header(s, e) < 0)
		return -1;
	if (s->finished || !s->end_padded)
		return 0;
	s->finished = true;
	at = out_tell(s->to);
	if (num_align(at, s->alignment, &padded) < 0)
		return err_set(e, ERR_INVALID, s->out.name, "its size does not fit");
	return out_zeros(s->to, padded - at);
}

static int
end(struct sink *sink, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	if (finish(s, e) < 0)
		return -1;
	if (s->to != &s->out && late_file_copy(&s->completed, &s->out, e) < 0)
		return -1;
	return out_finish(&s->out);
}

static void
close_sink(struct sink *sink)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	out_abandon(&s->out);
	late_file_close(&s->completed);
	free(s->offsets);
	free(s->prov_at);
	free(s->sign_at);
	free(s->scale_at);
	buf_free(&s->piece);
	free(s);
}

struct sink *
gguf_create(struct out *o, const struct format_options *options, struct err *e)
{
	static const struct gguf_split one = { 0, 0, 0 };

	return gguf_create_shard(o, options, NULL, &one, NULL, e);
}

struct sink *
gguf_create_shard(struct out *o, const struct format_options *options,
                  const struct model *whole, const struct gguf_split *split,
                  json_t *order, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink,
		.zeros = zeros };
	struct gguf_sink *s = container_new(sizeof *s, &ops, o, e);

	if (!s)
		return NULL;
	s->out = *o;
	s->to = &s->out;
	s->completed.fd = -1;
	s->options = *options;
	s->whole = whole;
	s->split = *split;
	s->order = order;
	return &s->sink;
}

int
gguf_settle(struct sink *sink, struct err *e)
{
	struct gguf_sink *s = (struct gguf_sink *)sink;

	return finish(s, e) < 0 ? -1 : out_settle(&s->out);
}

void
gguf_rename(struct sink *sink, const char *path)
{
	((struct gguf_sink *)sink)->out.path = path;
}
