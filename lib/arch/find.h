/* find: the tensors of a plan by what they do in the architecture (arch/arch.h). */
#ifndef ARCH_FIND_H
#define ARCH_FIND_H

#include <stddef.h>

#include "arch/arch.h"
#include "core/err.h"
#include "model/model.h"

#define FIND_NAME 128 /* size of a name */

struct find {
	const struct model *plan;
	size_t *by_name;          /* model_tensors_by_name of it */
	const struct arch *arch;
	enum arch_form form;
};

/* The plan outlives f. 0 or -1; find_close in any case. */
int find_open(struct find *f, const struct model *plan, const struct arch *arch, enum arch_form form,
              struct err *e);
void find_close(struct find *f);

/* The name of a pattern, with numbers for "#" (the block) and "*" (the expert), and an ending. Returns
 * name. */
const char *find_text(const char *pattern, size_t block, size_t expert, const char *ending,
                      char name[FIND_NAME]);

/* The name of a role in the form of the model; NULL and an empty name if it has none. */
const char *find_name(const struct find *f, enum role role, size_t block, size_t expert,
                      const char *ending, char name[FIND_NAME]);

/* The tensor of a role, or SIZE_MAX. Names in a folder may lack their first part, the name of the
 * model, or be those of .apr files. */
size_t find_tensor(const struct find *f, enum role role, size_t block, size_t expert,
                   const char *ending, char name[FIND_NAME]);

/* A tensor of that name is missing in a file. -1 with e filled. */
int find_missing(const struct model *plan, const char *file, const char *name, struct err *e);

#endif
