#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/lz4_block.h"
#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/apr1/apr1_writer.h"

/* ---- payloads of other programs ---- */

static struct apr1_found
find(void *ctx, const char *name)
{
	const struct apr1_sink *s = ctx;
	size_t low = 0, high = s->plan->tensor_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2, i = s->by_name[middle];
		int r = strcmp(tensor_name(s->plan->tensors[i]), name);

		if (r == 0)
			return (struct apr1_found){ s->plan->tensors[i], s->p + s->tensors[i].at };
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct apr1_found){ NULL, NULL };
}

static bool
is_opaque(const struct model *m)
{
	const struct tensor *t = m->tensor_count == 1 ? m->tensors[0] : NULL;

	return t && strcmp(tensor_name(t), APR1_OPAQUE_NAME) == 0 && tensor_ndim(t) == 1 &&
	       strcmp(tensor_type(t)->name, "U8") == 0;
}

/* Make the payload that the key apr1.payload names. 1 if the tensors fit it. */
static int
make_foreign(struct apr1_sink *s, struct err *e)
{
	const struct meta *k = model_find(s->plan, APR1_PAYLOAD_KEY);
	const struct apr1_layout *l;
	char name[64], why[256], text[400];
	const char *value = NULL;
	size_t n = 0;
	int r;

	if (k && k->wire)
		value = value_string(k->type, k->wire, k->wire_bytes, &n);
	if (!value || s->aligned || s->chunked)
		return 0;
	snprintf(name, sizeof name, "%.*s", (int)num_min(n, 63), value);
	if (strcmp(name, APR1_OPAQUE) == 0 && is_opaque(s->plan)) {
		s->payload = APR1_OPAQUE;
		s->stored = s->p + s->tensors[0].at;
		s->stored_bytes = s->tensors[0].bytes;
		return 1;
	}
	l = apr1_layout_by_name(name);
	r = l ? apr1_wrap(l, find, s, s->plan->tensor_count, &s->made, why, e) : 0;
	if (r != 0) {
		s->payload = l ? l->name : NULL;
		return r;
	}
	spool_free(&s->made);
	if (l && s->sink.note) {
		snprintf(text, sizeof text, "its tensors no longer have the layout %s, and become records: %s",
		         l->name, why);
		s->sink.note(text);
	}
	return 0;
}

/* ---- records ---- */

static void
put_text(struct buf *b, const char *s)
{
	buf_u64(b, strlen(s));
	buf_text(b, s);
}

/* Ids of quantized types: v1 1.7.0 section 6.2.2. 0 is an addition of the apr tools, for types
 * that are not quantized. */
static uint8_t
quant_id(const struct dtype *t)
{
	static const struct {
		const char *type;
		uint8_t id;
	} ids[] = { { "Q8_0", 1 }, { "Q4_0", 2 }, { "Q4_1", 3 }, { "Q8_TENSOR", 0x10 } };
	size_t i;

	for (i = 0; i < sizeof ids / sizeof *ids; i++)
		if (strcmp(t->name, ids[i].type) == 0)
			return ids[i].id;
	return t->quantized ? 0xff : 0;
}

static void
put_head(struct buf *b, const struct tensor *t)
{
	uint8_t id = quant_id(tensor_type(t));
	unsigned i;

	put_text(b, tensor_name(t));
	buf_u8(b, id);
	if (id == 0 || id == 0xff)
		put_text(b, tensor_type(t)->name);
	buf_u64(b, tensor_ndim(t));
	for (i = 0; i < tensor_ndim(t); i++)
		buf_u64(b, tensor_dims(t)[i]);
}

static int
flush(struct spool *to, struct buf *b, struct err *e)
{
	int r = buf_ok(b) ? apr1_spool(to, b->p, b->n, e) : err_memory(e);

	buf_clear(b);
	return r;
}

static int
put_record(struct apr1_sink *s, size_t i, struct buf *b, struct err *e)
{
	const struct tensor *t = s->plan->tensors[i];
	uint8_t id = quant_id(tensor_type(t));
	const uint8_t *p = s->p + s->tensors[i].at;
	uint64_t n = s->tensors[i].bytes, head = id == 0x10 && n > 0 ? 8 : 0;

	put_head(b, t);
	buf_u64(b, n - head);
	if (flush(&s->made, b, e) < 0 || apr1_spool(&s->made, p + head, n - head, e) < 0)
		return -1;
	if (id == 0x10 && n == 0)
		buf_u64(b, 0); /* an empty tensor does not have a scale; a record does */
	else if (id == 0x10)
		buf_put(b, p, head);
	else if (id)
		buf_u64(b, tensor_type(t)->items);
	return flush(&s->made, b, e);
}

static int
make_records(struct apr1_sink *s, struct err *e)
{
	struct buf b = { 0 };
	size_t i;
	int r = 0;

	buf_u64(&b, s->plan->tensor_count);
	r = flush(&s->made, &b, e);
	for (i = 0; r == 0 && i < s->plan->tensor_count; i++)
		r = put_record(s, i, &b, e);
	buf_free(&b);
	return r;
}

int
apr1_make_payload(struct apr1_sink *s, struct err *e)
{
	int r = make_foreign(s, e);

	if (r < 0)
		return -1;
	if (r == 0)
		s->payload = APR1_RECORDS;
	/* A payload with an index is made later, once its offset in the file is known. */
	if (r == 0 && !s->aligned && !s->chunked && make_records(s, e) < 0)
		return -1;
	if (s->stored || s->aligned || s->chunked)
		return 0;
	s->stored_bytes = s->made.bytes;
	return spool_view(&s->made, &s->stored, e);
}

/* ---- compression ---- */

static int
pack_zstd(const uint8_t *p, uint64_t n, int level, struct spool *to, struct err *e)
{
	struct encoder *x = encoder_new(&codec_zstd, level, e);
	struct buf b = { 0 };
	uint64_t part;
	int r = x ? encoder_begin(x, n, &b, e) : -1;

	/* An empty frame must be ended explicitly. */
	if (r == 0 && n == 0)
		r = encoder_put(x, p, 0, &b, e);
	for (; r == 0 && n > 0; n -= part, p += part) {
		part = num_min(n, CODEC_PIECE);
		r = encoder_put(x, p, (size_t)part, &b, e);
		if (r == 0)
			r = flush(to, &b, e);
	}
	if (r == 0)
		r = flush(to, &b, e);
	encoder_free(x);
	buf_free(&b);
	return r;
}

static int
pack_lz4(const uint8_t *p, uint64_t n, struct spool *to, struct err *e)
{
	struct spool block = { .secret = to->secret };
	uint64_t room = lz4_block_room(n), got;
	uint8_t size[4], *q = spool_room(&block, room, e);
	int r = -1;

	le32_put(size, (uint32_t)n);
	got = q ? lz4_block_encode(p, n, q, room, e) : 0;
	if (got > 0 && spool_put(to, size, sizeof size, e) == 0)
		r = apr1_spool(to, q, got, e);
	spool_free(&block);
	return r;
}

static int
pack(const struct apr1_sink *s, const uint8_t *p, uint64_t n, struct spool *to, struct err *e)
{
	if (s->compression != APR1_LZ4)
		return pack_zstd(p, n, s->compression == APR1_ZSTD ? APR1_ZSTD_LEVEL
		                                                   : APR1_ZSTD_MAX_LEVEL, to, e);
	if (n > LZ4_BLOCK_MOST)
		return err_set(e, ERR_INVALID, s->out.name, "a block of lz4 holds no more than 2 GiB: "
		               "-z zstd");
	return pack_lz4(p, n, to, e);
}

int
apr1_compress(struct apr1_sink *s, struct err *e)
{
	s->plain_bytes = s->stored_bytes;
	if (s->compression == APR1_RAW)
		return 0;
	if (pack(s, s->stored, s->stored_bytes, &s->packed, e) < 0)
		return -1;
	s->stored_bytes = s->packed.bytes;
	return spool_view(&s->packed, &s->stored, e);
}

/* ---- the index of chunks ---- */

/* Append the entry of a chunk; at: the offset of the chunk in the file. */
static void
put_chunk(struct apr1_sink *s, size_t i, uint64_t at, uint64_t stored, uint32_t crc,
          struct buf *b)
{
	buf_u64(b, at);
	buf_u64(b, stored);
	buf_u64(b, s->tensors[i].bytes);
	buf_u32(b, crc);
	put_head(b, s->plan->tensors[i]);
}

static uint32_t
crc_of(const uint8_t *p, uint64_t n)
{
	uint32_t crc = 0;
	uint64_t part;

	for (; n > 0; n -= part, p += part) {
		part = num_min(n, 1u << 24);
		crc = crc32_add(crc, p, (size_t)part);
	}
	return crc;
}

static uint64_t
chunk_index_bytes(struct apr1_sink *s)
{
	struct buf b = { 0 };
	uint64_t n = 4;
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++) {
		buf_clear(&b);
		put_chunk(s, i, 0, 0, 0, &b);
		n += b.n;
	}
	buf_free(&b);
	return n;
}

/* First write the chunks to s->packed, for their lengths, then the index and the chunks. */
int
apr1_make_chunks(struct apr1_sink *s, uint64_t base, struct err *e)
{
	uint64_t index = chunk_index_bytes(s), at = base + index;
	struct buf b = { 0 };
	const uint8_t *p;
	uint64_t *stored = mem_array(s->plan->tensor_count, sizeof *stored);
	size_t i, n = s->plan->tensor_count;
	int r = stored ? 0 : err_memory(e);

	s->plain_bytes = index + s->data.bytes;
	for (i = 0; r == 0 && i < n; i++) {
		stored[i] = s->packed.bytes;
		p = s->p + s->tensors[i].at;
		r = s->compression == APR1_RAW ? apr1_spool(&s->packed, p, s->tensors[i].bytes, e)
		                               : pack(s, p, s->tensors[i].bytes, &s->packed, e);
		stored[i] = s->packed.bytes - stored[i];
	}
	if (r == 0)
		r = spool_view(&s->packed, &p, e);
	buf_u32(&b, (uint32_t)n);
	for (i = 0; r == 0 && i < n; i++) {
		put_chunk(s, i, at, stored[i], crc_of(p + (at - base - index), stored[i]), &b);
		at += stored[i];
	}
	free(stored);
	if (r == 0)
		r = flush(&s->made, &b, e);
	if (r == 0)
		r = apr1_spool(&s->made, p, s->packed.bytes, e);
	buf_free(&b);
	s->stored_bytes = s->made.bytes;
	return r < 0 ? -1 : spool_view(&s->made, &s->stored, e);
}

/* ---- the tensor index ---- */

int
apr1_aligned_code(const struct tensor *t)
{
	static const char *const types[] = { "F32", "F16", "BF16", "I8", "U8" };
	int i;

	for (i = 0; i < (int)(sizeof types / sizeof *types); i++)
		if (strcmp(tensor_type(t)->name, types[i]) == 0)
			return i;
	return DTYPE_NONE;
}

/* The shape in the index: one dimension of bytes if the index lacks the type. */
static unsigned
shape_of(const struct tensor *t, uint64_t dims[TENSOR_DIMS])
{
	if (apr1_aligned_code(t) == DTYPE_NONE) {
		dims[0] = tensor_bytes(t);
		return 1;
	}
	if (tensor_ndim(t))
		memcpy(dims, tensor_dims(t), tensor_ndim(t) * sizeof *dims);
	return tensor_ndim(t);
}

/* Strides along each axis, in values. Dimensions of 0 count as 1. 0, or -1 if a stride does
 * not fit. */
static int
strides_of(unsigned ndim, const uint64_t *dims, uint64_t strides[TENSOR_DIMS])
{
	uint64_t step = 1;

	while (ndim-- > 0) {
		strides[ndim] = step;
		if (dims[ndim] > UINT32_MAX || step > UINT32_MAX ||
		    num_mul(step, dims[ndim] ? dims[ndim] : 1, &step) < 0)
			return -1;
	}
	return 0;
}

int
apr1_place_aligned(struct apr1_sink *s, struct err *e)
{
	uint64_t dims[TENSOR_DIMS], strides[TENSOR_DIMS], foreign = 0;
	size_t i;

	for (i = 0; i < s->plan->tensor_count; i++) {
		const struct tensor *t = s->plan->tensors[i];
		unsigned ndim = shape_of(t, dims);

		foreign += apr1_aligned_code(t) == DTYPE_NONE;
		if (strides_of(ndim, dims, strides) < 0)
			return err_set(e, ERR_INVALID, tensor_name(t), "its shape has numbers beyond 32 "
			               "bits, which the tensor index of apr1 has not");
	}
	sink_tell(&s->sink, "tensors stored as u8, because the tensor index has no code for "
	          "their type", foreign);
	return 0;
}

static uint64_t
hash_of(const char *p)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *p; p++)
		h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
	return h;
}

static uint8_t
hint_of(const struct apr1_sink *s, const struct tensor *t)
{
	const char *hint = format_chosen(&s->options, &apr1_options[APR1_HINT]);
	int number = hint ? apr1_backend_number(hint) : -1;
	uint64_t v;

	if (number >= 0)
		return (uint8_t)number;
	if (json_member_u64(json_object_get(s->from, APR1_FROM_HINTS), tensor_name(t), &v) < 0 ||
	    v > UINT8_MAX || !apr1_backend((uint8_t)v))
		return 0;
	return (uint8_t)v;
}

static void
put_aligned(struct apr1_sink *s, size_t i, uint64_t at, struct buf *b)
{
	const struct tensor *t = s->plan->tensors[i];
	uint64_t dims[TENSOR_DIMS], strides[TENSOR_DIMS] = { 0 };
	unsigned d, ndim = shape_of(t, dims);
	int code = apr1_aligned_code(t);

	strides_of(ndim, dims, strides);
	buf_u64(b, hash_of(tensor_name(t)));
	buf_u8(b, code == DTYPE_NONE ? 4 : (uint8_t)code);
	buf_u8(b, (uint8_t)ndim);
	for (d = 0; d < ndim; d++)
		buf_u32(b, (uint32_t)dims[d]);
	for (d = 0; d < ndim; d++)
		buf_u32(b, (uint32_t)strides[d]);
	buf_u8(b, APR1_ALIGN);
	buf_u8(b, hint_of(s, t));
	buf_u64(b, at);
	buf_u64(b, s->tensors[i].bytes);
}

static uint64_t
up(uint64_t at)
{
	return (at + APR1_ALIGN - 1) & ~(uint64_t)(APR1_ALIGN - 1);
}

int
apr1_make_aligned(struct apr1_sink *s, uint64_t base, struct err *e)
{
	size_t i, n = s->plan->tensor_count;
	uint64_t index = 4 + (s->chunked ? chunk_index_bytes(s) : 0), at;
	struct buf b = { 0 };
	int r = 0;

	for (i = 0; i < n; i++) {
		uint64_t dims[TENSOR_DIMS];

		index += 28 + 8 * (uint64_t)shape_of(s->plan->tensors[i], dims);
	}
	at = up(base + index);
	if (s->chunked)
		buf_u32(&b, (uint32_t)n);
	for (i = 0; s->chunked && i < n; i++) {
		uint64_t bytes = s->tensors[i].bytes;

		put_chunk(s, i, at, bytes, crc_of(s->p + s->tensors[i].at, bytes), &b);
		at = up(at + bytes);
	}
	at = up(base + index);
	buf_u32(&b, (uint32_t)n);
	for (i = 0; i < n; i++) {
		put_aligned(s, i, at, &b);
		at = up(at + s->tensors[i].bytes);
	}
	for (i = 0; r == 0 && i < n; i++) {
		buf_zeros(&b, (size_t)(up(base + s->made.bytes + b.n) - (base + s->made.bytes + b.n)));
		r = flush(&s->made, &b, e);
		if (r == 0)
			r = apr1_spool(&s->made, s->p + s->tensors[i].at, s->tensors[i].bytes, e);
	}
	if (r == 0)
		r = flush(&s->made, &b, e);
	buf_free(&b);
	s->stored_bytes = s->plain_bytes = s->made.bytes;
	return r < 0 ? -1 : spool_view(&s->made, &s->stored, e);
}
