#include "model/oddity.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

void
oddities_add(struct oddities *o, enum oddity_kind kind, const char *object,
             uint64_t offset, uint64_t bytes)
{
	struct oddity new = { .kind = kind, .offset = offset, .bytes = bytes };

	if (o->found[kind]++ >= ODDITIES_KEPT)
		return;
	if (o->count == o->cap && mem_grow(&o->of, &o->cap, o->count + 1, sizeof *o->of) < 0)
		return;
	new.object = mem_text(object, strlen(object));
	if (new.object)
		o->of[o->count++] = new;
}

void
oddities_place(struct oddities *o, const char *object, uint64_t offset, uint64_t wanted)
{
	uint64_t divides = offset & (~offset + 1);

	if (divides == 0 || divides > 4096)
		divides = 4096;
	if (o->aligned == 0 || divides < o->aligned)
		o->aligned = divides;
	if (wanted && offset & (wanted - 1))
		oddities_add(o, ODD_ALIGNMENT, object, offset, divides);
}

void
oddities_padding(struct oddities *o, const char *object, uint64_t offset, const uint8_t *p,
                 size_t n)
{
	size_t i, bad = 0, first = 0;

	for (i = 0; i < n; i++)
		if (p[i] && bad++ == 0)
			first = i;
	if (bad > 0)
		oddities_add(o, ODD_PADDING, object, offset + first, bad);
}

void
oddities_free(struct oddities *o)
{
	size_t i;

	for (i = 0; i < o->count; i++)
		free(o->of[i].object);
	free(o->of);
	*o = (struct oddities){ 0 };
}
