#include "stats/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "kernels/numbers.h"
#include "kernels/kernel.h"

#define RUN 512 /* values decoded at once, on the stack; a multiple of every block */

enum form { OTHER, SIGNED, UNSIGNED, TRUTH, DOUBLE };

static enum form
form_of(const struct dtype *t)
{
	static const struct {
		const char *name;
		enum form form;
	} plain[] = {
		{ "I8", SIGNED },   { "I16", SIGNED },   { "I32", SIGNED },   { "I64", SIGNED },
		{ "U8", UNSIGNED }, { "U16", UNSIGNED }, { "U32", UNSIGNED }, { "U64", UNSIGNED },
		{ "BOOL", TRUTH },  { "F64", DOUBLE },
	};
	size_t i;

	for (i = 0; i < sizeof plain / sizeof *plain; i++)
		if (strcmp(plain[i].name, t->name) == 0)
			return plain[i].form;
	return OTHER;
}

bool
values_known(const struct dtype *t)
{
	return form_of(t) != OTHER || kernel_decodes(t);
}

/* The bits of value i, which has 1, 2, 4 or 8 bytes. */
static uint64_t
bits_of(const uint8_t *x, size_t bytes, size_t i)
{
	x += i * bytes;
	switch (bytes) {
	case 1:
		return *x;
	case 2:
		return le16(x);
	case 4:
		return le32(x);
	default:
		return le64(x);
	}
}

static int64_t
signed_of(const uint8_t *x, size_t bytes, size_t i)
{
	uint64_t sign = (uint64_t)1 << (8 * bytes - 1);

	return (int64_t)((bits_of(x, bytes, i) ^ sign) - sign);
}

static double
double_of(const uint8_t *x, size_t i)
{
	return le_f64(x + 8 * i);
}

static double
plain_value(enum form form, const uint8_t *x, size_t bytes, size_t i)
{
	switch (form) {
	case SIGNED:
		return (double)signed_of(x, bytes, i);
	case UNSIGNED:
		return (double)bits_of(x, bytes, i);
	case TRUTH:
		return x[i] != 0;
	default:
		return double_of(x, i);
	}
}

void
values_double(const struct dtype *t, const uint8_t *head, const uint8_t *x, double *y,
              size_t n)
{
	enum form form = form_of(t);
	float run[RUN];
	size_t i, part;

	if (form != OTHER) {
		for (i = 0; i < n; i++)
			y[i] = plain_value(form, x, t->bytes, i);
		return;
	}
	for (; n > 0; n -= part, y += part, x += dtype_span(t, part)) {
		part = n < RUN ? n : RUN;
		kernel_decode(t, head, x, run, part);
		numbers->widen(run, y, part);
	}
}

/* True if f is not exactly value i. Integers are compared as integers: long ones would be
 * rounded as doubles. */
static bool
is_rounded(enum form form, const uint8_t *x, size_t bytes, size_t i, float f)
{
	switch (form) {
	case SIGNED:
		return f >= 0x1p63f || (int64_t)f != signed_of(x, bytes, i);
	case UNSIGNED:
		return f >= 0x1p64f || (uint64_t)f != bits_of(x, bytes, i);
	case TRUTH:
		return false;
	default:
		return !isnan(f) && double_of(x, i) != (double)f;
	}
}

size_t
values_float(const struct dtype *t, const uint8_t *head, const uint8_t *x, float *y,
             size_t n)
{
	enum form form = form_of(t);
	size_t i, rounded = 0;

	if (form == OTHER) {
		kernel_decode(t, head, x, y, n);
		return 0;
	}
	for (i = 0; i < n; i++) {
		if (form == SIGNED)
			y[i] = (float)signed_of(x, t->bytes, i);
		else if (form == UNSIGNED)
			y[i] = (float)bits_of(x, t->bytes, i);
		else
			y[i] = (float)plain_value(form, x, t->bytes, i);
		rounded += is_rounded(form, x, t->bytes, i, y[i]);
	}
	return rounded;
}

char *
values_number(double v, bool single, char dst[VALUES_TEXT])
{
	int digits = single ? 6 : 15, most = single ? 9 : 17;

	if (isnan(v) || isinf(v)) {
		snprintf(dst, VALUES_TEXT, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
		return dst;
	}
	for (; digits <= most; digits++) {
		snprintf(dst, VALUES_TEXT, "%.*g", digits, v);
		if (single ? strtof(dst, NULL) == (float)v : strtod(dst, NULL) == v)
			break;
	}
	return dst;
}

char *
values_text(const struct dtype *t, const uint8_t *x, double y, size_t i,
            char dst[VALUES_TEXT])
{
	switch (form_of(t)) {
	case SIGNED:
		snprintf(dst, VALUES_TEXT, "%" PRId64, signed_of(x, t->bytes, i));
		return dst;
	case UNSIGNED:
		snprintf(dst, VALUES_TEXT, "%" PRIu64, bits_of(x, t->bytes, i));
		return dst;
	case TRUTH:
		snprintf(dst, VALUES_TEXT, "%d", x[i] != 0);
		return dst;
	case DOUBLE:
		return values_number(y, false, dst);
	case OTHER:
		break;
	}
	return values_number(y, true, dst);
}
