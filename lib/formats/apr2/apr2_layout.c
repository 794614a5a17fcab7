#include "formats/apr2/apr2_writer.h"

#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "stream/frame.h"
#include "stream/plan.h"

int
apr2_too_large(const struct apr2_sink *s, struct err *e)
{
	return err_set(e, ERR_FORMAT, s->out.name, "the size of the file overflows");
}

static unsigned
choose_alignment(const struct apr2_sink *s)
{
	uint64_t a;

	if (s->options.align)
		return s->options.align;
	if (model_source_u64(s->plan, APR2_ALIGNMENT_MEMBER, &a) == 0 && a == 32)
		return 32;
	if (model_source_is(s->plan, format_apr2.name) &&
	    model_source_u64(s->plan, "alignment", &a) == 0 && a == 32)
		return 32;
	return 64;
}

/* Place the tensors in stream order. data_bytes becomes the end of the last one. */
static int
place_tensors(struct apr2_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t end = 0, head;
	size_t i;

	for (i = 0; i < m->tensor_count; i++) {
		struct apr2_place *at = &s->places[i];

		item_sizes(m, ITEM_TENSOR, i, &head, &at->stored);
		at->flags = m->sealed ? APR2_SEALED : 0;
		if (num_align(end, s->alignment, &at->offset) < 0 ||
		    num_add(at->offset, at->stored, &end) < 0)
			return apr2_too_large(s, e);
	}
	s->data_bytes = end;
	return 0;
}

static int
build_entry(struct apr2_sink *s, size_t i, struct err *e)
{
	const struct tensor *t = s->plan->tensors[i];
	const struct apr2_place *at = &s->places[i];
	size_t n = strlen(tensor_name(t));
	int code = apr2_type_code(tensor_type(t));
	unsigned d;

	if (code == DTYPE_NONE)
		return err_set(e, ERR_FORMAT, tensor_name(t), "APR2 has no code for type %s: ExportFailed",
		               tensor_type(t)->name);
	buf_u16(&s->index, (uint16_t)n);
	buf_put(&s->index, tensor_name(t), n);
	buf_u8(&s->index, (uint8_t)code);
	buf_u8(&s->index, (uint8_t)tensor_ndim(t));
	for (d = 0; d < tensor_ndim(t); d++)
		buf_u64(&s->index, tensor_dims(t)[d]);
	buf_u64(&s->index, at->offset);
	buf_u64(&s->index, at->stored);
	buf_u64(&s->index, at->flags ? tensor_bytes(t) : 0);
	buf_u32(&s->index, at->flags);
	return 0;
}

int
apr2_fill_index(struct apr2_sink *s, struct err *e)
{
	size_t i;

	if (s->plan->tensor_count > UINT32_MAX)
		return apr2_too_large(s, e);
	buf_clear(&s->index);
	buf_u32(&s->index, (uint32_t)s->plan->tensor_count);
	buf_u32(&s->index, 0);
	for (i = 0; i < s->plan->tensor_count; i++)
		if (build_entry(s, s->by_name[i], e) < 0)
			return -1;
	return buf_ok(&s->index) ? 0 : err_memory(e);
}

/* Add the size of a frame to *at. */
static int
add_frame(uint64_t *at, uint64_t head, uint64_t body)
{
	uint64_t n;

	return frame_size(head, body, &n) < 0 ? -1 : num_add(*at, n, at);
}

/* Add the size of an item's frame to *at. */
static int
add_item(const struct apr2_sink *s, uint64_t *at, enum item_kind kind, size_t index,
         struct err *e)
{
	struct buf text = { 0 };
	uint64_t head, body;
	int r = 0;

	item_sizes(s->plan, kind, index, &head, &body);
	if (kind == ITEM_SIGN && !s->plan->sealed)
		body = model_sign_body(s->whole);
	if (item_is_sealed(s->plan, kind, index))
		r = plan_seal_head(s->plan, kind, index, &text);
	else if (kind == ITEM_BLOB)
		r = plan_blob_head(&s->plan->blobs[index], &text);
	if (text.n)
		head = text.n;
	buf_free(&text);
	if (r < 0)
		return err_memory(e);
	return add_frame(at, head, body) < 0 ? apr2_too_large(s, e) : 0;
}

/* Compute the offset of the data, from at, the end of the index, past blobs and licence. */
static int
place_data(struct apr2_sink *s, uint64_t at, struct err *e)
{
	const struct model *m = s->plan;
	size_t i;

	if (m->sealed && add_item(s, &at, ITEM_SKEY, 0, e) < 0)
		return -1;
	for (i = s->meta.span_count; i < m->blob_count; i++)
		if (add_item(s, &at, ITEM_BLOB, i, e) < 0)
			return -1;
	if ((m->licence != MODEL_NONE && add_frame(&at, 2, m->licence) < 0) ||
	    num_align(at, APR2_BOUNDARY, &at) < 0)
		return apr2_too_large(s, e);
	if (at > UINT32_MAX)
		return err_set(e, ERR_FORMAT, s->out.name, "APR2 keeps its offsets in 32 bits, "
		               "but the tensor data would begin at byte %" PRIu64, at);
	s->data_at = (uint32_t)at;
	return 0;
}

int
apr2_file_bytes(const struct apr2_sink *s, uint64_t *bytes, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t at, i;

	if (num_add(s->data_at, s->data_bytes, &at) < 0 ||
	    num_align(at, APR2_BOUNDARY, &at) < 0)
		return apr2_too_large(s, e);
	if (m->tensor_count &&
	    add_frame(&at, strlen(APR2_SUMS_HEAD), 4 * (uint64_t)m->tensor_count) < 0)
		return apr2_too_large(s, e);
	for (i = 0; i < m->prov_count; i++)
		if (add_item(s, &at, ITEM_PROV, i, e) < 0)
			return -1;
	for (i = 0; i < m->signatures; i++)
		if (add_item(s, &at, ITEM_SIGN, i, e) < 0)
			return -1;
	return num_add(at, APR2_FOOTER, bytes) < 0 ? apr2_too_large(s, e) : 0;
}

static uint32_t
choose_flags(const struct apr2_sink *s)
{
	uint32_t flags = APR2_STREAMING;
	size_t i;

	flags |= s->alignment == 32 ? APR2_ALIGNED_32 : APR2_ALIGNED_64;
	if (s->is_shard)
		flags |= APR2_SHARDED;
	if (s->plan->signatures)
		flags |= APR2_SIGNED;
	if (s->plan->sealed)
		flags |= APR2_ENCRYPTED;
	for (i = 0; i < s->plan->tensor_count; i++) {
		if (tensor_type(s->plan->tensors[i])->quantized)
			flags |= APR2_QUANTIZED;
		if (s->places[i].flags & APR2_CODECS)
			flags |= APR2_COMPRESSED;
	}
	if (model_source_is(s->plan, "gguf"))
		flags |= APR2_GGUF_SRC;
	if (model_source_is(s->plan, "safetensors"))
		flags |= APR2_SAFETENSORS_SRC;
	return flags;
}

void
apr2_fill_header(struct apr2_sink *s)
{
	uint8_t *p = s->header;

	memcpy(p, "APR2", 4);
	le16_put(p + 4, APR2_MAJOR);
	le16_put(p + 6, APR2_MINOR);
	le32_put(p + 8, choose_flags(s));
	le32_put(p + 12, APR2_HEADER);
	le32_put(p + 16, s->index_at - APR2_HEADER);
	le32_put(p + 20, s->index_at);
	le32_put(p + 24, s->index_bytes);
	le32_put(p + 28, s->data_at);
}

int
apr2_lay_out(struct apr2_sink *s, struct err *e)
{
	size_t n = s->plan->tensor_count;
	uint64_t at;

	s->alignment = choose_alignment(s);
	if (s->alignment != 32 && s->alignment != 64) {
		err_set(e, ERR_USAGE, s->out.name, "APR2 aligns tensors to 32 or 64 bytes, not %u",
		        s->alignment);
		return err_hint(e, "-t gguf takes any power of two up to 65536");
	}
	s->by_name = model_tensors_by_name(s->plan, e);
	if (!s->by_name)
		return -1;
	s->places = mem_array(n, sizeof *s->places);
	if (!s->places)
		return err_memory(e);
	if (apr2_meta_write(&s->meta, s->plan, s->whole, s->by_name, s->alignment, e) < 0)
		return -1;
	s->meta.reserve = s->options.reserve;
	if (num_add(s->meta.bytes, s->meta.reserve, &s->meta.bytes) < 0)
		return apr2_too_large(s, e);
	if (s->meta.bytes > APR2_METADATA_MAX)
		return err_set(e, ERR_FORMAT, s->out.name, "metadata of %" PRIu64
		               " bytes exceeds the 256 MiB that readers take", s->meta.bytes);
	if (s->plan->sealed && s->options.codec)
		return err_set(e, ERR_USAGE, s->out.name, "what is sealed does not get shorter");
	if (!apr2_packs(s) && place_tensors(s, e) < 0)
		return -1;
	if (apr2_fill_index(s, e) < 0)
		return -1;
	if (num_add(APR2_HEADER + s->meta.bytes, s->index.n, &at) < 0)
		return apr2_too_large(s, e);
	if (place_data(s, at, e) < 0)
		return -1;
	/* Both come before the data, whose offset is known to fit. */
	s->index_at = (uint32_t)(APR2_HEADER + s->meta.bytes);
	s->index_bytes = (uint32_t)s->index.n;
	return 0;
}
