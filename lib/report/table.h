/* table: the columns of a list of tensors. Each is as wide as its longest cell, within
 * bounds, so that lists of short names look alike and one long name does not push the rest
 * off a line. Widths follow from the plan alone, never from the terminal.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "core/buf.h"
#include "model/model.h"

#define TABLE_NAME 32      /* columns of a name, at least */
#define TABLE_NAME_MOST 96 /* and at most: a longer name moves its own line only */

/* Columns on a terminal: wide characters have two. */
struct table {
	int name, type, shape;
};

/* The widths for all tensors of a plan. */
struct table table_of(const struct model *m);

/* The width that a column needs which has width so far, at most most, for this cell. */
int table_widen(int width, int most, const char *cell);

/* A name as text_quote writes it, with blanks up to width. to: emptied first; the text
 * is to's, or "" where memory ran out. */
const char *table_name(struct buf *to, int width, const char *name);

#endif
