#include "infer/cache_type.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = { "f16", "f32", "q8_0" };

const char *
cache_type_name(enum cache_type type)
{
	return names[type];
}

int
cache_type_by_name(const char *name, enum cache_type *type)
{
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name)) {
			*type = (enum cache_type)i;
			return 0;
		}
	return -1;
}
