#include "predict/cuts.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"

/* Vectors of 16 bytes, which every compiler turns into those of the CPU. */
#define VECTOR 16
#define CHOOSE(m, a, b) (((b) & (m)) | ((a) & ~(m)))
#define BYTES(x, t, a, b) CHOOSE((bytes_of)((x) > (t)), a, b)
#define WORDS(x, t, a, b) CHOOSE((words_of)((x) > (t)), a, b)

#include "predict/cuts_loops.h"

const struct cuts_level cuts_plain = { "ref", NULL, NULL, NULL, cuts_bytes, cuts_words };

void
cuts_room_begin(struct cuts_room *r, size_t bytes)
{
	size_t i, k;

	for (i = 0; i < CUTS_EXITS; i++)
		for (k = 0; k < CUTS_ALIGN / 2; k++)
			r->exits[i * (CUTS_ALIGN / 2) + k] = (int16_t)(bytes == 1 ? i * 0x101 : i);
}

const struct cuts_level *
cuts_level(unsigned index)
{
#ifdef __x86_64__
	if (index == 2)
		return cpu_has(CPU_AVX512) ? &cuts_avx512 : NULL;
	if (index == 1)
		return cpu_has(CPU_AVX2) ? &cuts_avx2 : NULL;
#endif
	return index == 0 ? &cuts_plain : NULL;
}

const struct cuts_level *
cuts_best(void)
{
	const struct cuts_level *best = &cuts_plain, *next;
	const char *wish = getenv("APR_CPU");
	unsigned i;

	if (wish && !*wish)
		wish = NULL;
	for (i = 1; !(wish && strcmp(best->name, wish) == 0) && (next = cuts_level(i)); i++)
		best = next;
	return best;
}
