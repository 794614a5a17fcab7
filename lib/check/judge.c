#include "check/judge.h"

#include <string.h>

#include "check/container.h"
#include "check/lint.h"
#include "check/points.h"
#include "check/values.h"

/* The families. late: only for a model that was read to its end. */
static const struct {
	int (*judge)(const struct survey *, struct findings *, struct err *);
	const struct rule *extra; /* its rules beyond the points, up to one without an id */
	bool late;
	const struct lint_rule *(*more)(size_t index); /* rules in a table of lint.h */
} families[] = {
	{ container_judge, NULL, false, NULL },
	{ shapes_judge, shapes_rules, true, NULL },
	{ tokens_judge, tokens_rules, true, NULL },
	{ values_judge, values_rules, true, NULL },
	{ classic_judge, classic_rules, true, NULL },
	{ security_judge, NULL, true, security_rule },
};
#define FAMILIES (sizeof families / sizeof *families)

int
judge_all(const struct survey *s, struct findings *f, struct err *e)
{
	size_t i;

	for (i = 0; i < FAMILIES; i++)
		if ((s->complete || !families[i].late) && families[i].judge(s, f, e) < 0)
			return -1;
	return findings_ok(f) ? 0 : err_memory(e);
}

/* Points 28, 29, 30 and 35, and the deviations of roles, compare with ranges. */
static bool
is_no_range(const struct rule *r, void *ctx)
{
	const unsigned n = point_number(r);

	(void)ctx;
	return n ? n != 28 && n != 29 && n != 30 && n != 35 : strcmp(r->id, "VALUES-SPREAD") != 0;
}

int
judge_reference(const struct survey *s, const struct survey *reference, struct findings *f,
                struct err *e)
{
	findings_only(f, is_no_range, NULL);
	return s->complete ? values_compare(s, reference, f, e) : 0;
}

const struct rule *
judge_extra(size_t n)
{
	const struct lint_rule *more;
	const struct rule *r;
	size_t i, k;

	for (i = 0; i < FAMILIES; i++) {
		for (r = families[i].extra; r && r->id; r++)
			if (n-- == 0)
				return r;
		for (k = 0; families[i].more && (more = families[i].more(k)); k++)
			if (n-- == 0)
				return &more->rule;
	}
	return NULL;
}
