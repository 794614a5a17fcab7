#include "cli/distill/distill_asked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/input.h"
#include "cli/prompt.h"
#include "core/mem.h"
#include "core/num.h"
#include "quant/prune.h"

#define CONTEXT 256

static double
or_default(double given, double value)
{
	return given < 0 ? value : given;
}

static uint64_t
or_number(uint64_t given, uint64_t value)
{
	return given ? given : value;
}

/* ---- options ---- */

static int
check_student(const struct distill_asked *a, struct err *e)
{
	const int layers = !!a->layers + !!a->size;

	if (!!a->student + !!a->fresh + (layers || a->keep) != 1)
		return tool_misused(e, "what is the student? give one of --layers, --student and --new");
	if (layers > 1)
		return tool_misused(e, "give one of --layers and --size");
	if (a->size && strcmp(a->size, "small") != 0 && strcmp(a->size, "tiny") != 0)
		return tool_misused(e, "SIZE is small or tiny, not %.40s", a->size);
	if (!a->keep)
		return 0;
	if (a->keep[0] >= '0' && a->keep[0] <= '9')
		return layers == 0 ? 0 : tool_misused(e, "--keep %.40s says how many layers", a->keep);
	if (strcmp(a->keep, "spread") != 0 && strcmp(a->keep, "first") != 0 &&
	    strcmp(a->keep, "cosine") != 0)
		return tool_misused(e, "WHICH is spread, first, cosine or a list, not %.40s", a->keep);
	return layers ? 0 : tool_misused(e, "--keep %s needs --layers", a->keep);
}

/* A checkpoint is replaced again and again: it is neither a folder nor standard output. */
static int
check_checkpoint(const struct distill_asked *a, struct err *e)
{
	const size_t n = a->checkpoint ? strlen(a->checkpoint) : 0;
	struct stat st;

	if (a->resume && !a->checkpoint)
		return tool_misused(e, "--resume needs --checkpoint");
	if (!a->checkpoint)
		return 0;
	if (n == 0 || a->checkpoint[n - 1] == '/' || strcmp(a->checkpoint, "-") == 0)
		return tool_misused(e, "--checkpoint needs the name of a file");
	if (a->resume || a->output.force || stat(a->checkpoint, &st) < 0)
		return 0;
	err_set(e, ERR_USAGE, a->checkpoint, "exists");
	return err_hint(e, "--resume goes on from it, -f replaces it");
}

int
distill_asked_check(struct distill_asked *a, struct err *e)
{
	if (!a->data)
		return tool_misused(e, "--data is missing: the text to learn");
	if (check_student(a, e) < 0)
		return -1;
	if (a->steps && a->epochs)
		return tool_misused(e, "give one of --steps and --epochs");
	if (a->validate && a->held_out >= 0)
		return tool_misused(e, "give one of --validate and --held-out");
	if (a->temperature == 0 || a->rate == 0)
		return tool_misused(e, "%s must be above 0", a->rate == 0 ? "--lr" : "--temperature");
	if (a->held_out > 0.5)
		return tool_misused(e, "--held-out is at most 0.5");
	if (a->alpha == 0 && a->temperature >= 0)
		return tool_misused(e, "--temperature is that of a teacher: with --alpha 0 there is none");
	return check_checkpoint(a, e);
}

/* ---- texts ---- */

static int
read_text(const char *path, const char *operand, struct buf *text, struct err *e)
{
	const struct prompt_from from = { .file = path };
	struct tokens none = { 0 };

	return prompt_take(&from, operand, text, &none, e) < 0 ||
	       texts_check(text->p, text->n, path, e) < 0 ? -1 : 0;
}

/* Each file is one thing only. */
static int
check_files(const struct distill_asked *a, const char *operand, struct err *e)
{
	const char *const inputs[] = { operand, a->data, a->validate, a->student };
	const struct output_options state = { .path = a->checkpoint, .force = true };
	size_t i, standard = 0;

	for (i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		standard += inputs[i] && strcmp(inputs[i], "-") == 0;
		if (input_spare(inputs[i], &a->output, e) < 0 ||
		    (a->checkpoint && input_spare(inputs[i], &state, e) < 0))
			return -1;
	}
	if (standard > 1)
		return tool_misused(e, "standard input can be only one of the files");
	if (a->checkpoint && a->output.path && strcmp(a->checkpoint, a->output.path) == 0)
		return tool_misused(e, "the checkpoint and the output are the same file");
	return 0;
}

int
distill_asked_read(struct distill_asked *a, const char *operand, struct err *e)
{
	if (check_files(a, operand, e) < 0)
		return -1;
	if (read_text(a->data, operand, &a->text, e) < 0)
		return -1;
	return a->validate ? read_text(a->validate, operand, &a->validation, e) : 0;
}

void
distill_asked_free(struct distill_asked *a)
{
	buf_free(&a->text);
	buf_free(&a->validation);
}

/* ---- the student ---- */

static int
take_list(const char *list, struct student_how *how, struct err *e)
{
	struct prune found = { 0 };
	int r = prune_parse(&found, list, e);

	how->kept = found.blocks;
	how->count = found.n;
	return r;
}

static uint64_t
count_of(const struct distill_asked *a, uint64_t layers)
{
	if (!a->size)
		return a->layers;
	return *a->size == 't' ? (layers + 3) / 4 : (layers + 1) / 2;
}

static int
take_layers(const struct distill_asked *a, const struct train_model *teacher,
            const struct weights *weights, const struct tokens *text, struct student_how *how,
            struct err *e)
{
	const uint64_t layers = teacher->hyper.layers, n = count_of(a, layers);
	const char *keep = a->keep ? a->keep : "spread";

	if (n > layers)
		return err_set(e, ERR_INVALID, weights->name, "has %llu layers: %llu cannot stay",
		               (unsigned long long)layers, (unsigned long long)n);
	how->count = (size_t)n;
	if (!(how->kept = mem_array(how->count, sizeof *how->kept)))
		return err_memory(e);
	if (*keep == 'c')
		return student_change(how->kept, how->count, weights, text, (unsigned)a->jobs, e);
	if (*keep == 'f')
		student_first(how->kept, how->count);
	else
		student_spread(how->kept, how->count, layers);
	return 0;
}

int
distill_asked_student(const struct distill_asked *a, const struct train_model *teacher,
                      const struct weights *weights, const struct tokens *text,
                      struct student_how *how, struct err *e)
{
	*how = (struct student_how){ .from = a->student ? STUDENT_FILE : a->fresh ? STUDENT_NEW
	                                                                         : STUDENT_LAYERS };
	if (a->student)
		return 0;
	if (a->fresh) {
		student_like(&how->config, teacher);
		how->config.words = weights;
		return student_config(&how->config, a->fresh, e);
	}
	if (a->keep && a->keep[0] >= '0' && a->keep[0] <= '9')
		return take_list(a->keep, how, e);
	return take_layers(a, teacher, weights, text, how, e);
}

/* ---- the course ---- */

int
distill_asked_course(const struct distill_asked *a, const struct train_model *student, size_t n,
                     struct course_how *how, struct err *e)
{
	const uint64_t context = num_min(student->hyper.context, CONTEXT);
	uint64_t parts, step, all;

	*how = (struct course_how){ .alpha = or_default(a->alpha, 0.5),
		.temperature = or_default(a->temperature, a->alpha == 0 ? 1 : 2),
		.rate = or_default(a->rate, 0.001), .decay = or_default(a->decay, 0.1),
		.clip = or_default(a->clip, 1), .seed = a->seed, .jobs = (unsigned)a->jobs,
		.rows = (size_t)or_number(a->batch, 8), .batches = (size_t)or_number(a->accumulate, 1),
		.length = (size_t)or_number(a->context, context) };
	if (how->length > student->hyper.context)
		return err_set(e, ERR_INVALID, NULL, "--context %zu: the student has %llu positions",
		               how->length, (unsigned long long)student->hyper.context);
	parts = n > how->length ? (n - 1) / how->length : 1;
	step = (uint64_t)how->rows * how->batches;
	if (num_mul(parts, or_number(a->epochs, 3), &all))
		return err_memory(e);
	how->steps = a->steps ? a->steps : (all + step - 1) / step;
	how->warm = a->warm != UINT64_MAX ? a->warm : num_min(how->steps / 20, 100);
	return 0;
}
