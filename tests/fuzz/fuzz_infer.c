/* fuzz_infer: a model of any container is loaded and gives the logits of two tokens, or a fault.
 * A second sequence, a token at a time, gives the same logits. */
#include <math.h>
#include <string.h>

#include "infer/sequence.h"
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

/* Two tokens at once in one sequence; in another, which is begun before, one by one. */
static void
evaluate(struct infer *m)
{
	static struct said once, twice;
	const uint32_t tokens[2] = { 0, (uint32_t)(infer_vocabulary(m) - 1) };
	struct err e = ERR_INIT;
	struct sequence *a, *b;

	once.n = twice.n = infer_vocabulary(m);
	if (once.n > VOCABULARY || infer_context(m) < 2)
		return;
	a = sequence_open(m, &e);
	b = sequence_open(m, &e);
	must(a && b);
	if (sequence_eval(b, 0, tokens, 1, SEQUENCE_LAST, keep, &twice, &e) < 0 ||
	    sequence_eval(a, 0, tokens, 2, SEQUENCE_ALL, keep, &once, &e) < 0) {
		must(e.code == ERR_INVALID);
	} else {
		must(sequence_eval(b, 1, tokens + 1, 1, SEQUENCE_LAST, keep, &twice, &e) == 0);
		must(memcmp(once.row[0], twice.row[0], once.n * sizeof(float)) == 0);
		must(memcmp(once.row[1], twice.row[1], once.n * sizeof(float)) == 0);
	}
	sequence_close(a);
	sequence_close(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format_options options = { 0 };
	struct infer_options small = { .context = 4, .cache = CACHE_F16 };
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
