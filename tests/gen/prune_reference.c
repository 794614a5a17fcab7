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
 *
 * Scores are magnitudes, or magnitudes times the root of the mean, in single precision
 * (Sun et al. 2023, algorithm 1). Whole arrays are sorted by score, then by index; a share of n
 * values is round(S n).
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

static void
zero_share(size_t at, size_t count, double share)
{
	zero(at, count, (size_t)floor(share * (double)count + 0.5));
}

int
main(int argc, char **argv)
{
	size_t begin[64] = { 0 }, files = 0, unused = 0, i, keep, of;
	const char *rule = argc > 1 ? argv[1] : "", *value = strchr(rule, '=');
	double v = value ? strtod(value + 1, NULL) : 0;

	if (argc < 5 || argc > 60)
		fail("RULE COLUMNS MEANS FILE...");
	columns = strtoul(argv[2], NULL, 10);
	if (strcmp(argv[3], "-") != 0)
		load(argv[3], &means, &unused);
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
