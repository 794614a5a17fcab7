#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/num.h"
#include "formats/gguf/gguf_reader.h"
#include "formats/gguf/gguf_writer.h"

#define PIECE (1u << 16)
#define COUNT_AT 16                                   /* of the number of keys, in the file */
#define BYTE_KEY (8 + sizeof GGUF_RESERVE - 1 + 4 + 1)    /* bytes of apr.reserve as a u8, */
#define ARRAY_KEY (BYTE_KEY - 1 + GGUF_ARRAY_HEAD)        /* and as an empty array */

/* The header that is being written. */
struct amend {
	struct gguf *g;
	struct source *edited;
	struct out *o;
	struct buf b;
	uint64_t keys;   /* their number so far */
	size_t span;     /* the next of g->spans */
	bool signs_end;
	struct err *e;
};

static int
flush(struct amend *a)
{
	int r = buf_ok(&a->b) ? out_put(a->o, a->b.p, a->b.n) : err_memory(a->e);

	buf_clear(&a->b);
	return r;
}

/* Copy n bytes of the old header, without moving the reader. */
static int
copy(struct amend *a, uint64_t at, uint64_t n)
{
	uint8_t piece[PIECE];

	while (n > 0) {
		ssize_t got = pread(a->g->reader.fd, piece, (size_t)num_min(n, PIECE), (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? err_errno(a->e, a->g->reader.name, "cannot be read")
			               : err_set(a->e, ERR_CORRUPT, a->g->reader.name,
			                         "became shorter meanwhile");
		if (out_put(a->o, piece, (size_t)got) < 0)
			return -1;
		at += (uint64_t)got;
		n -= (uint64_t)got;
	}
	return 0;
}

/* Copy the carriers that stand before key number `key` of the model. */
static int
put_spans(struct amend *a, size_t key)
{
	for (; a->span < a->g->span_count && a->g->spans[a->span].key <= key; a->span++) {
		const struct gguf_span *x = &a->g->spans[a->span];

		if (x->ends || (x->sign && a->signs_end))
			continue;
		a->keys++;
		if (copy(a, x->at, x->n) < 0)
			return -1;
	}
	return 0;
}

/* Put a value that comes in the next blob. */
static int
put_blob(struct amend *a, const struct meta *k)
{
	struct item item;
	const uint8_t *p;
	size_t n;
	int more;

	do {
		if ((more = source_next(a->edited, &item, a->e)) <= 0)
			return more < 0 ? -1 : err_set(a->e, ERR_CORRUPT, a->g->reader.name,
			                               "lacks the value of %.200s", k->key);
	} while (item.kind != ITEM_BLOB);
	do {
		if (source_read(a->edited, &p, &n, a->e) < 0 ||
		    (n > 0 && out_put(a->o, p, n) < 0))
			return -1;
	} while (n > 0);
	return 0;
}

static int
put_key(struct amend *a, const struct meta *k)
{
	const struct model *m = a->edited->plan;
	bool json = gguf_is_json(k);
	uint32_t kind = json ? VALUE_STRING : k->type.depth ? VALUE_ARRAY : k->type.leaf;

	if (gguf_check_key(k, a->e) < 0)
		return -1;
	a->keys++;
	gguf_put_key(&a->b, json ? GGUF_JSON : "", k->key, kind);
	if (json)
		buf_u64(&a->b, k->wire ? k->wire_bytes : m->blobs[k->blob].bytes);
	if (k->wire)
		buf_put(&a->b, k->wire, k->wire_bytes);
	return flush(a) < 0 ? -1 : k->wire ? 0 : put_blob(a, k);
}

static int
put_keys(struct amend *a)
{
	const struct model *m = a->edited->plan;
	size_t i;

	for (i = 0; i < m->meta_count; i++)
		if (put_spans(a, i) < 0 || put_key(a, &m->meta[i]) < 0)
			return -1;
	return put_spans(a, SIZE_MAX);
}

/* Put the record in place of signatures. */
static int
put_record(struct amend *a, const char *operation)
{
	const struct buf *sign = &a->g->signs[0];
	struct buf head = { 0 };
	char number[24];
	int r;

	if (!a->signs_end)
		return 0;
	r = flow_record(&head, operation, false, (char *)sign->p, MODEL_SIGN_HEAD, a->e);
	if (r == 0) {
		a->keys++;
		snprintf(number, sizeof number, "%zu", a->g->prov_count);
		gguf_put_key(&a->b, GGUF_PROV, number, VALUE_STRING);
		buf_u64(&a->b, head.n);
		buf_put(&a->b, head.p, head.n);
		r = flush(a);
	}
	buf_free(&head);
	return r;
}

/* The end of the header with its padding. */
static uint64_t
end_of_header(const struct gguf *g)
{
	return g->plan.tensor_count ? g->data_at : g->reader.end;
}

/* Whether readers find the data at end if the header has this many bytes. */
static bool
reaches(const struct gguf *g, uint64_t header, uint64_t end)
{
	uint64_t up;

	return header == end || (num_align(header, g->alignment, &up) == 0 && up == end);
}

/* Take up the room between the keys and the index, which has this many bytes. */
static int
put_room(struct amend *a, uint64_t index)
{
	uint64_t end = end_of_header(a->g), header = out_tell(a->o) + index, room;

	if (header > end)
		return format_no_room(&a->g->source, header - end, a->e);
	room = end - header;
	if (reaches(a->g, header, end))
		return 0;
	a->keys++;
	if (room < ARRAY_KEY) {
		if (room < BYTE_KEY || !reaches(a->g, header + BYTE_KEY, end))
			return format_no_room(&a->g->source, BYTE_KEY - num_min(room, BYTE_KEY - 1),
			                      a->e);
		gguf_put_key(&a->b, GGUF_RESERVE, "", VALUE_U8);
		buf_u8(&a->b, 0);
		return flush(a);
	}
	gguf_put_key(&a->b, GGUF_RESERVE, "", VALUE_ARRAY);
	buf_u32(&a->b, VALUE_U8);
	buf_u64(&a->b, room - ARRAY_KEY);
	return flush(a) < 0 ? -1 : out_zeros(a->o, room - ARRAY_KEY);
}

static int
put_header(struct amend *a, const char *operation)
{
	struct gguf *g = a->g;
	uint64_t index = g->header_bytes - g->index_at;

	if (copy(a, 0, COUNT_AT + 8) < 0 || put_keys(a) < 0 || put_record(a, operation) < 0 ||
	    put_room(a, index) < 0 || copy(a, g->index_at, index) < 0 ||
	    out_zeros(a->o, end_of_header(g) - out_tell(a->o)) < 0)
		return -1;
	buf_u64(&a->b, a->keys);
	return buf_ok(&a->b) ? out_patch(a->o, COUNT_AT, a->b.p, a->b.n) : err_memory(a->e);
}

int
gguf_amend(struct source *s, struct source *edited, const char *operation, struct out *o,
           struct err *e)
{
	struct amend a = { .g = (struct gguf *)s, .edited = edited, .o = o, .e = e };
	int r;

	a.signs_end = a.g->sign_count > 0;
	if (a.g->version == 1)
		return err_set(e, ERR_FORMAT, s->name, "is GGUF version 1, which is not changed "
		               "in place");
	r = put_header(&a, operation);
	buf_free(&a.b);
	return r;
}
