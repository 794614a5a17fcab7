/* What a microcontroller does with models in its memory: reads the header of a GGUF file, dequantizes
 * its tensors, and predicts with the trees of a LightGBM file. Built for Cortex-M and for this machine:
 * both must print the same (tests/whole/onebin.bats). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bare/bare.h"
#include "predict/predict.h"
#include "predict/readers.h"

/* tests/bare/data.S */
extern const uint8_t model_gguf[], model_gguf_end[], trees_txt[], trees_txt_end[];

#define ROW 256 /* values that are decoded at once */

static uint32_t
bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return u;
}

/* A sum over the bits of all values. */
static int
decode(const struct bare_tensor *t, float first[4], uint32_t *sum, struct err *e)
{
	static float y[ROW];
	uint64_t done;
	size_t n, i;

	for (*sum = 0, done = 0; done < t->items; done += n) {
		n = t->items - done < ROW ? (size_t)(t->items - done) : ROW;
		if (bare_values(t, done, y, n, e) < 0)
			return -1;
		for (i = 0; i < n; i++)
			*sum = *sum * 31 + bits(y[i]);
		if (done == 0)
			memcpy(first, y, (n < 4 ? n : 4) * sizeof *y);
	}
	return 0;
}

static int
show_model(struct err *e)
{
	struct bare_tensor t;
	struct bare b;
	const char *text;
	size_t n;
	int r;

	if (bare_open(&b, model_gguf, (size_t)(model_gguf_end - model_gguf), e) < 0)
		return -1;
	text = bare_text(&b, "general.architecture", &n);
	printf("%" PRIu32 " tensors, %.*s\n", (uint32_t)b.tensors, text ? (int)n : 0, text ? text : "");
	for (r = bare_first(&b, &t, e); r == 1; r = bare_next(&b, &t, e)) {
		float first[4] = { 0 };
		uint32_t sum;

		if (decode(&t, first, &sum, e) < 0)
			return -1;
		printf("%.*s %s %" PRIu32 " values, %08" PRIx32 ": %08" PRIx32 " %08" PRIx32 "\n",
		       (int)t.name_bytes, t.name, t.type->name, (uint32_t)t.items, sum, bits(first[0]),
		       bits(first[1]));
	}
	return r;
}

static int
show_predictions(struct err *e)
{
	static const double rows[][2] = { { 0, 0 }, { 1, 0.5 }, { 2, 0.75 }, { -3, 9 } };
	struct predictor m = { .kind = NULL };
	double row[2], score;
	uint64_t u;
	size_t i;
	int r = lightgbm_read(&m, trees_txt, (size_t)(trees_txt_end - trees_txt), "trees", e);

	if (r == 0)
		r = predictor_finish(&m, "trees", e);
	for (i = 0; r == 0 && i < sizeof rows / sizeof *rows; i++) {
		memcpy(row, rows[i], sizeof row);
		predict_rows(&m, row, 1, true, &score, NULL);
		memcpy(&u, &score, sizeof u);
		printf("row %u: %08" PRIx32 "%08" PRIx32 "\n", (unsigned)i, (uint32_t)(u >> 32), (uint32_t)u);
	}
	predictor_free(&m);
	return r;
}

int
main(void)
{
	struct err e = ERR_INIT;

	if (show_model(&e) < 0 || show_predictions(&e) < 0) {
		printf("error %d: %s %s\n", (int)e.code, e.object, e.fact);
		return 1;
	}
	puts("done");
	return 0;
}
