/* The parts of an APR2 file that may be broken. */
#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"
#include "formats/apr2/apr2.h"
#include "formats/head.h"
#include "model/outline.h"
#include "stream/frame.h"

static int
walk_entry(struct reader *r, struct outline *o, uint32_t data, struct buf *name)
{
	struct outline_shape shape = { 0 };
	uint64_t at = reader_tell(r), offset, stored;
	uint16_t n = reader_u16(r);
	uint8_t code;
	uint32_t flags;
	unsigned i;

	buf_clear(name);
	reader_append(r, name, n);
	code = reader_u8(r);
	shape.ndim = reader_u8(r);
	for (i = 0; i < shape.ndim && !r->failed; i++) {
		uint64_t dim = reader_u64(r);

		if (i < TENSOR_DIMS)
			shape.dims[i] = dim;
	}
	offset = reader_u64(r);
	stored = reader_u64(r);
	reader_u64(r);
	flags = reader_u32(r);
	if (r->failed || num_add(offset, data, &offset) < 0) {
		outline_stop(o, r, "the index breaks in the entry at byte %" PRIu64, at);
		return -1;
	}
	outline_tensor(o, name->p, name->n, apr2_type(code), &shape, offset, stored, flags == 0);
	return 0;
}

static void
walk_index(struct reader *r, struct outline *o, uint32_t at, uint32_t bytes, uint32_t data)
{
	struct buf name = { 0 };
	uint32_t count, i;

	if (at > r->end || reader_seek(r, at) < 0 || bytes < APR2_INDEX_HEAD) {
		outline_stop(o, r, "the index is said to be at byte %" PRIu32, at);
		return;
	}
	count = reader_u32(r);
	reader_u32(r);
	for (i = 0; i < count && reader_tell(r) < (uint64_t)at + bytes; i++)
		if (walk_entry(r, o, data, &name) < 0)
			break;
	buf_free(&name);
	outline_add(o, at, bytes, "index: %" PRIu32 " of %" PRIu32 " tensors", i, count);
}

/* What stands behind the data: frames, and the footer. */
static void
walk_end(struct reader *r, struct outline *o, uint32_t data)
{
	uint64_t end = data, last, footer;
	uint8_t p[APR2_FOOTER];
	size_t i;

	for (i = 0; i < o->tensors; i++)
		if (num_add(o->tensor[i].offset, o->tensor[i].bytes, &last) == 0 && last > end)
			end = last;
	if (end < r->end)
		outline_add(o, data, end - data, "data of %zu tensors", o->tensors);
	if (num_align(end, APR2_BOUNDARY, &last) == 0 && last <= r->end &&
	    reader_seek(r, last) == 0)
		frames_outline(r, o, r->end - APR2_FOOTER);
	footer = r->end - APR2_FOOTER;
	if (head_last(r, p, sizeof p) && apr2_is_footer(p))
		outline_add(o, footer, sizeof p, "footer: CRC-32, \"2RPA\", size %" PRIu64,
		            le64(p + 8));
	else
		outline_stop(o, r, "the footer, which ends the file, is missing");
}

void
apr2_outline(struct reader *r, struct outline *o)
{
	const uint8_t *p = reader_take(r, APR2_HEADER);
	uint32_t meta, meta_bytes, index, index_bytes, data;

	if (!p) {
		outline_stop(o, r, "the file ends in its header");
		return;
	}
	meta = le32(p + 12);
	meta_bytes = le32(p + 16);
	index = le32(p + 20);
	index_bytes = le32(p + 24);
	data = le32(p + 28);
	outline_add(o, 0, APR2_HEADER, "header: magic \"APR2\", version %u.%u, flags 0x%" PRIx32,
	            le16(p + 4), le16(p + 6), le32(p + 8));
	outline_add(o, meta, meta_bytes, "metadata: JSON");
	walk_index(r, o, index, index_bytes, data);
	if (r->failed)
		return;
	if ((uint64_t)index + index_bytes <= r->end &&
	    reader_seek(r, (uint64_t)index + index_bytes) == 0)
		frames_outline(r, o, data);
	walk_end(r, o, data);
}
