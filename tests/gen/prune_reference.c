/* prune_reference: the rules of pruning, slowly, from the papers, for tests.
 *
 *     prune_reference RULE COLUMNS MEANS FILE...
 *
 * Each FILE holds one tensor as F32, little-endian, in rows of COLUMNS values. MEANS is a file of
 * mean squares of activations, one F32 a column, or "-" for magnitudes. Prints the tensors with
 * zeros as F32, one after another. RULE:
 *
 *     row=S     of each row the share S        tensor=S  of each file
 *     all=S     of all files together          below=T   each magnitude under T
 *     N:M       of each M values in a row all but N
 *     update=S  of each 128 columns, and the others make up for it; MEANS has activations instead, in
 *               rows of COLUMNS
 *     update=N:M
 *
 * Scores are magnitudes, or magnitudes times the root of the mean, in single precision
 * (Sun et al. 2023, algorithm 1). Whole arrays are sorted by score, then by index; a share of n
 * values is round(S n). update is algorithm 1 of Frantar and Alistarh 2023, with blocks of 128 columns
 * for both masks and updates, and 1 % of the mean of the diagonal.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	float score;
	size_t index;
};

static float *x, *means;
static struct item *items;
static size_t n, columns;

_Noreturn static void
fail(const char *what)
{
	fprintf(stderr, "prune_reference: %s\n", what);
	exit(2);
}

/* Append the values of a file to an array of *count. */
static void
load(const char *path, float **to, size_t *count)
{
	FILE *f = fopen(path, "rb");
	long bytes;

	if (!f || fseek(f, 0, SEEK_END) < 0 || (bytes = ftell(f)) < 0)
		fail(path);
	rewind(f);
	*to = realloc(*to, (*count + (size_t)bytes / 4 + 1) * sizeof **to);
	if (!*to || fread(*to + *count, 4, (size_t)bytes / 4, f) != (size_t)bytes / 4)
		fail(path);
	*count += (size_t)bytes / 4;
	fclose(f);
}

static int
by_score(const void *a, const void *b)
{
	const struct item *p = a, *q = b;

	if (p->score != q->score)
		return p->score < q->score ? -1 : 1;
	return (p->index > q->index) - (p->index < q->index);
}

/* Zero the k values with the smallest scores of those from `at` on. */
static void
zero(size_t at, size_t count, size_t k)
{
	size_t i;

	for (i = 0; i < count; i++) {
		items[i].index = at + i;
		items[i].score = fabsf(x[at + i]);
		if (means)
			items[i].score *= sqrtf(means[(at + i) % columns]);
	}
	qsort(items, count, sizeof *items, by_score);
	for (i = 0; i < k; i++)
		x[items[i].index] = 0;
}

/* ---- SparseGPT ---- */

#define BLOCK 128

static double *w, *inverse, *u; /* u: upper triangular, inverse = uᵀ u */
static unsigned char *gone;

/* The inverse of X Xᵀ + λ I, by Gauss and Jordan. */
static void
invert(size_t count)
{
	double *a = calloc(columns * columns, sizeof *a), mean = 0;
	size_t i, j, k;

	inverse = calloc(columns * columns, sizeof *inverse);
	if (!a || !inverse)
		fail("no memory");
	for (k = 0; k < count; k++)
		for (i = 0; i < columns; i++)
			for (j = 0; j < columns; j++)
				a[i * columns + j] += (double)means[k * columns + i] * means[k * columns + j];
	for (i = 0; i < columns; i++)
		mean += a[i * columns + i] / (double)columns;
	for (i = 0; i < columns; i++) {
		a[i * columns + i] += 0.01 * mean;
		inverse[i * columns + i] = 1;
	}
	for (k = 0; k < columns; k++) {
		double pivot = a[k * columns + k];

		for (j = 0; j < columns; j++) {
			a[k * columns + j] /= pivot;
			inverse[k * columns + j] /= pivot;
		}
		for (i = 0; i < columns; i++) {
			double by = a[i * columns + k];

			for (j = 0; i != k && j < columns; j++) {
				a[i * columns + j] -= by * a[k * columns + j];
				inverse[i * columns + j] -= by * inverse[k * columns + j];
			}
		}
	}
	free(a);
}

static void
cholesky(void)
{
	size_t i, j, k;

	u = calloc(columns * columns, sizeof *u);
	if (!u)
		fail("no memory");
	for (i = 0; i < columns; i++)
		for (j = i; j < columns; j++) {
			double v = inverse[i * columns + j];

			for (k = 0; k < i; k++)
				v -= u[k * columns + i] * u[k * columns + j];
			u[i * columns + j] = i == j ? sqrt(v) : v / u[i * columns + i];
		}
}

/* Mark the k smallest of the values in these rows and columns. */
static void
mark(size_t row, size_t rows, size_t column, size_t width, size_t k)
{
	size_t i, r, c, all = 0;

	for (r = row; r < row + rows; r++)
		for (c = column; c < column + width; c++, all++) {
			double v = w[r * columns + c] / u[c * columns + c];

			items[all].index = r * columns + c;
			items[all].score = (float)(v * v);
		}
	qsort(items, all, sizeof *items, by_score);
	for (i = 0; i < k; i++)
		gone[items[i].index] = 1;
}

static void
update(size_t first, size_t rows, double share, size_t keep, size_t of)
{
	double *error = calloc(rows * BLOCK, sizeof *error);
	size_t i, j, k, r, end, total = 0, want;

	if (!error)
		fail("no memory");
	for (i = 0; i < columns; i = end) {
		end = i + BLOCK < columns ? i + BLOCK : columns;
		if (of == 0) {
			want = (size_t)floor(share * (double)(rows * end) + 0.5) - total;
			mark(first, rows, i, end - i, want);
			total += want;
		}
		memset(error, 0, rows * BLOCK * sizeof *error);
		for (j = i; j < end; j++) {
			for (r = 0; of > 0 && j % of == 0 && r < rows; r++)
				mark(first + r, 1, j, of, of - keep);
			for (r = 0; r < rows; r++) {
				double *row = w + (first + r) * columns;

				if (!gone[(first + r) * columns + j])
					continue;
				error[r * BLOCK + j - i] = row[j] / u[j * columns + j];
				for (k = j; k < end; k++)
					row[k] -= error[r * BLOCK + j - i] * u[j * columns + k];
			}
		}
		for (r = 0; r < rows; r++)
			for (j = i; j < end; j++)
				for (k = end; k < columns; k++)
					w[(first + r) * columns + k] -=
						error[r * BLOCK + j - i] * u[j * columns + k];
	}
	free(error);
}

static void
update_files(const size_t *begin, size_t files, const char *value, size_t activations)
{
	size_t keep = 0, of = 0, i;

	if (sscanf(value, "%zu:%zu", &keep, &of) != 2)
		of = 0;
	w = calloc(n, sizeof *w);
	gone = calloc(n, 1);
	if (!w || !gone || !means)
		fail("update needs memory, and activations");
	for (i = 0; i < n; i++)
		w[i] = x[i];
	invert(activations / columns);
	cholesky();
	for (i = 0; i < files; i++)
		update(begin[i] / columns, (begin[i + 1] - begin[i]) / columns, strtod(value, NULL), keep, of);
	for (i = 0; i < n; i++)
		x[i] = gone[i] ? 0 : (float)w[i];
	free(w);
	free(gone);
	free(u);
	free(inverse);
}

static void
zero_share(size_t at, size_t count, double share)
{
	zero(at, count, (size_t)floor(share * (double)count + 0.5));
}

int
main(int argc, char **argv)
{
	size_t begin[64] = { 0 }, files = 0, activations = 0, i, keep, of;
	const char *rule = argc > 1 ? argv[1] : "", *value = strchr(rule, '=');
	double v = value ? strtod(value + 1, NULL) : 0;

	if (argc < 5 || argc > 60)
		fail("RULE COLUMNS MEANS FILE...");
	columns = strtoul(argv[2], NULL, 10);
	if (strcmp(argv[3], "-") != 0)
		load(argv[3], &means, &activations);
	for (i = 4; i < (size_t)argc; i++) {
		load(argv[i], &x, &n);
		begin[++files] = n;
	}
	items = malloc((n + 1) * sizeof *items);
	if (!items)
		fail("no memory");
	if (strncmp(rule, "row=", 4) == 0)
		for (i = 0; i < n; i += columns)
			zero_share(i, columns, v);
	else if (strncmp(rule, "tensor=", 7) == 0)
		for (i = 0; i < files; i++)
			zero_share(begin[i], begin[i + 1] - begin[i], v);
	else if (strncmp(rule, "all=", 4) == 0)
		zero_share(0, n, v);
	else if (strncmp(rule, "update=", 7) == 0)
		update_files(begin, files, value + 1, activations);
	else if (strncmp(rule, "below=", 6) == 0)
		for (i = 0; i < n; i++)
			x[i] = fabsf(x[i]) < (float)v ? 0 : x[i];
	else if (sscanf(rule, "%zu:%zu", &keep, &of) == 2)
		for (i = 0; i < n; i += of)
			zero(i, of, of - keep);
	else
		fail(rule);
	fwrite(x, 4, n, stdout);
	free(items);
	free(means);
	free(x);
	return 0;
}
