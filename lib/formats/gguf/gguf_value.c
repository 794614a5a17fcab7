#include "formats/gguf/gguf_reader.h"

#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"

uint64_t
gguf_read_size(struct gguf *g)
{
	return g->version == 1 ? reader_u32(&g->reader) : reader_u64(&g->reader);
}

int
gguf_read_name(struct gguf *g, struct buf *b, const char *what, size_t most)
{
	uint64_t n = gguf_read_size(g);

	buf_clear(b);
	if (g->reader.failed)
		return -1;
	if (n == 0 || n > most)
		return reader_fail(&g->reader, ERR_CORRUPT, "%s of %" PRIu64
		                   " bytes, 1 to %zu are possible", what, n, most);
	if (reader_append(&g->reader, b, n) < 0)
		return -1;
	if (!buf_string(b))
		return err_memory(g->reader.err);
	if (!text_utf8(b->p, b->n, false))
		return reader_fail(&g->reader, ERR_CORRUPT, "%s that is not UTF-8 text", what);
	return 0;
}

static bool
stays_in_file(const struct gguf *g)
{
	/* The wire bytes of version 1 differ from those of version 3. */
	return g->reader.seekable && g->version > 1;
}

static int
add(struct gguf *g, struct incoming *v, const void *p, size_t n)
{
	struct err *e = g->reader.err;

	if (!v->spilled) {
		buf_put(&v->b, p, n);
		if (!buf_ok(&v->b))
			return err_memory(e);
		if (v->b.n <= VALUE_INLINE_BYTES)
			return 0;
		v->spilled = true;
		v->place.bytes = v->b.n;
		if (stays_in_file(g))
			return 0;
		v->place.spooled = true;
		v->place.at = g->spool.bytes;
		return spool_put(&g->spool, v->b.p, v->b.n, e);
	}
	v->place.bytes += n;
	return v->place.spooled ? spool_put(&g->spool, p, n, e) : 0;
}

/* Add n bytes of the file that are wire bytes already. */
static int
add_raw(struct gguf *g, struct incoming *v, uint64_t n)
{
	if (v->spilled && !v->place.spooled) {
		if (num_add(v->place.bytes, n, &v->place.bytes) < 0)
			return reader_fail(&g->reader, ERR_CORRUPT, "a value's size overflows");
		return reader_skip(&g->reader, n);
	}
	if (n > reader_left(&g->reader))
		return reader_fail(&g->reader, ERR_CORRUPT, "a length of %" PRIu64
		                   " exceeds the %" PRIu64 " bytes left",
		                   n, reader_left(&g->reader));
	while (n > 0) {
		size_t got;
		const uint8_t *p = reader_some(&g->reader, n, &got);

		if (!p || add(g, v, p, got) < 0)
			return -1;
		n -= got;
		if (n > 0 && v->spilled && !v->place.spooled)
			return add_raw(g, v, n);
	}
	return 0;
}

static int
read_string(struct gguf *g, struct incoming *v)
{
	uint64_t n = gguf_read_size(g);
	uint8_t head[8];

	if (g->reader.failed)
		return -1;
	le64_put(head, n);
	return add(g, v, head, sizeof head) < 0 ? -1 : add_raw(g, v, n);
}

static int
read_array(struct gguf *g, struct incoming *v, unsigned depth)
{
	uint32_t item = reader_u32(&g->reader);
	uint64_t count = gguf_read_size(g), bytes;
	uint8_t head[GGUF_ARRAY_HEAD];

	if (g->reader.failed)
		return -1;
	if (item > VALUE_F64)
		return reader_fail(&g->reader, ERR_FORMAT,
		                   "an array of the unknown value type %" PRIu32, item);
	if (depth >= VALUE_DEPTH || (item == VALUE_ARRAY && depth + 1 >= VALUE_DEPTH))
		return reader_fail(&g->reader, ERR_FORMAT, "arrays inside arrays, %u deep",
		                   depth + 1);
	le32_put(head, item);
	le64_put(head + 4, count);
	if (add(g, v, head, sizeof head) < 0)
		return -1;
	if (item != VALUE_ARRAY)
		value_found_add(&v->found, depth, item);
	if (value_leaf_bytes(item)) {
		if (num_mul(count, value_leaf_bytes(item), &bytes) < 0)
			return reader_fail(&g->reader, ERR_CORRUPT,
			                   "an array of %" PRIu64 " items overflows", count);
		return add_raw(g, v, bytes);
	}
	if (count > reader_left(&g->reader) / (item == VALUE_ARRAY ? GGUF_ARRAY_HEAD - 4 : 4))
		return reader_fail(&g->reader, ERR_CORRUPT, "an array of %" PRIu64
		                   " items cannot lie in the bytes left", count);
	for (; count > 0; count--)
		if ((item == VALUE_STRING ? read_string(g, v)
		                          : read_array(g, v, depth + 1)) < 0)
			return -1;
	return 0;
}

int
gguf_read_value(struct gguf *g, struct incoming *v)
{
	uint32_t kind = reader_u32(&g->reader);

	if (g->reader.failed)
		return -1;
	if (kind > VALUE_F64)
		return reader_fail(&g->reader, ERR_FORMAT, "the unknown value type %" PRIu32,
		                   kind);
	v->type = (struct value_type){ 0, (uint8_t)kind };
	v->place.at = reader_tell(&g->reader);
	if (kind == VALUE_STRING)
		return read_string(g, v);
	if (kind != VALUE_ARRAY)
		return add_raw(g, v, value_leaf_bytes(kind));
	if (read_array(g, v, 1) < 0)
		return -1;
	v->type = value_found_type(&v->found);
	return 0;
}

int
gguf_spill(struct gguf *g, struct incoming *v)
{
	if (v->spilled)
		return 0;
	v->spilled = true;
	v->place.bytes = v->b.n;
	if (stays_in_file(g))
		return 0;
	v->place.spooled = true;
	v->place.at = g->spool.bytes;
	return spool_put(&g->spool, v->b.p, v->b.n, g->reader.err);
}

int
gguf_add_place(struct gguf *g, struct place place)
{
	if (mem_grow(&g->places, &g->place_cap, g->place_count + 1, sizeof *g->places) < 0)
		return err_memory(g->reader.err);
	g->places[g->place_count++] = place;
	return 0;
}

int
gguf_keep_value(struct gguf *g, const char *key, struct incoming *v)
{
	struct err *e = g->reader.err;

	if (!v->spilled && value_is_inline(v->type, v->b.p, v->b.n))
		return model_add_meta(&g->plan, key, strlen(key), v->type, v->b.p, v->b.n, e);
	if (gguf_spill(g, v) < 0 || gguf_add_place(g, v->place) < 0)
		return -1;
	return model_add_meta_blob(&g->plan, key, strlen(key), v->type, v->place.bytes, e);
}
