#include "generate/bench.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/thread.h"
#include "generate/chance.h"
#include "generate/generate.h"

/* Bytes that a thread reads at a time, and the number of passes; the fastest one counts. MOST:
 * maximum bytes of a pass. */
enum { PIECE = 1 << 20, PASSES = 4 };
#define MOST (UINT64_C(2) << 30)

/* ---- reading ---- */

struct reading {
	const struct infer *infer;
	const uint64_t *first;   /* of each matrix, its first piece */
	size_t matrices;
	atomic_ulong sum;        /* of what was read, so that reading is not optimized away */
};

/* Memory is read in lines of 64 bytes. Four streams, a quarter of the piece apart, are read
 * side by side, as products do. */
static uint64_t
piece_sum(const uint8_t *p, size_t n)
{
	enum { LINE = 64, STREAMS = 4 };
	size_t part = n / STREAMS / LINE * LINE, i, k;
	uint64_t sum[STREAMS] = { 0 }, v;

	for (i = 0; i < part; i += LINE)
		for (k = 0; k < STREAMS; k++) {
			memcpy(&v, p + k * part + i, sizeof v);
			sum[k] += v;
		}
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static void
read_piece(void *ctx, size_t piece)
{
	struct reading *r = ctx;
	size_t at, low = 0, high = r->matrices, middle, bytes;
	const uint8_t *p;

	/* Find the last matrix whose first piece is not after this one. */
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (r->first[middle] <= piece)
			low = middle;
		else
			high = middle;
	}
	p = infer_matrix(r->infer, low, &bytes);
	at = (piece - r->first[low]) * PIECE;
	if (at < bytes)
		atomic_fetch_add(&r->sum, (unsigned long)piece_sum(p + at,
		                 bytes - at < PIECE ? bytes - at : PIECE));
}

/* Measure the bytes read per second. */
static int
measure_reading(const struct infer *infer, unsigned threads, double *rate, struct err *e)
{
	struct reading r = { .infer = infer };
	uint64_t *first, bytes = 0, pieces = 0;
	double began, took, best = 0;
	size_t i, count = 0, n;

	while (infer_matrix(infer, count, &n))
		count++;
	first = mem_array(count, sizeof *first);
	if (!first)
		return err_memory(e);
	for (i = 0; i < count && bytes < MOST; i++) {
		infer_matrix(infer, i, &n);
		first[i] = pieces;
		bytes += n;
		pieces += n / PIECE + 1;
	}
	r.matrices = i;
	r.first = first;
	for (i = 0; i < PASSES; i++) {
		began = generate_clock();
		thread_for(threads, (size_t)pieces, read_piece, &r);
		took = generate_clock() - began;
		if (took > 0 && (double)bytes / took > best)
			best = (double)bytes / took;
	}
	free(first);
	*rate = best;
	return 0;
}

/* ---- running ---- */

static int
ignore(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx;
	(void)position;
	(void)logits;
	(void)e;
	return 0;
}

static int
draw(struct tokens *t, uint64_t n, size_t vocabulary, struct err *e)
{
	struct chance c;
	uint64_t i;

	chance_begin(&c, 0);
	for (i = 0; i < n; i++)
		if (tokens_add(t, (uint32_t)(chance_unit(&c) * (double)vocabulary), e) < 0)
			return -1;
	return 0;
}

static int
measure_tokens(struct sequence *s, const uint32_t *id, struct bench *b, struct err *e)
{
	double began = generate_clock();
	uint64_t i;

	if (sequence_eval(s, 0, id, (size_t)b->prompt, SEQUENCE_LAST, ignore, NULL, e) < 0)
		return -1;
	b->prompt_seconds = generate_clock() - began;
	began = generate_clock();
	for (i = b->prompt; i < b->prompt + b->made; i++)
		if (sequence_eval(s, (size_t)i, id + i, 1, SEQUENCE_LAST, ignore, NULL, e) < 0)
			return -1;
	b->seconds = generate_clock() - began;
	return 0;
}

int
bench_run(struct sequence *s, uint64_t prompt, uint64_t made, unsigned threads, struct bench *b,
          struct err *e)
{
	const struct infer *infer = sequence_model(s);
	struct tokens tokens = { 0 };
	size_t context = infer_context(infer);
	int done;

	*b = (struct bench){ .prompt = prompt, .made = made, .cache = infer_cache(infer),
		.cache_bytes = sequence_bytes(s) };
	if (prompt > context || made > context - prompt) {
		err_set(e, ERR_INVALID, infer_name(infer), "%" PRIu64 " and %" PRIu64 " tokens are more "
		        "than the context of %zu", prompt, made, context);
		return err_hint(e, "-n and --bench-prompt ask for fewer, -c makes room for more");
	}
	done = measure_reading(infer, threads, &b->read, e) < 0 ||
		draw(&tokens, prompt + made, infer_vocabulary(infer), e) < 0 ||
		measure_tokens(s, tokens.id, b, e) < 0 ? -1 : 0;
	tokens_free(&tokens);
	if (done == 0 && b->seconds > 0 && b->read > 0)
		b->used = (double)infer_token_bytes(infer) * (double)made / b->seconds / b->read;
	return done;
}
