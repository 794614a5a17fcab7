/* t_predict: the rules by which each library goes from a row to a prediction, on models small enough
 * to follow by hand; and models that are refused. */
#include <math.h>
#include <string.h>

#include "predict/decimal.h"
#include "predict/predict.h"
#include "predict/rows/rows.h"
#include "test.h"

/* ---- models ---- */

/* XGBoost: one split of f0 at 0.1 (as a float), missing values right; a leaf 1, a leaf 2. */
#define XGB_TREE(LEFT, RIGHT, INDEX, CONDITION, DEFAULT, MORE) "{\"left_children\":" LEFT \
	",\"right_children\":" RIGHT ",\"split_indices\":" INDEX ",\"split_conditions\":" CONDITION \
	",\"default_left\":" DEFAULT MORE "}"
#define XGB_STUMP XGB_TREE("[1,-1,-1]", "[2,-1,-1]", "[0,0,0]", "[1E-1,1,2]", "[0,0,0]", "")
#define XGB(OBJECTIVE, BASE, CLASSES, BOOSTER) "{\"learner\":{\"gradient_booster\":" BOOSTER \
	",\"learner_model_param\":{\"base_score\":\"" BASE "\",\"num_class\":\"" CLASSES "\"," \
	"\"num_feature\":\"2\"},\"objective\":{\"name\":\"" OBJECTIVE "\"}},\"version\":[2,0,3]}"
#define GBTREE(TREES, INFO) "{\"model\":{\"trees\":[" TREES "],\"tree_info\":" INFO \
	"},\"name\":\"gbtree\"}"
#define XGB_ONE(TREE) XGB("reg:squarederror", "5E-1", "0", GBTREE(TREE, "[0]"))

#define XGB_CATEGORIES XGB_ONE(XGB_TREE("[1,-1,-1]", "[2,-1,-1]", "[0,0,0]", "[0,1,2]", "[1,0,0]", \
	",\"split_type\":[1,0,0],\"categories\":[1,33],\"categories_nodes\":[0]," \
	"\"categories_segments\":[0],\"categories_sizes\":[2]"))
#define XGB_DART XGB("reg:squarederror", "0", "0", "{\"gbtree\":{\"model\":{\"trees\":[" XGB_STUMP "," \
	XGB_STUMP "],\"tree_info\":[0,0]}},\"name\":\"dart\",\"weight_drop\":[5E-1,2.5E-1]}")
#define XGB_LINEAR XGB("count:poisson", "1", "0", \
	"{\"model\":{\"weights\":[2,-1,5E-1]},\"name\":\"gblinear\"}")

#define LGB_HEAD(OBJECTIVE, MORE) "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\n" \
	"max_feature_idx=1\nobjective=" OBJECTIVE "\n" MORE "feature_names=a b\n\n"
#define LGB_TREE(TYPE, THRESHOLD, LEAVES, MORE) "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\n" \
	"threshold=" THRESHOLD "\ndecision_type=" TYPE "\nleft_child=-1\nright_child=-2\n" \
	"leaf_value=" LEAVES "\n" MORE "\n"
#define LGB_END "end of trees\n"
#define LGB_LINES(MORE) LGB_HEAD("regression", "") LGB_TREE("2", "1", "1 2", "is_linear=1\n" MORE) LGB_END
#define LGB_TERMS(COUNTS, FEATURES, WEIGHTS) "leaf_const=3 4\nnum_features=" COUNTS "\nleaf_features=" \
	FEATURES "\nleaf_coeff=" WEIGHTS "\n"
#define LGB_JSON(TREE) "{\"name\":\"tree\",\"version\":\"v4\",\"num_tree_per_iteration\":1," \
	"\"max_feature_idx\":1,\"objective\":\"regression\",\"tree_info\":[{\"tree_structure\":" TREE "}]}"
#define LGB_JSON_LINE(FEATURES, WEIGHTS) LGB_JSON("{\"leaf_value\":1,\"leaf_const\":3,\"leaf_features\":" \
	FEATURES ",\"leaf_coeff\":" WEIGHTS "}")
#define LGB(TYPE, THRESHOLD) LGB_HEAD("regression", "") LGB_TREE(TYPE, THRESHOLD, "1 2", "") LGB_END
#define LGB_LINK(OBJECTIVE) LGB_HEAD(OBJECTIVE, "") LGB_TREE("2", "0.5", "-1 1.5", "") LGB_END
#define LGB_SET LGB_HEAD("regression", "") LGB_TREE("9", "0", "1 2", "cat_boundaries=0 2\n" \
	"cat_threshold=4 2\n") LGB_END

#define CAT_FEATURES "\"features_info\":{\"float_features\":[{\"flat_feature_index\":1," \
	"\"nan_value_treatment\":\"AsTrue\"},{\"flat_feature_index\":0}]}"
#define CAT_TREES(SPLIT) "\"oblivious_trees\":[{\"splits\":[{\"float_feature_index\":1,\"border\":0.5}," SPLIT \
	"],\"leaf_values\":[0,1,2,3]}]"
#define CAT(SPLIT, MORE) "{" CAT_FEATURES "," CAT_TREES(SPLIT) MORE "}"
#define CAT_LATE(MORE) "{" CAT_TREES("{\"float_feature_index\":0,\"border\":-1}") "," CAT_FEATURES \
	",\"scale_and_bias\":[2,[10]]" MORE "}"
#define CAT_TREE CAT("{\"float_feature_index\":0,\"border\":-1}", ",\"scale_and_bias\":[2,[10]]")
#define CAT_FREE "{\"features_info\":{\"float_features\":[{},{}]},\"trees\":[{\"split\":{" \
	"\"float_feature_index\":1,\"border\":1},\"left\":{\"value\":7},\"right\":{\"split\":{" \
	"\"float_feature_index\":0,\"border\":2},\"left\":{\"value\":8},\"right\":{\"value\":9}}}]}"

/* ---- what they predict ---- */

static int
load(struct predictor *m, const char *text, size_t n, struct err *e)
{
	const struct predict_reader *reader = predict_probe((const uint8_t *)text, n);

	*m = (struct predictor){ 0 };
	return reader ? predict_read(m, reader, (const uint8_t *)text, n, "m", e)
	              : err_set(e, ERR_FORMAT, "m", "unknown");
}

static const struct {
	const char *name, *model;
	double row[2];
	double raw, linked; /* the first score, and the first value (binary: the second) */
} cases[] = {
	{ "XGBoost: the float below the threshold is left", XGB_ONE(XGB_STUMP), { 0.0999999940, 0 },
	  1.5, 1.5 },
	{ "XGBoost: a double below it that rounds to it is right", XGB_ONE(XGB_STUMP),
	  { 0.0999999999, 0 }, 2.5, 2.5 },
	{ "XGBoost: missing", XGB_ONE(XGB_STUMP), { NAN, 0 }, 2.5, 2.5 },
	{ "XGBoost: a category of the set is right", XGB_CATEGORIES, { 33, 0 }, 2.5, 2.5 },
	{ "XGBoost: another one is left", XGB_CATEGORIES, { 32, 0 }, 1.5, 1.5 },
	{ "XGBoost: one beyond the set is left", XGB_CATEGORIES, { 1e7, 0 }, 1.5, 1.5 },
	{ "XGBoost: a negative one is left", XGB_CATEGORIES, { -7, 0 }, 1.5, 1.5 },
	{ "XGBoost: a missing one by default", XGB_CATEGORIES, { NAN, 0 }, 1.5, 1.5 },
	{ "XGBoost: weights of DART", XGB_DART, { 1, 0 }, 1.5, 1.5 },
	{ "XGBoost: logistic, base score 0.5", XGB("binary:logistic", "5E-1", "0",
	  GBTREE(XGB_STUMP, "[0]")), { 0, 0 }, 1, 0.731058597564697265625 },
	{ "XGBoost: logistic, base score as a list", XGB("reg:logistic", "[5E-1]", "0",
	  GBTREE(XGB_STUMP, "[0]")), { 0, 0 }, 1, 0.731058597564697265625 },
	{ "XGBoost: hinge", XGB("binary:hinge", "5E-1", "0", GBTREE(XGB_STUMP, "[0]")), { 0, 0 },
	  1.5, 1 },
	{ "XGBoost: gblinear", XGB_LINEAR, { 0.25, 0.5 }, 0.5, 1.6487212181091309 },
	{ "XGBoost: gblinear leaves out what is missing", XGB_LINEAR, { NAN, 0.5 }, 0, 1 },
	{ "LightGBM: equal is left", LGB("2", "0.1"), { 0.1, 0 }, 1, 1 },
	{ "LightGBM: the next double is right", LGB("2", "0.1"), { 0.10000000000000002, 0 }, 2, 2 },
	{ "LightGBM: NaN without a kind is 0", LGB("0", "0.1"), { NAN, 0 }, 1, 1 },
	{ "LightGBM: NaN by default left", LGB("10", "-5"), { NAN, 0 }, 1, 1 },
	{ "LightGBM: NaN by default right", LGB("8", "5"), { NAN, 0 }, 2, 2 },
	{ "LightGBM: zero is missing", LGB("6", "-5"), { 0, 0 }, 1, 1 },
	{ "LightGBM: 1e-35 is zero", LGB("6", "-5"), { 1e-35, 0 }, 1, 1 },
	{ "LightGBM: 2e-35 is not", LGB("6", "-5"), { 2e-35, 0 }, 2, 2 },
	{ "LightGBM: categories of two words", LGB_SET, { 2, 0 }, 1, 1 },
	{ "LightGBM: the second word", LGB_SET, { 33, 0 }, 1, 1 },
	{ "LightGBM: a category between", LGB_SET, { 1, 0 }, 2, 2 },
	{ "LightGBM: a category with a fraction", LGB_SET, { 2.9, 0 }, 1, 1 },
	{ "LightGBM: an unknown category", LGB_SET, { 64, 0 }, 2, 2 },
	{ "LightGBM: a missing category", LGB_SET, { NAN, 0 }, 2, 2 },
	{ "LightGBM: binary with a sigmoid", LGB_LINK("binary sigmoid:2"), { 1, 0 }, 1.5,
	  0.95257412682243314 },
	{ "LightGBM: poisson", LGB_LINK("poisson"), { 0, 0 }, -1, 0.36787944117144233 },
	{ "LightGBM: the square of a negative score", LGB_LINK("regression sqrt"), { 0, 0 }, -1, -1 },
	{ "LightGBM: cross_entropy_lambda", LGB_LINK("cross_entropy_lambda"), { 0, 0 }, -1,
	  0.31326168751822286 },
	{ "LightGBM: a linear leaf", LGB_LINES(LGB_TERMS("1 2", "1  0 1", "2  -1 0.5")), { 0.5, 7 }, 17, 17 },
	{ "LightGBM: another one", LGB_LINES(LGB_TERMS("1 2", "1  0 1", "2  -1 0.5")), { 2, 7 }, 5.5, 5.5 },
	{ "LightGBM: a linear leaf that lacks a value", LGB_LINES(LGB_TERMS("1 2", "1  0 1", "2  -1 0.5")),
	  { 2, NAN }, 2, 2 },
	{ "LightGBM, JSON: a linear leaf", LGB_JSON_LINE("[1,0]", "[2,4]"), { 0.5, 7 }, 19, 19 },
	{ "LightGBM: scores of a forest are sums", LGB_HEAD("binary sigmoid:1", "average_output\n")
	  LGB_TREE("2", "1", "1 2", "") LGB_TREE("2", "1", "2 5", "") LGB_END, { 0, 0 }, 3, 0.81757447619364365 },
	{ "LightGBM: a tree of one leaf between others", LGB_HEAD("regression", "")
	  LGB_TREE("2", "1", "3 4", "") "Tree=1\nnum_leaves=1\nsplit_feature=\nthreshold=\ndecision_type=\nleft_child=\nright_child=\nleaf_value=5\n\n"
	  LGB_TREE("6", "-5", "1 2", "") LGB_END, { 2e-35, 0 }, 10, 10 },
	{ "CatBoost: the first split is the lowest bit", CAT_TREE, { 1, -2 }, 12, 12 },
	{ "CatBoost: equal is left", CAT_TREE, { 0.5, 0 }, 14, 14 },
	{ "CatBoost: missing as false and as true", CAT_TREE, { NAN, NAN }, 14, 14 },
	{ "CatBoost: trees in front of the features", CAT_LATE(""), { 1, -2 }, 12, 12 },
	{ "CatBoost: trees that are not oblivious", CAT_FREE, { 2.5, 1.5 }, 9, 9 },
};

static void
test_cases(void)
{
	size_t i, n;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = ERR_INIT;
		struct predictor m;
		double rows[2 * 20], scores[20] = { 0 }, linked[2] = { 0 };
		int r = load(&m, cases[i].model, strlen(cases[i].model), &e);
		bool same = r == 0;

		/* One row takes one way through a tree, twenty take another. */
		for (n = 1; r == 0 && n <= 20; n += 19) {
			size_t k;

			for (k = 0; k < n; k++)
				memcpy(rows + 2 * k, cases[i].row, sizeof cases[i].row);
			predict_rows(&m, rows, n, true, scores, NULL);
			predict_link(&m, scores, linked);
			same = same && scores[0] == cases[i].raw && scores[n - 1] == cases[i].raw &&
			       fabs(linked[m.task == PREDICT_BINARY] - cases[i].linked) <= 1e-15;
		}
		test_ok(same, "%s", cases[i].name);
		if (!same)
			printf("# %s %.17g %.17g\n", e.fact, scores[0], linked[m.task == PREDICT_BINARY]);
		predictor_free(&m);
	}
}

/* ---- models that are refused ---- */

static const struct {
	const char *name, *model, *fact;
} refused[] = {
	{ "a cycle", XGB_ONE(XGB_TREE("[1,0,-1]", "[2,2,-1]", "[0,0,0]", "[1,1,2]", "[0,0,0]", "")),
	  "two parents" },
	{ "a node that is its own child", XGB_ONE(XGB_TREE("[0]", "[0]", "[0]", "[1]", "[0]", "")),
	  "has the children 0 and 0" },
	{ "a child out of range", XGB_ONE(XGB_TREE("[1,-1]", "[7,-1]", "[0,0]", "[1,1]", "[0,0]", "")),
	  "has the child 7, of 2 nodes" },
	{ "a child with a fraction", XGB_ONE(XGB_TREE("[1.5,-1]", "[1,-1]", "[0,0]", "[1,1]", "[0,0]",
	  "")), "has the children 1.5 and 1" },
	{ "a threshold that is NaN", XGB_ONE(XGB_TREE("[1,-1,-1]", "[2,-1,-1]", "[0,0,0]", "[NaN,1,2]",
	  "[0,0,0]", "")), "is NaN" },
	{ "a feature out of range", XGB_ONE(XGB_TREE("[1,-1,-1]", "[2,-1,-1]", "[2,0,0]", "[1,1,2]",
	  "[0,0,0]", "")), "asks for feature 2, of 2" },
	{ "lists of different lengths", XGB_ONE(XGB_TREE("[1,-1,-1]", "[2,-1]", "[0,0,0]", "[1,1,2]",
	  "[0,0,0]", "")), "right_children has 2 items" },
	{ "a tree without nodes", XGB_ONE(XGB_TREE("[]", "[]", "[]", "[]", "[]", "")), "no nodes" },
	{ "an output out of range", XGB("reg:squarederror", "0", "0", GBTREE(XGB_STUMP, "[1]")),
	  "its output is 1, of 1" },
	{ "more trees than outputs", XGB("reg:squarederror", "0", "0", GBTREE(XGB_STUMP, "[]")),
	  "tree_info has 0 items for 1 trees" },
	{ "an absurd number of classes", XGB("multi:softmax", "0", "99999999", GBTREE("", "[]")),
	  "num_class is 1e+08" },
	{ "an objective that is not known", XGB("reg:mine", "0", "0", GBTREE("", "[]")), "reg:mine" },
	{ "a base score that is no probability", XGB("binary:logistic", "2", "0", GBTREE("", "[]")),
	  "not between 0 and 1" },
	{ "categories outside their list", XGB_ONE(XGB_TREE("[1,-1,-1]", "[2,-1,-1]", "[0,0,0]",
	  "[0,1,2]", "[1,0,0]", ",\"split_type\":[1,0,0],\"categories\":[1],\"categories_nodes\":[0],"
	  "\"categories_segments\":[0],\"categories_sizes\":[2]")), "outside their list" },
	{ "leaves of several values", XGB_ONE(XGB_TREE("[-1]", "[-1]", "[0]", "[1]", "[0]",
	  ",\"tree_param\":{\"size_leaf_vector\":\"3\"}")), "several values" },
	{ "a file that ends early", "{\"learner\":{\"gradient_booster\":{", "is missing" },
	{ "something behind the end", XGB_ONE(XGB_STUMP) "x", "follows the end" },
	{ "LightGBM: leaves that are missing", LGB_HEAD("regression", "") LGB_TREE("2", "1", "1", "")
	  LGB_END, "do not agree" },
	{ "LightGBM: a child outside", LGB_HEAD("regression", "") "Tree=0\nnum_leaves=2\n"
	  "split_feature=0\nthreshold=1\ndecision_type=2\nleft_child=-1\nright_child=-3\n"
	  "leaf_value=1 2\n\n" LGB_END, "a child is outside" },
	{ "LightGBM: one leaf twice", LGB_HEAD("regression", "") "Tree=0\nnum_leaves=2\n"
	  "split_feature=0\nthreshold=1\ndecision_type=2\nleft_child=-1\nright_child=-1\n"
	  "leaf_value=1 2\n\n" LGB_END, "two parents" },
	{ "LightGBM: the end is missing", LGB_HEAD("regression", ""), "\"end of trees\" is missing" },
	{ "LightGBM: linear leaves without lists", LGB_LINES(""), "differ in length" },
	{ "LightGBM: a linear leaf of too many features", LGB_LINES(LGB_TERMS("1 2", "0 1", "1 2")),
	  "more features than its list" },
	{ "LightGBM: a linear leaf without a weight", LGB_LINES(LGB_TERMS("1 1", "0 1", "1")), "differ in length" },
	{ "LightGBM: a linear leaf of a feature out of range", LGB_LINES(LGB_TERMS("1 1", "0 2", "1 2")),
	  "a feature that the model lacks" },
	{ "LightGBM, JSON: the same", LGB_JSON_LINE("[2]", "[1]"), "a feature that the model lacks" },
	{ "LightGBM, JSON: a linear leaf without a weight", LGB_JSON_LINE("[1]", "[]"), "differ in length" },
	{ "LightGBM: text in numbers", LGB_HEAD("regression", "") LGB_TREE("2", "1x", "1 2", "") LGB_END,
	  "threshold is not a list of numbers" },
	{ "LightGBM: a set outside its list", LGB_HEAD("regression", "") LGB_TREE("1", "0", "1 2",
	  "cat_boundaries=0 3\ncat_threshold=4 2\n") LGB_END, "outside its list" },
	{ "LightGBM: features without a number", "tree\nversion=v4\n\nTree=0\n", "number of features" },
	{ "CatBoost: values of another depth", CAT("{\"float_feature_index\":0,\"border\":-1},"
	  "{\"float_feature_index\":0,\"border\":-2}", ""), "4 values for 8 leaves" },
	{ "CatBoost: a feature out of range", CAT("{\"float_feature_index\":2,\"border\":-1}", ""),
	  "asks for feature 2, of 2" },
	{ "CatBoost: categories", CAT("{\"split_type\":\"OnlineCtr\"}", ""), "OnlineCtr are not read" },
	{ "CatBoost: two lists of trees", CAT_LATE(",\"trees\":[]"), "has two lists of trees" },
	{ "CatBoost: two lists of features", CAT_LATE(",\"features_info\":{}"), "features_info occurs twice" },
	{ "CatBoost: no trees", "{\"features_info\":{},\"oblivious_trees\":[]}", "has no trees" },
	{ "a pickle that runs a program", "\x80\2cos\nsystem\nX\2\0\0\0idq\0\x85R.", "os.system" },
	{ "a pickle of something else", "\x80\2K\1.", "not an estimator" },
	{ "an estimator that is not read", "\x80\2csklearn.svm._classes\nXyz\n)\x81}b.", "class Xyz" },
};

static void
test_refused(void)
{
	size_t i, n;

	for (i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct err e = ERR_INIT;
		struct predictor m;
		const char *text = refused[i].model;

		n = strlen(text);
		if (i + 3 == sizeof refused / sizeof *refused)
			n = sizeof "\x80\2cos\nsystem\nX\2\0\0\0idq\0\x85R." - 1;
		test_ok(load(&m, text, n, &e) < 0 && strstr(e.fact, refused[i].fact) &&
		        (e.code == ERR_CORRUPT || e.code == ERR_FORMAT), "refused: %s", refused[i].name);
		if (!strstr(e.fact, refused[i].fact))
			printf("# %s: %s\n", e.object, e.fact);
		predictor_free(&m);
	}
}

/* ---- UBJSON ---- */

static const char ubjson[] =
	"{L\0\0\0\0\0\0\0\7learner{"
	"L\0\0\0\0\0\0\0\x10gradient_booster{"
	"L\0\0\0\0\0\0\0\5model{"
	"L\0\0\0\0\0\0\0\5trees[{"
	"L\0\0\0\0\0\0\0\rleft_children[$l#L\0\0\0\0\0\0\0\3\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff"
	"L\0\0\0\0\0\0\0\016right_children[$l#i\3\0\0\0\2\xff\xff\xff\xff\xff\xff\xff\xff"
	"L\0\0\0\0\0\0\0\rsplit_indices[$l#i\3\0\0\0\1\0\0\0\0\0\0\0\0"
	"L\0\0\0\0\0\0\0\020split_conditions[$d#i\3\x3f\0\0\0\x40\x80\0\0\xc0\x80\0\0"
	"L\0\0\0\0\0\0\0\014default_left[$U#i\3\1\0\0"
	"}]L\0\0\0\0\0\0\0\ttree_info[i\0]}}"
	"L\0\0\0\0\0\0\0\023learner_model_param{"
	"L\0\0\0\0\0\0\0\nbase_scoreSL\0\0\0\0\0\0\0\4""1E-1"
	"i\013num_featureSi\1""2}"
	"i\tobjective{i\4nameSi\020reg:squarederror}}}";

static void
test_ubjson(void)
{
	struct err e = ERR_INIT;
	struct predictor m;
	double rows[4] = { 0, 0.5, 0, NAN }, scores[2] = { 0 };
	size_t n, whole = 0;
	int r = load(&m, ubjson, sizeof ubjson - 1, &e);

	if (r == 0)
		predict_rows(&m, rows, 2, true, scores, NULL);
	test_ok(r == 0 && (float)scores[0] == -4 + 0.1f && (float)scores[1] == 4 + 0.1f,
	        "UBJSON: typed arrays, big-endian");
	if (r < 0)
		printf("# %s: %s\n", e.object, e.fact);
	predictor_free(&m);
	for (n = 2; n < sizeof ubjson - 1; n++) {
		struct err e2 = ERR_INIT;

		whole += load(&m, ubjson, n, &e2) == 0;
		predictor_free(&m);
	}
	test_ok(whole == 0, "UBJSON: refused at each length but its own");
}

/* ---- numbers ---- */

static void
test_numbers(void)
{
	static const char *const texts[] = { "0", "-0", "1", "0.1", "1e22", "1e23", "123456789012345678",
		"9007199254740993", "0.3", "2.2250738585072014e-308", "5e-324", "1.7976931348623157e308",
		"1e999", "-1E-5", ".5", "5.", "+7", "8.5e+0", "179769313486231570000000000000000000000",
		"0.000000000000000000000000000000000000001234567890123456789", "1234567890.12345678901" };
	static const struct { double v; bool single; const char *text; } written[] = {
		{ 0.1, false, "0.1" }, { 0.1f, true, "0.1" }, { 1.0 / 3, false, "0.3333333333333333" },
		{ 1e300, false, "1e+300" }, { -7, false, "-7" }, { NAN, false, "nan" },
		{ 16777217, false, "16777217" }, { 5e-324, false, "4.94065645841247e-324" },
	};
	static const char *const not[] = { "", "-", ".", "e5", "x", "- 1", "in", "na" };
	size_t i, wrong = 0;

	for (i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *p = texts[i], *end = p + strlen(p);

		wrong += decimal_read(&p, end) != strtod(texts[i], NULL) || p != end;
	}
	for (i = 0; i < sizeof not / sizeof *not; i++) {
		const char *p = not[i];

		decimal_read(&p, p + strlen(p));
		wrong += p != not[i];
	}
	test_ok(wrong == 0, "numbers are read as the C library reads them");
	for (i = 0, wrong = 0; i < sizeof written / sizeof *written; i++) {
		struct buf b = { 0 };

		decimal_write(&b, written[i].v, written[i].single);
		if (strcmp(buf_string(&b), written[i].text) != 0)
			printf("# %s, not %s\n", (char *)b.p, written[i].text), wrong++;
		buf_free(&b);
	}
	test_ok(wrong == 0, "numbers are written with the fewest digits");
}

/* Rows that have a missing value and rows that have none give the same leaves in all ways. */
static void
test_blocks(void)
{
	struct err e = ERR_INIT;
	struct predictor m;
	double rows[64 * 2], again[64 * 2], a[64], b[64];
	uint32_t leaves[64];
	size_t i, wrong = 0;
	int r = load(&m, CAT_TREE, strlen(CAT_TREE), &e);

	for (i = 0; i < 128; i++)
		rows[i] = (double)(i * 37 % 11) - 5;
	for (i = 0; r == 0 && i < 64; i++) {
		again[0] = rows[2 * i];
		again[1] = rows[2 * i + 1];
		predict_rows(&m, again, 1, true, a + i, leaves + i);
	}
	if (r == 0)
		predict_rows(&m, rows, 64, false, b, NULL);
	for (i = 0; r == 0 && i < 64; i++)
		wrong += a[i] != b[i] || leaves[i] != (rows[2 * i] > 0.5) + 2u * (rows[2 * i + 1] > -1);
	test_ok(r == 0 && wrong == 0, "rows alone and in blocks");
	predictor_free(&m);
}

int
main(void)
{
	test_cases();
	test_refused();
	test_ubjson();
	test_numbers();
	test_blocks();
	return test_done();
}
