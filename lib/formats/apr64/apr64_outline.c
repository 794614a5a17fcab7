/* The parts of an APR version 2 file with a header of 64 bytes, which may be broken. */
#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"
#include "formats/apr64/apr64.h"
#include "model/outline.h"

static int
walk_entry(struct reader *r, struct outline *o, uint64_t data, struct buf *name)
{
	struct outline_shape shape = { 0 };
	const struct dtype *type = NULL;
	uint64_t at = reader_tell(r), offset, bytes;
	uint8_t code;
	unsigned i;

	buf_clear(name);
	reader_append(r, name, reader_u16(r));
	code = reader_u8(r);
	shape.ndim = reader_u8(r);
	for (i = 0; i < shape.ndim && !r->failed; i++) {
		uint64_t dim = reader_u64(r);

		if (i < TENSOR_DIMS)
			shape.dims[i] = dim;
	}
	offset = reader_u64(r);
	bytes = reader_u64(r);
	if (r->failed || num_add(offset, data, &offset) < 0)
		return outline_stop(o, r, "the index breaks in the entry at byte %" PRIu64, at);
	if (shape.ndim <= TENSOR_DIMS)
		apr64_type(code, shape.ndim, shape.dims, bytes, false, &type);
	outline_tensor(o, name->p, name->n, type, &shape, offset, bytes, true);
	return 0;
}

static void
walk_index(struct reader *r, struct outline *o, uint64_t index, uint32_t count, uint64_t data)
{
	struct buf name = { 0 };
	uint32_t i;

	if (index > r->end || reader_seek(r, index) < 0) {
		outline_stop(o, r, "the index is said to be at byte %" PRIu64, index);
		return;
	}
	for (i = 0; i < count && walk_entry(r, o, data, &name) == 0; i++)
		;
	buf_free(&name);
	outline_add(o, index, (o->stopped ? o->stop : reader_tell(r)) - index,
	            "index: %" PRIu32 " of %" PRIu32 " tensors", i, count);
}

void
apr64_outline(struct reader *r, struct outline *o)
{
	const uint8_t *p = reader_take(r, APR64_HEADER);
	uint64_t meta, index, data, end, last;
	uint32_t count, meta_bytes;
	size_t i;

	if (!p) {
		outline_stop(o, r, "the file ends in its header");
		return;
	}
	count = le32(p + 8);
	meta = le64(p + 12);
	meta_bytes = le32(p + 20);
	index = le64(p + 24);
	data = end = le64(p + 32);
	outline_add(o, 0, APR64_HEADER, "header: version %u.%u, flags 0x%x, %" PRIu32 " tensors",
	            p[4], p[5], le16(p + 6), count);
	outline_add(o, meta, meta_bytes, "metadata: JSON");
	walk_index(r, o, index, count, data);
	for (i = 0; i < o->tensors; i++)
		if (num_add(o->tensor[i].offset, o->tensor[i].bytes, &last) == 0 && last > end)
			end = last;
	if (num_align(end, APR64_ALIGN, &last) == 0 && last <= r->end)
		end = last;
	outline_add(o, data, end - data, "data of %zu tensors", o->tensors);
	if (end < r->end && r->end - end <= 16)
		outline_add(o, end, r->end - end, "footer");
}
