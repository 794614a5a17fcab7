/* predict: CPU time per row of forests of random trees, in pairs with a plain walk by pointers.
 *
 *     predict [TREES DEPTH FEATURES [ROUNDS [ROWS]]]
 *     predict MODEL ROWS SCORES
 *
 * With a MODEL of a library and ROWS, doubles of this machine: the time for one row and for a row of
 * a block, in microseconds; the scores go to SCORES. tests/bench/predict.sh compares both with the
 * libraries. Without operands: 100 and 1000 trees of depth 6 and 10, 100 features. Half of the trees of each
 * second forest are not complete. Each way computes the same sums, which are compared. Figures are
 * the median of ROUNDS runs, all ways in turn in each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/buf.h"
#include "core/reader.h"
#include "predict/predict.h"

#define ROWS 4096u

static size_t asked; /* rows; 0: ROWS, or fewer for large forests */

/* ---- the other way: nodes with pointers ---- */

struct node {
	float t, value;
	uint32_t feature;
	struct node *left, *right; /* NULL: a leaf */
};

static struct node *
node_new(void)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		exit(1);
	return n;
}

static float
walk(const struct node *n, const float *row)
{
	while (n->left)
		n = row[n->feature] <= n->t ? n->left : n->right;
	return n->value;
}

/* ---- forests ---- */

struct setting {
	unsigned trees, depth, features;
	bool ragged; /* subtrees are missing */
};

static uint64_t state = 1;

static double
uniform(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 40) / (1 << 24);
}

static struct tree tree;

/* Grows a tree in both forms; the number of its node. */
static uint32_t
grow(const struct setting *s, unsigned depth, struct node *to)
{
	uint32_t at = (uint32_t)tree.count, left, right;
	struct tree_node *x = tree_add(&tree);

	if (!x)
		exit(1);
	if (depth == 0 || (s->ragged && depth < s->depth && uniform() < 0.2)) {
		to->value = (float)uniform();
		tree_leaf(&tree, x, (double)to->value, at);
		return at;
	}
	to->feature = (uint32_t)(uniform() * s->features);
	to->t = (float)uniform();
	to->left = node_new();
	to->right = node_new();
	left = grow(s, depth - 1, to->left);
	right = grow(s, depth - 1, to->right);
	tree.nodes[at] = (struct tree_node){ .feature = to->feature, .threshold = (double)to->t,
		.left = left, .right = right, .missing = FOREST_NAN };
	return at;
}

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct run {
	struct setting s;
	struct forest f;
	struct node **roots;
	float *plain;         /* rows */
	double *rows, *sums;
	float *expected;
	size_t n;             /* rows in use */
};

static void
by_pointers(struct run *r)
{
	size_t i, k;

	for (i = 0; i < r->n; i++) {
		float sum = 0;

		for (k = 0; k < r->s.trees; k++)
			sum += walk(r->roots[k], r->plain + i * r->s.features);
		r->expected[i] = sum;
	}
}

static void
by_rows(struct run *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		forest_rows(&r->f, r->rows + i * r->s.features, 1, false, r->sums + i, NULL);
}

static void
by_blocks(struct run *r)
{
	size_t i, n;

	for (i = 0; i < r->n; i += n) {
		n = r->n - i < FOREST_BLOCK ? r->n - i : FOREST_BLOCK;
		forest_rows(&r->f, r->rows + i * r->s.features, n, false, r->sums + i, NULL);
	}
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const char *compare_name;

static void
compare(const struct run *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->sums[i] != (double)r->expected[i]) {
			printf("%s: row %zu: %.9g, not %.9g\n", compare_name, i, r->sums[i],
			       (double)r->expected[i]);
			exit(1);
		}
}

#define WAYS 5
#define ROUNDS 31

static const char *const ways[WAYS] = { "pointers", "one row", "blocks", "one, ranks", "blocks, ranks" };

static double
measure(struct run *r, unsigned way)
{
	double t = cpu();

	(way == 0 ? by_pointers : way % 2 ? by_rows : by_blocks)(r);
	t = (cpu() - t) / (double)r->n * 1e6;
	compare_name = ways[way];
	if (way)
		compare(r);
	return t;
}

static void
begin(struct run *r)
{
	struct err e = ERR_INIT;
	size_t i, room = asked ? asked : ROWS;

	r->roots = calloc(r->s.trees, sizeof *r->roots);
	r->plain = calloc(room * r->s.features, sizeof *r->plain);
	r->rows = calloc(room * r->s.features, sizeof *r->rows);
	r->sums = calloc(room, sizeof *r->sums);
	r->expected = calloc(room, sizeof *r->expected);
	if (!r->roots || !r->plain || !r->rows || !r->sums || !r->expected ||
	    forest_begin(&r->f, r->s.features, 1, 1, &e) < 0)
		exit(1);
	r->f.single = r->f.rounded = true;
	for (i = 0; i < r->s.trees; i++) {
		tree_clear(&tree);
		r->roots[i] = node_new();
		grow(&r->s, r->s.depth, r->roots[i]);
		if (forest_add(&r->f, &tree, "bench", &e) < 0)
			exit(1);
	}
	for (i = 0; i < room * r->s.features; i++)
		r->rows[i] = (double)(r->plain[i] = (float)uniform());
	r->n = (size_t)4e8 / r->s.trees / r->s.depth / 100;
	r->n = asked ? asked : r->n < ROWS ? r->n / 128 * 128 : ROWS;
}

static void
drop(struct node *n)
{
	if (n && n->left) {
		drop(n->left);
		drop(n->right);
	}
	free(n);
}

static void
end(struct run *r)
{
	size_t i;

	for (i = 0; i < r->s.trees; i++)
		drop(r->roots[i]);
	free(r->roots);
	free(r->plain);
	free(r->rows);
	free(r->sums);
	free(r->expected);
	forest_free(&r->f);
}

static void
bench(struct setting s, unsigned rounds)
{
	struct run r = { .s = s };
	static double t[WAYS][ROUNDS];
	struct forest_ranks *ranks;
	unsigned i, k;
	double made;

	begin(&r);
	made = cpu();
	ranks = forest_ranks(&r.f, SIZE_MAX);
	made = cpu() - made;
	for (i = 0; i < rounds; i++)
		for (k = 0; k < WAYS; k++) {
			r.f.ranks = k > 2 ? ranks : NULL;
			t[k][i] = measure(&r, k);
		}
	printf("%5u trees of depth %2u%s, %3u features (ranks: %.1f ms)\n", s.trees, s.depth,
	       s.ragged ? ", ragged" : "", s.features, made * 1e3);
	for (k = 0; k < WAYS; k++) {
		qsort(t[k], rounds, sizeof t[k][0], by_value);
		printf("\t%-14s %9.3f us a row %7.1f times\n", ways[k], t[k][rounds / 2],
		       t[0][rounds / 2] / t[k][rounds / 2]);
	}
	r.f.ranks = ranks;
	end(&r);
}

/* ---- a model and rows of files ---- */

static void
read_file(const char *path, struct buf *to)
{
	struct err e = ERR_INIT;
	struct reader r;

	if (reader_open(&r, path, &e) < 0 || reader_rest(&r, to, SIZE_MAX / 2) < 0 || !buf_ok(to)) {
		fprintf(stderr, "%s: %s\n", path, e.fact);
		exit(1);
	}
	reader_close(&r);
}

/* CPU time of a row, in blocks of this size. */
static double
time_blocks(struct predictor *m, double *rows, size_t n, size_t block, double *scores)
{
	double t = cpu();
	size_t i, some;

	for (i = 0; i < n; i += some) {
		some = n - i < block ? n - i : block;
		predict_rows(m, rows + i * m->features, some, false, scores + i * m->outputs, NULL);
	}
	return (cpu() - t) / (double)n * 1e6;
}

static void
bench_files(const char *model, const char *rows, const char *to)
{
	struct predictor m = { 0 };
	struct buf b = { 0 }, x = { 0 };
	const struct predict_reader *reader;
	struct err e = ERR_INIT;
	double *scores, t[2][ROUNDS], from = cpu();
	size_t n, i;
	FILE *f = fopen(to, "w");

	read_file(model, &b);
	reader = predict_probe(b.p, b.n);
	if (!f || !reader || predict_read(&m, reader, b.p, b.n, model, &e) < 0) {
		fprintf(stderr, "%s: %s\n", model, e.fact);
		exit(1);
	}
	from = cpu() - from;
	read_file(rows, &x);
	n = x.n / sizeof(double) / m.features;
	scores = calloc(n * m.outputs, sizeof *scores);
	predict_expect(&m, UINT64_MAX);
	for (i = 0; scores && i < 5; i++) {
		t[0][i] = time_blocks(&m, (double *)(void *)x.p, n, 1, scores);
		t[1][i] = time_blocks(&m, (double *)(void *)x.p, n, FOREST_BLOCK, scores);
	}
	qsort(t[0], 5, sizeof t[0][0], by_value);
	qsort(t[1], 5, sizeof t[0][0], by_value);
	printf("%.3f %.3f %.1f\n", t[0][2], t[1][2], from * 1e3);
	if (!scores || fwrite(scores, sizeof *scores, n * m.outputs, f) != n * m.outputs || fclose(f))
		exit(1);
	free(scores);
	buf_free(&b);
	buf_free(&x);
	predictor_free(&m);
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 4 ? (unsigned)atoi(argv[4]) : 7, i;

	asked = argc > 5 ? (size_t)atoi(argv[5]) : 0;
	rounds = rounds < 1 ? 1 : rounds > ROUNDS ? ROUNDS : rounds;
	if (argc == 4 && atoi(argv[1]) == 0) {
		bench_files(argv[1], argv[2], argv[3]);
		return 0;
	}
	if (argc > 3) {
		bench((struct setting){ (unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]),
		                        (unsigned)atoi(argv[3]), false }, rounds);
		return 0;
	}
	for (i = 0; i < 8; i++)
		bench((struct setting){ i & 1 ? 1000 : 100, i & 2 ? 10 : 6, 100, i & 4 }, rounds);
	tree_free(&tree);
	return 0;
}
