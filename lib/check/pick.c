/* The lists of points that users write. */
#include <stdlib.h>
#include <string.h>

#include "check/points.h"

/* Names that stand for more than one point. */
static const struct {
	const char *name;
	unsigned from, to;
} groups[] = { { "nan", 26, 27 } };

/* A number at the beginning of text, up to end. 0: it is not one from 1 to 100. */
static unsigned
number(const char *text, const char *end)
{
	char *stop;
	unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &stop, 10) : 0;

	return n >= 1 && n <= POINTS && stop == end ? (unsigned)n : 0;
}

static bool
pick_numbers(const char *word, size_t n, bool set[POINTS + 1])
{
	const char *dash = memchr(word, '-', n);
	unsigned from = number(word, dash ? dash : word + n);
	unsigned to = dash ? number(dash + 1, word + n) : from;

	if (from == 0 || to < from)
		return false;
	for (; from <= to; from++)
		set[from] = true;
	return true;
}

static bool
pick_name(const char *word, size_t n, bool set[POINTS + 1])
{
	bool found = false;
	unsigned i, k;

	for (i = 0; i < sizeof groups / sizeof *groups; i++)
		if (strlen(groups[i].name) == n && memcmp(groups[i].name, word, n) == 0)
			for (k = groups[i].from; k <= groups[i].to; k++)
				found = set[k] = true;
	for (i = 1; i <= POINTS; i++) {
		const struct point *p = point_row(i);

		if ((strlen(p->name) == n && memcmp(p->name, word, n) == 0) ||
		    (strlen(p->rule.id) == n && memcmp(p->rule.id, word, n) == 0))
			found = set[i] = true;
	}
	return found;
}

int
points_pick(const char *list, bool set[POINTS + 1], struct err *e)
{
	while (*list) {
		const size_t n = strcspn(list, ",");

		if (n > 0 && !pick_numbers(list, n, set) && !pick_name(list, n, set)) {
			err_set(e, ERR_USAGE, NULL, "%.*s is not a point", n < 80 ? (int)n : 80, list);
			return err_hint(e, "apr-check --list has the numbers and names of all points");
		}
		list += n + (list[n] == ',');
	}
	return 0;
}
