#include "arch/form.h"

#include <string.h>

#include "arch/guess.h"

bool
form_of(const struct model *m, const char *arch, const struct arch **row, enum arch_form *form)
{
	struct err ignored = ERR_INIT;

	*row = arch_find(arch, m, "", &ignored);
	*form = ARCH_GGUF;
	if (!*row)
		return false;
	if (!model_find(m, "general.architecture"))
		*form = arch_form_of(*row, m);
	return true;
}

static bool
has_file(const struct model *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->blob_count; i++)
		if (strcmp(m->blobs[i].name, name) == 0)
			return true;
	return false;
}

bool
form_between(const struct model *a, const struct model *b, const char *arch,
             struct form_change *to)
{
	const struct model *m[2] = { a, b };
	const struct arch *row[2];
	enum arch_form form[2];
	size_t gguf, other;

	if (!form_of(a, arch, &row[0], &form[0]) || !form_of(b, arch, &row[1], &form[1]) ||
	    form[0] == form[1])
		return false;
	if (form[0] != ARCH_GGUF && form[1] != ARCH_GGUF) {
		*to = (struct form_change){ form[1] == ARCH_APR, ARCH_FOLDER };
		return true;
	}
	gguf = form[1] == ARCH_GGUF;
	other = 1 - gguf;
	/* Only a model with its hyper-parameters can become GGUF. */
	if (form[other] == ARCH_APR || has_file(m[other], "config.json"))
		*to = (struct form_change){ other, ARCH_GGUF };
	else
		*to = (struct form_change){ gguf, form[other] };
	return true;
}
