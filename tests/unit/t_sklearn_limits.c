/* t_sklearn_limits: pickles of scikit-learn that ask for too much, or for what is not read, are refused by a
 * message; and texts among the columns of rows. */
#include <math.h>
#include <string.h>

#include "predict/predict.h"
#include "predict/rows/rows.h"
#include "test.h"

static int
read_pickle(const struct buf *b, struct err *e)
{
	struct predictor m = { 0 };
	const struct predict_reader *reader = predict_probe(b->p, b->n);
	int r = reader ? predict_read(&m, reader, b->p, b->n, "in", e) : -2;

	predictor_free(&m);
	return r;
}

/* ---- pickles, as text ---- */

static void
put_text(struct buf *b, const char *text)
{
	buf_u8(b, 'X');
	buf_u32(b, (uint32_t)strlen(text));
	buf_text(b, text);
}

/* An object up to its attributes; end_object ends these. */
static void
begin_object(struct buf *b, const char *class)
{
	buf_printf(b, "csklearn.any\n%s\n)\x81}(", class);
}

static void
end_object(struct buf *b)
{
	buf_text(b, "ub");
}

static void
put_int(struct buf *b, const char *name, uint32_t v)
{
	put_text(b, name);
	buf_u8(b, 'J');
	buf_u32(b, v);
}

/* An array of zeros as NumPy pickles it: rows x columns of i64, rows: 0 for a vector. */
static void
put_zeros(struct buf *b, const char *name, bool matrix, uint32_t rows, uint32_t columns)
{
	size_t n = (size_t)columns * (matrix ? rows : 1) * 8;

	if (name)
		put_text(b, name);
	buf_text(b, "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x05\x85U\x01" "b\x87R(K\x01");
	if (matrix) {
		buf_u8(b, 'J');
		buf_u32(b, rows);
	}
	buf_u8(b, 'J');
	buf_u32(b, columns);
	buf_text(b, matrix ? "\x86" : "\x85");
	buf_text(b, "cnumpy\ndtype\n");
	put_text(b, "i8");
	buf_text(b, "\x85R\x89" "B");
	buf_u32(b, (uint32_t)n);
	buf_zeros(b, n);
	buf_text(b, "tb");
}

/* A union of one part; what is inside comes between these. */
static void
begin_union(struct buf *b)
{
	begin_object(b, "FeatureUnion");
	put_text(b, "transformer_list");
	buf_text(b, "](");
	put_text(b, "a");
}

static void
end_union(struct buf *b)
{
	buf_text(b, "\x86" "e");
	end_object(b);
}

static void
expect(struct buf *b, const char *what, const char *message)
{
	struct err e = ERR_INIT;
	int r;

	buf_text(b, ".");
	r = read_pickle(b, &e);
	test_ok(r == -1 && strstr(e.fact, message), "%s", what);
	if (r != -1 || !strstr(e.fact, message))
		printf("# %d %s\n", r, e.code != ERR_NONE ? e.fact : "");
	buf_clear(b);
	buf_text(b, "\x80\x02");
}

static void
products(struct buf *b, const char *what, uint32_t features, uint32_t degree, const char *message)
{
	begin_object(b, "PolynomialFeatures");
	put_int(b, "n_features_in_", features);
	put_int(b, "_max_degree", degree);
	end_object(b);
	expect(b, what, message);
}

static void
test_nested(struct buf *b)
{
	size_t i;

	for (i = 0; i < 10000; i++)
		begin_union(b);
	buf_text(b, "N");
	for (i = 0; i < 10000; i++)
		end_union(b);
	expect(b, "10000 unions in each other", "too many steps");
	for (i = 0; i < 10000; i++) {
		begin_object(b, "VotingRegressor");
		put_text(b, "estimators_");
		buf_text(b, "](");
	}
	buf_text(b, "N");
	for (i = 0; i < 10000; i++) {
		buf_text(b, "e");
		end_object(b);
	}
	expect(b, "10000 models in each other", "too many");
	buf_text(b, "csklearn.any\nFeatureUnion\n)\x81p1\n}(");
	put_text(b, "transformer_list");
	buf_text(b, "](");
	put_text(b, "a");
	buf_text(b, "g1\n\x86" "eub");
	expect(b, "a union that is its own part", "too many steps");
	buf_text(b, "csklearn.any\nGridSearchCV\n)\x81p1\n}(");
	put_text(b, "best_estimator_");
	buf_text(b, "g1\nub");
	expect(b, "a search whose best estimator is itself", "too many steps");
}

static void
test_refused(void)
{
	struct buf b = { 0 };

	buf_text(&b, "\x80\x02");
	test_nested(&b);
	products(&b, "products of degree 1000", 5, 1000, "more than");
	products(&b, "products of 2^31 - 1 features", 0x7fffffff, 2, "number of features");
	products(&b, "products of a million features", 1000000, 2, "more than");
	begin_object(&b, "PCA");
	put_zeros(&b, "components_", true, 0, 5);
	end_object(&b);
	expect(&b, "no components", "not a matrix");
	begin_object(&b, "FunctionTransformer");
	put_int(&b, "n_features_in_", 2);
	put_text(&b, "func");
	buf_text(&b, "cmy.own\nf\n");
	end_object(&b);
	expect(&b, "a function that is code", "it is code");
	begin_object(&b, "GridSearchCV");
	put_int(&b, "refit", 0);
	end_object(&b);
	expect(&b, "a search that was not fitted again", "no best estimator");
	begin_object(&b, "OneHotEncoder");
	put_int(&b, "n_features_in_", 1);
	put_int(&b, "_infrequent_enabled", 1);
	put_text(&b, "categories_");
	buf_text(&b, "](");
	put_zeros(&b, NULL, false, 0, 1);
	buf_text(&b, "e");
	put_text(&b, "_default_to_infrequent_mappings");
	buf_text(&b, "](");
	put_zeros(&b, NULL, false, 0, 3);
	buf_text(&b, "e");
	end_object(&b);
	expect(&b, "more places of rare categories than categories", "3 in place of 1");
	begin_object(&b, "IsolationForest");
	put_int(&b, "n_features_in_", 3);
	put_text(&b, "estimators_");
	buf_text(&b, "]");
	end_object(&b);
	expect(&b, "an isolation forest without trees", "no trees");
	begin_object(&b, "VotingClassifier");
	put_zeros(&b, "classes_", false, 0, 2);
	put_text(&b, "estimators_");
	buf_text(&b, "](NNe");
	end_object(&b);
	expect(&b, "a vote of nothing", "not an estimator");
	begin_object(&b, "QuantileTransformer");
	put_zeros(&b, "quantiles_", true, 3, 2);
	put_zeros(&b, "references_", false, 0, 2);
	end_object(&b);
	expect(&b, "other shares than quantiles", "shares of quantiles");
	begin_object(&b, "GaussianMixture");
	put_zeros(&b, "means_", true, 2, 3);
	put_zeros(&b, "weights_", false, 0, 2);
	put_zeros(&b, "precisions_cholesky_", true, 2, 2);
	end_object(&b);
	expect(&b, "matrices that do not fit", "do not fit its classes");
	buf_free(&b);
}

/* ---- texts among columns ---- */

static void
test_texts(void)
{
	struct predict_words words[2] = { { .text = true }, { .count = 0 } };
	struct predictor m = { .features = 2, .inner = 2, .words = words, .word_count = 2 };
	struct rows r = { .m = &m, .where = "rows", .form = ROWS_CSV };
	static char line[10000];
	struct buf pool = { 0 };
	struct err e = ERR_INIT;
	struct step_text t = { NULL, 0 };
	double row[2];
	bool missing = false;

	test_ok(rows_read(&r, "\"a \"\"b\"\", c\",2", 14, 1, row, &missing, &pool, &e) == 0 && row[1] == 2 &&
	        step_pool_text(&pool, row[0], &t) && t.n == 8 && memcmp(t.p, "a \"b\", c", 8) == 0, "a text in quotes");
	test_ok(!step_pool_text(&pool, -1, &t) && !step_pool_text(&pool, 1e300, &t) &&
	        !step_pool_text(&pool, (double)NAN, &t) && !step_pool_text(&pool, (double)pool.n, &t),
	        "numbers that stand for no text");
	test_ok(rows_read(&r, "a\xff,2", 4, 2, row, &missing, &pool, &e) == -1, "a text that is not UTF-8");
	e = (struct err)ERR_INIT;
	memset(line, 'x', sizeof line);
	memcpy(line + 9000, ",1", 2);
	test_ok(rows_read(&r, line, 9002, 3, row, &missing, &pool, &e) == 0 && step_pool_text(&pool, row[0], &t) &&
	        t.n == 9000, "a long text in csv");
	r.form = ROWS_JSON;
	test_ok(rows_read(&r, "[\"a\\u00e9\", 1]", 14, 4, row, &missing, &pool, &e) == 0 &&
	        step_pool_text(&pool, row[0], &t) && t.n == 3, "a text in JSON");
	memcpy(line, "[\"", 2);
	memcpy(line + 5000, "\",1]", 4);
	test_ok(rows_read(&r, line, 5004, 5, row, &missing, &pool, &e) == -1 && strstr(e.fact, "4094"),
	        "a text in JSON that is too long");
	buf_free(&pool);
}

static void
refuse_file(const char *path, const char *fact, const char *name)
{
	FILE *f = fopen(path, "rb");
	struct buf b = { 0 };
	uint8_t *room = buf_room(&b, 65536);
	struct err e = ERR_INIT;

	if (f && room)
		b.n = fread(room, 1, 65536, f);
	if (f)
		fclose(f);
	test_ok(b.n && read_pickle(&b, &e) == -1 && strstr(e.fact, fact), "%s", name);
	buf_free(&b);
}

/* Two models in a vote whose encoders know other categories of one column (more.py). */
static void
test_other_categories(void)
{
	refuse_file("tests/data/predict/refused_vote.pkl", "other texts of one feature", "models that know other categories");
}

static void
test_several_labels(void)
{
	refuse_file("tests/data/predict/refused_labels.pkl", "several labels", "rows of several labels");
}

int
main(void)
{
	test_refused();
	test_texts();
	test_other_categories();
	test_several_labels();
	return test_done();
}
