/* schema: names of tensors, and the names that they become.
 *
 * A row is a pair of names. In a template, "#" stands for a number, such as that of a block;
 * so does "{N}", with any capital letter, for names with several numbers. The n-th "#" of the
 * new name is the n-th of the old one; "{N}" is the number that has this letter. All rows
 * apply at once, so two names may be exchanged.
 *
 * A schema file is a JSON object with the members
 *     1. architecture  text, optional: the architecture that the names belong to
 *     2. tensors       array of objects, each with the members
 *         a. from      a name, or an array of names that mean the same tensor
 *         b. to        the new name; without it, the name stays
 *         c. required  true or false (the default): a model must have the tensor
 *         d. mean, std arrays of two numbers, optional: the smallest and largest value that
 *                      the statistic may have. They are checked, and not used here.
 *         e. note      text, optional, not used
 * A map is a JSON object whose members are old names, with new names as values; it has no
 * templates.
 */
#ifndef ADAPT_SCHEMA_H
#define ADAPT_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"
#include "core/buf.h"
#include "core/err.h"

#define SCHEMA_NUMBERS 6           /* the most numbers in a name that a template may match */
#define SCHEMA_BYTES (64u << 20)   /* the largest file */

struct schema_row {
	char *from, *name; /* as given: the old name and the new one */
	char *key;       /* from, with the byte SCHEMA_NUMBER for each number */
	char *to;        /* name, with bytes 1 to SCHEMA_NUMBERS for the numbers of from */
	bool required;   /* a tensor with the new name must exist: in each block, if the name
	                  * has one number */
	size_t rank;     /* its number among the rows, as they were added */
};
#define SCHEMA_NUMBER '\1'

/* All zero is empty. */
struct schema {
	char *architecture; /* or NULL */
	bool literal;       /* a map: names are not templates */
	bool first_wins;    /* of rows with the same old name, the first is used */
	struct schema_row *rows; /* sorted by key after schema_finish */
	size_t count, cap;
};

/* Append a row. ERR_USAGE if a template is not valid. 0 or -1. */
int schema_add(struct schema *s, const char *from, const char *to, bool required,
               struct err *e);

/* Sort the rows, and add a row for each new name that is not an old one, which keeps it.
 * ERR_USAGE if two rows have the same old name and different new ones. 0 or -1. */
int schema_finish(struct schema *s, struct err *e);

/* Read the JSON text of a map or a schema file, and finish. where: the file, for messages.
 * ERR_CORRUPT if it is not one. 0 or -1. */
int schema_read_map(struct schema *s, const void *text, size_t n, const char *where,
                    struct err *e);
int schema_read(struct schema *s, const void *text, size_t n, const char *where,
                struct err *e);

/* Append the rows of an architecture: from its names in all forms, with and without the prefix
 * of its folders, and as ONNX spells them ("/encoder/conv1/weight"), to those of one form; and
 * finish. Tensors that have no counterpart of their own in that form, such as one expert of
 * many, have no rows. 0 or -1. */
int schema_arch(struct schema *s, const struct arch *a, enum arch_form to, struct err *e);

/* The row of a name, or NULL; the new name is then appended to `to` (not terminated). Among
 * several rows, the one with the fewest numbers wins. */
struct schema_row *schema_find(struct schema *s, const char *name, struct buf *to);

void schema_free(struct schema *s);

#endif
