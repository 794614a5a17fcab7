/* math: what the small module has instead of functions of libc that need large tables. A check takes logarithms
 * and powers of statistics, and keeps them as floats; these are correct to some 1e-15.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LN2_HIGH 0x1.62e42feep-1 // 32 bits, so that products with exponents are exact
#define LN2_LOW 0x1.a39ef35793c76p-33

/* log(m) for m from sqrt(1/2) to sqrt(2): 2 atanh(s), by the series of odd powers. */
static double
log_near_1(double m)
{
	double s = (m - 1) / (m + 1), square = s * s, sum = 0;
	int k;

	for (k = 23; k > 0; k -= 2)
		sum = sum * square + 1.0 / k;
	return 2 * s * sum;
}

/* Returns x / 2^e, which is near 1, for x > 0. */
static double
split(double x, int *e)
{
	double m = frexp(x, e);

	if (m >= M_SQRT1_2)
		return m;
	--*e;
	return 2 * m;
}

static bool
has_log(double x)
{
	return x > 0 && x < HUGE_VAL;
}

/* The logarithm of what has none that is finite. */
static double
no_log(double x)
{
	return x < 0 ? NAN : x == 0 ? -HUGE_VAL : x;
}

double
log(double x)
{
	int e;
	double m;

	if (!has_log(x))
		return no_log(x);
	m = split(x, &e);
	return e * LN2_HIGH + (e * LN2_LOW + log_near_1(m));
}

double
log2(double x)
{
	int e;
	double m;

	if (!has_log(x))
		return no_log(x);
	m = split(x, &e);
	return e + log_near_1(m) * M_LOG2E;
}

/* e^x for x from -745 to 710. */
static double
power_of_e(double x)
{
	double k = floor(x * M_LOG2E + 0.5), rest = (x - k * LN2_HIGH) - k * LN2_LOW, sum = 1;
	int i;

	for (i = 16; i > 0; i--)
		sum = 1 + sum * rest / i;
	return ldexp(sum, (int)k);
}

/* x >= 0, or the result is not a number. */
double
pow(double x, double y)
{
	double by;

	if (y == 0)
		return 1;
	by = y * log(x);
	if (isnan(by))
		return by;
	return by > 710 ? HUGE_VAL : by < -745 ? 0 : power_of_e(by);
}

double
atanh(double x)
{
	return log((1 + x) / (1 - x)) / 2;
}

char *
strstr(const char *text, const char *part)
{
	return memmem(text, strlen(text), part, strlen(part));
}
