#include "wire/msgpack.h"

#include <inttypes.h>
#include <string.h>

/* The tokens from c0 to df: kind, bytes of the number behind the first byte, and a fixed length.
 * A kind of -1 is not used. */
#define FIRST 0xc0
static const struct row {
	int8_t kind;
	uint8_t width, fixed;
} rows[32] = {
	{ MSGPACK_NIL, 0, 0 }, { -1, 0, 0 }, { MSGPACK_BOOL, 0, 0 }, { MSGPACK_BOOL, 0, 1 },
	{ MSGPACK_BYTES, 1, 0 }, { MSGPACK_BYTES, 2, 0 }, { MSGPACK_BYTES, 4, 0 },
	{ MSGPACK_EXT, 1, 0 }, { MSGPACK_EXT, 2, 0 }, { MSGPACK_EXT, 4, 0 },
	{ MSGPACK_FLOAT, 4, 0 }, { MSGPACK_FLOAT, 8, 0 },
	{ MSGPACK_INT, 1, 0 }, { MSGPACK_INT, 2, 0 }, { MSGPACK_INT, 4, 0 }, { MSGPACK_INT, 8, 0 },
	{ MSGPACK_INT, 1, 1 }, { MSGPACK_INT, 2, 1 }, { MSGPACK_INT, 4, 1 }, { MSGPACK_INT, 8, 1 },
	{ MSGPACK_EXT, 0, 1 }, { MSGPACK_EXT, 0, 2 }, { MSGPACK_EXT, 0, 4 }, { MSGPACK_EXT, 0, 8 },
	{ MSGPACK_EXT, 0, 16 },
	{ MSGPACK_TEXT, 1, 0 }, { MSGPACK_TEXT, 2, 0 }, { MSGPACK_TEXT, 4, 0 },
	{ MSGPACK_ARRAY, 2, 0 }, { MSGPACK_ARRAY, 4, 0 }, { MSGPACK_MAP, 2, 0 }, { MSGPACK_MAP, 4, 0 },
};

void
msgpack_open(struct msgpack *m, const uint8_t *p, uint64_t n, uint64_t offset, const char *name,
             struct err *e)
{
	*m = (struct msgpack){ .p = p, .n = n, .offset = offset, .name = name, .err = e };
}

static int
broken(const struct msgpack *m, const char *what)
{
	return m->err ? err_set(m->err, ERR_CORRUPT, m->name, "byte %" PRIu64 ": %s",
	                        m->offset + m->at, what) : -1;
}

/* Take n bytes: NULL if they are not there. */
static const uint8_t *
take(struct msgpack *m, uint64_t n)
{
	const uint8_t *p = m->p + m->at;

	if (n > m->n - m->at)
		return NULL;
	m->at += n;
	return p;
}

static uint64_t
big_endian(const uint8_t *p, unsigned width)
{
	uint64_t v = 0;

	while (width-- > 0)
		v = v << 8 | *p++;
	return v;
}

static double
real_of(uint64_t bits, unsigned width)
{
	uint32_t narrow = (uint32_t)bits;
	double d;
	float f;

	if (width == 4) {
		memcpy(&f, &narrow, sizeof f);
		return (double)f;
	}
	memcpy(&d, &bits, sizeof d);
	return d;
}

/* A token whose kind needs only its first byte. */
static void
take_short(uint8_t first, struct msgpack_token *t)
{
	if (first < 0x80 || first >= 0xe0) {
		t->kind = MSGPACK_INT;
		t->negative = first >= 0xe0;
		t->number = t->negative ? (uint64_t)(int64_t)(int8_t)first : first;
	} else if (first < 0xa0) {
		t->kind = first < 0x90 ? MSGPACK_MAP : MSGPACK_ARRAY;
		t->n = first & 0x0f;
	} else {
		t->kind = MSGPACK_TEXT;
		t->n = first & 0x1f;
	}
}

/* A signed integer of this many bytes. */
static void
sign(struct msgpack_token *t, unsigned width)
{
	uint64_t top = (uint64_t)1 << (8 * width - 1);

	t->negative = (t->number & top) != 0;
	t->number = (t->number ^ top) - top;
}

static int
take_row(struct msgpack *m, const struct row *row, struct msgpack_token *t)
{
	const uint8_t *p;

	if (row->kind < 0)
		return broken(m, "c1 is not MessagePack");
	p = take(m, row->width);
	if (!p)
		return broken(m, "ends inside a number");
	t->kind = (enum msgpack_kind)row->kind;
	t->number = row->width ? big_endian(p, row->width) : row->fixed;
	if (t->kind == MSGPACK_FLOAT)
		t->real = real_of(t->number, row->width);
	else if (t->kind == MSGPACK_INT && row->fixed)
		sign(t, row->width);
	else
		t->n = t->number;
	if (t->kind != MSGPACK_EXT)
		return 1;
	p = take(m, 1);
	if (!p)
		return broken(m, "ends inside a value");
	t->type = (int8_t)*p;
	return 1;
}

int
msgpack_next(struct msgpack *m, struct msgpack_token *t)
{
	uint8_t first;

	*t = (struct msgpack_token){ .kind = MSGPACK_NIL };
	if (m->at == m->n)
		return 0;
	first = m->p[m->at++];
	if (first < FIRST || first >= 0xe0)
		take_short(first, t);
	else if (take_row(m, &rows[first - FIRST], t) < 0)
		return -1;
	if (t->kind != MSGPACK_TEXT && t->kind != MSGPACK_BYTES && t->kind != MSGPACK_EXT)
		return 1;
	t->p = take(m, t->n);
	return t->p ? 1 : broken(m, "a value is longer than the rest");
}
