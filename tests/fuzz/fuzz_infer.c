/* fuzz_infer: a model of any container is loaded, and says something of two tokens, or
 * a fault. What it says the second time, a token at a time, is the same. */
#include <math.h>
#include <string.h>

#include "infer/infer.h"
#include "load/load.h"

#include "fuzz.h"

#define VOCABULARY 4096

struct said {
	float row[2][VOCABULARY];
	size_t n;
};

static int
keep(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct said *s = ctx;
	size_t i;

	(void)e;
	for (i = 0; i < s->n; i++)
		must(isfinite(logits[i]));
	memcpy(s->row[position], logits, s->n * sizeof *logits);
	return 0;
}

static void
evaluate(struct infer *m)
{
	static struct said once, twice;
	const uint32_t tokens[2] = { 0, (uint32_t)(infer_vocabulary(m) - 1) };
	struct err e = ERR_INIT;

	once.n = twice.n = infer_vocabulary(m);
	if (once.n > VOCABULARY || infer_context(m) < 2)
		return;
	if (infer_eval(m, 0, tokens, 2, INFER_ALL, keep, &once, &e) < 0) {
		must(e.code == ERR_INVALID);
		return;
	}
	must(infer_eval(m, 0, tokens, 1, INFER_LAST, keep, &twice, &e) == 0);
	must(infer_eval(m, 1, tokens + 1, 1, INFER_LAST, keep, &twice, &e) == 0);
	must(memcmp(once.row[0], twice.row[0], once.n * sizeof(float)) == 0);
	must(memcmp(once.row[1], twice.row[1], once.n * sizeof(float)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format_options options = { 0 };
	struct infer_options small = { .context = 4, .cache = INFER_CACHE_F16 };
	const struct format *format;
	struct err e = ERR_INIT;
	struct source *s;
	struct load load = { 0 };
	struct infer *m = NULL;
	struct reader r;

	reader_memory(&r, data, size, "input", &e);
	s = format_open(&r, &options, NULL, &format, &e);
	if (s && load_source(&load, s, &e) == 0) {
		m = infer_open(&load.weights, &small, NULL, &e);
		must((m != NULL) == (e.code == ERR_NONE));
	}
	if (m)
		evaluate(m);
	infer_close(m);
	if (m) {
		/* What was taken once is taken again; then the weights are given back. */
		small.repack = true;
		m = infer_open(&load.weights, &small, NULL, &e);
		must(m != NULL);
		evaluate(m);
		infer_close(m);
	}
	source_close(s);
	load_close(&load);
	return 0;
}
