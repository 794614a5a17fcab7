#include <string.h>

#include "bare/bare.h"
#include "kernels/ref/types.h"

/* All but those whose encoders need large tables. */
static const struct kernel *const kernels[] = {
	&ref_f32, &ref_f16, &ref_bf16, &ref_q4_0, &ref_q4_1, &ref_q5_0, &ref_q5_1, &ref_q8_0,
	&ref_q2_k, &ref_q3_k, &ref_q4_k, &ref_q5_k, &ref_q6_k, &ref_iq4_nl, &ref_iq4_xs, &ref_tq1_0,
	&ref_tq2_0, &ref_mxfp4
};

int
bare_values(const struct bare_tensor *t, uint64_t from, float *y, size_t n, struct err *e)
{
	const size_t count = sizeof kernels / sizeof *kernels;
	size_t i;

	for (i = 0; i < count && strcmp(kernels[i]->dtype, t->type->name) != 0; i++)
		;
	if (i == count)
		return err_set(e, ERR_FORMAT, t->type->name, "has no decoder here");
	if (from % t->type->items || n % t->type->items || from > t->items || n > t->items - from)
		return err_set(e, ERR_USAGE, NULL, "these values are not whole blocks of the tensor");
	kernels[i]->decode(t->data + (size_t)(from / t->type->items) * t->type->bytes, y, n);
	return 0;
}
