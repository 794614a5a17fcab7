/* fuzz_tflite: the properties of tests/fuzz/fuzz.h, for files of TensorFlow Lite.
 *
 * The mutator walks the tables as the schema has them and collects the places of offsets and of
 * the numbers that decide (counts, types, buffers, dimensions). It then lets an offset lead to
 * where another one leads, or changes one of the numbers to a small or a critical one.
 */
#include "imports/tflite/tflite.h"
#include "imports/torch/torch.h"
#include "mutate.h"

#define PLACES 256

struct places {
	struct flat f;
	uint64_t offset[PLACES], number[PLACES];
	unsigned offsets, numbers;
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct format_choice chosen[] = { { &torch_options[TORCH_DENSE], "" } };

	fuzz_own = chosen;
	fuzz_own_count = 1;
	return fuzz_container(&format_tflite, data, size);
}

/* The place of a field in the buffer, or 0. */
static uint64_t
slot(const struct places *p, const struct flat_table *t, unsigned field)
{
	return 4 + 2 * field + 2 <= t->vtable_bytes
	           ? t->at + le16(p->f.p + t->vtable + 4 + 2 * field) : 0;
}

static void
put_offset(struct places *p, uint64_t at)
{
	if (at && at + 4 <= p->f.n && p->offsets < PLACES)
		p->offset[p->offsets++] = at;
}

static void
put_value(struct places *p, uint64_t at)
{
	if (at && at + 4 <= p->f.n && p->numbers < PLACES)
		p->number[p->numbers++] = at;
}

static struct flat_vector
vector(struct places *p, const struct flat_table *t, unsigned field, unsigned bytes)
{
	const struct flat_vector v = flat_list(&p->f, t, field, bytes);

	if (v.p) {
		put_offset(p, slot(p, t, field));
		put_value(p, v.at - 4);
		if (v.count)
			put_value(p, v.at);
	}
	return v;
}

/* A level of a sparse tensor: form, size, and two unions of vectors. */
static void
level(struct places *p, const struct flat_table *t)
{
	struct flat_table inner;
	unsigned field;

	put_value(p, slot(p, t, 0));
	put_value(p, slot(p, t, 1));
	for (field = 2; field <= 4; field += 2) {
		put_value(p, slot(p, t, field));
		put_offset(p, slot(p, t, field + 1));
		inner = flat_inner(&p->f, t, field + 1);
		vector(p, &inner, 0, 4);
	}
}

static void
sparsity(struct places *p, const struct flat_table *t)
{
	struct flat_vector list;
	struct flat_table x;
	uint64_t i;

	vector(p, t, 0, 4);
	vector(p, t, 1, 4);
	list = vector(p, t, 2, 4);
	for (i = 0; i < list.count && i < 8; i++) {
		x = flat_member(&p->f, &list, i);
		level(p, &x);
	}
}

static void
tensor(struct places *p, const struct flat_table *t)
{
	struct flat_table q = flat_inner(&p->f, t, TENSOR_QUANTIZATION);
	const struct flat_table s = flat_inner(&p->f, t, TENSOR_SPARSITY);

	put_value(p, slot(p, t, TENSOR_TYPE));
	put_value(p, slot(p, t, TENSOR_BUFFER));
	vector(p, t, TENSOR_SHAPE, 4);
	vector(p, t, TENSOR_LABEL, 1);
	put_offset(p, slot(p, t, TENSOR_QUANTIZATION));
	vector(p, &q, QUANT_SCALE, 4);
	vector(p, &q, QUANT_ZERO_POINT, 8);
	put_value(p, slot(p, &q, QUANT_AXIS));
	put_value(p, slot(p, &q, QUANT_DETAILS));
	put_offset(p, slot(p, t, TENSOR_SPARSITY));
	sparsity(p, &s);
}

static void
collect(struct places *p, const uint8_t *data, size_t size)
{
	struct flat_table model = flat_root(&p->f, data, size, "TFL3"), t, u;
	struct flat_vector graphs = vector(p, &model, TFLITE_GRAPHS, 4), list, inner;
	uint64_t i, k;

	for (i = 0; i < graphs.count && !p->f.fault; i++) {
		put_offset(p, graphs.at + 4 * i);
		t = flat_member(&p->f, &graphs, i);
		list = vector(p, &t, GRAPH_TENSORS, 4);
		for (k = 0; k < list.count && !p->f.fault; k++) {
			put_offset(p, list.at + 4 * k);
			u = flat_member(&p->f, &list, k);
			tensor(p, &u);
		}
		vector(p, &t, GRAPH_INPUTS, 4);
		list = vector(p, &t, GRAPH_OPERATORS, 4);
		for (k = 0; k < list.count && !p->f.fault; k++) {
			u = flat_member(&p->f, &list, k);
			inner = vector(p, &u, 1, 4);
		}
	}
	list = vector(p, &model, TFLITE_BUFFERS, 4);
	for (i = 0; i < list.count && !p->f.fault; i++) {
		put_offset(p, list.at + 4 * i);
		t = flat_member(&p->f, &list, i);
		inner = vector(p, &t, 0, 1);
		put_value(p, inner.p ? 0 : slot(p, &t, 1));
		put_value(p, inner.p ? 0 : slot(p, &t, 2));
	}
	vector(p, &model, TFLITE_METADATA, 4);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static const uint32_t critical[] = { 0, 1, 2, 3, 4, 5, 8, 9, 17, 19, 20, 255, 65536,
		0x7fffffff, 0x80000000, 0xffffffff };
	struct places p = { .offsets = 0 };
	uint64_t from, to;

	if (seed % 3 == 0)
		return LLVMFuzzerMutate(data, size, max);
	collect(&p, data, size);
	if (seed % 3 == 1 && p.offsets > 1) {
		from = p.offset[seed / 3 % p.offsets];
		to = p.offset[seed / 999 % p.offsets];
		le32_put(data + from, (uint32_t)(to + le32(data + to) - from));
		return size;
	}
	if (p.numbers == 0)
		return LLVMFuzzerMutate(data, size, max);
	to = p.number[seed / 3 % p.numbers];
	if (seed / 999 % 4 == 0)
		le32_put(data + to, le32(data + to) + seed / 4000 % 5 - 2);
	else
		data[to] = (uint8_t)critical[seed / 4000 % 16];
	if (seed / 999 % 4 == 1)
		le32_put(data + to, critical[seed / 4000 % 16]);
	return size;
}
