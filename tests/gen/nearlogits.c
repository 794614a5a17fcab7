/* nearlogits: compare two tables of logits.
 *
 *     nearlogits GOT WANT COLUMNS LIMIT
 *
 * Both hold little-endian single precision, a row of COLUMNS for each position. Prints
 * the largest difference, and ends with 1 where it is LIMIT or more, a row has its
 * maximum elsewhere, a number is not finite, or the sizes differ.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *
read_all(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t b[4];
	float *all = NULL;
	size_t cap = 0;

	*n = 0;
	while (f && fread(b, 1, sizeof b, f) == sizeof b) {
		uint32_t bits = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
		                (uint32_t)b[3] << 24;

		if (*n == cap) {
			cap = cap ? cap * 2 : 1024;
			all = realloc(all, cap * sizeof *all);
			if (!all)
				exit(2);
		}
		memcpy(&all[(*n)++], &bits, sizeof bits);
	}
	if (f)
		fclose(f);
	return all;
}

static size_t
top(const float *row, size_t n)
{
	size_t i, best = 0;

	for (i = 1; i < n; i++)
		if (row[i] > row[best])
			best = i;
	return best;
}

int
main(int argc, char **argv)
{
	size_t n, m, i, columns, differ = 0;
	float *got, *want;
	double most = 0;

	if (argc != 5) {
		fprintf(stderr, "usage: nearlogits GOT WANT COLUMNS LIMIT\n");
		return 2;
	}
	got = read_all(argv[1], &n);
	want = read_all(argv[2], &m);
	columns = strtoul(argv[3], NULL, 10);
	if (n != m || n == 0 || columns == 0 || n % columns != 0) {
		printf("%zu and %zu numbers\n", n, m);
		return 1;
	}
	for (i = 0; i < n; i++) {
		double d = fabs((double)got[i] - (double)want[i]);

		if (!(d <= most)) /* NaN too */
			most = d;
	}
	for (i = 0; i < n; i += columns)
		differ += top(got + i, columns) != top(want + i, columns);
	printf("largest difference %g, %zu of %zu maxima differ\n", most, differ, n / columns);
	free(got);
	free(want);
	return !(most < strtod(argv[4], NULL)) || differ;
}
