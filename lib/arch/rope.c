#include "arch/rope.h"

#include <math.h>

#define PI 3.14159265358979323846

/* The pair that turns that many times in the original context. */
static double
pair_of_turns(const struct rope *r, double turns)
{
	return (double)r->rot * log(r->original / (turns * 2 * PI)) / (2 * log(r->base));
}

/* The share of its own frequency that a pair keeps in yarn: 1 for fast pairs, 0 for slow ones. */
static double
kept(const struct rope *r, size_t i)
{
	double first = fmax(0, floor(pair_of_turns(r, r->fast)));
	double last = fmin((double)r->rot - 1, ceil(pair_of_turns(r, r->slow)));
	double t = ((double)i - first) / fmax(0.001, last - first);

	return 1 - fmin(1, fmax(0, t));
}

double
rope_yarn_length(double factor)
{
	return factor > 1 ? 1 + 0.1 * log(factor) : 1;
}

void
rope_llama3(const struct rope *r, double factor, double low, double high,
            double original, float *factors)
{
	size_t i;

	for (i = 0; i < r->rot / 2; i++) {
		double f = pow(r->base, -2.0 * (double)i / (double)r->rot);
		double turns = original * f / (2 * PI);
		double smooth = (turns - low) / (high - low);

		if (turns >= high)
			factors[i] = 1;
		else if (turns <= low)
			factors[i] = (float)factor;
		else
			factors[i] = (float)(1 / ((1 - smooth) / factor + smooth));
	}
}

void
rope_turns(const struct rope *r, double position, float step, float *angles)
{
	float own = (float)position, shrink = (float)(1 / r->factor);
	size_t i;

	for (i = 0; i < r->rot / 2; i++, own *= step) {
		float angle = r->factors ? own / r->factors[i] : own;

		if (r->yarn) {
			float k = (float)(kept(r, i) * r->extrapolation);

			angle = angle * shrink * (1 - k) + angle * k;
		} else {
			angle *= shrink;
		}
		angles[i] = angle;
	}
}

/* In double precision, so that libraries of mathematics agree on the rounded result. */
void
rope_angles(const struct rope *r, double position, float *cosines, float *sines)
{
	float length = (float)r->length, angle;
	size_t i;

	rope_turns(r, position, powf((float)r->base, -2 / (float)r->rot), cosines);
	for (i = 0; i < r->rot / 2; i++) {
		angle = cosines[i];
		cosines[i] = (float)cos((double)angle) * length;
		sines[i] = (float)sin((double)angle) * length;
	}
}
