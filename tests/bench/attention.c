/* attention [THREADS]: what attention takes in a layer of TinyLlama's shape (32 heads of 64 on 4
 * key heads) and in others, for each type of cache and several lengths: microseconds for one
 * token, and billions of products a second for a pass of 256 tokens that ends there. Products
 * with keys and values of positions that are seen are counted.
 *
 * Wall time of 22 layers, the best of a third of a second, on THREADS threads (default 1). Each
 * layer has keys and values of its own, as in a model, so only the last cache can hold them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "infer/ops.h"
#include "kernels/dot.h"
#include "kernels/level.h"

enum { LAYERS = 22, HEADS = 32, PASS = 256, MOST = 4096, WIDEST = 256 };

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

/* Seconds for the n tokens before position end, in a layer. */
static double
seconds(struct device *d, struct attention *a, size_t n, size_t end)
{
	double start = now(), began, took, best = 1e9;

	a->n = n;
	a->length = end;
	do {
		began = now();
		for (a->layer = 0; a->layer < LAYERS; a->layer++)
			ops_cpu.attend(d, a);
		took = (now() - began) / LAYERS;
		if (took < best)
			best = took;
	} while (now() - start < 0.3);
	return best;
}

static void
measure(const struct shape *s, enum cache_type type, unsigned threads)
{
	static float q[PASS * HEADS * WIDEST], out[PASS * HEADS * WIDEST];
	const struct device_options options = { .threads = threads, .heads = HEADS,
		.head_v = s->width };
	const struct cache_shape shape = { LAYERS, s->kv, MOST, s->width, s->width, type };
	struct err e = ERR_INIT;
	struct device *d = ops_cpu.open(&options, &e);
	struct cache *cache = d ? ops_cpu.cache_open(d, &shape, &e) : NULL;
	struct attention a = { .q = { q, 0 }, .out = { out, 0 }, .heads = HEADS, .cache = cache,
		.causal = true, .scale = 1 / sqrtf((float)s->width), .cap = s->cap };
	size_t i, k, end, row = s->kv * s->width;

	for (i = 0; i < sizeof q / sizeof *q; i++)
		q[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	if (!cache || ops_cpu.reserve(d, PASS, &e) < 0)
		exit(1);
	for (i = 0; i < LAYERS; i++)
		for (k = 0; k < MOST; k++)
			ops_cpu.keep(d, cache, i, k, (struct values){ q, k * 7 % 4096 },
			             (struct values){ q, k * 5 % 4096 + row }, 1);
	printf("%-12s %-5s", s->name, cache_type_name(type));
	for (end = 128; end <= MOST; end *= end == 128 || end == 512 ? 4 : 2)
		printf(" %8.1f", 1e6 * seconds(d, &a, 1, end));
	for (end = 512; end <= MOST; end *= 4) {
		double products = 2.0 * HEADS * (double)s->width * PASS * ((double)end - PASS / 2.0);

		printf(" %7.1f", 1e-9 * products / seconds(d, &a, PASS, end));
	}
	printf("\n");
	ops_cpu.cache_close(cache);
	ops_cpu.close(d);
}

int
main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{ "TinyLlama", 4, 64, 0 }, { "128, groups", 8, 128, 0 },
		{ "64, alone", 32, 64, 0 }, { "256, cap", 4, 256, 50 },
	};
	const enum cache_type types[] = { CACHE_F16, CACHE_Q8_0, CACHE_F32 };
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	struct err e = ERR_INIT;
	size_t i, k;

	if (level_begin(getenv("APR_CPU"), NULL, &e) < 0)
		return 2;
	dot_begin(NULL);
	printf("%s, %u threads: microseconds a token; billions of products a second\n%-18s",
	       level_now()->name, threads, "positions");
	printf(" %8d %8d %8d %8d %7d %7d\n", 128, 512, 2048, 4096, 512, 2048);
	for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (k = 0; k < sizeof types / sizeof *types; k++)
			measure(&shapes[i], types[k], threads);
	return 0;
}
