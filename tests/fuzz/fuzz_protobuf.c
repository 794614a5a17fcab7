/* fuzz_protobuf: what is asked of messages in the wire format of protocol buffers.
 *
 *     1. A message is read to its end or refused as corrupt; each field takes at least
 *        two bytes, and its bytes lie inside the message.
 *     2. Written again in the shortest form, the fields up to the fault are the same.
 *     3. The bytes of a field, taken for a message, keep to that too.
 *
 * The mutator writes whole fields between those of the input.
 */
#include "mutate.h"

#include "wire/protobuf.h"

#define DEPTH 8

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static void
put_field(struct buf *b, const struct protobuf_field *f)
{
	put_varint(b, (uint64_t)f->number << 3 | f->form);
	switch (f->form) {
	case PROTOBUF_VARINT:
		put_varint(b, f->value);
		break;
	case PROTOBUF_8:
		buf_u64(b, f->value);
		break;
	case PROTOBUF_4:
		buf_u32(b, (uint32_t)f->value);
		break;
	case PROTOBUF_BYTES:
		put_varint(b, f->value);
		buf_put(b, f->p, (size_t)f->value);
		break;
	}
}

static bool
is_same(const struct protobuf_field *a, const struct protobuf_field *b)
{
	return a->number == b->number && a->form == b->form && a->value == b->value &&
	       !a->p == !b->p && (!a->p || memcmp(a->p, b->p, (size_t)a->value) == 0);
}

/* The fields that could be read from p come back from their shortest form, b. */
static void
compare(const struct buf *b, const uint8_t *p, size_t n, size_t fields)
{
	struct protobuf_field x, y;
	struct protobuf first, second;
	struct err e = ERR_INIT, e2 = ERR_INIT;

	protobuf_open(&first, p, n, "in", &e);
	protobuf_open(&second, b->p, b->n, "again", &e2);
	for (; fields > 0; fields--)
		must(protobuf_next(&first, &x) == 1 && protobuf_next(&second, &y) == 1 &&
		     is_same(&x, &y));
	must(protobuf_next(&second, &y) == 0 && e2.code == ERR_NONE);
}

static void
walk(const uint8_t *p, size_t n, unsigned depth)
{
	struct protobuf_field f;
	struct protobuf m;
	struct err e = ERR_INIT;
	struct buf again = { 0 };
	size_t fields = 0;
	int r;

	protobuf_open(&m, p, n, "in", &e);
	while ((r = protobuf_next(&m, &f)) > 0) {
		must(f.number > 0 && f.number <= PROTOBUF_NUMBER_MAX);
		must(!f.p == (f.form != PROTOBUF_BYTES));
		must(!f.p || (f.p >= p && f.value <= n - (size_t)(f.p - p)));
		if (f.p && depth > 0)
			walk(f.p, (size_t)f.value, depth - 1);
		put_field(&again, &f);
		fields++;
	}
	must((r < 0) == (e.code != ERR_NONE) && fields <= n / 2);
	if (r < 0) {
		must_say(e.code == ERR_CORRUPT && protobuf_next(&m, &f) < 0, &e);
		fuzz_refused(&e, false);
	}
	must(buf_ok(&again));
	compare(&again, p, n, fields);
	buf_free(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		walk(data, size, DEPTH);
	return 0;
}

/* Where the field after this one of the message begins, or where it ends. */
static size_t
place_of(const uint8_t *data, size_t size, unsigned field)
{
	struct protobuf_field f;
	struct protobuf m;
	struct err e = ERR_INIT;
	size_t at = 0;

	protobuf_open(&m, data, size, "in", &e);
	while (field-- > 0 && protobuf_next(&m, &f) > 0)
		at = (size_t)reader_tell(&m.reader);
	return at;
}

/* One field in front of another one: a number of any width, or what the input has so
 * far as a message in a message. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const enum protobuf_form forms[] = { PROTOBUF_VARINT, PROTOBUF_8, PROTOBUF_4,
		PROTOBUF_BYTES };
	struct protobuf_field f = { .number = 1 + seed / 8 % 40, .form = forms[seed / 2 % 4] };
	struct buf b = { 0 };
	size_t at;

	if (seed & 1)
		return LLVMFuzzerMutate(data, size, max);
	at = size ? place_of(data, size, seed / 512 % 16) : 0;
	f.value = UINT64_MAX >> (seed / 8192 % 64);
	if (f.form == PROTOBUF_4)
		f.value &= UINT32_MAX;
	if (f.form == PROTOBUF_BYTES) {
		f.p = data;
		f.value = at;
	}
	buf_put(&b, data, at);
	put_field(&b, &f);
	buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
