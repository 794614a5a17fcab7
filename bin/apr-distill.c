/* apr-distill: train a smaller model on a text, with a larger one as its teacher */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/distill/distill_asked.h"
#include "cli/distill/distill_report.h"
#include "cli/distill/distill_texts.h"
#include "cli/filter.h"
#include "core/num.h"
#include "core/opened.h"
#include "core/sandbox.h"
#include "core/thread.h"
#include "distill/checkpoint.h"
#include "distill/recipe.h"
#include "formats/create.h"
#include "kernels/dot.h"
#include "kernels/level.h"
#include "kernels/training.h"
#include "load/load.h"

struct run {
	struct distill_asked *asked;
	const char *path;         /* of the model that teaches */
	int held;                 /* a descriptor of it, which is never replaced by the output */
	bool resumes;             /* there is a checkpoint to go on from */
	struct load load, student_load;
	struct train_model teacher, student;
	struct tokenizer *tokenizer;
	struct distill_texts texts;
	struct student_how how;
	struct course course;
	struct distill_report report;
	char *recipe;
	struct sink *sink;
};

/* ---- the models ---- */

/* Whether the weights of the model are needed, not only its tokens. */
static bool
has_teacher(const struct run *r)
{
	return r->asked->alpha != 0 || !r->asked->student;
}

static int
open_teacher(struct run *r, struct err *e)
{
	const struct tokenizer_options any = { .note = tool_note };

	if (load_open(&r->load, r->path, tool_note, e) < 0 ||
	    !(r->tokenizer = tokenizer_of(&r->load.weights, &any, e)))
		return -1;
	if (has_teacher(r) && train_open(&r->teacher, &r->load.weights, TRAIN_FROZEN, e) < 0)
		return -1;
	return load_check(&r->load, e);
}

static int
open_file(struct run *r, struct err *e)
{
	const struct tokenizer_options texts = { .list = true };
	struct tokenizer *own;
	int same;

	if (load_open(&r->student_load, r->asked->student, tool_note, e) < 0 ||
	    !(own = tokenizer_of(&r->student_load.weights, &texts, e)))
		return -1;
	same = student_same_tokens(r->tokenizer, r->load.weights.name, own,
	                           r->student_load.weights.name, e);
	tokenizer_free(own);
	return same;
}

static int
open_student(struct run *r, struct err *e)
{
	if (distill_asked_student(r->asked, &r->teacher, &r->load.weights, &r->texts.text.tokens, &r->how,
	                          e) < 0)
		return -1;
	if (r->how.from == STUDENT_NEW) {
		if (train_new(&r->student, &r->how.config, e) < 0)
			return -1;
		train_init(&r->student, r->asked->seed);
		return 0;
	}
	if ((r->how.from == STUDENT_FILE
	         ? open_file(r, e)
	         : student_layers(&r->teacher, r->load.weights.name, &r->how,
	                          (unsigned)r->asked->jobs, &r->student_load, e)) < 0)
		return -1;
	return train_open(&r->student, &r->student_load.weights, 0, e) < 0
		? -1 : load_check(&r->student_load, e);
}

/* ---- the texts ---- */

static int
begin_course(struct run *r, struct err *e)
{
	struct train_model *teacher = r->asked->alpha == 0 ? NULL : &r->teacher;

	if (distill_texts_course(&r->texts, r->asked, r->tokenizer, &r->student, teacher, &r->course,
	                         e) < 0)
		return -1;
	r->recipe = recipe_text(&r->course, &r->how, e);
	return r->recipe ? 0 : -1;
}

/* ---- checkpoints ---- */

static int
save(struct run *r, struct err *e)
{
	const struct out_options where = { .path = r->asked->checkpoint, .force = true, .input = r->held,
		.from = r->path };
	const struct format_options how = { .plain = false };
	struct sink *sink = create_sink(format_by_name("apr2"), &where, &how, e);
	int done = sink ? checkpoint_write(&r->student, r->recipe, r->course.step, sink, e) : -1;

	sink_close(sink);
	return done;
}

static int
resume(struct run *r, struct err *e)
{
	const struct format_options how = { .strict = false };
	const struct format *format;
	int held = -1, done = -1;
	struct source *s = format_open_path(r->asked->checkpoint, &how, tool_note, &format, &held, e);

	if (s)
		done = checkpoint_read(&r->student, r->recipe, &r->course.step, s, e);
	if (done == 0 && r->course.step > r->course.how.steps)
		done = err_set(e, ERR_CORRUPT, s->name, "has done more steps than there are");
	source_close(s);
	if (held >= 0)
		close(held);
	if (done < 0)
		tool_subject(r->asked->checkpoint);
	else
		tool_notef("goes on after step %llu", (unsigned long long)r->course.step);
	return done;
}

/* ---- the training ---- */

static struct sink *
open_output(const struct run *r, struct err *e)
{
	const struct output_options *o = &r->asked->output;
	const struct out_options where = { .path = o->path, .force = o->force, .input = r->held,
		.from = r->path };
	const struct format_options how = { .plain = false };
	const size_t n = o->path ? strlen(o->path) : 0;
	const struct format *format = n > 0 && o->path[n - 1] == '/' ? &format_safetensors
		: n > 0 ? format_by_suffix(format_suffix(o->path)) : NULL;

	if (!format || format == &format_stream)
		return filter_sink(&where, e);
	if (format->writes)
		return create_sink(format, &where, &how, e);
	err_set(e, ERR_FORMAT, o->path, "%s is not written", format->title);
	return NULL;
}

static int
train(struct run *r, struct err *e)
{
	struct course *c = &r->course;
	const uint64_t twentieth = c->how.steps / 20 ? c->how.steps / 20 : 1;
	const uint64_t every = r->asked->every ? r->asked->every : num_min(twentieth, 100);
	int done;

	distill_report_begin(&r->report, c, r->asked->json, r->asked->output.progress);
	done = distill_report_measure(&r->report, c, true, e);
	if (done == 0 && r->asked->checkpoint && !r->resumes)
		done = save(r, e); /* a file that cannot be written is not found after hours */
	while (done == 0 && c->step < c->how.steps) {
		bool last = c->step + 1 == c->how.steps;

		done = course_step(c, e);
		if (done == 0)
			distill_report_step(&r->report, c);
		if (last)
			distill_report_end(&r->report); /* the line of the progress goes before notes */
		if (done == 0 && (last || c->step % every == 0)) {
			done = distill_report_measure(&r->report, c, last, e);
			if (done == 0 && r->asked->checkpoint)
				done = save(r, e);
		}
	}
	distill_report_end(&r->report);
	return done;
}

static int
write_student(struct run *r, struct err *e)
{
	const struct flow f = { 0 };
	struct source *source = NULL;

	if (recipe_record(&r->student, r->recipe, e) == 0 && load_check(&r->load, e) == 0 &&
	    load_check(&r->student_load, e) == 0 &&
	    (source = train_source(&r->student, e)))
		filter_flow(source, r->sink, false, &f, e);
	source_close(source);
	return e->code == ERR_NONE ? 0 : -1;
}

/* Inside the sandbox. */
static void
distill(struct run *r, struct err *e)
{
	r->held = strcmp(r->path, "-") ? opened_file(r->path, O_RDONLY) : STDIN_FILENO;
	if (open_teacher(r, e) == 0 &&
	    distill_texts_read(&r->texts, r->asked, r->tokenizer, e) == 0 &&
	    open_student(r, e) == 0 && begin_course(r, e) == 0 &&
	    (!r->resumes || resume(r, e) == 0) && (r->sink = open_output(r, e)) && train(r, e) == 0)
		write_student(r, e);
}

static void
run(struct run *r, struct err *e)
{
	struct distill_asked *a = r->asked;
	struct stat st;

	if (distill_asked_check(a, e) < 0 || distill_asked_read(a, r->path, e) < 0 ||
	    level_begin(getenv("APR_CPU"), tool_note, e) < 0)
		return;
	a->jobs = a->jobs ? a->jobs : thread_count();
	r->resumes = a->resume && (stat(a->checkpoint, &st) == 0 || errno != ENOENT);
	if (a->resume && !r->resumes)
		tool_notef("%s does not exist: the training begins", a->checkpoint);
	sandbox_write(a->output.path, a->output.force);
	sandbox_write(a->checkpoint, true);
	sandbox_read(r->path);
	sandbox_read(a->student);
	sandbox_read(r->resumes ? a->checkpoint : NULL);
	sandbox_spool();
	sandbox_enter();
	dot_begin(tool_note);
	training_now(tool_note);
	distill(r, e);
}

int
main(int argc, char **argv)
{
	static struct distill_asked asked = DISTILL_ASKED;
	static const struct opt opts[] = {
		OPT_DISTILL(&asked),
		OPT_JOBS(&asked.jobs),
		OPT_OUTPUT(&asked.output),
		OPT_END
	};
	static const struct tool tool = {
		"apr-distill",
		"--layers N | --size SIZE | --keep LIST | --student FILE | --new SIZES\n"
		"--data FILE [--keep WHICH] [--alpha X] [--temperature T]\n"
		"[--epochs N | --steps N] [--lr X] [--warmup N] [--decay X] [--clip X]\n"
		"[--batch N] [--accumulate N] [--context N] [--seed N]\n"
		"[--validate FILE | --held-out X] [--every N] [--checkpoint FILE [--resume]]\n"
		"[--json] [--progress] [-j N] [-f] [-o FILE] [MODEL]",
		"Train a smaller model on a text, with a larger one as its teacher.", opts, 1
	};
	struct run r = { .asked = &asked, .held = -1 };
	struct err e = ERR_INIT;
	char **operands = tool_begin(&tool, argc, argv);

	r.path = tool_input(operands[0], &e);
	if (r.path)
		run(&r, &e);
	sink_close(r.sink);
	course_end(&r.course);
	train_close(&r.student);
	train_close(&r.teacher);
	load_close(&r.student_load);
	load_close(&r.load);
	tokenizer_free(r.tokenizer);
	distill_texts_free(&r.texts);
	free(r.how.kept);
	free(r.recipe);
	distill_asked_free(&asked);
	return tool_end(&e);
}
