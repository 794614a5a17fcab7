/* The plans of validate and qa: one model by its points, or one against another. */
#include "front/plan.h"

#include <string.h>

static int
misused(const struct front_line *l, struct err *e, const char *fact)
{
	err_set(e, ERR_USAGE, NULL, "%s", fact);
	return err_hint(e, "apr %s --help", l->word->name);
}

/* Whether an option is given that goes to this step under this name. */
static bool
passes(const struct front_line *l, enum front_step step, const char *as)
{
	size_t i;

	for (i = 0; i < l->given_count; i++)
		if (l->given[i].option->passes & 1u << step &&
		    (!as || strcmp(l->given[i].option->as, as) == 0))
			return true;
	return false;
}

/* The thresholds are those that the specification draws. */
static int
compare(struct front_plan *p, const struct front_line *l, const char *a, const char *b,
        struct err *e)
{
	if (passes(l, STEP_CHECK, "--min-score") || passes(l, STEP_CHECK, "--category") ||
	    l->slot[SLOT_NAN] || l->slot[SLOT_ZERO] || l->slot[SLOT_SHAPES])
		return misused(l, e, "two models are compared: points are for one");
	front_plan_stage(p, STEP_GATE, "apr-diff");
	front_plan_pass(p, l, STEP_GATE);
	if (!passes(l, STEP_GATE, "--max-drift")) {
		front_plan_add(p, "--max-drift");
		front_plan_add(p, "0.1");
	}
	if (!passes(l, STEP_GATE, "--min-cosine")) {
		front_plan_add(p, "--min-cosine");
		front_plan_add(p, "0.99");
	}
	front_plan_add(p, "--tensors");
	front_plan_operand(p, a);
	front_plan_operand(p, b);
	return front_plan_end(p, e);
}

/* The points of --nan-check, --zero-check and --shapes. */
static int
add_points(struct front_plan *p, const struct front_line *l, struct err *e)
{
	static const char *const points[] = { NULL, "nan", "zero", "nan,zero", "shapes", "nan,shapes",
		"zero,shapes", "nan,zero,shapes" };
	const char *only = points[(l->slot[SLOT_NAN] ? 1 : 0) + (l->slot[SLOT_ZERO] ? 2 : 0) +
	                          (l->slot[SLOT_SHAPES] ? 4 : 0)];

	if (only && passes(l, STEP_CHECK, "--only"))
		return misused(l, e, "--only names the points already");
	front_plan_add(p, only ? "--only" : NULL);
	front_plan_add(p, only);
	return 0;
}

static int
judge(struct front_plan *p, const struct front_line *l, const char *file, struct err *e)
{
	if (l->slot[SLOT_CHECKSUM]) {
		front_plan_stage(p, STEP_CHECK, "apr-header");
		front_plan_add(p, "--checksum");
	} else {
		front_plan_stage(p, STEP_CHECK, "apr-check");
		front_plan_pass(p, l, STEP_CHECK);
		if (add_points(p, l, e) < 0)
			return -1;
	}
	front_plan_operand(p, file);
	return front_plan_end(p, e);
}

int
front_judge(struct front_plan *p, const struct front_line *l, struct err *e)
{
	const char *const *files = l->operands;
	size_t n = l->operand_count;

	if (l->word->plan == FRONT_IS_QA) {
		if (n == 0 || strcmp(files[0], "verify") != 0)
			return misused(l, e, "qa needs a verb: verify");
		files++;
		n--;
	}
	if (n == 0)
		return misused(l, e, "a model is missing: give a file");
	if (n == 2 && l->word->plan == FRONT_IS_VALIDATE)
		return compare(p, l, files[0], files[1], e);
	if (n > 1)
		return misused(l, e, "one file too many");
	return judge(p, l, files[0], e);
}
