/* fuzz_coreml: the properties of tests/fuzz/fuzz.h, for models of Core ML.
 *
 * The mutator writes whole networks of one layer, whose weights have a form, bits and codings that
 * mostly fit together, and programs of one value that is made of others. Its operands are constants
 * or values, in the message or in records: the input is its own weight file.
 */
#include "mutate.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_container(&format_coreml, data, size);
}

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_u8(b, (uint8_t)(v | 0x80));
	buf_u8(b, (uint8_t)v);
}

static void
put_number(struct buf *b, uint32_t field, uint64_t v)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, v);
}

/* Add a message to another one, and free it. */
static void
put_message(struct buf *b, uint32_t field, struct buf *message)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, message->n);
	buf_put(b, message->p, message->n);
	buf_free(message);
	*message = (struct buf){ 0 };
}

static void
put_zeros(struct buf *b, uint32_t field, size_t n)
{
	struct buf zeros = { 0 };

	buf_zeros(&zeros, n);
	put_message(b, field, &zeros);
}

/* Weights of n values. */
static void
put_weights(struct buf *b, uint32_t field, size_t n, unsigned seed)
{
	const unsigned bits = 1 + seed / 4 % 9;
	struct buf w = { 0 }, coding = { 0 }, inner = { 0 };

	if (seed % 4 < 2) {
		put_zeros(&w, 1 + seed % 2, n * (seed % 2 ? 2 : 4));
	} else {
		put_zeros(&w, seed / 36 % 8 ? 30 : 31, (n * bits + 7) / 8);
		put_number(&coding, 1, bits);
		put_zeros(&inner, 1, seed % 4 == 2 ? 4 * (1 + seed / 288 % 3) : (size_t)4 << bits);
		put_message(&coding, seed % 4 == 2 ? 101 : 102, &inner);
		put_message(&w, 40, &coding);
	}
	put_message(b, field, &w);
}

static void
put_network(struct buf *b, unsigned seed)
{
	static const struct { uint16_t layer, field; } parts[] = { { 100, 90 }, { 140, 20 },
		{ 160, 15 }, { 290, 2 }, { 1070, 2 }, { 150, 20 }, { 400, 31 }, { 420, 1 } };
	const unsigned x = 1 + seed / 8 % 4, y = 1 + seed / 32 % 4, k = seed % 8;
	struct buf layer = { 0 }, body = { 0 }, inner = { 0 }, network = { 0 };

	put_number(&body, 1, x);
	if (k != 3 && k != 4)
		put_number(&body, 2, y);
	if (k == 7) {
		put_weights(&inner, parts[k].field, x * y, seed / 128);
		put_message(&body, 20, &inner);
	} else {
		put_weights(&body, parts[k].field,
		            k == 2 || k == 3 || k == 4 ? x : k == 6 ? y * y : x * y, seed / 128);
	}
	buf_text(&inner, "l");
	put_message(&layer, 1, &inner);
	put_message(&layer, parts[k].layer, &body);
	put_message(&network, 1, &layer);
	put_number(b, 1, 4);
	buf_put(b, "\x12\5\n\3\n\1x", 7);
	put_message(b, 500, &network);
}

/* ---- programs ---- */

/* Put a text as a field. */
static void
put_name(struct buf *b, uint32_t field, const char *text)
{
	put_varint(b, (uint64_t)field << 3 | 2);
	put_varint(b, strlen(text));
	buf_text(b, text);
}

/* The entry of a map. */
static void
put_entry(struct buf *b, uint32_t field, const char *key, struct buf *value)
{
	struct buf entry = { 0 };

	put_name(&entry, 1, key);
	put_message(&entry, 2, value);
	put_message(b, field, &entry);
}

/* A type of an operand: its number in messages and in records, and its bits. */
static const struct { uint8_t number, record, bits; } kinds[] = { { 11, 2, 32 }, { 10, 1, 16 },
	{ 21, 4, 8 }, { 31, 3, 8 }, { 25, 8, 4 }, { 35, 11, 4 }, { 36, 10, 2 }, { 37, 9, 1 },
	{ 38, 13, 6 }, { 39, 12, 3 }, { 13, 5, 16 }, { 12, 0, 64 }, { 40, 16, 8 } };
#define KINDS (sizeof kinds / sizeof *kinds)

#define RECORDS (2 + 7 + 3) /* bytes of the model in front of the records, which are a field */

struct shape {
	unsigned n[5], rank;
};

/* A Value with this shape and type, in the message or in a record behind `file`. */
static void
put_value(struct buf *value, unsigned kind, const struct shape *shape, struct buf *file)
{
	struct buf type = { 0 }, dims = { 0 }, one = { 0 }, tensor = { 0 }, bytes = { 0 };
	unsigned items = 1, i;
	size_t n;

	put_number(&type, 1, kinds[kind].number);
	put_number(&type, 2, shape->rank);
	for (i = 0; i < shape->rank; i++) {
		items *= shape->n[i];
		put_number(&one, 1, shape->n[i]);
		put_message(&dims, 1, &one);
		put_message(&type, 3, &dims);
	}
	put_message(&tensor, 1, &type);
	put_message(value, 2, &tensor);
	n = (items * kinds[kind].bits + 7) / 8;
	if (file) {
		put_name(&one, 1, "@model_path/w");
		put_number(&one, 2, file->n);
		put_message(value, 5, &one);
		buf_u32(file, 0xdeadbeef);
		buf_u32(file, kinds[kind].record);
		buf_u64(file, n);
		buf_u64(file, file->n + 48);
		buf_u64(file, n * 8 - items * kinds[kind].bits);
		buf_zeros(file, 32 + n);
		return;
	}
	put_zeros(&bytes, 1, n);
	put_message(&tensor, kind == 0 ? 1 : kind == 11 ? 6 : 7, &bytes);
	put_message(&one, 1, &tensor);
	put_message(value, 3, &one);
}

/* An operand: an attribute, or the name of a constant. */
static void
put_operand(struct buf *block, struct buf *op, const char *key, unsigned kind,
            const struct shape *shape, struct buf *file, bool named)
{
	struct buf value = { 0 }, constant = { 0 }, name = { 0 }, binding = { 0 };

	put_value(&value, kind % KINDS, shape, file);
	if (!named) {
		put_entry(op, 5, key, &value);
		return;
	}
	put_name(&constant, 1, "const");
	put_name(&name, 1, key);
	put_message(&constant, 3, &name);
	put_entry(&constant, 5, "val", &value);
	put_message(block, 3, &constant);
	put_name(&name, 1, key);
	put_message(&binding, 1, &name);
	put_entry(op, 2, key, &binding);
}

/* An input that is an output, or a constant, of this name. */
static void
put_input(struct buf *op, const char *key, const char *of)
{
	struct buf name = { 0 }, binding = { 0 };

	put_name(&name, 1, of);
	put_message(&binding, 1, &name);
	put_entry(op, 2, key, &binding);
}

/* An operation with two outputs, a mask and values, and the one that makes them dense. */
static void
put_sparse_program(struct buf *b, unsigned seed)
{
	static const char *const ops[2][5] = {
		{ "constexpr_lut_to_sparse", "indices_mask", "indices_nonzero_data", "lut", "vector_axis" },
		{ "constexpr_sparse_blockwise_shift_scale", "data_mask", "nonzero_data", "scale", "offset" },
	};
	static const char *const outputs[] = { "m", "v", "u" };
	const unsigned which = seed % 2, bits = seed / 2 % 8, kind = seed / 16 % KINDS;
	const struct shape shape = { { 1, 8 }, 2 }, list = { { bits + !(seed / 256 % 8) }, 1 };
	const struct shape table = { { 1, 1, 1u << kinds[kind].bits % 8, 1 }, 4 }, one = { { 1, 1 }, 2 };
	struct buf block = { 0 }, op = { 0 }, dense = { 0 }, name = { 0 }, function = { 0 },
		program = { 0 };
	unsigned i;

	put_operand(&block, &op, ops[which][1], 7, &shape, NULL, false);
	/* The operation ends in the byte of the mask. */
	op.p[op.n - 1] = (uint8_t)((1u << bits) - 1);
	put_operand(&block, &op, ops[which][2], kind, &list, NULL, false);
	put_operand(&block, &op, ops[which][3], seed / 2048 % 3, which ? &one : &table, NULL, false);
	if (seed / 8192 % 2)
		put_operand(&block, &op, ops[which][4], which ? kind : 3, &one, NULL, false);
	put_name(&op, 1, ops[which][0]);
	for (i = 0; i < 2; i++) {
		put_name(&name, 1, outputs[i]);
		put_message(&op, 3, &name);
	}
	put_message(&block, 3, &op);
	put_input(&dense, "mask", outputs[seed / 16384 % 9 == 0]);
	put_input(&dense, "nonzero_data", outputs[1 + (seed / 16384 % 9 == 1)]);
	put_name(&dense, 1, "constexpr_sparse_to_dense");
	put_name(&name, 1, "w");
	put_message(&dense, 3, &name);
	put_message(&block, 3, &dense);
	put_name(&function, 2, "o");
	put_entry(&function, 3, "o", &block);
	put_entry(&program, 2, "main", &function);
	put_number(b, 1, 4);
	buf_put(b, "\x12\5\n\3\n\1x", 7);
	put_message(b, 502, &program);
}

static void
put_program(struct buf *b, unsigned seed)
{
	static const struct { const char *type, *data, *scale, *more; } ops[] = {
		{ "constexpr_affine_dequantize", "quantized_data", "scale", "zero_point" },
		{ "constexpr_blockwise_shift_scale", "data", "scale", "offset" },
		{ "constexpr_lut_to_dense", "indices", "lut", "vector_axis" },
		{ "constexpr_lut_to_dense", "indices", "lut", "shape" },
		{ "constexpr_sparse_to_dense", "mask", "nonzero_data", "x" },
		{ "constexpr_cast", "source_val", "x", "y" },
	};
	const unsigned k = seed % 6, kind = seed / 64 % KINDS;
	const bool named = seed / 8 % 2, filed = seed / 16 % 2;
	struct shape data = { { 1 + seed / 1024 % 3, 2 + seed / 4096 % 3 }, 2 }, scale = data, none = { 0 };
	struct buf block = { 0 }, op = { 0 }, name = { 0 }, function = { 0 }, program = { 0 }, value = { 0 },
		records = { 0 }, *file = filed ? &records : NULL;

	buf_zeros(&records, RECORDS);
	if (k == 2 || k == 3)
		scale = k == 2 ? (struct shape){ { 1, 1, 1u << kinds[kind].bits % 8, 1 + seed / 32768 % 2 }, 4 }
		               : (struct shape){ { 1u << seed / 1024 % 4 }, 1 };
	else if (seed / 32768 % 2)
		scale.n[0] = 1;
	put_operand(&block, &op, ops[k].data, kind, &data, file, named);
	put_operand(&block, &op, ops[k].scale, seed / 65536 % 3, &scale, file, named);
	put_operand(&block, &op, ops[k].more, kind, k == 1 ? &scale : &none, NULL, false);
	put_operand(&block, &op, "axis", 3, &none, NULL, false);
	put_name(&op, 1, ops[k].type);
	put_name(&name, 1, "w");
	put_message(&op, 3, &name);
	put_message(&block, 3, &op);
	put_name(&function, 2, "o");
	put_entry(&function, 3, "o", &block);
	put_entry(&program, 2, "main", &function);
	put_number(b, 1, 4);
	buf_put(b, "\x12\5\n\3\n\1x", 7);
	if (filed) {
		buf_put(&value, records.p + RECORDS, records.n - RECORDS);
		buf_zeros(&value, 128); /* a length of two bytes */
		put_message(b, 15, &value);
	}
	buf_free(&records);
	put_message(b, 502, &program);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct buf b = { 0 };
	size_t at, n;

	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	if (seed / 2 % 2 && seed / 4 % 8 == 0)
		put_sparse_program(&b, seed / 32);
	else if (seed / 2 % 2)
		put_program(&b, seed / 8);
	else
		put_network(&b, seed / 8);
	if (seed % 8 == 0) {
		at = seed / 8 % b.n;
		n = b.n - at < 4 ? b.n - at : 4;
		mutate_piece(&b, at, &n);
	}
	return mutate_done(&b, data, size, max);
}
