/* Runs: a text on a model, and what is generated. */
#include "api/compute.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "generate/generate.h"
#include "infer/sequence.h"

struct aprml_run {
	struct aprml_weights *weights;
	struct aprml_run_options options;
	struct thread_arena arena;
	struct api_log log;
	const struct thread_arena *arena_before; /* of a call around that of this run */
	const struct api_log *log_before;
	struct infer *infer;
	struct sequence *sequence;
	atomic_bool cancelled;
	double spent, entered;   /* seconds of calls before, and when this one began */

	struct tokens text;      /* all tokens, */
	size_t evaluated;        /* and the number that the sequence holds */
	float *logits;           /* of the last one that was fed */
	bool fed;

	struct generate generate; /* what generation points to */
	char **stops;
	struct generation *generation;
	struct aprml_result result;
	bool any;                /* result has been filled */
};

/* ---- open and close ---- */

static int
prove_memory(const struct aprml_run *r, struct err *e)
{
	uint64_t bytes = infer_buffers(r->infer) + sequence_bytes(r->sequence);

	if (r->options.memory == 0 || bytes <= r->options.memory)
		return 0;
	return err_set(e, ERR_MEMORY, infer_name(r->infer), "needs %" PRIu64 " bytes of memory for a "
	               "context of %zu, and the limit is %" PRIu64, bytes, infer_context(r->infer),
	               r->options.memory);
}

static int
open_model(struct aprml_run *r, struct err *e)
{
	const struct aprml_run_options *o = &r->options;
	struct infer_options options = { .context = o->context, .threads = o->threads,
		.low = r->weights->low, .low_count = r->weights->low_count };

	if (o->cache && cache_type_by_name(o->cache, &options.cache) < 0)
		return err_set(e, ERR_NO, "cache", "is f16, f32 or q8_0");
	r->infer = infer_open(&r->weights->load.weights, &options, api_note, e);
	if (!r->infer)
		return -1;
	r->sequence = sequence_open(r->infer, e);
	if (!r->sequence || prove_memory(r, e) < 0)
		return -1;
	r->logits = mem_array(infer_vocabulary(r->infer), sizeof *r->logits);
	return r->logits ? 0 : err_memory(e);
}

/* Threads, remarks and time are those of the run while one of its calls computes. */
static void
enter(struct aprml_run *r)
{
	r->arena_before = thread_use(r->arena.run ? &r->arena : NULL);
	r->log_before = api_log_to(&r->log);
	r->entered = generate_clock();
}

static void
leave(struct aprml_run *r)
{
	r->spent += generate_clock() - r->entered;
	api_log_to(r->log_before);
	thread_use(r->arena_before);
}

struct aprml_run *
aprml_run_open(struct aprml_weights *w, const struct aprml_run_options *options,
               struct aprml_error *e)
{
	struct aprml_run *r;
	struct err err = ERR_INIT;
	int done;

	if (api_need(w, "weights", e) < 0)
		return NULL;
	r = mem_array(1, sizeof *r);
	if (!r) {
		err_memory(&err);
		api_fail(&err, e);
		return NULL;
	}
	r->weights = w;
	done = api_options(&r->options, sizeof r->options, options, sizeof r->options,
	                   "aprml_run_options", &err);
	r->arena = (struct thread_arena){ r->options.arena, r->options.ctx };
	r->log = (struct api_log){ r->options.log, r->options.ctx };
	enter(r);
	done = done < 0 ? -1 : open_model(r, &err);
	leave(r);
	r->spent = 0;
	if (done == 0)
		return r;
	aprml_run_close(r);
	api_fail(&err, e);
	return NULL;
}

static void
drop_stops(struct aprml_run *r)
{
	size_t i;

	for (i = 0; r->stops && i < r->generate.stop_count; i++)
		free(r->stops[i]);
	free(r->stops);
	r->stops = NULL;
}

void
aprml_run_close(struct aprml_run *r)
{
	if (!r)
		return;
	generation_close(r->generation);
	drop_stops(r);
	tokens_free(&r->text);
	free(r->logits);
	sequence_close(r->sequence);
	infer_close(r->infer);
	free(r);
}

size_t
aprml_run_context(const struct aprml_run *r)
{
	return infer_context(r->infer);
}

size_t
aprml_run_vocabulary(const struct aprml_run *r)
{
	return infer_vocabulary(r->infer);
}

void
aprml_run_cancel(struct aprml_run *r, int cancel)
{
	atomic_store(&r->cancelled, cancel != 0);
}

static bool
is_late(const struct aprml_run *r)
{
	return r->options.seconds > 0 &&
	       r->spent + (generate_clock() - r->entered) > r->options.seconds;
}

static void
tell_progress(const struct aprml_run *r, size_t done, size_t all)
{
	if (r->options.progress)
		r->options.progress(r->options.ctx, done, all);
}

/* ---- generations ---- */

static enum aprml_end
end_of(const struct aprml_run *r, enum generate_end end)
{
	static const enum aprml_end ends[] = {
		[GENERATE_COUNT] = APRML_COUNT, [GENERATE_END_OF_TEXT] = APRML_END_OF_TEXT,
		[GENERATE_STOP] = APRML_STOP, [GENERATE_CONTEXT] = APRML_CONTEXT,
		[GENERATE_INTERRUPTED] = APRML_TIME
	};

	return end == GENERATE_INTERRUPTED && atomic_load(&r->cancelled) ? APRML_CANCELLED
	                                                                 : ends[end];
}

/* End the generation: its tokens become those of the text. 0, or -1 with e filled. */
static int
end_generation(struct aprml_run *r, enum aprml_end end, struct err *e)
{
	const struct generate_result *result;
	const struct tokens *tokens;
	int done = 0;

	if (!r->generation)
		return 0;
	result = generation_result(r->generation);
	r->result = (struct aprml_result){ sizeof r->result, end, result->prompt, result->made,
		result->prompt_seconds, result->seconds };
	tokens = generation_tokens(r->generation, &r->evaluated);
	while (done == 0 && r->text.n < tokens->n)
		done = tokens_add(&r->text, tokens->id[r->text.n], e);
	if (r->evaluated > r->text.n)
		r->evaluated = r->text.n;
	generation_close(r->generation);
	r->generation = NULL;
	drop_stops(r);
	return done;
}

/* Asked by a generation before each evaluation. */
static bool
ends(void *ctx)
{
	struct aprml_run *r = ctx;
	size_t at;

	generation_tokens(r->generation, &at);
	if (at > r->evaluated && at <= r->text.n) {
		r->evaluated = at;
		tell_progress(r, at, r->text.n);
	}
	return atomic_load(&r->cancelled) || is_late(r);
}

static int
copy_stops(struct aprml_run *r, const struct aprml_sampling *s, struct err *e)
{
	size_t i;

	r->stops = mem_array(s->stop_count, sizeof *r->stops);
	if (!r->stops)
		return err_memory(e);
	for (i = 0; i < s->stop_count; i++) {
		if (!s->stop[i] || !*s->stop[i])
			return err_set(e, ERR_NO, "stop", "has an empty text");
		r->stops[i] = mem_text(s->stop[i], strlen(s->stop[i]));
		r->generate.stop_count = i + 1;
		if (!r->stops[i])
			return err_memory(e);
	}
	return 0;
}

/* Within these limits, as the options of apr-run have them. */
static int
prove_sampling(const struct aprml_sampling *s, const struct aprml_run *r, struct err *e)
{
	const struct { const char *name; double value, least, most; } limits[] = {
		{ "temperature", s->temperature, 0, 100 }, { "top_p", s->top_p, 0, 1 },
		{ "min_p", s->min_p, 0, 1 }, { "repeat_penalty", s->repeat_penalty, 1, 100 },
	};
	size_t i;

	for (i = 0; i < sizeof limits / sizeof *limits; i++)
		if (!(limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
			return err_set(e, ERR_NO, limits[i].name, "is not between %g and %g",
			               limits[i].least, limits[i].most);
	if (s->stop_count > 0 && !r->weights->tokenizer)
		return err_set(e, ERR_NO, "stop", "the model has no vocabulary");
	return 0;
}

static int
set_generate(struct aprml_run *r, const struct aprml_sampling *s, struct err *e)
{
	const struct aprml_tokenizer *t = r->weights->tokenizer;

	r->generate = (struct generate){
		.sequence = r->sequence, .tokenizer = t ? t->t : NULL,
		.sampler = { s->temperature, s->top_p, s->min_p, s->repeat_penalty, s->top_k,
		             s->seed },
		.count = s->count, .ends = ends, .ctx = r
	};
	if (prove_sampling(s, r, e) < 0 || copy_stops(r, s, e) < 0)
		return -1;
	r->generate.stops = (const char *const *)r->stops;
	return 0;
}

static int
add_tokens(struct aprml_run *r, const uint32_t *id, size_t n, struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (id[i] >= infer_vocabulary(r->infer))
			return err_set(e, ERR_NO, infer_name(r->infer), "token %" PRIu32 " is not in the "
			               "vocabulary of %zu", id[i], infer_vocabulary(r->infer));
		if (tokens_add(&r->text, id[i], e) < 0)
			return -1;
	}
	return 0;
}

static int
begin(struct aprml_run *r, const uint32_t *id, size_t n, const struct aprml_sampling *s,
      struct err *e)
{
	size_t before;

	if (end_generation(r, APRML_CANCELLED, e) < 0)
		return -1;
	before = r->text.n;
	r->any = r->fed = false;
	if (set_generate(r, s, e) == 0 && add_tokens(r, id, n, e) == 0) {
		/* The logits of the last token are needed again. */
		if (r->evaluated == r->text.n && r->evaluated > 0)
			r->evaluated--;
		r->generate.evaluated = r->evaluated;
		r->generation = generation_open(&r->generate, &r->text, e);
	}
	if (r->generation) {
		r->any = true;
		return 0;
	}
	r->text.n = before;
	drop_stops(r);
	return -1;
}

int
aprml_run_begin(struct aprml_run *r, const uint32_t *id, size_t n,
                const struct aprml_sampling *sampling, struct aprml_error *e)
{
	struct aprml_sampling s = APRML_SAMPLING;
	struct err err = ERR_INIT;

	if (api_need(r, "run", e) < 0)
		return -1;
	if (api_options(&s, sizeof s, sampling, sizeof s, "aprml_sampling", &err) == 0 &&
	    begin(r, id, n, &s, &err) == 0)
		return 0;
	return api_fail(&err, e);
}

int
aprml_run_next(struct aprml_run *r, struct aprml_token *token, struct aprml_error *e)
{
	struct generated g;
	struct err err = ERR_INIT;
	int more;

	if (api_need(r, "run", e) < 0)
		return -1;
	if (!r->generation)
		return 0;
	enter(r);
	more = generation_next(r->generation, &g, &err);
	leave(r);
	if (more > 0) {
		*token = (struct aprml_token){ g.id, g.logprob, g.text ? g.text : "", g.n };
		return 1;
	}
	if (end_generation(r, more < 0 ? APRML_FAILED
	                               : end_of(r, generation_result(r->generation)->end), &err) < 0)
		more = -1;
	return more < 0 ? api_fail(&err, e) : 0;
}

int
aprml_run_generate(struct aprml_run *r, const uint32_t *id, size_t n,
                   const struct aprml_sampling *sampling,
                   int (*token)(void *ctx, const struct aprml_token *token), void *ctx,
                   struct aprml_error *e)
{
	struct aprml_token t;
	struct err err = ERR_INIT;
	int more;

	if (aprml_run_begin(r, id, n, sampling, e) < 0)
		return -1;
	while ((more = aprml_run_next(r, &t, e)) > 0)
		if (token(ctx, &t) != 0)
			return end_generation(r, APRML_CANCELLED, &err) < 0 ? api_fail(&err, e) : 0;
	return more;
}

int
aprml_run_result(const struct aprml_run *r, struct aprml_result *result)
{
	struct aprml_result known;

	if (!r->any)
		return -1;
	known = r->result;
	if (r->generation) {
		const struct generate_result *g = generation_result(r->generation);

		known = (struct aprml_result){ sizeof known, APRML_RUNNING, g->prompt, g->made,
			g->prompt_seconds, 0 };
	}
	return api_fill(result, &known, sizeof known, sizeof known);
}

/* ---- tokens in, logits out ---- */

struct feed {
	struct aprml_run *r;
	aprml_row row;
	void *ctx;
	size_t last; /* position whose logits are kept */
};

static int
take_row(void *ctx, size_t position, const float *logits, struct err *e)
{
	const struct feed *f = ctx;

	if (position == f->last) {
		memcpy(f->r->logits, logits, infer_vocabulary(f->r->infer) * sizeof *logits);
		f->r->fed = true;
	}
	if (f->row && f->row(f->ctx, position, logits) != 0)
		return err_set(e, ERR_NO, infer_name(f->r->infer), "the program ended the evaluation");
	return 0;
}

static int
prove_time(const struct aprml_run *r, struct err *e)
{
	if (atomic_load(&r->cancelled))
		return err_set(e, ERR_NO, infer_name(r->infer), "the evaluation was cancelled");
	if (is_late(r))
		return err_set(e, ERR_MEMORY, infer_name(r->infer), "the limit of %g seconds is over",
		               r->options.seconds);
	return 0;
}

/* Evaluate what has not been, in parts, so that it can be cancelled. */
static int
evaluate(struct feed *f, struct err *e)
{
	struct aprml_run *r = f->r;
	size_t n, end = r->text.n, part = infer_batch(r->infer);
	enum sequence_want want;

	for (; r->evaluated < end; r->evaluated += n) {
		n = end - r->evaluated < part ? end - r->evaluated : part;
		want = f->row ? SEQUENCE_ALL : r->evaluated + n == end ? SEQUENCE_LAST : SEQUENCE_NONE;
		if (prove_time(r, e) < 0 ||
		    sequence_eval(r->sequence, r->evaluated, r->text.id + r->evaluated, n, want,
		                  take_row, f, e) < 0)
			return -1;
		tell_progress(r, r->evaluated + n, end);
	}
	return 0;
}

int
aprml_run_feed(struct aprml_run *r, const uint32_t *id, size_t n, aprml_row row, void *ctx,
               struct aprml_error *e)
{
	struct feed f = { .r = r, .row = row, .ctx = ctx };
	struct err err = ERR_INIT;
	size_t before;
	int done;

	if (api_need(r, "run", e) < 0)
		return -1;
	if (end_generation(r, APRML_CANCELLED, &err) < 0)
		return api_fail(&err, e);
	before = r->text.n;
	r->fed = false;
	if (add_tokens(r, id, n, &err) < 0) {
		r->text.n = before;
		return api_fail(&err, e);
	}
	f.last = r->text.n - 1;
	enter(r);
	done = evaluate(&f, &err);
	leave(r);
	if (done == 0)
		return 0;
	r->fed = false;
	r->text.n = r->evaluated;
	return api_fail(&err, e);
}

const float *
aprml_run_logits(const struct aprml_run *r)
{
	return r->fed ? r->logits : NULL;
}

size_t
aprml_run_position(const struct aprml_run *r)
{
	size_t at;

	return r->generation ? generation_tokens(r->generation, &at)->n : r->text.n;
}

int
aprml_run_rewind(struct aprml_run *r, size_t position)
{
	struct err err = ERR_INIT;

	if (end_generation(r, APRML_CANCELLED, &err) < 0 || position > r->text.n)
		return -1;
	r->text.n = position;
	r->evaluated = r->evaluated < position ? r->evaluated : position;
	r->fed = false;
	return 0;
}
