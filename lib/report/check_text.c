#include "report/check_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "report/lines.h"

static const char *const helds[] = { "model", "test", "later" };

static bool
is_judged(const struct score *c, unsigned n)
{
	return c->verdict[n] != VERDICT_NONE;
}

static bool
is_shown(const struct score *c, unsigned n, bool all)
{
	return is_judged(c, n) || (all && point_row(n)->held == POINT_RULE);
}

void
check_put_points(struct buf *b, const struct score *c, bool all)
{
	unsigned n;

	for (n = 1; n <= POINTS; n++)
		if (is_shown(c, n, all))
			buf_printf(b, "%3u  %-16s %-4s  %s\n", n, point_row(n)->name,
			           verdict_name(c->verdict[n]),
			           c->why[n] ? c->why[n] : point_rule(n)->claim);
}

static void
put_part(struct buf *b, const char *name, const struct score_part *p, bool last)
{
	buf_printf(b, "%s %u of %u%s", name, p->passed, p->applicable, last ? "\n" : ", ");
}

void
check_put_score(struct buf *b, const struct score *c)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		put_part(b, point_category_name((char)('A' + i)), &c->category[i], i == 3);
	for (i = 0; i < POINT_VIEWS; i++)
		put_part(b, point_view_name(i), &c->view[i], i + 1 == POINT_VIEWS);
	if (c->all.applicable)
		buf_printf(b, "score %u of 100 (%s): %u of %u points that apply pass\n", c->percent,
		           c->word, c->all.passed, c->all.applicable);
	else
		buf_text(b, "no score: no point applies\n");
}

void
check_json_points(struct buf *b, const struct score *c, const char *model)
{
	unsigned n;

	for (n = 1; n <= POINTS; n++) {
		json_t *o = json_pack("{s:i,s:s,s:s,s:s}", "point", (int)n, "id", point_rule(n)->id,
		                      "name", point_row(n)->name, "verdict",
		                      verdict_name(c->verdict[n]));

		if (o && c->why[n])
			json_object_set_new(o, "why", json_string(c->why[n]));
		lines_json_of(b, o, model);
	}
}

static void
set_part(json_t *o, const char *name, const struct score_part *p)
{
	char key[64];
	size_t at = strlen(name);

	memcpy(key, name, at);
	strcpy(key + at, "_passed");
	json_object_set_new(o, key, json_integer(p->passed));
	strcpy(key + at, "_applicable");
	json_object_set_new(o, key, json_integer(p->applicable));
}

json_t *
check_properties(const struct score *c)
{
	json_t *o = json_pack("{s:i,s:s,s:i,s:i}", "score", (int)c->percent, "word", c->word,
	                      "passed", (int)c->all.passed, "applicable", (int)c->all.applicable);
	unsigned i;

	for (i = 0; o && i < 4; i++)
		set_part(o, point_category_name((char)('A' + i)), &c->category[i]);
	for (i = 0; o && i < POINT_VIEWS; i++)
		set_part(o, point_view_name(i), &c->view[i]);
	return o;
}

static void
put_row(struct buf *b, unsigned n, bool json)
{
	const struct point *p = point_row(n);
	const char letter[2] = { point_category(n), '\0' };

	if (json)
		lines_json_of(b, json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "point", (int)n, "id",
		                           p->rule.id, "name", p->name, "category", letter, "held",
		                           helds[p->held], "where", p->where, "claim", p->rule.claim),
		              NULL);
	else
		buf_printf(b, "%3u %c %-16s %-5s %-34s %s\n", n, letter[0], p->name, helds[p->held],
		           p->where, p->rule.claim);
}

void
check_put_list(struct buf *b, bool json)
{
	unsigned n;

	for (n = 1; n <= POINTS; n++)
		put_row(b, n, json);
}

/* By object; the worst of one object first. */
static int
by_object(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a;
	const struct finding *y = *(const struct finding *const *)b;
	int order = strcmp(x->object, y->object);

	if (!order)
		order = (x->level < y->level) - (x->level > y->level);
	return order ? order : (x > y) - (x < y);
}

/* The findings that make a tensor fail, sorted. *n is their number. NULL without memory. */
static const struct finding **
find_alarms(const struct findings *f, size_t *n)
{
	const struct finding **to = mem_array(f->count + 1, sizeof *to);
	size_t i;

	for (i = *n = 0; to && i < f->count; i++)
		if (f->of[i].level >= FINDING_WARN && f->of[i].object)
			to[(*n)++] = &f->of[i];
	if (to)
		qsort(to, *n, sizeof *to, by_object);
	return to;
}

static const struct finding *
worst_of(const struct finding *const *alarms, size_t n, const char *name)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(alarms[mid]->object, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && strcmp(alarms[low]->object, name) == 0 ? alarms[low] : NULL;
}

void
check_put_tensors(struct buf *b, const struct survey *s, const struct findings *f)
{
	char quoted[1024], fact[2048];
	const struct finding **alarms;
	size_t i, n;

	if (!(alarms = find_alarms(f, &n))) {
		b->failed = true;
		return;
	}
	for (i = 0; i < s->count; i++) {
		const struct survey_tensor *t = &s->tensors[i];
		const struct finding *x = worst_of(alarms, n, tensor_name(t->t));

		text_quote(quoted, sizeof quoted, tensor_name(t->t), strlen(tensor_name(t->t)));
		if (x)
			buf_printf(b, "FAIL %s: %s; expected: %s [%s]\n", quoted,
			           text_quote(fact, sizeof fact, x->fact, strlen(x->fact)),
			           x->rule->claim, x->rule->id);
		else if (t->read && stats_finite(&t->stats) > 0)
			buf_printf(b, "PASS %s: mean %.4g, std %.4g\n", quoted,
			           stats_mean(&t->stats), stats_std(&t->stats));
		else
			buf_printf(b, "PASS %s: %s\n", quoted, t->read ? "no values" : "not decoded");
	}
	free(alarms);
}
