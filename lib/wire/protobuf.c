#include "wire/protobuf.h"

#include "core/le.h"

#define LARGE 65536 /* bytes of a field; behind such ones a walk reads another part of the map */

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
	*m = (struct protobuf){ .base = p };
	reader_memory(&m->reader, p, n, name, e);
}

static void
set_offset(struct protobuf *m, uint64_t at)
{
	m->at = at;
	m->reader.start += at;
	m->reader.end += at;
}

void
protobuf_within(struct protobuf *m, const struct protobuf *outer, const struct protobuf_field *f)
{
	protobuf_open(m, f->p, (size_t)f->value, outer->reader.name, outer->reader.err);
	m->budget = outer->budget;
	m->map = outer->map;
	set_offset(m, protobuf_at(outer, f));
}

uint64_t
protobuf_at(const struct protobuf *m, const struct protobuf_field *f)
{
	return m->at + (uint64_t)(f->p - m->base);
}

int
protobuf_next(struct protobuf *m, struct protobuf_field *f)
{
	struct reader *r = &m->reader;
	uint64_t key;

	if (reader_at_end(r))
		return r->failed ? -1 : 0;
	if (m->budget && (*m->budget)-- == 0) {
		*m->budget = 0;
		return reader_fail(r, ERR_CORRUPT, "more fields than are read of one file");
	}
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
		f->p = m->base + (reader_tell(r) - m->at);
		if (m->map && f->value > LARGE)
			map_look(m->map, f->p);
		if (!r->failed)
			reader_skip(r, f->value);
		break;
	default:
		return reader_fail(r, ERR_CORRUPT, "a field of form %d", (int)f->form);
	}
	return r->failed ? -1 : 1;
}

/* ---- messages whose fields are known ---- */

static const char *
form_text(enum protobuf_form form)
{
	switch (form) {
	case PROTOBUF_VARINT:
		return "a number";
	case PROTOBUF_8:
		return "8 bytes";
	case PROTOBUF_4:
		return "4 bytes";
	case PROTOBUF_BYTES:
		break;
	}
	return "bytes of a given length";
}

static int
check_row(struct protobuf *m, const struct protobuf_message *of, size_t i,
          const struct protobuf_field *f)
{
	const struct protobuf_row *row = &of->rows[i];
	const uint64_t bit = UINT64_C(1) << i;

	if (f->form != row->form && (row->times != PROTOBUF_PACKED || f->form != PROTOBUF_BYTES))
		return reader_fail(&m->reader, ERR_CORRUPT, "%s of %s is %s, not %s", row->name,
		                   of->name, form_text(f->form), form_text(row->form));
	if (row->times == PROTOBUF_ONCE && m->seen & bit)
		return reader_fail(&m->reader, ERR_CORRUPT, "%s has two fields %s", of->name,
		                   row->name);
	m->seen |= bit;
	return 1;
}

int
protobuf_known(struct protobuf *m, const struct protobuf_message *of, struct protobuf_field *f)
{
	size_t i;
	int r;

	while ((r = protobuf_next(m, f)) > 0) {
		for (i = 0; i < of->count; i++)
			if (of->rows[i].number == f->number)
				return check_row(m, of, i, f);
		m->unknown++;
	}
	return r;
}

/* ---- numbers ---- */

void
protobuf_numbers_open(struct protobuf_numbers *x, const uint8_t *p, size_t n, uint64_t at,
                      uint32_t number, enum protobuf_form form, const char *name, struct err *e)
{
	*x = (struct protobuf_numbers){ .number = number, .form = form };
	protobuf_open(&x->m, p, n, name, e);
	set_offset(&x->m, at);
}

/* The next number of a packed field, which has bytes left. */
static int
packed_number(struct protobuf_numbers *x, uint64_t *v)
{
	const size_t left = (size_t)(x->end - x->p);
	unsigned i;

	*v = 0;
	if (x->form == PROTOBUF_VARINT) {
		for (i = 0; i < 10 && i < left; i++) {
			*v |= (uint64_t)(x->p[i] & 0x7f) << 7 * i;
			if (x->p[i] < 0x80) {
				x->p += i + 1;
				return 1;
			}
		}
	} else if (left >= (x->form == PROTOBUF_8 ? 8 : 4)) {
		*v = x->form == PROTOBUF_8 ? le64(x->p) : le32(x->p);
		x->p += x->form == PROTOBUF_8 ? 8 : 4;
		return 1;
	}
	return reader_fail(&x->m.reader, ERR_CORRUPT, "packed numbers that end inside a number");
}

int
protobuf_number(struct protobuf_numbers *x, uint64_t *v)
{
	struct protobuf_field f;
	int r;

	while (x->p == x->end) {
		r = protobuf_next(&x->m, &f);
		if (r <= 0)
			return r;
		if (f.number != x->number)
			continue;
		if (f.form == x->form) {
			*v = f.value;
			return 1;
		}
		if (f.form != PROTOBUF_BYTES)
			return reader_fail(&x->m.reader, ERR_CORRUPT, "a number of another form");
		x->p = f.p;
		x->end = f.p + f.value;
	}
	return packed_number(x, v);
}
