#include "report/fit_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "report/figures_json.h"
#include "report/lines.h"

static const struct tensor *
tensor_of(const struct fit *f, size_t i)
{
	return f->weights->plan->tensors[f->tensors[i].index];
}

static const struct fit_choice *
chosen(const struct fit *f, size_t i)
{
	return &f->tensors[i].choices[f->tensors[i].chosen];
}

/* A name as a pattern that matches only it. */
static void
put_pattern(struct buf *b, const char *name)
{
	buf_text(b, "^");
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && *name != '_' && !(*name & 0x80))
			buf_text(b, "\\");
		buf_put(b, name, 1);
	}
	buf_text(b, "$");
}

void
fit_put_rules(struct buf *b, const struct fit *f)
{
	size_t i;
	const char *p;

	for (i = 0; i < f->count; i++) {
		put_pattern(b, tensor_name(tensor_of(f, i)));
		buf_text(b, "=");
		for (p = chosen(f, i)->type->name; *p; p++)
			buf_printf(b, "%c", tolower((unsigned char)*p));
		buf_text(b, "\n");
	}
}

void
fit_put_summary(struct buf *b, const struct fit *f, const struct divergence_figures *d)
{
	const uint64_t values = model_parameters(f->weights->plan);

	buf_printf(b, "%" PRIu64 " bytes of tensors, %.3f bits per weight, after %" PRIu64
	           " evaluations\n", fit_bytes(f),
	           values ? (double)fit_bytes(f) * 8 / (double)values : 0, f->done);
	buf_printf(b, "divergence %.6f +/- %.6f (sum of the tensors: %.6f), top-1 agreement %.2f%%, "
	           "perplexity %.4f, was %.4f\n", d->kl.value, d->kl.error, fit_sum(f),
	           100 * d->same_top.value, d->perplexity.value, d->base.value);
}

void
fit_put_json(struct buf *b, const struct fit *f, const struct divergence_figures *d)
{
	json_t *o = figures_json("model", d);
	size_t i, k;

	json_object_set_new(o, "bytes", json_from_u64(fit_bytes(f)));
	json_object_set_new(o, "harm", json_real(fit_sum(f)));
	lines_json(b, o);
	for (i = 0; i < f->count; i++)
		for (k = 0; k < f->tensors[i].count; k++) {
			const struct fit_choice *c = &f->tensors[i].choices[k];

			lines_json(b, json_pack("{s:s,s:s,s:s,s:I,s:f,s:f,s:b}", "kind", "tensor", "name",
			                        tensor_name(tensor_of(f, i)), "type", c->type->name, "bytes",
			                        (json_int_t)c->bytes, "error", c->error, "harm", c->harm,
			                        "chosen", k == f->tensors[i].chosen));
		}
}
