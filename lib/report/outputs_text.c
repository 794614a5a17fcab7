#include "report/outputs_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "report/figures_json.h"
#include "report/lines.h"

#define SHOWN 24 /* bytes of a prompt or token in a line */
#define BAR 40   /* columns */

/* The drift of one block: relative RMSE. */
static double
drift_of(const struct layer_drift *d)
{
	return d->aa > 0 ? sqrt(d->dd / d->aa) : d->dd > 0 ? INFINITY : 0;
}

/* ---- prompts ---- */

void
outputs_put_head(struct buf *b)
{
	buf_printf(b, "%9s %8s %10s %10s %10s %10s  %s\n", "positions", "top-1", "KL", "KL 99%",
	           "ppl A", "ppl B", "greedy text");
}

/* The text of a token, quoted and cut. */
static void
put_piece(struct buf *b, const struct tokenizer *t, uint32_t id)
{
	struct buf piece = { 0 };
	char quoted[4 * SHOWN];

	if (t)
		tokenizer_piece(t, id, false, TOKENIZER_SPECIAL, &piece);
	if (t)
		buf_printf(b, "\"%s\"", text_quote(quoted, sizeof quoted, piece.p ? (char *)piece.p : "",
		                                   piece.n < SHOWN ? piece.n : SHOWN));
	else
		buf_printf(b, "%" PRIu32, id);
	b->failed |= !buf_ok(&piece);
	buf_free(&piece);
}

void
outputs_put(struct buf *b, const struct prompt_line *prompt, const struct output *o,
            const struct tokenizer *tokenizer)
{
	const struct divergence_figures *f = &o->f;

	(void)prompt;
	buf_printf(b, "%9" PRIu64 " %7.2f%% %10.6f %10.6f %10.4f %10.4f  ", f->count,
	           100 * f->same_top.value, f->kl.value, f->kl_quantile[DIVERGENCE_99], f->base.value,
	           f->perplexity.value);
	if (!o->parts) {
		buf_printf(b, "same for %zu tokens\n", o->said);
		return;
	}
	buf_printf(b, "parts at token %zu: ", o->said + 1);
	put_piece(b, tokenizer, o->next[0]);
	buf_text(b, ", ");
	put_piece(b, tokenizer, o->next[1]);
	buf_text(b, "\n");
}

void
outputs_put_json(struct buf *b, const struct prompt_line *prompt, const struct output *o)
{
	json_t *v = figures_json("prompt", &o->f);

	json_object_set_new(v, "prompt", prompt->text ? json_string(prompt->text) : json_null());
	json_object_set_new(v, "tokens", json_integer((json_int_t)o->tokens));
	json_object_set_new(v, "same_tokens", json_integer((json_int_t)o->said));
	if (o->parts)
		json_object_set_new(v, "next", json_pack("[I,I]", (json_int_t)o->next[0],
		                                         (json_int_t)o->next[1]));
	lines_json(b, v);
}

/* ---- all positions ---- */

void
outputs_put_total(struct buf *b, const struct divergence_figures *f)
{
	buf_printf(b, "All: top-1 agreement %.2f%%, KL %.6f +/- %.6f, 99%% %.6f, at most %.6f, of %"
	           PRIu64 " positions\n", 100 * f->same_top.value, f->kl.value, f->kl.error,
	           f->kl_quantile[DIVERGENCE_99], f->kl_quantile[DIVERGENCE_MAX], f->count);
	buf_printf(b, "Perplexity: A %.4f, B %.4f, ratio %.4f +/- %.4f\n", f->base.value,
	           f->perplexity.value, f->ratio.value, f->ratio.error);
}

void
outputs_put_total_json(struct buf *b, const struct divergence_figures *f, bool differs)
{
	json_t *v = figures_json("outputs", f);

	json_object_set_new(v, "different", json_boolean(differs));
	lines_json(b, v);
}

/* ---- blocks ---- */

static size_t
worst_of(const struct layer_drift *drift, size_t blocks)
{
	size_t i, worst = 0;

	for (i = 1; i < blocks; i++)
		if (drift_of(&drift[i]) > drift_of(&drift[worst]))
			worst = i;
	return worst;
}

void
outputs_put_layers(struct buf *b, const struct layer_drift *drift, size_t blocks)
{
	const size_t worst = worst_of(drift, blocks);
	const double most = drift_of(&drift[worst]);
	size_t i, n;

	for (i = 0; i < blocks; i++) {
		const double v = drift_of(&drift[i]);

		n = most > 0 && isfinite(most) ? (size_t)lround(BAR * v / most) : 0;
		buf_printf(b, "block %3zu: drift %.6f, of one token %.6f ", i, v, drift[i].worst);
		while (n-- > 0)
			buf_text(b, "#");
		buf_text(b, i == worst && most > 0 ? " <- worst\n" : "\n");
	}
}

void
outputs_put_layers_json(struct buf *b, const struct layer_drift *drift, size_t blocks)
{
	const size_t worst = worst_of(drift, blocks);
	size_t i;

	for (i = 0; i < blocks; i++) {
		const double v = drift_of(&drift[i]);

		lines_json(b, json_pack("{s:s,s:I,s:o,s:o,s:I,s:b}", "kind", "block", "block",
		                        (json_int_t)i, "drift", isfinite(v) ? json_real(v) : json_null(),
		                        "worst_token", isfinite(drift[i].worst)
		                        ? json_real(drift[i].worst) : json_null(), "position",
		                        (json_int_t)drift[i].worst_at, "worst", i == worst && v > 0));
	}
}
