#include "stream/frame.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "core/crc32.h"
#include "core/json.h"
#include "core/le.h"

static bool
is_kind(const uint8_t *p)
{
	int i;

	for (i = 0; i < 4; i++)
		if (!((p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z')))
			return false;
	return true;
}

int
frame_begin(struct reader *r, struct frame *f)
{
	const uint8_t *p = reader_take(r, FRAME_PREFIX);
	uint32_t head_len, crc;

	if (!p)
		return -1;
	if (!is_kind(p))
		return reader_fail(r, ERR_FORMAT, "no frame begins here");
	memcpy(f->kind, p, 4);
	head_len = le32(p + 4);
	f->body_bytes = f->left = le64(p + 8);
	f->crc = 0;
	f->ended = false;
	crc = crc32_add(0, p, FRAME_PREFIX);
	if (head_len > FRAME_HEAD_MAX)
		return reader_fail(r, ERR_CORRUPT, "%s: a head of %" PRIu32
		                   " bytes exceeds 256 MiB", f->kind, head_len);
	buf_clear(&f->head);
	if (reader_append(r, &f->head, head_len) < 0)
		return -1;
	crc = crc32_add(crc, f->head.p, f->head.n);
	p = reader_take(r, 4);
	if (!p)
		return -1;
	if (!crc32_same(crc, le32(p)))
		return reader_fail(r, ERR_CHECKSUM, "%s: the CRC of its head differs", f->kind);
	if (f->body_bytes > reader_left(r))
		return reader_fail(r, ERR_CORRUPT, "%s: a body of %" PRIu64
		                   " bytes exceeds the %" PRIu64 " left",
		                   f->kind, f->body_bytes, reader_left(r));
	return 0;
}

int
frame_head_is(struct reader *r, const struct frame *f, const struct buf *expected)
{
	json_t *a, *b;
	int same;

	if (f->head.n == expected->n && memcmp(f->head.p, expected->p, expected->n) == 0)
		return 1;
	a = json_parse(f->head.p, f->head.n, ERR_CORRUPT, r->name, r->err);
	if (!a)
		return -1;
	b = json_parse(expected->p, expected->n, ERR_CORRUPT, r->name, r->err);
	same = b && json_equal(a, b);
	json_decref(a);
	json_decref(b);
	return same;
}

int
frame_head_json(struct reader *r, const struct frame *f)
{
	json_t *head = json_parse(f->head.p, f->head.n, ERR_CORRUPT, r->name, r->err);

	json_decref(head);
	return head ? 0 : -1;
}

/* Reads some bytes of the body; also puts them to o unless o is NULL. */
static int
read_some(struct reader *r, struct frame *f, struct out *o, const uint8_t **p, size_t *n)
{
	*n = 0;
	if (f->ended)
		return 0;
	if (f->left == 0) {
		const uint8_t *c = reader_take(r, 4);

		if (!c)
			return -1;
		f->ended = true;
		if (!crc32_same(f->crc, le32(c)))
			return reader_fail(r, ERR_CHECKSUM, "%s: the CRC of its body differs",
			                   f->kind);
		return 0;
	}
	*p = o ? reader_share(r, o, f->left, n) : reader_some(r, f->left, n);
	if (!*p)
		return -1;
	f->left -= *n;
	f->crc = crc32_add(f->crc, *p, *n);
	return 0;
}

const uint8_t *
frame_take(struct reader *r, struct frame *f, size_t n)
{
	const uint8_t *p;

	if (n > f->left) {
		reader_fail(r, ERR_CORRUPT, "%s: its body is too short", f->kind);
		return NULL;
	}
	p = reader_take(r, n);
	if (p) {
		f->left -= n;
		f->crc = crc32_add(f->crc, p, n);
	}
	return p;
}

int
frame_read(struct reader *r, struct frame *f, const uint8_t **p, size_t *n)
{
	return read_some(r, f, NULL, p, n);
}

int
frame_share(struct reader *r, struct frame *f, struct out *o, const uint8_t **p,
            size_t *n)
{
	return read_some(r, f, o, p, n);
}

int
frame_skip(struct reader *r, struct frame *f)
{
	const uint8_t *p;
	size_t n;

	do
		if (frame_read(r, f, &p, &n) < 0)
			return -1;
	while (n > 0);
	return 0;
}

int
frame_body(struct reader *r, struct frame *f, struct buf *b)
{
	const uint8_t *p;
	size_t n;

	do {
		if (frame_read(r, f, &p, &n) < 0)
			return -1;
		buf_put(b, p, n);
		if (!buf_ok(b))
			return err_memory(r->err);
	} while (n > 0);
	return 0;
}

void
frame_free(struct frame *f)
{
	buf_free(&f->head);
}

void
frame_build(struct buf *b, const char kind[5], const void *head, size_t head_bytes,
            uint64_t body_bytes)
{
	size_t at = b->n;

	buf_put(b, kind, 4);
	buf_u32(b, (uint32_t)head_bytes);
	buf_u64(b, body_bytes);
	buf_put(b, head, head_bytes);
	if (buf_ok(b))
		buf_u32(b, crc32_add(0, b->p + at, b->n - at));
}

int
frame_put(struct out *o, const char kind[5], const void *head, size_t head_bytes,
          uint64_t body_bytes)
{
	struct buf b = { 0 };
	int r;

	if (head_bytes > FRAME_HEAD_MAX)
		return err_set(o->err, ERR_FORMAT, o->name,
		               "%s: a head of %zu bytes exceeds 256 MiB", kind, head_bytes);
	frame_build(&b, kind, head, head_bytes, body_bytes);
	r = buf_ok(&b) ? out_put(o, b.p, b.n) : err_memory(o->err);
	buf_free(&b);
	return r;
}

int
frame_write(struct out *o, uint32_t *crc, const void *p, size_t n)
{
	*crc = crc32_add(*crc, p, n);
	return out_put(o, p, n);
}

int
frame_end(struct out *o, uint32_t crc)
{
	uint8_t c[4];

	le32_put(c, crc);
	return out_put(o, c, sizeof c);
}

int
frame_size(uint64_t head_bytes, uint64_t body_bytes, uint64_t *bytes)
{
	uint64_t n;

	if (num_add(head_bytes, FRAME_OVERHEAD, &n) < 0 || num_add(n, body_bytes, &n) < 0)
		return -1;
	*bytes = n;
	return 0;
}
