/* apr-canary: records what a model says, and holds other forms of it against that */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/canary/canary_options.h"
#include "cli/canary_verdict.h"
#include "cli/input.h"
#include "cli/prompt.h"
#include "cli/tool.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "core/version.h"
#include "crypto/witnessed.h"
#include "formats/format.h"
#include "infer/sequence.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "load/load.h"

struct run {
	struct canary_options *o;
	const char *path;            /* of the model */
	struct buf file;             /* bytes of the prompts, or of the canary */
	struct prompts prompts;
	struct canary canary;
	struct load load;
	char root[DIGEST_TEXT];      /* of the model's content */
	struct tokenizer *tokenizer; /* NULL: the prompts are token ids */
	struct infer *infer;
	struct sequence *sequence;
	struct buf report;
};

/* ---- the model ---- */

/* Loads the model and digests its content: a file is digested first and mapped then; a pipe, and
 * a model that must be signed, is digested while it is read into memory. */
static int
load_digested(struct run *r, struct err *e)
{
	const struct format_options options = { .closed = false };
	const bool trusts = r->o->trusted != NULL, again = !trusts && strcmp(r->path, "-") != 0;
	const struct format *format;
	struct witnessed w = { .ended = false };
	struct input in;
	struct source *s;
	int held = -1, done = -1;

	s = !trusts ? format_open_path(r->path, &options, again ? NULL : tool_note, &format, &held, e)
	    : input_open(&in, r->path, e) == 0 ? in.source : NULL;
	if (s && source_check_open(s, e) == 0 &&
	    witnessed_begin(&w, s, (unsigned)r->o->jobs, e) == 0)
		done = again ? source_finish(&w.source, e) : load_source(&r->load, &w.source, e);
	if (done == 0)
		digest_text(r->root, &w.witness.content.root);
	witnessed_free(&w);
	if (trusts)
		return input_close(&in, e);
	source_close(s);
	if (held >= 0)
		close(held);
	return done == 0 && again ? load_open(&r->load, r->path, tool_note, e) : done;
}

/* Opens the tokenizer; without a vocabulary, prompts must be token ids. */
static int
open_tokenizer(struct run *r, struct err *e)
{
	const struct tokenizer_options options = { .any = r->o->any, .note = tool_note };
	bool needed = false;
	size_t i;

	for (i = 0; i < r->prompts.n; i++)
		needed |= r->prompts.item[i].text != NULL;
	r->tokenizer = tokenizer_of(&r->load.weights, &options, e);
	if (r->tokenizer || needed || e->code != ERR_FORMAT)
		return r->tokenizer ? 0 : -1;
	tool_note("texts are not compared: the model has no vocabulary that can be read");
	*e = (struct err)ERR_INIT;
	return 0;
}

/* Makes the model ready for texts of this many tokens. */
static int
open_model(struct run *r, size_t longest, struct err *e)
{
	/* A text is evaluated up to its last token, and generated from one less. */
	const struct infer_options options = { .context = longest + 1,
		.threads = (unsigned)r->o->jobs };

	r->infer = infer_open(&r->load.weights, &options, tool_note, e);
	return r->infer && (r->sequence = sequence_open(r->infer, e)) ? 0 : -1;
}

/* ---- create ---- */

/* The prompts as tokens. Returns the length of the longest, with its continuation; 0 with e
 * filled. */
static size_t
add_prompts(struct run *r, struct err *e)
{
	struct canary *c = &r->canary;
	size_t i, longest = 0, all = 0;

	for (i = 0; i < r->prompts.n; i++) {
		struct prompt_line *from = &r->prompts.item[i];
		struct canary_prompt *to = canary_add(c, e);
		struct buf text = { .p = (uint8_t *)from->text,
			.n = from->text ? strlen(from->text) : 0 };

		if (!to || (from->text && prompt_encode(r->tokenizer, &text, &to->ids, e) < 0))
			return 0;
		if (!from->text) {
			to->ids = from->ids;
			from->ids = (struct tokens){ 0 };
		}
		to->text = from->text;
		from->text = NULL;
		longest = to->ids.n > longest ? to->ids.n : longest;
		all += to->ids.n + c->count;
	}
	if (all <= CANARY_POSITIONS)
		return longest + c->count;
	err_set(e, ERR_MEMORY, NULL, "the prompts and their continuations have %zu tokens, more "
	        "than %u", all, CANARY_POSITIONS);
	return 0;
}

static int
set_conditions(struct run *r, struct err *e)
{
	struct canary *c = &r->canary;
	const char *made_by = "apr-canary " APR_VERSION, *level = level_now()->name;
	const char *arch = infer_architecture(r->infer);

	c->vocabulary = infer_vocabulary(r->infer);
	c->top = c->top < c->vocabulary ? c->top : c->vocabulary;
	c->made_by = mem_text(made_by, strlen(made_by));
	c->architecture = mem_text(arch, strlen(arch));
	c->root = mem_text(r->root, strlen(r->root));
	c->level = mem_text(level, strlen(level));
	return c->made_by && c->architecture && c->root && c->level ? 0 : err_memory(e);
}

static int
write_canary(struct run *r, struct err *e)
{
	struct out_options where = { .path = r->o->output, .force = r->o->force, .input = -1,
		.terminal_ok = true };
	struct buf b = { 0 };
	struct out out;
	int done;

	canary_write(&r->canary, &b);
	done = buf_ok(&b) ? out_open(&out, &where, e) : err_memory(e);
	if (done == 0 && (out_put(&out, b.p, b.n) < 0 || out_finish(&out) < 0)) {
		out_abandon(&out);
		done = -1;
	}
	buf_free(&b);
	return done;
}

static int
create(struct run *r, struct err *e)
{
	struct canary *c = &r->canary;
	size_t i, longest;

	c->count = r->o->count;
	c->top = r->o->top;
	if (canary_options_parse(r->o, &r->file, &r->prompts, e) < 0 ||
	    load_digested(r, e) < 0 || open_tokenizer(r, e) < 0 ||
	    !(longest = add_prompts(r, e)) || open_model(r, longest, e) < 0 ||
	    set_conditions(r, e) < 0)
		return -1;
	for (i = 0; i < c->n; i++)
		if (canary_make(c, &c->prompts[i], r->sequence, r->tokenizer, e) < 0)
			return -1;
	return load_check(&r->load, e) < 0 ? -1 : write_canary(r, e);
}

/* ---- check ---- */

static int
check(struct run *r, struct err *e)
{
	const struct canary *c = &r->canary;
	struct canary_conditions now = { .root = r->root, .level = level_now()->name,
		.made_by = "apr-canary " APR_VERSION };
	struct canary_total total = { .prompts = 0 };

	if (canary_parse(&r->canary, r->file.p, r->file.n, r->o->canary, e) < 0 ||
	    load_digested(r, e) < 0 || open_tokenizer(r, e) < 0 ||
	    open_model(r, canary_longest(c), e) < 0)
		return -1;
	now.architecture = infer_architecture(r->infer);
	if (!r->o->json)
		canary_put_conditions(&r->report, c, &now);
	if (canary_verdict(c, r->sequence, r->tokenizer, &r->o->limits, true,
	                   r->o->json ? NULL : &r->report, r->o->json ? &r->report : NULL,
	                   &total, e) < 0 || load_check(&r->load, e) < 0)
		return -1;
	canary_put_total(&r->report, c, &total, &now, r->o->json);
	if (tool_print(&r->report, e) < 0)
		return -1;
	return total.failed == 0 ? 0
		: err_set(e, ERR_INVALID, r->path, "fails %zu of %zu prompts of %s", total.failed,
		          total.prompts, r->o->canary);
}

/* ---- the command line ---- */

static void
run(struct run *r, struct err *e)
{
	char *folder = format_folder_of(r->path);

	/* Files cannot be opened inside the sandbox. */
	if (canary_options_prompts(r->o, r->path, &r->file, e) == 0) {
		if (folder)
			tool_notef("%s is read with the files of its folder", r->path);
		r->path = folder ? folder : r->path;
		input_trust(r->path, r->o->trusted);
		if (r->o->trusted)
			input_prepare(r->path);
		sandbox_read(r->path);
		sandbox_write(r->o->output, r->o->force);
		if (format_may_spool(r->path))
			sandbox_spool();
		sandbox_enter();
		if (r->o->check)
			check(r, e);
		else
			create(r, e);
	}
	free(folder);
}

int
main(int argc, char **argv)
{
	static struct canary_options o;
	static const struct opt opts[] = {
		OPT_CANARY(&o),
		OPT_JOBS(&o.jobs),
		OPT_END
	};
	static const struct tool tool = {
		"apr-canary", "create -f PROMPTS | -p TEXT [-n N] [--top N] [--any-tokenizer]\n"
		"[--trusted-key KEY] [-j N] [--force] [-o FILE] [MODEL]\n"
		"apr-canary check --canary CANARY [--min-top1 X] [--max-kl X] [--json]\n"
		"[--any-tokenizer] [--trusted-key KEY] [-j N] [MODEL]",
		"Record what a model says, and hold other forms of it against that.", opts, 2
	};
	struct run r = { .o = &o };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	if (canary_options_check(&o, operands, &e) == 0 && (r.path = tool_input(o.model, &e)) &&
	    level_begin(getenv("APR_CPU"), tool_note, &e) == 0) {
		dot_begin(tool_note);
		run(&r, &e);
	}
	sequence_close(r.sequence);
	infer_close(r.infer);
	tokenizer_free(r.tokenizer);
	load_close(&r.load);
	canary_free(&r.canary);
	prompts_free(&r.prompts);
	buf_free(&r.file);
	buf_free(&r.report);
	free(o.prompts.items);
	return tool_end(&e);
}
