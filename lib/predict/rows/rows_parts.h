/* rows_parts: what the files of rows.h share. */
#ifndef PREDICT_ROWS_PARTS_H
#define PREDICT_ROWS_PARTS_H

#include "predict/rows/rows.h"

struct field {
	const char *p;
	size_t n;
	bool quoted;
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

/* The value of a feature: a number, NaN if it is missing, or the number of a text, if any text may
 * stand there of the pool. False if it is none of
 * them. */
bool rows_value(const struct rows *r, size_t feature, struct field x, struct buf *pool, double *v);

/* Whether a feature is a text; false for what is not a feature. */
bool rows_is_text(const struct rows *r, size_t feature);

/* The feature of this name, or ROWS_UNUSED. */
uint32_t rows_find_name(const struct rows *r, const char *text, size_t n);

/* rows_read for JSON. */
int rows_json_read(const struct rows *r, const char *line, size_t n, uint64_t number, double *row,
                   bool *missing, struct buf *pool, struct err *e);

/* Puts the text of a field into a pool (step.h). Its number there; -1 if it is not UTF-8. */
double rows_put_text(struct buf *pool, struct field x);

/* rows_begin for a model of texts. */
int rows_begin_texts(struct rows *r, int header, struct err *e);

#endif
