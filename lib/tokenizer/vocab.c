#include "tokenizer/vocab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/mem.h"
#include "tokenizer/tokenizer.h"

/* Odd numbers with bits all over: the fractions of the golden ratio and of pi. */
#define MIX 0x9e3779b97f4a7c15u
#define STEP 0x243f6a8885a308d3u

static uint64_t
mix(uint64_t h)
{
	h = (h ^ h >> 32) * MIX;
	h = (h ^ h >> 29) * STEP;
	return h ^ h >> 32;
}

/* A hash that depends on a seed. */
static uint64_t
hash_of(const void *p, size_t n, uint64_t seed)
{
	const uint8_t *s = p;
	uint64_t h = seed ^ n * MIX, word;

	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&word, s, 8);
		h = mix(h ^ word);
	}
	word = 0;
	memcpy(&word, s, n);
	return mix(h ^ word);
}

uint64_t
hash_seed(void)
{
	uint64_t seed = MIX;

	/* Without random numbers, the hash is as good for texts that nobody prepared. */
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) < 0)
		seed = STEP;
	return seed;
}

int
vocab_add(struct vocab *v, const void *text, size_t n, enum token_kind kind, float score,
          struct err *e)
{
	struct token *t;

	if (n > UINT32_MAX || v->count >= TOKEN_NONE - 1 ||
	    mem_grow(&v->token, &v->cap, v->count + 1, sizeof *v->token) < 0)
		return err_memory(e);
	t = &v->token[v->count];
	*t = (struct token){ .text = v->pool.n, .piece = v->pool.n, .text_bytes = (uint32_t)n,
		.piece_bytes = (uint32_t)n, .score = score, .kind = (uint8_t)kind };
	buf_put(&v->pool, text, n);
	if (!buf_ok(&v->pool))
		return err_memory(e);
	v->count++;
	if (n > v->longest)
		v->longest = n;
	return 0;
}

int
vocab_set_piece(struct vocab *v, uint32_t i, const void *p, size_t n, struct err *e)
{
	v->token[i].piece = v->pool.n;
	v->token[i].piece_bytes = (uint32_t)n;
	buf_put(&v->pool, p, n);
	return buf_ok(&v->pool) && n <= UINT32_MAX ? 0 : err_memory(e);
}

/* The slot of a text, or the free slot where it would be. */
static size_t
place(const struct vocab *v, const void *text, size_t n)
{
	size_t i = hash_of(text, n, v->seed) & (v->slots - 1);
	const struct token *t;

	for (; v->slot[i] != TOKEN_NONE; i = (i + 1) & (v->slots - 1)) {
		t = &v->token[v->slot[i]];
		if (t->text_bytes == n && memcmp(v->pool.p + t->text, text, n) == 0)
			break;
	}
	return i;
}

int
vocab_index(struct vocab *v, const char *what, struct err *e)
{
	size_t i, at;

	for (v->slots = 16; v->slots < 2 * v->count; v->slots *= 2)
		;
	free(v->slot);
	v->slot = mem_array(v->slots, sizeof *v->slot);
	if (!v->slot)
		return err_memory(e);
	memset(v->slot, 0xff, v->slots * sizeof *v->slot);
	v->seed = hash_seed();
	for (i = 0; i < v->count; i++) {
		if (v->token[i].text_bytes == 0)
			continue;
		at = place(v, vocab_text(v, (uint32_t)i), v->token[i].text_bytes);
		if (v->slot[at] != TOKEN_NONE)
			return err_set(e, ERR_CORRUPT, what, "token %zu has the text of token %u",
			               i, v->slot[at]);
		v->slot[at] = (uint32_t)i;
	}
	return 0;
}

uint32_t
vocab_find(const struct vocab *v, const void *text, size_t n)
{
	if (n == 0 || n > v->longest)
		return TOKEN_NONE;
	return v->slot[place(v, text, n)];
}

void
vocab_free(struct vocab *v)
{
	free(v->token);
	free(v->slot);
	buf_free(&v->pool);
	*v = (struct vocab){ 0 };
}
