#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "stream/frame.h"
#include "stream/plan.h"
#include "stream/stream.h"
#include "wire/sparse.h"

#define SPARSE_PIECE (1u << 18) /* dense bytes that are encoded at once; bytes of a SPAR frame */

struct stream_sink {
	struct sink sink;
	struct out out;
	const struct model *plan;
	struct buf head;
	uint32_t crc;
	bool gaps;      /* the item goes into GAPS frames, */
	uint64_t zeros; /* whose next one begins with these */
	bool sparse;    /* the item goes into SPAR frames: */
	struct sparse_encoder *encoder;
	uint64_t dense; /* bytes that it was given */
	struct buf stored; /* bytes of the next frame */
};

static int
begin(struct sink *sink, const struct model *plan, struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;
	json_t *json = plan_to_json(plan, true, e);
	int r;

	s->plan = plan;
	if (!json)
		return -1;
	if (out_reserve(&s->out, model_space(plan, model_tensor_bytes(plan))) < 0) {
		json_decref(json);
		return -1;
	}
	r = json_write(json, &s->head);
	json_decref(json);
	if (r < 0)
		return err_memory(e);
	if (frame_put(&s->out, "APRS", s->head.p, s->head.n, 0) < 0 ||
	    frame_end(&s->out, 0) < 0)
		return -1;
	buf_free(&s->head);
	/* Flush, so that the next stage can size its output while this one is still
	 * reading. */
	return out_flush(&s->out);
}

static int
begin_sparse(struct stream_sink *s, const struct tensor *t, struct err *e)
{
	const struct sparse_layout l = sparse_layout_of(t);

	s->gaps = false;
	if (!s->encoder && !(s->encoder = sparse_encoder_new(e)))
		return -1;
	s->dense = 0;
	buf_clear(&s->stored);
	sparse_encoder_begin(s->encoder, &l, &s->stored);
	return buf_ok(&s->stored) ? 0 : err_memory(e);
}

/* Write a frame of the stored bytes so far. */
static int
put_stored(struct stream_sink *s)
{
	uint32_t crc = 0;

	if (frame_put(&s->out, STREAM_SPARSE, s->head.p, s->head.n, s->stored.n) < 0 ||
	    frame_write(&s->out, &crc, s->stored.p, s->stored.n) < 0)
		return -1;
	buf_clear(&s->stored);
	return frame_end(&s->out, crc);
}

static int
write_sparse(struct stream_sink *s, const uint8_t *p, size_t n, struct err *e)
{
	size_t part;

	for (; n > 0; p += part, n -= part) {
		part = (size_t)num_min(n, SPARSE_PIECE - s->dense % SPARSE_PIECE);
		s->dense += part;
		if (sparse_encoder_put(s->encoder, p, part, &s->stored, e) < 0)
			return -1;
		/* Only here, so that frames do not depend on how the bytes come. */
		if (s->dense % SPARSE_PIECE == 0 && s->stored.n >= SPARSE_PIECE && put_stored(s) < 0)
			return -1;
	}
	return 0;
}

static int
put(struct sink *sink, const struct item *item, struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;
	const char *kind = item->frame, *head = item->head;
	size_t head_bytes = item->head_bytes;
	int r = 0;

	buf_clear(&s->head);
	switch (item->kind) {
	case ITEM_BLOB:
		kind = "blob";
		r = plan_blob_head(&s->plan->blobs[item->index], &s->head);
		break;
	case ITEM_LICENCE:
		kind = "lice";
		buf_text(&s->head, "{}");
		break;
	case ITEM_TENSOR:
		kind = "TENS";
		r = plan_tensor_head(s->plan->tensors[item->index], &s->head);
		break;
	case ITEM_PROV:
		kind = "prov";
		break;
	case ITEM_SIGN:
		kind = "sign";
		break;
	case ITEM_SKEY:
		kind = "SKEY";
		break;
	case ITEM_OTHER:
		break;
	}
	if (item_is_sealed(s->plan, item->kind, item->index)) {
		kind = "SEAL";
		buf_clear(&s->head);
		r = plan_seal_head(s->plan, item->kind, item->index, &s->head);
	}
	if (r < 0 || !buf_ok(&s->head))
		return err_memory(e);
	if (s->head.n) {
		head = (const char *)s->head.p;
		head_bytes = s->head.n;
	}
	s->crc = 0;
	s->sparse = item->kind == ITEM_TENSOR && !s->plan->sealed &&
	            tensor_form(s->plan->tensors[item->index]).kind != SPARSE_NONE;
	if (s->sparse)
		return begin_sparse(s, s->plan->tensors[item->index], e);
	s->gaps = item->gaps;
	s->zeros = 0;
	if (s->gaps)
		return 0;
	return frame_put(&s->out, kind, head, head_bytes, item->bytes);
}

/* Write a frame of the zeros so far and the bytes after them. */
static int
put_gaps(struct stream_sink *s, const uint8_t *p, size_t n)
{
	uint8_t zeros[STREAM_GAPS_BYTES];
	uint32_t crc = 0;

	le64_put(zeros, s->zeros);
	s->zeros = 0;
	if (frame_put(&s->out, STREAM_GAPS, s->head.p, s->head.n, sizeof zeros + n) < 0 ||
	    frame_write(&s->out, &crc, zeros, sizeof zeros) < 0 ||
	    frame_write(&s->out, &crc, p, n) < 0)
		return -1;
	return frame_end(&s->out, crc);
}

static int
write_zeros(struct sink *sink, uint64_t n, struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	if (!s->gaps)
		return sink_write_zeros(sink, n, e);
	s->zeros += n;
	return 0;
}

static int
write_body(struct sink *sink, const uint8_t *p, size_t n, struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	if (s->sparse)
		return write_sparse(s, p, n, e);
	if (s->gaps)
		return put_gaps(s, p, n);
	return frame_write(&s->out, &s->crc, p, n);
}

static struct out *
direct(struct sink *sink)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	return s->gaps || s->sparse ? NULL : &s->out;
}

/* A CRC that was computed earlier is better: it also covers the path through this
 * process. */
static void
passed(struct sink *sink, const uint8_t *p, size_t n, const uint32_t *crc)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	s->crc = crc ? *crc : crc32_add(s->crc, p, n);
}

static int
place(struct sink *sink, const struct item *item, uint64_t offset, unsigned file,
      struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;
	uint32_t crc = 0;
	uint8_t at[STREAM_PLACE_BYTES];
	size_t n = file ? sizeof at : 8;

	buf_clear(&s->head);
	if (plan_tensor_head(s->plan->tensors[item->index], &s->head) < 0 || !buf_ok(&s->head))
		return err_memory(e);
	le64_put(at, offset);
	le32_put(at + 8, file);
	if (frame_put(&s->out, STREAM_PLACE, s->head.p, s->head.n, n) < 0 ||
	    frame_write(&s->out, &crc, at, n) < 0)
		return -1;
	return frame_end(&s->out, crc);
}

static int
put_end(struct sink *sink, struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	(void)e;
	if (s->sparse)
		return s->stored.n > 0 ? put_stored(s) : 0;
	if (s->gaps)
		return s->zeros > 0 ? put_gaps(s, NULL, 0) : 0;
	return frame_end(&s->out, s->crc);
}

static int
end(struct sink *sink, struct err *e)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	buf_clear(&s->head);
	buf_printf(&s->head, "{\"tensors\":%zu}", s->plan->tensor_count);
	if (!buf_ok(&s->head))
		return err_memory(e);
	if (frame_put(&s->out, "DONE", s->head.p, s->head.n, 0) < 0 ||
	    frame_end(&s->out, 0) < 0)
		return -1;
	return out_finish(&s->out);
}

static void
close_sink(struct sink *sink)
{
	struct stream_sink *s = (struct stream_sink *)sink;

	out_abandon(&s->out);
	sparse_encoder_free(s->encoder);
	buf_free(&s->stored);
	buf_free(&s->head);
	free(s);
}

struct sink *
stream_sink(struct out *o, struct err *e)
{
	static const struct sink_ops ops = { .begin = begin, .put = put,
		.write = write_body, .put_end = put_end, .end = end, .close = close_sink,
		.direct = direct, .passed = passed, .place = place, .zeros = write_zeros };
	struct stream_sink *s = mem_array(1, sizeof *s);

	if (!s) {
		out_abandon(o);
		err_memory(e);
		return NULL;
	}
	s->sink.ops = &ops;
	s->sink.sealed_too = true;
	s->out = *o;
	return &s->sink;
}
