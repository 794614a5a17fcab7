/* The list of findings: what it keeps, counts and sorts. */
#include "check/finding.h"

#include <string.h>

#include "test.h"

static const struct rule nan_rule = { "T-1", FINDING_ERROR, "values are finite", "" };
static const struct rule name_rule = { "T-2", FINDING_INFO, "names are canonical", "" };

static void
kept(void)
{
	struct findings f = { 0 };
	size_t i;

	for (i = 0; i < FINDINGS_KEPT + 10; i++) {
		findings_add(&f, &name_rule, "a.weight", "name %zu", i);
		findings_fix(&f, "apr-rename %zu", i);
	}
	findings_fix(&f, "lost");
	findings_offset(&f, 7);
	test_ok(findings_ok(&f) && f.count == FINDINGS_KEPT &&
	        findings_of(&f, &name_rule) == FINDINGS_KEPT + 10 &&
	        f.levels[FINDING_INFO] == FINDINGS_KEPT + 10,
	        "findings of a rule beyond %d are only counted", FINDINGS_KEPT);
	test_ok(!strcmp(f.of[3].fact, "name 3") && !strcmp(f.of[3].fix, "apr-rename 3"),
	        "a finding keeps its fact and its fix");
	test_ok(!strcmp(f.of[f.count - 1].fix, "apr-rename 63") && !f.of[f.count - 1].has_offset,
	        "a finding that is only counted does not change the last one that is kept");
	findings_free(&f);
}

static void
sorted(void)
{
	struct findings f = { 0 };

	findings_add(&f, &name_rule, "a", "first");
	findings_add(&f, &nan_rule, NULL, "second");
	findings_offset(&f, 99);
	findings_add_at(&f, &nan_rule, FINDING_WARN, "b", "third");
	findings_add(&f, &name_rule, "c", "fourth");
	findings_sort(&f);
	test_ok(findings_ok(&f) && f.count == 4 && !strcmp(f.of[0].fact, "second") &&
	        !strcmp(f.of[1].fact, "third") && !strcmp(f.of[2].fact, "first") &&
	        !strcmp(f.of[3].fact, "fourth"),
	        "errors come first, and findings of one level in their order");
	test_ok(f.of[0].has_offset && f.of[0].offset == 99 && !f.of[0].object,
	        "a finding of the model has a place, and no object");
	findings_free(&f);
	test_ok(f.count == 0 && findings_of(&f, &nan_rule) == 0, "an empty list has no findings");
}

static bool
is_nan(const struct rule *r, void *ctx)
{
	(void)ctx;
	return r == &nan_rule;
}

/* A hostile model has many findings of a low level in front of one of a high level. */
static void
hidden(void)
{
	struct findings f = { 0 };
	size_t i;

	for (i = 0; i < FINDINGS_KEPT + 10; i++)
		findings_add_at(&f, &nan_rule, FINDING_INFO, "a", "advice");
	findings_add(&f, &nan_rule, "b", "error");
	findings_add_at(&f, &name_rule, FINDING_ERROR, "c", "other");
	findings_only(&f, is_nan, NULL);
	test_ok(f.levels[FINDING_ERROR] == 1 && f.levels[FINDING_INFO] == FINDINGS_KEPT + 10 &&
	        findings_of(&f, &nan_rule) == FINDINGS_KEPT + 11,
	        "findings that are only counted keep their level");
	findings_sort(&f);
	test_ok(f.count == FINDINGS_KEPT + 1 && !strcmp(f.of[0].fact, "error"),
	        "many findings of a low level do not hide an error of the same rule");
	findings_free(&f);
}

int
main(void)
{
	kept();
	sorted();
	hidden();
	return test_done();
}
