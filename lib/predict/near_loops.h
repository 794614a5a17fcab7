/* near_loops: the function of near.h, for the instructions that a file is compiled for. */
#include "predict/near.h"

typedef double near_lanes __attribute__((vector_size(NEAR_LANES * sizeof(double)), aligned(8), may_alias));

static void
near_squares(const double *t, size_t n, const double *q, double *to)
{
	near_lanes a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	size_t i;

	for (i = 0; i < n; i++, t++, q += NEAR_LANES) {
		const near_lanes x = *(const near_lanes *)q;
		const near_lanes e = x - t[0], f = x - t[n], g = x - t[2 * n], h = x - t[3 * n];

		a += e * e;
		b += f * f;
		c += g * g;
		d += h * h;
	}
	*(near_lanes *)to = a;
	*(near_lanes *)(to + NEAR_LANES) = b;
	*(near_lanes *)(to + 2 * NEAR_LANES) = c;
	*(near_lanes *)(to + 3 * NEAR_LANES) = d;
}
