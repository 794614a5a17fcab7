#include "merge/angle.h"

#include <math.h>
#include <string.h>

/* ---- functions of angles ----
 *
 * Own ones, because those of the C library may differ in the last bit from CPU to CPU. The error
 * is a few units of the last place. */

#define HALF_PI 0x1.921fb54442d18p0
#define HALF_PI_REST 0x1.1a62633145c07p-54

/* Taylor's series of sin (odd) or cos for |x| up to pi/4. */
static double
series(double x, bool odd)
{
	double square = x * x, sum = 0;
	int i;

	for (i = odd ? 21 : 20; i > 1; i -= 2)
		sum = (sum + 1) * -square / ((double)i * (i - 1));
	return odd ? x * (sum + 1) : sum + 1;
}

/* sin x, or cos x for quarter 1. */
static double
sine(double x, int quarter)
{
	double k = floor(x / HALF_PI + 0.5), rest = (x - k * HALF_PI) - k * HALF_PI_REST;
	int turn = ((int)fmod(k, 4) + quarter + 4) % 4;
	double y = series(rest, turn % 2 == 0);

	return turn < 2 ? y : -y;
}

/* The angle whose tangent is x >= 0. */
static double
arc(double x)
{
	double square, sum = 0;
	int i;

	if (x > 1)
		return HALF_PI - arc(1 / x);
	for (i = 0; i < 3; i++)
		x /= 1 + sqrt(1 + x * x);
	square = x * x;
	for (i = 23; i > 0; i -= 2)
		sum = 1.0 / i - square * sum;
	return 8 * x * sum;
}

static double
arc_cosine(double c)
{
	return c <= -1 ? 2 * HALF_PI : 2 * arc(sqrt((1 - c) / (1 + c)));
}

/* ---- products ---- */

static double
limit(double c)
{
	return c < -1 ? -1 : c > 1 ? 1 : c;
}

/* The product of two sums of the vectors. */
static double
product(const double *gram, size_t n, const double *a, const double *b)
{
	double sum = 0;
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			sum += a[i] * b[k] * gram[i * n + k];
	return sum;
}

static double
length(const double *gram, size_t n, const double *a)
{
	double square = product(gram, n, a, a);

	return square > 0 ? sqrt(square) : 0;
}

void
angle_slerp(const double *gram, double t, double straight, double *to)
{
	double lengths = sqrt(gram[0]) * sqrt(gram[3]), c, a, s;

	to[0] = 1 - t;
	to[1] = t;
	if (!(lengths > 0))
		return;
	c = limit(gram[1] / lengths);
	a = arc_cosine(c);
	s = sine(a, 0);
	if (fabs(s) < 1e-8 || fabs(c) > straight)
		return;
	to[0] = sine((1 - t) * a, 0) / s;
	to[1] = sine(t * a, 0) / s;
}

void
angle_stock(const double *gram, size_t n, double *to)
{
	double sum = 0, c, share;
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = i + 1; k < n; k++) {
			double lengths = sqrt(gram[i * n + i]) * sqrt(gram[k * n + k]);

			sum += lengths > 0 ? limit(gram[i * n + k] / lengths) : 0;
		}
	c = sum / ((double)n * (double)(n - 1) / 2);
	share = 1 + ((double)n - 1) * c;
	share = share != 0 ? (double)n * c / share : 0;
	for (i = 0; i < n; i++)
		to[i] = share / (double)n;
}

/* ---- means of many ---- */

/* Add to step the way from u to vector i of this length along the sphere, times a. */
static void
add_way(const double *gram, size_t n, const double *u, size_t i, double norm, double a,
        double tol, double *step)
{
	double unit[ANGLE_MODELS] = { 0 }, c, way;
	size_t k;

	unit[i] = 1 / norm;
	c = limit(product(gram, n, u, unit));
	way = arc_cosine(c);
	if (way < tol || sine(way, 0) == 0)
		return;
	for (k = 0; k < n; k++)
		step[k] += a * (way / sine(way, 0)) * (unit[k] - c * u[k]);
}

/* Move u along a step, and give it length 1. */
static void
move(const double *gram, size_t n, double *u, const double *step, double by)
{
	double norm;
	size_t k;

	for (k = 0; k < n; k++)
		u[k] = sine(by, 1) * u[k] + sine(by, 0) * (step[k] / by);
	norm = length(gram, n, u);
	for (k = 0; k < n && norm > 0; k++)
		u[k] /= norm;
}

void
angle_karcher(const double *gram, size_t n, unsigned steps, double tol, double *to)
{
	double norm[ANGLE_MODELS], step[ANGLE_MODELS], mean = 0, by;
	size_t i, valid = 0, first = n;

	for (i = 0; i < n; i++) {
		norm[i] = sqrt(gram[i * n + i]);
		mean += norm[i] / (double)n;
		if (norm[i] > tol && valid++ == 0)
			first = i;
	}
	memset(to, 0, n * sizeof *to);
	if (valid == 0)
		return;
	for (i = 0; i < n; i++)
		to[i] = norm[i] > tol ? 1 / norm[i] / (double)valid : 0;
	by = length(gram, n, to);
	for (i = 0; i < n; i++)
		to[i] = by < tol ? (i == first) / norm[first] : to[i] / by;
	while (steps-- > 0) {
		memset(step, 0, n * sizeof *step);
		for (i = 0; i < n; i++)
			if (norm[i] > tol)
				add_way(gram, n, to, i, norm[i], 1 / (double)valid, tol, step);
		by = length(gram, n, step);
		if (by < tol)
			break;
		move(gram, n, to, step, by);
	}
	for (i = 0; i < n; i++)
		to[i] *= mean;
}

bool
angle_multislerp(const double *gram, size_t n, const double *weight, double eps, double *to)
{
	double unit[ANGLE_MODELS], mean[ANGLE_MODELS] = { 0 }, step[ANGLE_MODELS] = { 0 };
	double norm, by, size = 0;
	size_t i, k;

	for (i = 0; i < n; i++) {
		unit[i] = 1 / (sqrt(gram[i * n + i]) + eps);
		mean[i] = weight[i] * unit[i];
		size += weight[i] * sqrt(gram[i * n + i]);
	}
	norm = length(gram, n, mean);
	if (norm < eps) {
		memcpy(to, weight, n * sizeof *to);
		return n == 2;
	}
	for (i = 0; i < n; i++)
		mean[i] /= norm;
	for (i = 0; i < n; i++) {
		double one[ANGLE_MODELS] = { 0 }, c;

		one[i] = unit[i];
		c = product(gram, n, one, mean);
		for (k = 0; k < n; k++)
			step[k] += weight[i] * (one[k] - c * mean[k]);
	}
	by = length(gram, n, step) + eps;
	for (i = 0; i < n; i++)
		to[i] = size * (mean[i] * sine(by, 1) + step[i] * (sine(by, 0) / by));
	return true;
}
