#include "model/block.h"

#include <string.h>

#define PARTS 6
#define END { NULL, BLOCK_BITS, 0, 0 }
#define D(at) { "d", BLOCK_F16, at, 2 }
#define M(at) { "m", BLOCK_F16, at, 2 }
#define CODES(at, n) { "codes", BLOCK_HALVES, at, n }
#define BITS(name, at, n) { name, BLOCK_BITS, at, n }

static const struct {
	const char *type;
	struct block_part parts[PARTS];
} rows[] = {
	{ "Q4_0", { D(0), CODES(2, 16), END } },
	{ "Q4_1", { D(0), M(2), CODES(4, 16), END } },
	{ "Q5_0", { D(0), BITS("fifth bits", 2, 4), CODES(6, 16), END } },
	{ "Q5_1", { D(0), M(2), BITS("fifth bits", 4, 4), CODES(8, 16), END } },
	{ "Q8_0", { D(0), { "codes", BLOCK_I8, 2, 32 }, END } },
	{ "Q8_1", { D(0), { "sum", BLOCK_F16, 2, 2 }, { "codes", BLOCK_I8, 4, 32 }, END } },
	{ "IQ4_NL", { D(0), CODES(2, 16), END } },
	{ "MXFP4", { { "e", BLOCK_POWER, 0, 1 }, CODES(1, 16), END } },
	{ "NVFP4", { BITS("scales", 0, 4), CODES(4, 32), END } },
	{ "Q2_0", { D(0), BITS("codes", 2, 16), END } },
	{ "Q1_0", { D(0), BITS("codes", 2, 16), END } },
	{ "Q2_K", { { "scales, minima", BLOCK_HALVES, 0, 16 }, BITS("codes", 16, 64), D(80), M(82),
	  END } },
	{ "Q3_K", { BITS("high bits", 0, 32), BITS("low bits", 32, 64),
	  { "scales", BLOCK_THREES, 96, 12 }, D(108), END } },
	{ "Q4_K", { D(0), M(2), { "scales", BLOCK_SIXES, 4, 12 }, CODES(16, 128), END } },
	{ "Q5_K", { D(0), M(2), { "scales", BLOCK_SIXES, 4, 12 }, BITS("fifth bits", 16, 32),
	  CODES(48, 128), END } },
	{ "Q6_K", { BITS("low bits", 0, 128), BITS("high bits", 128, 64),
	  { "scales", BLOCK_I8, 192, 16 }, D(208), END } },
	{ "Q8_K", { { "d", BLOCK_F32, 0, 4 }, { "codes", BLOCK_I8, 4, 256 },
	  { "sums", BLOCK_I16, 260, 32 }, END } },
	{ "IQ2_XXS", { D(0), BITS("indexes, signs", 2, 64), END } },
	{ "IQ2_XS", { D(0), BITS("indexes, signs", 2, 64), { "scales", BLOCK_HALVES, 66, 8 },
	  END } },
	{ "IQ2_S", { D(0), BITS("indexes", 2, 32), BITS("signs", 34, 32),
	  BITS("high bits", 66, 8), { "scales", BLOCK_HALVES, 74, 8 }, END } },
	{ "IQ3_XXS", { D(0), BITS("indexes", 2, 64), BITS("signs, scales", 66, 32), END } },
	{ "IQ3_S", { D(0), BITS("indexes", 2, 64), BITS("high bits", 66, 8),
	  BITS("signs", 74, 32), { "scales", BLOCK_HALVES, 106, 4 }, END } },
	{ "IQ1_S", { D(0), BITS("indexes", 2, 32), BITS("high bits, scales", 34, 16), END } },
	{ "IQ1_M", { BITS("indexes", 0, 32), BITS("high bits", 32, 16),
	  BITS("scales, d", 48, 8), END } },
	{ "IQ4_XS", { D(0), { "scales, high", BLOCK_U16, 2, 2 },
	  { "scales, low", BLOCK_HALVES, 4, 4 }, CODES(8, 128), END } },
	{ "TQ1_0", { BITS("codes", 0, 52), D(52), END } },
	{ "TQ2_0", { BITS("codes", 0, 64), D(64), END } },
	{ "APR_Q4", { D(0), CODES(2, 16), END } },
};

const struct block_part *
block_parts(const struct dtype *t)
{
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].type, t->name) == 0)
			return rows[i].parts;
	return NULL;
}
