#include "cli/gate/gate_computes.h"

#include "cli/canary_verdict.h"
#include "cli/prompt.h"
#include "kernels/level.h"

/* A model that computes. */
struct computes {
	struct tokenizer *tokenizer;
	struct infer *infer;
	struct sequence *sequence;
};

static int
open_computes(struct computes *c, const struct weights *w, unsigned jobs, size_t context,
              struct err *e)
{
	const struct infer_options options = { .context = context, .most = 512, .threads = jobs };

	c->infer = infer_open(w, &options, tool_note, e);
	return c->infer && (c->sequence = sequence_open(c->infer, e)) ? 0 : -1;
}

static int
open_tokenizer(struct computes *c, const struct weights *w, struct err *e)
{
	const struct tokenizer_options how = { .note = tool_note };

	c->tokenizer = tokenizer_of(w, &how, e);
	return c->tokenizer ? 0 : -1;
}

static void
close_computes(struct computes *c)
{
	sequence_close(c->sequence);
	infer_close(c->infer);
	tokenizer_free(c->tokenizer);
}

int
gate_canary(const struct gate_options *o, const struct buf *bytes, const struct weights *w,
            struct buf *text, struct buf *json, struct canary_total *total, struct err *e)
{
	struct canary_conditions now = { .level = level_now()->name };
	struct computes c = { .infer = NULL };
	struct canary canary;
	int done = canary_parse(&canary, bytes->p, bytes->n, o->canary, e);

	/* Without a vocabulary, only ids are compared. */
	if (done == 0 && open_tokenizer(&c, w, e) < 0 && e->code == ERR_FORMAT)
		*e = (struct err)ERR_INIT;
	if (done == 0 && e->code != ERR_NONE)
		done = -1;
	if (done == 0)
		done = open_computes(&c, w, (unsigned)o->jobs, canary_longest(&canary) + 1, e);
	if (done == 0)
		done = canary_verdict(&canary, c.sequence, c.tokenizer, &o->canaries, false, text,
		                      json, total, e);
	if (done == 0) {
		now.architecture = infer_architecture(c.infer);
		canary_put_total(text, &canary, total, &now, false);
		canary_put_total(json, &canary, total, &now, true);
	}
	close_computes(&c);
	canary_free(&canary);
	return done;
}

int
gate_measure(const struct gate_options *o, const struct buf *text, const struct weights *base,
             const struct weights *w, struct divergence_figures *f, struct err *e)
{
	struct computes of = { .infer = NULL }, model = { .infer = NULL };
	struct divergence d = { 0 };
	struct tokens tokens = { 0 };
	int done = -1;

	if (open_tokenizer(&model, w, e) == 0 &&
	    open_computes(&model, w, (unsigned)o->jobs, o->context, e) == 0 &&
	    open_computes(&of, base, (unsigned)o->jobs, infer_context(model.infer), e) == 0 &&
	    prompt_encode(model.tokenizer, text, &tokens, e) == 0)
		done = divergence_text(&d, of.sequence, model.sequence, model.tokenizer, &tokens,
		                       NULL, NULL, e);
	if (done == 0)
		divergence_figures(&d, f);
	divergence_free(&d);
	tokens_free(&tokens);
	close_computes(&of);
	close_computes(&model);
	return done;
}
