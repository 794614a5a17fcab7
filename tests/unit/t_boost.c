/* t_boost: the scores, predictions and leaves that LightGBM and XGBoost recorded (tests/data/boost): linear
 * leaves, forests whose scores are sums, thresholds beyond 1e300, several targets. */
#include <math.h>
#include <string.h>

#include "predict/contrib.h"
#include "predict/form.h"
#include "recorded.h"
#include "test.h"

#define FOLDER "tests/data/boost/"

#define ROWS 24u
#define COLUMNS 5u
#define MOST 16u /* numbers of a row's answer */

static const struct {
	const char *name;
	double slack; /* of what comes from a link, whose exp differs between C libraries */
	bool lines;
} models[] = {
	{ "linear.txt", 0, true }, { "linear.json", 0, true }, { "linear_one.txt", 0, true },
	{ "forest.txt", 1e-15, false }, { "forest_three.txt", 1e-15, false }, { "infinite.json", 0, false },
	{ "sets.txt", 0, false }, { "lines.model", 0, false }, { "targets.model", 1e-7, false },
};

static void
read_rows(double *to, size_t features)
{
	size_t n, i, k;
	char *p = recorded_text(FOLDER, "rows", ".csv", &n), *end;

	for (i = 0; i < ROWS; i++, p++)
		for (k = 0; k < COLUMNS; k++) {
			double v = strtod(p, &end);

			/* The last models clip the first four columns, and leave out the fifth. */
			v = features < COLUMNS ? fmax(-9, fmin(9, v)) : v;
			if (k < features)
				to[i * features + k] = end == p ? (double)NAN : v;
			p = end + (k + 1 < COLUMNS);
		}
}

static int
load(struct predictor *m, const char *name, struct err *e)
{
	size_t n;
	const uint8_t *p = (const uint8_t *)recorded_text(FOLDER, name, "", &n);
	const struct predict_reader *reader = predict_probe(p, n);

	*m = (struct predictor){ .covers = true };
	return reader ? predict_read(m, reader, p, n, name, e) : err_set(e, ERR_FORMAT, name, "unknown");
}

/* The numbers from p to a bar or the end of the line, compared with n. The place behind them, NULL: they
 * differ. */
static char *
same(char *p, const double *v, size_t n, double slack)
{
	size_t i;
	char *end = p;

	for (i = 0; i < n; i++, p = end + (*end == ',')) {
		double d = strtod(p, &end);

		if (end == p || !(d == v[i] || fabs(d - v[i]) <= slack || (isnan(d) && isnan(v[i]))))
			return NULL;
	}
	return *end == '|' || *end == '\n' ? end + 1 : NULL;
}

/* The number of rows that are as recorded, if they are computed `at_once` at a time. */
static size_t
compare(const struct predictor *m, const char *name, double slack, size_t at_once)
{
	double rows[ROWS * COLUMNS], scores[ROWS * MOST], linked[MOST] = { 0 }, numbers[MOST];
	uint32_t leaves[ROWS * MOST];
	size_t i, k, n, right = 0, trees = predict_trees(m);
	char *p;

	if (m->outputs > MOST || trees > MOST)
		return 0;
	read_rows(rows, m->features);
	for (i = 0; i < ROWS; i += at_once)
		predict_rows(m, rows + i * m->features, at_once, true, scores + i * m->outputs,
		             trees ? leaves + i * trees : NULL);
	p = recorded_text(FOLDER, name, ".out", &n);
	for (i = 0; i < ROWS && p; i++) {
		predict_link(m, scores + i * m->outputs, linked);
		for (k = 0; k < trees; k++)
			numbers[k] = leaves[i * trees + k];
		p = same(p, scores + i * m->outputs, m->outputs, 0);
		p = p ? same(p, linked + (m->task == PREDICT_BINARY), m->outputs, slack) : NULL;
		p = p ? same(p, numbers, trees, 0) : NULL;
		right += p != NULL;
	}
	return right;
}

static void
test_models(void)
{
	size_t i, all, one, ranks;

	for (i = 0; i < sizeof models / sizeof *models; i++) {
		struct err e = ERR_INIT, told = ERR_INIT;
		struct predictor m;
		struct form form;
		int r = load(&m, models[i].name, &e);

		all = r == 0 ? compare(&m, models[i].name, models[i].slack, ROWS) : 0;
		one = r == 0 ? compare(&m, models[i].name, models[i].slack, 1) : 0;
		if (r == 0)
			predict_expect(&m, 1u << 20);
		ranks = r == 0 ? compare(&m, models[i].name, models[i].slack, ROWS) : 0;
		test_ok(all == ROWS && one == ROWS && ranks == ROWS, "%s: as recorded", models[i].name);
		if (all != ROWS || one != ROWS || ranks != ROWS)
			printf("# %s%s %zu %zu %zu of %u rows\n", e.object, e.fact, all, one, ranks, ROWS);
		if (r == 0 && models[i].lines) {
			test_ok(contrib_begin(&m, &told) < 0 && told.code == ERR_USAGE, "%s: contributions are refused",
			        models[i].name);
			told = (struct err)ERR_INIT;
			test_ok(form_make(&m, "m", &form, &told) < 0 && told.code == ERR_FORMAT, "%s: and tensors",
			        models[i].name);
			form_free(&form);
		}
		predictor_free(&m);
	}
}

int
main(void)
{
	test_models();
	return test_done();
}
