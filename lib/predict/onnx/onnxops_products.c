/* Operators of ONNX on matrices: products and distances. */
#include <math.h>
#include <string.h>

#include "predict/onnx/onnxops.h"

#define RUN struct ops_run *r, const struct ops_node *n, const struct ops_tensor *const *in, struct ops_tensor *out

/* to (m x n) = a (m x k) b (k x n), with steps between values. */
static void
product(const double *a, size_t a_row, size_t a_step, const double *b, size_t b_row, size_t b_step,
        double *to, size_t m, size_t k, size_t n)
{
	size_t i, j, l;

	for (i = 0; i < m; i++)
		for (l = 0; l < k; l++) {
			double v = a[i * a_row + l * a_step];

			for (j = 0; v != 0 && j < n; j++)
				to[i * n + j] += v * b[l * b_row + j * b_step];
		}
}

/* Whether zeros may be left out of products. */
static bool
all_finite(const struct ops_tensor *t)
{
	size_t i = 0;

	while (i < t->n && isfinite(t->v[i]))
		i++;
	return i == t->n;
}

static int
matmul(RUN)
{
	struct ops_tensor a = *in[0], b = *in[1];
	bool row = a.rank == 1, column = b.rank == 1;
	size_t rank, dims[OPS_RANK], m, k, c, i, sheets;

	if (ops_need_numbers(r, n, in, out) < 0)
		return -1;
	if (row) {
		a.rank = 2;
		a.dims[1] = a.dims[0];
		a.dims[0] = 1;
	}
	if (column) {
		b.rank = 2;
		b.dims[1] = 1;
	}
	if (a.rank < 2 || b.rank < 2 || a.dims[a.rank - 1] != b.dims[b.rank - 2])
		return ops_wrong(r, n, "the matrices do not fit");
	m = a.dims[a.rank - 2];
	k = a.dims[a.rank - 1];
	c = b.dims[b.rank - 1];
	a.rank -= 2;
	b.rank -= 2;
	rank = a.rank;
	memcpy(dims, a.dims, sizeof dims);
	if (ops_together(r, n, &b, &rank, dims) < 0)
		return -1;
	sheets = rank;
	if (rank + 2 > OPS_RANK)
		return ops_wrong(r, n, "a tensor has too many dimensions");
	if (!row)
		dims[rank++] = m;
	if (!column)
		dims[rank++] = c;
	if (ops_make(r, n, out, in[0]->type, rank, dims) < 0 || ops_work(r, n, out->n * (k + 1)) < 0 || !all_finite(in[1]))
		return r->e->code == ERR_NONE ? ops_wrong(r, n, "a matrix has values that are not finite") : -1;
	a.n = ops_product(a.dims, 0, a.rank);
	b.n = ops_product(b.dims, 0, b.rank);
	for (i = 0; m > 0 && c > 0 && i < out->n / (m * c); i++)
		product(in[0]->v + ops_place(&a, sheets, dims, i) * m * k, k, 1, in[1]->v + ops_place(&b, sheets, dims, i) * k * c,
		        c, 1, out->v + i * m * c, m, k, c);
	return ops_round(r, n, out);
}

static int
gemm(RUN)
{
	const struct ops_tensor *a = in[0], *b = in[1], *c = n->in_count > 2 ? in[2] : NULL;
	bool ta = ops_number(n, "transA", 0) != 0, tb = ops_number(n, "transB", 0) != 0;
	double alpha = ops_number(n, "alpha", 1), beta = ops_number(n, "beta", 1);
	size_t m, k, w, i, rank = 2, dims[2];

	if (ops_need_numbers(r, n, in, out) < 0 || a->rank != 2 || b->rank != 2 || (c && c->rank > 2))
		return ops_wrong(r, n, "the inputs are not matrices");
	m = a->dims[ta];
	k = a->dims[!ta];
	w = b->dims[!tb];
	dims[0] = m;
	dims[1] = w;
	if (b->dims[tb] != k || (c && ops_together(r, n, c, &rank, dims) < 0) || dims[0] != m || dims[1] != w)
		return ops_wrong(r, n, "the matrices do not fit");
	if (!all_finite(b))
		return ops_wrong(r, n, "a matrix has values that are not finite");
	if (ops_make(r, n, out, a->type, 2, dims) < 0 || ops_work(r, n, out->n * (k + 4)) < 0)
		return -1;
	product(a->v, ta ? 1 : k, ta ? m : 1, b->v, tb ? 1 : w, tb ? k : 1, out->v, m, k, w);
	for (i = 0; i < out->n; i++)
		out->v[i] = alpha * out->v[i] + (c ? beta * c->v[ops_place(c, 2, dims, i)] : 0);
	return ops_round(r, n, out);
}

/* Distances of the rows of a to those of b. */
static int
distances(RUN)
{
	const struct ops_tensor *a = in[0], *b = in[1];
	bool root = ops_says(n, "metric", "euclidean");
	size_t i, j, k, dims[2] = { a->dims[0], b->dims[0] };

	if (ops_need_numbers(r, n, in, out) < 0 || a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[1])
		return ops_wrong(r, n, "the matrices do not fit");
	if (!root && !ops_says(n, "metric", "sqeuclidean"))
		return ops_wrong(r, n, "this metric is not read");
	if (ops_make(r, n, out, a->type, 2, dims) < 0 || ops_work(r, n, out->n * (a->dims[1] + 1)) < 0)
		return -1;
	for (i = 0; i < dims[0]; i++)
		for (j = 0; j < dims[1]; j++) {
			double sum = 0;

			for (k = 0; k < a->dims[1]; k++) {
				double d = a->v[i * a->dims[1] + k] - b->v[j * a->dims[1] + k];

				sum += d * d;
			}
			out->v[i * dims[1] + j] = root ? sqrt(sum) : sum;
		}
	return ops_round(r, n, out);
}

const struct ops_operator ops_products[] = {
	{ "", "MatMul", 2, matmul, NULL, NULL, NULL }, { "", "Gemm", 2, gemm, NULL, NULL, NULL },
	{ "ms", "CDist", 2, distances, NULL, NULL, NULL }, { NULL, NULL, 0, NULL, NULL, NULL, NULL },
};
