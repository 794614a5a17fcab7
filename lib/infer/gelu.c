#include "infer/gelu.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	enum act act;
} rows[] = {
	[GELU_TABLE] = { "table", ACT_GELU_HALF },
	[GELU_TANH] = { "tanh", ACT_GELU_TANH },
	[GELU_ERF] = { "erf", ACT_GELU_ERF },
};
#define COUNT (sizeof rows / sizeof *rows)

const char *
gelu_name(enum gelu gelu)
{
	return (size_t)gelu < COUNT ? rows[gelu].name : NULL;
}

int
gelu_by_name(const char *name, enum gelu *gelu)
{
	size_t i;

	for (i = GELU_MODEL + 1; i < COUNT; i++)
		if (!strcmp(rows[i].name, name)) {
			*gelu = (enum gelu)i;
			return 0;
		}
	return -1;
}

bool
gelu_use(enum gelu gelu, enum act *act)
{
	size_t i;

	if (gelu == GELU_MODEL)
		return true;
	for (i = GELU_MODEL + 1; i < COUNT; i++)
		if (rows[i].act == *act) {
			*act = rows[gelu].act;
			return true;
		}
	return false;
}
