#include "cli/lora/adapters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool.h"
#include "core/mem.h"
#include "core/text.h"

static int
take(struct adapter_name *a, const char *word, struct err *e)
{
	const char *mark = strrchr(word, '=');
	double scale = 1;

	if (!mark || access(word, F_OK) == 0)
		mark = word + strlen(word);
	else if (text_decimal(mark + 1 + (mark[1] == '-'), 0, 1e6, &scale) < 0)
		return tool_misused(e, "%.80s: the scale is not a number of at most 1000000", word);
	if (mark == word)
		return tool_misused(e, "an adapter has no name: '%.80s'", word);
	a->scale = *mark && mark[1] == '-' ? -(float)scale : (float)scale;
	a->path = mem_array((size_t)(mark - word) + 1, 1);
	if (!a->path)
		return err_memory(e);
	memcpy(a->path, word, (size_t)(mark - word));
	return 0;
}

struct adapter_name *
adapters_take(const char *const *words, size_t n, struct err *e)
{
	struct adapter_name *names = mem_array(n, sizeof *names);
	size_t i;

	if (!names)
		err_memory(e);
	for (i = 0; names && i < n; i++)
		if (take(&names[i], words[i], e) < 0) {
			adapters_free(names, n);
			return NULL;
		}
	return names;
}

void
adapters_free(struct adapter_name *names, size_t n)
{
	size_t i;

	for (i = 0; names && i < n; i++)
		free(names[i].path);
	free(names);
}
