#include "imports/numpy/numpy.h"

#include <inttypes.h>
#include <string.h>

#include "core/num.h"

#define HEAD (NPY_HEADER + 16u) /* bytes of a member up to its values */
#define RELEASED 128 /* columns */

/* ---- values ---- */

static void
put_value(uint8_t *to, const uint8_t *from, unsigned element, unsigned swap)
{
	unsigned i;

	if (!swap)
		memcpy(to, from, element);
	for (i = 0; swap && i < element; i++)
		to[i] = from[i / swap * swap + swap - 1 - i % swap];
}

static void
make_swapped(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const unsigned element = (unsigned)x->more[MORE_ELEMENT], swap = (unsigned)x->more[MORE_SWAP];
	const uint8_t *p = x->p + first * element;

	for (; count > 0; count--, p += element, to += element)
		put_value(to, p, element, swap);
}

/* The offset of the first value of column j, which counts the dimensions behind the first one. */
static uint64_t
column_at(const struct tensor *t, uint64_t j, uint64_t element)
{
	const uint64_t *dims = tensor_dims(t);
	uint64_t stride = element, size = 1, at = 0;
	unsigned i, ndim = tensor_ndim(t);

	for (i = 1; i < ndim; i++)
		size *= dims[i];
	for (i = 1; i < ndim; i++) {
		stride *= dims[i - 1];
		size /= dims[i];
		at += j / size % dims[i] * stride;
	}
	return at;
}

/* Values in Fortran's order, rows first. data: the tensor. A column is in one piece in the file,
 * so the values are copied column by column. The system maps pages around each one that is read,
 * so pages are returned after some columns. */
static void
make_turned(const struct import_place *x, uint64_t first, uint64_t count, uint8_t *to)
{
	const unsigned element = (unsigned)x->more[MORE_ELEMENT], swap = (unsigned)x->more[MORE_SWAP];
	const struct tensor *t = x->data;
	const uint64_t columns = tensor_items(t) / tensor_dims(t)[0], n = num_min(count, columns);
	const uint8_t *p;
	uint64_t i, k;

	for (k = 0; k < n; k++) {
		p = x->p + column_at(t, (first + k) % columns, element) + (first + k) / columns * element;
		for (i = k; i < count; i += columns, p += element)
			put_value(to + i * element, p, element, swap);
		if (k % RELEASED == RELEASED - 1)
			map_release(x->map, x->p, (size_t)tensor_bytes(t));
	}
}

/* ---- arrays ---- */

/* The way from stored values to those of the tensor; x->p is set. */
static void
make_place(struct numpy *s, const struct npy *a, struct import_place *x)
{
	const bool turned = a->fortran && a->ndim > 1;

	s->turned += turned;
	x->more[MORE_ELEMENT] = a->element;
	x->more[MORE_SWAP] = a->swap;
	if (!turned && !a->swap)
		return;
	x->make = turned ? make_turned : make_swapped;
	x->in = turned ? 0 : a->element;
	x->out = a->element;
}

int
numpy_add(struct numpy *s, const char *name, size_t name_bytes, const struct npy *a,
          struct import_place *x, uint64_t bytes)
{
	struct import *im = &s->import;
	uint64_t need = a->element;
	unsigned i;

	if (a->ndim > TENSOR_DIMS)
		return import_fail(im, ERR_FORMAT, "has an array of %u dimensions, at most %u are read",
		                   a->ndim, TENSOR_DIMS);
	for (i = 0; i < a->ndim; i++)
		if (num_mul(need, a->dims[i], &need) < 0)
			need = UINT64_MAX;
	if (need != bytes)
		return import_fail(im, ERR_CORRUPT, "has an array %.*s of %" PRIu64 " bytes, but its "
		                   "shape needs %" PRIu64, (int)num_min(name_bytes, 100), name, bytes,
		                   need);
	make_place(s, a, x);
	if (import_tensor(im, name, name_bytes, dtype_by_name(a->name), a->ndim, a->dims, x) < 0)
		return -1;
	im->places[im->place_count - 1].data = im->plan.tensors[im->place_count - 1];
	return 0;
}

static int
read_npy(struct numpy *s)
{
	struct import *im = &s->import;
	struct import_place x = { .p = NULL };
	struct npy a;

	if (npy_read(&a, im->p, (size_t)im->n, im->source.name, im->err) < 0)
		return -1;
	x.p = im->p + a.at;
	if (a.name)
		return numpy_add(s, "array", 5, &a, &x, im->n - a.at);
	return numpy_objects(s, x.p, im->n - a.at);
}

/* ---- archives ---- */

/* The beginning of a deflated member. */
static int
inflate_head(struct numpy *s, const struct zip_entry *e, struct buf *head)
{
	struct zip_inflate *f = zip_inflate_open(&s->zip, e, s->import.err);
	const uint8_t *p;
	size_t n = 1;
	int r = 0;

	if (!f)
		return -1;
	while (r == 0 && n > 0 && head->n < HEAD && (r = zip_inflate(f, &p, &n, s->import.err)) == 0)
		buf_put(head, p, n);
	zip_inflate_close(f);
	return r == 0 && !buf_ok(head) ? err_memory(s->import.err) : r;
}

static int
add_member(struct numpy *s, size_t which)
{
	struct import *im = &s->import;
	const struct zip_entry *e = &s->zip.entries[which];
	size_t name = e->name_bytes - 4;
	struct import_place x = { .p = NULL };
	struct buf head = { 0 };
	struct npy a;
	int r = -1;

	if (e->deflated) {
		if (inflate_head(s, e, &head) < 0 ||
		    npy_read(&a, head.p ? head.p : im->p, head.n, im->source.name, im->err) < 0)
			goto end;
		x.more[MORE_FROM] = FROM_MEMBER;
		x.more[MORE_WHICH] = which;
	} else {
		if (npy_read(&a, im->p + e->offset, (size_t)e->bytes, im->source.name, im->err) < 0)
			goto end;
		x.p = im->p + e->offset + a.at;
	}
	if (!a.name) {
		import_fail(im, ERR_FORMAT, "has a member %.*s of objects, which is not read in an archive",
		            (int)num_min(e->name_bytes, 100), e->name);
		err_hint(im->err, "numpy.save writes it to a file of its own, which is read if it holds "
		         "arrays of numbers");
		goto end;
	}
	if (a.at > e->bytes)
		r = import_fail(im, ERR_CORRUPT, "has a member that ends in its header");
	else
		r = numpy_add(s, e->name, name, &a, &x, e->bytes - a.at);
	/* begin finds the offset of the values again */
end:
	buf_free(&head);
	return r;
}

static int
read_npz(struct numpy *s)
{
	struct import *im = &s->import;
	uint64_t other = 0;
	size_t i;

	if (zip_open(&s->zip, im->p, im->n, &im->whole.map, im->source.name, im->err) < 0)
		return -1;
	for (i = 0; i < s->zip.count; i++) {
		const struct zip_entry *e = &s->zip.entries[i];

		if (e->name_bytes <= 4 || memcmp(e->name + e->name_bytes - 4, ".npy", 4) != 0)
			other++;
		else if (add_member(s, i) < 0)
			return -1;
	}
	if (other)
		import_note(im, "left out: members that are not arrays: %" PRIu64, other);
	return 0;
}

/* ---- bytes that must be made first ---- */

/* Inflate a member into the spool; each member is one tensor. */
static int
inflate(struct numpy *s, struct import_place *x)
{
	const struct zip_entry *e = &s->zip.entries[x->more[MORE_WHICH]];
	struct import *im = &s->import;
	struct zip_inflate *f = zip_inflate_open(&s->zip, e, im->err);
	struct npy a;
	const uint8_t *p;
	size_t n = 1;
	int r = 0;

	if (!f)
		return -1;
	while (r == 0 && n > 0)
		if ((r = zip_inflate(f, &p, &n, im->err)) == 0 && n > 0)
			r = spool_put(&s->bytes, p, n, im->err);
	zip_inflate_close(f);
	if (r < 0 || spool_view(&s->bytes, &p, im->err) < 0 ||
	    npy_read(&a, p, (size_t)s->bytes.bytes, im->source.name, im->err) < 0)
		return -1;
	x->p = p + a.at;
	return 0;
}

/* Put the bytes that letters stand for into the spool. */
static int
encode(struct numpy *s, struct import_place *x)
{
	uint8_t piece[4096];
	size_t n, k, at = 0;
	const uint8_t *p = pickle_bytes(&s->pickle, (pickle_ref)x->more[MORE_WHICH], &n);

	while ((k = npy_letters(p, n, &at, piece, sizeof piece)) > 0)
		if (spool_put(&s->bytes, piece, k, s->import.err) < 0)
			return -1;
	return spool_view(&s->bytes, &x->p, s->import.err);
}

static int
begin(struct import *im, struct import_place *x)
{
	struct numpy *s = (struct numpy *)im;

	if (x->more[MORE_FROM] != FROM_MEMBER && x->more[MORE_FROM] != FROM_TEXT)
		return 0;
	spool_free(&s->bytes);
	s->bytes = (struct spool){ 0 };
	return x->more[MORE_FROM] == FROM_MEMBER ? inflate(s, x) : encode(s, x);
}

/* ---- the format ---- */

static int
read_file(struct import *im)
{
	struct numpy *s = (struct numpy *)im;
	bool archive = im->n >= 2 && memcmp(im->p, "PK", 2) == 0;

	if ((archive ? read_npz(s) : read_npy(s)) < 0)
		return -1;
	if (s->turned)
		import_note(im, "arrays in Fortran's order, turned to rows first: %" PRIu64, s->turned);
	if (s->passed)
		import_note(im, "left out: objects that are not arrays: %" PRIu64, s->passed);
	return import_source(im, "form", json_string(archive ? "npz" : "npy"));
}

static void
close_all(struct import *im)
{
	struct numpy *s = (struct numpy *)im;

	zip_free(&s->zip);
	pickle_free(&s->pickle);
	spool_free(&s->bytes);
}

static const struct import_kind kind = {
	.format = &format_numpy, .bytes = sizeof(struct numpy), .read = read_file, .begin = begin,
	.close = close_all,
};

static struct source *
numpy_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
           struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

/* An archive is one of NumPy if its first member is an array. */
static bool
probe(const uint8_t *head, size_t n)
{
	size_t name = n >= 30 ? (size_t)(head[26] | head[27] << 8) : 0;

	if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
		return true;
	return n >= 30 && memcmp(head, "PK\3\4", 4) == 0 && name > 4 && name <= n - 30 &&
	       memcmp(head + 30 + name - 4, ".npy", 4) == 0;
}

static bool
spools(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

static uint64_t
tensor_offset(const struct source *s, size_t i)
{
	const struct import *im = (const struct import *)s;

	return im->places[i].more[MORE_FROM] == FROM_MEMBER ? FORMAT_SCATTERED
	                                                    : import_tensor_offset(s, i);
}

static const struct format_reads reads = {
	.open = numpy_open,
	.describe = import_describe,
	.tensor_offset = tensor_offset,
	.outline = import_outline,
	.spools = spools,
};

const struct format format_numpy = {
	.name = "numpy",
	.title = "NumPy",
	.probe = probe,
	.reads = &reads,
};
