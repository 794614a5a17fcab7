/* Pickles of other programs: arrays of PaddlePaddle are read, estimators are refused with a hint, and
 * parameters of MXNet and engines of TensorRT are named.
 */
#include "imports.h"

#include "../gen/torch.h"

static const struct format_options usual;

#define VECTOR(BYTES) ARRAY("K\002\205", DTYPE("f4", "<"), "\211", BYTES)
#define NAMED(N, NAME) "X" LENGTH(N) NAME
#define TABLE NAMED("\033", "StructuredToParameterName@@") "}" KEY("w") NAMED("\003", "w_0") "s"
#define ONE_TWO "\0\0\200\077\0\0\0\100"

static void
read_arrays(const char *what, const char *p, size_t n)
{
	struct gen want = { 0 };
	struct brought b;
	int pipe;

	put(&want, ONE_TWO, 8);
	for (pipe = 0; pipe < 2; pipe++) {
		test_ok(bring(&b, &format_pytorch, (const uint8_t *)p, n, &usual, pipe) == 0 &&
		        b.source->plan->tensor_count == 2 && holds(&b, "w", "F32", "2", &want) &&
		        holds(&b, "b", "F32", "2", &want), "%s: %s", what, b.err.fact);
		let_go(&b);
	}
	gen_free(&want);
}

static const struct { const char *what, *says, *hint, *p; size_t n; } refused[] = {
#define ROW(WHAT, SAYS, HINT, P) { WHAT, SAYS, HINT, P, sizeof(P) - 1 }
	ROW("an estimator", "calls sklearn.linear_model._base.LinearRegression()", "scikit-learn",
	    "\200\004\214\032sklearn.linear_model._base\214\020LinearRegression\223)\201}b."),
	ROW("an estimator of protocol 2", "calls sklearn.svm.SVC()", "skl2onnx",
	    "\200\002csklearn.svm\nSVC\n)\201}b."),
	ROW("a file of joblib", "calls joblib.numpy_pickle.NumpyArrayWrapper()", "joblib",
	    "\200\003cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\201}b."),
	ROW("a model of XGBoost", "calls xgboost.sklearn.XGBClassifier()", "XGBoost",
	    "\200\004\214\017xgboost.sklearn\214\015XGBClassifier\223)\201}b."),
	ROW("objects of PaddlePaddle", "calls paddle.base.core.eager.Tensor()", "state_dict()",
	    "\200\002cpaddle.base.core.eager\nTensor\n)R."),
	ROW("a name that begins like another", "calls sklearnish.C()", "",
	    "\200\002csklearnish\nC\n)R."),
	ROW("arrays in parts", "with arrays in parts", "protocol=4",
	    "\200\002}(" NAMED("\025", "UnpackBigParamInfor@@") "}" KEY("w") VECTOR("C\010" ONE_TWO) "u."),
	ROW("arrays of objects", "without tensors of PyTorch", "",
	    "\200\002}" KEY("w") ARRAY("K\001\205", DTYPE("O8", "|"), "\211", "]Na") "s."),
};

static void
refuse(void)
{
	struct brought b;
	size_t i;

	for (i = 0; i < sizeof refused / sizeof *refused; i++) {
		bring(&b, &format_pytorch, (const uint8_t *)refused[i].p, refused[i].n, &usual, i % 2);
		test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, refused[i].says) &&
		        (*refused[i].hint ? strstr(b.err.hint, refused[i].hint) != NULL : b.err.hint[0] == 0),
		        "%s: %s; hint: %s", refused[i].what, b.err.fact, b.err.hint);
		let_go(&b);
	}
}

/* Files that are not pickles. */
static void
name_others(void)
{
	static const struct { const char *title, *hint, *p; } rows[] = {
		{ "a parameter file of MXNet", "ONNX", "\x12\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1" },
		{ "a TensorRT engine", "built from", "ftrt\1\0\0\0" },
		{ "a TensorRT engine", "built from", "ptrt\1\0\0\0" },
		{ "a parameter file of PaddlePaddle", "ONNX",
		  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\x08" },
		{ "a compressed file of joblib", "ONNX", "ZF0x" },
	};
	struct err e;
	struct reader r;
	const struct format *which;
	uint8_t bytes[64];
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		e = (struct err)ERR_INIT;
		memset(bytes, 0, sizeof bytes);
		memcpy(bytes, rows[i].p, i < 1 ? 17 : i == 3 ? 21 : strlen(rows[i].p));
		reader_memory(&r, bytes, sizeof bytes, "in", &e);
		test_ok(!format_open(&r, &usual, NULL, &which, &e) && err_exit(&e) == 4 &&
		        strstr(e.fact, rows[i].title) && strstr(e.hint, rows[i].hint), "%s: %s; hint: %s",
		        rows[i].title, e.fact, e.hint);
	}
}

int
main(void)
{
	static const char two[] = "\200\002}(" KEY("w") VECTOR(LETTERS("\011", "\0\0\302\200\077\0\0\0\100"))
		KEY("b") VECTOR("C\010" ONE_TWO) TABLE "u.";
	static const char four[] = "\200\004}(\214\001w" VECTOR("C\010" ONE_TWO) "\214\001b"
		VECTOR("C\010" ONE_TWO) TABLE "u.";

	read_arrays("a state dictionary of PaddlePaddle, protocol 2", two, sizeof two - 1);
	read_arrays("a state dictionary of PaddlePaddle, protocol 4", four, sizeof four - 1);
	refuse();
	name_others();
	return test_done();
}
