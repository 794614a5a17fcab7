/* t_onnxml: classical models in ONNX, small enough to follow by hand; what is refused; and two real
 * models with what they gave where they came from. */
#include <math.h>
#include <string.h>

#include "onnx_models.h"

#define MODEL(NODES) "1:8 7:{" NODES " 11:{1:\"x\" 2:{1:{1:1 2:{1:{2:\"N\"} 1:{1:2}}}}}}"
#define NODE_OF(IN, OUT, OP, ATTRIBUTES) "1:{1:\"" IN "\" 2:\"" OUT "\" 4:\"" OP "\" " ATTRIBUTES \
	"7:\"ai.onnx.ml\"}"
#define NODE(OP, ATTRIBUTES) NODE_OF("x", "y", OP, ATTRIBUTES)
#define INTS(NAME, VALUES) "5:{1:\"" NAME "\" 8:[" VALUES "]} "
#define FLOATS(NAME, VALUES) "5:{1:\"" NAME "\" 7:f[" VALUES "]} "
#define WORD(NAME, TEXT) "5:{1:\"" NAME "\" 4:\"" TEXT "\"} "
#define MODES(A) "5:{1:\"nodes_modes\" 9:\"" A "\" 9:\"LEAF\" 9:\"LEAF\"} "
/* One split of feature 1 at 0.5: node 4 if true, node 2 if not. */
#define NODES(MODE) INTS("nodes_treeids", "0 0 0") INTS("nodes_nodeids", "3 2 4") \
	INTS("nodes_featureids", "1 0 0") FLOATS("nodes_values", "0.5 0 0") \
	INTS("nodes_truenodeids", "4 0 0") INTS("nodes_falsenodeids", "2 0 0") MODES(MODE)
#define TARGETS INTS("target_treeids", "0 0") INTS("target_nodeids", "4 2") INTS("target_ids", "0 0") \
	FLOATS("target_weights", "10 20")
#define TREE(MODE, MORE) MODEL(NODE("TreeEnsembleRegressor", NODES(MODE) TARGETS MORE))
#define CLASSES(IDS, WEIGHTS, LINK) MODEL(NODE("TreeEnsembleClassifier", NODES("BRANCH_LEQ") \
	INTS("class_treeids", "0 0") INTS("class_nodeids", "4 2") INTS("class_ids", IDS) \
	FLOATS("class_weights", WEIGHTS) "5:{1:\"classlabels_strings\" 9:\"no\" 9:\"yes\"} " LINK))

/* The same tree in the form of version 5, and another one with a leaf of its own. */
#define SPLIT(MODE, MISSING) INTS("tree_roots", "1 0") INTS("nodes_featureids", "0 1") INTS("nodes_truenodeids", "2 0") \
	INTS("nodes_falsenodeids", "2 1") INTS("nodes_trueleafs", "1 1") INTS("nodes_falseleafs", "1 1") \
	INTS("nodes_missing_value_tracks_true", "0 " MISSING) INTS("leaf_targetids", "0 0 0") \
	"5:{1:\"nodes_splits\" 5:{1:2 2:1 4:f[0 0.5]}} 5:{1:\"leaf_weights\" 5:{1:3 2:1 4:f[10 20 0.5]}} " \
	"5:{1:\"nodes_modes\" 5:{1:2 2:2 9:<00" MODE ">}} "
#define ENSEMBLE(LISTS) MODEL(NODE("TreeEnsemble", LISTS))

/* Predictions for the rows (0, 0.4), (0, 0.5), (0, 0.6), (0, NaN). */
static void
test_values(void)
{
	static const struct { const char *what, *text; double v[4]; } cases[] = {
		{ "BRANCH_LEQ", TREE("BRANCH_LEQ", ""), { 10, 10, 20, 20 } },
		{ "BRANCH_LT", TREE("BRANCH_LT", ""), { 10, 20, 20, 20 } },
		{ "BRANCH_GT", TREE("BRANCH_GT", ""), { 20, 20, 10, 20 } },
		{ "BRANCH_GTE", TREE("BRANCH_GTE", ""), { 20, 10, 10, 20 } },
		{ "missing values are true", TREE("BRANCH_GTE", INTS("nodes_missing_value_tracks_true", "1 0 0")),
		  { 20, 10, 10, 10 } },
		{ "a base value", TREE("BRANCH_LEQ", FLOATS("base_values", "0.25")), { 10.25, 10.25, 20.25, 20.25 } },
		{ "more values of leaves than bytes", MODEL(NODE("TreeEnsembleRegressor", NODES("BRANCH_LEQ")
		  INTS("target_treeids", "0 0") INTS("target_nodeids", "4 2") INTS("target_ids", "0 999")
		  FLOATS("target_weights", "10 20"))), { 10, 10, 0, 0 } },
		{ "version 5: at most", ENSEMBLE(SPLIT("00", "0")), { 10.5, 10.5, 20.5, 20.5 } },
		{ "version 5: less", ENSEMBLE(SPLIT("01", "0")), { 10.5, 20.5, 20.5, 20.5 } },
		{ "version 5: at least", ENSEMBLE(SPLIT("02", "0")), { 20.5, 10.5, 10.5, 20.5 } },
		{ "version 5: greater, missing values too", ENSEMBLE(SPLIT("03", "1")), { 20.5, 20.5, 10.5, 10.5 } },
		{ "version 5: the mean", ENSEMBLE(SPLIT("00", "0") "5:{1:\"aggregate_function\" 3:0} "), { 5.25, 5.25, 10.25, 10.25 } },
		{ "a binary model by its sign", CLASSES("0 0", "-1 1", ""), { -1, -1, 1, 1 } },
		{ "a binary model by its share", CLASSES("1 1", "0.25 0.75", ""), { 0.25, 0.25, 0.75, 0.75 } },
		{ "a scaler in front", MODEL(NODE("Scaler", FLOATS("offset", "0 -1") FLOATS("scale", "1 0.25"))
		  NODE_OF("y", "z", "LinearRegressor", FLOATS("coefficients", "2 4") FLOATS("intercepts", "1"))),
		  { 2.4, 2.5, 2.6, (double)NAN } },
	};
	size_t i, k;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const double rows[8] = { 0, 0.4, 0, 0.5, 0, 0.6, 0, (double)NAN };
		struct step_rows x = { .n = 0 }, spare = { .n = 0 };
		static double scores[4 * 1000];
		double linked[2];
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		int wrong = load(&m, cases[i].text, &e) < 0 || step_rows_begin(&x, 4, 2, &e) < 0;

		if (!wrong) {
			memcpy(step_row(&x, 0), rows, sizeof rows);
			wrong = predict_block(&m, &x, &spare, true, scores, NULL, &e) < 0;
		}
		for (k = 0; k < 4 && !wrong; k++) {
			wrong = !(fabs(scores[k * m.outputs] - cases[i].v[k]) < 1e-6 || isnan(cases[i].v[k]));
			if (m.task == PREDICT_BINARY) {
				predict_link(&m, scores + k, linked);
				wrong |= predict_label(&m, scores + k) != (k > 1);
			}
		}
		test_ok(!wrong, "%s", cases[i].what);
		if (wrong)
			printf("# %zu: %g %s\n", k, scores[k ? (k - 1) * m.outputs : 0], e.code != ERR_NONE ? e.fact : "");
		step_rows_free(&x);
		step_rows_free(&spare);
		predictor_free(&m);
	}
}

/* A row behind one node, in single precision. */
static void
test_steps(void)
{
#define STEP(OP, ATTRIBUTES) MODEL(NODE(OP, ATTRIBUTES) NODE_OF("y", "z", "Scaler", \
	FLOATS("offset", "0") FLOATS("scale", "1")))
	static const struct { const char *what, *text; double row[2], v[2]; } cases[] = {
		{ "MAX divides by the greatest value", STEP("Normalizer", ""), { -4, 2 }, { -2, 1 } },
		{ "MAX of negative values", STEP("Normalizer", WORD("norm", "MAX")), { -4, -2 }, { 2, 1 } },
		{ "MAX of 0", STEP("Normalizer", WORD("norm", "MAX")), { -4, 0 }, { -4, 0 } },
		{ "L1", STEP("Normalizer", WORD("norm", "L1")), { -3, 1 }, { -0.75, 0.25 } },
		{ "L2", STEP("Normalizer", WORD("norm", "L2")), { -3, 4 }, { (double)-0.6f, (double)0.8f } },
		{ "L2 of zeros", STEP("Normalizer", WORD("norm", "L2")), { 0, 0 }, { 0, 0 } },
		{ "a threshold is compared in single precision", STEP("Binarizer", "5:{1:\"threshold\" 2:f0.1}"),
		  { 0.1, 0.2 }, { 0, 1 } },
	};
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct step_rows x = { .n = 0 }, spare = { .n = 0 };
		double scores[2] = { 9, 9 };
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		int r = load(&m, cases[i].text, &e) < 0 || step_rows_begin(&x, 1, 2, &e) < 0;

		if (!r) {
			memcpy(step_row(&x, 0), cases[i].row, sizeof cases[i].row);
			r = predict_block(&m, &x, &spare, false, scores, NULL, &e);
		}
		test_ok(!r && scores[0] == cases[i].v[0] && scores[1] == cases[i].v[1], "%s: %g %g %s",
		        cases[i].what, scores[0], scores[1], e.code != ERR_NONE ? e.fact : "");
		step_rows_free(&x);
		step_rows_free(&spare);
		predictor_free(&m);
	}
}

/* ---- support vectors, and layers, by hand ---- */

#define KERNEL(NAME, PARAMS) WORD("kernel_type", NAME) FLOATS("kernel_params", PARAMS)
#define TWO(MORE) MODEL(NODE("SVMClassifier", KERNEL("LINEAR", "1 0 0") FLOATS("support_vectors", "1 0 0 1") \
	FLOATS("coefficients", "1 -1") FLOATS("rho", "0.5") INTS("vectors_per_class", "1 1") MORE \
	INTS("classlabels_ints", "0 1")))
#define THREE(OP, CLASSES, RHO) MODEL(NODE(OP, KERNEL("LINEAR", "1 0 0") \
	FLOATS("support_vectors", "1 0 0 1 1 1") FLOATS("coefficients", "1 -2 3 4 -5 6") FLOATS("rho", RHO) \
	INTS("vectors_per_class", CLASSES) "5:{1:\"classlabels_strings\" 9:\"a\" 9:\"b\" 9:\"c\"} "))
#define VALUE(KERNEL, RHO) MODEL(NODE("SVMRegressor", KERNEL FLOATS("support_vectors", "1 2") \
	FLOATS("coefficients", "2") FLOATS("rho", RHO) "5:{1:\"n_supports\" 3:1} "))
#define LAYERS(OP) MODEL(NODE("LinearRegressor", FLOATS("coefficients", "1 2 -1 -2") FLOATS("intercepts", "0 1") \
	"5:{1:\"targets\" 3:2} ") NODE_OF("y", "z", OP, "") NODE_OF("z", "u", "LinearRegressor", \
	FLOATS("coefficients", "2 3")))

/* The scores of a row, its label, and the first value behind the link. As ONNX Runtime decides, a pair is
 * positive for its first class; the scores of two classes are turned around here (predict.h). */
static void
test_support(void)
{
	static const struct {
		const char *what, *text;
		double row[2], scores[3];
		size_t label;
		double linked;
	} cases[] = {
		{ "RBF", VALUE(KERNEL("RBF", "0.5 0 0"), "0.25"), { 3, 2 }, { 0.520670566473 }, 0, 0.520670566473 },
		{ "POLY", VALUE(KERNEL("POLY", "0.5 1 2"), "0.25"), { 3, 2 }, { 40.75 }, 0, 40.75 },
		{ "SIGMOID", VALUE(KERNEL("SIGMOID", "0.5 -3 0"), "0"), { 3, 2 }, { 0.92423431452 }, 0, 0.92423431452 },
		{ "two classes, the first", TWO(""), { 2, 1 }, { -1.5 }, 0, (double)NAN },
		{ "two classes, the second", TWO(""), { 0, 3 }, { 2.5 }, 1, (double)NAN },
		{ "two classes with probabilities", TWO(FLOATS("prob_a", "-1") FLOATS("prob_b", "0")), { 2, 1 },
		  { -1.5 }, 0, 0.81757447619 },
		{ "three classes", THREE("SVMClassifier", "1 1 1", "0.5 -20 1"), { 1, 2 }, { -2.5, -7, 9 }, 1,
		  (double)NAN },
		{ "Relu between layers", LAYERS("Relu"), { 1, 2 }, { 10 }, 0, 10 },
		{ "Relu between layers, the other side", LAYERS("Relu"), { -1, -2 }, { 18 }, 0, 18 },
		{ "Sigmoid between layers", LAYERS("Sigmoid"), { 0, 0 }, { 3.193175735795 }, 0, 3.193175735795 },
		{ "Tanh between layers", LAYERS("Tanh"), { 0, 0 }, { 2.284782467867 }, 0, 2.284782467867 },
	};
	size_t i, k;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct step_rows x = { .n = 0 }, spare = { .n = 0 };
		double scores[3] = { 9, 9, 9 }, linked[64] = { 0 };
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		bool right = load(&m, cases[i].text, &e) == 0 && step_rows_begin(&x, 1, 2, &e) == 0;

		if (right) {
			memcpy(step_row(&x, 0), cases[i].row, sizeof cases[i].row);
			right = predict_block(&m, &x, &spare, false, scores, NULL, &e) == 0;
			predict_link(&m, scores, linked);
		}
		for (k = 0; right && k < m.outputs; k++)
			right = fabs(scores[k] - cases[i].scores[k]) < 1e-6;
		right = right && (isnan(cases[i].linked) ? isnan(linked[0]) : fabs(linked[0] - cases[i].linked) < 1e-6);
		if (right && m.task != PREDICT_VALUE)
			right = predict_label(&m, scores) == cases[i].label;
		test_ok(right, "%s: %g %g %s", cases[i].what, scores[0], linked[0],
		        e.code != ERR_NONE ? e.fact : "");
		step_rows_free(&x);
		step_rows_free(&spare);
		predictor_free(&m);
	}
}

static void
test_refused(void)
{
	static const struct refused_model cases[] = {
		{ TREE("BRANCH_EQ", ""), "compares by BRANCH_EQ" },
		{ TREE("BRANCH_LEQ", WORD("aggregate_function", "MAX")), "not added" },
		{ TREE("BRANCH_LEQ", WORD("post_transform", "PROBIT")), "post_transform" },
		{ TREE("BRANCH_LEQ", FLOATS("base_values", "1 2")), "base values do not fit" },
		{ MODEL(NODE("TreeEnsembleRegressor", NODES("BRANCH_LEQ"))), "no leaves" },
		{ MODEL(NODE("TreeEnsembleRegressor", INTS("nodes_treeids", "0 0 0") TARGETS MODES("LEAF"))),
		  "differ in length" },
		{ MODEL(NODE("LinearRegressor", FLOATS("coefficients", "1 2 3") FLOATS("intercepts", "1 2"))),
		  "coefficients do not fit" },
		{ MODEL(NODE("Scaler", FLOATS("offset", "1 2 3") FLOATS("scale", "1"))), "do not fit the rows" },
		{ MODEL(NODE("LinearRegressor", FLOATS("coefficients", "1 2"))
		  NODE("Scaler", FLOATS("offset", "1") FLOATS("scale", "1"))), "do not follow one another" },
		{ MODEL(NODE("TreeEnsembleRegressor", NODES("BRANCH_LEQ") TARGETS)
		  NODE_OF("y", "z", "Scaler", FLOATS("offset", "1") FLOATS("scale", "1"))), "follows a model" },
		{ MODEL(NODE("Scaler", FLOATS("offset", "1") FLOATS("scale", "1"))
		  NODE("LinearRegressor", FLOATS("coefficients", "1 2"))), "do not follow one another" },
		{ MODEL(NODE("Imputer", FLOATS("imputed_value_floats", "1 2"))), "this imputer is not read" },
		{ MODEL(NODE("SVMRegressor", "")), "coefficients has 0 values" },
		{ MODEL(NODE("SVMClassifier", FLOATS("coefficients", "1 2 3") FLOATS("rho", "0") INTS("classlabels_ints", "0 1"))),
		  "do not fit the classes" },
		{ ENSEMBLE(SPLIT("04", "0")), "compares by mode 4" },
		{ ENSEMBLE(SPLIT("00", "0") "5:{1:\"aggregate_function\" 3:2} "), "trees that are not added" },
		{ ENSEMBLE("5:{1:\"tree_roots\" 8:[1 1]} " SPLIT("00", "0")), "two parents" },
		{ ENSEMBLE("5:{1:\"tree_roots\" 8:[2]} " SPLIT("00", "0")), "a root is not a node" },
		{ ENSEMBLE("5:{1:\"n_targets\" 3:4294967295} " SPLIT("00", "0")), "wrong number" },
		{ VALUE(KERNEL("RBF", "0.5 0"), "0"), "kernel_params has 2 values" },
		{ VALUE(KERNEL("POLY", "0.5 0 1.5"), "0"), "the degree of the kernel" },
		{ VALUE(KERNEL("COSINE", "0 0 0"), "0"), "the kernel is not known" },
		{ VALUE(KERNEL("LINEAR", "0 0 0"), "1 2"), "rho has 2 values" },
		{ VALUE(KERNEL("RBF", "0.5 0 0") "5:{1:\"one_class\" 3:1} ", "0"), "one class is not read" },
		{ THREE("SVMClassifier", "1 1", "1 2 3"), "do not fit" },
		{ THREE("SVMClassifier", "3", "1 2 3"), "vectors_per_class is wrong" },
		{ THREE("SVMClassifier", "1 1 1", "1 2"), "rho has 2 values" },
		{ TWO(FLOATS("prob_a", "1") FLOATS("prob_b", "1 2")), "prob_b has 2 values" },
		{ MODEL(NODE("ArrayFeatureExtractor", "") NODE("SVMRegressor", "")), "the operator ArrayFeatureExtractor" },
	};

	test_models_refused(cases, sizeof cases / sizeof *cases);
}

/* What the converter recorded for a row. */
static void
test_real(const char *data)
{
	static const double row[13] = { 14.229999542236328, 1.7100000381469727, 2.430000066757202,
		15.600000381469727, 127, 2.799999952316284, 3.059999942779541, 0.2800000011920929,
		2.2899999618530273, 5.639999866485596, 1.0399999618530273, 3.9200000762939453, 1065 };
	static const struct { const char *name; double v[3]; } models[] = {
		{ "xgboost_regressor_tree", { 0.01451659, 0, 0 } },
		{ "xgboost_classifier_tree", { 0.9521666, 0.02422502, 0.02360832 } },
	};
	size_t i, k, n;

	for (i = 0; i < 2; i++) {
		static uint8_t bytes[65536];
		struct predictor m = { 0 };
		struct err e = ERR_INIT;
		double own[13], scores[3] = { 0 }, linked[3] = { 0 };
		char path[4096];
		FILE *f;
		int right;

		snprintf(path, sizeof path, "%s/import/onnx/tract/%s/model.onnx", data, models[i].name);
		f = fopen(path, "rb");
		n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
		if (f)
			fclose(f);
		right = n && predict_probe(bytes, n) &&
		        predict_read(&m, predict_probe(bytes, n), bytes, n, "m", &e) == 0 && m.features == 13 &&
		        m.outputs <= 3;
		memcpy(own, row, sizeof row);
		if (right) {
			predict_rows(&m, own, 1, false, scores, NULL);
			predict_link(&m, scores, linked);
		}
		for (k = 0; k < 3; k++)
			right = right && fabs(linked[k] - models[i].v[k]) < 1e-7;
		test_ok(right, "%s", models[i].name);
		predictor_free(&m);
	}
}

/* A header of 1288 bytes begins with a byte 8, and may hold any name. */
static void
test_safetensors(void)
{
	static const uint8_t file[] = "\x08\x05\0\0\0\0\0\0{\"LinearClassifier\":{\"dtype\":\"F32\"}}";

	test_ok(!predict_probe(file, sizeof file - 1), "a file of safetensors whose tensor has such a name");
}

int
main(void)
{
	test_values();
	test_safetensors();
	test_steps();
	test_support();
	test_refused();
	if (test_data())
		test_real(test_data());
	else
		test_skip("real models", "there is no reference data");
	return test_done();
}
