/* apr-imatrix: measure how much each column of the weights matters */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/filter.h"
#include "cli/imatrix/imatrix_asked.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/prompt.h"
#include "cli/tool.h"
#include "core/opened.h"
#include "core/sandbox.h"
#include "core/text.h"
#include "core/thread.h"
#include "distill/texts.h"
#include "formats/create.h"
#include "generate/importance.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/load.h"
#include "load/matrix.h"
#include "report/importance_text.h"

#define CONTEXT 512 /* tokens of a part, as in llama.cpp */

/* State of a run. */
struct run {
	const struct imatrix_asked *o;
	const char *path; /* of the model, or NULL, and a descriptor of it, which is never
	                   * replaced by the output */
	int held;
	struct load load;
	struct infer *infer;
	struct sequence *sequence;
	struct tokenizer *tokenizer;
	struct buf text;
	struct tokens tokens;
	struct imatrix matrix;
};

/* ---- the text ---- */

static int
encode(struct run *r, struct err *e)
{
	struct texts lines = { 0 };
	int status;

	if (!r->o->text || !texts_are_lines(r->o->text))
		return prompt_encode(r->tokenizer, &r->text, &r->tokens, e);
	status = texts_read(&lines, r->tokenizer, true, r->text.p, r->text.n, r->o->text, e);
	r->tokens = lines.tokens;
	return status;
}

static int
open_model(struct run *r, const char *path, struct err *e)
{
	const struct infer_options how = { .context = r->o->context, .most = CONTEXT,
		.threads = r->o->how.threads };
	const struct tokenizer_options any = { .note = tool_note };

	if (load_open(&r->load, path, tool_note, e) < 0)
		return -1;
	r->tokenizer = tokenizer_of(&r->load.weights, &any, e);
	if (!r->tokenizer || encode(r, e) < 0)
		return -1;
	r->infer = infer_open(&r->load.weights, &how, tool_note, e);
	r->sequence = r->infer ? sequence_open(r->infer, e) : NULL;
	return r->sequence ? 0 : -1;
}

static void
part_done(void *ctx, uint64_t done)
{
	progress_at(ctx, done);
}

/* The last part of the path: its folder says nothing about the matrix. */
static int
add_name(struct imatrix *m, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return text_utf8(name, strlen(name), false) ? imatrix_add_dataset(m, name, strlen(name), e) : 0;
}

/* Notes entries with matrices that were never used: experts that no token chose. */
static void
note_unused(const struct imatrix *m)
{
	size_t i, k, entries = 0;

	for (i = 0; i < m->n; i++) {
		for (k = 0; k < m->entries[i].count_n && m->entries[i].counts[k] > 0; k++)
			;
		entries += k < m->entries[i].count_n;
	}
	if (entries)
		tool_notef("%zu of %zu entries have experts that no token chose; a longer text may reach "
		           "them", entries, m->n);
}

/* Measures the model with the text, and adds what that gives. */
static int
measure(struct run *r, const char *path, struct err *e)
{
	const struct imatrix_asked *o = r->o;
	struct imatrix found = { 0 };
	struct progress progress;
	int status = open_model(r, path, e);

	if (status == 0) {
		progress_begin(&progress, o->output.progress,
		               importance_parts(r->infer, r->tokens.n, &o->how));
		progress.unit = "parts";
		status = importance_of(r->infer, r->sequence, r->tokenizer, &r->tokens, &o->how, &found,
		                       part_done, &progress, e);
		progress_end(&progress);
	}
	if (status == 0)
		status = load_check(&r->load, e);
	if (status == 0 && o->text && strcmp(o->text, "-") != 0)
		status = add_name(&found, o->text, e);
	if (status == 0)
		status = imatrix_merge(&r->matrix, &found, infer_context(r->infer), path, e);
	if (status == 0)
		note_unused(&found);
	imatrix_free(&found);
	return status;
}

/* ---- files ---- */

/* Adds the matrices of --merge. Returns the tokens of a part of the first one that says so. */
static uint64_t
merge(struct run *r, struct err *e)
{
	uint64_t part = r->o->context;
	size_t i;

	for (i = 0; e->code == ERR_NONE && i < r->o->merge.n; i++) {
		struct imatrix m = { 0 };

		if (matrix_load(&m, r->o->merge.items[i], tool_note, e) == 0) {
			part = part ? part : m.chunk_tokens;
			imatrix_merge(&r->matrix, &m, part ? part : CONTEXT, r->o->merge.items[i], e);
		}
		imatrix_free(&m);
	}
	return part ? part : CONTEXT;
}

static bool
is_dat(const struct imatrix_asked *o)
{
	const char *path = o->output.path, *dot = path ? strrchr(path, '.') : NULL;

	return o->form ? strcmp(o->form, "dat") == 0 : dot && strcmp(dot, ".dat") == 0;
}

static void
write_matrix(const struct run *r, uint64_t part, struct err *e)
{
	const struct imatrix_asked *o = r->o;
	const struct imatrix *m = &r->matrix;
	const struct out_options where = { .path = o->output.path, .force = o->output.force,
		.input = r->held, .from = r->path };
	const struct format_options how = { .plain = true };
	struct sink *sink;
	struct out out;

	if (is_dat(o)) {
		if (out_open(&out, &where, e) == 0 && (imatrix_write_dat(m, part, &out, e) < 0 ||
		                                       out_finish(&out) < 0))
			out_abandon(&out);
		return;
	}
	sink = o->form && strcmp(o->form, "stream") == 0
	           ? filter_sink(&where, e) : create_sink(format_by_name("gguf"), &where, &how, e);
	if (sink)
		imatrix_write_model(m, part, sink, e);
	sink_close(sink);
}

static void
make(struct run *r, const char *model, struct err *e)
{
	const struct imatrix_asked *o = r->o;
	const struct prompt_from text = { .file = o->text };
	uint64_t part;
	size_t i;

	if (input_spare(o->text, &o->output, e) < 0 ||
	    (model && prompt_take(&text, model, &r->text, &r->tokens, e) < 0))
		return;
	sandbox_write(o->output.path, o->output.force);
	sandbox_read(model);
	for (i = 0; i < o->merge.n; i++)
		sandbox_read(o->merge.items[i]);
	sandbox_spool();
	sandbox_enter();
	r->path = model;
	r->held = model ? strcmp(model, "-") ? opened_file(model, O_RDONLY) : STDIN_FILENO : -1;
	part = merge(r, e);
	if (model && e->code == ERR_NONE && measure(r, model, e) == 0)
		part = infer_context(r->infer);
	if (e->code == ERR_NONE)
		write_matrix(r, part, e);
}

static void
list(struct run *r, const char *path, struct err *e)
{
	struct buf b = { 0 };

	sandbox_read(path);
	sandbox_spool();
	sandbox_enter();
	if (matrix_load(&r->matrix, path, tool_note, e) == 0) {
		if (r->o->json)
			importance_put_json(&b, &r->matrix);
		else
			importance_put(&b, &r->matrix);
		tool_print(&b, e);
	}
	buf_free(&b);
}

/* ---- the command line ---- */

int
main(int argc, char **argv)
{
	static struct imatrix_asked o;
	static const struct opt opts[] = {
		OPT_IMATRIX(&o),
		OPT_OUTPUT(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-imatrix", "[--text FILE] [--context N] [--chunks N] [--from-chunk N]\n"
		"[--method mse|minmax|percentile] [--percentile P] [--fast] [--reproducible]\n"
		"[--process-output] [--merge FILE] [-t gguf|dat|stream] [-o FILE] [-f] [--progress]\n"
		"[-j N] [MODEL]\n"
		"apr-imatrix --merge FILE [--context N] [-t gguf|dat|stream] [-o FILE] [-f]\n"
		"apr-imatrix -l [--json] [FILE]",
		"Measure how much each column of the weights matters.", opts, 1
	};
	struct run r = { .o = &o, .held = -1 };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const bool only_merge = !*operands && o.merge.n > 0;
	const char *path = only_merge ? NULL : tool_input(*operands, &e);

	o.how.threads = o.jobs ? (unsigned)o.jobs : thread_count();
	if ((path || only_merge) && imatrix_asked_check(&o, *operands, &e) == 0 &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		if (!o.reproducible)
			dot_begin(tool_note); /* products in plain C have the same bits on every CPU */
		if (o.list)
			list(&r, path, &e);
		else
			make(&r, path, &e);
	}
	sequence_close(r.sequence);
	infer_close(r.infer);
	tokenizer_free(r.tokenizer);
	load_close(&r.load);
	tokens_free(&r.tokens);
	buf_free(&r.text);
	imatrix_free(&r.matrix);
	free(o.merge.items);
	return tool_end(&e);
}
