/* attention [THREADS]: what attention takes in a block of TinyLlama's shape (32 heads of 64
 * on 4 keys) and in others, for each type of cache, with so many positions behind: in
 * microseconds for one token, and in milliards of products a second for a pass of 256 that
 * ends there. Products with keys and values are counted, of positions that are seen.
 *
 * Wall time of 22 blocks, the best of a third of a second, on so many threads (1). Each
 * has its own keys and values, as in a model, so that no cache but the last holds them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/thread.h"
#include "infer/forward.h"
#include "kernels/dot.h"
#include "kernels/level.h"

enum { BLOCKS = 22, HEADS = 32, PASS = 256, MOST = 4096, WIDEST = 256 };

struct shape {
	const char *name;
	size_t kv, width;
	float cap;
};

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Seconds for the n tokens before position end, in a block. */
static double
seconds(struct pass *p, size_t n, size_t end)
{
	double start = now(), began, took, best = 1e9;
	size_t i;

	p->n = n;
	p->position = end - n;
	do {
		began = now();
		for (i = 0; i < BLOCKS; i++)
			attention(p, i);
		took = (now() - began) / BLOCKS;
		if (took < best)
			best = took;
	} while (now() - start < 0.3);
	return best;
}

static void
measure(const struct shape *s, enum infer_cache type, unsigned threads)
{
	static float q[PASS * HEADS * WIDEST], a[PASS * HEADS * WIDEST], state[2][PASS * HEADS];
	static float part_a[HEADS * PASS_PARTS * WIDEST], parts[2][HEADS * PASS_PARTS];
	static atomic_uint done[HEADS];
	uint8_t windowed[BLOCKS] = { 0 };
	struct net net = { .hyper = { .heads = HEADS, .kv_heads = s->kv, .head_k = s->width,
		.head_v = s->width, .windowed = windowed, .attn_cap = s->cap,
		.score_scale = 1 / sqrtf((float)s->width) } };
	struct cache cache;
	struct pass p = { .net = &net, .cache = &cache, .threads = threads, .q = q, .a = a,
		.max = state[0], .sum = state[1], .part_a = part_a, .part_max = parts[0],
		.part_sum = parts[1], .done = done };
	struct err e = ERR_INIT;
	size_t i, k, h, end;

	for (i = 0; i < sizeof q / sizeof *q; i++)
		q[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	if (cache_open(&cache, BLOCKS, s->kv, MOST, s->width, s->width, type, &e) < 0)
		exit(1);
	for (i = 0; i < BLOCKS; i++)
		for (h = 0; h < s->kv; h++)
			for (k = 0; k < MOST; k++) {
				cache_put_key(&cache, i, h, k, q + (k * 7 + h) % 4096);
				cache_put_value(&cache, i, h, k, q + (k * 5 + h) % 4096);
			}
	printf("%-12s %-5s", s->name, infer_cache_name(type));
	for (end = 128; end <= MOST; end *= end == 128 || end == 512 ? 4 : 2)
		printf(" %8.1f", 1e6 * seconds(&p, 1, end));
	for (end = 512; end <= MOST; end *= 4) {
		double products = 2.0 * HEADS * (double)s->width * PASS * ((double)end - PASS / 2.0);

		printf(" %7.1f", 1e-9 * products / seconds(&p, PASS, end));
	}
	printf("\n");
	cache_close(&cache);
}

int
main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{ "TinyLlama", 4, 64, 0 }, { "128, groups", 8, 128, 0 },
		{ "64, alone", 32, 64, 0 }, { "256, cap", 4, 256, 50 },
	};
	const enum infer_cache types[] = { INFER_CACHE_F16, INFER_CACHE_Q8_0, INFER_CACHE_F32 };
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	struct err e = ERR_INIT;
	size_t i, k;

	if (level_begin(getenv("APR_CPU"), NULL, &e) < 0)
		return 2;
	dot_begin(NULL);
	printf("%s, %u threads: microseconds a token; milliards of products a second\n%-18s",
	       level_now()->name, threads, "positions");
	printf(" %8d %8d %8d %8d %7d %7d\n", 128, 512, 2048, 4096, 512, 2048);
	for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (k = 0; k < sizeof types / sizeof *types; k++)
			measure(&shapes[i], types[k], threads);
	return 0;
}
