/* exponential: e^x of each value of a vector, and the larger of each pair. The file that includes
 * this defines FLOATS, WHOLES and BITS: vectors of float, int32_t and uint32_t of one size. It may
 * define the fused x × y + z of vectors (FMA). Vectors go by address, since the way to pass them
 * by value depends on the level.
 */
#ifndef FMA
#define FMA(x, y, z) ((x) * (y) + (z))
#endif

/* A vector of this number; less zero, it keeps its sign. */
#define EVERY(x) ((x) - (FLOATS){ 0 })

/* e^x for x <= 88: 2^n × e^r with n whole and r between -ln 2 / 2 and ln 2 / 2, by the series of
 * e^r; zero below e^-87. The error is within 2 × 2^-23 of e^x. */
static inline __attribute__((always_inline)) void
exponential(FLOATS *x)
{
	const float big = 0x1.8p23f; /* its last bit counts ones */
	FLOATS n = FMA(*x, EVERY(0x1.715476p0f), EVERY(big)), r, y;
	BITS two = ((BITS)n - 0x4b400000 + 127) << 23; /* any, where the result is zero or NaN */
	WHOLES none = *x < -87.0f;

	n -= big;
	r = FMA(n, EVERY(-0x1.62e4p-1f), *x); /* ln 2, in two parts; the first has few bits */
	r = FMA(n, EVERY(-0x1.7f7d1cp-20f), r);
	y = FMA(r, EVERY(1.0f / 5040), EVERY(1.0f / 720));
	y = FMA(y, r, EVERY(1.0f / 120));
	y = FMA(y, r, EVERY(1.0f / 24));
	y = FMA(y, r, EVERY(1.0f / 6));
	y = FMA(y, r, EVERY(0.5f));
	y = FMA(y, r, EVERY(1.0f));
	y = FMA(y, r, EVERY(1.0f));
	y *= (FLOATS)two;
	*x = (FLOATS)((WHOLES)y & ~none);
}

static inline __attribute__((always_inline)) void
keep_larger(FLOATS *most, const FLOATS *x)
{
	WHOLES larger = *x > *most;

	*most = (FLOATS)(((WHOLES)*x & larger) | ((WHOLES)*most & ~larger));
}

#undef EVERY
#undef FLOATS
#undef WHOLES
#undef BITS
