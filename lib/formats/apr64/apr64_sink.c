#include "formats/apr64/apr64_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/late.h"

#define PIECE (1u << 16)

static int
too_large(struct apr64_sink *s, struct err *e)
{
	return err_set(e, ERR_INVALID, s->out.name, "its size does not fit in 64 bits");
}

/* The CRC of the bytes written since the last call. */
static uint32_t
cut_crc(struct apr64_sink *s)
{
	uint32_t crc = s->out.crc;

	s->out.crc = 0;
	return crc;
}

/* ---- index and header ---- */

/* True for a tensor of such a file that travelled as bytes because its rows do not fill
 * blocks. *code, dims and *ndim become those of the original entry. */
static bool
as_it_was(const struct apr64_sink *s, const struct tensor *t, uint8_t *code,
          uint64_t dims[TENSOR_DIMS], unsigned *ndim)
{
	json_t *all = s->from_apr64 ? json_object_get(s->plan->source, APR64_BLOCKS_MEMBER)
	                            : NULL;
	const json_t *row = json_object_get(all, tensor_name(t)), *list;
	const struct dtype *type;
	uint64_t v;
	size_t i;

	list = json_array_get(row, 1);
	if (strcmp(tensor_type(t)->name, "U8") != 0 || tensor_ndim(t) != 1 ||
	    json_value_u64(json_array_get(row, 0), &v) < 0 || v > UINT8_MAX ||
	    !json_is_array(list) || json_array_size(list) > TENSOR_DIMS)
		return false;
	*ndim = (unsigned)json_array_size(list);
	*code = (uint8_t)v;
	for (i = 0; i < *ndim; i++)
		if (json_value_u64(json_array_get(list, i), &dims[i]) < 0)
			return false;
	return apr64_type(*code, *ndim, dims, tensor_bytes(t), false, &type) == 1;
}

static void
put_entry(const struct apr64_sink *s, size_t i, struct buf *b)
{
	const struct tensor *t = s->plan->tensors[i];
	size_t n = strlen(tensor_name(t));
	uint64_t dims[TENSOR_DIMS];
	unsigned d, ndim;
	uint8_t code;

	if (!as_it_was(s, t, &code, dims, &ndim)) {
		bool foreign = apr64_is_foreign(t);

		code = (uint8_t)apr64_code(foreign ? dtype_by_name("U8") : tensor_type(t));
		ndim = foreign ? 1 : tensor_ndim(t);
		if (foreign)
			dims[0] = tensor_bytes(t);
		else if (ndim)
			memcpy(dims, tensor_dims(t), ndim * sizeof *dims);
	}
	buf_u16(b, (uint16_t)n);
	buf_put(b, tensor_name(t), n);
	buf_u8(b, code);
	buf_u8(b, (uint8_t)ndim);
	for (d = 0; d < ndim; d++)
		buf_u64(b, dims[d]);
	buf_u64(b, s->offsets[i]);
	buf_u64(b, tensor_bytes(t));
}

static uint16_t
choose_flags(const struct apr64_sink *s)
{
	uint64_t had;
	unsigned flags = APR64_ROW_MAJOR;

	if (s->from_apr64 && model_source_u64(s->plan, APR64_FLAGS_MEMBER, &had) == 0)
		flags |= (unsigned)had & APR64_TELL;
	else if (s->vocabulary && !s->from_apr64)
		flags |= APR64_VOCAB;
	return (uint16_t)flags;
}

static void
fill_header(const struct apr64_sink *s, uint64_t index_at, uint8_t p[APR64_HEADER])
{
	memset(p, 0, APR64_HEADER);
	memcpy(p, "APR\0", 4);
	p[4] = APR64_MAJOR;
	le16_put(p + 6, choose_flags(s));
	le32_put(p + 8, (uint32_t)s->plan->tensor_count);
	le64_put(p + 12, APR64_HEADER);
	le32_put(p + 20, (uint32_t)s->text.bytes);
	le64_put(p + 24, index_at);
	le64_put(p + 32, s->data_at);
	le32_put(p + 40, crc32_add(crc32_add(0, p, 40), p + 44, APR64_HEADER - 44));
}

/* ---- everything before the data ---- */

static int
copy_text(struct apr64_sink *s, uint64_t from, uint64_t to, struct err *e)
{
	uint8_t raw[PIECE];
	size_t n;

	for (; from < to; from += n) {
		n = (size_t)num_min(to - from, sizeof raw);
		if (spool_get(&s->text, from, raw, n, e) < 0 || out_put(&s->out, raw, n) < 0)
			return -1;
	}
	return 0;
}

/* Write the metadata. The content of its rooms, and so its CRC, is not known yet. */
static int
write_text(struct apr64_sink *s, struct err *e)
{
	uint64_t done = 0, began = 0;
	size_t i;

	for (i = 0; i < s->room_count; i++) {
		struct apr64_room *room = &s->rooms[i];

		if (copy_text(s, done, room->at, e) < 0)
			return -1;
		room->before = out_tell(&s->out) - began;
		room->before_crc = cut_crc(s);
		done = room->at + room->length;
		if (copy_text(s, room->at, done, e) < 0)
			return -1;
		cut_crc(s);
		began = out_tell(&s->out);
	}
	return copy_text(s, done, s->text.bytes, e);
}

static int
too_long(struct apr64_sink *s, uint64_t bytes, struct err *e)
{
	err_set(e, ERR_INVALID, s->out.name, "its metadata would have %" PRIu64
	        " bytes, at most %u are read from such files", bytes, APR64_METADATA_MAX);
	return err_hint(e, "side files and long values lie there: --plain leaves them out, "
	                "-t apr2 holds them");
}

static int
pad(struct apr64_sink *s)
{
	return out_zeros(&s->out, -out_tell(&s->out) % APR64_ALIGN);
}

static int
write_head(struct apr64_sink *s, const struct buf *index, struct err *e)
{
	uint8_t header[APR64_HEADER];
	uint64_t index_at, bytes;

	if (num_align(APR64_HEADER + s->text.bytes, APR64_ALIGN, &index_at) < 0 ||
	    num_add(index_at, index->n, &s->data_at) < 0 ||
	    num_align(s->data_at, APR64_ALIGN, &s->data_at) < 0 ||
	    num_add(s->data_at, s->data_bytes, &bytes) < 0 ||
	    num_add(bytes, APR64_FOOTER, &bytes) < 0)
		return too_large(s, e);
	fill_header(s, index_at, header);
	if (out_reserve(&s->out, bytes) < 0 || out_put(&s->out, header, sizeof header) < 0 ||
	    write_text(s, e) < 0 || pad(s) < 0 || out_put(&s->out, index->p, index->n) < 0)
		return -1;
	return pad(s);
}

/* Write everything before the data. Blobs and licence have come by now. */
static int
finish_head(struct apr64_sink *s, struct err *e)
{
	struct buf index = { 0 };
	size_t i;
	int r;

	if (s->head_done)
		return 0;
	s->head_done = true;
	if (apr64_make_text(s, e) < 0)
		return -1;
	if (s->text.bytes > APR64_METADATA_MAX)
		return too_long(s, s->text.bytes, e);
	for (i = 0; i < s->plan->tensor_count; i++)
		put_entry(s, s->by_name[i], &index);
	r = buf_ok(&index) ? write_head(s, &index, e) : err_memory(e);
	buf_free(&index);
	spool_free(&s->text);
	spool_free(&s->kept);
	return r;
}

/* ---- refusals and notes ---- */

static int
check_tensor(const struct apr64_sink *s, const struct tensor *t, struct err *e)
{
	size_t n = strlen(tensor_name(t));

	if (n > APR64_NAME)
		return err_set(e, ERR_INVALID, tensor_name(t), "a name of %zu bytes, %s has at "
		               "most %d", n, format_apr64.name, APR64_NAME);
	if (apr64_is_foreign(t) && s->options.plain) {
		err_set(e, ERR_INVALID, tensor_name(t), "%s has no type %s, and --plain forbids a "
		        "carrier", format_apr64.name, tensor_type(t)->name);
		return err_hint(e, "it has F32, F16, BF16, Q4_K, Q6_K, APR_Q4 and APR_Q8: "
		                "apr-quant makes them");
	}
	return 0;
}

static int
place_tensors(struct apr64_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t foreign = 0;
	size_t i;

	s->offsets = mem_array(m->tensor_count, sizeof *s->offsets);
	if (!s->offsets)
		return err_memory(e);
	if (m->tensor_count > UINT32_MAX)
		return too_large(s, e);
	for (i = 0; i < m->tensor_count; i++) {
		if (check_tensor(s, m->tensors[i], e) < 0)
			return -1;
		foreign += apr64_is_foreign(m->tensors[i]);
		s->offsets[i] = s->data_bytes;
		if (num_add(s->data_bytes, tensor_bytes(m->tensors[i]), &s->data_bytes) < 0 ||
		    num_align(s->data_bytes, APR64_ALIGN, &s->data_bytes) < 0)
			return too_large(s, e);
	}
	sink_tell(&s->sink, "tensors stored as U8, because readers of such files share no code "
	          "for their type", foreign);
	return 0;
}

/* Check that the minimum size of the metadata is allowed. */
static int
check_length(struct apr64_sink *s, struct err *e)
{
	const struct model *m = s->plan;
	uint64_t least = 0;
	size_t i;

	for (i = 0; i < m->blob_count; i++)
		if (!s->options.plain && num_add(least, m->blobs[i].bytes, &least) < 0)
			return too_large(s, e);
	return least > APR64_METADATA_MAX ? too_long(s, least, e) : 0;
}

static void
say_plain(const struct apr64_sink *s)
{
	const struct model *m = s->plan;
	uint64_t typed = 0, files = 0;
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		typed += m->meta[i].type.leaf != VALUE_JSON || m->meta[i].type.depth;
	for (i = 0; i < m->blob_count; i++)
		files += strcmp(m->blobs[i].type, MODEL_VALUE) != 0;
	sink_tell(&s->sink, "typed metadata keys left out", typed);
	sink_tell(&s->sink, "side files left out", files);
	sink_tell(&s->sink, "signatures left out", m->signatures);
}

/* ---- the verbs ---- */

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;

	s->plan = plan;
	s->from_apr64 = model_source_is(plan, format_apr64.name);
	if (s->options.align && s->options.align != APR64_ALIGN)
		return err_set(e, ERR_USAGE, s->out.name, "%s aligns tensors to 64 bytes, not %u",
		               format_apr64.name, s->options.align);
	s->blobs = mem_array(plan->blob_count, sizeof *s->blobs);
	if (!s->blobs)
		return err_memory(e);
	if (!s->options.plain &&
	    late_refuse(&s->out, plan, "the metadata of an apr2-64 file", e) < 0)
		return -1;
	if (place_tensors(s, e) < 0 || check_length(s, e) < 0 ||
	    !(s->by_name = model_tensors_by_name(plan, e)))
		return -1;
	if (s->options.plain)
		say_plain(s);
	return 0;
}

static int
put_late(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;

	/* If there are no tensors, the metadata with the rooms is not yet written. */
	if (finish_head(s, e) < 0)
		return -1;
	if (item->kind == ITEM_PROV)
		s->prov++;
	else
		s->sign++;
	if (s->options.plain)
		return 0;
	s->body.to = CONTAINER_LATE;
	s->room = item->index + (item->kind == ITEM_SIGN ? s->plan->prov_count : 0);
	return late_begin(&s->body.late, item, e);
}

static int
keep(struct apr64_sink *s, struct apr64_kept *k)
{
	container_keep(&s->body, &s->kept, &k->at, &k->bytes);
	return 0;
}

static int
put_blob(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;
	bool is_value = strcmp(s->plan->blobs[item->index].type, MODEL_VALUE) == 0;

	(void)e;
	return s->options.plain && !is_value ? 0 : keep(s, &s->blobs[item->index]);
}

static int
put_licence(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;

	(void)item;
	(void)e;
	return s->options.plain ? 0 : keep(s, &s->licence);
}

static int
put_tensor(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;

	s->body.to = CONTAINER_OUT;
	if (finish_head(s, e) < 0)
		return -1;
	return out_zeros(&s->out, s->data_at + s->offsets[item->index] - out_tell(&s->out));
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	static const struct container_puts puts = { .title = "apr2-64", .blob = put_blob,
		.licence = put_licence, .tensor = put_tensor, .late = put_late };

	((struct apr64_sink *)sink)->body.to = CONTAINER_DROPPED;
	return container_put(sink, &puts, item, e);
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;

	return container_write(&s->body, &s->out, p, n, e);
}

/* End an item: write a record or signature into its room. */
static int
put_end(struct sink *sink, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;
	struct apr64_room *room;

	if (s->body.to != CONTAINER_LATE)
		return 0;
	room = &s->rooms[s->room];
	return late_put(&s->out, &s->body.late, APR64_HEADER + room->at, room->length, &room->crc, e);
}

static uint32_t
file_crc(const struct apr64_sink *s)
{
	uint64_t rest = out_tell(&s->out);
	uint32_t crc = 0;
	size_t i;

	for (i = 0; i < s->room_count; i++) {
		const struct apr64_room *room = &s->rooms[i];

		crc = crc32_join(crc, room->before_crc, room->before);
		crc = crc32_join(crc, room->crc, room->length);
		rest -= room->before + room->length;
	}
	return crc32_join(crc, s->out.crc, rest);
}

static int
end(struct sink *sink, struct err *e)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;
	uint8_t p[APR64_FOOTER];

	if (finish_head(s, e) < 0 || pad(s) < 0)
		return -1;
	if (s->prov != s->plan->prov_count || s->sign != s->plan->signatures)
		return err_set(e, ERR_CORRUPT, s->out.name, "what comes contradicts the plan: a "
		               "record or signature is missing");
	le32_put(p, file_crc(s));
	return out_put(&s->out, p, sizeof p) < 0 ? -1 : out_finish(&s->out);
}

static void
close_sink(struct sink *sink)
{
	struct apr64_sink *s = (struct apr64_sink *)sink;

	out_abandon(&s->out);
	spool_free(&s->kept);
	spool_free(&s->text);
	buf_free(&s->b);
	buf_free(&s->body.late);
	free(s->blobs);
	free(s->member);
	free(s->by_name);
	free(s->rooms);
	free(s->offsets);
	free(s);
}

struct sink *
apr64_create(struct out *o, const struct format_options *options, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink };
	struct apr64_sink *s = container_new(sizeof *s, &ops, o, e);

	if (!s)
		return NULL;
	s->out = *o;
	s->out.crc_on = true;
	s->options = *options;
	return &s->sink;
}
