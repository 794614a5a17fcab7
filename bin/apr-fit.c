/* apr-fit: choose a type for each tensor, by what it costs on a text */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/prompt.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "core/thread.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/load.h"
#include "load/matrix.h"
#include "quality/fit.h"
#include "quant/mixture.h"
#include "report/fit_text.h"

#define CONTEXT 512
#define CHUNKS 4
#define TYPES "q2_k,q3_k,q4_k,q5_k,q6_k,q8_0"
#define ROUNDS 6 /* evaluations to reach --target-kl */

struct options {
	const char *text, *types, *imatrix, *kl;
	uint64_t size, context, chunks, jobs;
	bool thorough, json, progress;
};

struct run {
	const struct options *o;
	struct fit_options how;
	double kl;
	struct load load;
	struct imatrix matrix;
	struct tokenizer *tokenizer;
	struct buf text, report;
	struct tokens tokens;
	struct fit fit;
	struct progress progress;
};

/* ---- options ---- */

static int
read_types(struct run *r, struct err *e)
{
	const char *at = r->o->types ? r->o->types : TYPES;
	size_t n;

	for (; *at; at += n + (at[n] == ',')) {
		char name[DTYPE_NAMED_NAME];
		const struct dtype *type;

		n = strcspn(at, ",");
		snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
		type = dtype_by_name(name);
		if (!type || type->head || type->items == 0)
			return tool_misused(e, "--types: %.40s is not a type that a tensor of a model can have",
			                    name);
		if (r->how.type_count == FIT_TYPES - 1)
			return tool_misused(e, "--types: at most %d types", FIT_TYPES - 1);
		r->how.types[r->how.type_count++] = type;
	}
	return r->how.type_count ? 0 : tool_misused(e, "--types: no type is given");
}

static int
read_options(struct run *r, struct err *e)
{
	const struct options *o = r->o;

	if (!o->text)
		return tool_misused(e, "--text is missing: the text to measure with");
	if (!o->size == !o->kl)
		return tool_misused(e, "give one of --target-size and --target-kl");
	if (o->kl && text_decimal(o->kl, 0, 1e9, &r->kl) < 0)
		return tool_misused(e, "--target-kl is a number from 0 on, not %.40s", o->kl);
	r->how.thorough = o->thorough;
	r->how.context = o->context;
	r->how.jobs = o->jobs ? (unsigned)o->jobs : thread_count();
	return read_types(r, e);
}

/* ---- the model ---- */

/* The tokens of the text, cut to --chunks parts. */
static int
read_text(struct run *r, struct err *e)
{
	const uint64_t chunks = r->o->chunks ? r->o->chunks : CHUNKS;
	const struct tokenizer_options any = { .note = tool_note };
	const struct infer_options how = { .context = r->o->context, .most = CONTEXT, .threads = 1 };
	struct infer *m;

	r->tokenizer = tokenizer_of(&r->load.weights, &any, e);
	if (!r->tokenizer || prompt_encode(r->tokenizer, &r->text, &r->tokens, e) < 0)
		return -1;
	/* Opened once before anything is measured, so that what cannot run is refused early. */
	m = infer_open(&r->load.weights, &how, tool_note, e);
	if (!m)
		return -1;
	if (r->tokens.n / infer_context(m) > chunks)
		r->tokens.n = (size_t)chunks * infer_context(m);
	infer_close(m);
	return 0;
}

static void
step(void *ctx, const struct fit *f)
{
	struct run *r = ctx;

	r->progress.total = f->steps;
	progress_at(&r->progress, f->done);
}

static int
measure(struct run *r, struct err *e)
{
	const struct model *m = r->load.weights.plan;
	bool *kept = mem_array(m->tensor_count, sizeof *kept);
	size_t i;
	int status;

	if (!kept)
		return err_memory(e);
	for (i = 0; i < m->tensor_count; i++)
		kept[i] = tensor_ndim(m->tensors[i]) < 2 ||
		          mixture_kept(m->tensors[i], tensor_name(m->tensors[i]));
	progress_begin(&r->progress, r->o->progress, m->tensor_count);
	r->progress.unit = "evaluations";
	status = fit_open(&r->fit, &r->load.weights, r->tokenizer, &r->tokens, &r->how, kept, step, r,
	                  e);
	progress_end(&r->progress);
	free(kept);
	return status;
}

/* Chooses. For a divergence, the sum of harms is only an estimate: choose for less until what is
 * measured holds. */
static int
choose(struct run *r, struct divergence_figures *to, struct err *e)
{
	double goal = r->kl;
	unsigned i;

	if (r->o->size)
		return fit_size(&r->fit, r->o->size, e) < 0 ? -1 : fit_check(&r->fit, to, e);
	for (i = 0; i < ROUNDS; i++) {
		fit_harm(&r->fit, goal);
		if (fit_check(&r->fit, to, e) < 0)
			return -1;
		if (to->kl.value <= r->kl)
			return 0;
		goal *= 0.9 * r->kl / to->kl.value;
	}
	return err_set(e, ERR_INVALID, r->load.weights.name, "no choice has a divergence of at most "
	               "%g: the last one has %g", r->kl, to->kl.value);
}

static void
run_model(struct run *r, const char *path, struct err *e)
{
	const struct prompt_from from = { .file = r->o->text };
	struct divergence_figures figures;

	if (prompt_take(&from, path, &r->text, &r->tokens, e) < 0)
		return;
	sandbox_read(path);
	sandbox_read(r->o->imatrix);
	sandbox_spool();
	sandbox_enter();
	if (r->o->imatrix && (matrix_load(&r->matrix, r->o->imatrix, tool_note, e) < 0 ||
	                      imatrix_means(&r->matrix, e) < 0))
		return;
	r->how.importance = r->o->imatrix ? &r->matrix : NULL;
	if (load_open(&r->load, path, tool_note, e) < 0 || read_text(r, e) < 0 || measure(r, e) < 0 ||
	    choose(r, &figures, e) < 0 || load_check(&r->load, e) < 0)
		return;
	if (r->o->json)
		fit_put_json(&r->report, &r->fit, &figures);
	else
		fit_put_rules(&r->report, &r->fit);
	if (tool_print(&r->report, e) == 0 && !r->o->json) {
		fit_put_summary(&r->report, &r->fit, &figures);
		tool_notes(&r->report);
	}
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		BYTES(0, "target-size", "BYTES", &o.size, 1, UINT64_MAX,
		      "the tensors take at most BYTES together"),
		TEXT(0, "target-kl", "X", &o.kl, "the mean divergence is at most X"),
		TEXT(0, "text", "FILE", &o.text, "measure with the text of FILE"),
		TEXT(0, "types", "LIST", &o.types, "choose from these types (default: " TYPES ")"),
		TEXT(0, "imatrix", "FILE", &o.imatrix, "encode by the importance matrix in FILE"),
		FLAG(0, "thorough", &o.thorough, "measure every type of every tensor"),
		NUMBER(0, "context", "N", &o.context, 4, UINT32_MAX,
		       "cut the text into parts of N tokens (default: 512)"),
		NUMBER(0, "chunks", "N", &o.chunks, 2, UINT32_MAX, "read N parts (default: 4)"),
		FLAG(0, "json", &o.json, "print all that was measured, one object per line"),
		OPT_JOBS(&o.jobs),
		OPT_PROGRESS(&o.progress),
		OPT_END
	};
	static const struct tool tool = {
		"apr-fit", "--target-size BYTES | --target-kl X --text FILE [--types LIST]\n"
		"[--imatrix FILE] [--thorough] [--context N] [--chunks N] [--json]\n"
		"[--progress] [-j N] [MODEL]",
		"Choose a type for each tensor, by what it costs on a text.", opts, 1
	};
	struct run r = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path = tool_input(operands[0], &e);

	if (path && read_options(&r, &e) == 0 && level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		dot_begin(tool_note);
		run_model(&r, path, &e);
	}
	fit_close(&r.fit);
	tokenizer_free(r.tokenizer);
	load_close(&r.load);
	imatrix_free(&r.matrix);
	tokens_free(&r.tokens);
	buf_free(&r.text);
	buf_free(&r.report);
	return tool_end(&e);
}
