#include "kernels/kernel.h"

#include <string.h>

#include "kernels/ref.h"
#include "kernels/whole.h"

static const struct kernel *const kernels[] = {
	&ref_f32, &ref_f16, &ref_bf16, &ref_f8_e4m3, &ref_f8_e5m2,
	&ref_q4_0, &ref_q4_1, &ref_q5_0, &ref_q5_1, &ref_q8_0, &ref_q8_1,
	&ref_q2_k, &ref_q3_k, &ref_q4_k, &ref_q5_k, &ref_q6_k, &ref_q8_k,
	&ref_iq4_nl, &ref_iq4_xs, &ref_tq1_0, &ref_tq2_0, &ref_mxfp4,
	&ref_iq1_s, &ref_iq1_m, &ref_iq2_xxs, &ref_iq2_xs, &ref_iq2_s,
	&ref_iq3_xxs, &ref_iq3_s, &ref_apr_q4,
};

#define ADDED 16
static struct kernel added[ADDED];
static size_t added_count;

/* Those of the level in use, completed by plain C: a type has one at most. */
static struct kernel completed[sizeof kernels / sizeof kernels[0]];
static size_t completed_count;

static const struct kernel *
plain(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
		if (!strcmp(kernels[i]->dtype, name))
			return kernels[i];
	for (i = 0; i < added_count; i++)
		if (!strcmp(added[i].dtype, name))
			return &added[i];
	return NULL;
}

void
kernels_use(const struct kernel *const *better)
{
	struct kernel *k = completed;

	for (; better && *better; better++, k++) {
		*k = *plain((*better)->dtype);
		if ((*better)->encode)
			k->encode = (*better)->encode;
		if ((*better)->encode_weighted)
			k->encode_weighted = (*better)->encode_weighted;
		if ((*better)->decode)
			k->decode = (*better)->decode;
	}
	completed_count = (size_t)(k - completed);
}

const struct kernel *
kernel_for(const struct dtype *t)
{
	size_t i;

	for (i = 0; i < completed_count; i++)
		if (!strcmp(completed[i].dtype, t->name))
			return &completed[i];
	return plain(t->name);
}

int
kernel_add(const struct kernel *k)
{
	size_t i;

	for (i = 0; i < added_count; i++)
		if (!strcmp(added[i].dtype, k->dtype))
			return -1;
	if (added_count == ADDED)
		return -1;
	added[added_count++] = *k;
	return 0;
}

bool
kernel_decodes(const struct dtype *t)
{
	return t->head ? whole_for(t) != NULL : kernel_for(t) != NULL;
}

bool
kernel_encodes(const struct dtype *t)
{
	const struct kernel *k = kernel_for(t);

	return t->head ? whole_for(t) != NULL : k && k->encode;
}

void
kernel_decode(const struct dtype *t, const uint8_t *head, const uint8_t *x, float *y,
              size_t n)
{
	if (t->head)
		whole_for(t)->decode(head, x, y, n);
	else
		kernel_for(t)->decode(x, y, n);
}
