/* merge_reference: the methods of merging, slowly, from the papers, for tests.
 *
 *     merge_reference METHOD SEED [NAME=VALUE ...] COLUMNS NAME FILE... [-- BASE]
 *
 * Each FILE holds one tensor as F32, little-endian, in rows of COLUMNS values; NAME is its name,
 * for random numbers. Prints the result as F32. Everything is computed in double precision on whole
 * arrays, except that d = x - b is rounded to single precision, as documented. Values: weight=A,B,…
 * density=X, gamma=X, epsilon=X, lambda=X, t=X, topk=X, normalize=0|1, rescale=0|1, rows=1,
 * columns=1, compat=1, work=f32|f16|bf16.
 *
 * With compat=1, the steps are those that mergekit publishes, in single precision, and each result of
 * a step is rounded to the type of the work.
 *
 *     merge_reference near A B
 *
 * Prints the number of values of two results that differ, and the largest difference in units of
 * the last place; 1 if two values are farther apart than one unit.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = 8 };

static double weight[MODELS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
static double density = 1, gamma_share = 0.01, epsilon = 0.15, lambda = 1, t_value, topk = 1;
static int normalize = -1, rescale = -1, by_rows, by_columns, compat, work_bits = 24;

static size_t n, columns, models;
static double *x[MODELS], *base, *result;
static uint64_t seed;
static const char *name;

_Noreturn static void
fail(const char *what)
{
	fprintf(stderr, "merge_reference: %s\n", what);
	exit(2);
}

/* Arrays live until the program ends. */
static double *
array(void)
{
	static double *all[2 * MODELS];
	static size_t made;
	double *p = made < sizeof all / sizeof *all ? calloc(n + 1, sizeof *p) : NULL;

	if (!p)
		fail("no memory");
	all[made++] = p;
	return p;
}

static double *
load(const char *path)
{
	FILE *f = fopen(path, "rb");
	double *p;
	size_t i;
	float v;

	if (!f)
		fail(path);
	fseek(f, 0, SEEK_END);
	n = (size_t)ftell(f) / 4;
	rewind(f);
	p = array();
	for (i = 0; i < n; i++) {
		if (fread(&v, 4, 1, f) != 1)
			fail("short");
		p[i] = v;
	}
	fclose(f);
	return p;
}

/* ---- the type of the work ---- */

/* v with a significand of work_bits, halves to even. */
static float
rounded(double v)
{
	float single = (float)v;
	double unit;
	int power;

	if (work_bits == 24 || single == 0 || !isfinite(single))
		return single;
	frexp(single, &power);
	if (work_bits == 11 && power < -13)
		power = -13; /* below the normal numbers of F16 */
	unit = ldexp(1, power - work_bits);
	return (float)(nearbyint(single / unit) * unit);
}

/* ---- random numbers, as documented in lib/core/philox.h ---- */

static uint64_t
hash(uint64_t h, uint8_t byte)
{
	return (h ^ byte) * UINT64_C(1099511628211);
}

static uint64_t
key_of(size_t model)
{
	uint64_t h = UINT64_C(14695981039346656037);
	const char *p;
	int i;

	for (i = 0; i < 64; i += 8)
		h = hash(h, (uint8_t)(seed >> i));
	for (i = 0; i < 64; i += 8)
		h = hash(h, (uint8_t)((uint64_t)model >> i));
	for (p = name; *p; p++)
		h = hash(h, (uint8_t)*p);
	h ^= h >> 30;
	h *= UINT64_C(0xBF58476D1CE4E5B9);
	h ^= h >> 27;
	h *= UINT64_C(0x94D049BB133111EB);
	return h ^ (h >> 31);
}

/* Number `index` of a key: Philox4x32-10. */
static uint32_t
random_at(uint64_t key, uint64_t index)
{
	uint32_t c[4] = { (uint32_t)(index / 4), (uint32_t)(index / 4 >> 32), 0, 0 };
	uint32_t k[2] = { (uint32_t)key, (uint32_t)(key >> 32) };
	int round;

	for (round = 0; round < 10; round++) {
		uint64_t p0 = (uint64_t)c[0] * 0xD2511F53u, p1 = (uint64_t)c[2] * 0xCD9E8D57u;
		uint32_t next[4] = { (uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1,
			(uint32_t)(p0 >> 32) ^ c[3] ^ k[1], (uint32_t)p0 };

		memcpy(c, next, sizeof c);
		k[0] += 0x9E3779B9u;
		k[1] += 0xBB67AE85u;
	}
	return c[index % 4];
}

/* ---- order by magnitude ---- */

static const double *sorting;

/* The largest first; among equals, the lower index. */
static int
by_size(const void *a, const void *b)
{
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	double p = fabs(sorting[i]), q = fabs(sorting[k]);

	return p != q ? (p < q ? 1 : -1) : (i > k) - (i < k);
}

static size_t *
order(const double *v, size_t count)
{
	size_t *p = calloc(count + 1, sizeof *p), i;

	for (i = 0; i < count; i++)
		p[i] = i;
	sorting = v;
	qsort(p, count, sizeof *p, by_size);
	return p;
}

/* Keep those with ranks [from, to) of v in all of these arrays. */
static void
keep_ranks(const double *v, size_t from, size_t to, double **of, size_t count)
{
	size_t *p = order(v, n), i, k;

	for (i = 0; i < n; i++)
		if (i < from || i >= to)
			for (k = 0; k < count; k++)
				of[k][p[i]] = 0;
	free(p);
}

static size_t
share(double part)
{
	size_t k = (size_t)(part * (double)n);

	return k == 0 && part > 0 ? 1 : k;
}

/* ---- dropping ---- */

static void
drop(const char *method, double *d, size_t model)
{
	uint64_t key = key_of(model);
	size_t i, k, top;

	if (density >= 1)
		return;
	if (strcmp(method, "ties") == 0) {
		keep_ranks(d, 0, share(density), &d, 1);
	} else if (strncmp(method, "breadcrumbs", 11) == 0) {
		top = (size_t)(gamma_share * (double)n);
		if (top > n - share(density))
			top = n - share(density);
		/* mergekit takes those up to the top of a list, and up to 0 there are none. */
		keep_ranks(d, top, compat && top == 0 ? 0 : top + share(density), &d, 1);
	} else if (strncmp(method, "dare", 4) == 0) {
		for (i = 0; i < n; i++)
			d[i] = random_at(key, i) < floor(density * 4294967296.0)
				? d[i] / (rescale == 0 || compat ? 1 : density) : 0;
	} else if (strncmp(method, "della", 5) == 0) {
		for (i = 0; i < n; i += columns) {
			size_t *p = order(d + i, columns);

			for (k = 0; k < columns; k++) {
				size_t at = i + p[columns - 1 - k];
				double chance = density - epsilon +
				                2 * epsilon * (double)k / (double)(columns - 1);

				d[at] = random_at(key, at) < floor(chance * 4294967296.0)
					? (float)(d[at] / (rescale == 0 || compat ? 1 : chance)) : 0;
			}
			free(p);
		}
	}
}

/* ---- mixing ---- */

static void
mix(int elects, int divides)
{
	double all = 0;
	size_t i, k;

	for (k = 0; k < models; k++)
		all += weight[k];
	for (i = 0; i < n; i++) {
		double vote = 0, sum = 0, part = 0;

		for (k = 0; k < models; k++)
			vote += x[k][i];
		for (k = 0; k < models; k++)
			if (!elects || x[k][i] * vote > 0) {
				sum += weight[k] * x[k][i];
				part += weight[k];
			}
		if (divides && part != 0)
			sum /= elects ? part : all;
		result[i] = base ? base[i] + lambda * sum : sum;
	}
}

/* ---- as mergekit ---- */

static double
dot(const double *a, const double *b, size_t from, size_t count, size_t step)
{
	long double sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += (long double)a[from + i * step] * b[from + i * step];
	return (double)sum;
}

static double
magnitudes(const double *d)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += fabs(d[i]);
	return sum;
}

/* Drop, and restore the sum of the magnitudes. */
static void
drop_compat(const char *method, double *d, size_t model)
{
	int random = strncmp(method, "dare", 4) == 0 || strncmp(method, "della", 5) == 0;
	double before = magnitudes(d), after;
	size_t i;

	drop(method, d, model);
	after = magnitudes(d);
	if (!random || rescale == 0 || before < 1e-8 || after < 1e-8)
		return;
	for (i = 0; i < n; i++)
		d[i] = rounded((float)d[i] * rounded(before / after));
}

static float
mix_compat_at(size_t i, int elects, int divides)
{
	float z[MODELS], vote = 0, sum = 0, part = 0, result_at;
	size_t k;

	for (k = 0; k < models; k++) {
		z[k] = rounded((float)x[k][i] * rounded(weight[k]));
		vote += z[k];
	}
	vote = rounded(vote);
	for (k = 0; k < models; k++)
		if (!elects || (vote >= 0 ? z[k] > 0 : z[k] < 0)) {
			sum += z[k];
			part += rounded(weight[k]);
		}
	sum = rounded(sum);
	part = rounded(part);
	if (elects ? part == 0 : base && fabsf(part) < 1e-8f)
		part = 1;
	result_at = divides ? rounded(sum / part) : sum;
	if (base && lambda != 1)
		result_at = rounded(result_at * (float)lambda);
	return base ? rounded((float)base[i] + result_at) : result_at;
}

/* The most varied values; weights by squares; the election without weights. */
static void
sce_compat(void)
{
	float share_of[MODELS], sum, part, vote;
	double all = 0;
	size_t i, k;

	for (k = 0; k < models; k++) {
		weight[k] = dot(x[k], x[k], 0, n, 1) / (double)n;
		all += weight[k];
	}
	for (k = 0; k < models; k++)
		share_of[k] = rounded(all < 1e-6 ? 1 / (double)models : weight[k] / all);
	for (i = 0; i < n; i++) {
		sum = part = vote = 0;
		for (k = 0; k < models; k++)
			vote += (float)x[k][i];
		vote = rounded(vote);
		for (k = 0; k < models; k++)
			if (vote >= 0 ? x[k][i] > 0 : x[k][i] < 0) {
				sum += rounded((float)x[k][i] * share_of[k]);
				part += share_of[k];
			}
		part = rounded(part);
		sum = rounded(rounded(sum) / (part < 1e-6f ? 1e-6f : part));
		result[i] = rounded((float)base[i] + sum);
	}
}

/* ---- angles ---- */

static void
arc(double t, size_t from, size_t count, size_t step)
{
	double lengths = sqrt(dot(x[0], x[0], from, count, step) * dot(x[1], x[1], from, count, step));
	double angle = acos(dot(x[0], x[1], from, count, step) / lengths), p = 1 - t, q = t;
	size_t i;

	if (sin(angle) >= 1e-8 && !(compat && t == t_value && fabs(cos(angle)) > 0.9995)) {
		p = sin((1 - t) * angle) / sin(angle);
		q = sin(t * angle) / sin(angle);
	}
	for (i = 0; i < count; i++)
		result[from + i * step] = p * x[0][from + i * step] + q * x[1][from + i * step] +
		                          (base ? base[from + i * step] : 0);
}

static void
arcs(double t)
{
	size_t i;

	if (by_rows)
		for (i = 0; i < n; i += columns)
			arc(t, i, columns, 1);
	else if (by_columns)
		for (i = 0; i < columns; i++)
			arc(t, i, n / columns, columns);
	else
		arc(t, 0, n, 1);
}

static void
stock(size_t from, size_t count)
{
	double sum = 0, pairs = 0, c, t;
	size_t i, k;

	for (i = 0; i < models; i++)
		for (k = i + 1; k < models; k++, pairs++)
			sum += dot(x[i], x[k], from, count, 1) /
			       sqrt(dot(x[i], x[i], from, count, 1) * dot(x[k], x[k], from, count, 1));
	c = sum / pairs;
	t = (double)models * c / (1 + ((double)models - 1) * c);
	for (i = 0; i < count; i++) {
		double mean = 0;

		for (k = 0; k < models; k++)
			mean += x[k][from + i] / (double)models;
		result[from + i] = base[from + i] + t * mean;
	}
}

/* One step from the weighted mean of the directions, by the vectors themselves. */
static void
multislerp(void)
{
	double *mean = array(), *step = array(), norm[MODELS], all = 0, size, length = 0, c;
	size_t i, k;

	for (k = 0; k < models; k++)
		all += weight[k];
	for (k = 0; k < models; k++) {
		norm[k] = sqrt(dot(x[k], x[k], 0, n, 1));
		length += weight[k] / all * norm[k];
		for (i = 0; i < n; i++)
			mean[i] += weight[k] / all * x[k][i] / (norm[k] + 1e-8);
	}
	size = sqrt(dot(mean, mean, 0, n, 1));
	for (i = 0; i < n; i++)
		mean[i] /= size;
	for (k = 0; k < models; k++) {
		c = dot(mean, x[k], 0, n, 1) / (norm[k] + 1e-8);
		for (i = 0; i < n; i++)
			step[i] += weight[k] / all * (x[k][i] / (norm[k] + 1e-8) - c * mean[i]);
	}
	size = sqrt(dot(step, step, 0, n, 1)) + 1e-8;
	for (i = 0; i < n; i++)
		result[i] = length * (cos(size) * mean[i] + sin(size) * step[i] / size) +
		            (base ? base[i] : 0);
}

/* The mean on the sphere by the vectors themselves. */
static void
karcher(void)
{
	double *u = array(), *step = array(), norm[MODELS], length = 0, size;
	size_t i, k, turn;

	for (k = 0; k < models; k++) {
		norm[k] = sqrt(dot(x[k], x[k], 0, n, 1));
		length += norm[k] / (double)models;
		for (i = 0; i < n; i++)
			u[i] += x[k][i] / norm[k] / (double)models;
	}
	size = sqrt(dot(u, u, 0, n, 1));
	for (i = 0; i < n; i++)
		u[i] /= size;
	for (turn = 0; turn < 10; turn++) {
		memset(step, 0, n * sizeof *step);
		for (k = 0; k < models; k++) {
			double c = dot(u, x[k], 0, n, 1) / norm[k], a = acos(c > 1 ? 1 : c);

			for (i = 0; a >= 1e-5 && i < n; i++)
				step[i] += a / sin(a) * (x[k][i] / norm[k] - c * u[i]) / (double)models;
		}
		size = sqrt(dot(step, step, 0, n, 1));
		if (size < 1e-5)
			break;
		for (i = 0; i < n; i++)
			u[i] = cos(size) * u[i] + sin(size) * step[i] / size;
		size = sqrt(dot(u, u, 0, n, 1));
		for (i = 0; i < n; i++)
			u[i] /= size;
	}
	for (i = 0; i < n; i++)
		result[i] = length * u[i];
}

static void
sce(void)
{
	double *spread = array(), sum = 0;
	size_t i, k, some = 0;

	for (i = 0; i < n; i++) {
		double mean = 0, square = 0;

		for (k = 0; k < models; k++)
			mean += x[k][i] / (double)models;
		for (k = 0; k < models; k++)
			square += (x[k][i] - mean) * (x[k][i] - mean) / (double)models;
		spread[i] = (float)square;
		some += spread[i] > 0;
	}
	if (topk < 1)
		keep_ranks(spread, 0, (size_t)(topk * (double)some), x, models);
	if (compat) {
		sce_compat();
		return;
	}
	for (k = 0; k < models; k++)
		sum += weight[k] = dot(x[k], x[k], 0, n, 1);
	for (k = 0; k < models; k++)
		weight[k] = sum > 0 ? weight[k] / sum : 1 / (double)models;
	lambda = 1;
	mix(1, 1);
}

/* ---- two results ---- */

static int
near(const char *a, const char *b)
{
	double *p = load(a), most = 0, unit;
	size_t count = n, differ = 0, i;
	double *q = load(b);

	if (n != count || n == 0)
		fail("different sizes");
	for (i = 0; i < n; i++) {
		if (p[i] == q[i] || (isnan(p[i]) && isnan(q[i])))
			continue;
		differ++;
		unit = nextafterf((float)fabs(p[i]), INFINITY) - fabs(p[i]);
		most = fmax(most, isfinite(p[i] - q[i]) ? fabs(p[i] - q[i]) / unit : INFINITY);
	}
	printf("%zu of %zu differ, by at most %g\n", differ, n, most);
	return most > 1;
}

/* ---- the command line ---- */

static void
set(const char *text)
{
	static const struct { const char *name; double *to; } numbers[] = {
		{ "density", &density }, { "gamma", &gamma_share }, { "epsilon", &epsilon },
		{ "lambda", &lambda }, { "t", &t_value }, { "topk", &topk },
	};
	static const struct { const char *name; int *to; } truths[] = {
		{ "normalize", &normalize }, { "rescale", &rescale }, { "rows", &by_rows },
		{ "columns", &by_columns }, { "compat", &compat },
	};
	const char *value = strchr(text, '=') + 1;
	size_t i, k = (size_t)(value - text) - 1;

	if (strncmp(text, "work=", 5) == 0)
		work_bits = strcmp(value, "f16") == 0 ? 11 : strcmp(value, "bf16") == 0 ? 8 : 24;
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strlen(numbers[i].name) == k && strncmp(numbers[i].name, text, k) == 0)
			*numbers[i].to = atof(value);
	for (i = 0; i < sizeof truths / sizeof *truths; i++)
		if (strlen(truths[i].name) == k && strncmp(truths[i].name, text, k) == 0)
			*truths[i].to = atoi(value);
	for (i = 0; strncmp(text, "weight", 6) == 0 && i < MODELS; i++) {
		weight[i] = atof(value);
		if (!strchr(value, ','))
			break;
		value = strchr(value, ',') + 1;
	}
}

static void
run(const char *method)
{
	int elects = strcmp(method, "ties") == 0 || strcmp(method, "dare_ties") == 0 ||
	             strcmp(method, "della") == 0 || strcmp(method, "breadcrumbs_ties") == 0;
	size_t i, k;

	for (i = 0; base && i < n; i++)
		base[i] = compat ? rounded(base[i]) : base[i];
	for (k = 0; k < models; k++)
		for (i = 0; i < n; i++) {
			x[k][i] = compat ? rounded(x[k][i]) : x[k][i];
			x[k][i] = base ? compat ? rounded((float)x[k][i] - (float)base[i])
			                        : (float)(x[k][i] - base[i]) : x[k][i];
		}
	for (k = 0; k < models; k++)
		(compat ? drop_compat : drop)(method, x[k], k);
	if (normalize < 0)
		normalize = strcmp(method, "ties") == 0 || strcmp(method, "della") == 0 ||
		            strcmp(method, "average") == 0 || strcmp(method, "weighted") == 0;
	if (strcmp(method, "slerp") == 0)
		arcs(t_value);
	else if (strcmp(method, "nuslerp") == 0)
		arcs(weight[1] / (weight[0] + weight[1]));
	else if (strcmp(method, "model_stock") == 0)
		for (i = 0; i < n; i += by_rows ? columns : n)
			stock(i, by_rows ? columns : n);
	else if (strcmp(method, "karcher") == 0)
		karcher();
	else if (strcmp(method, "multislerp") == 0)
		multislerp();
	else if (strcmp(method, "sce") == 0)
		sce();
	else if (compat)
		for (i = 0; i < n; i++)
			result[i] = (double)mix_compat_at(i, elects, normalize);
	else
		mix(elects, normalize);
}

int
main(int argc, char **argv)
{
	int i = 3;
	size_t k;

	if (argc == 4 && strcmp(argv[1], "near") == 0)
		return near(argv[2], argv[3]);
	if (argc < 6)
		fail("too few arguments");
	seed = strtoull(argv[2], NULL, 10);
	while (strchr(argv[i], '='))
		set(argv[i++]);
	columns = strtoull(argv[i++], NULL, 10);
	name = argv[i++];
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		x[models++] = load(argv[i]);
	if (i + 1 < argc)
		base = load(argv[i + 1]);
	result = array();
	run(argv[1]);
	for (k = 0; k < n; k++) {
		float v = (float)result[k];

		fwrite(&v, 4, 1, stdout);
	}
	return 0;
}
