/* exponential: e^x of each value of a vector, and the larger of each pair. The file that includes
 * this defines FLOATS, WHOLES and BITS: vectors of float, int32_t and uint32_t of one size. Vectors
 * go by address, since the way to pass them by value depends on the level.
 */

/* e^x for x <= 88: 2^n × e^r with n whole and r between -ln 2 / 2 and ln 2 / 2, by the series of
 * e^r; zero below e^-87. The error is within 2 × 2^-23 of e^x. */
static inline __attribute__((always_inline)) void
exponential(FLOATS *x)
{
	const float big = 0x1.8p23f; /* its last bit counts ones */
	FLOATS n = *x * 0x1.715476p0f + big, r, y;
	BITS two = ((BITS)n - 0x4b400000 + 127) << 23; /* any, where the result is zero or NaN */
	WHOLES none = *x < -87.0f;

	n -= big;
	r = *x - n * 0x1.62e4p-1f;     /* ln 2, in two parts; the first has few bits */
	r = r - n * 0x1.7f7d1cp-20f;
	y = r * (1.0f / 5040) + 1.0f / 720;
	y = y * r + 1.0f / 120;
	y = y * r + 1.0f / 24;
	y = y * r + 1.0f / 6;
	y = y * r + 0.5f;
	y = y * r + 1.0f;
	y = y * r + 1.0f;
	y *= (FLOATS)two;
	*x = (FLOATS)((WHOLES)y & ~none);
}

static inline __attribute__((always_inline)) void
keep_larger(FLOATS *most, const FLOATS *x)
{
	WHOLES larger = *x > *most;

	*most = (FLOATS)(((WHOLES)*x & larger) | ((WHOLES)*most & ~larger));
}

#undef FLOATS
#undef WHOLES
#undef BITS
