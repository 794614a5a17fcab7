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

struct generation {
	const struct generate *g;
	const struct infer *model;
	struct sampler sampler;
	struct tokens tokens; /* the prompt, then the chosen tokens */
	struct text text;
	uint64_t bytes;       /* added to text so far */
	struct waiting *waiting;
	size_t told, made, cap; /* waiting[told] to waiting[made - 1] have yet to be passed on */
	struct waiting last;  /* the latest token */
	struct buf shown;     /* the text of the next token to pass on, so far; */
	bool passed;          /* or of the one that was passed on last */
	size_t evaluated;     /* tokens that the sequence holds */
	bool control;         /* the prompt is one control token */
	bool ended;
	double begun;         /* by generate_clock; 0: not yet */
	struct generate_result result;
};

double
generate_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pass on a token whose text is known: 1, or 0 if there is none. */
static int
tell(struct generation *s, struct generated *to, struct err *e)
{
	const struct waiting *w = s->told < s->made ? &s->waiting[s->told] : NULL;

	if (s->passed)
		buf_clear(&s->shown);
	s->passed = w && text_take(&s->text, w->end, &s->shown);
	if (!buf_ok(&s->shown))
		return err_memory(e);
	if (s->passed) {
		*to = (struct generated){ w->id, w->logprob, (const char *)s->shown.p, s->shown.n };
		s->told++;
	} else if (s->told == s->made) {
		s->told = s->made = 0;
	}
	return s->passed;
}

/* Let the latest token wait until it can be passed on. */
static int
add(struct generation *s, bool first, struct err *e)
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
	struct generation *s = ctx;

	(void)position;
	(void)e;
	s->last.id = sampler_next(&s->sampler, logits, s->tokens.id, s->tokens.n);
	s->last.logprob = sampler_logprob(logits, s->sampler.n, s->last.id);
	return 0;
}

static bool
is_interrupted(const struct generation *s)
{
	return (s->g->interrupted && *s->g->interrupted) || (s->g->ends && s->g->ends(s->g->ctx));
}

/* Evaluate the tokens that have not been, in parts, so that a long prompt can be
 * interrupted. 1 if it was, or 0. */
static int
evaluate(struct generation *s, struct err *e)
{
	size_t n, end = s->tokens.n, part = infer_batch(s->model);

	for (; s->evaluated < end && !is_interrupted(s); s->evaluated += n) {
		n = end - s->evaluated < part ? end - s->evaluated : part;
		if (sequence_eval(s->g->sequence, s->evaluated, s->tokens.id + s->evaluated, n,
		                  s->evaluated + n == end ? SEQUENCE_LAST : SEQUENCE_NONE, choose,
		                  s, e) < 0)
			return -1;
	}
	return s->evaluated < end || is_interrupted(s);
}

/* Handle the chosen token. Returns whether it is the last. */
static bool
take(struct generation *s, struct err *e)
{
	const struct generate *g = s->g;
	struct generate_result *r = &s->result;

	if (g->tokenizer && tokenizer_is_end(g->tokenizer, s->last.id)) {
		r->end = GENERATE_END_OF_TEXT;
		return true;
	}
	r->made++;
	if (add(s, s->control && r->made == 1, e) < 0)
		return true;
	if (s->text.stopped) {
		r->end = GENERATE_STOP;
		return true;
	}
	r->end = r->made == g->count ? GENERATE_COUNT : GENERATE_CONTEXT;
	return r->made == g->count || s->tokens.n == infer_context(s->model);
}

/* Choose one more token, or end. 0 or -1. */
static int
step(struct generation *s, struct err *e)
{
	struct generate_result *r = &s->result;
	bool prompt = s->begun <= 0;
	int interrupted;

	if (prompt)
		s->begun = generate_clock();
	interrupted = evaluate(s, e);
	if (interrupted < 0)
		return -1;
	if (interrupted)
		r->end = GENERATE_INTERRUPTED;
	else if (prompt)
		r->prompt_seconds = generate_clock() - s->begun;
	if (interrupted) {
		s->ended = true;
	} else {
		s->ended = take(s, e);
		if (e->code != ERR_NONE || tokens_add(&s->tokens, s->last.id, e) < 0)
			return -1;
	}
	if (s->ended) {
		r->seconds = generate_clock() - s->begun - r->prompt_seconds;
		text_end(&s->text);
	}
	return 0;
}

int
generation_next(struct generation *s, struct generated *to, struct err *e)
{
	int told;

	while ((told = tell(s, to, e)) == 0 && !s->ended)
		if (step(s, e) < 0)
			return -1;
	return told;
}

const struct generate_result *
generation_result(const struct generation *s)
{
	return &s->result;
}

const struct tokens *
generation_tokens(const struct generation *s, size_t *evaluated)
{
	*evaluated = s->evaluated;
	return &s->tokens;
}

static int
prove_prompt(const struct infer *model, const struct tokens *prompt, struct err *e)
{
	if (prompt->n == 0)
		return err_set(e, ERR_INVALID, NULL, "the prompt has no tokens");
	if (prompt->n < infer_context(model))
		return 0;
	err_set(e, ERR_INVALID, NULL, "the prompt has %zu tokens, and there is room for %zu",
	        prompt->n, infer_context(model));
	return err_hint(e, "-c N makes room for N");
}

struct generation *
generation_open(const struct generate *g, const struct tokens *prompt, struct err *e)
{
	const struct infer *model = sequence_model(g->sequence);
	struct generation *s;
	size_t i;

	if (prove_prompt(model, prompt, e) < 0)
		return NULL;
	s = mem_array(1, sizeof *s);
	if (!s) {
		err_memory(e);
		return NULL;
	}
	*s = (struct generation){ .g = g, .model = model, .evaluated = g->evaluated,
		.text = { .stops = g->stops, .stop_count = g->stop_count },
		.control = g->tokenizer && prompt->n == 1 &&
			tokenizer_is_control(g->tokenizer, prompt->id[0]),
		.result = { .prompt = prompt->n } };
	for (i = 0; i < prompt->n && tokens_add(&s->tokens, prompt->id[i], e) == 0; i++)
		;
	if (e->code == ERR_NONE &&
	    sampler_open(&s->sampler, &g->sampler, infer_vocabulary(model), e) == 0)
		return s;
	generation_close(s);
	return NULL;
}

void
generation_close(struct generation *s)
{
	if (!s)
		return;
	sampler_free(&s->sampler);
	text_free(&s->text);
	tokens_free(&s->tokens);
	buf_free(&s->shown);
	free(s->waiting);
	free(s);
}

int
generate_run(const struct generate *g, const struct tokens *prompt, struct generate_result *r,
             struct err *e)
{
	struct generation *s = generation_open(g, prompt, e);
	struct generated next;
	int more = -1;

	memset(r, 0, sizeof *r);
	while (s && (more = generation_next(s, &next, e)) > 0)
		if (g->token(g->ctx, &next, e) < 0) {
			more = -1;
			break;
		}
	if (s)
		*r = s->result;
	generation_close(s);
	return more;
}
