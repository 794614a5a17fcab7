/* rows: rows of a table, as text, turned into the features of a model.
 *
 *     csv, tsv   values between commas or tabs, maybe in double quotes, with or without a header
 *     space      the same between spaces
 *     jsonl      a JSON array or object on each line
 *     libsvm     LABEL INDEX:VALUE INDEX:VALUE ... (LABEL may be missing)
 *     text       a line is a text, for models that read texts
 *     npy        an array of NumPy; a row is what its first dimension counts
 *
 * An empty value, NA, N/A, NaN, null and ? are missing values (NaN). The columns of a header are
 * found by the names of the features, if the model has names and the header has one of them; else
 * the order decides. Each line is read by itself, so lines can be read by several threads.
 */
#ifndef PREDICT_ROWS_H
#define PREDICT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "predict/predict.h"
#include "wire/npy.h"

enum rows_form { ROWS_UNKNOWN, ROWS_CSV, ROWS_TSV, ROWS_SPACE, ROWS_JSON, ROWS_LIBSVM, ROWS_TEXT,
                 ROWS_NPY };

#define ROWS_COLUMNS (FOREST_FEATURES + 65536)
#define ROWS_UNUSED UINT32_MAX

struct rows {
	const struct predictor *m;
	enum rows_form form;
	const char *where;      /* for messages */
	bool header;            /* the first line is a header */
	bool one_based;         /* libsvm: the first index is 1 */
	bool slack;             /* ROWS_NUMBERS_SLACK bytes can be read behind each line */
	size_t skip;            /* columns at the beginning of a line that are not features */
	uint32_t *column;       /* for each column after skip: the feature, or ROWS_UNUSED */
	size_t columns;         /* 0: one for each feature, in order */
	struct rows_name *names; /* the model's, sorted, for JSON objects; NULL: none */
	const struct rows_numbers *numbers; /* NULL: a feature is a text */
	struct npy npy;         /* the array, of count rows of this many bytes */
	uint64_t count, bytes;
};

struct rows_name {
	const char *text;
	uint32_t feature;
};

/* The form by its name ("csv"), or ROWS_UNKNOWN; names by number, NULL past the last. */
enum rows_form rows_form_by_name(const char *name);
const char *rows_form_name(enum rows_form form);

/* Looks at the first line, without its end: finds the form if it is unknown, whether the line is a
 * header (header: -1 by its content, 0 no, 1 yes), and where the columns of a header are. m,
 * where, skip and one_based are set by the caller. 0, or -1 with e filled. */
int rows_begin(struct rows *r, const char *line, size_t n, int header, struct err *e);
void rows_free(struct rows *r);

/* Reads a line without its end into the features of a row. number: of the line, from 1.
 * *missing is set if a value is missing, and left otherwise. pool: takes the texts of features that are any
 * text (step.h). 0, or -1 with e filled. */
int rows_read(const struct rows *r, const char *line, size_t n, uint64_t number, double *row,
              bool *missing, struct buf *pool, struct err *e);

/* Reads a line of a model of texts: text gets its text. csv, tsv: exactly one column behind those
 * that are skipped; jsonl: a text, or an object with the member "text". 0, or -1 with e filled. */
int rows_read_text(const struct rows *r, const char *line, size_t n, uint64_t number,
                   struct buf *text, struct err *e);

/* Arrays of NumPy: whether n bytes are the beginning of one; the bytes in front of its values, as far as
 * the first n bytes show it. */
bool rows_npy_probe(const uint8_t *p, size_t n);
size_t rows_npy_bytes(const uint8_t *p, size_t n);

/* Reads the header, and sets form, npy, count and bytes. 0, or -1 with e filled. */
int rows_npy_begin(struct rows *r, const uint8_t *p, size_t n, struct err *e);

/* The values of a row. p: its first value; the bytes of the row follow, or for Fortran's order the
 * bytes of the array do. */
void rows_npy_read(const struct rows *r, const uint8_t *p, double *row, bool *missing);

#endif
