/* svd: singular values of made matrices, by rotations and by a random block. */
#include "linear/svd.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/mem.h"
#include "core/philox.h"

#include "test.h"

struct made {
	size_t rows, columns;
	float *v;
	size_t reads, faults;     /* rows read so far; the row that cannot be read */
};

static int
read_rows(void *ctx, size_t row, size_t n, float *to, struct err *e)
{
	struct made *m = ctx;

	m->reads += n;
	if (m->faults && row + n > m->faults)
		return err_set(e, ERR_IO, "made", "row %zu is lost", m->faults);
	memcpy(to, m->v + row * m->columns, n * m->columns * sizeof *to);
	return 0;
}

/* Numbers between -1 and 1. */
static double
number(uint64_t key, size_t i)
{
	const uint32_t counter[4] = { (uint32_t)i, 0, 0, 0 };
	uint32_t to[4];

	philox_block(key, counter, to);
	return to[0] / 2147483648.0 - 1;
}

/* A sum of `rank` products of vectors, the k-th times by^k. */
static void
make(struct made *m, size_t rows, size_t columns, size_t rank, double by)
{
	size_t i, j, k;
	double factor, sum;

	*m = (struct made){ rows, columns, mem_array(rows * columns, sizeof(float)), 0, 0 };
	for (i = 0; i < rows; i++)
		for (j = 0; j < columns; j++) {
			for (sum = 0, factor = 1, k = 0; k < rank; k++, factor *= by)
				sum += factor * number(1, i * rank + k) * number(2, j * rank + k);
			m->v[i * columns + j] = (float)sum;
		}
}

static int
solve(struct svd *s, struct made *m, size_t rank, double energy, unsigned jobs, struct err *e)
{
	const struct svd_matrix matrix = { "made", m->rows, m->columns, read_rows, m };
	const struct svd_asked asked = { rank, energy, 2, 7, jobs };

	*e = (struct err)ERR_INIT;
	return svd_of(s, &matrix, &asked, e);
}

/* The error of U S Vᵀ, relative to the matrix. */
static double
distance(const struct svd *s, const struct made *m)
{
	double sum = 0, all = 0, d;
	size_t i, j, k;

	for (i = 0; i < m->rows; i++)
		for (j = 0; j < m->columns; j++) {
			d = m->v[i * m->columns + j];
			all += d * d;
			for (k = 0; k < s->rank; k++)
				d -= s->s[k] * s->u[k * m->rows + i] * s->v[k * m->columns + j];
			sum += d * d;
		}
	return sqrt(sum / all);
}

static double
dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	while (n--)
		sum += a[n] * b[n];
	return sum;
}

/* The largest deviation from orthonormal vectors. */
static double
skew(const double *v, size_t n, size_t rank)
{
	double most = 0;
	size_t i, k;

	for (i = 0; i < rank; i++)
		for (k = 0; k < rank; k++)
			most = fmax(most, fabs(dot(v + i * n, v + k * n, n) - (i == k)));
	return most;
}

static bool
same(const struct svd *a, const struct svd *b)
{
	return a->rank == b->rank && !memcmp(a->s, b->s, a->rank * sizeof *a->s) &&
	       !memcmp(a->u, b->u, a->rank * a->rows * sizeof *a->u) &&
	       !memcmp(a->v, b->v, a->rank * a->columns * sizeof *a->v);
}

/* ---- tests ---- */

static void
by_hand(void)
{
	/* Of 3 0 / 4 5: √45 and √5. */
	float v[] = { 3, 0, 4, 5 };
	struct made m = { 2, 2, v, 0, 0 };
	struct svd s;
	struct err e;

	test_ok(solve(&s, &m, 2, 0, 1, &e) == 0 && s.rank == 2 && fabs(s.s[0] - sqrt(45)) < 1e-14 &&
	        fabs(s.s[1] - sqrt(5)) < 1e-14 && distance(&s, &m) < 1e-15 && s.total == 50,
	        "a matrix of two rows, worked by hand");
	svd_free(&s);
	v[0] = v[2] = v[3] = 0;
	test_ok(solve(&s, &m, 2, 0, 1, &e) == 0 && s.rank == 0 && s.total == 0 && svd_error(&s, 0) == 0,
	        "zeros have rank 0");
	svd_free(&s);
}

/* rank: of the matrix, and what is asked for. */
static const struct {
	size_t rows, columns, rank, asked;
} shapes[] = {
	{ 1, 1, 1, 1 }, { 1, 9, 1, 4 }, { 9, 1, 1, 4 }, { 7, 40, 3, 3 }, { 40, 7, 7, 7 }, { 33, 65, 5, 5 },
	{ 150, 301, 4, 4 }, { 301, 150, 4, 16 }, { 257, 97, 12, 12 }, { 64, 64, 1, 64 },
};

static void
shape(size_t i)
{
	struct made m;
	struct svd s;
	struct err e;
	bool sorted = true;
	size_t k;

	make(&m, shapes[i].rows, shapes[i].columns, shapes[i].rank, 0.5);
	solve(&s, &m, shapes[i].asked, 0, 2, &e);
	for (k = 1; k < s.rank; k++)
		sorted &= s.s[k] <= s.s[k - 1];
	test_ok(e.code == ERR_NONE && s.rank >= shapes[i].rank && s.rank <= shapes[i].asked && sorted &&
	        distance(&s, &m) < 1e-7 && skew(s.u, s.rows, s.rank) < 1e-12 &&
	        skew(s.v, s.columns, s.rank) < 1e-12 && svd_error(&s, s.rank) < 1e-7,
	        "rank %zu of %zu x %zu comes back", shapes[i].rank, m.rows, m.columns);
	svd_free(&s);
	free(m.v);
}

/* The random block against rotations of the whole matrix, where values fall slowly. */
static void
slowly(void)
{
	struct made m;
	struct svd all, some;
	struct err e;
	double left;

	make(&m, 120, 110, 110, 0.97);
	solve(&all, &m, 110, 0, 2, &e);
	solve(&some, &m, 20, 0, 2, &e);
	left = svd_error(&all, 20);
	test_ok(all.rank == 110 && fabs(distance(&all, &m)) < 1e-12 && some.rank == 20 &&
	        fabs(some.s[0] / all.s[0] - 1) < 1e-6 && distance(&some, &m) < 1.02 * left &&
	        fabs(distance(&some, &m) / svd_error(&some, 20) - 1) < 1e-6,
	        "a block of vectors comes within 2 %% of the best error, and states its own");
	svd_free(&some);
	solve(&some, &m, 110, 0.9, 2, &e);
	test_ok(some.rank > 8 && some.rank < 110 && some.kept >= 0.9 * some.total &&
	        svd_error(&all, some.rank - 2) * svd_error(&all, some.rank - 2) > 0.1,
	        "a share of the squares takes the rank that it needs, %zu", some.rank);
	svd_free(&some);
	solve(&some, &m, 12, 0.9, 2, &e);
	test_ok(some.rank == 12, "but not more than allowed");
	svd_free(&all);
	svd_free(&some);
	free(m.v);
}

static void
threads(void)
{
	struct made m;
	struct svd one, more;
	struct err e;

	make(&m, 300, 517, 40, 0.9);
	solve(&one, &m, 13, 0, 1, &e);
	solve(&more, &m, 13, 0, 7, &e);
	test_ok(one.rank == 13 && same(&one, &more), "seven threads give the bits of one");
	svd_free(&one);
	svd_free(&more);
	free(m.v);
}

static void
faults(void)
{
	struct made m;
	struct svd s;
	struct err e;

	make(&m, 300, 90, 3, 0.9);
	m.v[200 * 90 + 17] = NAN;
	test_ok(solve(&s, &m, 4, 0, 2, &e) < 0 && e.code == ERR_INVALID &&
	        strstr(e.fact, "value 17 of row 200"), "a value that is not a number is named");
	svd_free(&s);
	m.v[200 * 90 + 17] = -INFINITY;
	test_ok(solve(&s, &m, 90, 0, 2, &e) < 0 && e.code == ERR_INVALID, "or infinite, by rotations");
	svd_free(&s);
	m.faults = 299;
	m.v[200 * 90 + 17] = 0;
	test_ok(solve(&s, &m, 4, 0, 2, &e) < 0 && e.code == ERR_IO, "the error of the reader comes back");
	svd_free(&s);
	free(m.v);
}

int
main(void)
{
	size_t i;

	by_hand();
	for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
		shape(i);
	slowly();
	threads();
	faults();
	return test_done();
}
