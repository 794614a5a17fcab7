#include "generate/generate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "generate/text.h"

/* A token that has been chosen but not passed on. */
struct waiting {
	uint32_t id;
	double logprob;
	uint64_t end; /* bytes of the whole text up to the end of this token */
};

struct state {
	const struct generate *g;
	const struct infer *model;
	struct sampler sampler;
	struct tokens tokens; /* the prompt, then the chosen tokens */
	struct text text;
	uint64_t bytes;       /* added to text so far */
	struct waiting *waiting;
	size_t told, made, cap; /* waiting[told] to waiting[made - 1] have yet to be passed on */
	struct waiting last;  /* the latest token */
	struct buf shown;     /* the text of the next token to pass on, so far */
};

double
generate_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pass on all tokens whose text is known, in order. */
static int
tell(struct state *s, struct err *e)
{
	struct generated g;

	while (s->told < s->made && text_take(&s->text, s->waiting[s->told].end, &s->shown)) {
		if (!buf_ok(&s->shown))
			return err_memory(e);
		g = (struct generated){ s->waiting[s->told].id, s->waiting[s->told].logprob,
			(const char *)s->shown.p, s->shown.n };
		s->told++;
		if (s->g->token(s->g->ctx, &g, e) < 0)
			return -1;
		buf_clear(&s->shown);
	}
	if (s->told == s->made)
		s->told = s->made = 0;
	return buf_ok(&s->shown) ? 0 : err_memory(e);
}

/* Let the latest token wait until it can be passed on. */
static int
add(struct state *s, bool first, struct err *e)
{
	struct buf piece = { 0 };

	if (mem_grow(&s->waiting, &s->cap, s->made + 1, sizeof *s->waiting) < 0)
		return err_memory(e);
	if (s->g->tokenizer)
		tokenizer_piece(s->g->tokenizer, s->last.id, first, 0, &piece);
	text_add(&s->text, piece.p, piece.n);
	s->bytes += piece.n;
	s->last.end = s->bytes;
	s->waiting[s->made++] = s->last;
	if (!buf_ok(&piece))
		err_memory(e);
	buf_free(&piece);
	return e->code == ERR_NONE ? 0 : -1;
}

/* Choose the next token from the logits of the last position. */
static int
choose(void *ctx, size_t position, const float *logits, struct err *e)
{
	struct state *s = ctx;

	(void)position;
	(void)e;
	s->last.id = sampler_next(&s->sampler, logits, s->tokens.id, s->tokens.n);
	s->last.logprob = sampler_logprob(logits, s->sampler.n, s->last.id);
	return 0;
}

static bool
is_interrupted(const struct state *s)
{
	return s->g->interrupted && *s->g->interrupted;
}

/* Evaluate the tokens from position at on, in parts, so that a long prompt can be
 * interrupted. */
static int
evaluate(struct state *s, size_t at, struct err *e)
{
	size_t n, end = s->tokens.n, part = infer_batch(s->model);

	for (; at < end && !is_interrupted(s); at += n) {
		n = end - at < part ? end - at : part;
		if (sequence_eval(s->g->sequence, at, s->tokens.id + at, n,
		               at + n == end ? SEQUENCE_LAST : SEQUENCE_NONE, choose, s, e) < 0)
			return -1;
	}
	return 0;
}

/* Handle the chosen token. Returns whether it is the last. */
static bool
take(struct state *s, struct generate_result *r, bool first, struct err *e)
{
	const struct generate *g = s->g;

	if (g->tokenizer && tokenizer_is_end(g->tokenizer, s->last.id)) {
		r->end = GENERATE_END_OF_TEXT;
		return true;
	}
	r->made++;
	if (add(s, first, e) < 0 || tell(s, e) < 0)
		return true;
	if (s->text.stopped) {
		r->end = GENERATE_STOP;
		return true;
	}
	r->end = r->made == g->count ? GENERATE_COUNT : GENERATE_CONTEXT;
	return r->made == g->count || s->tokens.n == infer_context(s->model);
}

static int
loop(struct state *s, struct generate_result *r, struct err *e)
{
	double begun = generate_clock();
	size_t at = 0, prompt = s->tokens.n;
	bool first = s->g->tokenizer && prompt == 1 &&
		tokenizer_is_control(s->g->tokenizer, s->tokens.id[0]);
	bool last = false;

	r->prompt = prompt;
	while (!last) {
		if (evaluate(s, at, e) < 0)
			return -1;
		if (is_interrupted(s)) {
			r->end = GENERATE_INTERRUPTED;
			break;
		}
		if (at == 0)
			r->prompt_seconds = generate_clock() - begun;
		at = s->tokens.n;
		last = take(s, r, first && r->made == 0, e);
		if (e->code != ERR_NONE ||
		    (!last && tokens_add(&s->tokens, s->last.id, e) < 0))
			return -1;
	}
	r->seconds = generate_clock() - begun - r->prompt_seconds;
	text_end(&s->text);
	return tell(s, e);
}

int
generate_run(const struct generate *g, const struct tokens *prompt, struct generate_result *r,
             struct err *e)
{
	const struct infer *model = sequence_model(g->sequence);
	struct state s = { .g = g, .model = model, .text = { .stops = g->stops, .stop_count = g->stop_count } };
	size_t i;
	int done;

	memset(r, 0, sizeof *r);
	if (prompt->n == 0)
		return err_set(e, ERR_INVALID, NULL, "the prompt has no tokens");
	if (prompt->n >= infer_context(model)) {
		err_set(e, ERR_INVALID, NULL, "the prompt has %zu tokens, and there is room for "
		        "%zu", prompt->n, infer_context(model));
		return err_hint(e, "-c N makes room for N");
	}
	for (i = 0; i < prompt->n; i++)
		if (tokens_add(&s.tokens, prompt->id[i], e) < 0)
			break;
	done = e->code == ERR_NONE &&
		sampler_open(&s.sampler, &g->sampler, infer_vocabulary(model), e) == 0
		? loop(&s, r, e) : -1;
	sampler_free(&s.sampler);
	text_free(&s.text);
	tokens_free(&s.tokens);
	buf_free(&s.shown);
	free(s.waiting);
	return done;
}
