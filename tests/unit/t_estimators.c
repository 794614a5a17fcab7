/* t_estimators: the models of tests/data/predict, which scikit-learn trained, predict what it recorded
 * (make.py there; tests/data/skops has some in files of skops): the same labels, and numbers within 1e-6. A row alone and the same row among others
 * have the same bits. */
#include <math.h>
#include <string.h>

#include "forms.h"
#include "predict/near.h"
#include "predict/predict.h"
#include "predict/rows/rows.h"
#include "recorded.h"
#include "test.h"

#define FOLDER "tests/data/predict/"

/* ---- what was recorded ---- */

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

/* Whether the numbers of a text, after any separators, are these. */
static bool
are_numbers(const char *text, const double *v, size_t n)
{
	char *end;
	size_t i;

	for (i = 0; i < n; i++, text = end + (*end == ',')) {
		double x = strtod(text, &end);

		if (end == text || !near(v[i], x))
			return false;
	}
	return *text == 0;
}

static bool
is_sparse(const char *text, const struct step_rows *x, size_t row)
{
	size_t i;
	char *end;

	for (i = step_from(x, row); i < step_from(x, row + 1); i++, text = end + (*end == ' ')) {
		if (strtoul(text, &end, 10) != step_column(x, i) || *end != ':')
			return false;
		if (!near(*step_value(x, i), strtod(end + 1, &end)))
			return false;
	}
	return *text == 0;
}

static bool
is_label(const struct predictor *m, const char *text, const double *scores)
{
	size_t k = predict_label(m, scores);

	return m->labels ? strcmp(m->labels[k], text) == 0 : strtoul(text, NULL, 10) == k;
}

/* Whether a line "PREDICTION|SCORES|PROBABILITIES" is what the scores of a row give. */
static bool
agrees(const struct predictor *m, char *line, const double *scores)
{
	char *raw = strchr(line, '|'), *proba = raw ? strchr(raw + 1, '|') : NULL;
	double linked[64] = { 0 };

	if (!proba || predict_room(m) > 64)
		return false;
	*raw++ = *proba++ = 0;
	predict_link(m, scores, linked);
	if (m->task == PREDICT_VALUE ? !are_numbers(line, linked, m->outputs) : !is_label(m, line, scores))
		return false;
	if (*raw && !are_numbers(raw, scores, m->outputs))
		return false;
	return !*proba || are_numbers(proba, linked, m->classes);
}

/* ---- one model ---- */

#define ROWS 24

struct rows_of {
	struct step_rows rows, spare;
	struct step_text texts[ROWS];
	struct buf pool;
	double scores[ROWS * 64];
};

static int
take_rows(const struct predictor *m, char *text, struct rows_of *to, struct err *e)
{
	struct rows r = { .m = m, .where = "rows", .form = m->texts ? ROWS_TEXT : ROWS_CSV };
	size_t n;
	char *line;
	bool missing = false;
	int status = step_rows_begin(&to->rows, ROWS, m->features, e);

	for (n = 0; n < ROWS && status == 0 && (line = recorded_line(&text)); n++)
		if (m->texts)
			to->texts[n] = (struct step_text){ line, strlen(line) };
		else if ((n == 0 && rows_begin(&r, line, strlen(line), 0, e) < 0) ||
		         rows_read(&r, line, strlen(line), n + 1, step_row(&to->rows, n), &missing, &to->pool, e) < 0)
			status = -1;
	to->rows.n = n;
	to->rows.texts = m->texts ? to->texts : NULL;
	to->rows.pool = &to->pool;
	rows_free(&r);
	return status;
}

/* Computes the last row alone. */
static bool
same_alone(const struct predictor *m, const struct rows_of *all, const double *last, struct err *e)
{
	struct step_rows one = { .n = 0 }, spare = { .n = 0 };
	double scores[64] = { 0 };
	bool same = m->sparse;

	if (!same && step_rows_begin(&one, 1, m->features, e) == 0) {
		if (m->texts)
			one.texts = &all->texts[ROWS - 1];
		else
			memcpy(step_row(&one, 0), last, m->features * sizeof *last);
		one.pool = &all->pool;
		same = predict_block(m, &one, &spare, true, scores, NULL, e) == 0 &&
		       memcmp(scores, all->scores + (ROWS - 1) * m->outputs,
		              m->outputs * sizeof *scores) == 0;
	}
	step_rows_free(&one);
	step_rows_free(&spare);
	return same;
}

static int
check(const struct predictor *m, char *text, char *expected, struct err *e)
{
	struct rows_of *r = calloc(1, sizeof *r);
	double last[64] = { 0 };
	size_t i;
	char *line;
	int wrong = r && take_rows(m, text, r, e) == 0 && r->rows.n == ROWS ? 0 : 1000;

	if (wrong == 0 && !m->texts)
		memcpy(last, step_row(&r->rows, ROWS - 1), m->features * sizeof *last);
	if (wrong == 0 && predict_block(m, &r->rows, &r->spare, true, r->scores, NULL, e) < 0)
		wrong = 1000;
	for (i = 0; wrong < ROWS && (line = recorded_line(&expected)); i++)
		if (m->sparse)
			wrong += !(line[strlen(line) - 2] == '|') ||
			         (line[strlen(line) - 2] = 0, !is_sparse(line, &r->rows, i));
		else
			wrong += !agrees(m, line, r->scores + i * m->outputs);
	if (wrong == 0 && (i != ROWS || !same_alone(m, r, last, e)))
		wrong = 2000;
	step_rows_free(&r->rows);
	step_rows_free(&r->spare);
	buf_free(&r->pool);
	free(r);
	return wrong;
}

/* ---- as tensors ---- */

/* A model goes through tensors and still predicts what was recorded. */
static bool
through_tensors(const struct predictor *m, const char *rows, const char *name, struct err *e)
{
	struct predictor again = { 0 };
	struct forms f = { .w = { .name = NULL } };
	struct buf text = { 0 }, expected = { 0 };
	bool r = form_make(m, "model", &f.form, e) == 0 && forms_weigh(&f, e) == 0 &&
	         predict_tensors(&again, &f.w, e) == 0 && recorded_read(&text, FOLDER "%s", rows) == 0 &&
	         recorded_read(&expected, FOLDER "%s.out", name) == 0 &&
	         check(&again, (char *)text.p, (char *)expected.p, e) == 0;

	predictor_free(&again);
	forms_free(&f);
	buf_free(&text);
	buf_free(&expected);
	return r;
}

static void
test_model(const char *name, const char *file, const char *end, const char *rows)
{
	struct buf model = { 0 }, text = { 0 }, expected = { 0 };
	struct predictor m = { 0 };
	struct err e = ERR_INIT;
	int wrong = -1;

	if (recorded_read(&model, FOLDER "%s%s", file, end) == 0 && recorded_read(&text, FOLDER "%s", rows) == 0 &&
	    recorded_read(&expected, FOLDER "%s.out", name) == 0 &&
	    predict_read(&m, predict_probe(model.p, model.n), model.p, model.n, name, &e) == 0 &&
	    m.features <= 64 && (m.sparse || m.outputs <= 64))
		wrong = check(&m, (char *)text.p, (char *)expected.p, &e);
	test_ok(wrong == 0, "%s%s", file, end);
	if (wrong)
		printf("# %d wrong %s\n", wrong, e.code != ERR_NONE ? e.fact : "");
	if (wrong == 0)
		test_ok(through_tensors(&m, rows, name, &e), "%s as tensors %s", name, e.fact);
	predictor_free(&m);
	buf_free(&model);
	buf_free(&text);
	buf_free(&expected);
}

/* A part of a model is refused, whatever its length. */
static void
test_parts(const char *name)
{
	struct buf model = { 0 };
	size_t n, read = 0;
	int r = recorded_read(&model, FOLDER "%s.pkl", name);

	for (n = 16; r == 0 && n < model.n; n += model.n / 64 + 1) {
		struct predictor m = { 0 };
		struct err e = ERR_INIT;

		read += predict_read(&m, predict_probe(model.p, n), model.p, n, name, &e) == 0;
		predictor_free(&m);
	}
	test_ok(r == 0 && read == 0, "%s: a part of it is refused", name);
	buf_free(&model);
}

/* Squares of distances have the same bits at each level of the CPU, which are those of the formula. */
static void
test_levels(void)
{
	const struct near_level *level;
	double t[NEAR_ROWS * 19], q[NEAR_LANES * 19], to[NEAR_ROWS * NEAR_LANES];
	size_t i, k, l, n;
	unsigned index;

	for (i = 0; i < NEAR_ROWS * 19; i++)
		t[i] = sin((double)i) * 3;
	for (i = 0; i < NEAR_LANES * 19; i++)
		q[i] = cos((double)i * 0.7) / 3;
	for (index = 0; (level = near_level(index)); index++) {
		size_t wrong = 0;

		for (n = 1; n <= 19; n++) {
			level->squares(t, n, q, to);
			for (k = 0; k < NEAR_ROWS; k++)
				for (l = 0; l < NEAR_LANES; l++) {
					double sum = 0;

					for (i = 0; i < n; i++)
						sum += (q[i * NEAR_LANES + l] - t[k * n + i]) * (q[i * NEAR_LANES + l] - t[k * n + i]);
					wrong += sum != to[k * NEAR_LANES + l];
				}
		}
		test_ok(wrong == 0, "distances at the level %s", level->name);
	}
}

int
main(void)
{
	struct buf list = { 0 }, model = { 0 };
	size_t n = 0, skops = 0;
	char *p, *line, *rows, path[80];

	if (recorded_read(&list, FOLDER "models.txt") == 0)
		for (p = (char *)list.p; (line = recorded_line(&p)); n++) {
			rows = strchr(line, ' ');
			*rows++ = 0;
			test_model(line, line, ".pkl", rows);
			snprintf(path, sizeof path, "../skops/%.60s", line);
			if (recorded_read(&model, FOLDER "%s.skops", path) == 0) {
				test_model(line, path, ".skops", rows);
				skops++;
			}
		}
	buf_free(&list);
	buf_free(&model);
	test_ok(n >= 50 && skops >= 26, "%zu models, %zu in files of skops", n, skops);
	test_parts("svm2_rbf");
	test_parts("text_net");
	test_parts("near_euclidean_weighed");
	test_parts("histogram");
	test_levels();
	return test_done();
}
