#include "predict/near.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "predict/near_loops.h"

const struct near_level near_plain = { "ref", near_squares };

const struct near_level *
near_level(unsigned index)
{
#ifdef __x86_64__
	if (index == 2)
		return cpu_has(CPU_AVX512) ? &near_avx512 : NULL;
	if (index == 1)
		return cpu_has(CPU_AVX2) ? &near_avx2 : NULL;
#endif
	return index == 0 ? &near_plain : NULL;
}

const struct near_level *
near_best(void)
{
	const struct near_level *best = &near_plain, *next;
	const char *wish = getenv("APR_CPU");
	unsigned i;

	if (wish && !*wish)
		wish = NULL;
	for (i = 1; !(wish && strcmp(best->name, wish) == 0) && (next = near_level(i)); i++)
		best = next;
	return best;
}
