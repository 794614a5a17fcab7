#include "arch/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/match.h"
#include "model/low_rank.h"

int
find_open(struct find *f, const struct model *plan, const struct arch *arch, enum arch_form form,
          struct err *e)
{
	*f = (struct find){ plan, model_tensors_by_name(plan, e), arch, form };
	return f->by_name ? 0 : -1;
}

void
find_close(struct find *f)
{
	free(f->by_name);
	f->by_name = NULL;
}

const char *
find_text(const char *p, size_t block, size_t expert, const char *ending, char name[FIND_NAME])
{
	size_t n = 0;

	for (; *p && n < FIND_NAME - 24; p++)
		if (*p == '#' || *p == '*')
			n += (size_t)snprintf(name + n, FIND_NAME - n, "%zu", *p == '#' ? block : expert);
		else
			name[n++] = *p;
	snprintf(name + n, FIND_NAME - n, "%s", ending);
	return name;
}

const char *
find_name(const struct find *f, enum role role, size_t block, size_t expert, const char *ending,
          char name[FIND_NAME])
{
	const char *p = arch_tensor(f->arch, f->form, role);

	*name = '\0';
	return p && *p ? find_text(p, block, expert, ending, name) : NULL;
}

size_t
find_tensor(const struct find *f, enum role role, size_t block, size_t expert, const char *ending,
            char name[FIND_NAME])
{
	char apr[MATCH_NAME];
	const char *within;
	size_t i;

	if (!find_name(f, role, block, expert, ending, name))
		return SIZE_MAX;
	i = model_find_tensor(f->plan, f->by_name, name);
	if (f->form != ARCH_FOLDER)
		return i;
	within = strchr(name, '.');
	if (i == SIZE_MAX && within && role != ROLE_OUT)
		i = model_find_tensor(f->plan, f->by_name, within + 1);
	return i == SIZE_MAX ? model_find_tensor(f->plan, f->by_name, match_apr(name, apr)) : i;
}

int
find_missing(const struct model *plan, const char *file, const char *name, struct err *e)
{
	err_set(e, ERR_CORRUPT, file, "tensor %s is missing", name);
	return model_find(plan, LOWRANK_KEY)
	           ? err_hint(e, "apr-lowrank merge multiplies factors of low rank") : -1;
}
