/* Which messages of a layer are weights, and their shapes. */
#include <inttypes.h>
#include <string.h>

#include "core/num.h"
#include "imports/coreml/coreml.h"

#define SMALL 256 /* bytes of a layer that cannot have weights worth a note */
#define LIST 5    /* numbers of a list in a shape */

/* A shape: "1" to "9" are numbers of the layer with that field; K is its list 20 (size of the
 * kernel), S its list 1, T its list 4. */
struct part {
	uint32_t layer, via, field; /* via: the message that holds the field, or 0 */
	const char *name, *shape;
};

#define GATES(LAYER) \
	{ LAYER, 20, 1, "input_gate.weights", "21" }, { LAYER, 20, 2, "forget_gate.weights", "21" }, \
	{ LAYER, 20, 3, "block_input.weights", "21" }, { LAYER, 20, 4, "output_gate.weights", "21" }, \
	{ LAYER, 20, 20, "input_gate.recursion", "22" }, \
	{ LAYER, 20, 21, "forget_gate.recursion", "22" }, \
	{ LAYER, 20, 22, "block_input.recursion", "22" }, \
	{ LAYER, 20, 23, "output_gate.recursion", "22" }, \
	{ LAYER, 20, 40, "input_gate.bias", "2" }, { LAYER, 20, 41, "forget_gate.bias", "2" }, \
	{ LAYER, 20, 42, "block_input.bias", "2" }, { LAYER, 20, 43, "output_gate.bias", "2" }, \
	{ LAYER, 20, 60, "input_gate.peephole", "2" }, \
	{ LAYER, 20, 61, "forget_gate.peephole", "2" }, \
	{ LAYER, 20, 62, "output_gate.peephole", "2" }

static const struct part parts[] = {
	{ 100, 0, 90, "weights", "12K" }, { 100, 0, 91, "bias", "1" },       /* convolution */
	{ 140, 0, 20, "weights", "21" }, { 140, 0, 21, "bias", "2" },        /* inner product */
	{ 150, 0, 20, "weights", "21" }, { 150, 0, 21, "bias", "2" },        /* embedding */
	{ 1040, 0, 20, "weights", "21" }, { 1040, 0, 21, "bias", "2" },      /* embedding, any rank */
	{ 160, 0, 15, "gamma", "1" }, { 160, 0, 16, "beta", "1" },           /* batch normalization */
	{ 160, 0, 17, "mean", "1" }, { 160, 0, 18, "variance", "1" },
	{ 245, 0, 2, "scale", "S" }, { 245, 0, 5, "bias", "T" },             /* scale */
	{ 250, 0, 2, "bias", "S" },                                          /* bias */
	{ 290, 0, 2, "data", "S" }, { 1070, 0, 2, "data", "S" },             /* constants */
	{ 400, 0, 30, "weights", "21" }, { 400, 0, 31, "recursion", "22" },  /* simple recurrent */
	{ 400, 0, 32, "bias", "2" },
	GATES(420), GATES(430),                                              /* LSTM */
};
#define PARTS (sizeof parts / sizeof *parts)

/* Numbers of a layer. */
struct numbers {
	uint64_t one[10];
	uint64_t list[3][LIST]; /* K, S, T */
	unsigned count[3];
	uint64_t groups;
	bool deconvolution;
};

/* The list of packed or single numbers of a field; more than LIST are an error. */
static int
add_to_list(struct coreml *s, struct numbers *n, unsigned which, const struct protobuf_field *f)
{
	struct reader r;
	uint64_t v;
	unsigned shift;
	uint8_t byte;

	if (f->form == PROTOBUF_VARINT) {
		if (n->count[which] == LIST)
			return import_fail(&s->import, ERR_FORMAT, "has a layer whose shape is too long");
		n->list[which][n->count[which]++] = f->value;
		return 0;
	}
	if (f->form != PROTOBUF_BYTES)
		return import_fail(&s->import, ERR_CORRUPT, "has a layer whose shape is not a list");
	reader_memory(&r, f->p, (size_t)f->value, s->import.source.name, s->import.err);
	while (!reader_at_end(&r)) {
		for (v = shift = 0; shift < 63; shift += 7) {
			byte = reader_u8(&r);
			v |= (uint64_t)(byte & 0x7f) << shift;
			if (byte < 0x80)
				break;
		}
		if (n->count[which] == LIST)
			return import_fail(&s->import, ERR_FORMAT, "has a layer whose shape is too long");
		n->list[which][n->count[which]++] = v;
	}
	return r.failed ? -1 : 0;
}

static int
read_numbers(struct coreml *s, uint32_t layer, const struct protobuf_field *from,
             struct numbers *n)
{
	struct protobuf_field f;
	struct protobuf m;
	int r;

	*n = (struct numbers){ .groups = 1 };
	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0) {
		if (f.form == PROTOBUF_VARINT && f.number < 10)
			n->one[f.number] = f.value;
		if (layer == 100 && f.form == PROTOBUF_VARINT && f.number == 10)
			n->groups = f.value;
		if (layer == 100 && f.form == PROTOBUF_VARINT && f.number == 60)
			n->deconvolution = f.value != 0;
		if (layer == 100 && f.number == 20 && add_to_list(s, n, 0, &f) < 0)
			return -1;
		if (layer != 100 && f.number == 1 && add_to_list(s, n, 1, &f) < 0)
			return -1;
		if (layer == 245 && f.number == 4 && add_to_list(s, n, 2, &f) < 0)
			return -1;
	}
	return r;
}

/* The shape of a part; deconvolutions state it the other way around. */
static unsigned
shape_of(const struct part *x, const struct numbers *n, uint64_t dims[TENSOR_DIMS])
{
	const char *c;
	unsigned i, which, ndim = 0;

	for (c = x->shape; *c; c++) {
		if (*c >= '0' && *c <= '9') {
			dims[ndim++] = n->one[*c - '0'];
			continue;
		}
		which = *c == 'K' ? 0 : *c == 'S' ? 1 : 2;
		for (i = 0; i < n->count[which]; i++)
			dims[ndim++] = n->list[which][i];
	}
	if (x->layer == 100 && x->field == 90 && n->deconvolution && n->groups) {
		uint64_t out = dims[0];

		dims[0] = dims[1];
		dims[1] = out / n->groups;
	}
	return ndim;
}

/* Add the parts in one message; via: its number in the layer, or 0. */
static int
add_parts(struct coreml *s, const char *prefix, uint32_t layer, uint32_t via,
          const struct protobuf_field *from, const struct numbers *n)
{
	uint64_t dims[TENSOR_DIMS];
	struct protobuf_field f;
	struct protobuf m;
	size_t i;
	int r;

	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while ((r = protobuf_next(&m, &f)) > 0)
		for (i = 0; f.form == PROTOBUF_BYTES && i < PARTS; i++) {
			const struct part *x = &parts[i];
			struct buf name = { 0 };

			if (x->layer != layer || x->via != via || x->field != f.number || f.value == 0)
				continue;
			buf_text(&name, prefix);
			buf_printf(&name, ".%s", x->name);
			r = !buf_string(&name) ? err_memory(s->import.err)
			                       : coreml_weights(s, (char *)name.p, &f,
			                                        shape_of(x, n, dims), dims);
			buf_free(&name);
			if (r < 0)
				return -1;
		}
	return r;
}

/* The messages of an LSTM's weights; a second one is that of the way back. */
static int
add_nested(struct coreml *s, const char *prefix, uint32_t layer,
           const struct protobuf_field *from, const struct numbers *n)
{
	struct protobuf_field f;
	struct protobuf m;
	unsigned count = 0;
	int r, status = 0;

	protobuf_open(&m, from->p, (size_t)from->value, s->import.source.name, s->import.err);
	while (status == 0 && (r = protobuf_next(&m, &f)) > 0) {
		struct buf name = { 0 };

		if (f.number != 20 || f.form != PROTOBUF_BYTES)
			continue;
		buf_text(&name, prefix);
		if (layer == 430)
			buf_text(&name, count == 0 ? ".forward" : ".backward");
		if (count++ > 1)
			status = import_fail(&s->import, ERR_CORRUPT, "has an LSTM with three weights");
		else if (!buf_string(&name))
			status = err_memory(s->import.err);
		else
			status = add_parts(s, (char *)name.p, layer, 20, &f, n);
		buf_free(&name);
	}
	return status < 0 ? -1 : r;
}

static bool
is_known(uint32_t layer)
{
	size_t i;

	for (i = 0; i < PARTS; i++)
		if (parts[i].layer == layer)
			return true;
	return false;
}

int
coreml_layer(struct coreml *s, const struct buf *name, uint32_t number,
             const struct protobuf_field *layer)
{
	struct numbers n;

	if (!is_known(number)) {
		s->left_out += layer->value > SMALL;
		return 0;
	}
	if (read_numbers(s, number, layer, &n) < 0)
		return -1;
	if (number == 420 || number == 430)
		return add_nested(s, (char *)name->p, number, layer, &n);
	return add_parts(s, (char *)name->p, number, 0, layer, &n);
}
