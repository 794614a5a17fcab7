/* apr-lowrank: stream -> stream, matrices as products of two smaller ones, and back */
#include <stdlib.h>
#include <string.h>

#include "arch/guess.h"
#include "cli/imatrix_file.h"
#include "cli/input.h"
#include "cli/rewrite.h"
#include "cli/tool.h"
#include "core/dir_name.h"
#include "core/mem.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "kernels/level.h"
#include "lowrank/lowrank.h"

struct options {
	struct lowrank_how how;
	struct opt_list targets;
	const char *imatrix, *arch, *trusted;
	bool merges, verbose;
	uint64_t jobs;
	struct output_options output;
};

/* What has been found so far. */
struct tally {
	const struct options *o;
	uint64_t in, out;         /* bytes of matrices and of their factors */
	double errors;            /* sum of their relative errors */
};

static void
met(void *ctx, const struct lowrank_met *m)
{
	struct tally *t = ctx;

	if (m->rank > 0) {
		t->in += tensor_bytes(m->t);
		t->out += m->bytes;
		t->errors += m->error;
	}
	if (!t->o->verbose)
		return;
	if (m->rank > 0)
		tool_notef("%s: rank %zu, %serror %.3g", tensor_name(m->t), m->rank,
		           m->weighted ? "weighted " : "", m->error);
	else
		tool_notef("%s: stays whole", tensor_name(m->t));
}

static void
note_result(const struct lowrank *l, const struct tally *t)
{
	if (t->o->merges)
		tool_notef("%zu matrices are multiplied from their factors", l->factored);
	else
		tool_notef("%zu matrices become factors, %llu -> %llu bytes, mean error %.3g", l->factored,
		           (unsigned long long)t->in, (unsigned long long)t->out,
		           t->errors / (double)l->factored);
	if (l->whole)
		tool_notef("%zu matrices stay whole: factors would not be smaller", l->whole);
}

struct sending {
	struct lowrank *l;
	const struct tally *tally;
};

static struct source *
result(void *ctx, struct err *e)
{
	const struct sending *s = ctx;

	note_result(s->l, s->tally);
	return lowrank_source(s->l, s->tally->o->how.jobs, e);
}

static void
change(struct options *o, struct input *in, struct err *e)
{
	struct tally tally = { .o = o };
	struct merge_input model = { .operation = o->merges ? "apr-lowrank merge" : "apr-lowrank svd" };
	struct lowrank l = { .in = &model };
	struct sending s = { &l, &tally };

	o->how.met = met;
	o->how.ctx = &tally;
	rewrite_begin(in);
	if (merge_input_read(&model, in->source, NULL, o->arch, in->lent_count > 0, o->how.jobs,
	                     e) == 0 &&
	    (o->merges ? lowrank_join(&l, e) : lowrank_split(&l, &o->how, e)) == 0)
		rewrite_send(&o->output, in, result, &s, e);
	lowrank_free(&l);
	merge_input_close(&model);
}

/* ---- the command line ---- */

/* A name with * and ? that begins with *, as in *.fc1.weight, is not a regular expression: what it
 * is as one. The caller frees it; NULL if memory runs out. */
static char *
pattern_text(const char *glob)
{
	struct buf b = { 0 };
	const char *p;
	char *text = NULL;

	if (*glob != '*')
		return mem_text(glob, strlen(glob));
	buf_text(&b, "^");
	for (p = glob; *p; p++)
		if (*p == '*')
			buf_text(&b, ".*");
		else if (*p == '?')
			buf_text(&b, ".");
		else if (strchr("\\.[](){}+^$|", *p))
			buf_printf(&b, "\\%c", *p);
		else
			buf_u8(&b, (uint8_t)*p);
	buf_text(&b, "$");
	if (buf_string(&b))
		text = mem_text((char *)b.p, b.n);
	buf_free(&b);
	return text;
}

static int
parse_targets(struct options *o, struct err *e)
{
	size_t i;

	o->how.targets = mem_array(o->targets.n, sizeof *o->how.targets);
	if (!o->how.targets)
		return err_memory(e);
	for (i = 0; i < o->targets.n; i++) {
		if (!(o->targets.items[i] = pattern_text(o->targets.items[i])))
			return err_memory(e);
		o->how.target_count++;
		if (pattern_open(&o->how.targets[i], o->targets.items[i], e) < 0)
			return -1;
	}
	return 0;
}

static int
parse(struct options *o, const char *word, struct err *e)
{
	o->merges = word && strcmp(word, "merge") == 0;
	o->how.jobs = o->jobs ? (unsigned)o->jobs : thread_count();
	if (!word)
		return tool_misused(e, "a command is missing: svd or merge");
	if (strcmp(word, "lora") == 0) {
		tool_misused(e, "lora: an adapter is the difference of two models");
		return err_hint(e, "apr-lora extract makes it; apr-lowrank svd factors one model");
	}
	if (!o->merges && strcmp(word, "svd") != 0)
		return tool_misused(e, "not a command: %.80s; there are svd and merge", word);
	if (o->merges && (o->how.rank || o->how.energy > 0 || o->imatrix || o->targets.n))
		return tool_misused(e, "--rank, --energy, --imatrix and --target are for svd");
	if (!o->merges && !o->how.rank == !(o->how.energy > 0))
		return tool_misused(e, "svd needs --rank or --energy, and not both");
	if (o->arch && !arch_known(o->arch))
		return arch_unknown("--arch", o->arch, e);
	return parse_targets(o, e);
}

static int
read_imatrix(struct options *o, struct imatrix *m, struct err *e)
{
	const char *slash = strrchr(o->imatrix, '/');

	o->how.imatrix = m;
	o->how.imatrix_name = slash ? slash + 1 : o->imatrix;
	return imatrix_file_read(m, o->imatrix, e) < 0 ? -1 : imatrix_means(m, e);
}

static void
run(struct options *o, const char *path, struct err *e)
{
	struct imatrix m = { 0 };
	struct input in;

	if (input_spare(o->imatrix, &o->output, e) < 0)
		return;
	input_trust(path, o->trusted);
	sandbox_write(o->output.path, o->output.force);
	sandbox_spool();
	sandbox_prepare();
	if (o->imatrix) {
		input_prepare(path);
		input_prepare(o->imatrix);
	}
	if (!o->imatrix || read_imatrix(o, &m, e) == 0) {
		if (input_open(&in, path, e) == 0)
			change(o, &in, e);
		input_close(&in, e);
	}
	imatrix_free(&m);
}

int
main(int argc, char **argv)
{
	static struct options o;
	static const struct opt opts[] = {
		NUMBER(0, "rank", "R", &o.how.rank, 1, UINT32_MAX, "svd: the rank of each product"),
		DECIMAL(0, "energy", "E", &o.how.energy, 0, 1,
		        "svd: the lowest rank that keeps this share of the squares"),
		LIST(0, "target", "REGEX", &o.targets, "svd: matrices whose name matches, and no others"),
		TEXT(0, "imatrix", "FILE", &o.imatrix,
		     "svd: weigh columns by the importance matrix in FILE"),
		FLAG(0, "verbose", &o.verbose, "svd: print the rank and error of each matrix"),
		TEXT(0, "arch", "NAME", &o.arch, "the architecture, if the model does not say it"),
		OPT_JOBS(&o.jobs),
		OPT_TRUSTED(&o.trusted),
		OPT_OUTPUT_STREAM(&o.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-lowrank",
		"svd --rank R | --energy E [--target REGEX] [--imatrix FILE]\n"
		"[--verbose] [--arch NAME] [-j N] [--trusted-key KEY] [-f] [-o FILE] [FILE]\n"
		"apr-lowrank merge [--arch NAME] [-j N] [--trusted-key KEY] [-f] [-o FILE] [FILE]",
		"Store matrices as products of two smaller ones, or multiply them back.", opts, 2
	};
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);
	const char *path;
	size_t i;

	if (level_begin(getenv("APR_CPU"), tool_note, &e) == 0 && parse(&o, operands[0], &e) == 0 &&
	    (path = tool_input(operands[1], &e)))
		run(&o, path, &e);
	for (i = 0; i < o.how.target_count; i++) {
		pattern_close(&o.how.targets[i]);
		free((char *)(uintptr_t)o.targets.items[i]);
	}
	free(o.how.targets);
	free(o.targets.items);
	return tool_end(&e);
}
