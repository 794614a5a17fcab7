/* values_out: writes the values of one tensor, piece by piece, to an output that the caller has
 * opened: their bytes, single precision, or text. Memory is constant.
 */
#ifndef REPORT_VALUES_OUT_H
#define REPORT_VALUES_OUT_H

#include "core/out.h"
#include "model/tensor.h"
#include "report/slice.h"

enum values_form {
	VALUES_BYTES,  /* as stored */
	VALUES_SINGLE, /* decoded, little-endian binary32 */
	VALUES_LINES   /* decoded, one row per line, an empty line between matrices */
};

struct values_out {
	enum values_form form;
	const struct tensor *t;
	struct slice slice;   /* VALUES_LINES: the selected part; fits t */
	struct out *out;
	uint8_t head[DTYPE_HEAD]; /* head of the tensor, if its type has one */
	size_t head_bytes;    /* bytes of the head so far */
	uint8_t *held;        /* bytes of an incomplete chunk */
	size_t held_bytes, chunk;
	uint64_t at;          /* values seen */
	uint64_t rounded;     /* VALUES_SINGLE: number of values rounded */
	bool any;             /* VALUES_LINES: a line was written */
};

/* The caller sets the first four members. Except for VALUES_BYTES, the type of t must
 * have a decoder. Each function returns 0, or -1 with e filled or with the error in the
 * output. */
int values_out_begin(struct values_out *v, struct err *e);
int values_out_add(struct values_out *v, const uint8_t *p, size_t n, struct err *e);
int values_out_end(struct values_out *v, struct err *e);
void values_out_free(struct values_out *v);

#endif
