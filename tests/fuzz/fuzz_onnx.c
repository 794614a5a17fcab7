/* fuzz_onnx: the properties of tests/fuzz/fuzz.h, for files of ONNX.
 *
 * The mutator changes a field anywhere in the tree of messages and writes the lengths around it
 * again: it removes the field, doubles it, puts in one of another kind, changes its number, form
 * or bytes, or moves a whole message elsewhere.
 */
#include "mutate.h"

#include "dice.h"
#include "imports/torch/torch.h"
#include "wire/protobuf.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };

	/* Every other length: sparse tensors become dense. */
	fuzz_own = chosen;
	fuzz_own_count = size % 2;
	return fuzz_container(&format_onnx, data, size);
}

#define DEPTH 12
#define MORE 4096 /* bytes by which a change may make the input longer */

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static void
put_number(struct buf *b, unsigned number, uint64_t v)
{
	put_varint(b, (uint64_t)number << 3);
	put_varint(b, v);
}

static void
put_bytes(struct buf *b, unsigned number, const void *p, size_t n)
{
	put_varint(b, (uint64_t)number << 3 | PROTOBUF_BYTES);
	put_varint(b, n);
	buf_put(b, p, n);
}

static void
put_message(struct buf *b, unsigned number, struct buf *in)
{
	put_bytes(b, number, in->p, in->n);
	buf_free(in);
}

/* ---- whole constructs ---- */

static const char *const names[] = { "w", "v", "onnx::MatMul_1", "/a/b/w", "x~2", "" };

static uint64_t
odd_number(struct dice *d)
{
	static const uint64_t odd[] = { 0, 1, 2, 3, 7, 127, 128, 255, 256, 65535, 65536, INT32_MAX,
		UINT32_MAX, UINT64_MAX, INT64_MAX, (uint64_t)1 << 63, 1000 };

	return roll(d, 3) ? roll(d, 9) : ONE_OF(d, odd);
}

static void
put_name(struct buf *b, struct dice *d, unsigned number)
{
	const char *name = ONE_OF(d, names);

	put_bytes(b, number, name, strlen(name));
}

static void
put_typed(struct buf *b, struct dice *d, unsigned number, unsigned n)
{
	struct buf in = { 0 };
	unsigned i;

	for (i = 0; i < n; i++)
		if (number == 4)
			buf_u32(&in, (uint32_t)odd_number(d));
		else if (number == 10)
			buf_u64(&in, odd_number(d));
		else
			put_varint(&in, odd_number(d));
	put_message(b, number, &in);
}

static void
put_entry(struct buf *b, const char *key, const char *value)
{
	struct buf in = { 0 };

	put_bytes(&in, 1, key, strlen(key));
	put_bytes(&in, 2, value, strlen(value));
	put_message(b, 13, &in);
}

static void
put_tensor(struct buf *b, struct dice *d, unsigned number)
{
	static const unsigned typed[] = { 4, 5, 6, 7, 10, 11 };
	static const uint8_t zeros[64];
	struct buf in = { 0 };
	unsigned i, values = roll(d, 6);

	put_number(&in, 1, values);
	for (i = roll(d, 3); i > 0; i--)
		put_number(&in, 1, roll(d, 4) ? 1 : odd_number(d));
	put_number(&in, 2, roll(d, 28));
	put_name(&in, d, 8);
	switch (roll(d, 4)) {
	case 0:
		put_entry(&in, "location", roll(d, 2) ? "data.bin" : "../x");
		put_entry(&in, "offset", roll(d, 2) ? "0" : "-1");
		put_number(&in, 14, 1);
		break;
	case 1:
		put_bytes(&in, 9, zeros, values << roll(d, 4));
		break;
	default:
		put_typed(&in, d, ONE_OF(d, typed), values);
	}
	put_message(b, number, &in);
}

/* A sparse tensor whose indices mostly ascend and fit. */
static void
put_sparse(struct buf *b, struct dice *d, unsigned number)
{
	struct buf in = { 0 }, values = { 0 }, indices = { 0 }, list = { 0 };
	unsigned i, n = roll(d, 5), rank = 1 + roll(d, 2), coordinates = roll(d, 2) ? rank : 1, at = 0;

	put_number(&values, 1, n);
	put_number(&values, 2, 2 + !roll(d, 4) * roll(d, 20));
	put_name(&values, d, 8);
	put_typed(&values, d, 5, n);
	put_message(&in, 1, &values);
	put_number(&indices, 1, n);
	if (coordinates > 1)
		put_number(&indices, 1, coordinates);
	put_number(&indices, 2, 7);
	for (i = 0; i < n * coordinates; i++, at += 1 + roll(d, 2))
		put_varint(&list, roll(d, 20) ? coordinates > 1 ? i / 2 : at : odd_number(d));
	put_message(&indices, 7, &list);
	put_message(&in, 2, &indices);
	for (i = 0; i < rank; i++)
		put_number(&in, 3, roll(d, 9) ? 10 : odd_number(d));
	put_message(b, number, &in);
}

static void
put_node(struct buf *b, struct dice *d, const uint8_t *data, size_t size)
{
	static const char *const ops[] = { "Constant", "If", "MatMul", "Conv", "DequantizeLinear",
		"MatMulNBits", "Gemm" };
	static const char *const keys[] = { "value", "value_float", "value_ints", "sparse_value",
		"transB", "axis", "value_string", "then_branch" };
	static const unsigned fields[] = { 2, 3, 5, 6, 7, 8, 11, 22 };
	struct buf in = { 0 }, a = { 0 };
	const char *text = ONE_OF(d, ops);
	unsigned i, field = ONE_OF(d, fields);

	for (i = roll(d, 4); i > 0; i--)
		put_name(&in, d, 1);
	put_name(&in, d, 2);
	put_bytes(&in, 4, text, strlen(text));
	put_bytes(&in, 3, "/a/b/MatMul", 11);
	text = ONE_OF(d, keys);
	put_bytes(&a, 1, text, strlen(text));
	if (field == 2) {
		put_varint(&a, 2 << 3 | PROTOBUF_4);
		buf_u32(&a, 0x3f800000);
	} else if (field == 3) {
		put_number(&a, 3, odd_number(d));
	} else if (field == 5) {
		put_tensor(&a, d, 5);
	} else {
		put_bytes(&a, field, data, size);
	}
	put_message(&in, 5, &a);
	put_message(b, 1, &in);
}

/* ---- changes ---- */

static void
put_field(struct buf *b, const struct protobuf_field *f)
{
	put_varint(b, (uint64_t)f->number << 3 | f->form);
	if (f->form == PROTOBUF_8)
		buf_u64(b, f->value);
	else if (f->form == PROTOBUF_4)
		buf_u32(b, (uint32_t)f->value);
	else
		put_varint(b, f->value);
	if (f->form == PROTOBUF_BYTES)
		buf_put(b, f->p, (size_t)f->value);
}

/* Something else in front of, or in place of, a field of the message that is all of data. */
static void
put_change(struct buf *b, struct dice *d, const struct protobuf_field *f, const uint8_t *data,
           size_t size)
{
	struct protobuf_field g = *f;
	size_t n;

	switch (roll(d, 11)) {
	case 10:
		put_sparse(b, d, roll(d, 4) ? 15 : 22);
		put_field(b, f);
		return;
	case 0:
		return;
	case 1:
		put_field(b, f);
		put_field(b, f);
		return;
	case 2:
		g.number = 1 + roll(d, 27);
		put_field(b, &g);
		return;
	case 3:
		put_tensor(b, d, roll(d, 4) ? 5 : 1 + roll(d, 23));
		put_field(b, f);
		return;
	case 4:
		put_node(b, d, data, size < MORE ? size : 0);
		put_field(b, f);
		return;
	case 5:
		put_typed(b, d, 1 + roll(d, 11), roll(d, 6));
		put_field(b, f);
		return;
	case 6:
		put_bytes(b, f->number, data, size < MORE ? size : 0);
		return;
	case 7:
		put_name(b, d, 1 + roll(d, 10));
		put_field(b, f);
		return;
	default:
		if (f->form != PROTOBUF_BYTES) {
			g.value = odd_number(d);
			put_field(b, &g);
			return;
		}
		n = (size_t)f->value;
		put_varint(b, (uint64_t)f->number << 3 | PROTOBUF_BYTES);
		g.value = b->n;
		put_varint(b, n);
		n = (size_t)f->value;
		buf_put(b, f->p, n);
		mutate_piece(b, b->n - n, &n);
	}
}

/* Write the message again; the field that is reached first when *left is 0 is changed. */
static void
change(struct buf *b, struct dice *d, const uint8_t *p, size_t n, unsigned *left, unsigned depth)
{
	struct protobuf_field f;
	struct protobuf m;
	struct err e = ERR_INIT;
	struct buf in = { 0 };

	protobuf_open(&m, p, n, "in", &e);
	while (protobuf_next(&m, &f) > 0) {
		if ((*left)-- == 0) {
			put_change(b, d, &f, p, n);
		} else if (f.p && depth > 0 && f.value > 3 && f.value < 1 << 14) {
			change(&in, d, f.p, (size_t)f.value, left, depth - 1);
			if (in.n > 0)
				put_message(b, f.number, &in);
			else
				put_field(b, &f);
			in = (struct buf){ 0 };
		} else {
			put_field(b, &f);
		}
	}
	/* Bytes that are not fields stay. */
	if (e.code != ERR_NONE && depth < DEPTH) {
		b->n = 0;
		buf_put(b, p, n);
	}
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { .state = seed };
	struct buf b = { 0 };
	unsigned left;

	if (roll(&d, 8) == 0 || size == 0)
		return LLVMFuzzerMutate(data, size, max);
	left = roll(&d, 1u << roll(&d, 9));
	change(&b, &d, data, size, &left, DEPTH);
	return mutate_done(&b, data, size, max);
}
