/* What the nodes of a graph say about its constants: the order of the dimensions of weights. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "imports/tensorflow/tensorflow.h"

#define STEPS 8 /* nodes that pass a constant on */

/* Operations, and the layout of their second input. */
static const struct {
	const char *op, *layout, *transposed;
	unsigned ndim;
} uses[] = {
	{ "MatMul", "IO", "OI", 2 }, { "_FusedMatMul", "IO", "OI", 2 },
	{ "SparseMatMul", "IO", "OI", 2 }, { "QuantizedMatMul", "IO", "OI", 2 },
	{ "BatchMatMulV2", "IO", "IO", 2 }, { "Conv2D", "HWIO", "HWIO", 4 },
	{ "_FusedConv2D", "HWIO", "HWIO", 4 }, { "QuantizedConv2D", "HWIO", "HWIO", 4 },
	{ "Conv2DBackpropInput", "HWOI", "HWOI", 4 }, { "Conv3D", "DHWIO", "DHWIO", 5 },
	{ "Conv3DBackpropInputV2", "DHWOI", "DHWOI", 5 },
	{ "DepthwiseConv2dNative", "HWIM", "HWIM", 4 },
	{ "_FusedDepthwiseConv2dNative", "HWIM", "HWIM", 4 },
};
#define USES (sizeof uses / sizeof *uses)

/* Operations that pass their first input on. */
static const char *const passes[] = { "Identity", "Enter", "StopGradient", "PreventGradient",
	"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVarsPerChannel",
	"Cast", "ReadVariableOp" };

int
tf_use_alias(struct tensorflow *x, const struct tf_node *n, uint64_t graph, size_t constant)
{
	size_t i;

	for (i = 0; constant == SIZE_MAX && i < sizeof passes / sizeof *passes; i++)
		if (tf_is(n->op, passes[i]))
			break;
	if (i == sizeof passes / sizeof *passes || (constant == SIZE_MAX && n->inputs == 0) ||
	    x->alias_count == TF_ALIASES)
		return 0;
	if (mem_grow(&x->aliases, &x->alias_cap, x->alias_count + 1, sizeof *x->aliases) < 0)
		return err_memory(x->import.err);
	x->aliases[x->alias_count++] = (struct tf_alias){ n->name,
		constant == SIZE_MAX ? n->input[0] : (struct tf_text){ NULL, 0 }, graph, constant };
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const struct tf_alias *s = a, *t = b;
	const size_t n = s->name.n < t->name.n ? s->name.n : t->name.n;
	int r;

	if (s->graph != t->graph)
		return s->graph < t->graph ? -1 : 1;
	r = n ? memcmp(s->name.p, t->name.p, n) : 0;
	return r ? r : s->name.n < t->name.n ? -1 : s->name.n > t->name.n;
}

void
tf_uses_sort(struct tensorflow *x)
{
	if (x->alias_count > 0)
		qsort(x->aliases, x->alias_count, sizeof *x->aliases, compare);
}

/* The constant that an input is: "NAME", "NAME:0", or in a function "NAME:output:0". */
static struct tf_constant *
find(const struct tensorflow *x, struct tf_text input, uint64_t graph)
{
	const struct tf_alias *a;
	struct tf_alias key = { .graph = graph };
	unsigned i;

	for (i = 0; i < STEPS; i++) {
		const char *colon = input.n ? memchr(input.p, ':', input.n) : NULL;

		key.name = (struct tf_text){ input.p, colon ? (size_t)(colon - input.p) : input.n };
		a = x->alias_count ? bsearch(&key, x->aliases, x->alias_count, sizeof key, compare) : NULL;
		if (!a)
			return NULL;
		if (a->constant != SIZE_MAX)
			return &x->constants[a->constant];
		input = a->input;
	}
	return NULL;
}

void
tf_use(struct tensorflow *x, const struct tf_node *n, uint64_t graph)
{
	struct tf_constant *c;
	size_t i;

	for (i = 0; i < USES && !tf_is(n->op, uses[i].op); i++)
		;
	c = i < USES && n->inputs > 1 ? find(x, n->input[1], graph) : NULL;
	if (c && !c->layout && c->ndim == uses[i].ndim)
		c->layout = n->transposed ? uses[i].transposed : uses[i].layout;
}
