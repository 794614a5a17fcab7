/* training [THREADS]: at each level of the CPU above plain C, billions of products a second of the three forms in which
 * a linear layer multiplies (forward, back to its input, and to its weights), and tokens a second of
 * steps (forward, backward, AdamW) of models with random weights. Seconds are those of the CPU, of all
 * threads together, so that other work on the machine does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/level.h"
#include "kernels/training.h"
#include "train/train.h"

enum { ROWS = 84, SIDE = 512, TEXTS = 8, LENGTH = 256 };

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double
products(const struct training *t, bool a_turned)
{
	static float a[ROWS * SIDE], packed[SIDE * SIDE], c[ROWS * SIDE];
	struct training_product p = { a, a_turned ? 1 : SIDE, a_turned ? ROWS : 1, packed, SIDE, c, SIDE,
		ROWS, SIDE, SIDE, false };
	double start = now(), took;
	unsigned n = 0;

	do {
		t->multiply(&p);
		n++;
	} while ((took = now() - start) < 0.2);
	return (double)ROWS * SIDE * SIDE * n / took * 1e-9;
}

static double
packing(const struct training *t, bool turned)
{
	static float b[SIDE * SIDE], packed[SIDE * SIDE];
	double start = now(), took;
	unsigned n = 0;

	do {
		t->pack(b, turned ? 1 : SIDE, turned ? SIDE : 1, SIDE, SIDE, 0, SIDE / TRAINING_PANEL,
		        packed);
		n++;
	} while ((took = now() - start) < 0.1);
	return (double)SIDE * SIDE * n / took * 1e-9;
}

/* Tokens a second of CPU, or 0. */
static double
steps(const struct train_config *c, unsigned threads, struct err *e)
{
	static uint32_t tokens[TEXTS * LENGTH + 1];
	struct train_batch b = { tokens, tokens + 1, TEXTS, LENGTH };
	struct train_goal g = { .temperature = 1 };
	struct train_adam a = TRAIN_ADAM;
	struct train_work *w = NULL;
	struct train_loss loss;
	struct train_model m;
	double start = 0, took = 0;
	uint64_t n = 0, i;

	for (i = 0; i <= TEXTS * LENGTH; i++)
		tokens[i] = (uint32_t)(i * i % 1021 % c->vocabulary);
	if (train_new(&m, c, e) == 0) {
		train_init(&m, 1);
		w = train_work_open(&m, TEXTS, LENGTH, 0, threads, 0, e);
	}
	while (w && took < 1) {
		if (train_backward(w, &b, &g, &loss, e) < 0 ||
		    train_update(&m, &a, n + 1, threads, NULL, e) < 0)
			break;
		if (n++ == 0) /* pages are touched for the first time */
			start = now();
		took = now() - start;
	}
	train_work_close(w);
	train_close(&m);
	return n > 1 ? (double)(TEXTS * LENGTH) * (double)(n - 1) / took : 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		struct train_config c;
	} models[] = {
		{ "llama, 2.3 million", { .family = "llama", .layers = 3, .width = 256, .heads = 8,
		  .kv_heads = 4, .ff = 512, .context = LENGTH, .vocabulary = 1024 } },
		{ "gpt2, 10 million", { .family = "gpt2", .layers = 5, .width = 384, .heads = 6,
		  .context = LENGTH, .vocabulary = 4096 } },
	};
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1, i, k;
	const struct level *l;
	struct err e = ERR_INIT;

	for (i = 1; (l = level_row(i)) != NULL; i++) {
		const struct training *t;

		level_use(l, NULL);
		t = training_now(NULL);
		printf("%-7s products %6.1f, turned %6.1f; packing %5.2f, turned %5.2f\n", l->name,
		       products(t, false), products(t, true), packing(t, false), packing(t, true));
		for (k = 0; k < 2; k++)
			printf("%-7s %-20s %8.0f tokens/s\n", l->name, models[k].name,
			       steps(&models[k].c, threads, &e));
	}
	if (e.code != ERR_NONE)
		printf("%s\n", e.fact);
	return e.code != ERR_NONE;
}
