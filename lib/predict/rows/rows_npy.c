/* Rows of an array of NumPy (wire/npy.h). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/half.h"
#include "core/le.h"
#include "core/num.h"
#include "predict/rows/rows.h"

#define MAGIC "\x93NUMPY"
#define FRONT 12 /* magic, version and the bytes of a header, at most */

bool
rows_npy_probe(const uint8_t *p, size_t n)
{
	return n >= sizeof MAGIC - 1 && memcmp(p, MAGIC, sizeof MAGIC - 1) == 0;
}

size_t
rows_npy_bytes(const uint8_t *p, size_t n)
{
	size_t bytes;

	if (n < FRONT)
		return FRONT;
	bytes = p[6] < 2 ? 10 + (size_t)le16(p + 8) : FRONT + (size_t)le32(p + 8);
	return bytes < NPY_HEADER ? bytes : NPY_HEADER;
}

/* The values of a row: all dimensions behind the first one. */
static int
measure(struct rows *r, uint64_t *values, struct err *e)
{
	const struct npy *a = &r->npy;
	uint64_t all;
	unsigned i;

	*values = 1;
	for (i = 1; i < a->ndim; i++)
		if (num_mul(*values, a->dims[i], values) < 0)
			break;
	if (i < a->ndim || num_mul(*values, a->element, &r->bytes) < 0 ||
	    num_mul(r->bytes, a->dims[0], &all) < 0 || all > SIZE_MAX)
		return err_set(e, ERR_CORRUPT, r->where, "the array has too many values");
	return 0;
}

int
rows_npy_begin(struct rows *r, const uint8_t *p, size_t n, struct err *e)
{
	struct npy *a = &r->npy;
	uint64_t values, all = r->m->features + r->skip;

	if (r->m->texts)
		return err_set(e, ERR_USAGE, NULL, "the model reads texts: rows are text, csv, tsv or jsonl");
	if (r->m->words)
		return err_set(e, ERR_USAGE, NULL, "the model has features that are texts: rows are csv, tsv or jsonl");
	if (npy_read(a, p, n, r->where, e) < 0)
		return -1;
	if (!a->name || a->name[0] == 'C')
		return err_set(e, ERR_FORMAT, r->where, "the values of the array are %s",
		               a->name ? "complex numbers" : "objects");
	if (a->ndim == 0)
		return err_set(e, ERR_CORRUPT, r->where, "the array is one value, without rows");
	if (a->fortran && a->ndim > 2)
		return err_set(e, ERR_FORMAT, r->where, "an array of %u dimensions in Fortran's order is not read",
		               a->ndim);
	if (measure(r, &values, e) < 0)
		return -1;
	if (values != all || all == 0)
		return err_set(e, ERR_CORRUPT, r->where, "the rows of the array have %" PRIu64 " values, and the "
		               "model takes %" PRIu64, values, all);
	r->form = ROWS_NPY;
	r->count = a->dims[0];
	a->fortran &= a->ndim == 2;
	return 0;
}

/* The bits of a value, from the order of the file. */
static uint64_t
bits_at(const struct npy *a, const uint8_t *p)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < a->element; i++)
		v |= (uint64_t)p[a->swap ? a->element - 1 - i : i] << 8 * i;
	return v;
}

static double
value_at(const struct npy *a, const uint8_t *p)
{
	uint64_t v = bits_at(a, p);
	union { uint32_t u; float f; } single = { .u = (uint32_t)v };
	union { uint64_t u; double d; } full = { .u = v };
	unsigned unused = 64 - 8 * a->element;

	if (a->name[0] == 'I')
		return (double)((int64_t)(v << unused) >> unused);
	if (a->name[0] != 'F')
		return a->name[0] == 'B' ? v != 0 : (double)v;
	return a->element == 2 ? (double)half_f16_f32((uint16_t)v)
	       : a->element == 4 ? (double)single.f : full.d;
}

/* The usual kind: floats or doubles, one behind the other in the order of this machine. */
static bool
copy_plain(const struct npy *a, const uint8_t *p, size_t n, double *row)
{
	union { uint32_t u; float f; } v;
	size_t i;

	if (a->swap || a->fortran || a->name[0] != 'F' || a->element != 4)
		return false;
	for (i = 0; i < n; i++) {
		v.u = le32(p + 4 * i);
		row[i] = (double)v.f;
	}
	return true;
}

void
rows_npy_read(const struct rows *r, const uint8_t *p, double *row, bool *missing)
{
	const struct npy *a = &r->npy;
	size_t i, n = r->m->features, step = a->fortran ? (size_t)(r->count * a->element) : a->element;

	p += r->skip * step;
	if (!copy_plain(a, p, n, row))
		for (i = 0; i < n; i++)
			row[i] = value_at(a, p + i * step);
	for (i = 0; i < n; i++)
		*missing |= isnan(row[i]);
}
