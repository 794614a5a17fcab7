#include "core/near.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

void
near_consider(struct near *near, const char *name, size_t cost)
{
	size_t i = near->n;

	if (near->n < NEAR_NAMES)
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

void
near_hint(const struct near *near, struct err *e)
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
			near_consider(&near, w, cost);
	}
	if (near.n && near.cost[0] == 0)
		near.n = 1; /* an exact match */
	if (near.n)
		e->hint[0] = '\0';
	near_hint(&near, e);
}
