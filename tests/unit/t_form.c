/* t_form: models become tensors, JSON of XGBoost and ONNX, and predict the same when they are read again:
 * bit for bit as tensors, and where the sums are in single precision anyway. */
#include <math.h>
#include <string.h>

#include "forms.h"
#include "predict/writers.h"
#include "recorded.h"
#include "test.h"

#define ROWS 24u

/* Rows of small numbers; missing values, if the model takes them. */
static double *
make_rows(const struct predictor *m)
{
	double *rows = calloc(ROWS * m->features, sizeof *rows);
	uint64_t state = 7;
	size_t i;

	for (i = 0; rows && i < ROWS * m->features; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		rows[i] = !m->refuses_nan && (state >> 40) % 9 == 0
		          ? (double)NAN : (double)(float)((double)(state >> 33) / 1e9 - 2);
		if (i % m->features == 6)
			rows[i] = (double)((state >> 33) % 11);
	}
	return rows;
}

/* Scores of the rows of a model, and behind them, as many columns again as predict_columns says, what links make of
 * them. NULL: no memory. */
static double *
predicted(const struct predictor *m, const struct predictor *rows_of)
{
	double *rows = make_rows(rows_of), *scores;
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	size_t i, n = ROWS * m->outputs, columns = predict_columns(m);
	struct err e = ERR_INIT;

	scores = calloc(n + ROWS * columns + predict_room(m), sizeof *scores);
	if (rows && scores && step_rows_begin(&x, ROWS, m->features, &e) == 0) {
		memcpy(step_row(&x, 0), rows, ROWS * m->features * sizeof *rows);
		if (predict_block(m, &x, &spare, true, scores, NULL, &e) < 0)
			scores[0] = -HUGE_VAL;
		for (i = 0; i < ROWS; i++)
			predict_link(m, scores + i * m->outputs, scores + n + i * columns);
	}
	step_rows_free(&x);
	step_rows_free(&spare);
	free(rows);
	return scores;
}

/* The greatest difference between two models for some rows, in scores (or, if these are asked for, only
 * behind the link); HUGE_VAL if they differ in kind, or in a label. */
static double
compare_from(const struct predictor *a, const struct predictor *b, bool links)
{
	size_t i, n = ROWS * a->outputs, columns = predict_columns(a), from = links ? n : 0;
	size_t to = n + ROWS * columns;
	double *x, *y, most = 0;

	if (a->features != b->features || columns != predict_columns(b) || a->task != b->task ||
	    (!links && a->outputs != b->outputs))
		return HUGE_VAL;
	x = predicted(a, a);
	y = predicted(b, a);
	for (i = from; x && y && i < to; i++) {
		double other = y[links ? i - n + ROWS * b->outputs : i];

		if ((isnan(x[i]) && isnan(other)) || x[i] == other)
			continue;
		most = fabs(x[i] - other) / (1 + fabs(x[i])) <= most ? most : fabs(x[i] - other) / (1 + fabs(x[i]));
	}
	for (i = 0; x && y && i < ROWS && a->task != PREDICT_VALUE; i++)
		if (predict_label(a, x + i * a->outputs) != predict_label(b, y + i * b->outputs))
			most = HUGE_VAL;
	free(x);
	free(y);
	return x && y ? most : HUGE_VAL;
}

static double
compare(const struct predictor *a, const struct predictor *b)
{
	return compare_from(a, b, false);
}

/* covers: the reader keeps them, and looks at each node; else it takes trees that are in order as a whole. */
static double
as_tensors(const struct predictor *m, bool covers, struct err *e)
{
	struct predictor again = { .covers = covers };
	struct forms f = { .w = { .name = NULL } };
	double d = HUGE_VAL;

	if (form_make(m, "model", &f.form, e) == 0 && forms_weigh(&f, e) == 0 && predict_tensors(&again, &f.w, e) == 0)
		d = again.link == m->link && (!covers || again.forest.uncovered == m->forest.uncovered)
		    ? compare(m, &again) : HUGE_VAL;
	predictor_free(&again);
	forms_free(&f);
	return d;
}

static double
as_file(const struct predictor *m, predict_writer *writer, struct err *e)
{
	struct predictor again = { .covers = true };
	struct buf b = { 0 };
	double d = HUGE_VAL;

	if (writer(m, "model", NULL, &b, e) == 0 &&
	    predict_read(&again, predict_probe(b.p, b.n), b.p, b.n, "file", e) == 0)
		d = compare(m, &again);
	predictor_free(&again);
	buf_free(&b);
	return d;
}

/* within: of XGBoost's JSON and ONNX; 0: the same bits; -1: it must be refused. */
static const struct {
	const char *path;
	double xgboost, onnx;
} models[] = {
	{ "contrib/values.json", 0, -1 },
	{ "contrib/one_hot.json", 0, -1 },
	{ "contrib/two.json", 0, -1 },
	{ "contrib/three.json", 0, -1 },
	{ "contrib/dart.json", 0, 0 },
	{ "contrib/linear.json", 0, 2 },
	{ "contrib/linear_three.json", 0, 2 },
	{ "predict/boosted.pkl", 1e-6, 1e-6 },
	{ "predict/boosted_two.pkl", 1e-6, 1e-6 },
	{ "predict/boosted_values.pkl", 1e-6, 1e-6 },
	{ "predict/extra.pkl", -1, 1e-6 },
	{ "predict/tree_values.pkl", 1e-6, 1e-6 },
	{ "predict/histogram_three.pkl", 1e-6, 1e-6 },
	{ "predict/histogram.pkl", -1, -1 },
	{ "predict/ridge.pkl", 1e-6, 1e-6 },
	{ "predict/liblinear.pkl", -1, -1 },
};

static void
check_file(const char *path, const char *what, const struct predictor *m, predict_writer *writer,
           double within)
{
	struct err e = ERR_INIT;
	double d;

	if (within > 1) /* NaN where XGBoost leaves a value out */
		return;
	d = as_file(m, writer, &e);
	if (within < 0)
		test_ok(e.code == ERR_INVALID, "%s as %s: %s", path, what, e.fact);
	else
		test_ok(d <= within, "%s as %s: within %g%s", path, what, d, e.fact);
}

static void
check(size_t i)
{
	char path[256];
	struct predictor m = { .covers = true };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	double d;
	int covers;

	snprintf(path, sizeof path, "tests/data/%s", models[i].path);
	recorded_read(&b, "%s", path);
	if (test_ok(b.n > 0 && predict_read(&m, predict_probe(b.p, b.n), b.p, b.n, path, &e) == 0, "%s",
	            models[i].path)) {
		for (covers = 0; covers < 2; covers++) {
			d = as_tensors(&m, covers, &e);
			test_ok(d == 0, "%s as tensors: the same bits%s", models[i].path, e.fact);
		}
		check_file(models[i].path, "XGBoost", &m, xgboost_write, models[i].xgboost);
		check_file(models[i].path, "ONNX", &m, onnxml_write, models[i].onnx);
	}
	predictor_free(&m);
	buf_free(&b);
}

/* Models of steps: as tensors the same bits. onnx: within what, behind the link; -1: it is refused. */
static const struct {
	const char *name;
	double onnx;
} chains[] = {
	{ "bernoulli", 1e-6 },
	{ "gauss", -1 },
	{ "imputed", 1e-6 },
	{ "near_cosine_weighed", -1 },
	{ "near_euclidean", -1 },
	{ "near_minkowski", -1 },
	{ "near_values", -1 },
	{ "net_relu", 1e-6 },
	{ "net_tanh", 1e-6 },
	{ "net_two", 1e-6 },
	{ "net_values", 1e-6 },
	{ "pca", 1e-6 },
	{ "pca_white", 1e-6 },
	{ "scalers", 1e-6 },
	{ "svd", 1e-6 },
	{ "svm2_linear", 1e-6 },
	{ "svm2_rbf", 1e-6 },
	{ "svm2_poly", 1e-6 },
	{ "svm_linear", 1e-6 },
	{ "svm_poly", 1e-6 },
	{ "svm_rbf", 1e-6 },
	{ "svm_sigmoid", 1e-6 },
	{ "svm_values", 1e-6 },
	{ "forest", 1e-6 },
};

static void
check_chain(const char *name, double within)
{
	char path[256];
	struct predictor m = { .covers = true };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	double d = HUGE_VAL;

	snprintf(path, sizeof path, "tests/data/predict/%s.pkl", name);
	recorded_read(&b, "%s", path);
	if (b.n > 0 && predict_read(&m, predict_probe(b.p, b.n), b.p, b.n, path, &e) == 0)
		d = as_tensors(&m, true, &e);
	test_ok(d == 0, "%s as tensors: the same bits %s", name, e.fact);
	d = as_file(&m, onnxml_write, &e);
	if (within < 0)
		test_ok(e.code == ERR_INVALID, "%s as ONNX: %s", name, e.fact);
	else
		test_ok(d <= within, "%s as ONNX: within %g %s", name, d, e.fact);
	predictor_free(&m);
	buf_free(&b);
}

/* ---- damaged tensors ---- */

/* Changes one number of a part, and reads. */
static void
spoil_one(const char *path, bool covers, const char *name, size_t at, unsigned bytes, uint64_t v,
          const char *said)
{
	struct predictor m = { .covers = true }, again = { .covers = covers };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	struct forms f = { .w = { .name = NULL } };
	size_t i;

	recorded_read(&b, "%s", path);
	predict_read(&m, predict_probe(b.p, b.n), b.p, b.n, path, &e);
	form_make(&m, "model", &f.form, &e);
	forms_weigh(&f, &e);
	for (i = 0; i < f.form.count && strcmp(f.form.parts[i]->name, name) != 0; i++)
		;
	if (i < f.form.count)
		memcpy(f.form.parts[i]->data.p + at, &v, bytes); /* little-endian, as the machines of this test */
	test_ok(predict_tensors(&again, &f.w, &e) < 0 && strstr(e.fact, said), "%s: %s", name, e.fact);
	predictor_free(&m);
	predictor_free(&again);
	forms_free(&f);
	buf_free(&b);
}

static void
spoil(const char *name, size_t at, unsigned bytes, uint64_t v, const char *said)
{
	static const char path[] = "tests/data/contrib/values.json";

	spoil_one(path, true, name, at, bytes, v, said);
	if (strcmp(name, "forest.covers") != 0)
		spoil_one(path, false, name, at, bytes, v, said);
}

/* Changes a text of the key into one of the same length. */
static void
spoil_key(const char *path, const char *from, const char *to, const char *said)
{
	struct predictor m = { .covers = true }, again = { .covers = true };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	struct forms f = { .w = { .name = NULL } };
	char *at;

	recorded_read(&b, "%s", path);
	predict_read(&m, predict_probe(b.p, b.n), b.p, b.n, path, &e);
	form_make(&m, "model", &f.form, &e);
	at = memmem(f.form.json.p, f.form.json.n, from, strlen(from));
	if (at)
		memcpy(at, to, strlen(from));
	forms_weigh(&f, &e);
	test_ok(at && predict_tensors(&again, &f.w, &e) < 0 && strstr(e.fact, said), "%s for %s: %s", to, from, e.fact);
	predictor_free(&m);
	predictor_free(&again);
	forms_free(&f);
	buf_free(&b);
}

static const struct {
	const char *path, *from, *to, *said;
} keys[] = {
	{ "tests/data/predict/pca.pkl", "project", "unknown", "its kind is not known" },
	{ "tests/data/predict/pca.pkl", "\"inner\"", "\"outer\"", "no inner" },
	{ "tests/data/predict/pca.pkl", "\"steps\":[", "\"stops\":[", "no steps" },
	{ "tests/data/predict/gauss.pkl", "\"in\":", "\"on\":", "out of its bounds" },
	{ "tests/data/predict/near_euclidean.pkl", "\"mode\":0", "\"mode\":9", "out of its bounds" },
	{ "tests/data/predict/near_euclidean.pkl", "\"n\":", "\"N\":", "out of its bounds" },
	{ "tests/data/predict/svm_rbf.pkl", "\"kind\":\"support\"", "\"kind\":\"project\"", "out of its bounds" },
	{ "tests/data/predict/gauss.pkl", "\"task\":\"classes\"", "\"task\":\"pairs\"  ", "pairs without" },
};

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof models / sizeof *models; i++)
		check(i);
	spoil("forest.left", 0, 4, 0, "lacks a child");
	spoil("forest.left", 0, 4, 1000, "has the child 1000");
	spoil("forest.left", 0, 4, 0x7fffffff, "has the child");
	spoil("forest.features", 0, 4, 70000, "asks for feature 70000");
	spoil("forest.counts", 0, 4, 0, "has no nodes");
	spoil("forest.counts", 0, 4, 0xffffffff, "more nodes than forest.features");
	spoil("forest.counts", 0, 4, 3, "");
	spoil("forest.groups", 0, 4, 9, "belongs to output 9");
	spoil("forest.covers", 0, 8, 0x7ff8000000000000, "the cover of node 0");
	spoil("forest.base", 0, 8, 0x7ff0000000000000, "not finite");
	spoil("forest.words", 0, 4, 0xfffffff, "is outside its list");
	for (i = 0; i < sizeof chains / sizeof *chains; i++)
		check_chain(chains[i].name, chains[i].onnx);
	spoil_one("tests/data/predict/svm_rbf.pkl", true, "step.0.list", 0, 4, 1, "are not all of them");
	spoil_one("tests/data/predict/near_euclidean.pkl", true, "step.0.list", 0, 4, 1000, "a class that does not exist");
	spoil_one("tests/data/predict/gauss.pkl", true, "step.0.b", 0, 8, 0x7ff8000000000000, "not finite");
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		spoil_key(keys[i].path, keys[i].from, keys[i].to, keys[i].said);
	return test_done();
}
