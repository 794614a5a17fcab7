/* The search that is the same at every level of the CPU, since it takes one number after
 * another. */
#include "kernels/common/search.h"

float
squares(const float *x, size_t n)
{
	float sum = 0, v;
	size_t i;

	for (i = 0; i < n; i++) {
		v = number(x[i]);
		sum += v * v;
	}
	return sum;
}

/* ---- steps ---- */

/* The weighted squared error with scale 1 / inverse. */
static float
steps_error(const float *x, const float *w, int n, int most, float inverse)
{
	float scale = 1 / inverse, error = 0, e;
	int code, i;

	for (i = 0; i < n; i++) {
		code = nearest_int(inverse * x[i]);
		code = code < most ? code : most;
		e = x[i] - scale * (float)code;
		error += w[i] * e * e;
	}
	return error;
}

/* Weighted products of value and code, and of code and code: the best scale for
 * the codes, xc / cc, saves xc² / cc of the squared error. */
struct steps {
	float xc, cc;
};

/* Change one code to the best at the scale that the other codes give, where that
 * saves more. Returns true if it changed. */
static bool
steps_improve(struct steps *s, float x, float w, int most, uint8_t *code)
{
	float xc = s->xc - w * x * (float)*code;
	float cc = s->cc - w * (float)*code * (float)*code;
	int better;

	if (!(xc > 0) || !(cc > 0))
		return false;
	better = nearest_int(x * cc / xc);
	better = better < most ? better : most;
	if (better == *code)
		return false;
	xc += w * x * (float)better;
	cc += w * (float)better * (float)better;
	if (!(xc * xc * s->cc > s->xc * s->xc * cc))
		return false;
	*code = (uint8_t)better;
	s->xc = xc;
	s->cc = cc;
	return true;
}

float
search_steps(const float *x, const float *w, int n, int most, uint8_t *code)
{
	float best, error, inverse, top = 0, tried;
	struct steps s = { 0, 0 };
	int i, pass, step;
	bool changed;

	memset(code, 0, (size_t)n);
	for (i = 0; i < n; i++)
		top = x[i] > top ? x[i] : top;
	if (top < SILENT)
		return 0;

	/* Nine scales around the one that makes the largest value code most. */
	inverse = (float)most / top;
	best = steps_error(x, w, n, most, inverse);
	for (step = -4; step <= 4; step++) {
		tried = (0.1f * (float)step + (float)most) / top;
		error = step == 0 ? best : steps_error(x, w, n, most, tried);
		if (error < best) {
			best = error;
			inverse = tried;
		}
	}

	/* From there, code by code, until a pass changes none. */
	for (i = 0; i < n; i++) {
		step = nearest_int(inverse * x[i]);
		step = step < most ? step : most;
		code[i] = (uint8_t)step;
		s.xc += w[i] * x[i] * (float)step;
		s.cc += w[i] * (float)step * (float)step;
	}
	for (pass = 0, changed = true; pass < 5 && changed; pass++) {
		changed = false;
		for (i = 0; i < n; i++)
			changed |= steps_improve(&s, x[i], w[i], most, &code[i]);
	}
	return s.cc > 0 ? s.xc / s.cc : 0;
}
