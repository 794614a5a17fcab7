/* grids: writes web/core/grids.c's sets of points: for each grid of the IQ types a bit for each possible point. */
#include <stdio.h>

#include "kernels/common/iq_grid.c"

#define BYTES 821 // 3^8 points of eight coordinates, or 8^4 of four

static unsigned
number_of(unsigned word)
{
	unsigned number = 0, i;

	for (i = 8; i-- > 0;)
		number = 3 * number + (word >> 2 * i & 3);
	return number;
}

/* Words ascend, so that the set has their order. */
static int
put(const char *name, const uint16_t *words, size_t n, int eights)
{
	uint8_t set[BYTES] = { 0 };
	unsigned number, next = 0;
	size_t i;

	for (i = 0; i < n; i++, next = number + 1) {
		number = eights ? number_of(words[i]) : words[i];
		if (number < next || number >= 8 * BYTES)
			return fprintf(stderr, "grids: word %zu of %s is out of order\n", i, name), 1;
		set[number / 8] |= (uint8_t)(1 << number % 8);
	}
	printf("static const uint8_t %s_set[%u] = {", name, BYTES);
	for (i = 0; i < BYTES; i++)
		printf("%s%u,", i % 20 ? "" : "\n\t", set[i]);
	printf("\n};\n");
	return 0;
}

int
main(void)
{
	return put("iq1", iq1_grid, 2048, 1) || put("iq2_xxs", iq2_xxs_grid, 256, 1) ||
	       put("iq2_xs", iq2_xs_grid, 512, 1) || put("iq2_s", iq2_s_grid, 1024, 1) ||
	       put("iq3_xxs", iq3_xxs_grid, 256, 0) || put("iq3_s", iq3_s_grid, 512, 0);
}
