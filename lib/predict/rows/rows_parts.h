/* rows_parts: what the files of rows.h share. */
#ifndef PREDICT_ROWS_PARTS_H
#define PREDICT_ROWS_PARTS_H

#include "predict/rows/rows.h"

struct field {
	const char *p;
	size_t n;
};

struct fields {
	const char *p, *end; /* p is NULL past the last field */
	char between;
};

/* The fields of a line of a table, without its end. */
struct fields rows_fields(const struct rows *r, const char *line, size_t n);

/* The next field: 1; 0 past the last; -1 for quotes that do not end. A doubled quote inside of
 * quotes stays doubled. */
int rows_field(struct fields *f, struct field *x);

/* rows_begin for a model of texts. */
int rows_begin_texts(struct rows *r, int header, struct err *e);

#endif
