/* apr-predict: what a classical model says of the rows of a table */
#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "cli/tool.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "formats/format.h"
#include "load/load.h"
#include "predict/rows/batch.h"
#include "predict/contrib.h"
#include "predict/file.h"
#include "predict/readers.h"
#include "predict/tensors.h"

struct options {
	bool proba, raw, leaf, contrib, inverse, header, no_header, one_based;
	const char *form;
	uint64_t skip, trees, jobs, generate, seed;
};

static int
put(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
	(void)ctx;
	if (fwrite(p, 1, n, stdout) != n || fflush(stdout) != 0)
		return err_errno(e, "<stdout>", "writing failed");
	return 0;
}

/* A model in a container: tensors by name. */
static int
read_tensors(struct predictor *m, const char *path, struct err *e)
{
	struct load l;
	int r = load_open(&l, path, tool_note, e);

	if (r == 0)
		r = predict_tensors(m, &l.weights, e);
	load_close(&l);
	return r;
}

static int
read_model(struct predictor *m, const char *path, struct err *e)
{
	struct reader r;
	const uint8_t *p;
	size_t n = 0;
	int status;

	if (reader_open(&r, path, e) < 0)
		return -1;
	status = predict_file(m, &r, path, e);
	p = status == 1 ? reader_peek(&r, 1, &n) : NULL;
	if (p && strcmp(path, "-") == 0)
		status = err_set(e, ERR_USAGE, NULL, "a model from standard input must be one of XGBoost, "
		                 "LightGBM, CatBoost, scikit-learn, ONNX, TensorFlow Lite, PMML or ARPA; others are read from a file");
	else if (p && n > 0 && *p == '{')
		status = err_set(e, ERR_FORMAT, path,
		                 "is JSON, but not a model of XGBoost, LightGBM or CatBoost");
	reader_close(&r);
	return status == 1 ? read_tensors(m, path, e) : status;
}

static int
predict(struct predictor *m, const char *path, const struct options *o, struct err *e)
{
	struct batch b = { .m = m, .put = put, .jobs = (unsigned)o->jobs,
		.header = o->header ? 1 : o->no_header ? 0 : -1,
		.what = o->proba ? BATCH_PROBA : o->raw ? BATCH_RAW : o->leaf ? BATCH_LEAF
		        : o->contrib ? BATCH_CONTRIB : BATCH_PREDICTION,
		.rows = { .m = m, .where = strcmp(path, "-") == 0 ? "<stdin>" : path,
		          .form = o->form ? rows_form_by_name(o->form) : ROWS_UNKNOWN,
		          .skip = (size_t)o->skip, .one_based = o->one_based } };
	struct reader r;
	int status;

	if (o->trees && predict_trees(m) == 0)
		return err_set(e, ERR_USAGE, NULL, "--trees: the model has no trees");
	if (o->trees && forest_limit(&m->forest, (size_t)o->trees, e) < 0)
		return -1;
	if ((o->inverse && predictor_invert(m, e) < 0) || (o->contrib && contrib_begin(m, e) < 0) ||
	    batch_allows(m, b.what, e) < 0 || reader_open(&r, path, e) < 0)
		return -1;
	status = batch_run(&b, &r, e);
	reader_close(&r);
	rows_free(&b.rows);
	return status;
}

/* Texts of a list of n-grams. */
static int
generate(const struct predictor *m, const struct options *o, struct err *e)
{
	struct buf b = { 0 };
	uint64_t i;
	int r = 0;

	for (i = 0; i < o->generate && r == 0; i++) {
		buf_clear(&b);
		r = arpa_generate(m, o->seed, i, &b, e) < 0 || put(NULL, b.p, b.n, e) < 0 ? -1 : 0;
	}
	buf_free(&b);
	return r;
}

static int
check(char **operands, const struct options *o, struct err *e)
{
	if (!operands[0])
		return tool_misused(e, "a MODEL is expected");
	if (o->proba + o->raw + o->leaf + o->contrib + o->inverse > 1)
		return tool_misused(e, "only one of --proba, --raw, --leaf, --contrib and --inverse can be given");
	if (o->header && o->no_header)
		return tool_misused(e, "--header and --no-header cannot be combined");
	if (o->form && rows_form_by_name(o->form) == ROWS_UNKNOWN)
		return tool_misused(e, "%.80s is not a form of rows: csv, tsv, space, jsonl, libsvm, text or npy", o->form);
	if (o->generate && (operands[1] || o->proba + o->raw + o->leaf + o->contrib + o->inverse))
		return tool_misused(e, "--generate reads no rows: it goes with neither FILE nor an option on what to print");
	if (o->seed && !o->generate)
		return tool_misused(e, "--seed goes with --generate");
	if (!o->generate && strcmp(operands[0], "-") == 0 && (!operands[1] || strcmp(operands[1], "-") == 0))
		return tool_misused(e, "the model and the rows cannot both be standard input");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		FLAG(0, "proba", &o.proba, "print the probability of each class"),
		FLAG(0, "raw", &o.raw, "print scores as they are before the link function"),
		FLAG(0, "leaf", &o.leaf, "print the number of the leaf of each tree"),
		FLAG(0, "contrib", &o.contrib, "print what each feature adds to the scores, and the bias"),
		FLAG(0, "inverse", &o.inverse, "turn a model that scales or projects around"),
		TEXT(0, "rows", "FORM", &o.form,
		     "the form of the rows: csv, tsv, space, jsonl, libsvm, text or npy (default: by the first row)"),
		FLAG(0, "header", &o.header, "the first row has the names of the columns"),
		FLAG(0, "no-header", &o.no_header, "the first row has values"),
		NUMBER(0, "skip", "N", &o.skip, 0, 65536, "leave out the first N columns"),
		FLAG(0, "one-based", &o.one_based, "libsvm: the first feature has the number 1"),
		NUMBER(0, "trees", "N", &o.trees, 1, UINT32_MAX,
		       "use only the first N trees of each output"),
		NUMBER(0, "generate", "N", &o.generate, 1, UINT32_MAX,
		       "n-grams: print N texts by chance in place of predictions"),
		NUMBER(0, "seed", "N", &o.seed, 0, UINT64_MAX, "begin the chance at N (default: 0)"),
		OPT_JOBS(&o.jobs),
		OPT_END
	};
	static const struct tool tool = {
		"apr-predict", "[--proba | --raw | --leaf | --contrib | --inverse] [--trees N]\n"
		"[--rows FORM] [--header | --no-header] [--skip N] [--one-based] [-j N]\n[--generate N [--seed N]] MODEL [FILE]",
		"Print what a classical model predicts for each row of a table.", opts, 2
	};
	struct predictor m = { 0 };
	struct err e = ERR_INIT;
	char **operands = tool_begin_embedded(&tool, argc, argv);
	const char *rows = check(operands, &o, &e) < 0 ? NULL
	                   : o.generate ? operands[0] : tool_input(operands[1], &e);

	if (!o.jobs)
		o.jobs = thread_count();
	if (rows) {
		sandbox_read(operands[0]);
		sandbox_read(rows);
		if (format_may_spool(operands[0]))
			sandbox_spool();
	}
	sandbox_enter();
	m.covers = o.contrib;
	if (rows && read_model(&m, operands[0], &e) == 0)
		o.generate ? generate(&m, &o, &e) : predict(&m, rows, &o, &e);
	predictor_free(&m);
	return tool_end(&e);
}
