#include "wire/protobuf.h"

static uint64_t
varint(struct reader *r)
{
	uint64_t v = 0;
	unsigned shift;
	uint8_t b;

	for (shift = 0; shift < 64; shift += 7) {
		b = reader_u8(r);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	reader_fail(r, ERR_CORRUPT, "a number of more than 64 bits");
	return 0;
}

void
protobuf_open(struct protobuf *m, const uint8_t *p, size_t n, const char *name,
              struct err *e)
{
	reader_memory(&m->reader, p, n, name, e);
	m->base = p;
}

int
protobuf_next(struct protobuf *m, struct protobuf_field *f)
{
	struct reader *r = &m->reader;
	uint64_t key;

	if (reader_at_end(r))
		return r->failed ? -1 : 0;
	key = varint(r);
	if (!r->failed && (key >> 3 == 0 || key >> 3 > PROTOBUF_NUMBER_MAX))
		return reader_fail(r, ERR_CORRUPT, "field numbers are 1 to %u",
		                   PROTOBUF_NUMBER_MAX);
	*f = (struct protobuf_field){ .number = (uint32_t)(key >> 3), .form = key & 7 };
	switch (f->form) {
	case PROTOBUF_VARINT:
		f->value = varint(r);
		break;
	case PROTOBUF_8:
		f->value = reader_u64(r);
		break;
	case PROTOBUF_4:
		f->value = reader_u32(r);
		break;
	case PROTOBUF_BYTES:
		f->value = varint(r);
		f->p = m->base + reader_tell(r);
		if (!r->failed)
			reader_skip(r, f->value);
		break;
	default:
		return reader_fail(r, ERR_CORRUPT, "a field of form %d", (int)f->form);
	}
	return r->failed ? -1 : 1;
}
