/* cholesky: sums do not depend on calls and threads, and U is the factor of the inverse. */
#include <math.h>
#include <string.h>

#include "linear/cholesky.h"
#include "test.h"

#define MOST 37u
#define COUNT 90u

static float x[COUNT * MOST];
static double h[MOST * MOST], other[MOST * MOST], u[MOST * MOST];

static void
fill(size_t n)
{
	uint32_t state = 7;
	size_t i;

	for (i = 0; i < COUNT * n; i++) {
		state = state * 1664525u + 1013904223u;
		x[i] = (float)(state >> 8) / 8388608.0f - 1;
	}
}

static void
test_size(size_t n)
{
	double slow, worst = 0, lost = 0;
	struct err e = ERR_INIT;
	size_t i, j, k;

	fill(n);
	memset(h, 0, sizeof h);
	memset(other, 0, sizeof other);
	cholesky_add(h, n, x, COUNT, 3);
	cholesky_add(other, n, x, 1, 1);
	cholesky_add(other, n, x + n, 50, 1);
	cholesky_add(other, n, x + 51 * n, COUNT - 51, 2);
	for (i = 0; i < n; i++)
		for (j = i; j < n; j++) {
			for (slow = 0, k = 0; k < COUNT; k++)
				slow += (double)x[k * n + i] * (double)x[k * n + j];
			worst += slow != h[i * n + j] || other[i * n + j] != h[i * n + j];
		}
	test_ok(worst == 0, "sums of %zu columns are those of plain loops, in one call or three", n);
	memcpy(u, h, sizeof u);
	test_ok(cholesky_inverse(u, n, "u", 3, &e) == 0, "a factor of %zu columns", n);
	memcpy(other, h, sizeof other);
	cholesky_inverse(other, n, "u", 1, &e);
	for (i = 0; i < n; i++)
		worst += memcmp(u + i * n + i, other + i * n + i, (n - i) * sizeof *u) != 0;
	test_ok(worst == 0, "which does not depend on threads");
	/* Uᵀ U h is the identity. */
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			double sum = 0;

			for (k = 0; k < n; k++) {
				double inverse = 0, value = k <= j ? h[k * n + j] : h[j * n + k];
				size_t l;

				for (l = 0; l <= i && l <= k; l++)
					inverse += u[l * n + i] * u[l * n + k];
				sum += inverse * value;
			}
			lost = fmax(lost, fabs(sum - (i == j)));
		}
	test_ok(lost < 1e-9, "and is that of the inverse: %g", lost);
}

int
main(void)
{
	static const size_t sizes[] = { 1, 2, 7, 8, 9, 16, MOST };
	struct err e = ERR_INIT;
	size_t i;

	for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
		test_size(sizes[i]);
	memset(h, 0, sizeof h);
	test_ok(cholesky_inverse(h, 3, "zeros", 1, &e) < 0 && e.code == ERR_INVALID, "zeros");
	e = (struct err)ERR_INIT;
	h[0] = 1, h[1] = 2, h[3] = 1; /* [1 2; 2 1], rows of 2: */
	h[2] = 2;
	test_ok(cholesky_inverse(h, 2, "saddle", 1, &e) < 0 && e.code == ERR_INVALID,
	        "a matrix that is not positive");
	e = (struct err)ERR_INIT;
	h[0] = h[3] = INFINITY;
	test_ok(cholesky_inverse(h, 2, "infinite", 1, &e) < 0 && e.code == ERR_INVALID, "infinity");
	return test_done();
}
