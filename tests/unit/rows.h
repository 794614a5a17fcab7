/* rows: encoding and decoding the golden rows, for the tests that compare them. */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <string.h>

#include "kernels/kernel.h"
#include "file.h"

#define COLUMNS 512 /* of a row */

static const struct kernel *
kernel_of(const char *type)
{
	return kernel_for(dtype_by_name(type));
}

static size_t
bytes_of(const char *type, size_t n)
{
	const struct dtype *t = dtype_by_name(type);

	return n / t->items * t->bytes;
}

/* Little-endian floats of a file. */
static float *
floats_read(const char *dir, const char *name, size_t *n)
{
	uint8_t *bytes = file_read(n, "%s/%s", dir, name);
	float *x;

	if (!bytes)
		return NULL;
	*n /= 4;
	x = calloc(*n + 1, sizeof *x);
	kernel_of("F32")->decode(bytes, x, *n);
	free(bytes);
	return x;
}

/* Encode rows of COLUMNS values, by importance if there is some. Do they give
 * these bytes, and no more? */
static bool
encodes_to(const char *type, const float *x, const float *importance, size_t n,
           const uint8_t *want, size_t bytes)
{
	size_t row = bytes_of(type, COLUMNS), i;
	uint8_t *y = calloc(bytes + 1, 1);
	bool same;

	if (!importance)
		kernel_of(type)->encode(x, y, n);
	for (i = 0; importance && i < n / COLUMNS; i++)
		kernel_of(type)->encode_weighted(x + COLUMNS * i, importance, y + row * i,
		                                 COLUMNS);
	same = bytes == bytes_of(type, n) && !memcmp(y, want, bytes) && !y[bytes];
	free(y);
	return same;
}

/* The values that n encoded ones decode to, as bytes of a file. */
static uint8_t *
decoded_bytes(const char *type, const uint8_t *y, size_t n)
{
	float *x = calloc(n, sizeof *x);
	uint8_t *bytes = calloc(n, 4);

	kernel_of(type)->decode(y, x, n);
	kernel_of("F32")->encode(x, bytes, n);
	free(x);
	return bytes;
}

#endif
