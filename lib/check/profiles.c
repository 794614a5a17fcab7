/* profiles: how profiles correlate, and those of embeddings and head. */
#include <math.h>

#include "check/values_parts.h"
#include "core/half.h"

double
values_correlation(const float *a, const float *b, size_t n, size_t *used)
{
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0, count = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		double u = (double)a[i], v = (double)b[i];

		if (!isfinite(u) || !isfinite(v))
			continue;
		count++;
		x += u;
		y += v;
		xx += u * u;
		yy += v * v;
		xy += u * v;
	}
	*used = (size_t)count;
	if (count < 8)
		return 0;
	xx -= x * x / count;
	yy -= y * y / count;
	xy -= x * y / count;
	return xx > 1e-9 && yy > 1e-9 ? xy / sqrt(xx * yy) : 0;
}

double
values_product(const float *a, const float *b, size_t n)
{
	double lane[8] = { 0 };
	size_t i, j;

	for (i = 0; i + 8 <= n; i += 8)
		for (j = 0; j < 8; j++)
			lane[j] += (double)a[i + j] * (double)b[i + j];
	for (; i < n; i++)
		lane[i % 8] += (double)a[i] * (double)b[i];
	return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
	       ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

double
values_sureness(double r, size_t n)
{
	r = r > 0.999 ? 0.999 : r < -0.999 ? -0.999 : r;
	return n > 3 ? atanh(r) * sqrt((double)n - 3) : 0;
}

/* The spread of lines of n independent values of a normal distribution, in octaves: the mean
 * magnitude has a relative deviation of 0.7555 over the root of n. */
static double
chance(uint64_t n)
{
	return 0.7555 * 1.4427 / sqrt((double)(n ? n : 1));
}

/* Tokens are not equally frequent, so their rows differ. */
static void
judge_rows(const struct survey_tensor *t, struct findings *f)
{
	const struct look_lines *r = &t->look->rows, *c = &t->look->columns;

	if (tensor_ndim(t->t) != 2 || r->count < 64 || c->count < 16)
		return;
	if (r->spread < 1.6 * chance(c->count) && c->spread > 4 * chance(r->count) &&
	    c->spread > 1.2 * r->spread)
		findings_add(f, &values_rules[VALUES_TOKENS], tensor_name(t->t),
		             "rows differ as by chance (by %.3f octaves), columns do not (%.3f): the "
		             "matrix looks transposed", r->spread, c->spread);
}

static size_t
logs_of(const struct look_lines *l, float *to)
{
	size_t i;

	for (i = 0; i < l->entries; i++)
		to[i] = (float)log2((double)half_bf16_f32(l->profile[i]));
	return l->entries;
}

static bool
has_tokens(const struct survey_tensor *t)
{
	return t->look->rows.spread > 1.5 * chance(t->look->columns.count);
}

void
values_tokens(const struct survey *s, struct findings *f)
{
	const struct survey_tensor *embed = NULL, *out = NULL;
	float a[LOOK_ENTRIES], b[LOOK_ENTRIES];
	size_t i, n, used;
	double r;

	for (i = 0; i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];

		if (!t->look || !(values_is(t, ROLE_EMBED) || values_is(t, ROLE_OUT)))
			continue;
		judge_rows(t, f);
		*(values_is(t, ROLE_EMBED) ? &embed : &out) = t;
	}
	if (!embed || !out || embed->look->rows.count != out->look->rows.count)
		return;
	n = logs_of(&embed->look->rows, a);
	logs_of(&out->look->rows, b);
	r = values_correlation(a, b, n, &used);
	if (used >= 256 && fabs(values_sureness(r, used)) < 4 &&
	    (has_tokens(embed) || has_tokens(out)))
		findings_add(f, &values_rules[VALUES_TOKENS], tensor_name(out->t),
		             "rows of tokens differ much, and do not fit those of %s (correlation %.2f)",
		             tensor_name(embed->t), r);
}
