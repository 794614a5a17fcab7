#include "distill/order.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/philox.h"
#include "tokenizer/tokenizer.h"
#include "train/train.h"

int
order_begin(struct order *o, const uint32_t *tokens, size_t n, size_t length, uint32_t bos,
            uint64_t seed, const char *name, struct err *e)
{
	*o = (struct order){ .tokens = tokens, .n = n, .length = length, .bos = bos, .seed = seed,
		.epoch = UINT64_MAX };
	if (n <= length) {
		err_set(e, ERR_INVALID, name, "is too short for one part: tokens %zu, needed %zu + 1", n,
		        length);
		return err_hint(e, "--context N makes parts shorter");
	}
	o->parts = (n - 1) / length;
	o->parts -= o->parts > 1; /* room to move */
	o->at = mem_array((size_t)o->parts, sizeof *o->at);
	return o->at ? 0 : err_memory(e);
}

void
order_end(struct order *o)
{
	free(o->at);
	o->at = NULL;
}

/* A number below n, from 32 random bits. */
static size_t
below(uint32_t random, size_t n)
{
	return (size_t)((uint64_t)random * n >> 32);
}

/* Shuffles from the end (Fisher and Yates), one random number for each place. */
static void
shuffle(struct order *o, uint64_t epoch)
{
	const uint64_t key = philox_key(o->seed, "order", epoch);
	const size_t room = o->n - 1 - (size_t)o->parts * o->length;
	uint32_t random[4], t;
	size_t i, to;

	for (i = 0; i < o->parts; i++)
		o->at[i] = (uint32_t)i;
	philox_fill(key, 0, random, 4);
	o->shift = below(random[0], (room < o->length ? room : o->length) + 1);
	for (i = 0; i < o->parts; i++) {
		if (i % 4 == 0)
			philox_fill(key, 4 + i, random, 4);
		to = i + below(random[i % 4], (size_t)o->parts - i);
		t = o->at[i];
		o->at[i] = o->at[to];
		o->at[to] = t;
	}
	o->epoch = epoch;
}

static void
put(const struct order *o, size_t from, uint32_t *tokens, uint32_t *targets)
{
	size_t i;

	memcpy(tokens, o->tokens + from, o->length * sizeof *tokens);
	memcpy(targets, o->tokens + from + 1, o->length * sizeof *targets);
	if (o->bos == TOKEN_NONE)
		return;
	tokens[0] = o->bos;
	for (i = 0; i < o->length; i++)
		if (targets[i] == o->bos)
			targets[i] = TRAIN_IGNORE;
}

void
order_batch(struct order *o, uint64_t first, size_t rows, uint32_t *tokens, uint32_t *targets)
{
	size_t i;

	for (i = 0; i < rows; i++) {
		if ((first + i) / o->parts != o->epoch)
			shuffle(o, (first + i) / o->parts);
		put(o, o->shift + o->at[(first + i) % o->parts] * o->length, tokens + i * o->length,
		    targets + i * o->length);
	}
}

void
order_plain(const struct order *o, uint64_t first, size_t rows, uint32_t *tokens, uint32_t *targets)
{
	size_t i;

	for (i = 0; i < rows; i++)
		put(o, (size_t)(first + i) * o->length, tokens + i * o->length, targets + i * o->length);
}
