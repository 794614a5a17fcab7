/* t_onnxops: pipelines of ONNX that are computed operator by operator: those of tests/data/onnxops with what ONNX
 * Runtime gave for each row (make.py and record.mjs there), small ones by hand, and what is refused. */
#include <math.h>
#include <string.h>

#include "onnx_models.h"
#include "predict/rows/rows.h"
#include "recorded.h"

#define FOLDER "tests/data/onnxops/"

/* ---- what ONNX Runtime gave ---- */

/* Computes one line. 0 or -1. */
static int
compute(const struct rows *rows, const char *line, double *scores, struct err *e)
{
	const struct predictor *m = rows->m;
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct step_text text = { line, strlen(line) };
	struct buf pool = { 0 };
	bool missing = false;
	int r = step_rows_begin(&x, 1, m->texts ? 0 : m->features, e);

	if (r == 0 && m->texts)
		x.texts = &text;
	else if (r == 0)
		r = rows_read(rows, line, strlen(line), 1, step_row(&x, 0), &missing, &pool, e);
	x.pool = &pool;
	if (r == 0)
		r = predict_block(m, &x, &spare, true, scores, NULL, e);
	step_rows_free(&x);
	step_rows_free(&spare);
	buf_free(&pool);
	return r;
}

/* Whether the answer for a row is the one that was recorded: the label, if there is one, then numbers. */
static bool
is_recorded(const struct predictor *m, const double *scores, const char *want)
{
	size_t i, n = m->outputs - m->chosen;
	char label[64], *end;

	if (m->task != PREDICT_VALUE) {
		size_t k = predict_label(m, scores);

		if (m->labels)
			snprintf(label, sizeof label, "%s", m->labels[k]);
		else
			snprintf(label, sizeof label, "%zu", k);
		if (strncmp(want, label, strlen(label)) != 0 || want[strlen(label)] != ',')
			return false;
		want += strlen(label) + 1;
	}
	for (i = 0; i < n; i++, want = end + (*end == ',')) {
		double v = strtod(want, &end);

		if (end == want || !(fabs(v - scores[i]) <= 1e-6 * (1 + fabs(v)) || (isnan(v) && isnan(scores[i])) || v == scores[i]))
			return false;
	}
	return *want == 0;
}

static void
test_model(const char *name)
{
	struct buf model = { 0 }, rows = { 0 }, out = { 0 };
	struct predictor m = { 0 };
	struct err e = ERR_INIT;
	struct rows form = { .m = &m, .where = "rows" };
	static double scores[1024];
	bool texts = recorded_read(&rows, FOLDER "%s.txt", name) == 0;
	const struct predict_reader *reader;
	size_t right = 0, count = 0;
	char *row, *want, *line, *answer;

	if ((!texts && recorded_read(&rows, FOLDER "%s.csv", name) < 0) || recorded_read(&out, FOLDER "%s.out", name) < 0 ||
	    recorded_read(&model, FOLDER "%s.onnx", name) < 0 || !(reader = predict_probe(model.p, model.n)) ||
	    predict_read(&m, reader, model.p, model.n, name, &e) < 0 || m.outputs > 1024 || m.texts != texts) {
		test_ok(false, "%s is read", name);
		printf("# %s\n", e.fact);
	} else {
		row = (char *)rows.p;
		want = (char *)out.p;
		line = recorded_line(&row);
		form.form = texts ? ROWS_TEXT : ROWS_CSV;
		if (line && rows_begin(&form, line, strlen(line), -1, &e) == 0 && form.header)
			line = recorded_line(&row);
		for (; line && (answer = recorded_line(&want)); line = recorded_line(&row), count++)
			if (compute(&form, line, scores, &e) == 0 && is_recorded(&m, scores, answer))
				right++;
			else
				printf("# row %zu: %s\n", count, e.fact);
		test_ok(count > 4 && right == count && !*want, "%s: %zu of %zu rows are as recorded", name, right, count);
		rows_free(&form);
	}
	predictor_free(&m);
	buf_free(&model);
	buf_free(&rows);
	buf_free(&out);
}

static void
test_recorded(void)
{
	static const char *const names[] = { "words", "separators", "letters", "numbers", "columns", "labels", "nearest", "weighted",
		"bayes", "mixture", "clusters", "rest", "reviews", "planes", "links", "vectors", "layers", "arithmetic", "shapes" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		test_model(names[i]);
}

/* ---- by hand ---- */

#define INPUT(NAME, TYPE, WIDTH) "11:{1:\"" NAME "\" 2:{1:{1:" TYPE " 2:{1:{2:\"N\"} 1:{1:" WIDTH "}}}}} "
#define OUTPUT(NAME) "12:{1:\"" NAME "\"} "
#define NODE(OP, IN, OUT, MORE) "1:{" IN OUT "4:\"" OP "\" " MORE "} "
#define IN(NAME) "1:\"" NAME "\" "
#define OUT(NAME) "2:\"" NAME "\" "
#define ML "7:\"ai.onnx.ml\" "
#define MS "7:\"com.microsoft\" "
#define INTS(NAME, VALUES) "5:{1:\"" NAME "\" 8:[" VALUES "]} "
#define FLOATS(NAME, VALUES) "5:{1:\"" NAME "\" 7:f[" VALUES "]} "
#define INT(NAME, V) "5:{1:\"" NAME "\" 3:" V "} "
#define WORD(NAME, TEXT) "5:{1:\"" NAME "\" 4:\"" TEXT "\"} "
#define WORDS(NAME, A, B) "5:{1:\"" NAME "\" 9:\"" A "\" 9:\"" B "\"} "
#define LONGS(NAME, DIMS, VALUES) "5:{1:[" DIMS "] 2:7 7:[" VALUES "] 8:\"" NAME "\"} "
#define MODEL(GRAPH) "1:8 7:{" GRAPH "} 8:{2:17} 8:{1:\"ai.onnx.ml\" 2:3} 8:{1:\"com.microsoft\" 2:1}"

#define GRAMS(MORE) MODEL(INPUT("x", "7", "4") OUTPUT("y") NODE("TfIdfVectorizer", IN("x"), OUT("y"), MORE) \
	NODE("Binarizer", IN("y"), OUT("z"), ML))
#define POOL INTS("pool_int64s", "1 2 3 1 2")
#define SIZES(MIN, MAX, SKIP) INT("min_gram_length", MIN) INT("max_gram_length", MAX) INT("max_skip_count", SKIP)
#define LABELS(MORE) MODEL(INPUT("x", "1", "1") OUTPUT("y") NODE("LabelEncoder", IN("x"), OUT("y"), MORE ML))
#define TOKENS(MORE) MODEL("11:{1:\"x\" 2:{1:{1:8 2:{1:{2:\"N\"}}}}} " OUTPUT("y") \
	NODE("Tokenizer", IN("x"), OUT("t"), MORE MS) NODE("Size", IN("t"), OUT("y"), ""))

/* Values for the row (1, 2, 3, 4), or for the text "ab ab b". */
static void
test_small(void)
{
	static const struct { const char *what, *text; size_t n; double v[4]; } cases[] = {
		{ "a dictionary is a row", MODEL("11:{1:\"x\" 2:{5:{1:8 2:{1:{1:1}}}}} " OUTPUT("y")
		  NODE("DictVectorizer", IN("x"), OUT("y"), WORDS("string_vocabulary", "one", "two") ML)), 2, { 1, 2 } },
		{ "skips of any number", GRAMS(SIZES("2", "2", "9223372036854775807") POOL INTS("ngram_counts", "0 1")
		  INTS("ngram_indexes", "0 1 2") WORD("mode", "TF")), 3, { 0, 1, 1 } },
		{ "no n-gram is among them", GRAMS(SIZES("2", "2", "0") POOL INTS("ngram_counts", "0 3")
		  INTS("ngram_indexes", "0 1 2 3") WORD("mode", "TF")), 4, { 0, 0, 0, 1 } },
		{ "of equal keys the first", LABELS(FLOATS("keys_floats", "1 1") FLOATS("values_floats", "5 6")), 1, { 5 } },
		{ "an unknown key", LABELS(FLOATS("keys_floats", "2 3") INTS("values_int64s", "5 6")), 1, { -1 } },
		{ "keys in a tensor", LABELS("5:{1:\"keys_tensor\" 5:{1:2 2:1 4:f[1 2]}} 5:{1:\"values_tensor\" 5:{1:2 2:7 7:[7 8]}} "),
		  1, { 7 } },
		{ "tokens", TOKENS(WORD("tokenexp", "\\w+")), 1, { 3 } },
		{ "tokens of at least two letters", TOKENS(WORD("tokenexp", "[a-b]+") INT("mincharnum", "2")), 1, { 2 } },
		{ "letters between marks", TOKENS("5:{1:\"separators\" 9:\"\"} " INT("mark", "1")), 1, { 9 } },
	};
	static const double row[4] = { 1, 2, 3, 4 };
	size_t i, k;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct step_rows x = { .n = 0 }, spare = { .n = 0 };
		struct step_text text = { "ab ab b", 7 };
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		double scores[8] = { 0 };
		bool right = load(&m, cases[i].text, &e) == 0 && m.outputs == cases[i].n && m.features <= 4 &&
		             step_rows_begin(&x, 1, m.texts ? 0 : m.features, &e) == 0;

		if (right && m.texts)
			x.texts = &text;
		else if (right)
			memcpy(step_row(&x, 0), row, m.features * sizeof *row);
		right = right && predict_block(&m, &x, &spare, false, scores, NULL, &e) == 0;
		for (k = 0; k < cases[i].n; k++)
			right = right && scores[k] == cases[i].v[k];
		test_ok(right, "%s", cases[i].what);
		if (!right)
			printf("# %s: %zu outputs: %g %g %g %g\n", e.fact, m.outputs, scores[0], scores[1], scores[2], scores[3]);
		step_rows_free(&x);
		step_rows_free(&spare);
		predictor_free(&m);
	}
}

#define SHAPED(GRAPH) MODEL(INPUT("x", "1", "4") OUTPUT("y") GRAPH NODE("Binarizer", IN("x"), OUT("ml"), ML))

static void
test_refused(void)
{
	static const struct refused_model cases[] = {
		{ SHAPED(NODE("Nonsense", IN("x"), OUT("y"), "")), "the operator Nonsense is not read here" },
		{ SHAPED(NODE("Abs", IN("x"), OUT("y"), "7:\"elsewhere\" ")), "the operator Abs is not read here" },
		{ SHAPED(NODE("Abs", IN("y"), OUT("y"), "")), "not there yet" },
		{ SHAPED(NODE("Abs", IN("x"), OUT("y"), "") NODE("Neg", IN("x"), OUT("y"), "")), "of the same name" },
		{ SHAPED(LONGS("s", "2", "-1 1099511627776") NODE("Reshape", IN("x") IN("s"), OUT("y"), "")), "of the shape is wrong" },
		{ SHAPED(LONGS("s", "3", "33554432 33554432 33554432") NODE("Reshape", IN("x") IN("s"), OUT("y"), "")), "do not have this shape" },
		{ SHAPED(LONGS("s", "2", "33554432 33554432") NODE("ConstantOfShape", IN("s"), OUT("z"), "") NODE("Abs", IN("z"), OUT("y"), "")),
		  "too many values" },
		{ SHAPED(LONGS("s", "2", "30000 30000") NODE("Concat", IN("x") IN("x"), OUT("c"), INT("axis", "0"))
		  NODE("ReduceSum", IN("c"), OUT("z"), "") NODE("Expand", IN("z") IN("s"), OUT("y"), "")), "too many values" },
		{ SHAPED(LONGS("s", "9", "1 1 1 1 1 1 1 1 4") NODE("Reshape", IN("x") IN("s"), OUT("y"), "")), "more than 8 dimensions" },
		{ SHAPED(LONGS("s", "1000", "1") NODE("Reshape", IN("x") IN("s"), OUT("y"), "")), "more values than the file" },
		{ SHAPED(LONGS("s", "2", "1 2 3") NODE("Reshape", IN("x") IN("s"), OUT("y"), "")), "the values of its shape" },
		{ SHAPED(LONGS("k", "1", "5") NODE("TopK", IN("x") IN("k"), OUT("y") OUT("z"), "")), "does not have 5 values" },
		{ SHAPED(NODE("Softmax", IN("x"), OUT("y"), INT("axis", "2"))), "is not one of the 2 dimensions" },
		{ SHAPED("5:{1:1 2:1 4:f[inf] 8:\"s\"} " NODE("Slice", IN("x") IN("s") IN("s"), OUT("y"), "")), "is not an integer" },
		{ SHAPED(NODE("MatMul", IN("x") IN("x"), OUT("y"), "")), "the matrices do not fit" },
		{ SHAPED(NODE("Cast", IN("x"), OUT("y"), INT("to", "16"))), "do not become this type" },
		{ SHAPED(NODE("Cast", IN("x"), OUT("a"), INT("to", "7")) LONGS("s", "1", "4503599627370496")
		  NODE("Mul", IN("s") IN("s"), OUT("b"), "") NODE("Add", IN("a") IN("b"), OUT("y"), "")), "larger than 2^53" },
		{ SHAPED(LONGS("s", "1", "9") NODE("ArrayFeatureExtractor", IN("x") IN("s"), OUT("y"), ML)), "a place is not one of 4" },
		{ SHAPED(NODE("Scaler", IN("x"), OUT("a"), FLOATS("offset", "1 2 3") FLOATS("scale", "1") ML)
		  NODE("Concat", IN("a") IN("x"), OUT("y"), "")), "do not fit the rows" },
		{ SHAPED(NODE("If", IN("x"), OUT("y"), "")), "the operator If is not read here" },
		{ GRAMS(SIZES("1", "1", "0") POOL INTS("ngram_counts", "0 2147483648") INTS("ngram_indexes", "0 1")), "do not fit the pool" },
		{ GRAMS(SIZES("1", "1", "0") POOL INTS("ngram_counts", "0") INTS("ngram_indexes", "0 2147483647")), "a column is wrong" },
		{ GRAMS(SIZES("1", "1", "0") POOL INTS("ngram_counts", "0") INTS("ngram_indexes", "0 1 2 3 4")), "stands twice in the pool" },
		{ GRAMS(SIZES("1", "2147483648", "0") POOL INTS("ngram_counts", "0") INTS("ngram_indexes", "0")), "sizes of the n-grams" },
		{ GRAMS(SIZES("1", "1", "0") POOL INTS("ngram_counts", "0") INTS("ngram_indexes", "0")), "more n-grams than columns" },
		{ LABELS(FLOATS("keys_floats", "1 2") INTS("values_int64s", "1")), "the keys do not fit the values" },
		{ LABELS(WORDS("keys_strings", "a", "b") INTS("values_int64s", "1 2")), "of another type than the keys" },
		{ LABELS(INTS("keys_int64s", "1 9223372036854775807") INTS("values_int64s", "1 2")), "larger than 2^53" },
		{ TOKENS(WORD("tokenexp", "(a|b)+")), "a pattern is more than" },
		{ TOKENS(WORD("tokenexp", "a*")), "a pattern is more than" },
		{ TOKENS(WORD("tokenexp", "a+?")), "a pattern is more than" },
		{ TOKENS(WORD("tokenexp", "[[:alpha:]]+")), "a pattern is more than" },
		{ TOKENS(WORD("tokenexp", "a{1000}a{1000}a{1000}a{1000}a{1000}a{1000}a{1000}a{1000}a{1000}")), "a pattern is wrong or too long" },
		{ MODEL(INPUT("x", "1", "0") OUTPUT("y") NODE("LabelEncoder", IN("x"), OUT("y"), ML)), "width of the rows is not known" },
		{ MODEL("11:{1:\"x\" 2:{5:{1:8}}} " OUTPUT("y") NODE("OneHotEncoder", IN("x"), OUT("y"), INTS("cats_int64s", "1") ML)),
		  "width of the rows is not known" },
	};

	test_models_refused(cases, sizeof cases / sizeof *cases);
}

int
main(void)
{
	test_recorded();
	test_small();
	test_refused();
	return test_done();
}
