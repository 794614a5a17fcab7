/* The values of WeightParams. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/coreml/coreml.h"

/* A WeightParams, taken apart. */
struct parts {
	struct protobuf_field floats, halves, raw, small, quantization;
};

/* A QuantizationParams, taken apart. */
struct coding {
	uint64_t bits;
	struct protobuf_field scales, biases, table;
	bool linear, lookup;
};

static int
strange(const struct coreml *s, const char *name, const char *what)
{
	return err_set(s->import.err, ERR_CORRUPT, name, "%s", what);
}

/* Take the fields of a message apart: numbers and places. Others are skipped. */
static int
take(struct coreml *s, const struct protobuf_field *from, const uint32_t *numbers,
     struct protobuf_field *const *to, size_t n)
{
	struct protobuf_field f;
	struct protobuf m;
	size_t i;
	int r;

	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0)
		for (i = 0; i < n; i++)
			if (f.number == numbers[i] && f.form == PROTOBUF_BYTES)
				*to[i] = f;
	return r;
}

static int
read_coding(struct coreml *s, const struct protobuf_field *from, struct coding *c)
{
	static const uint32_t numbers[] = { 1, 2 };
	struct protobuf_field *const linear[] = { &c->scales, &c->biases };
	struct protobuf_field *const lookup[] = { &c->table };
	struct protobuf_field f;
	struct protobuf m;
	int r;

	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.number == 1 && f.form == PROTOBUF_VARINT)
			c->bits = f.value;
		if (f.form != PROTOBUF_BYTES)
			continue;
		c->linear |= f.number == 101;
		c->lookup |= f.number == 102;
		if ((f.number == 101 && take(s, &f, numbers, linear, 2) < 0) ||
		    (f.number == 102 && take(s, &f, numbers, lookup, 1) < 0))
			return -1;
	}
	return r;
}

/* ---- values ---- */

/* `bits` bits from bit `at`, the first one highest. */
static unsigned
bits_at(const uint8_t *p, uint64_t at, unsigned bits)
{
	unsigned shift = (unsigned)(at % 8) + bits, two = (unsigned)p[at / 8] << 8;

	if (shift > 8)
		two |= p[at / 8 + 1];
	return two >> (16 - shift) & ((1u << bits) - 1);
}

static float
float_at(const uint8_t *p, uint64_t i)
{
	return le_f32(p + 4 * i);
}

static void
make_values(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const struct coreml_code *c = x->data;
	uint64_t i;

	for (i = first; i < first + count; i++, to += 4) {
		unsigned q = bits_at(x->p, i * c->bits, c->bits);
		float f;

		if (c->table) {
			f = float_at(c->table, q);
		} else {
			f = (float)(c->is_signed ? (int8_t)q : (int)q) * float_at(c->scales, i / c->group);
			if (c->biases)
				f += float_at(c->biases, i / c->group);
		}
		le_f32_put(to, f);
	}
}

/* Prove that the numbers of a coding fit together, for this many values. */
static int
check_coding(const struct coreml *s, const char *name, const struct coding *c, uint64_t items,
             uint64_t bytes)
{
	uint64_t bits, scales = c->scales.value / 4;

	if (c->bits == 0 || c->bits > 8)
		return err_set(s->import.err, ERR_FORMAT, name, "has values of %" PRIu64
		               " bits, which are not read", c->bits);
	if (num_mul(items, c->bits, &bits) < 0 || bytes != bits / 8 + (bits % 8 != 0))
		return err_set(s->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes, but its shape "
		               "needs %" PRIu64 " values of %" PRIu64 " bits", bytes, items, c->bits);
	if (c->linear == c->lookup)
		return strange(s, name, "has bits without exactly one way to values");
	if (c->lookup)
		return c->table.value == 4u << c->bits
		           ? 0 : strange(s, name, "has a table of another size than its bits");
	if (c->scales.value % 4 || scales == 0 || items % scales)
		return strange(s, name, "has a number of scales that does not divide its values");
	if (c->biases.value && c->biases.value != c->scales.value)
		return strange(s, name, "has another number of biases than of scales");
	return 0;
}

static int
decode(struct coreml *s, const char *name, const struct parts *p, uint64_t items,
       struct import_place *x)
{
	const struct protobuf_field *raw = p->raw.p ? &p->raw : &p->small;
	struct coding c = { 0 };
	struct coreml_code *code;

	if (!p->quantization.p)
		return strange(s, name, "has bits without exactly one way to values");
	if (read_coding(s, &p->quantization, &c) < 0)
		return -1;
	if (!p->raw.p)
		c.bits = 8;
	if (check_coding(s, name, &c, items, raw->value) < 0)
		return -1;
	code = mem_array(1, sizeof *code);
	if (!code)
		return err_memory(s->import.err);
	*code = (struct coreml_code){ .next = s->codes, .bits = (unsigned)c.bits,
		.is_signed = !p->raw.p, .table = c.lookup ? c.table.p : NULL };
	s->codes = code;
	if (c.linear) {
		code->scales = c.scales.p;
		code->biases = c.biases.value ? c.biases.p : NULL;
		code->group = items / (c.scales.value / 4);
	}
	*x = (struct import_place){ .p = raw->p, .make = make_values, .in = 0, .out = 4, .data = code };
	s->decoded++;
	return 0;
}

int
coreml_weights(struct coreml *s, const char *name, const struct protobuf_field *weights,
               unsigned ndim, const uint64_t *dims)
{
	static const uint32_t numbers[] = { 1, 2, 30, 31, 40 };
	struct parts p = { .floats = { .p = NULL } };
	struct protobuf_field *const to[] = { &p.floats, &p.halves, &p.raw, &p.small, &p.quantization };
	const struct protobuf_field *plain;
	struct import_place x = { .p = NULL };
	uint64_t items = 1, bytes = 0;
	unsigned i;

	if (take(s, weights, numbers, to, 5) < 0)
		return -1;
	for (i = 0; i < ndim; i++)
		if (num_mul(items, dims[i], &items) < 0)
			return strange(s, name, "has a shape of too many values");
	if (!!p.floats.p + !!p.halves.p + !!p.raw.p + !!p.small.p != 1)
		return strange(s, name, "has values in none or several forms");
	if (p.raw.p || p.small.p) {
		if (decode(s, name, &p, items, &x) < 0)
			return -1;
		return import_tensor(&s->import, name, strlen(name), dtype_by_name("F32"), ndim, dims, &x);
	}
	plain = p.floats.p ? &p.floats : &p.halves;
	if (num_mul(items, p.floats.p ? 4 : 2, &bytes) < 0 || plain->value != bytes)
		return err_set(s->import.err, ERR_CORRUPT, name, "has %" PRIu64 " bytes of values, but its "
		               "shape needs %" PRIu64, plain->value, bytes);
	x.p = plain->p;
	return import_tensor(&s->import, name, strlen(name), dtype_by_name(p.floats.p ? "F32" : "F16"),
	                     ndim, dims, &x);
}
