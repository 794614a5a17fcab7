#include "generate/divergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/num.h"
#include "generate/parts.h"
#include "generate/softmax.h"

#define ROOM (4u << 20) /* logits of the base in memory: 16 MiB */

const float divergence_shares[DIVERGENCE_QUANTILES] = {
	1, 0.999f, 0.99f, 0.95f, 0.9f, 0.75f, 0.5f, 0.25f, 0.1f, 0.05f, 0.01f, 0.001f, 0
};

/* ---- one position ---- */

int
divergence_add(struct divergence *d, const float *base, const float *logits, size_t n,
               uint32_t next, struct err *e)
{
	const struct softmax p = softmax_of(base, n), q = softmax_of(logits, n);
	double kl = 0, nll[2] = { q.base - (double)logits[next], p.base - (double)base[next] };
	double dp = exp(-nll[0]) - exp(-nll[1]);
	size_t i;

	if (mem_grow(&d->kl, &d->kl_cap, d->count + 1, sizeof *d->kl) < 0 ||
	    mem_grow(&d->dp, &d->dp_cap, d->count + 1, sizeof *d->dp) < 0)
		return err_memory(e);
	for (i = 0; i < n; i++) {
		const double a = (double)base[i] - p.base;

		if (a > -40) /* less is nothing, even of millions of tokens */
			kl += exp(a) * (a - ((double)logits[i] - q.base));
	}
	d->kl[d->count] = (float)kl;
	d->dp[d->count] = (float)dp;
	d->count++;
	d->same_top += p.top == q.top;
	for (i = 0; i < 2; i++) {
		d->nll[i] += nll[i];
		d->nll_squares[i] += nll[i] * nll[i];
	}
	d->nll_product += nll[0] * nll[1];
	d->kl_sum += kl;
	d->kl_squares += kl * kl;
	d->dp_sum += dp;
	d->dp_squares += dp * dp;
	d->dp_fourths += dp * dp * dp * dp;
	return 0;
}

int
divergence_join(struct divergence *to, const struct divergence *from, struct err *e)
{
	const size_t n = (size_t)(to->count + from->count), bytes = (size_t)from->count * sizeof *to->kl;
	size_t i;

	if (from->count == 0)
		return 0;
	if (mem_grow(&to->kl, &to->kl_cap, n, sizeof *to->kl) < 0 ||
	    mem_grow(&to->dp, &to->dp_cap, n, sizeof *to->dp) < 0)
		return err_memory(e);
	memcpy(to->kl + to->count, from->kl, bytes);
	memcpy(to->dp + to->count, from->dp, bytes);
	to->count = n;
	to->same_top += from->same_top;
	for (i = 0; i < 2; i++) {
		to->nll[i] += from->nll[i];
		to->nll_squares[i] += from->nll_squares[i];
	}
	to->nll_product += from->nll_product;
	to->kl_sum += from->kl_sum;
	to->kl_squares += from->kl_squares;
	to->dp_sum += from->dp_sum;
	to->dp_squares += from->dp_squares;
	to->dp_fourths += from->dp_fourths;
	return 0;
}

void
divergence_free(struct divergence *d)
{
	free(d->kl);
	free(d->dp);
	*d = (struct divergence){ 0 };
}

/* ---- figures ---- */

static double
root(double v)
{
	return v > 0 ? sqrt(v) : 0;
}

static struct estimate
mean_of(double sum, double squares, uint64_t count)
{
	const double n = (double)count, mean = sum / n;

	return (struct estimate){ mean,
		count > 1 ? root((squares / n - mean * mean) / (n - 1)) : 0 };
}

static int
by_value(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Between two values, the quantile lies on the line between them. */
static void
quantiles(float *v, uint64_t n, double *to)
{
	size_t i, at;
	float p;

	qsort(v, n, sizeof *v, by_value);
	for (i = 0; i < DIVERGENCE_QUANTILES; i++) {
		p = divergence_shares[i] * (float)(n - 1);
		at = (size_t)p < n - 1 ? (size_t)p : n - 1;
		p -= (float)at;
		to[i] = (double)((1 - p) * v[at] + p * v[at + 1 < n ? at + 1 : at]);
	}
}

/* Perplexities, and how they compare. */
static void
perplexities(const struct divergence *d, struct divergence_figures *f)
{
	const double n = (double)d->count;
	struct estimate q = mean_of(d->nll[0], d->nll_squares[0], d->count);
	struct estimate p = mean_of(d->nll[1], d->nll_squares[1], d->count);
	double both = d->count > 1 ? (d->nll_product / n - q.value * p.value) / (n - 1) : 0;

	f->perplexity = (struct estimate){ exp(q.value), exp(q.value) * q.error };
	f->base = (struct estimate){ exp(p.value), exp(p.value) * p.error };
	f->correlation = q.error > 0 && p.error > 0 ? both / (q.error * p.error) : 0;
	f->ln_ratio.value = q.value - p.value;
	f->ln_ratio.error = root(q.error * q.error + p.error * p.error - 2 * both);
	f->ratio.value = exp(f->ln_ratio.value);
	f->ratio.error = f->ratio.value * f->ln_ratio.error;
	f->difference.value = f->perplexity.value - f->base.value;
	f->difference.error = root(f->perplexity.error * f->perplexity.error +
	                           f->base.error * f->base.error -
	                           2 * f->perplexity.value * f->base.value * both);
}

void
divergence_figures(struct divergence *d, struct divergence_figures *f)
{
	const double n = (double)d->count;

	memset(f, 0, sizeof *f);
	f->count = d->count;
	if (d->count == 0)
		return;
	perplexities(d, f);
	f->kl = mean_of(d->kl_sum, d->kl_squares, d->count);
	f->dp = mean_of(d->dp_sum, d->dp_squares, d->count);
	f->dp_rms = mean_of(d->dp_squares, d->dp_fourths, d->count);
	f->dp_rms.value = root(f->dp_rms.value);
	f->dp_rms.error = f->dp_rms.value > 0 ? f->dp_rms.error / (2 * f->dp_rms.value) : 0;
	f->same_top.value = (double)d->same_top / n;
	f->same_top.error = d->count > 1
		? root(f->same_top.value * (1 - f->same_top.value) / (n - 1)) : 0;
	quantiles(d->kl, d->count, f->kl_quantile);
	quantiles(d->dp, d->count, f->dp_quantile);
}

/* ---- two models ---- */

struct pair {
	struct divergence *d;
	const uint32_t *tokens;
	size_t vocabulary, first; /* the first position in base */
	float *base;              /* logits of some positions */
};

static int
keep(void *ctx, size_t position, const float *logits, struct err *e)
{
	const struct pair *p = ctx;

	(void)e;
	memcpy(p->base + (position - p->first) * p->vocabulary, logits,
	       p->vocabulary * sizeof *logits);
	return 0;
}

static int
compare(void *ctx, size_t position, const float *logits, struct err *e)
{
	const struct pair *p = ctx;

	return divergence_add(p->d, p->base + (position - p->first) * p->vocabulary, logits,
	                      p->vocabulary, p->tokens[position + 1], e);
}

static int
same_vocabulary(const struct infer *model, const char *base, size_t n, struct err *e)
{
	if (n == infer_vocabulary(model))
		return 0;
	return err_set(e, ERR_INVALID, infer_name(model), "has a vocabulary of %zu tokens, %s one of "
	               "%zu", infer_vocabulary(model), base, n);
}

/* Where the logits of the base come from: the sequence if there is one, which may be kept, or
 * those that were kept, from *at on. */
struct from {
	struct sequence *base;
	struct divergence_kept *kept; /* or NULL */
	uint64_t *at;
};

/* The logits of count positions of the base from p->first on. */
static int
base_logits(const struct from *f, struct pair *p, size_t count, struct err *e)
{
	const size_t bytes = count * p->vocabulary * sizeof *p->base;

	if (!f->base) {
		*f->at += bytes;
		return spool_get(&f->kept->logits, *f->at - bytes, p->base, bytes, e);
	}
	if (sequence_eval(f->base, p->first, p->tokens + p->first, count, SEQUENCE_ALL, keep, p, e) < 0)
		return -1;
	return f->kept ? spool_put(&f->kept->logits, p->base, bytes, e) : 0;
}

static int
add_positions(struct divergence *d, const struct from *f, struct sequence *model,
              const uint32_t *tokens, size_t n, size_t first, struct err *e)
{
	const struct infer *m = sequence_model(model);
	struct pair p = { .d = d, .tokens = tokens, .vocabulary = infer_vocabulary(m),
		.first = first };
	size_t step = ROOM / p.vocabulary + 1, count = infer_batch(m);
	int done = 0;

	step = step < count ? step : count;
	if (!(p.base = mem_array(step * p.vocabulary, sizeof *p.base)))
		return err_memory(e);
	for (; done == 0 && p.first + 1 < n; p.first += step) {
		count = n - 1 - p.first < step ? n - 1 - p.first : step;
		done = base_logits(f, &p, count, e);
		if (done == 0)
			done = sequence_eval(model, p.first, tokens + p.first, count,
			                     SEQUENCE_ALL, compare, &p, e);
	}
	free(p.base);
	return done;
}

int
divergence_pair(struct divergence *d, struct sequence *base, struct sequence *model,
                const uint32_t *tokens, size_t n, size_t first, struct err *e)
{
	const struct infer *b = sequence_model(base);

	if (same_vocabulary(sequence_model(model), infer_name(b), infer_vocabulary(b), e) < 0)
		return -1;
	return add_positions(d, &(struct from){ .base = base }, model, tokens, n, first, e);
}

static int
add_part(struct divergence *d, const struct from *f, struct sequence *model,
         const struct parts *parts, uint64_t i, struct err *e)
{
	if ((f->base && parts_head(parts, i, f->base, e) < 0) || parts_head(parts, i, model, e) < 0)
		return -1;
	return add_positions(d, f, model, parts_tokens(parts, i), parts->context, parts->first, e);
}

int
divergence_text(struct divergence *d, struct sequence *base, struct sequence *model,
                const struct tokenizer *tokenizer, const struct tokens *text,
                void (*part)(void *ctx, uint64_t done, uint64_t all), void *ctx,
                struct err *e)
{
	const struct infer *m = sequence_model(model), *b = sequence_model(base);
	struct parts parts;
	uint64_t i;

	if (parts_begin(&parts, infer_context(m), tokenizer, text, e) < 0 ||
	    same_vocabulary(m, infer_name(b), infer_vocabulary(b), e) < 0)
		return -1;
	for (i = 0; i < parts.count; i++) {
		if (add_part(d, &(struct from){ .base = base }, model, &parts, i, e) < 0)
			return -1;
		if (part)
			part(ctx, i + 1, parts.count);
	}
	return 0;
}

/* ---- several models ---- */

/* True if the logits of all positions that count take at most kept->most bytes. */
static bool
fits(const struct divergence_kept *kept, const struct parts *parts)
{
	uint64_t bytes;

	return num_mul(parts->count, parts->context - 1 - parts->first, &bytes) == 0 &&
	       num_mul(bytes, kept->vocabulary * sizeof(float), &bytes) == 0 && bytes <= kept->most;
}

int
divergence_again(struct divergence *d, struct divergence_kept *kept, struct sequence *base,
                 struct sequence *model, const struct tokenizer *tokenizer,
                 const struct tokens *text, struct err *e)
{
	const struct infer *m = sequence_model(model);
	struct parts parts;
	uint64_t at = 0, i;
	struct from f = { .base = kept->whole ? NULL : base, .at = &at };

	if (f.base)
		kept->vocabulary = infer_vocabulary(sequence_model(base));
	if (parts_begin(&parts, infer_context(m), tokenizer, text, e) < 0 ||
	    same_vocabulary(m, "the base", kept->vocabulary, e) < 0)
		return -1;
	f.kept = fits(kept, &parts) ? kept : NULL;
	for (i = 0; i < parts.count; i++)
		if (add_part(d, &f, model, &parts, i, e) < 0)
			return -1;
	kept->whole = f.kept != NULL;
	return 0;
}

void
divergence_kept_free(struct divergence_kept *kept)
{
	spool_free(&kept->logits);
	*kept = (struct divergence_kept){ .most = kept->most };
}
