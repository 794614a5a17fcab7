/* diff: figures of two tensors against their formulas; models with each kind of difference,
 * whichever of the two is held. */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "core/mem.h"
#include "core/num.h"
#include "diff/compare.h"
#include "diff/diff.h"
#include "memory.h"
#include "report/diff_text.h"
#include "stats/values.h"
#include "test.h"

static uint64_t state = 88172645463325252u;

static uint64_t
chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double
weight(void)
{
	return (double)(int64_t)chance() / 0x1p63;
}

static bool
near(double a, double b)
{
	return a == b || fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

/* ---- figures ---- */

/* The same by the formulas of the manual page, slowly. */
static void
slow_drift(const double *a, const double *b, size_t n, size_t row, double tolerance,
           struct drift *to)
{
	long double aa = 0, bb = 0, ab = 0, dd = 0, all = 0, line = 0, worst = -1;
	size_t i, finite = 0;

	*to = (struct drift){ .count = n };
	for (i = 0; i < n; i++) {
		double d = b[i] - a[i];
		bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
		bool counts = isfinite(a[i]) && isfinite(b[i]);

		if (i % row == 0)
			line = 0;
		to->equal += same;
		to->within += same || (counts && fabs(d) <= tolerance);
		to->odd += !same && !counts;
		finite += same || counts;
		if (counts) {
			aa += (long double)a[i] * a[i];
			bb += (long double)b[i] * b[i];
			ab += (long double)a[i] * b[i];
			dd += (long double)d * d;
			line += (long double)d * d;
			all += fabs(d);
			if (fabs(d) > to->most) {
				to->most = fabs(d);
				to->most_at = i;
			}
		}
		if ((i + 1) % row == 0 || i + 1 == n) {
			to->worst_row = line > worst ? i / row : to->worst_row;
			worst = line > worst ? line : worst;
		}
	}
	to->mean = finite ? (double)(all / (long double)finite) : 0;
	to->l2 = (double)sqrtl(dd);
	to->rmse = dd == 0 ? 0 : (double)(sqrtl(dd) / sqrtl(aa));
	to->cosine = aa == 0 || bb == 0 ? aa == bb : (double)(ab / (sqrtl(aa) * sqrtl(bb)));
	to->worst = (double)sqrtl(worst);
}

static bool
same_drift(const struct drift *x, const struct drift *y)
{
	return x->count == y->count && x->equal == y->equal && x->within == y->within &&
	       x->odd == y->odd && x->most == y->most && x->most_at == y->most_at &&
	       near(x->mean, y->mean) && near(x->l2, y->l2) && near(x->rmse, y->rmse) &&
	       near(x->cosine, y->cosine) && x->worst_row == y->worst_row &&
	       near(x->worst, y->worst);
}

static void
piece_of(struct pair *p, const double *a, const double *b, size_t n, bool floats,
         const struct pair_place *at)
{
	double x[PAIR_VALUES], y[PAIR_VALUES];
	float u[PAIR_VALUES], v[PAIR_VALUES];
	size_t i;

	for (i = 0; i < n; i++) {
		u[i] = (float)(x[i] = a[i]);
		v[i] = (float)(y[i] = b[i]);
	}
	if (floats)
		pair_of_floats(p, u, v, n, at);
	else
		pair_of(p, x, y, n, at);
}

/* Pieces of at most `most` values, joined. */
static void
fast_drift(const double *a, const double *b, size_t n, size_t row, size_t most, bool floats,
           struct drift *to)
{
	struct pair all = { 0 }, piece;
	size_t i, k;

	for (i = 0; i < n; i += k) {
		k = 1 + chance() % most;
		k = k < n - i ? k : n - i;
		piece_of(&piece, a + i, b + i, k, floats,
		         &(struct pair_place){ .index = i, .row = row, .tolerance = 0.25,
		                               .known = all.most, .histograms = true });
		pair_join(&all, &piece);
	}
	pair_drift(&all, false, to);
}

static void
figures(void)
{
	static const size_t rows[] = { 1, 2, 3, 7, 64, 1000, 2048, 5000, 20000 };
	enum { N = 20000 };
	double *a = mem_array(N, sizeof *a), *b = mem_array(N, sizeof *b);
	const double odd[] = { NAN, INFINITY, -INFINITY, 1e200 };
	struct drift want, got;
	size_t i, k, round;

	if (!a || !b)
		exit(1);
	for (round = 0; round < 6; round++) {
		bool floats = round >= 3;

		for (i = 0; i < N; i++) {
			a[i] = round % 3 == 1 && i % 3 == 0 ? 0 : weight();
			b[i] = i % 5 == 0 ? a[i] : weight();
			/* Beyond the first row, values that are not finite, or whose squares are not. */
			if (round % 3 == 2 && i > 4000 && chance() % 97 == 0)
				a[i] = odd[chance() % 3];
			if (round % 3 == 2 && i > 4000 && chance() % 97 == 0)
				b[i] = i % 2 ? a[i] : odd[chance() % 3];
			a[i] = floats ? (float)a[i] : a[i];
			b[i] = floats ? (float)b[i] : b[i];
		}
		for (k = 0; k < sizeof rows / sizeof *rows; k++) {
			bool same = true;

			slow_drift(a, b, N, rows[k], 0.25, &want);
			for (i = 1; i <= PAIR_VALUES; i = i * 5 + 1) {
				fast_drift(a, b, N, rows[k], i, floats, &got);
				same &= same_drift(&want, &got);
			}
			test_ok(same, "figures of round %zu, rows of %zu, in pieces of %s", round, rows[k],
			        floats ? "floats" : "doubles");
		}
	}
	free(a);
	free(b);
}

static void
distributions(void)
{
	struct histogram a = { 0 }, b = { 0 };
	const double x[] = { 0, 0, 0, 1 }, y[] = { 0, 1, 1, 1 };
	double want;

	test_ok(pair_divergence(&a, &b) == 0, "KL of nothing is 0");
	histogram_fill(&a, x, 4, 0, 1);
	test_ok(pair_divergence(&a, &a) == 0, "KL of a distribution and itself is 0");
	histogram_fill(&b, y, 4, 0, 1);
	/* Two of the bins have values; each has half a one more. */
	want = (3.5 * log(3.5 / 1.5) + 1.5 * log(1.5 / 3.5)) / (4 + 0.5 * a.bins);
	test_ok(near(pair_divergence(&a, &b), want), "KL: %.9g is %.9g", pair_divergence(&a, &b),
	        want);
}

/* ---- two tensors ---- */

static struct tensor *
make_tensor(const char *name, const char *type, unsigned ndim, const uint64_t *dims)
{
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new(name, strlen(name), dtype_by_name(type), ndim, dims,
	                              TENSOR_OWN_SIZE, "test", &e);

	if (!t) {
		printf("Bail out! %s: %s\n", name, e.fact);
		exit(1);
	}
	return t;
}

/* Bytes whose values are finite in most types. */
static void
fill(const struct tensor *t, uint8_t *p)
{
	size_t i;

	for (i = 0; i < tensor_bytes(t); i++)
		p[i] = (uint8_t)(chance() & 0x3f);
}

static uint8_t *
make_bytes(const struct tensor *t)
{
	uint8_t *p = mem_array((size_t)tensor_bytes(t) + 1, 1);

	if (!p)
		exit(1);
	fill(t, p);
	return p;
}

static double *
decoded(const struct tensor *t, const uint8_t *p)
{
	size_t n = (size_t)tensor_items(t), head = tensor_type(t)->head;
	double *v = mem_array(n + 1, sizeof *v);

	if (!v)
		exit(1);
	values_double(tensor_type(t), p, p + head, v, n);
	return v;
}

/* Compare, with b in pieces of n bytes, or from memory if n is 0. */
static enum compare_result
compare(struct compare *c, const struct tensor *a, const uint8_t *p, const struct tensor *b,
        const uint8_t *q, size_t n)
{
	const struct extent held = { .where = EXTENT_MEMORY, .p = p };
	struct extent other = { .where = EXTENT_MEMORY, .p = q };
	enum compare_result to = COMPARE_UNKNOWN;
	struct err e = ERR_INIT;
	size_t i, k;
	int r = compare_begin(c, a, &held, b, &e);

	if (r == 0 && n == 0)
		r = compare_extent(c, &other, "a", "b", &e);
	for (i = 0; r == 0 && n > 0 && i < tensor_bytes(b); i += k) {
		k = (size_t)num_min(n, tensor_bytes(b) - i);
		r = compare_add(c, q + i, k, "a", &e);
	}
	if (r < 0 || compare_end(c, &to, "a", &e) < 0)
		printf("# %s\n", e.fact);
	return to;
}

/* The figures of a type, for bytes that differ from some place on. */
static bool
type_agrees(struct compare *c, const struct tensor *a, const struct tensor *b)
{
	uint8_t *p = make_bytes(a), *q = make_bytes(b);
	double *x = decoded(a, p), *y = decoded(b, q);
	struct drift want, got;
	static const size_t pieces[] = { 0, 777, 1 << 20 };
	bool same = true;
	size_t i;

	slow_drift(x, y, (size_t)tensor_items(a), (size_t)tensor_row(a), c->tolerance, &want);
	for (i = 0; i < 3; i++) {
		same &= compare(c, a, p, b, q, pieces[i]) == COMPARE_FIGURES;
		pair_drift(&c->pair, false, &got);
		same &= same_drift(&want, &got);
	}
	if (tensor_type(a) == tensor_type(b)) {
		size_t at = (size_t)tensor_bytes(a) * 3 / 4;

		free(y);
		memcpy(q, p, (size_t)tensor_bytes(a));
		for (i = 0; i < 3; i++)
			same &= compare(c, a, p, b, q, pieces[i]) == COMPARE_SAME;
		q[at] ^= 0x15;
		y = decoded(b, q);
		slow_drift(x, y, (size_t)tensor_items(a), (size_t)tensor_row(a), c->tolerance, &want);
		for (i = 0; i < 3; i++) {
			same &= compare(c, a, p, b, q, pieces[i]) == COMPARE_FIGURES;
			pair_drift(&c->pair, false, &got);
			same &= same_drift(&want, &got);
		}
	}
	free(p);
	free(q);
	free(x);
	free(y);
	return same;
}

static void
types(void)
{
	const uint64_t dims[2] = { 23, 2048 };
	struct err e = ERR_INIT;
	struct compare c;
	unsigned i;

	if (compare_open(&c, 3, 0.25, &e) < 0)
		exit(1);
	for (i = 0; dtype_row(i); i++) {
		struct tensor *a, *b;

		if (!values_known(dtype_row(i)))
			continue;
		a = make_tensor("a", dtype_row(i)->name, 2, dims);
		b = make_tensor("b", "F32", 2, dims);
		test_ok(type_agrees(&c, a, a), "%s against itself", dtype_row(i)->name);
		test_ok(type_agrees(&c, a, b), "%s against F32", dtype_row(i)->name);
		tensor_free(a);
		tensor_free(b);
	}
	compare_close(&c);
}

/* Long tensors, whose difference is in the last of several batches. */
static void
batches(void)
{
	const uint64_t dims[2] = { 1100, 2048 };
	struct tensor *t = make_tensor("t", "I8", 2, dims);
	uint8_t *p = make_bytes(t), *q = make_bytes(t);
	struct err e = ERR_INIT;
	struct drift want = { 0 }, got = { 0 };
	struct compare c;
	size_t n;

	memcpy(q, p, (size_t)tensor_bytes(t));
	q[tensor_bytes(t) - 3] ^= 1;
	if (compare_open(&c, 2, 0, &e) < 0)
		exit(1);
	for (n = 0; n < 3; n++) {
		test_ok(compare(&c, t, p, t, q, n * 1000003) == COMPARE_FIGURES &&
		        c.pair.count == tensor_items(t) && c.pair.equal == c.pair.count - 1 &&
		        c.pair.most == 1 && c.pair.most_at == tensor_bytes(t) - 3, "batches, %zu", n);
		pair_drift(&c.pair, false, n ? &got : &want);
		test_ok(n == 0 || (near(want.cosine, got.cosine) && want.rmse == got.rmse &&
		                   want.kl == got.kl && got.worst_row == 1099), "the same figures");
	}
	compare_close(&c);
	free(p);
	free(q);
	tensor_free(t);
}

/* ---- two models ---- */

/* The same bytes for the same size. */
static void
add(struct memory *m, const char *name, const char *type, uint64_t x, uint64_t y)
{
	const uint64_t dims[2] = { x, y };
	struct tensor *t = make_tensor(name, type, 2, dims);

	state = 4711 + x * y;
	fill(t, memory_add(m, t));
}

static bool
run(struct diff *d, struct memory *a, struct memory *b, size_t flowing, unsigned jobs)
{
	const struct diff_options o = { .jobs = jobs, .tolerance = DIFF_TOLERANCE,
		.limits = { -1, -1, -1, -1 } };
	struct memory *m[2] = { a, b };
	struct err e = ERR_INIT;
	size_t i;
	int r;

	a->next = b->next = 0;
	r = diff_open(d, &o, &a->source, &b->source, flowing, &e);
	for (i = 0; r == 0 && i < 2; i++) {
		size_t side = i == 0 ? 1 - flowing : flowing;
		struct flow f = { 0 };

		r = diff_hooks(d, side, &f, &e) < 0 ? -1 : flow_run(&m[side]->source, NULL, &f, &e);
	}
	if (r == 0)
		r = diff_finish(d, &e);
	if (r < 0)
		printf("# %s: %s\n", e.object, e.fact);
	return r == 0;
}

/* The report must not depend on which model is held, nor on threads. */
static void
kinds(void)
{
	static const char want[] =
		"Similarity: 40.50% (POOR), 6 of 7 tensors differ: 1 changed, 1 added, 1 removed, "
		"1 renamed, 1 retyped, 2 reshaped\n";
	struct memory a, b;
	struct diff d;
	size_t flowing;
	unsigned jobs;

	memory_open(&a);
	memory_open(&b);
	add(&a, "same", "F32", 10, 64);
	add(&a, "gone", "F32", 5, 64);
	add(&a, "old", "F16", 5, 64);
	add(&a, "changed", "F32", 10, 64);
	add(&a, "shape", "I8", 10, 64);
	add(&a, "size", "I8", 10, 64);
	add(&b, "changed", "BF16", 10, 64);
	add(&b, "new", "F16", 5, 64);
	add(&b, "size", "I8", 20, 64);
	add(&b, "more", "F32", 20, 64);
	add(&b, "shape", "I8", 64, 10);
	add(&b, "same", "F32", 10, 64);
	for (flowing = 0; flowing < 2; flowing++)
		for (jobs = 1; jobs < 4; jobs += 2) {
			struct buf text = { 0 };

			test_ok(run(&d, &a, &b, flowing, jobs), "a diff of two models");
			diff_put_summary(&text, &d);
			test_ok(buf_string(&text) && strncmp((char *)text.p, want, strlen(want)) == 0,
			        "%zu flows, %u threads: %.*s", flowing, jobs,
			        (int)strcspn((char *)text.p, "\n"), (char *)text.p);
			buf_free(&text);
			diff_close(&d);
		}
	memory_close(&a);
	memory_close(&b);
}

/* A tensor whose content is the number in its name. */
static void
add_numbered(struct memory *m, const char *name)
{
	const uint64_t dims[1] = { 16 };

	memcpy(memory_add(m, make_tensor(name, "F32", 1, dims)), name, 8);
}

/* As many renamed tensors as fit into a plan of some megabytes: the search for them must not be
 * quadratic. Each tensor is unlike the others of its size. */
static void
many(void)
{
	enum { N = 30000 };
	struct memory a, b;
	struct diff d;
	clock_t begun;
	size_t i;

	memory_open(&a);
	memory_open(&b);
	for (i = 0; i < N; i++) {
		char name[32];

		snprintf(name, sizeof name, "%08zu a", i);
		add_numbered(&a, name);
		snprintf(name, sizeof name, "%08zu b", (i * 7919 + 13) % N);
		add_numbered(&b, name);
	}
	begun = clock();
	test_ok(run(&d, &a, &b, 1, 2) && d.counts.renamed == N && d.tensor_count == N,
	        "%d renamed tensors are found", N);
	test_ok((double)(clock() - begun) / CLOCKS_PER_SEC < 20, "in some seconds");
	test_ok(strcmp(diff_name_of(&d, 1, d.tensors[5].b), "00000005 b") == 0, "by content");
	diff_close(&d);
	memory_close(&a);
	memory_close(&b);
}

int
main(void)
{
	figures();
	distributions();
	types();
	batches();
	kinds();
	many();
	return test_done();
}
