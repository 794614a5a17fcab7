/* my4: the example of a plugin: 32 values in 20 bytes, one scale in single precision,
 * 15 levels about zero.
 *
 *     cc -shared -fPIC -O2 -ffp-contract=off -I../../lib/quant -o my4.so my4.c
 */
#include <math.h>
#include <string.h>

#include "apr_plugin.h"

enum { ITEMS = 32, BYTES = 20 };

static int
level(float x, float d)
{
	float v = d > 0 ? rintf(x / d) : 0;

	return v >= -7 && v <= 7 ? (int)v : v > 0 ? 7 : v < 0 ? -7 : 0;
}

static void
encode(const float *x, unsigned char *y, size_t n)
{
	float d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += ITEMS, y += BYTES) {
		for (d = 0, i = 0; i < ITEMS; i++)
			d = fabsf(x[i]) > d ? fabsf(x[i]) : d;
		d /= 7;
		memcpy(y, &d, sizeof d); /* this machine's order of bytes: an example */
		for (i = 0; i < ITEMS; i += 2)
			y[4 + i / 2] = (unsigned char)(level(x[i], d) + 8 +
			                               16 * (level(x[i + 1], d) + 8));
	}
}

static void
decode(const unsigned char *x, float *y, size_t n)
{
	float d;
	int i;

	for (; n >= ITEMS; n -= ITEMS, x += BYTES, y += ITEMS) {
		memcpy(&d, x, sizeof d);
		for (i = 0; i < ITEMS; i++)
			y[i] = d * (float)((x[4 + i / 2] >> (i % 2 ? 4 : 0) & 15) - 8);
	}
}

const struct apr_plugin apr_plugin = { APR_PLUGIN_VERSION, "MY4", ITEMS, BYTES, encode, decode };
