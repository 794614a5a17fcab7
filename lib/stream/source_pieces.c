/* Tensors in several frames. */
#include <inttypes.h>
#include <string.h>

#include "core/crc32.h"
#include "core/le.h"
#include "stream/source_parts.h"
#include "stream/stream.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define MOST_ZEROS UINT64_MAX
#else
#define MOST_ZEROS 1000u /* zeros take a fuzzer's time */
#endif

/* Reads the number of zeros with which a GAPS frame begins. Zeros and bytes must be part of
 * the tensor, and not nothing. */
static int
begin_gap(struct stream_source *s)
{
	const uint8_t *p = frame_take(&s->reader, &s->frame, STREAM_GAPS_BYTES);

	if (!p)
		return -1;
	s->zeros = le64(p);
	if (s->zeros > MOST_ZEROS || s->zeros > s->left || s->frame.left > s->left - s->zeros ||
	    s->zeros + s->frame.left == 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: %" PRIu64 " zeros and %" PRIu64
		                   " bytes, but %" PRIu64 " bytes of the tensor are left",
		                   s->frame.kind, s->zeros, s->frame.left, s->left);
	return 0;
}

int
stream_gaps_item(struct stream_source *s, struct item *item, int told, const struct tensor *t)
{
	if (told < 0)
		return err_memory(s->reader.err);
	if (stream_same_head(s, tensor_name(t)) < 0)
		return -1;
	s->left = item->bytes = tensor_bytes(t);
	s->has_gaps = item->gaps = true;
	s->crc = 0;
	s->source.crc = &s->crc;
	return begin_gap(s);
}

static int
check_stored(struct stream_source *s)
{
	return s->frame.left > 0 ? 0 : reader_fail(&s->reader, ERR_CORRUPT, "%s: it has no bytes",
	                                           s->frame.kind);
}

int
stream_sparse_item(struct stream_source *s, struct item *item, int told, const struct tensor *t)
{
	struct sparse_layout l;

	if (told < 0)
		return err_memory(s->reader.err);
	if (tensor_form(t).kind == SPARSE_NONE)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: the plan says that this is dense",
		                   s->frame.kind);
	if (stream_same_head(s, tensor_name(t)) < 0)
		return -1;
	if (!s->decoder && !(s->decoder = sparse_decoder_new(s->reader.err)))
		return -1;
	l = sparse_layout_of(t);
	sparse_decoder_begin(s->decoder, &l);
	s->left = item->bytes = tensor_bytes(t);
	s->stored_bytes = 0;
	s->is_sparse = true;
	s->crc = 0;
	s->source.crc = &s->crc;
	return check_stored(s);
}

/* The tensor goes on in the next frame of this kind, with the same head. */
static int
go_on(struct stream_source *s, const char *kind)
{
	struct frame *f = &s->frame;
	int same;

	if (frame_begin(&s->reader, f) < 0)
		return -1;
	same = strcmp(f->kind, kind) == 0 ? frame_head_is(&s->reader, f, &s->head) : 0;
	if (same == 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: %" PRIu64
		                   " bytes of the last tensor are missing", f->kind, s->left);
	return same < 0 ? -1 : 0;
}

/* The tensor goes on in the next GAPS frame once this one is proved. */
static int
next_gap(struct stream_source *s)
{
	struct frame *f = &s->frame;

	while (s->zeros == 0 && f->left == 0 && !f->ended) {
		if (frame_skip(&s->reader, f) < 0)
			return -1;
		if (s->left == 0)
			return 0;
		if (go_on(s, STREAM_GAPS) < 0 || begin_gap(s) < 0)
			return -1;
	}
	return 0;
}

/* More bytes of a SPAR frame for the decoder. */
static int
next_stored(struct stream_source *s)
{
	if (s->frame.left == 0 &&
	    (frame_skip(&s->reader, &s->frame) < 0 || go_on(s, STREAM_SPARSE) < 0 ||
	     check_stored(s) < 0))
		return -1;
	return frame_read(&s->reader, &s->frame, &s->stored, &s->stored_bytes);
}

/* All bytes of the tensor have come, so its last frame must end too. */
static int
end_sparse(struct stream_source *s)
{
	if (s->stored_bytes + s->frame.left > 0)
		return reader_fail(&s->reader, ERR_CORRUPT, "%s: bytes come after the tensor",
		                   s->frame.kind);
	return s->frame.ended ? 0 : frame_skip(&s->reader, &s->frame);
}

int
stream_read_sparse(struct stream_source *s, const uint8_t **p, size_t *n)
{
	const char *name = tensor_name(s->plan.tensors[s->seen[s->rank] - 1]);

	while (s->left > 0 && *n == 0) {
		if (s->stored_bytes == 0 && next_stored(s) < 0)
			return -1;
		if (sparse_decoder_step(s->decoder, &s->stored, &s->stored_bytes, p, n, name,
		                        s->reader.err) < 0)
			return -1;
	}
	s->left -= *n;
	s->crc = crc32_add(s->crc, *p, *n);
	return *n > 0 ? 0 : end_sparse(s);
}

int
stream_read_gaps(struct stream_source *s, const uint8_t **p, size_t *n)
{
	static const uint8_t zeros[READER_BODY];

	if (next_gap(s) < 0)
		return -1;
	*p = zeros;
	if (s->zeros > 0) {
		*n = (size_t)num_min(s->zeros, sizeof zeros);
		s->zeros -= *n;
	} else if (s->left > 0 && frame_read(&s->reader, &s->frame, p, n) < 0) {
		return -1;
	}
	s->left -= *n;
	s->crc = crc32_add(s->crc, *p, *n);
	return 0;
}

int
stream_skip_gap(struct stream_source *s, uint64_t *n)
{
	if (next_gap(s) < 0)
		return -1;
	*n = s->zeros;
	s->zeros = 0;
	s->crc = crc32_zeros(s->crc, *n);
	return 0;
}
