/* What nodes say about the tensors that they use: the role of an input, and the scale and zero
 * point of a quantized weight. The first node in the file decides. */
#include <string.h>

#include "imports/onnx/onnx.h"

/* PyTorch stores the weight of a linear layer as outputs × inputs; MatMul has it turned, and so
 * has Gemm, unless it has transB. */
static const struct onnx_role roles[] = {
	/* op, input, suffix, turned, scale, zero point */
	{ "MatMul", 1, "weight", true, 0, 0 },
	{ "Gemm", 1, "weight", true, 0, 0 },
	{ "Gemm", 2, "bias", false, 0, 0 },
	{ "FusedMatMul", 1, "weight", true, 0, 0 },
	{ "Conv", 1, "weight", false, 0, 0 },
	{ "Conv", 2, "bias", false, 0, 0 },
	{ "ConvTranspose", 1, "weight", false, 0, 0 },
	{ "ConvTranspose", 2, "bias", false, 0, 0 },
	{ "BatchNormalization", 1, "weight", false, 0, 0 },
	{ "BatchNormalization", 2, "bias", false, 0, 0 },
	{ "BatchNormalization", 3, "running_mean", false, 0, 0 },
	{ "BatchNormalization", 4, "running_var", false, 0, 0 },
	{ "LayerNormalization", 1, "weight", false, 0, 0 },
	{ "LayerNormalization", 2, "bias", false, 0, 0 },
	{ "SimplifiedLayerNormalization", 1, "weight", false, 0, 0 },
	{ "RMSNormalization", 1, "weight", false, 0, 0 },
	{ "InstanceNormalization", 1, "weight", false, 0, 0 },
	{ "InstanceNormalization", 2, "bias", false, 0, 0 },
	{ "GroupNormalization", 1, "weight", false, 0, 0 },
	{ "GroupNormalization", 2, "bias", false, 0, 0 },
	{ "Gather", 0, "weight", false, 0, 0 },
	{ "PRelu", 1, "weight", false, 0, 0 },
	/* The gates of these have another order than in PyTorch: the names are ONNX's own. */
	{ "LSTM", 1, "W", false, 0, 0 },
	{ "LSTM", 2, "R", false, 0, 0 },
	{ "LSTM", 3, "B", false, 0, 0 },
	{ "GRU", 1, "W", false, 0, 0 },
	{ "GRU", 2, "R", false, 0, 0 },
	{ "GRU", 3, "B", false, 0, 0 },
	{ "RNN", 1, "W", false, 0, 0 },
	{ "RNN", 2, "R", false, 0, 0 },
	{ "RNN", 3, "B", false, 0, 0 },
	/* Quantized ones. */
	{ "DequantizeLinear", 0, NULL, false, 1, 2 },
	{ "QuantizeLinear", 0, NULL, false, 1, 2 },
	{ "QLinearConv", 3, "weight", false, 4, 5 },
	{ "QLinearConv", 8, "bias", false, 0, 0 },
	{ "QLinearMatMul", 3, "weight", true, 4, 5 },
	{ "ConvInteger", 1, "weight", false, 0, 3 },
	{ "MatMulInteger", 1, "weight", true, 0, 3 },
	{ "DynamicQuantizeMatMul", 1, "weight", true, 2, 3 },
	{ "MatMulIntegerToFloat", 1, "weight", true, 3, 5 },
	{ "QGemm", 3, "weight", true, 4, 5 },
	{ "MatMulNBits", 1, "weight", false, 2, 3 },
	{ "MatMulBnb4", 1, "weight", false, 2, 0 },
	{ "GatherBlockQuantized", 0, "weight", false, 2, 3 },
};

bool
onnx_turned(const struct onnx_use *use)
{
	return use->role && use->role->turned &&
	       (use->ints[ONNX_TRANS_B] == ONNX_MISSING || use->ints[ONNX_TRANS_B] == 0);
}

/* The tensor that is this input of a node, or SIZE_MAX. */
static size_t
input(const struct onnx *x, const struct onnx_node *node, unsigned i)
{
	return i > 0 && i < node->input_count ? onnx_find(x, node->input[i]) : SIZE_MAX;
}

static int
node_uses(struct onnx *x, const struct onnx_node *node)
{
	struct onnx_use *use;
	size_t i, t;

	for (i = 0; i < sizeof roles / sizeof *roles; i++) {
		if (!onnx_is(node->op, roles[i].op) || roles[i].input >= node->input_count)
			continue;
		t = onnx_find(x, node->input[roles[i].input]);
		if (t == SIZE_MAX || x->tensors[t].use.role)
			continue;
		use = &x->tensors[t].use;
		use->role = &roles[i];
		use->node = node->name;
		use->op = node->op;
		use->scale = input(x, node, roles[i].scale);
		use->zero_point = input(x, node, roles[i].zero_point);
		memcpy(use->ints, node->ints, sizeof use->ints);
	}
	return 0;
}

/* quantization_annotation: a tensor, and pairs of a role and another tensor. */
static int
annotation(struct onnx *x, const struct protobuf *graph, const struct protobuf_field *f)
{
	struct onnx_text of = { 0 }, key, value, scale = { 0 }, zero_point = { 0 };
	struct protobuf m, entry;
	struct protobuf_field g, h;
	size_t t;
	int r;

	if (f->number != GRAPH_ANNOTATION)
		return 0;
	protobuf_within(&m, graph, f);
	while ((r = protobuf_known(&m, &onnx_annotation, &g)) > 0) {
		if (g.number == 1) {
			of = onnx_text_of(&g);
			continue;
		}
		key = value = (struct onnx_text){ 0 };
		protobuf_within(&entry, &m, &g);
		while ((r = protobuf_known(&entry, &onnx_entry, &h)) > 0)
			*(h.number == 1 ? &key : &value) = onnx_text_of(&h);
		if (r < 0)
			return -1;
		if (onnx_is(key, "SCALE_TENSOR"))
			scale = value;
		else if (onnx_is(key, "ZERO_POINT_TENSOR"))
			zero_point = value;
	}
	t = onnx_find(x, of);
	if (r == 0 && t != SIZE_MAX && x->tensors[t].use.scale == SIZE_MAX) {
		x->tensors[t].use.scale = onnx_find(x, scale);
		x->tensors[t].use.zero_point = onnx_find(x, zero_point);
	}
	return r;
}

int
onnx_find_uses(struct onnx *x)
{
	static const struct onnx_pass pass = { .node = node_uses, .field = annotation };

	return onnx_walk(x, &pass);
}
