#include "cli/prune/drop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/prompt.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"
#include "core/spool.h"
#include "infer/sequence.h"
#include "infer/watch.h"

#define CONTEXT 512           /* tokens of a part, at most */
#define PIECE ((size_t)64 << 10)
#define TOKENS 1024           /* without a text */

struct measuring {
	struct spool spool;
	struct weights weights;
	struct infer *infer;
	struct sequence *sequence;
	struct tokenizer *tokenizer;
	struct tokens tokens;
	float *before;            /* the residual stream before a block */
	double *sums;             /* of cosines, of each block */
	uint64_t count;           /* tokens */
};

/* ---- the model in memory ---- */

static int
spool_tensor(struct measuring *m, struct merge_input *in, size_t i, uint8_t *piece, struct err *e)
{
	uint64_t bytes = tensor_bytes(merge_input_plan(in)->tensors[i]), at;
	size_t n;

	for (at = 0; at < bytes; at += n) {
		n = (size_t)num_min(bytes - at, PIECE);
		if (merge_input_bytes(in, i, at, piece, n) < 0)
			return range_fail(in->name, e);
		if (spool_put(&m->spool, piece, n, e) < 0)
			return -1;
	}
	return 0;
}

static int
hold_tensors(struct measuring *m, struct merge_input *in, struct err *e)
{
	const struct model *plan = merge_input_plan(in);
	uint8_t *piece = mem_array(PIECE, 1);
	uint64_t at = 0;
	const uint8_t *p;
	size_t i;
	int r = piece ? 0 : err_memory(e);

	m->weights = in->subject.w;
	m->weights.tensors = mem_array(plan->tensor_count, sizeof *m->weights.tensors);
	if (!m->weights.tensors)
		r = err_memory(e);
	for (i = 0; r == 0 && i < plan->tensor_count; i++)
		r = spool_tensor(m, in, i, piece, e);
	if (r == 0)
		r = spool_put(&m->spool, "", 1, e) < 0 ? -1 : spool_view(&m->spool, &p, e);
	for (i = 0; r == 0 && i < plan->tensor_count; i++) {
		m->weights.tensors[i] = p + at;
		at += tensor_bytes(plan->tensors[i]);
	}
	free(piece);
	return r;
}

/* ---- the text ---- */

/* Tokens of the vocabulary in an order that only its size decides. */
static int
make_tokens(struct measuring *m, struct err *e)
{
	uint64_t n = infer_vocabulary(m->infer), state = 1;
	size_t i;

	m->tokens.id = mem_array(TOKENS, sizeof *m->tokens.id);
	if (!m->tokens.id)
		return err_memory(e);
	for (i = 0; i < TOKENS; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		m->tokens.id[m->tokens.n++] = (uint32_t)((state >> 33) % n);
	}
	return 0;
}

static int
read_tokens(struct measuring *m, const struct prune_asked *a, struct err *e)
{
	const struct tokenizer_options any = { .note = tool_note };

	if (!a->text_path) {
		tool_note("--text FILE would measure the layers with a text; random tokens are used");
		return make_tokens(m, e);
	}
	if (a->text.n == 0)
		return err_set(e, ERR_INVALID, a->text_path, "is empty");
	m->tokenizer = tokenizer_of(&m->weights, &any, e);
	return m->tokenizer ? prompt_encode(m->tokenizer, &a->text, &m->tokens, e) : -1;
}

/* ---- cosines ---- */

static double
cosine(const float *a, const float *b, size_t n)
{
	double aa = 0, bb = 0, ab = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
		ab += (double)a[i] * (double)b[i];
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa) / sqrt(bb) : 1;
}

static void
see_block(void *ctx, size_t block, const float *x, size_t n, size_t width)
{
	struct measuring *m = ctx;
	size_t i;

	for (i = 0; block != WATCH_EMBEDDINGS && i < n; i++)
		m->sums[block] += cosine(m->before + i * width, x + i * width, width);
	memcpy(m->before, x, n * width * sizeof *x);
	if (block == WATCH_EMBEDDINGS)
		m->count += n;
}

static int
ignore(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx, (void)position, (void)logits, (void)e;
	return 0;
}

static int
evaluate(struct measuring *m, struct err *e)
{
	size_t context = infer_context(m->infer), at, n;

	m->before = mem_array(infer_batch(m->infer), infer_width(m->infer) * sizeof *m->before);
	m->sums = mem_array(infer_blocks(m->infer), sizeof *m->sums);
	if (!m->before || !m->sums)
		return err_memory(e);
	if (infer_watch_blocks(m->infer, see_block, m, e) < 0)
		return -1;
	for (at = 0; at < m->tokens.n; at += n) {
		n = (size_t)num_min(m->tokens.n - at, context);
		if (sequence_eval(m->sequence, 0, m->tokens.id + at, n, SEQUENCE_NONE, ignore, NULL, e) < 0)
			return -1;
	}
	return 0;
}

/* The layers with the highest cosines; of equal ones the first. */
static int
choose(const struct measuring *m, struct prune_asked *a, struct err *e)
{
	size_t n = infer_blocks(m->infer), i, best;
	struct buf list = { 0 };
	double *left = m->sums;
	uint64_t k;
	int r;

	if (a->drop >= n)
		return err_set(e, ERR_INVALID, infer_name(m->infer), "has %zu layers: %llu cannot go", n,
		               (unsigned long long)a->drop);
	for (i = 0; i < n; i++) {
		left[i] /= (double)m->count;
		tool_notef("layer %zu: cosine %.6f", i, left[i]);
		if (!(left[i] >= -1))
			left[i] = -1; /* NaN */
	}
	for (k = 0; k < a->drop; k++) {
		for (best = 0, i = 1; i < n; i++)
			if (left[i] > left[best])
				best = i;
		left[best] = -2;
		buf_printf(&list, "%s%zu", k ? "," : "", best);
	}
	r = buf_string(&list) ? prune_parse(&a->layers, (const char *)list.p, e) : err_memory(e);
	buf_free(&list);
	return r;
}

int
drop_choose(struct prune_asked *a, struct merge_input *in, unsigned jobs, struct err *e)
{
	const struct infer_options how = { .most = CONTEXT, .threads = jobs };
	struct measuring m = { .count = 0 };
	int r = hold_tensors(&m, in, e);

	if (r == 0 && !(m.infer = infer_open(&m.weights, &how, tool_note, e)))
		r = -1;
	if (r == 0 && !(m.sequence = sequence_open(m.infer, e)))
		r = -1;
	if (r == 0)
		r = read_tokens(&m, a, e);
	if (r == 0)
		r = evaluate(&m, e);
	if (r == 0)
		r = choose(&m, a, e);
	sequence_close(m.sequence);
	infer_close(m.infer);
	tokenizer_free(m.tokenizer);
	tokens_free(&m.tokens);
	spool_free(&m.spool);
	free(m.weights.tensors);
	free(m.before);
	free(m.sums);
	return r;
}
