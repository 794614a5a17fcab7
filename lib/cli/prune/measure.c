#include "cli/prune/measure.h"

#include <stdlib.h>

#include "cli/prompt.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/range.h"

#define CONTEXT 512           /* tokens of a part, at most */
#define PIECE ((size_t)64 << 10)
#define TOKENS 1024           /* without a text */

/* ---- the model in memory ---- */

static int
spool_tensor(struct measure *m, struct merge_input *in, size_t i, uint8_t *piece, struct err *e)
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
hold_tensors(struct measure *m, struct merge_input *in, struct err *e)
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
make_tokens(struct measure *m, struct err *e)
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
read_tokens(struct measure *m, const struct prune_asked *a, struct err *e)
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

int
measure_open(struct measure *m, struct merge_input *in, const struct prune_asked *a, unsigned jobs,
             struct err *e)
{
	const struct infer_options how = { .most = CONTEXT, .threads = jobs };

	if (hold_tensors(m, in, e) < 0 || !(m->infer = infer_open(&m->weights, &how, tool_note, e)) ||
	    !(m->sequence = sequence_open(m->infer, e)) || read_tokens(m, a, e) < 0)
		return -1;
	if (a->tokens > 0)
		m->tokens.n = (size_t)num_min(m->tokens.n, a->tokens);
	return 0;
}

void
measure_close(struct measure *m)
{
	sequence_close(m->sequence);
	infer_close(m->infer);
	tokenizer_free(m->tokenizer);
	tokens_free(&m->tokens);
	spool_free(&m->spool);
	free(m->weights.tensors);
	*m = (struct measure){ 0 };
}

static int
ignore(void *ctx, size_t position, const float *logits, struct err *e)
{
	(void)ctx, (void)position, (void)logits, (void)e;
	return 0;
}

int
measure_run(struct measure *m, struct err *e)
{
	size_t context = infer_context(m->infer), at, n;

	for (at = 0; at < m->tokens.n; at += n) {
		n = (size_t)num_min(m->tokens.n - at, context);
		if (sequence_eval(m->sequence, 0, m->tokens.id + at, n, SEQUENCE_NONE, ignore, NULL, e) < 0)
			return -1;
	}
	return 0;
}
