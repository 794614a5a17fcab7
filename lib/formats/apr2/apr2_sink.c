#include "formats/apr2/apr2_writer.h"
#include "formats/container.h"

#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "stream/frame.h"
#include "stream/plan.h"

/* ---- the parts, in the order of the file ---- */

/* Write the metadata up to the next value that comes in a blob. */
static int
put_text(struct apr2_sink *s)
{
	const struct apr2_meta *meta = &s->meta;
	size_t to = s->span < meta->span_count ? (size_t)meta->spans[s->span].at
	                                       : meta->text.n;
	int r = out_put(s->to, meta->text.p + s->text, to - s->text);

	s->text = to;
	return r;
}

static int
out_of_order(struct apr2_sink *s, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, s->out.name, "what comes contradicts the plan: %s",
	               what);
}

/* The CRC of the bytes written since the last call. */
static uint32_t
cut_crc(struct apr2_sink *s)
{
	uint32_t crc = s->to->crc;

	s->to->crc = 0;
	return crc;
}

/* Complete metadata and index. Frames come next. */
static int
finish_head(struct apr2_sink *s, struct err *e)
{
	if (s->head)
		return 0;
	if (s->span < s->meta.span_count)
		return out_of_order(s, "a value of the metadata", e);
	s->head = true;
	if (out_fill(s->to, ' ', s->meta.reserve) < 0)
		return -1;
	s->meta_crc = cut_crc(s);
	if (out_put(s->to, s->index.p, s->index.n) < 0)
		return -1;
	s->index_crc = cut_crc(s);
	buf_free(&s->index);
	apr2_meta_free(&s->meta);
	if (!s->plan->sealed)
		return 0;
	if (!s->skey.n)
		return out_of_order(s, "SKEY", e);
	if (frame_put(s->to, "SKEY", s->skey.p, s->skey.n, 0) < 0)
		return -1;
	return frame_end(s->to, 0);
}

/* Called after blobs and licence. The data comes next. */
static int
finish_frames(struct apr2_sink *s, struct err *e)
{
	if (finish_head(s, e) < 0)
		return -1;
	if (s->blob != s->plan->blob_count ||
	    s->licence != (s->plan->licence != MODEL_NONE) ||
	    out_tell(s->to) > s->data_at)
		return out_of_order(s, "a blob or the licence", e);
	return out_zeros(s->to, s->data_at - out_tell(s->to));
}

static int
put_sums(struct apr2_sink *s)
{
	uint32_t crc = 0;
	uint8_t sum[4];
	size_t i, n = s->plan->tensor_count;

	if (frame_put(s->to, APR2_SUMS, APR2_SUMS_HEAD, strlen(APR2_SUMS_HEAD),
	              4 * (uint64_t)n) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		le32_put(sum, s->places[s->by_name[i]].crc);
		if (frame_write(s->to, &crc, sum, sizeof sum) < 0)
			return -1;
	}
	return frame_end(s->to, crc);
}

/* Called after all tensors. The frames after the data come next. */
static int
finish_data(struct apr2_sink *s, struct err *e)
{
	uint64_t here, up;

	if (s->data)
		return 0;
	if (s->tensor == 0 && finish_frames(s, e) < 0)
		return -1;
	if (s->tensor != s->plan->tensor_count)
		return out_of_order(s, "a tensor", e);
	s->data = true;
	here = out_tell(s->to);
	if (num_align(here, APR2_BOUNDARY, &up) < 0)
		return apr2_too_large(s, e);
	if (out_zeros(s->to, up - here) < 0)
		return -1;
	return s->plan->tensor_count ? put_sums(s) : 0;
}

/* ---- items ---- */

/* Keep SKEY until metadata and index are written. */
static int
put_skey(struct apr2_sink *s, const struct item *item, struct err *e)
{
	if (item->head_bytes != s->plan->sealed || item->bytes || s->skey.n || s->head ||
	    s->blob)
		return out_of_order(s, "SKEY", e);
	buf_put(&s->skey, item->head, item->head_bytes);
	return buf_ok(&s->skey) ? 0 : err_memory(e);
}

/* True if the item's body has the size that the plan announces. */
static bool
is_as_planned(const struct apr2_sink *s, const struct item *item, size_t index)
{
	uint64_t head, body;

	item_sizes(s->plan, item->kind, index, &head, &body);
	if (item->kind == ITEM_SIGN && !s->plan->sealed)
		body = model_sign_body(s->whole);
	return item->bytes == body &&
	       (item->head_bytes == head || item->kind == ITEM_BLOB || item->kind == ITEM_TENSOR);
}

/* Begin the frame of an item whose head the plan knows. */
static int
begin_frame(struct apr2_sink *s, const struct item *item, struct err *e)
{
	bool sealed = item_is_sealed(s->plan, item->kind, item->index);
	struct buf head = { 0 };
	int r;

	if (sealed)
		r = plan_seal_head(s->plan, item->kind, item->index, &head);
	else
		r = plan_blob_head(&s->plan->blobs[item->index], &head);
	if (r < 0)
		err_memory(e);
	else
		r = frame_put(s->to, sealed ? "SEAL" : "blob", head.p, head.n, item->bytes);
	buf_free(&head);
	return r;
}

static int
put_blob(struct apr2_sink *s, const struct item *item, struct err *e)
{

	if (item->index != s->blob || s->blob >= s->plan->blob_count || s->licence ||
	    s->tensor || s->data || !is_as_planned(s, item, s->blob))
		return out_of_order(s, "a blob", e);
	s->blob++;
	if (s->span < s->meta.span_count)
		return put_text(s);
	return finish_head(s, e) < 0 ? -1 : begin_frame(s, item, e);
}

static int
put_licence(struct apr2_sink *s, const struct item *item, struct err *e)
{
	if (s->licence || s->tensor || s->data || item->bytes != s->plan->licence ||
	    s->plan->licence == MODEL_NONE)
		return out_of_order(s, "the licence", e);
	s->licence = true;
	if (finish_head(s, e) < 0)
		return -1;
	return frame_put(s->to, "lice", "{}", 2, item->bytes);
}

static int
put_tensor(struct apr2_sink *s, const struct item *item, struct err *e)
{
	size_t i = s->tensor;

	if (item->index != i || i >= s->plan->tensor_count || s->data ||
	    !is_as_planned(s, item, i))
		return out_of_order(s, "a tensor", e);
	if (i == 0 && finish_frames(s, e) < 0)
		return -1;
	s->tensor++;
	if (s->packer && apr2_pack_begin(s, i, item->bytes, e) < 0)
		return -1;
	return out_zeros(s->to, s->data_at + s->places[i].offset - out_tell(s->to));
}

static int
put_headed(struct apr2_sink *s, const struct item *item, struct err *e)
{
	const struct model *m = s->plan;

	if (item->kind == ITEM_PROV) {
		if (s->sign || s->prov >= m->prov_count || !is_as_planned(s, item, s->prov))
			return out_of_order(s, "a prov frame", e);
		s->prov++;
	} else {
		if (s->sign >= m->signatures || !is_as_planned(s, item, s->sign))
			return out_of_order(s, "a sign frame", e);
		s->sign++;
	}
	if (finish_data(s, e) < 0)
		return -1;
	if (m->sealed)
		return begin_frame(s, item, e);
	return frame_put(s->to, item->kind == ITEM_PROV ? "prov" : "sign", item->head,
	                 item->head_bytes, item->bytes);
}

/* Put a frame that the plan does not announce. It is dropped before the data, because the
 * offset of the data is already written, and if its name has a meaning in APR2. */
static int
put_other(struct apr2_sink *s, const struct item *item, struct err *e)
{
	if ((s->plan->tensor_count == 0 ? !s->data : s->tensor < s->plan->tensor_count) ||
	    strcmp(item->frame, APR2_SUMS) == 0) {
		s->skip = true;
		if (!s->dropped && s->sink.note)
			s->sink.note("frames that APR2 has no place for are dropped");
		s->dropped = true;
		return 0;
	}
	if (finish_data(s, e) < 0)
		return -1;
	return frame_put(s->to, item->frame, item->head, item->head_bytes, item->bytes);
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;

	s->kind = item->kind;
	s->left = s->bytes = item->bytes;
	s->crc = 0;
	s->skip = false;
	switch (item->kind) {
	case ITEM_BLOB:
		return put_blob(s, item, e);
	case ITEM_LICENCE:
		return put_licence(s, item, e);
	case ITEM_TENSOR:
		return put_tensor(s, item, e);
	case ITEM_PROV:
	case ITEM_SIGN:
		return put_headed(s, item, e);
	case ITEM_SKEY:
		return put_skey(s, item, e);
	case ITEM_OTHER:
		break;
	}
	return put_other(s, item, e);
}

/* True while a blob goes into the metadata. */
static bool
is_value(const struct apr2_sink *s)
{
	return s->kind == ITEM_BLOB && !s->head;
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;
	int r;

	if (n > s->left)
		return out_of_order(s, "an item is longer", e);
	s->left -= n;
	if (s->skip)
		return 0;
	if (is_value(s)) {
		/* It is part of the metadata and is held until it is known to be JSON. */
		return spool_put(&s->value, p, n, e);
	}
	if (s->kind == ITEM_TENSOR && s->packer) {
		s->crc = crc32_add(s->crc, p, n);
		return apr2_pack_write(s, p, n, e);
	}
	/* The CRC of the whole body is added to the file's CRC at its end. */
	s->to->crc_on = false;
	r = frame_write(s->to, &s->crc, p, n);
	s->to->crc_on = true;
	return r;
}

static int
write_zeros(struct sink *sink, uint64_t n, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;
	int r;

	if (s->packer || s->skip || s->kind != ITEM_TENSOR)
		return sink_write_zeros(sink, n, e);
	if (n > s->left)
		return out_of_order(s, "an item is longer", e);
	s->left -= n;
	s->crc = crc32_zeros(s->crc, n);
	s->to->crc_on = false;
	r = out_hole(s->to, n);
	s->to->crc_on = true;
	return r;
}

static int
end_value(struct apr2_sink *s, struct err *e)
{
	int is = members_is_value(&s->value, 0, s->value.bytes, &apr2_rules, e);
	uint8_t piece[4096];
	uint64_t at;
	size_t n;

	if (is < 0)
		return -1;
	if (!is)
		return err_set(e, ERR_CORRUPT, s->plan->blobs[s->blob - 1].name,
		               "is of type json, but is not one JSON value");
	for (at = 0; at < s->value.bytes; at += n) {
		n = (size_t)num_min(s->value.bytes - at, sizeof piece);
		if (spool_get(&s->value, at, piece, n, e) < 0 || out_put(s->to, piece, n) < 0)
			return -1;
	}
	spool_free(&s->value);
	s->span++;
	return s->span == s->meta.span_count ? put_text(s) : 0;
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;

	if (s->left)
		return out_of_order(s, "an item is shorter", e);
	if (s->skip || s->kind == ITEM_SKEY)
		return 0;
	if (is_value(s))
		return end_value(s, e);
	if (s->kind == ITEM_TENSOR) {
		s->places[s->tensor - 1].crc = s->crc;
		if (s->packer)
			return apr2_pack_end(s, &s->places[s->tensor - 1]);
	}
	s->to->crc = crc32_join(s->to->crc, s->crc, s->bytes);
	return s->kind == ITEM_TENSOR ? 0 : frame_end(s->to, s->crc);
}

/* ---- beginning and end ---- */

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;
	uint64_t bytes;

	s->plan = plan;
	if (!s->whole)
		s->whole = plan;
	if (apr2_lay_out(s, e) < 0 || (apr2_packs(s) && apr2_pack_open(s, e) < 0))
		return -1;
	if (apr2_file_bytes(s, &bytes, e) < 0)
		return -1;
	apr2_fill_header(s);
	if (out_reserve(s->to, model_space(plan, bytes)) < 0 ||
	    out_put(s->to, s->header, sizeof s->header) < 0)
		return -1;
	cut_crc(s);
	return s->meta.span_count == 0 ? put_text(s) : 0;
}

/* The CRC of all bytes written so far. */
static uint32_t
file_crc(const struct apr2_sink *s)
{
	uint64_t rest = out_tell(s->to) - s->index_at - s->index_bytes;
	uint32_t crc = crc32_add(0, s->header, sizeof s->header);

	crc = crc32_join(crc, s->meta_crc, s->index_at - APR2_HEADER);
	crc = crc32_join(crc, s->index_crc, s->index_bytes);
	return crc32_join(crc, s->to->crc, rest);
}

/* Complete the file, except for its name. */
static int
finish(struct apr2_sink *s, struct err *e)
{
	uint8_t p[APR2_FOOTER];

	if (s->settled)
		return 0;
	s->settled = true;
	if (finish_data(s, e) < 0)
		return -1;
	if (s->prov != s->plan->prov_count || s->sign != s->plan->signatures)
		return out_of_order(s, "a prov or sign frame", e);
	if (s->packer && apr2_pack_index(s, e) < 0)
		return -1;
	s->crc_all = file_crc(s);
	le32_put(p, s->crc_all);
	memcpy(p + 4, APR2_END, 4);
	le64_put(p + 8, out_tell(s->to) + APR2_FOOTER);
	if (out_put(s->to, p, sizeof p) < 0)
		return -1;
	return s->packer ? apr2_pack_finish(s, e) : 0;
}

static int
end(struct sink *sink, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;

	return finish(s, e) < 0 ? -1 : out_finish(&s->out);
}

static void
close_sink(struct sink *sink)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;

	apr2_pack_close(s);
	out_abandon(&s->out);
	apr2_meta_free(&s->meta);
	buf_free(&s->index);
	spool_free(&s->value);
	buf_free(&s->skey);
	free(s->by_name);
	free(s->places);
	free(s);
}

static struct sink *
create(struct out *o, const struct format_options *options, const struct model *whole,
       struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink,
		.zeros = write_zeros };
	struct apr2_sink *s = container_new(sizeof *s, &ops, o, e);

	if (!s)
		return NULL;
	s->sink.sealed_too = true;
	s->out = *o;
	s->out.crc_on = true;
	s->to = &s->out;
	s->options = *options;
	s->whole = whole;
	s->is_shard = whole != NULL;
	return &s->sink;
}

struct sink *
apr2_create(struct out *o, const struct format_options *options, struct err *e)
{
	return create(o, options, NULL, e);
}

struct sink *
apr2_create_shard(struct out *o, const struct format_options *options,
                  const struct model *whole, struct err *e)
{
	return create(o, options, whole, e);
}

int
apr2_settle(struct sink *sink, struct err *e)
{
	struct apr2_sink *s = (struct apr2_sink *)sink;

	if (finish(s, e) < 0)
		return -1;
	apr2_pack_close(s);
	return out_settle(&s->out);
}

void
apr2_settled(const struct sink *sink, uint32_t *crc, uint64_t *bytes)
{
	const struct apr2_sink *s = (const struct apr2_sink *)sink;

	*crc = s->crc_all;
	*bytes = out_tell(&s->out);
}

void
apr2_rename(struct sink *sink, const char *path)
{
	((struct apr2_sink *)sink)->out.path = path;
}
