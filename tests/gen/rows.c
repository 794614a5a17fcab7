/* rows: encode or decode floats as one of the types that GGML has no rows for.
 * Shares no code with lib/, and is slow and plain instead: every code is tried.
 *
 *	rows TYPE <values.f32 >encoded        TYPE: F8_E4M3 F8_E5M2 Q8_K
 *	rows -d TYPE <encoded >values.f32     Q8_TENSOR APR_Q8 APR_Q4, a tensor at once
 *
 * Made tests/golden/rows/{F8_E4M3,F8_E5M2,Q8_K}.bin from inputs.f32.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char in[1 << 24];
static size_t in_bytes;

static void
die(const char *why)
{
	fprintf(stderr, "rows: %s\n", why);
	exit(1);
}

static void
put(unsigned long v, int bytes)
{
	while (bytes--) {
		putchar((int)(v & 255));
		v >>= 8;
	}
}

static unsigned long
get(size_t at)
{
	return (unsigned long)in[at] | (unsigned long)in[at + 1] << 8 |
	       (unsigned long)in[at + 2] << 16 | (unsigned long)in[at + 3] << 24;
}

static float
get_float(size_t at)
{
	unsigned u = (unsigned)get(at);
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

static void
put_float(float f)
{
	unsigned u;

	memcpy(&u, &f, sizeof u);
	put(u, 4);
}

/* ---- floats of a byte: sign, exponent bits, fraction bits, bias ---- */

struct small {
	const char *name;
	int fraction, bias;
	int first_special; /* the first code that is not a number */
};

static const struct small smalls[] = {
	{ "F8_E4M3", 3, 7, 0x7f },  /* NaN alone */
	{ "F8_E5M2", 2, 15, 0x7c }, /* infinity, then NaNs */
};

/* The number that a code without sign is, or would be if it were none. */
static double
small_value(const struct small *t, int code)
{
	int exponent = code >> t->fraction;
	int fraction = code & ((1 << t->fraction) - 1);

	if (exponent == 0)
		return ldexp(fraction, 1 - t->bias - t->fraction);
	return ldexp(fraction + (1 << t->fraction), exponent - t->bias - t->fraction);
}

/* The nearest of all numbers and the one that would come next, which stands for
 * overflow; the even code of two as near. */
static int
small_code(const struct small *t, float x)
{
	double a = fabs((double)x), best = INFINITY, off;
	int code, found = 0;

	if (isnan(x))
		return 0x7f;
	if (isinf(x))
		return t->first_special;
	for (code = 0; code <= t->first_special; code++) {
		off = fabs(small_value(t, code) - a);
		if (off < best || (off == best && code % 2 == 0)) {
			best = off;
			found = code;
		}
	}
	return found;
}

static void
small_encode(const struct small *t)
{
	size_t i;

	for (i = 0; i < in_bytes; i += 4)
		putchar(small_code(t, get_float(i)) | (signbit(get_float(i)) ? 0x80 : 0));
}

static void
small_decode(const struct small *t)
{
	int code;
	size_t i;
	float f;

	for (i = 0; i < in_bytes; i++) {
		code = in[i] & 0x7f;
		f = (float)small_value(t, code);
		if (code >= t->first_special)
			f = t->first_special == 0x7c && code == 0x7c ? INFINITY : NAN;
		put_float(in[i] & 0x80 ? -f : f);
	}
}

/* ---- Q8_K: float scale, 256 signed bytes, 16 sums of 16 ---- */

static void
q8_k_block(const float *x)
{
	float most = 0, inverse, product;
	int code[256], i, k, sum;

	for (i = 0; i < 256; i++)
		if (fabsf(x[i]) > fabsf(most))
			most = x[i];
	inverse = most != 0 ? -127 / most : 0;
	put_float(most != 0 ? 1 / inverse : 0);
	for (i = 0; i < 256; i++) {
		product = inverse * x[i];
		code[i] = (int)rint(product);
		if (code[i] > 127)
			code[i] = 127;
		put((unsigned long)code[i] & 255, 1);
	}
	for (k = 0; k < 16; k++) {
		for (sum = 0, i = 16 * k; i < 16 * k + 16; i++)
			sum += code[i];
		put((unsigned long)sum & 65535, 2);
	}
}

static void
q8_k_encode(void)
{
	float x[256];
	size_t at, i;

	for (at = 0; at + 1024 <= in_bytes; at += 1024) {
		for (i = 0; i < 256; i++)
			x[i] = get_float(at + 4 * i);
		q8_k_block(x);
	}
}

static void
q8_k_decode(void)
{
	size_t at, i;
	int code;

	for (at = 0; at + 292 <= in_bytes; at += 292) {
		for (i = 0; i < 256; i++) {
			code = in[at + 4 + i];
			put_float(get_float(at) * (float)(code < 128 ? code : code - 256));
		}
	}
}

/* ---- one scale for the whole tensor: a float (and an integer 0), signed bytes ---- */

/* The nearest whole number to x over d, of all from least to most; the greater of
 * two as near. */
static int
nearest_code(float x, float d, int least, int most)
{
	float quotient = x / d;
	double best = INFINITY, off;
	int code, found = 0;

	if (isnan(x))
		return 0;
	if (isinf(quotient))
		return x < 0 ? least : most;
	for (code = least; code <= most; code++) {
		off = fabs((double)quotient - code);
		if (off < best || (off == best && abs(code) > abs(found))) {
			best = off;
			found = code;
		}
	}
	return found;
}

static float
largest(size_t from, size_t to)
{
	float a, most = 0;
	size_t i;

	for (i = from; i < to; i += 4) {
		a = fabsf(get_float(i));
		if (isfinite(a) && a > most)
			most = a;
	}
	return most;
}

static void
whole_encode(int zero_bytes)
{
	float most = largest(0, in_bytes);
	float d = most == 0 ? 1 : most / 127;
	size_t i;

	if (in_bytes == 0)
		return;
	put_float(d);
	put(0, zero_bytes);
	for (i = 0; i < in_bytes; i += 4)
		put((unsigned long)nearest_code(get_float(i), d, -127, 127) & 255, 1);
}

static void
whole_decode(int zero_bytes)
{
	long zero = zero_bytes ? (long)(int)(unsigned)get(4) : 0;
	float d = get_float(0);
	size_t i;

	for (i = 4 + (size_t)zero_bytes; i < in_bytes; i++)
		put_float(d * (float)((in[i] < 128 ? in[i] : in[i] - 256) - zero));
}

/* ---- APR_Q4: blocks of 32, a half each, two codes a byte ---- */

static double
half_value(int code)
{
	int exponent = code >> 10, fraction = code & 1023;

	return exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
}

/* The nearest half of a number that is not negative; the even one of two as near. */
static int
half_code(float x)
{
	double best = INFINITY, off;
	int code, found = 0;

	for (code = 0; code <= 0x7c00; code++) {
		off = fabs(half_value(code) - (double)x);
		if (off < best || (off == best && code % 2 == 0)) {
			best = off;
			found = code;
		}
	}
	return found;
}

static void
apr_q4_encode(void)
{
	int codes[32];
	size_t at, end, i;
	float d;

	for (at = 0; at < in_bytes; at = end) {
		end = at + 128 < in_bytes ? at + 128 : in_bytes;
		d = largest(at, end);
		d = d == 0 ? 1 : d / 7;
		put((unsigned long)half_code(d), 2);
		for (i = 0; i < 32; i++)
			codes[i] = at + 4 * i < end
			           ? nearest_code(get_float(at + 4 * i), d, -8, 7) + 8 : 0;
		for (i = 0; i < 32; i += 2)
			put((unsigned long)(codes[i] + 16 * codes[i + 1]), 1);
	}
}

static void
apr_q4_decode(void)
{
	size_t at, i;
	float d;

	for (at = 0; at + 18 <= in_bytes; at += 18) {
		d = (float)half_value((in[at] | in[at + 1] << 8) & 0x7fff);
		if (in[at + 1] & 0x80)
			d = -d;
		for (i = 0; i < 32; i++)
			put_float(d * (float)(in[at + 2 + i / 2] / (i % 2 ? 16 : 1) % 16 - 8));
	}
}

static int
by_tensor(const char *type, int decode)
{
	int zero_bytes = strcmp(type, "Q8_TENSOR") == 0 ? 4 : 0;

	if (strcmp(type, "APR_Q4") == 0)
		decode ? apr_q4_decode() : apr_q4_encode();
	else if (zero_bytes || strcmp(type, "APR_Q8") == 0)
		decode ? whole_decode(zero_bytes) : whole_encode(zero_bytes);
	else
		return 0;
	return 1;
}

int
main(int argc, char **argv)
{
	int decode = argc == 3 && strcmp(argv[1], "-d") == 0;
	const char *type;
	size_t i;

	if (argc != 2 + decode)
		die("usage: rows [-d] TYPE");
	type = argv[1 + decode];
	in_bytes = fread(in, 1, sizeof in, stdin);
	if (in_bytes == sizeof in)
		die("too much");
	if (by_tensor(type, decode))
		return 0;
	if (strcmp(type, "Q8_K") == 0) {
		if (decode)
			q8_k_decode();
		else
			q8_k_encode();
		return 0;
	}
	for (i = 0; i < sizeof smalls / sizeof smalls[0]; i++) {
		if (strcmp(type, smalls[i].name) != 0)
			continue;
		if (decode)
			small_decode(&smalls[i]);
		else
			small_encode(&smalls[i]);
		return 0;
	}
	die("no such type");
}
