/* The parts of a GGUF file that may be broken. */
#include "formats/gguf/gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"
#include "model/outline.h"
#include "model/value.h"

#define AXES 8 /* more than GGUF has: a broken file is still followed */

struct walk {
	struct reader *r;
	struct outline *o;
	uint32_t version;
	uint64_t alignment;
};

/* A length or count: 32 bits in version 1. */
static uint64_t
length(const struct walk *w)
{
	return w->version == 1 ? reader_u32(w->r) : reader_u64(w->r);
}

/* Stops if the reader has failed, or if too much was followed. */
static int
go_on(const struct walk *w)
{
	if (w->r->failed)
		return outline_stop(w->o, w->r, "the file ends here");
	if (reader_tell(w->r) > OUTLINE_WALK)
		return outline_stop(w->o, w->r, "what follows is not looked at: the structure is "
		                    "too long");
	return 0;
}

/* Reads a text of at most TENSOR_NAME bytes into b. */
static int
read_text(const struct walk *w, struct buf *b, const char *what)
{
	uint64_t at = reader_tell(w->r), n = length(w);

	buf_clear(b);
	if (go_on(w) < 0)
		return -1;
	if (n > TENSOR_NAME || n > reader_left(w->r)) {
		reader_seek(w->r, at);
		return outline_stop(w->o, w->r, "%s has a length of %" PRIu64, what, n);
	}
	reader_append(w->r, b, n);
	buf_string(b);
	return go_on(w);
}

static int
skip(const struct walk *w, uint64_t n, const char *what)
{
	if (n > reader_left(w->r))
		return outline_stop(w->o, w->r, "%s has %" PRIu64 " bytes, more than the file", what,
		                    n);
	reader_skip(w->r, n);
	return go_on(w);
}

static int skip_value(const struct walk *w, uint32_t type, unsigned depth);

static int
skip_array(const struct walk *w, unsigned depth)
{
	uint32_t type = reader_u32(w->r);
	uint64_t n = length(w), bytes;
	size_t each = value_leaf_bytes(type);

	if (go_on(w) < 0)
		return -1;
	if (each)
		return num_mul(n, each, &bytes) < 0
		           ? outline_stop(w->o, w->r, "an array has %" PRIu64 " items", n)
		           : skip(w, bytes, "an array");
	while (n-- > 0)
		if (skip_value(w, type, depth + 1) < 0)
			return -1;
	return 0;
}

static int
skip_value(const struct walk *w, uint32_t type, unsigned depth)
{
	if (depth >= VALUE_DEPTH)
		return outline_stop(w->o, w->r, "arrays are nested too deep");
	if (type == VALUE_STRING) {
		uint64_t n = length(w);

		return go_on(w) < 0 ? -1 : skip(w, n, "a string");
	}
	if (type == VALUE_ARRAY)
		return skip_array(w, depth);
	if (!value_leaf_bytes(type))
		return outline_stop(w->o, w->r, "a value has the type %" PRIu32
		                    ", which does not exist", type);
	return skip(w, value_leaf_bytes(type), "a value");
}

static int
walk_keys(struct walk *w, uint64_t count)
{
	struct buf name = { 0 };
	uint64_t i;
	size_t n;
	int r = 0;

	for (i = 0; r == 0 && i < count; i++) {
		const uint8_t *p;
		uint32_t type;

		if ((r = read_text(w, &name, "the name of a key")) < 0)
			break;
		type = reader_u32(w->r);
		p = go_on(w) == 0 ? reader_peek(w->r, 4, &n) : NULL;
		if (p && n == 4 && type == VALUE_U32 && name.n == strlen(GGUF_ALIGN_KEY) &&
		    memcmp(name.p, GGUF_ALIGN_KEY, name.n) == 0)
			w->alignment = le32(p);
		r = p ? skip_value(w, type, 0) : -1;
	}
	if (r < 0)
		outline_stop(w->o, w->r, "the file ends in its metadata");
	buf_free(&name);
	return r;
}

static int
walk_tensor(struct walk *w, struct buf *name)
{
	struct outline_shape shape = { 0 };
	uint64_t axis[AXES], at, offset;
	uint32_t type;
	unsigned i;

	if (read_text(w, name, "the name of a tensor") < 0)
		return -1;
	at = reader_tell(w->r);
	shape.ndim = reader_u32(w->r);
	if (go_on(w) < 0)
		return -1;
	if (shape.ndim > AXES) {
		reader_seek(w->r, at);
		return outline_stop(w->o, w->r, "a tensor has %u dimensions", shape.ndim);
	}
	for (i = 0; i < shape.ndim; i++)
		axis[i] = length(w);
	for (i = 0; i < shape.ndim; i++)
		shape.dims[i] = axis[shape.ndim - 1 - i];
	type = reader_u32(w->r);
	offset = reader_u64(w->r);
	if (go_on(w) < 0)
		return -1;
	/* offsets become those of the file when the data has been found */
	outline_tensor(w->o, name->p, name->n, dtype_by_ggml(type), &shape, offset, OUTLINE_OWN,
	               true);
	return 0;
}

static void
place_data(struct walk *w)
{
	uint64_t at = reader_tell(w->r), data, all = 0, end;
	struct outline *o = w->o;
	size_t i;

	if (!num_power_of_two(w->alignment) || num_align(at, w->alignment, &data) < 0) {
		outline_stop(o, w->r, "the alignment is %" PRIu64, w->alignment);
		data = at;
	}
	outline_add(o, at, data - at, "padding to a multiple of %" PRIu64, w->alignment);
	for (i = 0; i < o->tensors; i++) {
		struct outline_tensor *t = &o->tensor[i];

		if (num_add(t->offset, data, &t->offset) < 0 ||
		    num_add(t->offset, t->bytes, &end) < 0)
			end = t->offset = UINT64_MAX;
		if (end - data > all)
			all = end - data;
	}
	outline_add(o, data, all, "data of %zu tensors", o->tensors + o->tensors_more);
}

void
gguf_outline(struct reader *r, struct outline *o)
{
	struct walk w = { .r = r, .o = o, .alignment = GGUF_ALIGN };
	uint64_t tensors, keys, at, i;
	struct buf name = { 0 };

	reader_skip(r, 4);
	w.version = reader_u32(r);
	outline_add(o, 0, 4, "magic \"GGUF\"");
	outline_add(o, 4, 4, "version %" PRIu32, w.version);
	tensors = length(&w);
	keys = length(&w);
	if (go_on(&w) < 0)
		return;
	at = reader_tell(r);
	outline_add(o, 8, at - 8, "counts: %" PRIu64 " tensors, %" PRIu64 " keys", tensors, keys);
	if (walk_keys(&w, keys) < 0) {
		outline_add(o, at, o->stop - at, "metadata, up to where it breaks");
		return;
	}
	outline_add(o, at, reader_tell(r) - at, "metadata: %" PRIu64 " keys", keys);
	at = reader_tell(r);
	for (i = 0; i < tensors && walk_tensor(&w, &name) == 0; i++)
		;
	buf_free(&name);
	if (i < tensors) {
		outline_add(o, at, o->stop - at, "index, up to where it breaks: %" PRIu64 " of %"
		            PRIu64 " tensors", i, tensors);
		o->tensors_more += o->tensors;
		while (o->tensors > 0) /* without the whole index, the data has no place */
			free(o->tensor[--o->tensors].name);
		return;
	}
	outline_add(o, at, reader_tell(r) - at, "index: %" PRIu64 " tensors", tensors);
	place_data(&w);
}
