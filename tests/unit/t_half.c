/* half: every pattern, every tie, against arithmetic in double. */
#include "core/half.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "test.h"

/* A small binary format: p bits of precision with the hidden one, exponents
 * from least (of the smallest normal) to most. */
struct form {
	const char *name;
	int p, least, most;
	uint16_t (*narrow)(float);
	float (*widen)(uint16_t);
};

static const struct form forms[] = {
	{ "F16", 11, -14, 15, half_f32_f16, half_f16_f32 },
	{ "BF16", 8, -126, 127, half_f32_bf16, half_bf16_f32 },
};

static float
from_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

static uint32_t
to_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return u;
}

/* The value of a pattern, by the definition of the format. */
static double
value_of(const struct form *f, uint16_t h)
{
	int fraction = h & ((1 << (f->p - 1)) - 1);
	int exponent = (h & 0x7fff) >> (f->p - 1);
	int top = f->most - f->least + 2;
	double v;

	if (exponent == top)
		v = fraction ? (double)NAN : (double)INFINITY;
	else if (exponent == 0)
		v = ldexp(fraction, f->least - f->p + 1);
	else
		v = ldexp(fraction + (1 << (f->p - 1)), exponent - 1 + f->least - f->p + 1);
	return h & 0x8000 ? -v : v;
}

/* The nearest pattern of a value that is not NaN, by scaling and nearbyint. */
static uint16_t
pattern_of(const struct form *f, float v)
{
	double a = fabs((double)v), steps;
	int exponent, fraction_bits = f->p - 1;
	uint16_t sign = signbit(v) ? 0x8000 : 0;
	int top = f->most - f->least + 2;

	if (isinf(v))
		return (uint16_t)(sign | top << fraction_bits);
	frexp(a, &exponent);
	exponent = a == 0 || exponent - 1 < f->least ? f->least : exponent - 1;
	steps = nearbyint(ldexp(a, fraction_bits - exponent));

	/* Steps beyond 2^p carry into the exponent, and from the last one into
	 * infinity, by the order of the patterns. */
	steps += ldexp(exponent - f->least, fraction_bits);
	if (steps > ldexp(top, fraction_bits))
		steps = ldexp(top, fraction_bits);
	return (uint16_t)(sign | (uint16_t)steps);
}

static bool
widens(const struct form *f)
{
	double want, got;
	unsigned h;

	for (h = 0; h < 65536; h++) {
		want = value_of(f, (uint16_t)h);
		got = (double)f->widen((uint16_t)h);
		if (isnan(want) ? !isnan(got) : want != got || !signbit(want) != !signbit(got))
			return false;
	}
	return true;
}

static bool
returns(const struct form *f)
{
	unsigned h;

	for (h = 0; h < 65536; h++)
		if (!isnan(value_of(f, (uint16_t)h)) && f->narrow(f->widen((uint16_t)h)) != h)
			return false;
	return true;
}

static bool
narrow_is_right(const struct form *f, uint32_t bits)
{
	float v = from_bits(bits);

	return isnan(v) || f->narrow(v) == pattern_of(f, v);
}

/* The middle between each pattern and the next, and the floats beside it. */
static bool
ties_to_even(const struct form *f)
{
	unsigned h, sign;
	float middle;
	uint32_t u;

	for (sign = 0; sign < 2; sign++) {
		for (h = 0; h < 0x7fff; h++) {
			double a = value_of(f, (uint16_t)h), b = value_of(f, (uint16_t)(h + 1));

			if (isnan(a) || isnan(b) || isinf(a))
				continue;
			if (isinf(b))
				b = ldexp(1, f->most + 1);
			middle = (float)((a + b) / 2);
			if (isinf(middle))
				middle = FLT_MAX;
			u = to_bits(middle) | sign << 31;
			if (!narrow_is_right(f, u) || !narrow_is_right(f, u + 1) ||
			    ((u & 0x7fffffff) && !narrow_is_right(f, u - 1)))
				return false;
		}
	}
	return true;
}

static bool
narrows_anything(const struct form *f)
{
	uint64_t u;

	for (u = 0; u <= UINT32_MAX; u += 4919)
		if (!narrow_is_right(f, (uint32_t)u))
			return false;
	return true;
}

static bool
nan_stays(const struct form *f, bool one_pattern)
{
	uint32_t payload, u;
	uint16_t h;
	int sign;

	for (sign = 0; sign < 2; sign++) {
		for (payload = 1; payload < 0x800000; payload += 97) {
			u = (uint32_t)sign << 31 | 0x7f800000u | payload;
			h = f->narrow(from_bits(u));
			if (!isnan(value_of(f, h)) || h >> 15 != sign)
				return false;
			if (one_pattern && (h & 0x7fff) != 0x7e00)
				return false;
			if (!one_pattern && h != (u >> 16 | 0x40))
				return false;
		}
	}
	return true;
}

static void
known_values(void)
{
	test_ok(half_f32_f16(65504.0f) == 0x7bff, "F16: the largest value");
	test_ok(half_f32_f16(65519.996f) == 0x7bff, "F16: below 65520 rounds down");
	test_ok(half_f32_f16(65520.0f) == 0x7c00, "F16: 65520 becomes infinite");
	test_ok(half_f32_f16(-1e10f) == 0xfc00, "F16: -1e10 becomes -infinite");
	test_ok(half_f32_f16(0x1p-24f) == 1, "F16: the least subnormal");
	test_ok(half_f32_f16(0x1p-25f) == 0, "F16: half of it is a tie to zero");
	test_ok(half_f32_f16(-0.0f) == 0x8000, "F16: -0 keeps its sign");
	test_ok(half_f32_f16(FLT_TRUE_MIN) == 0, "F16: float subnormals become zero");
	test_ok(half_f32_bf16(FLT_MAX) == 0x7f80, "BF16: FLT_MAX rounds to infinite");
	test_ok(half_f32_bf16(FLT_TRUE_MIN) == 0, "BF16: the least float becomes zero");
	test_ok(half_f32_bf16(1.0f + 0x1p-8f) == 0x3f80, "BF16: a tie goes to even");
}

static bool
f16_nan_is_quieted(void)
{
	unsigned h;

	for (h = 0x7c01; h < 0x7e00; h++)
		if (to_bits(half_f16_f32((uint16_t)h)) != (0x7fc00000u | (h & 0x3ff) << 13))
			return false;
	return true;
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		const struct form *f = &forms[i];

		test_ok(widens(f), "%s: 65536 patterns widen to their value", f->name);
		test_ok(returns(f), "%s: 65536 patterns come back", f->name);
		test_ok(ties_to_even(f), "%s: ties go to even, neighbours to the nearer",
		        f->name);
		test_ok(narrows_anything(f), "%s: floats over the whole range", f->name);
		test_ok(nan_stays(f, i == 0), "%s: NaN stays a quiet NaN", f->name);
	}
	test_ok(f16_nan_is_quieted(), "F16: signalling NaN widens to a quiet one");
	known_values();
	return test_done();
}
