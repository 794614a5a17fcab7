#include "kernels/kernel.h"

#include <string.h>

#include "core/only.h"
#include "kernels/common/search.h"
#include "kernels/level.h"
#include "kernels/mixing.h"
#include "kernels/numbers.h"
#include "kernels/ref/types.h"
#include "kernels/whole.h"

const struct search *search = LEVEL_PLAIN(ONLY_WRITES(&search_ref));
const struct numbers *numbers = &ref_numbers;
const struct mixing *mixing = &ref_mixing;

static const struct kernel *const kernels[] = {
#define KERNEL_ROW(type) &ref_##type,
	KERNELS(KERNEL_ROW)
};

#define ADDED 16
static struct kernel added[ADDED];
static size_t added_count;

/* Kernels of the level in use, completed by plain C; at most one a type. */
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

/* The entry of a type; a new one begins as plain C. */
static struct kernel *
completed_of(const char *name)
{
	size_t i;

	for (i = 0; i < completed_count; i++)
		if (!strcmp(completed[i].dtype, name))
			return &completed[i];
	completed[i] = *plain(name);
	completed_count++;
	return &completed[i];
}

void
kernels_use(const struct level *l)
{
	const struct kernel *const *better = l->kernels;
	struct kernel *k;

	search = l->search;
	numbers = l->numbers;
	mixing = l->mixing ? l->mixing : &ref_mixing;
	completed_count = 0;
	for (; better && *better; better++) {
		k = completed_of((*better)->dtype);
		if ((*better)->encode)
			k->encode = (*better)->encode;
		if ((*better)->encode_weighted)
			k->encode_weighted = (*better)->encode_weighted;
		if ((*better)->decode)
			k->decode = (*better)->decode;
	}
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

	return t->head ? whole_for(t) != NULL : k && (k->encode || k->encode_weighted);
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
