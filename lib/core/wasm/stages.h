/* stages: what each of Unicode's code points has, as the number of a record: a table of blocks, and
 * the blocks without repetition. It is filled from the first code point to the last. */
#ifndef WASM_STAGES_H
#define WASM_STAGES_H

#include <stdint.h>
#include <string.h>

#define STAGES_CODES 0x110000u
#define STAGES_BLOCK 128
#define STAGES_TOP (STAGES_CODES / STAGES_BLOCK)

struct stages {
	uint16_t *top;       /* STAGES_TOP */
	uint16_t *block;     /* room for `limit` blocks, and one more */
	uint32_t n, limit, at;
};

/* The block being filled is the one behind the others. */
static inline void
stages_close(struct stages *s, uint32_t top)
{
	const uint16_t *new = s->block + s->n * STAGES_BLOCK;
	uint32_t i = top > 0 ? s->top[top - 1] : 0;

	if (i >= s->n || memcmp(s->block + i * STAGES_BLOCK, new, STAGES_BLOCK * sizeof *new) != 0)
		for (i = 0; i < s->n; i++)
			if (memcmp(s->block + i * STAGES_BLOCK, new, STAGES_BLOCK * sizeof *new) == 0)
				break;
	s->top[top] = (uint16_t)i;
	if (i == s->n && s->n < s->limit)
		s->n++;
}

/* Gives the next n code points a record. */
static inline void
stages_add(struct stages *s, uint32_t n, uint32_t record)
{
	for (; n > 0 && s->at < STAGES_CODES; n--) {
		s->block[s->n * STAGES_BLOCK + s->at % STAGES_BLOCK] = (uint16_t)record;
		if (++s->at % STAGES_BLOCK == 0)
			stages_close(s, s->at / STAGES_BLOCK - 1);
	}
}

static inline uint32_t
stages_find(const struct stages *s, uint32_t c)
{
	return s->block[s->top[c / STAGES_BLOCK] * STAGES_BLOCK + c % STAGES_BLOCK];
}

#endif
