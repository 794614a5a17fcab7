#include "formats/gguf/gguf_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "model/layout.h"

/* One index entry. The size of a tensor of unknown type follows from the layout, so tensors
 * are built only after all entries have been read. */
struct entry {
	char *name;
	const struct dtype *type;
	unsigned ndim;
	uint64_t dims[TENSOR_DIMS];
	uint64_t offset;
	const struct retype *scaled; /* keys with its scale, or NULL */
};

static int
read_dims(struct gguf *g, const char *name, unsigned *ndim, uint64_t *dims)
{
	uint32_t n = reader_u32(&g->reader);
	unsigned i;

	if (g->reader.failed)
		return -1;
	if (n > GGUF_AXES)
		return err_set(g->reader.err, ERR_FORMAT, name,
		               "%" PRIu32 " dimensions, GGUF has at most %d", n, GGUF_AXES);
	for (i = 0; i < n; i++)
		dims[n - 1 - i] = gguf_read_size(g);
	*ndim = n;
	return g->reader.failed ? -1 : 0;
}

static bool
is_empty(const struct entry *x)
{
	unsigned i;

	for (i = 0; i < x->ndim; i++)
		if (x->dims[i] == 0)
			return true;
	return false;
}

static int
read_entry(struct gguf *g, struct buf *name, struct entry *x, uint64_t *bytes)
{
	struct tensor *t;
	uint32_t type;

	if (gguf_read_name(g, name, "a tensor name", TENSOR_NAME) < 0 ||
	    read_dims(g, (char *)name->p, &x->ndim, x->dims) < 0)
		return -1;
	type = reader_u32(&g->reader);
	x->offset = reader_u64(&g->reader);
	if (g->reader.failed)
		return -1;
	x->type = dtype_by_ggml(type);
	if (!x->type)
		return err_set(g->reader.err, ERR_FORMAT, (char *)name->p,
		               "has the type number %" PRIu32 ", which GGML does not use: "
		               "UnsupportedQuantization", type);
	if (!(x->name = mem_text((char *)name->p, name->n)))
		return err_memory(g->reader.err);
	/* The stored type and shape are proved, even if gguf_restore has replaced them. */
	if (!dtype_sized(x->type)) {
		*bytes = is_empty(x) ? 0 : LAYOUT_OPEN;
		return 0;
	}
	t = tensor_new(x->name, name->n, x->type, x->ndim, x->dims, TENSOR_OWN_SIZE,
	               g->reader.name, g->reader.err);
	if (!t)
		return -1;
	*bytes = tensor_bytes(t);
	tensor_free(t);
	return gguf_restore(g, x->name, *bytes, &x->type, &x->ndim, x->dims, &x->scaled);
}

/* Add the tensors to the plan in the order of their data. If the order of the index differs,
 * it is kept in source. */
static int
build_tensors(struct gguf *g, const struct entry *entries, const struct extent *extents,
              size_t n)
{
	struct err *e = g->reader.err;
	bool moved = false;
	size_t i, *order = mem_array(n, sizeof *order);
	json_t *list;

	if (!order || !(g->offsets = mem_array(n, sizeof *g->offsets)) ||
	    !(g->scaled = mem_array(n, sizeof *g->scaled))) {
		free(order);
		return err_memory(e);
	}
	for (i = 0; i < n; i++) {
		const struct entry *x = &entries[extents[i].index];
		uint64_t bytes = extents[i].bytes + (x->scaled ? GGUF_SCALED_HEAD : 0);
		struct tensor *t = tensor_new(x->name, strlen(x->name), x->type, x->ndim,
		                              x->dims, bytes, g->reader.name, e);

		if (!t || model_add_tensor(&g->plan, t, e) < 0) {
			free(order);
			return -1;
		}
		g->offsets[i] = extents[i].offset;
		g->scaled[i] = x->scaled;
		order[extents[i].index] = i;
		moved |= extents[i].index != i;
	}
	list = moved ? json_array() : NULL;
	for (i = 0; list && i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)order[i])) < 0) {
			json_decref(list);
			list = NULL;
		}
	free(order);
	return moved ? model_source_set(&g->plan, "index_order", list, e) : 0;
}

/* Prove that the file ends at the end of its data, with or without padding. */
static int
prove_end(struct gguf *g, uint64_t data_end, size_t tensors)
{
	struct reader *r = &g->reader;
	uint64_t end, padded;
	bool is_padded = tensors > 0;

	if (num_add(tensors ? g->data_at : g->header_bytes, data_end, &end) < 0 ||
	    num_align(end, g->alignment, &padded) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its size overflows");
	if (r->end != READER_UNKNOWN) {
		if (r->end != end && r->end != padded)
			return err_set(r->err, ERR_CORRUPT, r->name,
			               r->end < end ? "is cut short: %" PRIu64
			               " bytes, its header promises %" PRIu64
			               : "has %" PRIu64 " bytes, but its content ends at %" PRIu64,
			               r->end, end);
		is_padded = r->end == padded;
	} else if (!tensors) {
		/* The padding is short enough to peek at it in a pipe. */
		size_t n;

		reader_peek(r, (size_t)(padded - end) + 1, &n);
		is_padded = n > 0 || padded == end;
	}
	g->data_bytes = data_end;
	return model_source_set(&g->plan, "end_padded", json_boolean(is_padded), r->err);
}

static int
place_tensors(struct gguf *g, struct entry *entries, struct extent *extents, size_t n)
{
	struct reader *r = &g->reader;
	uint64_t length = UINT64_MAX, end;

	g->header_bytes = reader_tell(r);
	if (num_align(g->header_bytes, g->alignment, &g->data_at) < 0)
		return err_set(r->err, ERR_CORRUPT, r->name, "its header's size overflows");
	if (r->end != READER_UNKNOWN)
		length = r->end < g->data_at ? 0 : r->end - g->data_at;
	if (layout_prove(extents, n, g->alignment, length, &end, r->err) < 0)
		return -1;
	if (prove_end(g, end, n) < 0)
		return -1;
	return build_tensors(g, entries, extents, n);
}

int
gguf_read_tensors(struct gguf *g, uint64_t count, struct buf *name)
{
	struct entry *entries = NULL;
	struct extent *extents = NULL;
	size_t n = 0, cap = 0, extent_cap = 0;
	int r = 0;

	for (; r == 0 && n < count; n++) {
		if (mem_grow(&entries, &cap, n + 1, sizeof *entries) < 0 ||
		    mem_grow(&extents, &extent_cap, n + 1, sizeof *extents) < 0) {
			r = err_memory(g->reader.err);
			break;
		}
		r = read_entry(g, name, &entries[n], &extents[n].bytes);
		extents[n].index = n;
		extents[n].name = entries[n].name;
		extents[n].offset = entries[n].offset;
	}
	if (r == 0)
		r = place_tensors(g, entries, extents, n);
	while (n > 0)
		free(entries[--n].name);
	free(entries);
	free(extents);
	return r;
}
