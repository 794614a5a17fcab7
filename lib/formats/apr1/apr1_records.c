#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "formats/apr1/apr1_index.h"

const uint8_t *
apr1_take(struct apr1_in *x, uint64_t n)
{
	if (x->bad || n > x->n - x->at) {
		x->bad = true;
		return NULL;
	}
	x->at += n;
	return x->p + (x->at - n);
}

uint64_t
apr1_take_number(struct apr1_in *x, unsigned width)
{
	const uint8_t *p = apr1_take(x, width);
	uint64_t v = 0;

	while (p && width > 0)
		v = v << 8 | p[--width];
	return v;
}

static const char *
take_text(struct apr1_in *x, uint64_t *n)
{
	*n = apr1_take_number(x, 8);
	return (const char *)apr1_take(x, *n);
}

/* ---- type and shape of a tensor ---- */

/* Ids of quantized types (v1 1.7.0 section 6.2.2), and 0 for other types. If the id does not
 * determine the type, the record has its name. */
static const struct {
	uint8_t id;
	const char *type; /* NULL: by name */
} ids[] = { { 0, NULL }, { 1, "Q8_0" }, { 2, "Q4_0" }, { 3, "Q4_1" }, { 0x10, "Q8_TENSOR" },
	{ 0xff, NULL } };

int
apr1_cut(struct apr1_source *s)
{
	return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: what its payload lists goes beyond its "
	                 "end");
}

static int
take_type(struct apr1_source *s, struct apr1_in *x, struct apr1_head *h)
{
	char name[64];
	const char *text;
	uint64_t n;
	size_t i;

	h->id = (uint8_t)apr1_take_number(x, 1);
	for (i = 0; i < sizeof ids / sizeof *ids && ids[i].id != h->id; i++)
		;
	if (x->bad)
		return apr1_cut(s);
	if (i == sizeof ids / sizeof *ids)
		return apr1_fail(s, ERR_FORMAT, "UnsupportedQuantization: %.*s has the quantized "
		                 "type 0x%02x, which does not exist",
		                 (int)num_min(h->name_bytes, 100), h->name, h->id);
	if (ids[i].type) {
		h->type = dtype_by_name(ids[i].type);
		return 0;
	}
	text = take_text(x, &n);
	if (!text)
		return apr1_cut(s);
	snprintf(name, sizeof name, "%.*s", (int)num_min(n, sizeof name - 1), text);
	h->type = n < sizeof name ? dtype_by_name(name) : NULL;
	if (!h->type || strlen(name) != n)
		return apr1_fail(s, ERR_FORMAT, "UnsupportedQuantization: %.*s has the type %.60s, "
		                 "which is not known", (int)num_min(h->name_bytes, 100), h->name,
		                 name);
	return 0;
}

int
apr1_take_head(struct apr1_source *s, struct apr1_in *x, struct apr1_head *h)
{
	uint64_t ndim;
	unsigned i;

	*h = (struct apr1_head){ 0 };
	h->name = take_text(x, &h->name_bytes);
	if (x->bad)
		return apr1_cut(s);
	if (take_type(s, x, h) < 0)
		return -1;
	ndim = apr1_take_number(x, 8);
	if (ndim > TENSOR_DIMS)
		return apr1_fail(s, ERR_FORMAT, "InvalidFormat: a tensor of %" PRIu64 " dimensions, "
		                 "at most %d are possible", ndim, TENSOR_DIMS);
	h->ndim = (unsigned)ndim;
	for (i = 0; i < h->ndim; i++)
		h->dims[i] = apr1_take_number(x, 8);
	return x->bad ? apr1_cut(s) : 0;
}

struct tensor *
apr1_make_tensor(struct apr1_source *s, const struct apr1_head *h, uint64_t bytes)
{
	bool sized = dtype_sized(h->type);
	struct tensor *t = tensor_new(h->name, (size_t)h->name_bytes, h->type, h->ndim, h->dims,
	                              sized ? TENSOR_OWN_SIZE : bytes, s->reader.name,
	                              s->reader.err);

	if (!t || tensor_bytes(t) == bytes)
		return t;
	apr1_fail(s, ERR_CORRUPT, "%s: %.*s has %" PRIu64 " bytes, not %" PRIu64,
	          h->id ? "QuantizationCorrupt" : "InvalidFormat",
	          (int)num_min(h->name_bytes, 100), h->name, bytes, tensor_bytes(t));
	tensor_free(t);
	return NULL;
}

int
apr1_add_tensor(struct apr1_source *s, struct tensor *t, struct apr1_tensor where)
{
	size_t i = s->plan.tensor_count;

	if (!t)
		return -1;
	if (mem_grow(&s->tensors, &s->tensor_cap, i + 1, sizeof *s->tensors) < 0) {
		tensor_free(t);
		return err_memory(s->reader.err);
	}
	if (where.direct && s->payload == s->stored) {
		uint64_t at = s->part ? where.at : (uint64_t)(where.run[0].p - s->payload);

		where.offset = apr1_offset_of(s, at);
		where.stored = where.run[0].n;
	} else {
		where.offset = apr1_offset_of(s, 0);
		where.stored = s->header.payload_bytes;
	}
	s->tensors[i] = where;
	return model_add_tensor(&s->plan, t, s->reader.err);
}

/* ---- records ---- */

static int
read_record(struct apr1_source *s, struct apr1_in *x)
{
	struct apr1_tensor where = { 0 };
	struct apr1_head h;
	const uint8_t *p, *scale;
	uint64_t n;

	if (apr1_take_head(s, x, &h) < 0)
		return -1;
	n = apr1_take_number(x, 8);
	p = apr1_take(x, n);
	scale = h.id == 0x10 ? apr1_take(x, 8) : NULL;
	if (scale && (n > 0 || le64(scale) != 0)) {
		/* The record has values, scale, zero point; a tensor has its values last. An
		 * empty tensor has neither, and its record zeros. */
		where.run[0] = (struct apr1_run){ scale, 8 };
		where.run[1] = (struct apr1_run){ p, n };
		n += 8;
	} else {
		where.run[0] = (struct apr1_run){ p, n };
	}
	if (h.id && h.id != 0x10 && apr1_take_number(x, 8) != h.type->items && !x->bad)
		return apr1_fail(s, ERR_CORRUPT, "QuantizationCorrupt: %.*s has another block size "
		                 "than its type", (int)num_min(h.name_bytes, 100), h.name);
	if (x->bad)
		return apr1_cut(s);
	where.direct = h.id != 0x10;
	return apr1_add_tensor(s, apr1_make_tensor(s, &h, n), where);
}

int
apr1_read_records(struct apr1_source *s)
{
	struct apr1_in x = { s->payload, s->payload_bytes, 0, false };
	uint64_t n = apr1_take_number(&x, 8), i;

	for (i = 0; i < n; i++)
		if (x.bad ? apr1_cut(s) < 0 : read_record(s, &x) < 0)
			return -1;
	if (x.bad)
		return apr1_cut(s);
	if (x.at != x.n)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: bytes after the last record of its "
		                 "payload");
	return 0;
}

/* ---- the index of chunks ---- */

int
apr1_take_chunk(struct apr1_source *s, struct apr1_in *x, struct apr1_chunk *c)
{
	c->offset = apr1_take_number(x, 8);
	c->stored = apr1_take_number(x, 8);
	c->plain = apr1_take_number(x, 8);
	c->crc = (uint32_t)apr1_take_number(x, 4);
	if (x->bad)
		return apr1_cut(s);
	return apr1_take_head(s, x, &c->head);
}

static int
read_chunk(struct apr1_source *s, struct apr1_in *x, uint64_t *data)
{
	struct apr1_tensor where = { .packed = s->header.compression != APR1_RAW };
	struct apr1_chunk c = { 0 };
	uint64_t at;

	if (apr1_take_chunk(s, x, &c) < 0)
		return -1;
	/* The first chunk begins at the end of the index, which read_chunks checks. */
	at = c.offset - apr1_offset_of(s, 0);
	if (*data != UINT64_MAX && at != *data)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: the chunk of %.*s does not begin "
		                 "where the one before it ends",
		                 (int)num_min(c.head.name_bytes, 100), c.head.name);
	if (c.offset < apr1_offset_of(s, 0) || at > s->payload_bytes ||
	    c.stored > s->payload_bytes - at)
		return apr1_cut(s);
	if (!where.packed && c.stored != c.plain)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: the chunk of %.*s has two lengths, "
		                 "and is not compressed",
		                 (int)num_min(c.head.name_bytes, 100), c.head.name);
	*data = at + c.stored;
	where.run[0] = (struct apr1_run){ s->part ? NULL : s->payload + at, c.stored };
	where.at = at;
	where.direct = true;
	where.crc = c.crc;
	where.checked = true;
	return apr1_add_tensor(s, apr1_make_tensor(s, &c.head, c.plain), where);
}

int
apr1_read_chunks(struct apr1_source *s)
{
	struct apr1_in x = { s->payload, s->open_bytes, 0, false };
	uint64_t n = apr1_take_number(&x, 4), i, data = UINT64_MAX, plain;

	for (i = 0; i < n; i++)
		if (x.bad ? apr1_cut(s) < 0 : read_chunk(s, &x, &data) < 0)
			return -1;
	if (x.bad)
		return apr1_cut(s);
	if ((n ? s->tensors[0].at : x.n) != x.at || (n ? data : x.at) != s->payload_bytes)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: its chunks do not fill the payload");
	plain = model_tensor_bytes(&s->plan);
	if (num_add(plain, x.at, &plain) < 0 || plain != s->header.plain_bytes)
		return apr1_fail(s, ERR_CORRUPT, "InvalidFormat: its chunks have %" PRIu64
		                 " bytes, its header says %" PRIu32, plain, s->header.plain_bytes);
	return 0;
}
