/* infer FILE [PROMPT [COUNT [THREADS]]]: tokens a second of a prompt of PROMPT tokens
 * (128), and of COUNT after it, one at a time (32), on THREADS threads (all CPUs); and
 * what part of the speed of memory that is: bytes of weights that a token reads, against
 * what as many threads read of zeroed pages in the same run.
 *
 * The tokens are any: time does not depend on them. The best of RUNS (3) counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/thread.h"
#include "infer/infer.h"
#include "kernels/dot/dot.h"
#include "kernels/level.h"
#include "load/load.h"
#include "model/tensor.h"

enum { RUNS = 3, PIECE = 4 << 20 };
static const size_t readable = (size_t)512 << 20;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile uint64_t sums[1024]; /* or nothing would be read */

/* Sums of whole cache lines, eight at a time side by side. */
static void
read_piece(void *ctx, size_t i)
{
	const uint64_t *p = (const uint64_t *)ctx + i * (PIECE / sizeof *p);
	uint64_t sum[8] = { 0 };
	size_t at, k;

	for (at = 0; at < PIECE / sizeof *p; at += 8)
		for (k = 0; k < 8; k++)
			sum[k] += p[at + k];
	for (k = 1; k < 8; k++)
		sum[0] += sum[k];
	sums[i] = sum[0];
}

/* Bytes a second that so many threads read. */
static double
read_speed(unsigned threads)
{
	uint64_t *p = malloc(readable);
	double best = 0, took;
	int i;

	if (!p)
		return 0;
	memset(p, 1, readable);
	for (i = 0; i < 5; i++) {
		took = now();
		thread_for(threads, readable / PIECE, read_piece, p);
		took = now() - took;
		best = (double)readable / took > best ? (double)readable / took : best;
	}
	free(p);
	return best;
}

static int
nothing(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx;
	(void)position;
	(void)logits;
	(void)e;
	return 0;
}

static size_t
number(int argc, char **argv, int i, size_t fallback)
{
	return argc > i ? (size_t)strtoul(argv[i], NULL, 10) : fallback;
}

/* Best seconds for a prompt, and for each token after it. */
static int
measure(struct infer *m, size_t prompt, size_t count, double *first, double *each, struct err *e)
{
	size_t n = prompt + count, i, k;
	uint32_t *tokens = calloc(n, sizeof *tokens);
	double took;

	*first = *each = 1e9;
	for (i = 0; tokens && i < n; i++)
		tokens[i] = (uint32_t)(1 + i * 7919 % (infer_vocabulary(m) - 1));
	for (k = 0; tokens && e->code == ERR_NONE && k <= RUNS; k++) {
		took = now();
		if (infer_eval(m, 0, tokens, prompt, INFER_LAST, nothing, NULL, e) < 0)
			break;
		took = now() - took;
		if (k > 0 && took < *first) /* the first run fills caches */
			*first = took;
		took = now();
		for (i = prompt; i < n; i++)
			if (infer_eval(m, i, tokens + i, 1, INFER_LAST, nothing, NULL, e) < 0)
				break;
		took = (now() - took) / (double)count;
		*each = took < *each ? took : *each;
	}
	free(tokens);
	return tokens && e->code == ERR_NONE ? 0 : -1;
}

/* Of the weights that each token reads: not the embedding. */
static uint64_t
bytes_read(const struct load *l)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < l->plan.tensor_count; i++)
		if (strcmp(tensor_name(l->plan.tensors[i]), "token_embd.weight") != 0)
			n += tensor_bytes(l->plan.tensors[i]);
	return n;
}

int
main(int argc, char **argv)
{
	struct load l = { 0 };
	struct err e = ERR_INIT;
	struct infer_options options = { 0 };
	struct infer *m = NULL;
	size_t prompt = number(argc, argv, 2, 128), count = number(argc, argv, 3, 32);
	double first, each, speed;

	if (argc < 2 || !prompt || !count) {
		fputs("usage: infer FILE [PROMPT [COUNT [THREADS]]]\n", stderr);
		return 2;
	}
	options.threads = (unsigned)number(argc, argv, 4, thread_count());
	options.context = prompt + count;
	if (level_begin(getenv("APR_CPU"), NULL, &e) < 0)
		goto end;
	dot_begin(NULL);
	if (load_open(&l, argv[1], NULL, &e) < 0)
		goto end;
	m = infer_open(&l.weights, &options, NULL, &e);
	if (!m || measure(m, prompt, count, &first, &each, &e) < 0)
		goto end;
	speed = read_speed(options.threads);
	printf("prompt %8.2f decode %7.2f tokens/s, %5.1f of %5.1f GB/s (%.0f %%)\n",
	       (double)prompt / first, 1 / each, (double)bytes_read(&l) / each * 1e-9,
	       speed * 1e-9, 100 * (double)bytes_read(&l) / each / speed);
end:
	if (e.code != ERR_NONE)
		fprintf(stderr, "infer: %s\n", e.fact);
	infer_close(m);
	load_close(&l);
	return e.code != ERR_NONE;
}
