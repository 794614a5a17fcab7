#include "imports/keras/keras.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/crc32.h"
#include "core/mem.h"
#include "core/num.h"
#include "imports/torch/torch.h"

#define STEP (1u << 22) /* bytes whose CRC-32 is computed before their pages are returned */

/* ---- types ---- */

/* The type of the plan's tensor, or NULL. */
static const char *
type_of(const struct hdf5_type *t)
{
	static const struct { uint8_t class, bytes, exponent, mantissa; uint32_t bias;
		const char *sign, *plain; } rows[] = {
		{ HDF5_INTEGER, 1, 0, 0, 0, "I8", "U8" }, { HDF5_INTEGER, 2, 0, 0, 0, "I16", "U16" },
		{ HDF5_INTEGER, 4, 0, 0, 0, "I32", "U32" }, { HDF5_INTEGER, 8, 0, 0, 0, "I64", "U64" },
		{ HDF5_FLOAT, 2, 5, 10, 15, "F16", "F16" }, { HDF5_FLOAT, 2, 8, 7, 127, "BF16", "BF16" },
		{ HDF5_FLOAT, 4, 8, 23, 127, "F32", "F32" },
		{ HDF5_FLOAT, 8, 11, 52, 1023, "F64", "F64" },
		{ HDF5_FLOAT, 1, 4, 3, 7, "F8_E4M3", "F8_E4M3" },
		{ HDF5_FLOAT, 1, 5, 2, 15, "F8_E5M2", "F8_E5M2" },
		{ HDF5_BOOL, 1, 0, 0, 0, "BOOL", "BOOL" },
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].class == t->class && rows[i].bytes == t->bytes &&
		    rows[i].exponent == t->exponent && rows[i].mantissa == t->mantissa &&
		    rows[i].bias == t->bias)
			return t->sign ? rows[i].sign : rows[i].plain;
	return NULL;
}

/* h5py has no BF16: Keras writes opaque values of two bytes and an attribute. */
static int
find_type(struct keras *x, const struct hdf5_object *o, const struct hdf5_type *t,
          const char **type)
{
	struct hdf5_attribute a;
	const char *p;
	size_t n;
	int r;

	*type = type_of(t);
	if (t->class != HDF5_OPAQUE || t->bytes != 2)
		return 0;
	r = hdf5_attribute(&x->h5, o, "dtype", &a);
	if (r > 0 && a.space.count == 1) {
		if (hdf5_text(&x->h5, &a, 0, &p, &n) < 0)
			return -1;
		*type = n == 8 && memcmp(p, "bfloat16", 8) == 0 ? "BF16" : NULL;
	}
	return r < 0 ? -1 : 0;
}

/* ---- values ---- */

/* more[0]: bytes of a value, which the file has in big-endian order. */
static void
make_swapped(const struct import_place *place, uint64_t first, uint64_t count, uint8_t *to)
{
	const uint64_t bytes = place->more[0];
	const uint8_t *p = place->p + first * bytes;
	uint64_t i, k;

	for (i = 0; i < count; i++, p += bytes, to += bytes)
		for (k = 0; k < bytes; k++)
			to[k] = p[bytes - 1 - k];
}

/* Remember a dataset that is not in one piece. */
static int
put_chunked(struct keras *x, const struct hdf5_type *type, const struct hdf5_space *space,
            const struct hdf5_data *data, struct import_place *place)
{
	struct keras_chunked *c = mem_array(1, sizeof *c);

	if (!c || mem_grow(&x->chunked, &x->chunked_cap, x->chunked_count + 1,
	                   sizeof *x->chunked) < 0) {
		free(c);
		return err_memory(x->import.err);
	}
	*c = (struct keras_chunked){ *type, *space, *data };
	x->chunked[x->chunked_count++] = c;
	place->data = c;
	return 0;
}

/* ---- tensors ---- */

static int
relate(struct keras *x, const char *name, const char *layout)
{
	struct buf one = { 0 };

	if (layout)
		buf_printf(&one, "\"layout\":\"%s\"", layout);
	return import_relate(&x->import, &x->relations, name, strlen(name), &one);
}

static int
add_one(struct keras *x, const struct keras_tensor *t)
{
	const char *name = t->again ? t->path : t->name, *type_name;
	struct import_place place = { .p = NULL };
	struct hdf5_object o;
	struct hdf5_space space;
	struct hdf5_type type;
	struct hdf5_data data;

	if (hdf5_object(&x->h5, t->at, &o) < 0 || hdf5_type(&x->h5, &o, &type) < 0 ||
	    hdf5_space(&x->h5, &o, &space) < 0 || find_type(x, &o, &type, &type_name) < 0)
		return -1;
	if (type.class == HDF5_TEXT || type.class == HDF5_TEXTS || space.null) {
		x->texts++;
		return 0;
	}
	if (!type_name)
		return import_fail(&x->import, ERR_FORMAT, "has a dataset %.100s of %s of %" PRIu32
		                   " bytes, which are not read", name, type.title, type.bytes);
	if (hdf5_data(&x->h5, &o, &type, &space, &data) < 0)
		return -1;
	place.p = data.p;
	if (!data.p && data.bytes > 0 && put_chunked(x, &type, &space, &data, &place) < 0)
		return -1;
	if (type.big && type.bytes > 1) {
		place.make = make_swapped;
		place.in = place.out = type.bytes;
		place.more[0] = type.bytes;
	}
	if (import_tensor(&x->import, name, strlen(name), dtype_by_name(type_name), space.ndim,
	                  space.dims, &place) < 0)
		return -1;
	return relate(x, name, t->layout);
}

/* By name, and number. */
static int
compare(const void *a, const void *b)
{
	const struct keras_tensor *const *s = a, *const *t = b;
	int r = strcmp((*s)->name, (*t)->name);

	return r ? r : (*s)->number < (*t)->number ? -1 : (*s)->number > (*t)->number;
}

static int
find_repeated(struct keras *x)
{
	struct keras_tensor **order = mem_array(x->count, sizeof *order);
	size_t i;

	if (!order)
		return err_memory(x->import.err);
	for (i = 0; i < x->count; i++)
		order[i] = &x->tensors[i];
	qsort(order, x->count, sizeof *order, compare);
	for (i = 1; i < x->count; i++)
		order[i]->again = strcmp(order[i]->name, order[i - 1]->name) == 0;
	free(order);
	return 0;
}

/* Add the tensors that were collected. */
static int
add_tensors(struct keras *x)
{
	size_t i;
	int r = find_repeated(x);

	for (i = 0; r == 0 && i < x->count; i++)
		r = add_one(x, &x->tensors[i]);
	return r < 0 ? -1 : import_related(&x->import, KERAS_TENSORS_KEY, &x->relations);
}

/* ---- the archive ---- */

/* Put a deflated member into the spool. */
static int
inflate_weights(struct keras *x, const struct zip_entry *e, const uint8_t **p)
{
	struct zip_inflate *f = zip_inflate_open(&x->zip, e, x->import.err);
	const uint8_t *piece;
	size_t n = 1;
	int r = f ? 0 : -1;

	while (r == 0 && n > 0)
		if ((r = zip_inflate(f, &piece, &n, x->import.err)) == 0 && n > 0)
			r = spool_put(&x->inflated, piece, n, x->import.err);
	zip_inflate_close(f);
	return r < 0 ? -1 : spool_view(&x->inflated, p, x->import.err);
}

/* Keys of metadata.json. */
static int
add_metadata(struct keras *x, const struct buf *text)
{
	static const char *const names[] = { "keras_version", "keras.version", "date_saved",
		"keras.date_saved" };
	json_t *o = json_parse(text->p, text->n, ERR_CORRUPT, "metadata.json", x->import.err);
	const char *s;
	size_t i;
	int r = o ? 0 : -1;

	for (i = 0; r == 0 && i < sizeof names / sizeof *names; i += 2)
		if (json_member_text(o, names[i], &s) == 0)
			r = import_text(&x->import, names[i + 1], s, strlen(s));
	json_decref(o);
	return r;
}

/* Read a small member of the archive, if it has one with this name. */
static int
read_member(struct keras *x, const char *name, int (*use)(struct keras *x, const struct buf *text))
{
	const struct zip_entry *e = zip_find(&x->zip, name, strlen(name));
	struct buf text = { 0 };
	int r;

	if (!e)
		return 0;
	r = zip_get(&x->zip, e, IMPORT_KEYS / 2, &text, x->import.err);
	if (r == 0)
		r = use(x, &text);
	buf_free(&text);
	return r;
}

static int
use_config(struct keras *x, const struct buf *text)
{
	return keras_config(x, text->p ? (const char *)text->p : "", text->n);
}

/* Note what is left out of the archive, which is not a folder. */
static void
tell_others(const struct keras *x)
{
	static const char *const known[] = { "config.json", "metadata.json", "model.weights.h5" };
	uint64_t others = 0;
	size_t i, k;

	for (i = 0; i < x->zip.count; i++) {
		const struct zip_entry *e = &x->zip.entries[i];

		for (k = 0; k < 3; k++)
			if (e->name_bytes == strlen(known[k]) && memcmp(e->name, known[k], e->name_bytes) == 0)
				break;
		others += k == 3 && e->name[e->name_bytes - 1] != '/';
	}
	if (others)
		import_note(&x->import, "left out: %" PRIu64 " other member%s of the archive", others,
		            others == 1 ? "" : "s");
}

static int
open_archive(struct keras *x)
{
	static const char weights[] = "model.weights.h5";
	struct import *im = &x->import;
	const struct zip_entry *e;
	const uint8_t *p;

	if (zip_open(&x->zip, im->p, im->n, &im->whole.map, im->source.name, im->err) < 0)
		return -1;
	e = zip_find(&x->zip, weights, sizeof weights - 1);
	if (!e) {
		import_fail(im, ERR_FORMAT, "is a zip archive without a member %s", weights);
		return err_hint(im->err, "weights in several files or as arrays of NumPy are not read; "
		                "Keras can save the model again in one file");
	}
	if (read_member(x, "metadata.json", add_metadata) < 0 ||
	    read_member(x, "config.json", use_config) < 0)
		return -1;
	tell_others(x);
	p = im->p + e->offset;
	if (e->deflated && inflate_weights(x, e, &p) < 0)
		return -1;
	x->weights = e->deflated ? NULL : e;
	return hdf5_open(&x->h5, p, e->bytes, im->source.name, im->err);
}

/* Before the first tensor is sent, prove the CRC-32 of weights that are stored in the archive. */
static int
prove_weights(struct keras *x)
{
	const struct zip_entry *e = x->weights;
	const uint8_t *p = x->import.p + e->offset;
	uint64_t left, n;
	uint32_t crc = 0;

	for (left = e->bytes; left > 0; left -= n, p += n) {
		n = num_min(left, STEP);
		crc = crc32_add(crc, p, (size_t)n);
		if (x->import.whole.map.fd >= 0)
			map_release(&x->import.whole.map, p, (size_t)n);
	}
	x->weights = NULL;
	return zip_prove(&x->zip, e, crc, x->import.err);
}

/* ---- the source ---- */

static int
begin(struct import *im, struct import_place *place)
{
	struct keras *x = (struct keras *)im;
	const struct keras_chunked *c = place->data;
	uint8_t *to;

	if (x->weights && prove_weights(x) < 0)
		return -1;
	if (!c)
		return 0;
	spool_free(&x->gathered);
	x->gathered = (struct spool){ 0 };
	to = spool_room(&x->gathered, c->data.bytes, im->err);
	if (!to)
		return -1;
	place->p = to;
	return hdf5_gather(&x->h5, &c->type, &c->space, &c->data, to);
}

static int
read_file(struct import *im)
{
	struct keras *x = (struct keras *)im;
	const bool archive = im->n >= 2 && memcmp(im->p, "PK", 2) == 0;
	const char *form;

	x->all = import_chosen(im, &torch_options[TORCH_ALL]) != NULL;
	if ((archive ? open_archive(x)
	             : hdf5_open(&x->h5, im->p, im->n, im->source.name, im->err)) < 0 ||
	    keras_walk(x, &form) < 0 || add_tensors(x) < 0)
		return -1;
	if (x->optimizer)
		import_note(im, "left out: %" PRIu64 " tensor%s of the optimizer; --all reads %s",
		            x->optimizer, x->optimizer == 1 ? "" : "s", x->optimizer == 1 ? "it" : "them");
	if (x->texts)
		import_note(im, "left out: %" PRIu64 " dataset%s of texts or without values", x->texts,
		            x->texts == 1 ? "" : "s");
	return import_source(im, "form", json_string(archive ? "archive" : form));
}

static void
close_file(struct import *im)
{
	struct keras *x = (struct keras *)im;
	size_t i;

	for (i = 0; i < x->count; i++) {
		free(x->tensors[i].name);
		free(x->tensors[i].path);
	}
	for (i = 0; i < x->chunked_count; i++)
		free(x->chunked[i]);
	free(x->tensors);
	free(x->chunked);
	json_decref(x->classes);
	zip_free(&x->zip);
	spool_free(&x->inflated);
	spool_free(&x->gathered);
	buf_free(&x->relations);
}

static struct source *
open_file(struct reader *r, const struct format_options *options, void (*note)(const char *),
          struct err *e)
{
	static const struct import_kind kind = { .format = &format_keras,
		.bytes = sizeof(struct keras), .read = read_file, .begin = begin, .close = close_file };

	return import_open(&kind, r, options, note, e);
}

/* An archive is one of Keras if its first member has one of these names. */
static bool
probe(const uint8_t *head, size_t n)
{
	static const char *const names[] = { "metadata.json", "config.json", "model.weights.h5" };
	const size_t name = n >= 30 ? (size_t)(head[26] | head[27] << 8) : 0;
	size_t i;

	if (n >= 8 && memcmp(head, HDF5_MAGIC, 8) == 0)
		return true;
	for (i = 0; i < 3 && n >= 30 && memcmp(head, "PK\3\4", 4) == 0; i++)
		if (name == strlen(names[i]) && name <= n - 30 && memcmp(head + 30, names[i], name) == 0)
			return true;
	return false;
}

/* Weights that are deflated or in chunks need a spool; the first bytes do not tell. */
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
	const struct keras *x = (const struct keras *)s;

	return x->inflated.bytes || x->import.places[i].data ? FORMAT_SCATTERED
	                                                     : import_tensor_offset(s, i);
}

static const struct format_reads reads = {
	.open = open_file,
	.describe = import_describe,
	.tensor_offset = tensor_offset,
	.outline = import_outline,
	.spools = spools,
};

const struct format format_keras = {
	.name = "keras",
	.title = "Keras",
	.probe = probe,
	.reads = &reads,
	.shared = &torch_options[TORCH_ALL],
};
