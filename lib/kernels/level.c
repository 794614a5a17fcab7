#include "kernels/level.h"

#include <stdio.h>
#include <string.h>

#include "kernels/common/products.h"
#include "kernels/compare.h"
#include "kernels/cpu.h"
#include "kernels/kernel.h"

static const struct level *const levels[] = {
#define LEVEL_ROW(name) &level_##name,
	LEVELS(LEVEL_ROW)
};
enum { COUNT = sizeof levels / sizeof levels[0] };

static const struct level *now = &LEVEL_FIRST;

const struct level *
level_now(void)
{
	return now;
}

const struct level *
level_row(unsigned index)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		if (cpu_has(levels[i]->needs) && index-- == 0)
			return levels[i];
	return NULL;
}

/* ---- choice ---- */

static const struct level *
best_level(void)
{
	size_t i = COUNT;

	while (!cpu_has(levels[--i]->needs))
		; /* the first needs nothing */
	return levels[i];
}

/* The hint that names the levels of this CPU: "ref, avx2". */
static void
hint_levels(struct err *e)
{
	const struct level *l;
	char text[80] = "";
	size_t n = 0;
	unsigned i;

	for (i = 0; (l = level_row(i)) != NULL; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", l->name);
	err_hint(e, "this CPU has %s", text);
}

static const struct level *
find(const char *name, struct err *e)
{
	size_t i;

	for (i = 0; i < COUNT; i++) {
		if (strcmp(name, levels[i]->name))
			continue;
		if (cpu_has(levels[i]->needs))
			return levels[i];
		err_set(e, ERR_USAGE, NULL, "APR_CPU is %s, which this CPU does not have", name);
		hint_levels(e);
		return NULL;
	}
	err_set(e, ERR_USAGE, NULL, "APR_CPU is %.40s, which is not a level", name);
	hint_levels(e);
	return NULL;
}

int
level_begin(const char *name, void (*note)(const char *), struct err *e)
{
	const struct level *l = name && *name ? find(name, e) : best_level();

	if (!l)
		return -1;
	level_use(l, note);
	return 0;
}

void
level_use(const struct level *l, void (*note)(const char *))
{
	const char *bad = COUNT == 1 || l == &LEVEL_FIRST ? NULL : level_differs(l);
	char text[100];

	if (bad && note) {
		snprintf(text, sizeof text, "%s computes %s differently here: plain C is used",
		         l->name, bad);
		note(text);
	}
	now = bad ? &LEVEL_FIRST : l;
	kernels_use(now);
}

/* ---- products ---- */

/* The best variant of a level that this CPU can run. */
static const struct products *
best_products(const struct level *l)
{
	const struct products *const *p = l->products;

	while (!cpu_has((*p)->needs))
		p++; /* the last needs no more than the level */
	return *p;
}

/* True if a level before number i has the products too. */
static bool
listed_before(size_t i, const struct products *p)
{
	const struct products *const *have;

	while (i-- > 0)
		for (have = levels[i]->products; *have; have++)
			if (*have == p)
				return true;
	return false;
}

const struct products *
products_row(size_t index)
{
	const struct products *const *p;
	size_t i, k, count;

	for (i = 0; i < COUNT; i++) {
		p = levels[i]->products;
		for (count = 0; p[count]; count++)
			;
		for (k = count; k-- > 0; )
			if (cpu_has(levels[i]->needs | p[k]->needs) && !listed_before(i, p[k]) &&
			    index-- == 0)
				return p[k];
	}
	return NULL;
}

void
dot_begin(void (*note)(const char *))
{
	const struct products *best = best_products(now);
	const char *bad = COUNT == 1 ? NULL : products_differ(best);
	char text[100];

	if (bad && note) {
		snprintf(text, sizeof text, "%s multiplies %s differently here: plain C is used",
		         best->name, bad);
		note(text);
	}
	dot_use(bad ? LEVEL_FIRST.products[0] : best);
}
