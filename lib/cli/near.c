#include "cli/near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define NAMES 3

/* The nearest names so far, nearest first; among equals, the earliest first. */
struct near {
	const char *name[NAMES];
	size_t cost[NAMES];
	size_t n;
};

/* Returns the cost of a candidate. Users more often give a part of a name than another
 * name of similar length. */
static size_t
cost_of(const char *name, const char *candidate)
{
	size_t cost = text_distance(name, candidate);

	if (strstr(candidate, name) || strstr(name, candidate))
		cost = cost / 16 + 1;
	return cost;
}

static void
consider(struct near *near, const char *name, size_t cost)
{
	size_t i = near->n;

	if (near->n < NAMES)
		near->n++;
	else if (cost >= near->cost[--i])
		return;
	for (; i > 0 && near->cost[i - 1] > cost; i--) {
		near->name[i] = near->name[i - 1];
		near->cost[i] = near->cost[i - 1];
	}
	near->name[i] = name;
	near->cost[i] = cost;
}

static void
hint(const struct near *near, struct err *e)
{
	char text[sizeof e->hint], quoted[80];
	size_t i, n = 0;

	for (i = 0; i < near->n && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
		                      i == 0 ? "" : i + 1 < near->n ? ", " : " or ",
		                      text_quote(quoted, 80, near->name[i],
		                                 strlen(near->name[i])));
	if (near->n)
		err_hint(e, "did you mean %s?", text);
}

int
near_find(const struct model *m, const char *name, const char *where, size_t *index,
          struct err *e)
{
	size_t i, cost, far = strlen(name) / 3 + 2;
	struct near near = { .n = 0 };

	for (i = 0; i < m->tensor_count; i++)
		if (strcmp(tensor_name(m->tensors[i]), name) == 0) {
			*index = i;
			return 0;
		}
	for (i = 0; i < m->tensor_count; i++) {
		cost = cost_of(name, tensor_name(m->tensors[i]));
		if (cost < far)
			consider(&near, tensor_name(m->tensors[i]), cost);
	}
	err_set(e, ERR_NO, where, "has no tensor %s", name);
	hint(&near, e);
	return -1;
}

/* ---- words ---- */

#define WORD 64

/* Copies only the letters and digits of word, in lower case. */
static void
bare(char dst[WORD], const char *word)
{
	size_t n = 0;

	for (; *word && n + 1 < WORD; word++)
		if (isalnum((unsigned char)*word))
			dst[n++] = (char)tolower((unsigned char)*word);
	dst[n] = '\0';
}

void
near_words(struct err *e, const char *name, const char *(*word)(unsigned index))
{
	char asked[WORD], there[WORD];
	struct near near = { .n = 0 };
	const char *w;
	unsigned i;
	size_t cost, far;

	bare(asked, name);
	far = strlen(asked) / 3 + 2;
	for (i = 0; (w = word(i)); i++) {
		bare(there, w);
		cost = text_distance(asked, there);
		if (*w && cost < far)
			consider(&near, w, cost);
	}
	if (near.n && near.cost[0] == 0)
		near.n = 1; /* an exact match */
	if (near.n)
		e->hint[0] = '\0';
	hint(&near, e);
}
