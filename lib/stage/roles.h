/* roles: what the tensors of a model are for, if it does not have the names of GGUF. The
 * architecture table (arch/arch.h) says what GGUF calls them; so the rules of a mixture and the
 * entries of an importance matrix fit a folder as they fit its GGUF file.
 */
#ifndef STAGE_ROLES_H
#define STAGE_ROLES_H

#include <stdbool.h>

#include "core/err.h"
#include "model/model.h"
#include "quant/mixture.h"

struct roles {
	struct mixture_model model; /* with names, for all tensors of a plan */
	struct mixture_name *names; /* those of model */
	size_t count;
};

/* Find the roles of the tensors of m, and facts about it from their shapes. *found is false for
 * a model with the names of GGUF, and for one whose architecture is not in the table: both go
 * by their own names. 0, or -1 with ERR_MEMORY; roles_free either way. */
int roles_find(struct roles *r, const struct model *m, bool *found, struct err *e);
void roles_free(struct roles *r);

#endif
