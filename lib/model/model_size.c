/* Sizes of a model, from its plan. */
#include <string.h>

#include "core/num.h"
#include "model/model.h"

/* Add to a sum for display, which stops at the maximum instead of wrapping. */
static void
saturate(uint64_t *sum, uint64_t v)
{
	if (num_add(*sum, v, sum) < 0)
		*sum = UINT64_MAX;
}

uint64_t
model_tensor_bytes(const struct model *m)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		saturate(&sum, tensor_bytes(m->tensors[i]));
	return sum;
}

uint64_t
model_parameters(const struct model *m)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < m->tensor_count; i++)
		saturate(&sum, tensor_items(m->tensors[i]));
	return sum;
}

size_t
model_sparse_count(const struct model *m)
{
	size_t i, n = 0;

	for (i = 0; i < m->tensor_count && !m->sealed; i++)
		n += tensor_form(m->tensors[i]).kind != SPARSE_NONE;
	return n;
}

double
model_bits_per_weight(const struct model *m)
{
	uint64_t values = model_parameters(m);

	return values ? 8.0 * (double)model_tensor_bytes(m) / (double)values : 0;
}

uint64_t
model_sign_body(const struct model *m)
{
	size_t i, side = 0;

	for (i = 0; i < m->blob_count; i++)
		side += strcmp(m->blobs[i].type, MODEL_VALUE) != 0;
	return 32 * (uint64_t)(side + m->prov_count + m->tensor_count);
}

int
model_sealed_bytes(uint64_t plain, uint64_t *sealed)
{
	uint64_t chunks = plain / MODEL_SEAL_CHUNK + (plain % MODEL_SEAL_CHUNK != 0);

	return num_add(plain, MODEL_SEAL_TAG * (chunks ? chunks : 1), sealed);
}
