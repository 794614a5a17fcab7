#include "lora/name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/text.h"

#define MOST 1e6 /* the largest scale */

static int
take(struct lora_name *a, const char *word, struct err *e)
{
	const char *mark = strrchr(word, '=');
	double scale = 1;

	if (!mark || access(word, F_OK) == 0)
		mark = word + strlen(word);
	else if (text_decimal(mark + 1 + (mark[1] == '-'), 0, MOST, &scale) < 0)
		return err_set(e, ERR_USAGE, word, "the scale is not a number of at most 1000000");
	if (mark == word)
		return err_set(e, ERR_USAGE, NULL, "an adapter has an empty name");
	a->scale = *mark && mark[1] == '-' ? -(float)scale : (float)scale;
	a->path = mem_array((size_t)(mark - word) + 1, 1);
	if (!a->path)
		return err_memory(e);
	memcpy(a->path, word, (size_t)(mark - word));
	return 0;
}

struct lora_name *
lora_names(const char *const *words, size_t n, struct err *e)
{
	struct lora_name *names = mem_array(n, sizeof *names);
	size_t i;

	if (!names)
		err_memory(e);
	for (i = 0; names && i < n; i++)
		if (take(&names[i], words[i], e) < 0) {
			lora_names_free(names, n);
			return NULL;
		}
	return names;
}

void
lora_names_free(struct lora_name *names, size_t n)
{
	size_t i;

	for (i = 0; names && i < n; i++)
		free(names[i].path);
	free(names);
}
