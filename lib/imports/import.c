#include "imports/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dir.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "wire/tar.h"
#include "wire/zip_walk.h"

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PIECE (1u << 18)    /* bytes sent at once */
#define TURNED (1u << 22)   /* the same, if the values of a piece are scattered over the tensor */
#else
#define PIECE (1u << 11)
#define TURNED (1u << 12)
#endif

/* ---- messages ---- */

void
import_note(const struct import *im, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	if (!im->source.note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	im->source.note(text);
}

int
import_fail(const struct import *im, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(im->err, code, im->source.name, fmt, ap);
	va_end(ap);
	return -1;
}

const char *
import_chosen(const struct import *im, const struct format_option *row)
{
	return format_chosen(&im->options, row);
}

/* ---- keys ---- */

int
import_value(struct import *im, const char *key, struct value_type type,
             const struct buf *wire)
{
	struct buf *b;

	if (!buf_ok(wire))
		return err_memory(im->err);
	if (value_is_inline(type, wire->p, wire->n))
		return model_add_meta(&im->plan, key, strlen(key), type, wire->p, wire->n, im->err);
	if (num_add(im->value_bytes, wire->n, &im->value_bytes) < 0 ||
	    im->value_bytes > IMPORT_KEYS)
		return import_fail(im, ERR_CORRUPT, "has keys of more than %u bytes", IMPORT_KEYS);
	if (mem_grow(&im->values, &im->value_cap, im->value_count + 1, sizeof *im->values) < 0)
		return err_memory(im->err);
	b = &im->values[im->value_count++];
	buf_put(b, wire->p, wire->n);
	if (!buf_ok(b))
		return err_memory(im->err);
	return model_add_meta_blob(&im->plan, key, strlen(key), type, wire->n, im->err);
}

/* Append a key with a value of a fixed size or a text, whose wire form is made here. */
static int
add_leaf(struct import *im, const char *key, enum value_kind leaf, struct buf *wire)
{
	int r = import_value(im, key, (struct value_type){ 0, (uint8_t)leaf }, wire);

	buf_free(wire);
	return r;
}

int
import_u32(struct import *im, const char *key, uint32_t v)
{
	struct buf wire = { 0 };

	buf_u32(&wire, v);
	return add_leaf(im, key, VALUE_U32, &wire);
}

int
import_f32(struct import *im, const char *key, float v)
{
	struct buf wire = { 0 };
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	buf_u32(&wire, bits);
	return add_leaf(im, key, VALUE_F32, &wire);
}

int
import_bool(struct import *im, const char *key, bool v)
{
	struct buf wire = { 0 };

	buf_u8(&wire, v);
	return add_leaf(im, key, VALUE_BOOL, &wire);
}

int
import_text(struct import *im, const char *key, const void *p, size_t n)
{
	struct buf wire = { 0 };

	import_string(&wire, p, n);
	return add_leaf(im, key, VALUE_STRING, &wire);
}

void
import_array(struct buf *wire, enum value_kind item, uint64_t count)
{
	buf_u32(wire, item);
	buf_u64(wire, count);
}

void
import_string(struct buf *wire, const void *p, size_t n)
{
	buf_u64(wire, n);
	buf_put(wire, p, n);
}

int
import_relate(struct import *im, struct buf *value, const char *name, size_t name_bytes,
              struct buf *members)
{
	if (members->n) {
		buf_text(value, value->n ? "," : "{");
		json_quote(value, name, name_bytes);
		buf_text(value, ":{");
		buf_put(value, members->p, members->n);
		buf_text(value, "}");
	}
	value->failed |= members->failed;
	buf_free(members);
	if (!buf_ok(value))
		return err_memory(im->err);
	return value->n <= IMPORT_KEYS ? 0 : import_fail(im, ERR_CORRUPT, "has scales and names of more "
	                                                 "than %u bytes", IMPORT_KEYS);
}

int
import_related(struct import *im, const char *key, struct buf *value)
{
	if (value->n == 0)
		return 0;
	buf_text(value, "}");
	return import_value(im, key, (struct value_type){ 0, VALUE_JSON }, value);
}

/* ---- side files ---- */

int
import_side(struct import *im, const char *name, const char *type,
            const struct import_part *parts, size_t count)
{
	uint64_t bytes = 0;
	size_t i;

	if (mem_grow(&im->parts, &im->part_cap, im->part_count + count, sizeof *im->parts) < 0 ||
	    mem_grow(&im->sides, &im->side_cap, im->side_count + 1, sizeof *im->sides) < 0)
		return err_memory(im->err);
	im->sides[im->side_count++] = im->part_count;
	for (i = 0; i < count; i++) {
		im->parts[im->part_count++] = parts[i];
		bytes += parts[i].n; /* all lie in memory */
	}
	return model_add_blob(&im->plan, name, type, bytes, im->err);
}

/* The next bytes of a side file; those before are not read again. */
static void
side_piece(struct import *im, const uint8_t **p, size_t *n)
{
	const struct import_part *x = im->part;

	if (x->map && x->map->fd >= 0 && im->done > 0)
		map_release(x->map, x->p, (size_t)im->done);
	while (im->done == x->n) {
		x = ++im->part;
		im->done = 0;
	}
	*p = x->p + im->done;
	*n = (size_t)num_min(x->n - im->done, PIECE);
	im->done += *n;
	im->left -= *n;
}

int
import_source(struct import *im, const char *name, json_t *v)
{
	return model_source_set(&im->plan, name, v, im->err);
}

/* ---- tensors ---- */

int
import_tensor(struct import *im, const char *name, size_t name_bytes,
              const struct dtype *type, unsigned ndim, const uint64_t *dims,
              const struct import_place *x)
{
	struct tensor *t;

	if (im->place_count == IMPORT_TENSORS)
		return import_fail(im, ERR_CORRUPT, "has more than %u tensors", IMPORT_TENSORS);
	t = tensor_new(name, name_bytes, type, ndim, dims, TENSOR_OWN_SIZE, im->source.name,
	               im->err);
	if (!t)
		return -1;
	if (mem_grow(&im->places, &im->place_cap, im->place_count + 1, sizeof *im->places) < 0) {
		tensor_free(t);
		return err_memory(im->err);
	}
	if (x->p)
		map_look(&im->whole.map, x->p);
	im->places[im->place_count] = *x;
	if (!x->map)
		im->places[im->place_count].map = &im->whole.map;
	im->place_count++;
	return model_add_tensor(&im->plan, t, im->err);
}

/* True if the values lie in the file unchanged. */
static bool
lies_in_file(const struct import *im, size_t i)
{
	const struct import_place *x = &im->places[i];

	return im->base != READER_UNKNOWN && !x->make && x->map == &im->whole.map && x->p >= im->p &&
	       (uint64_t)(x->p - im->p) <= im->n && tensor_type(im->plan.tensors[i])->head == 0;
}

uint64_t
import_tensor_offset(const struct source *s, size_t i)
{
	const struct import *im = (const struct import *)s;

	return lies_in_file(im, i) ? im->base + (uint64_t)(im->places[i].p - im->p)
	                           : FORMAT_SCATTERED;
}

/* ---- outlines ---- */

static void
add_member(void *ctx, uint64_t offset, uint64_t bytes, const char *what, const uint8_t *name,
           size_t n)
{
	char text[300];

	if (!name)
		outline_add(ctx, offset, bytes, "%s", what);
	else
		outline_add(ctx, offset, bytes, "%s %s", what,
		            text_quote(text, sizeof text, (const char *)name, n));
}

void
import_outline(struct reader *r, struct outline *o)
{
	size_t n;
	const uint8_t *p = reader_peek(r, TAR_BLOCK, &n);
	const char *wrong = NULL;

	if (p && n >= 4 && memcmp(p, "PK", 2) == 0)
		wrong = zip_walk(r, add_member, o);
	else if (p && tar_begins(p, n))
		wrong = tar_walk(r, add_member, o);
	if (wrong)
		outline_stop(o, r, "%s", wrong);
}

/* ---- files beside the file ---- */

struct import_beside {
	struct import_beside *next;
	struct map map;
};

const struct map *
import_beside(struct import *im, int folder, const char *name, const char *label)
{
	struct import_beside *b = mem_array(1, sizeof *b);
	struct reader r;
	int status;

	if (!b) {
		err_memory(im->err);
		return NULL;
	}
	status = dir_open(folder, name, label, &r, im->err);
	if (status == 0) {
		status = map_file(&b->map, r.fd, label, im->err);
		reader_close(&r);
	}
	if (status < 0) {
		free(b);
		return NULL;
	}
	b->next = im->beside;
	im->beside = b;
	return &b->map;
}

static bool
all_whole(const struct import *im)
{
	const struct import_beside *b;

	for (b = im->beside; b; b = b->next)
		if (!map_whole(&b->map))
			return false;
	return whole_is_whole(&im->whole);
}

static void
close_beside(struct import *im)
{
	struct import_beside *next;

	for (; im->beside; im->beside = next) {
		next = im->beside->next;
		map_close(&im->beside->map);
		free(im->beside);
	}
}

/* ---- the source ---- */

/* Return the pages of the values that were sent. */
static void
release(struct import *im)
{
	const struct import_place *x = im->place;
	const uint8_t *now;

	if (!x->p) /* made of values that lie elsewhere */
		return;
	now = x->make ? x->p + im->done * x->in : im->body;
	if (x->make && !x->in && im->done && x->p >= x->map->p)
		map_release(x->map, x->p, (size_t)num_min(
			tensor_bytes(im->plan.tensors[x - im->places]),
			x->map->n - num_min(x->map->n, (uint64_t)(x->p - x->map->p))));

	if (x->map->fd >= 0 && now > im->released)
		map_release(x->map, im->released, (size_t)(now - im->released));
	im->released = now;
}

static int
next(struct source *s, struct item *item, struct err *e)
{
	struct import *im = (struct import *)s;
	struct import_place *x;

	(void)e; /* the source holds it */
	if (im->place)
		release(im);
	im->place = NULL;
	im->part = NULL;
	if (!container_next(&im->sent, &im->plan, s->wanted, item))
		return all_whole(im) ? 0 : import_fail(im, ERR_CORRUPT, "was truncated while it was "
		                                       "read");
	im->done = 0;
	im->left = item->bytes;
	im->head_left = 0;
	if (item->kind == ITEM_BLOB && item->index >= im->value_count) {
		im->part = im->parts + im->sides[item->index - im->value_count];
		return 1;
	}
	if (item->kind == ITEM_BLOB) {
		im->body = im->values[item->index].p;
		return 1;
	}
	x = &im->places[item->index];
	if (item->bytes > 0 && im->kind->begin && im->kind->begin(im, x) < 0)
		return -1;
	im->place = x;
	im->body = x->p;
	im->head_left = tensor_type(im->plan.tensors[item->index])->head;
	im->left -= im->head_left;
	im->released = x->p;
	return 1;
}

/* Make the next piece of values. */
static int
make_piece(struct import *im, size_t *n)
{
	const struct import_place *x = im->place;
	uint64_t units = num_min((x->in ? PIECE : TURNED) / x->out, im->left / x->out);

	buf_clear(&im->piece);
	if (!buf_room(&im->piece, (size_t)(units * x->out)))
		return err_memory(im->err);
	x->make(x, im->done, units, im->piece.p);
	im->done += units;
	*n = (size_t)(units * x->out);
	im->left -= *n;
	return 0;
}

static int
read_body(struct source *s, const uint8_t **p, size_t *n, struct err *e)
{
	struct import *im = (struct import *)s;

	(void)e;
	*n = 0;
	if (im->head_left) {
		*p = im->place->head;
		*n = (size_t)im->head_left;
		im->head_left = 0;
		return 0;
	}
	if (im->place && im->left > 0)
		release(im);
	if (im->left == 0)
		return 0;
	if (im->part) {
		side_piece(im, p, n);
		return 0;
	}
	if (im->place && im->place->make) {
		*p = im->piece.p;
		if (make_piece(im, n) < 0)
			return -1;
		*p = im->piece.p;
		return 0;
	}
	*p = im->body;
	*n = (size_t)num_min(im->left, PIECE);
	im->body += *n;
	im->left -= *n;
	return 0;
}

static bool
lies(struct source *s, uint64_t *offset)
{
	struct import *im = (struct import *)s;
	size_t i = im->place ? (size_t)(im->place - im->places) : 0;

	if (!im->place || whole_fd(&im->whole) < 0 || !lies_in_file(im, i))
		return false;
	*offset = import_tensor_offset(s, i);
	im->left = 0;
	return true;
}

static int
opened(struct source *s)
{
	return whole_fd(&((struct import *)s)->whole);
}

static void
close_source(struct source *s)
{
	struct import *im = (struct import *)s;
	size_t i;

	if (im->kind->close)
		im->kind->close(im);
	for (i = 0; i < im->value_count; i++)
		buf_free(&im->values[i]);
	free(im->values);
	free(im->parts);
	free(im->sides);
	free(im->places);
	close_beside(im);
	buf_free(&im->piece);
	whole_free(&im->whole);
	model_free(&im->plan);
	reader_close(&im->reader);
	free(im);
}

/* ---- opening ---- */

static int
take_bytes(struct import *im)
{
	if (whole_take(&im->whole, &im->reader, im->err) < 0)
		return -1;
	im->p = im->whole.p;
	im->n = im->whole.n;
	im->base = im->whole.base;
	return 0;
}

static int
read_all(struct import *im)
{
	if (model_init(&im->plan, im->err) < 0 || take_bytes(im) < 0 ||
	    import_source(im, "format", json_string(im->kind->format->name)) < 0 ||
	    im->kind->read(im) < 0)
		return -1;
	return model_check(&im->plan, im->source.name, im->err);
}

struct source *
import_open(const struct import_kind *kind, struct reader *r,
            const struct format_options *options, void (*note)(const char *), struct err *e)
{
	return import_open_with(kind, r, options, note, NULL, e);
}

struct source *
import_open_with(const struct import_kind *kind, struct reader *r,
                 const struct format_options *options, void (*note)(const char *),
                 const void *given, struct err *e)
{
	static const struct source_ops ops = { .next = next, .read = read_body,
		.close = close_source, .lies = lies, .opened = opened };
	struct import *im = mem_array(1, kind->bytes);

	if (!im) {
		reader_close(r);
		err_memory(e);
		return NULL;
	}
	im->source = (struct source){ .plan = &im->plan, .ops = &ops, .name = r->name,
		.note = note };
	im->reader = *r;
	im->options = *options;
	im->kind = kind;
	im->given = given;
	im->err = e;
	im->whole = (struct whole)WHOLE_INIT;
	if (read_all(im) == 0)
		return &im->source;
	close_source(&im->source);
	return NULL;
}

json_t *
import_describe(struct source *s, struct err *e)
{
	const struct import *im = (const struct import *)s;
	json_t *o = json_copy(im->plan.source);

	if (o && json_object_set_new(o, "checksum", json_false()) == 0)
		return o;
	json_decref(o);
	err_memory(e);
	return NULL;
}
