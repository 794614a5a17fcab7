#include "kernels/kernel.h"

#include <string.h>

#include "kernels/ref.h"

static const struct kernel *const kernels[] = {
	&ref_f32, &ref_f16, &ref_bf16, &ref_f8_e4m3, &ref_f8_e5m2,
	&ref_q4_0, &ref_q4_1, &ref_q5_0, &ref_q5_1, &ref_q8_0, &ref_q8_1,
	&ref_q2_k, &ref_q3_k, &ref_q4_k, &ref_q5_k, &ref_q6_k, &ref_q8_k,
	&ref_iq4_nl, &ref_iq4_xs, &ref_tq1_0, &ref_tq2_0, &ref_mxfp4,
	&ref_iq1_s, &ref_iq1_m, &ref_iq2_xxs, &ref_iq2_xs, &ref_iq2_s,
	&ref_iq3_xxs, &ref_iq3_s,
};

const struct kernel *
kernel_for(const struct dtype *t)
{
	size_t i;

	for (i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
		if (!strcmp(kernels[i]->dtype, t->name))
			return kernels[i];
	return NULL;
}
