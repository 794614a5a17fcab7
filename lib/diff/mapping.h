/* mapping: a file with the names that tensors of one model have in the other, for models whose
 * architecture is not known: a JSON object {"OLD": "NEW"}, or a schema with templates
 * (adapt/names/schema.h). */
#ifndef DIFF_MAPPING_H
#define DIFF_MAPPING_H

#include <stddef.h>

#include "adapt/names/rename.h"
#include "core/err.h"
#include "model/model.h"

/* All zero: each tensor keeps its name. */
struct diff_mapping {
	struct renames renames;
	char **names[2];        /* for diff_options: of A or of B; or NULL */
};

/* Read the n bytes of a mapping, and find the new names of the tensors of A, or of B if none of A
 * has an old name. where: the file, for messages. ERR_CORRUPT if it is not a mapping, ERR_USAGE if
 * neither model has a name of it. 0 or -1. */
int diff_mapping_read(struct diff_mapping *m, const void *text, size_t n, const char *where,
                      const struct model *a, const struct model *b, struct err *e);

/* The same of a file. */
int diff_mapping_open(struct diff_mapping *m, const char *path, const struct model *a,
                      const struct model *b, struct err *e);

void diff_mapping_free(struct diff_mapping *m);

#endif
