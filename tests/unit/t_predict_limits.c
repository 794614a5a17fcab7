/* t_predict_limits: models and rows that ask for more than they give: memory, work, features twice.
 * Earlier versions accepted each of them. */
#include <math.h>
#include <string.h>

#include "core/reader.h"
#include "predict/rows/batch.h"
#include "predict/predict.h"
#include "predict/step_text.h"
#include "predict/tensors.h"
#include "test.h"

static int
load(struct predictor *m, struct buf *text, struct err *e)
{
	const struct predict_reader *reader = predict_probe(text->p, text->n);
	int r = reader ? predict_read(m, reader, text->p, text->n, "m", e)
	               : err_set(e, ERR_FORMAT, "m", "unknown");

	buf_free(text);
	return r;
}

/* The text is refused with this fact. */
static void
refused(struct buf *text, const char *fact, const char *name)
{
	struct predictor m = { 0 };
	struct err e = ERR_INIT;

	test_ok(load(&m, text, &e) < 0 && strstr(e.fact, fact), "%s", name);
	if (!strstr(e.fact, fact))
		printf("# %s: %s\n", e.object, e.fact);
	predictor_free(&m);
}

/* ---- sets of categories ---- */

#define SETS (FOREST_SETS / (1u << 19) + 1) /* of 2^24 categories: more than FOREST_SETS words */

static void
put_list(struct buf *b, const char *name, const char *each, size_t n)
{
	size_t i;

	buf_printf(b, "\"%s\":[", name);
	for (i = 0; i < n; i++)
		buf_printf(b, "%s%s", i ? "," : "", each);
	buf_text(b, "],");
}

/* A list of children: node i splits into i + 1 and the leaf behind all splits. */
static void
put_children(struct buf *b, const char *name, size_t splits, size_t from)
{
	size_t i;

	buf_printf(b, "\"%s\":[", name);
	for (i = 0; i < splits; i++)
		buf_printf(b, "%zu,", i + from);
	for (i = 0; i <= splits; i++)
		buf_printf(b, "-1%s", i < splits ? "," : "],");
}

static void
xgboost_sets(struct buf *b)
{
	size_t i, nodes = 2 * SETS + 1;

	buf_text(b, "{\"learner\":{\"gradient_booster\":{\"model\":{\"trees\":[{");
	put_children(b, "left_children", SETS, 1);
	put_children(b, "right_children", SETS, SETS + 1);
	put_list(b, "split_indices", "0", nodes);
	put_list(b, "split_conditions", "0", nodes);
	put_list(b, "default_left", "0", nodes);
	put_list(b, "split_type", "1", nodes);
	put_list(b, "categories", "16777215", 1);
	put_list(b, "categories_segments", "0", SETS);
	put_list(b, "categories_sizes", "1", SETS);
	buf_text(b, "\"categories_nodes\":[");
	for (i = 0; i < SETS; i++)
		buf_printf(b, "%s%zu", i ? "," : "", i);
	buf_text(b, "]}],\"tree_info\":[0]},\"name\":\"gbtree\"},\"learner_model_param\":{"
	            "\"num_feature\":\"1\"},\"objective\":{\"name\":\"reg:squarederror\"}}}");
}

#define LGB_JSON "{\"name\":\"tree\",\"version\":\"v4\",\"num_tree_per_iteration\":1," \
	"\"max_feature_idx\":0,\"objective\":\"regression\",\"tree_info\":["
#define LGB_SPLIT(THRESHOLD, LEFT) "{\"split_feature\":0,\"decision_type\":\"==\",\"threshold\":" \
	THRESHOLD ",\"missing_type\":\"None\",\"left_child\":" LEFT ",\"right_child\":{\"leaf_index\":1," \
	"\"leaf_value\":2}}"
#define LGB_TREE(THRESHOLD) "{\"tree_structure\":" LGB_SPLIT(THRESHOLD, "{\"leaf_value\":1}") "}"

static void
lightgbm_json_sets(struct buf *b)
{
	size_t i;

	buf_text(b, LGB_JSON);
	for (i = 0; i < SETS; i++)
		buf_printf(b, "%s%s", i ? "," : "", LGB_TREE("\"16777215\""));
	buf_text(b, "]}");
}

/* One tree whose splits share a set of 2^16 words. */
static void
lightgbm_sets(struct buf *b)
{
	size_t i, splits = FOREST_SETS / (1u << 16) + 1;

	buf_printf(b, "tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx=0\n"
	           "objective=regression\n\nTree=0\nnum_leaves=%zu\n", splits + 1);
	for (buf_text(b, "split_feature="), i = 0; i < splits; i++)
		buf_text(b, "0 ");
	for (buf_text(b, "\nthreshold="), i = 0; i < splits; i++)
		buf_text(b, "0 ");
	for (buf_text(b, "\ndecision_type="), i = 0; i < splits; i++)
		buf_text(b, "1 ");
	for (buf_text(b, "\nleft_child="), i = 0; i < splits; i++)
		buf_printf(b, "-%zu ", i + 1);
	for (buf_text(b, "\nright_child="), i = 1; i < splits; i++)
		buf_printf(b, "%zu ", i);
	buf_printf(b, "-%zu\nleaf_value=", splits + 1);
	for (i = 0; i <= splits; i++)
		buf_text(b, "1 ");
	buf_text(b, "\ncat_boundaries=0 65536\ncat_threshold=");
	for (i = 0; i < 65536; i++)
		buf_text(b, "1 ");
	buf_text(b, "\n\nend of trees\n");
}

static void
test_sets(void)
{
	struct buf b = { 0 };

	xgboost_sets(&b);
	refused(&b, "more than 67108864 words", "XGBoost: sets of one large category each");
	lightgbm_json_sets(&b);
	refused(&b, "more than 67108864 words", "LightGBM, JSON: the same");
	lightgbm_sets(&b);
	refused(&b, "more than 67108864 words", "LightGBM: one long set for many splits");
}

/* ---- members twice, numbers as C writes them ---- */

static double
one_score(const char *text, double x, struct err *e)
{
	struct predictor m = { 0 };
	struct buf b = { 0 };
	double row[2] = { x, 0 }, score = (double)NAN;

	buf_text(&b, text);
	if (load(&m, &b, e) == 0)
		predict_rows(&m, row, 1, true, &score, NULL);
	predictor_free(&m);
	return score;
}

#define XGB(BASE) "{\"learner\":{\"gradient_booster\":{\"model\":{\"trees\":[],\"tree_info\":[]}," \
	"\"name\":\"gbtree\"},\"learner_model_param\":{\"base_score\":\"" BASE "\",\"num_feature\":\"1\"}," \
	"\"objective\":{\"name\":\"reg:squarederror\"}}}"
#define LGB(SIGMOID) "tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx=0\n" \
	"objective=binary sigmoid:" SIGMOID "\n\nTree=0\nnum_leaves=1\nleaf_value=1\n\nend of trees\n"

static void
test_numbers(void)
{
	static const char *const wrong[] = { XGB("0x1p3"), XGB("inf"), XGB("[0.5;0.5]"), XGB("1 "),
		XGB("[nan]"), LGB("0x1"), LGB("inf"), LGB("2,5"), LGB("nan") };
	struct err e = ERR_INIT;
	size_t i;

	test_ok(one_score(LGB_JSON LGB_TREE("\"1\",\"threshold\":\"2\"") "]}", 1, &e) == 2 &&
	        one_score(LGB_JSON LGB_TREE("\"1\",\"threshold\":\"2\"") "]}", 2, &e) == 1,
	        "LightGBM, JSON: the second of two thresholds of a node counts, not both");
	test_ok(one_score(XGB("[2.5E-1]"), 0, &e) == 0.25 && one_score(XGB("-1.5"), 0, &e) == -1.5 &&
	        one_score(LGB("2"), 0, &e) == 1, "base scores and sigmoids are decimal numbers");
	for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct buf b = { 0 };

		buf_text(&b, wrong[i]);
		refused(&b, strstr(wrong[i], "sigmoid") ? "sigmoid of" : "base score is not a number",
		        strstr(wrong[i], "sigmoid") ? "a sigmoid that is not a decimal number"
		                                    : "a base score that is not a decimal number");
	}
}

/* ---- typed arrays of UBJSON, nodes that nothing reaches ---- */

/* A typed array of 2^32 items without bytes (null, true) would cost no byte of the file. */
static void
test_ubjson(void)
{
	static const char types[] = "ZTFN";
	size_t i;

	for (i = 0; types[i]; i++) {
		struct buf b = { 0 };
		char head[] = "{L\0\0\0\0\0\0\0\7learner{i\1x[$Z#L\0\0\0\1\0\0\0\0";

		head[sizeof head - 11] = types[i];
		buf_put(&b, head, sizeof head - 1);
		buf_text(&b, "}}");
		refused(&b, "items of an array have an unknown type", "UBJSON: a typed array of items that take no bytes");
	}
}

static void
test_unreachable(void)
{
	struct forest f = { .most = 100 };
	struct tree t = { 0 };
	struct err e = ERR_INIT;
	int i, r = forest_begin(&f, 1, 1, 1, &e);

	for (i = 0; r == 0 && i < 60; i++)
		r = tree_leaf(&t, tree_add(&t), 1, 0);
	test_ok(r == 0 && forest_add(&f, &t, "m", &e) == 0 && f.node_count == 1 &&
	        forest_add(&f, &t, "m", &e) < 0 && strstr(e.fact, "more nodes than its file has bytes"),
	        "nodes that nothing reaches count as nodes");
	tree_free(&t);
	forest_free(&f);
}

/* ---- leaves with a value for each class ---- */

#define LEAVES 2048 /* with 65536 classes */

static int
add(struct model *plan, const char *name, const char *type, uint64_t n)
{
	struct err e = ERR_INIT;
	struct tensor *t = tensor_new(name, strlen(name), dtype_by_name(type), 1, &n, TENSOR_OWN_SIZE,
	                              "m", &e);

	return t ? model_add_tensor(plan, t, &e) : -1;
}

static int
add_text(struct model *plan, const char *key, const char *text)
{
	struct value_type type = { 0, VALUE_STRING };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	int r;

	buf_u64(&b, strlen(text));
	buf_text(&b, text);
	r = model_add_meta(plan, key, strlen(key), type, b.p, b.n, &e);
	buf_free(&b);
	return r;
}

/* A chain of splits: node i splits into the leaf i + LEAVES and node i + 1. */
static void
test_classes(void)
{
	static int64_t features[2 * LEAVES + 1], left[2 * LEAVES + 1], right[2 * LEAVES + 1];
	static uint64_t classes[2 * LEAVES + 1];
	static float thresholds[2 * LEAVES + 1];
	const uint8_t *bytes[] = { (void *)features, (void *)thresholds, (void *)classes,
		(void *)left, (void *)right };
	struct model plan = { 0 };
	struct weights w = { .name = "m", .plan = &plan, .tensors = bytes };
	struct predictor m = { 0 };
	struct err e = ERR_INIT;
	size_t i, n = 2 * LEAVES + 1;

	for (i = 0; i < n; i++) {
		features[i] = i < LEAVES ? 0 : -1;
		left[i] = i < LEAVES ? (int64_t)(i + LEAVES) + (i > 0) : -1;
		right[i] = i < LEAVES ? (int64_t)i + 1 : -1;
		classes[i] = i % PREDICT_OUTPUTS;
	}
	left[0] = 2 * LEAVES;
	classes[n - 1] = PREDICT_OUTPUTS - 1;
	test_ok(add(&plan, "node_features", "I64", n) == 0 &&
	        add(&plan, "node_thresholds", "F32", n) == 0 &&
	        add(&plan, "node_classes", "U64", n) == 0 &&
	        add(&plan, "node_left_child", "I64", n) == 0 &&
	        add(&plan, "node_right_child", "I64", n) == 0 &&
	        add_text(&plan, "apr1.payload", "DecisionTreeClassifier") == 0 &&
	        add_text(&plan, "apr1.model_type", "DECISION_TREE") == 0 &&
	        predict_tensors(&m, &w, &e) < 0 && strstr(e.fact, "2049 leaves with 65536 classes"),
	        "leaves of more values than memory has room for");
	if (!strstr(e.fact, "2049 leaves"))
		printf("# %s\n", e.fact);
	predictor_free(&m);
	model_free(&plan);
}

/* ---- the first trees of each output ---- */

#define STUMP(VALUE) "{\"left_children\":[-1],\"right_children\":[-1],\"split_indices\":[0]," \
	"\"split_conditions\":[" VALUE "],\"default_left\":[0]}"

static void
test_limit(void)
{
	struct predictor m = { 0 };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	double row[1] = { 0 }, scores[2] = { 0 };

	buf_text(&b, "{\"learner\":{\"gradient_booster\":{\"model\":{\"trees\":[" STUMP("1") ","
	         STUMP("2") "," STUMP("4") "," STUMP("8") "],\"tree_info\":[1,1,0,0]},\"name\":"
	         "\"gbtree\"},\"learner_model_param\":{\"base_score\":\"0\",\"num_feature\":\"1\","
	         "\"num_class\":\"2\"},\"objective\":{\"name\":\"multi:softmax\"}}}");
	if (load(&m, &b, &e) == 0 && forest_limit(&m.forest, 1, &e) == 0)
		predict_rows(&m, row, 1, false, scores, NULL);
	test_ok(scores[0] == 4 && scores[1] == 1 && m.forest.tree_count == 2,
	        "the first tree of each output, in any order of outputs");
	predictor_free(&m);
}

/* ---- pickles of scikit-learn: what they say of an estimator ---- */

#define OBJECT(CLASS, STATE) "csklearn.x\n" CLASS "\n)R(" STATE "db"

static void
test_layers(void)
{
	struct buf b = { 0 };

	buf_text(&b, OBJECT("MLPClassifier", "Vactivation\nVrelu\nVout_activation_\nVsoftmax\nVcoefs_\n(l"
	                    "Vintercepts_\n(l") ".");
	refused(&b, "the network has no layers", "scikit-learn: a network without layers");
}

/* A text of 100 000 bytes, put 1000 times in a list of 2000 bytes. */
static void
test_texts(void)
{
	struct buf b = { 0 };
	size_t i;

	buf_text(&b, "csklearn.x\nCountVectorizer\n)R(Vstop_words\n(V");
	for (i = 0; i < 100000; i++)
		buf_u8(&b, 'a');
	buf_text(&b, "\np1\n");
	for (i = 1; i < 1000; i++)
		buf_text(&b, "h\1");
	buf_text(&b, "ldb.");
	refused(&b, "texts have more bytes than the file", "scikit-learn: one text for many stop words");
}

/* A pipeline whose list holds 1000 times a pair with the next one, and so on. */
static void
test_pipelines(void)
{
	struct buf b = { 0 };
	size_t i, k;

	buf_text(&b, "\x80\2N");
	for (k = 0; k < 6; k++) {
		buf_printf(&b, "p%zu\n0csklearn.x\nPipeline\n)R(Vsteps\n(", k);
		for (i = 0; i < 1000; i++)
			buf_printf(&b, "(Vx\ng%zu\nt", k);
		buf_text(&b, "ldb");
	}
	buf_text(&b, ".");
	refused(&b, "the pipeline has too many steps", "scikit-learn: pipelines that are shared");
}

static void
test_fields(void)
{
	struct buf b = { 0 };
	size_t i;

	buf_text(&b, "csklearn.x\nRandomForestRegressor\n)R(");
	for (i = 0; i < 10000; i++)
		buf_text(&b, "Vx\nN");
	buf_text(&b, "Vn_features_in_\nI1\ndb.");
	refused(&b, "the number of features is missing", "scikit-learn: an object has not 10 000 attributes");
}

/* Large vocabularies are no attack: objects grow with the file. */
static void
test_vocabulary(void)
{
	struct predictor m = { 0 };
	struct buf b = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	buf_text(&b, "csklearn.x\nCountVectorizer\n)R(Vvocabulary_\n(");
	for (i = 0; i < 600000; i++)
		buf_printf(&b, "V%zu\nI%zu\n", i, i);
	buf_text(&b, "ddb.");
	test_ok(load(&m, &b, &e) == 0 && m.outputs == 600000, "scikit-learn: 600 000 terms %s",
	        e.code != ERR_NONE ? e.fact : "");
	predictor_free(&m);
}

/* A damaged number is an error of the file, not one that shows behind the predictions. */
static void
test_scalar(void)
{
	struct buf b = { 0 };

	buf_text(&b, OBJECT("Binarizer", "Vn_features_in_\nI1\nVthreshold\n"
	                    "cnumpy.core.multiarray\nscalar\n(NNtR") ".");
	refused(&b, "an array has no type", "scikit-learn: a number of NumPy without a type");
}

#define ONE "cnumpy.core.numeric\n_frombuffer\n(c_codecs\nencode\n(V\\u0000\\u0000\\u0000\\u0000\\u0000\\u0000" \
	"\\u00f0?\nVlatin1\ntRcnumpy\ndtype\n(Vf8\ntR(I1\nI1\ntVC\ntR" /* [[1]] */

/* Two classes of one softmax. */
static void
test_two_classes(void)
{
	static const char *const texts[] = {
		OBJECT("LogisticRegression", "Vmulti_class\nVauto\nVcoef_\n" ONE) ".",
		OBJECT("LogisticRegression", "Vmulti_class\nVmultinomial\nVcoef_\n" ONE) ".",
	};
	size_t i;

	for (i = 0; i < 2; i++) {
		struct predictor m = { 0 };
		struct buf b = { 0 };
		struct err e = ERR_INIT;
		double score = 1, linked[2] = { 0 };

		buf_text(&b, texts[i]);
		if (load(&m, &b, &e) == 0)
			predict_link(&m, &score, linked);
		test_ok(linked[1] == 1 / (1 + exp(i ? -2 : -1)), "scikit-learn: two classes %s %s",
		        i ? "in one softmax" : "by their score", e.code != ERR_NONE ? e.fact : "");
		predictor_free(&m);
	}
}

/* ---- rows and labels ---- */

static int
collect(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
	buf_put(ctx, p, n);
	return buf_ok(ctx) ? 0 : err_memory(e);
}

static const struct {
	const char *about;
	const char *rows;
	size_t n; /* bytes; 0: to the NUL */
	enum rows_form form;
	enum batch_what what;
	const char *out; /* or a part of the error */
} batches[] = {
	{ "no rows", "", 0, ROWS_CSV, BATCH_RAW, "" },
	{ "labels that JSON does not write as numbers", "[1]\n[2]\n[3]\n[4]\n[5]\n", 0, ROWS_JSON,
	  BATCH_PREDICTION, "{\"prediction\":\"007\"}\n{\"prediction\":\"1.\"}\n{\"prediction\":-1.5e3}\n"
	  "{\"prediction\":0}\n{\"prediction\":\"a,\\\"b\"}\n" },
	{ "names of columns with separators", "x\n1\n", 0, ROWS_CSV, BATCH_PROBA,
	  "proba_007,proba_1.,proba_-1.5e3,proba_0,\"proba_a,\"\"b\"\n1,0,0,0,0\n" },
	{ "a NUL in a header", "x\0y,z\n1,2\n", 10, ROWS_CSV, BATCH_RAW, "row 1 has a byte of value 0" },
	{ "a quote that does not end in a row of libsvm", "1 0:1\n1 \"0:1\n", 0, ROWS_LIBSVM, BATCH_RAW,
	  "row 2: a quote does not end" },
};

/* The first class wins at x = 1, the second at x = 2, and so on. */
#define CLASSES "{\"features_info\":{\"float_features\":[{\"feature_id\":\"x\"}]},\"model_info\":{" \
	"\"class_params\":{\"class_names\":[\"007\",\"1.\",\"-1.5e3\",\"0\",\"a,\\\"b\"]}},\"trees\":[" \
	SPLIT("1.5", "{\"value\":[999,0,0,0,0]}", SPLIT("2.5", "{\"value\":[0,999,0,0,0]}", \
	SPLIT("3.5", "{\"value\":[0,0,999,0,0]}", SPLIT("4.5", "{\"value\":[0,0,0,999,0]}", \
	"{\"value\":[0,0,0,0,999]}")))) "]}"
#define SPLIT(BORDER, LEFT, RIGHT) "{\"split\":{\"float_feature_index\":0,\"border\":" BORDER "}," \
	"\"left\":" LEFT ",\"right\":" RIGHT "}"

static void
test_batches(void)
{
	struct predictor m = { 0 };
	struct buf b = { 0 }, out = { 0 };
	struct err e = ERR_INIT;
	size_t i;

	buf_text(&b, CLASSES);
	test_ok(load(&m, &b, &e) == 0, "a model with five labels %s", e.fact);
	for (i = 0; m.labels && i < sizeof batches / sizeof *batches; i++) {
		struct batch x = { .m = &m, .put = collect, .ctx = &out, .jobs = 1, .header = -1,
			.what = batches[i].what, .rows = { .m = &m, .where = "rows", .form = batches[i].form } };
		struct err wrong = ERR_INIT;
		struct reader r;
		int status;

		buf_clear(&out);
		reader_memory(&r, batches[i].rows, batches[i].n ? batches[i].n : strlen(batches[i].rows),
		              "rows", &wrong);
		status = batch_run(&x, &r, &wrong);
		reader_close(&r);
		rows_free(&x.rows);
		test_ok(status == 0 ? strcmp(buf_string(&out), batches[i].out) == 0
		                    : strstr(wrong.fact, batches[i].out) != NULL, "%s", batches[i].about);
		if (status < 0 ? !strstr(wrong.fact, batches[i].out)
		               : strcmp(buf_string(&out), batches[i].out))
			printf("# %s %s\n", wrong.fact, (char *)out.p);
	}
	buf_free(&out);
	predictor_free(&m);
}

/* ---- steps that are put together here ---- */

#define TEXTS 300
#define HASHES ((size_t)1 << 19) /* TEXTS rows of them are more than STEP_CELLS */

/* A chain that begins with counts of hashes. */
static int
add_hashes(struct predictor *m, size_t n, struct err *e)
{
	struct step *s = predictor_add_step(m);
	struct bag *w = bag_new();

	m->form = PREDICT_STEPS;
	if (!s || !w)
		return err_memory(e);
	w->hashes = n;
	return bag_step(w, n, "m", s, e);
}

/* What a chain gives for rows of texts. */
static int
run_texts(struct predictor *m, const char *rows, struct buf *out, struct err *e)
{
	struct batch x = { .m = m, .put = collect, .ctx = out, .jobs = 1, .header = -1,
		.rows = { .m = m, .where = "rows", .form = ROWS_TEXT } };
	struct reader r;
	int status = predictor_finish(m, "m", e);

	if (status < 0)
		return -1;
	reader_memory(&r, rows, strlen(rows), "rows", e);
	status = batch_run(&x, &r, e);
	reader_close(&r);
	rows_free(&x.rows);
	return status;
}

static void
test_wide(void)
{
	struct predictor m = { 0 };
	struct buf rows = { 0 }, out = { 0 };
	struct err e = ERR_INIT;
	struct step *s = add_hashes(&m, HASHES, &e) == 0 ? predictor_add_step(&m) : NULL;
	size_t i;

	for (i = 0; i < TEXTS; i++)
		buf_text(&rows, "aa\n");
	if (s) {
		*s = (struct step){ .kind = &step_project, .in = HASHES, .out = 1,
			.b = calloc(HASHES, sizeof(double)) };
		s->b[bag_hash((const uint8_t *)"aa", 2, 0) % HASHES] = 2;
	}
	test_ok(s && run_texts(&m, buf_string(&rows), &out, &e) == 0 && out.n == TEXTS * 2,
	        "rows that are wide between two steps: %s", e.fact);
	predictor_free(&m);
	buf_free(&rows);
	buf_free(&out);
}

/* A threshold below 0 leaves no zeros, so that the rows are not sparse. */
static void
test_dense(void)
{
	struct predictor m = { 0 };
	struct buf out = { 0 };
	struct err e = ERR_INIT;
	struct step *s = add_hashes(&m, 4, &e) == 0 ? predictor_add_step(&m) : NULL;

	if (s)
		*s = (struct step){ .kind = &step_binarize, .in = 4, .out = 4, .x = -2 };
	test_ok(s && run_texts(&m, "aa bb\n", &out, &e) == 0 && strcmp(buf_string(&out), "1,1,1,1\n") == 0,
	        "zeros above a threshold");
	predictor_free(&m);
	buf_free(&out);
}

/* A tree of one split. */
static int
add_split(struct predictor *m, struct tree_node split, struct err *e)
{
	struct tree t = { 0 };
	struct tree_node *x = tree_add(&t);
	int r = -1;

	split.left = 1;
	split.right = 2;
	buf_u32(&t.sets, 2); /* the category 1 */
	m->features = 2;
	m->outputs = 1;
	if (x) {
		*x = split;
		r = tree_leaf(&t, tree_add(&t), 1, 0) < 0 || tree_leaf(&t, tree_add(&t), 2, 1) < 0 ? -1 : 0;
	}
	if (r == 0)
		r = forest_begin(&m->forest, 2, 1, 1, e) < 0 || forest_add(&m->forest, &t, "m", e) < 0 ? -1 : 0;
	tree_free(&t);
	return r;
}

/* A row with an infinity becomes one with NaN, and goes right alone and among others. */
static void
test_infinity(void)
{
	struct predictor m = { 0 };
	struct step_rows x = { .n = 0 }, spare = { .n = 0 };
	struct err e = ERR_INIT;
	struct step *s = predictor_add_step(&m);
	double scores[9] = { 0 };
	size_t i, right = 0;

	if (s)
		*s = (struct step){ .kind = &step_norm, .in = 2, .out = 2, .mode = STEP_L2 };
	if (s && add_split(&m, (struct tree_node){ .threshold = 5, .missing = FOREST_NAN }, &e) == 0 &&
	    predictor_finish(&m, "m", &e) == 0 && step_rows_begin(&x, 9, 2, &e) == 0) {
		for (i = 0; i < 9; i++)
			step_row(&x, i)[0] = HUGE_VAL;
		predict_block(&m, &x, &spare, false, scores, NULL, &e);
	}
	for (i = 0; i < 9; i++)
		right += scores[i] == 2;
	test_ok(right == 9, "NaN of a step: %zu of 9 rows go right", right);
	step_rows_free(&x);
	step_rows_free(&spare);
	predictor_free(&m);
}

/* Categories below 0 are missing where the library says so. */
static void
test_negative(void)
{
	const struct tree_node split = { .category = true, .negative = true, .missing = FOREST_NAN,
		.default_left = true, .set_words = 1 };
	double rows[10] = { 0, 0, 1, 0, -1, 0, -0.5, 0, 2, 0 }, scores[5] = { 0 };
	struct predictor m = { 0 };
	struct err e = ERR_INIT;

	if (add_split(&m, split, &e) == 0 && predictor_finish(&m, "m", &e) == 0)
		predict_rows(&m, rows, 5, false, scores, NULL);
	test_ok(scores[0] == 2 && scores[1] == 1 && scores[2] == 1 && scores[3] == 1 && scores[4] == 2,
	        "negative categories are missing");
	predictor_free(&m);
}

static void
test_patterns(void)
{
	static const struct { const char *text; bool read; } cases[] = {
		{ "[a-z]+", true }, { "(?:a|b)+", true }, { "a\\(b", true }, { "(?<=a)b", true }, { "(?<!a)b", true },
		{ "(a)", false }, { "\\\\(a)", false }, { "(?P<w>a)", false }, { "(?<w>a)", false },
	};
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bag *w = bag_new();
		struct err e = ERR_INIT;
		int r = w ? bag_pattern(w, cases[i].text, strlen(cases[i].text), "m", &e) : 1;

		test_ok(cases[i].read ? r == 0 : r < 0 && strstr(e.fact, "with a group"), "the pattern %s is %s",
		        cases[i].text, cases[i].read ? "read" : "refused");
		bag_free(w);
	}
}

/* A vowel sign of Hindi is a mark, but does not combine: it stays when accents go. */
static void
test_marks(void)
{
	struct predictor m = { 0 };
	struct buf out = { 0 };
	struct err e = ERR_INIT;
	struct step *s = predictor_add_step(&m);
	struct bag *w = bag_new();
	int r = -1;

	m.form = PREDICT_STEPS;
	if (s && w) {
		w->unit = BAG_LETTERS;
		w->accents = ACCENTS_MARKS;
		r = bag_term(w, "\xe0\xa4\xbe", 3, 0, &e) < 0 || bag_term(w, "\xcc\x81", 2, 1, &e) < 0 ||
		    bag_step(w, 2, "m", s, &e) < 0 ? -1 : run_texts(&m, "\xe0\xa4\xa8\xe0\xa4\xbe \xc3\xa9\n", &out, &e);
	}
	test_ok(r == 0 && strcmp(buf_string(&out), "0:1\n") == 0, "marks that do not combine stay");
	predictor_free(&m);
	buf_free(&out);
}

/* A network of TensorFlow Lite or ONNX that is cut off, or whose bytes are changed, is read or refused; what is read
 * computes a row. */
static void
test_lite(void)
{
	static const char *const paths[] = { "tests/data/nets/windows_lite.tflite",
		"tests/data/nets/means_lite.tflite", "tests/data/nets/integers_lite.tflite",
		"tests/data/nets/windows_onnx.onnx", "tests/data/nets/means_onnx.onnx", "tests/data/nets/states_onnx.onnx" };
	size_t i, k, cut = 0, read = 0;

	for (i = 0; i < sizeof paths / sizeof *paths; i++) {
		uint8_t p[4096];
		FILE *f = fopen(paths[i], "rb");
		size_t n = f ? fread(p, 1, sizeof p, f) : 0;

		for (k = 0; k < 2 * n; k++) {
			struct predictor m = { 0 };
			struct err e = ERR_INIT;
			bool whole = k >= n;

			p[k % n] ^= whole ? 0x81 : 0;
			if (!predict_probe(p, n))
				err_set(&e, ERR_FORMAT, NULL, "not a model");
			else if (predict_read(&m, predict_probe(p, n), p, whole ? n : k, "lite", &e) == 0)
				*(whole ? &read : &cut) += 1;
			else if (e.code == ERR_NONE)
				cut += 1000;
			p[k % n] ^= whole ? 0x81 : 0;
			predictor_free(&m);
		}
		if (f)
			fclose(f);
	}
	test_ok(cut == 0 && read > 1000, "networks: no part is read; with a changed byte, %zu are", read);
}

/* ---- containers ---- */

/* The length at the beginning of a file of safetensors can have the bytes of a pickle, or of a brace. */
static void
test_containers(void)
{
	static const uint8_t first[][2] = { { 0x80, 2 }, { 0x80, 3 }, { 0x80, 4 }, { 0x80, 5 }, { '{', 4 }, { 8, 7 } };
	size_t i, wrong = 0;

	for (i = 0; i < sizeof first / sizeof *first; i++) {
		uint8_t p[256] = { first[i][0], first[i][1] };

		strcpy((char *)p + 8, "{\"learner\":{}, \"features_info\": \"sklearn.\"}");
		wrong += predict_probe(p, sizeof p) != NULL;
	}
	test_ok(wrong == 0, "safetensors are not files of libraries");
}

int
main(void)
{
	test_containers();
	test_sets();
	test_numbers();
	test_ubjson();
	test_unreachable();
	test_classes();
	test_limit();
	test_layers();
	test_texts();
	test_lite();
	test_pipelines();
	test_fields();
	test_vocabulary();
	test_scalar();
	test_two_classes();
	test_batches();
	test_wide();
	test_dense();
	test_infinity();
	test_negative();
	test_patterns();
	test_marks();
	return test_done();
}
