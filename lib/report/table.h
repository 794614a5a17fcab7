/* table: the columns of a list of tensors. Each is as wide as its longest cell, within bounds,
 * so that one long name does not move all columns. Widths depend only on the plan, never on
 * the terminal.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "core/buf.h"
#include "model/model.h"

#define TABLE_NAME 32      /* minimum width of a name */
#define TABLE_NAME_MOST 96 /* maximum; a longer name moves only its own line */

/* Widths in columns of a terminal: a wide character takes two. */
struct table {
	int name, type, shape;
};

/* The widths for all tensors of a plan. */
struct table table_of(const struct model *m);

/* Returns the new width of a column for this cell, at most `most`. */
int table_widen(int width, int most, const char *cell);

/* Returns the escaped name, padded with spaces to width. to: emptied first; it owns the
 * text, which is "" if memory runs out. */
const char *table_name(struct buf *to, int width, const char *name);

#endif
