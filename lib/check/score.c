#include "check/score.h"

static enum verdict
worst(const struct findings *f, const struct rule *r)
{
	enum verdict v = VERDICT_PASS;
	size_t i;

	for (i = 0; i < f->count; i++)
		if (f->of[i].rule == r && f->of[i].level == FINDING_ERROR)
			v = VERDICT_FAIL;
		else if (f->of[i].rule == r && f->of[i].level == FINDING_WARN && v == VERDICT_PASS)
			v = VERDICT_WARN;
	return v;
}

static void
count(struct score_part *p, enum verdict v)
{
	p->applicable++;
	p->passed += v == VERDICT_PASS;
}

static void
judge_point(struct score *to, unsigned n, const struct survey *s, const struct findings *f)
{
	enum verdict v = worst(f, point_rule(n));

	if (v == VERDICT_PASS && !(s->source && s->complete))
		to->why[n] = "the file was not read to its end";
	else if (v == VERDICT_PASS)
		to->why[n] = point_lacks(n, s);
	to->verdict[n] = to->why[n] ? VERDICT_NONE : v;
	if (to->why[n])
		return;
	count(&to->all, v);
	count(&to->category[point_category(n) - 'A'], v);
	count(&to->view[point_row(n)->view], v);
}

void
score_of(struct score *to, const struct survey *s, const struct findings *f,
         const bool chosen[POINTS + 1])
{
	unsigned n;

	*to = (struct score){ 0 };
	for (n = 1; n <= POINTS; n++) {
		to->verdict[n] = VERDICT_NONE;
		if (!chosen[n])
			to->why[n] = "not chosen";
		else
			judge_point(to, n, s, f);
	}
	if (to->all.applicable)
		to->percent = to->all.passed * 100 / to->all.applicable;
	to->word = score_word(to->percent);
}

const char *
verdict_name(enum verdict v)
{
	static const char *const names[] = { "pass", "warn", "fail", "n/a" };

	return names[v];
}

const char *
score_word(unsigned percent)
{
	static const struct {
		unsigned from;
		const char *word;
	} words[] = { { 90, "EXCELLENT" }, { 75, "GOOD" }, { 60, "FAIR" }, { 0, "POOR" } };
	unsigned i = 0;

	while (percent < words[i].from)
		i++;
	return words[i].word;
}
