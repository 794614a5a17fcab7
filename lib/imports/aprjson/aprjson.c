#include "imports/aprjson/aprjson.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/json_items.h"
#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "model/layout.h"
#include "model/value_text.h"

#define HEAD 8   /* magic and size of the metadata */
#define MINIMUM 20
#define PIECE (1u << 20) /* bytes between two releases of pages */

/* ---- keys ---- */

/* The type of a value; what value_guess does not name stays JSON. Real numbers keep all digits. */
static struct value_type
type_of(const char *text, size_t n)
{
	struct value_type t;

	if (value_guess(text, n, &t) < 0)
		return (struct value_type){ 0, VALUE_JSON };
	if (t.leaf == VALUE_F32)
		t.leaf = VALUE_F64;
	return t;
}

/* Add a member; name is a JSON string with its quotes. */
static int
add_key(struct import *im, const struct json_part *name, const struct json_part *text)
{
	const struct value_type t = type_of(text->p, text->n);
	json_t *key = json_parse_any(name->p, name->n, ERR_CORRUPT, im->source.name, im->err);
	struct buf wire = { 0 };
	struct err e = ERR_INIT;
	int r;

	if (!key)
		return -1;
	if (value_parse(t, text->p, text->n, true, json_string_value(key), &wire, &e) == 0)
		r = import_value(im, json_string_value(key), t, &wire);
	else /* such as an integer beyond 64 bits in a list */
		r = err_set(im->err, e.code == ERR_USAGE ? ERR_CORRUPT : e.code, json_string_value(key), "%s",
		            e.fact);
	buf_free(&wire);
	json_decref(key);
	return r;
}

static int
read_metadata(struct import *im, const uint8_t *p, size_t n)
{
	struct json_part text = json_trim((const char *)p, n), name, item;
	struct json_items w;
	json_t *proof;

	if (text.n == 0)
		return 0;
	proof = json_parse_wide(p, n, ERR_CORRUPT, im->source.name, im->err);
	if (!proof)
		return -1;
	json_decref(proof);
	json_items_begin(&w, '{', text.p, text.n);
	while (json_items_next(&w, &name, &item) > 0)
		if (add_key(im, &name, &item) < 0)
			return -1;
	return 0;
}

/* ---- tensors ---- */

/* An entry of the index, whose values lie in the n bytes at p. */
static int
add_tensor(struct import *im, const json_t *entry, const uint8_t *p, uint64_t n, struct extent *x)
{
	const json_t *shape = json_object_get(entry, "shape");
	const struct dtype *type;
	const struct tensor *added;
	struct import_place place = { .p = p };
	uint64_t dims[TENSOR_DIMS], size;
	const char *name, *dtype;
	size_t i, ndim = json_array_size(shape);

	if (json_member_text(entry, "name", &name) < 0 ||
	    json_member_text(entry, "dtype", &dtype) < 0 || !json_is_array(shape) ||
	    json_member_u64(entry, "offset", &x->offset) < 0 ||
	    json_member_u64(entry, "size", &size) < 0)
		return import_fail(im, ERR_CORRUPT, "an entry of the index lacks a member, or it has "
		                   "another type");
	if (ndim > TENSOR_DIMS)
		return err_set(im->err, ERR_CORRUPT, name, "has %zu dimensions, at most %d are read",
		               ndim, TENSOR_DIMS);
	for (i = 0; i < ndim; i++)
		if (json_value_u64(json_array_get(shape, i), &dims[i]) < 0)
			return err_set(im->err, ERR_CORRUPT, name, "has a dimension that is not a number");
	type = dtype_by_name(dtype);
	if (!type)
		return err_set(im->err, ERR_FORMAT, name, "is of type %.40s, which is not known", dtype);
	if (size > n || x->offset > n - size)
		return err_set(im->err, ERR_CORRUPT, name, "lies outside the values: offset %" PRIu64
		               ", %" PRIu64 " of %" PRIu64 " bytes", x->offset, size, n);
	place.p += x->offset;
	if (import_tensor(im, name, strlen(name), type, (unsigned)ndim, dims, &place) < 0)
		return -1;
	added = im->plan.tensors[im->plan.tensor_count - 1];
	x->name = tensor_name(added);
	x->bytes = tensor_bytes(added);
	if (x->bytes != size)
		return err_set(im->err, ERR_CORRUPT, name, "has %" PRIu64 " bytes of values, but its shape "
		               "needs %" PRIu64, size, x->bytes);
	return 0;
}

/* Read the index; the values are the n bytes at p. */
static int
read_index(struct import *im, const json_t *index, uint32_t count, const uint8_t *p, uint64_t n)
{
	struct extent *extents;
	uint64_t end = 0;
	size_t i;
	int r = 0;

	if (!json_is_array(index))
		return import_fail(im, ERR_CORRUPT, "has an index that is not a list");
	if (json_array_size(index) != count)
		return import_fail(im, ERR_CORRUPT, "has an index of %zu tensors, but its head says %"
		                   PRIu32, json_array_size(index), count);
	extents = mem_array(count ? count : 1, sizeof *extents);
	if (!extents)
		return err_memory(im->err);
	for (i = 0; i < count && r == 0; i++) {
		extents[i].index = i;
		r = add_tensor(im, json_array_get(index, i), p, n, &extents[i]);
	}
	if (r == 0)
		r = layout_prove(extents, count, 1, n, &end, im->err);
	free(extents);
	if (r == 0 && end != n)
		r = import_fail(im, ERR_CORRUPT, "has %" PRIu64 " bytes behind its tensors", n - end);
	return r;
}

/* ---- the format ---- */

static int
check_crc(struct import *im)
{
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	const uint64_t end = im->n - 4;
	const uint32_t want = le32(im->p + end);
	uint32_t got = 0;
	uint64_t at, n;

	for (at = 0; at < end; at += n) {
		n = num_min(end - at, PIECE);
		got = crc32_add(got, im->p + at, (size_t)n);
		whole_release(&im->whole, im->p + at, n);
	}
	if (got != want)
		return import_fail(im, ERR_CHECKSUM, "the CRC-32 at its end is %08" PRIx32 ", that of its "
		                   "bytes %08" PRIx32, want, got);
#else
	(void)im;
#endif
	return 0;
}

static int
read_file(struct import *im)
{
	uint64_t bytes, left;
	const uint8_t *at;
	json_t *index;
	int r;

	if (im->n < MINIMUM || memcmp(im->p, "APR1", 4) != 0)
		return import_fail(im, ERR_CORRUPT, "ends inside the head of an APR1 file");
	bytes = le32(im->p + 4);
	if (bytes > im->n - MINIMUM)
		return import_fail(im, ERR_CORRUPT, "byte 4: metadata of %" PRIu64 " bytes in a file of %"
		                   PRIu64, bytes, im->n);
	at = im->p + HEAD + bytes;
	left = im->n - HEAD - bytes - 12; /* behind the two numbers, before the CRC-32 */
	if (le32(at + 4) > left)
		return import_fail(im, ERR_CORRUPT, "byte %" PRIu64 ": an index of %" PRIu32 " bytes in a "
		                   "file of %" PRIu64, HEAD + bytes + 4, le32(at + 4), im->n);
	if (check_crc(im) < 0 || read_metadata(im, im->p + HEAD, (size_t)bytes) < 0)
		return -1;
	index = json_parse_any(at + 8, le32(at + 4), ERR_CORRUPT, im->source.name, im->err);
	if (!index)
		return -1;
	r = read_index(im, index, le32(at), at + 8 + le32(at + 4), left - le32(at + 4));
	json_decref(index);
	return r;
}

static const struct import_kind kind = {
	.format = &format_aprjson, .bytes = sizeof(struct import), .read = read_file,
};

static struct source *
aprjson_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
             struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

static json_t *
describe(struct source *s, struct err *e)
{
	json_t *o = import_describe(s, e);

	if (o && json_object_set_new(o, "checksum", json_true()) == 0 &&
	    json_object_set_new(o, "checksum_verified", json_true()) == 0)
		return o;
	json_decref(o);
	if (e->code == ERR_NONE)
		err_memory(e);
	return NULL;
}

static bool
probe(const uint8_t *head, size_t n)
{
	return n > HEAD && memcmp(head, "APR1", 4) == 0 && le32(head + 4) >= 2 && head[HEAD] == '{';
}

static const struct format_reads reads = {
	.open = aprjson_open,
	.describe = describe,
	.tensor_offset = import_tensor_offset,
};

const struct format format_aprjson = {
	.name = "apr1-json",
	.title = "APR1 with a JSON layout",
	.probe = probe,
	.reads = &reads,
};
