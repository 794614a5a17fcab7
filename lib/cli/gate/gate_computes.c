#include "cli/gate/gate_computes.h"

#include "cli/canary_verdict.h"
#include "cli/prompt.h"
#include "generate/computes.h"
#include "kernels/level.h"

static struct tokenizer *
open_tokenizer(const struct weights *w, struct err *e)
{
	const struct tokenizer_options how = { .note = tool_note };

	return tokenizer_of(w, &how, e);
}

static int
open_model(struct computes *c, const struct weights *w, const struct gate_options *o,
           size_t context, struct err *e)
{
	const struct infer_options how = { .context = context, .most = 512,
		.threads = (unsigned)o->jobs };

	return computes_open(c, w, &how, tool_note, e);
}

int
gate_canary(const struct gate_options *o, const struct buf *bytes, const struct weights *w,
            struct buf *text, struct buf *json, struct canary_total *total, struct err *e)
{
	struct canary_conditions now = { .level = level_now()->name };
	struct computes c = { .infer = NULL };
	struct tokenizer *tokenizer = NULL;
	struct canary canary;
	int done = canary_parse(&canary, bytes->p, bytes->n, o->canary, e);

	/* Without a vocabulary, only ids are compared. */
	if (done == 0 && !(tokenizer = open_tokenizer(w, e)) && e->code == ERR_FORMAT)
		*e = (struct err)ERR_INIT;
	if (done == 0 && e->code != ERR_NONE)
		done = -1;
	if (done == 0)
		done = open_model(&c, w, o, canary_longest(&canary) + 1, e);
	if (done == 0)
		done = canary_verdict(&canary, c.sequence, tokenizer, &o->canaries, false, text,
		                      json, total, e);
	if (done == 0) {
		now.architecture = infer_architecture(c.infer);
		canary_put_total(text, &canary, total, &now, false);
		canary_put_total(json, &canary, total, &now, true);
	}
	computes_close(&c);
	tokenizer_free(tokenizer);
	canary_free(&canary);
	return done;
}

int
gate_measure(const struct gate_options *o, const struct buf *text, const struct weights *base,
             const struct weights *w, struct divergence_figures *f, struct err *e)
{
	struct computes of = { .infer = NULL }, model = { .infer = NULL };
	struct tokenizer *tokenizer = open_tokenizer(w, e);
	struct divergence d = { 0 };
	struct tokens tokens = { 0 };
	int done = -1;

	if (tokenizer && open_model(&model, w, o, o->context, e) == 0 &&
	    open_model(&of, base, o, infer_context(model.infer), e) == 0 &&
	    prompt_encode(tokenizer, text, &tokens, e) == 0)
		done = divergence_text(&d, of.sequence, model.sequence, tokenizer, &tokens, NULL, NULL,
		                       e);
	if (done == 0)
		divergence_figures(&d, f);
	divergence_free(&d);
	tokens_free(&tokens);
	computes_close(&of);
	computes_close(&model);
	tokenizer_free(tokenizer);
	return done;
}
