#include <inttypes.h>
#include <math.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/text.h"
#include "formats/apr1/apr1.h"

/* The library makes room for as many items as an array says it has, before it has seen
 * one, and gives up below DEPTH. So all is proved first, in our own words: that
 * everything announced is there, and that there is not too much of it. */
#define DEPTH 30
#define OBJECTS (1u << 20) /* of some 24 bytes each, in a value's tree */

/* ---- proof ---- */

struct head {
	size_t bytes;   /* of the head, and of what follows it that is no object */
	uint64_t items; /* objects inside */
	bool map, bad;
};

/* A big-endian length of 1, 2 or 4 bytes. */
static uint64_t
length(const uint8_t *p, size_t n, unsigned width, struct head *h)
{
	uint64_t v = 0;
	unsigned i;

	h->bad = n < 1 + (size_t)width;
	for (i = 0; !h->bad && i < width; i++)
		v = v << 8 | p[1 + i];
	return v;
}

static struct head
look(const uint8_t *p, size_t n)
{
	static const uint8_t fixed[] = { 4, 8, 1, 2, 4, 8, 1, 2, 4, 8 }; /* from 0xca */
	struct head h = { .bytes = 1 };
	uint8_t c = *p;

	if (c >= 0x80 && c <= 0x9f) {
		h.items = c & 15;
		h.map = c < 0x90;
	} else if (c >= 0xa0 && c <= 0xbf) {
		h.bytes += c & 31;
	} else if (c >= 0xc4 && c <= 0xc6) {
		h.bytes += (1u << (c - 0xc4)) + length(p, n, 1u << (c - 0xc4), &h);
	} else if (c == 0xc1 || (c >= 0xc7 && c <= 0xc9) || (c >= 0xd4 && c <= 0xd8)) {
		h.bad = true; /* no type, and types of one's own */
	} else if (c >= 0xca && c <= 0xd3) {
		h.bytes += fixed[c - 0xca];
	} else if (c >= 0xd9 && c <= 0xdb) {
		h.bytes += (1u << (c - 0xd9)) + length(p, n, 1u << (c - 0xd9), &h);
	} else if (c >= 0xdc) {
		if (c < 0xe0) {
			unsigned width = c & 1 ? 4 : 2;

			h.bytes += width;
			h.items = length(p, n, width, &h);
			h.map = c >= 0xde;
		}
	}
	if (h.map)
		h.items *= 2;
	h.bad |= h.bytes > n || h.items > n - h.bytes;
	return h;
}

/* Bytes of the value at p; 0 if it is none. */
static size_t
span(const uint8_t *p, size_t n, size_t *objects)
{
	uint64_t left[DEPTH + 1] = { 1 };
	unsigned depth = 0;
	size_t at = 0;

	for (;;) {
		struct head h;

		while (left[depth] == 0)
			if (depth-- == 0)
				return at;
		left[depth]--;
		if (at == n || ++*objects > OBJECTS)
			return 0;
		h = look(p + at, n - at);
		if (h.bad || (h.items && ++depth > DEPTH))
			return 0;
		at += h.bytes;
		if (h.items)
			left[depth] = h.items;
	}
}

/* ---- the map ---- */

static int
bad(const char *what, size_t at, struct err *e)
{
	return err_set(e, ERR_FORMAT, what, "InvalidFormat: its metadata is no MessagePack "
	               "that can be read, in the value at byte %zu of it", at);
}

static int
compare(const void *a, const void *b)
{
	const struct apr1_entry *x = *(const struct apr1_entry *const *)a;
	const struct apr1_entry *y = *(const struct apr1_entry *const *)b;
	size_t n = x->key_bytes < y->key_bytes ? x->key_bytes : y->key_bytes;
	int r = n ? memcmp(x->key, y->key, n) : 0;

	return r ? r : (x->key_bytes > y->key_bytes) - (x->key_bytes < y->key_bytes);
}

static int
prove_unique(const struct apr1_map *m, const char *what, struct err *e)
{
	const struct apr1_entry **list = mem_array(m->count, sizeof *list);
	size_t i;
	int r = 0;

	if (!list)
		return err_memory(e);
	for (i = 0; i < m->count; i++)
		list[i] = &m->list[i];
	qsort(list, m->count, sizeof *list, compare);
	for (i = 1; r == 0 && i < m->count; i++)
		if (compare(&list[i - 1], &list[i]) == 0)
			r = err_set(e, ERR_FORMAT, what, "InvalidFormat: metadata key %.*s "
			            "occurs twice", (int)(list[i]->key_bytes < 100
			                                      ? list[i]->key_bytes : 100),
			            list[i]->key);
	free(list);
	return r;
}

/* Where the text of a value lies, or NULL. */
static const char *
text_of(const uint8_t *p, size_t n, size_t *bytes)
{
	struct head h = look(p, n);
	uint8_t c = *p;
	size_t head = c >= 0xa0 && c <= 0xbf ? 1 : c >= 0xd9 && c <= 0xdb
	                  ? 1 + ((size_t)1 << (c - 0xd9)) : 0;

	if (!head)
		return NULL;
	*bytes = h.bytes - head;
	return (const char *)p + head;
}

static int
add(struct apr1_map *m, struct apr1_entry x, struct err *e)
{
	if (mem_grow(&m->list, &m->cap, m->count + 1, sizeof x) < 0)
		return err_memory(e);
	m->list[m->count++] = x;
	return 0;
}

/* The fields of existing software's metadata, in their order. */
static const char *const fields[] = { "created_at", "aprender_version", "model_name",
	"description", "training", "hyperparameters", "metrics", "custom", "distillation",
	"distillation_info", "license", "model_card" };
#define FIELDS (sizeof fields / sizeof *fields)

int
apr1_map_read(struct apr1_map *m, const uint8_t *p, size_t n, bool named, const char *what,
              struct err *e)
{
	struct head h = { .bad = true };
	size_t at, objects = 0, bytes;
	uint64_t i;

	*m = (struct apr1_map){ 0 };
	if (n)
		h = look(p, n);
	if (h.bad || span(p, n, &objects) != n)
		return bad(what, 0, e);
	/* A map, or an array; an empty one of either says nothing else. */
	if (!h.map && !(named && (*p >> 4 == 9 || *p == 0xdc || *p == 0xdd)) &&
	    *p != 0x80 && *p != 0xde && *p != 0xdf)
		return err_set(e, ERR_FORMAT, what, "InvalidFormat: its metadata is no map");
	if (!h.map && h.items > FIELDS)
		return err_set(e, ERR_FORMAT, what, "InvalidFormat: its metadata is an array of %"
		               PRIu64 " values, of which %zu have a name", h.items, FIELDS);
	at = h.bytes;
	for (i = 0; i < h.items / (h.map ? 2 : 1); i++) {
		struct apr1_entry x = { 0 };

		if (h.map) {
			objects = 0;
			bytes = span(p + at, n - at, &objects);
			x.key = text_of(p + at, n - at, &x.key_bytes);
			if (!x.key || !x.key_bytes || !text_utf8(x.key, x.key_bytes, false))
				return err_set(e, ERR_FORMAT, what, "InvalidFormat: a key of its "
				               "metadata is no text, at byte %zu of it", at);
			at += bytes;
		} else {
			x.key = fields[i];
			x.key_bytes = strlen(fields[i]);
		}
		objects = 0;
		x.raw = p + at;
		x.raw_bytes = span(p + at, n - at, &objects);
		at += x.raw_bytes;
		if (add(m, x, e) < 0)
			return -1;
	}
	return prove_unique(m, what, e);
}

int
apr1_list_read(struct apr1_map *m, const struct apr1_entry *x, const char *what,
               struct err *e)
{
	struct head h = look(x->raw, x->raw_bytes);
	size_t at = h.bytes, objects;
	uint64_t i;

	*m = (struct apr1_map){ 0 };
	if (h.map || (*x->raw >> 4 != 9 && *x->raw != 0xdc && *x->raw != 0xdd))
		return err_set(e, ERR_FORMAT, what, "InvalidFormat: metadata key %.*s is no list",
		               (int)(x->key_bytes < 100 ? x->key_bytes : 100), x->key);
	for (i = 0; i < h.items; i++) {
		struct apr1_entry item = { .key = "", .raw = x->raw + at };

		objects = 0;
		item.raw_bytes = span(item.raw, x->raw_bytes - at, &objects);
		at += item.raw_bytes;
		if (add(m, item, e) < 0)
			return -1;
	}
	return 0;
}

void
apr1_map_free(struct apr1_map *m)
{
	free(m->list);
	*m = (struct apr1_map){ 0 };
}

const struct apr1_entry *
apr1_map_find(const struct apr1_map *m, const char *key)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->list[i].key_bytes == strlen(key) &&
		    memcmp(m->list[i].key, key, m->list[i].key_bytes) == 0)
			return &m->list[i];
	return NULL;
}

const char *
apr1_text(const struct apr1_entry *x, size_t *n)
{
	return text_of(x->raw, x->raw_bytes, n);
}

/* ---- values ---- */

/* The shortest text that is this number again, and looks like no integer. */
static void
put_float(struct buf *b, double v, bool single)
{
	char text[40];
	int digits;

	if (isnan(v) || isinf(v)) {
		buf_text(b, isnan(v) ? "\"nan\"" : v < 0 ? "\"-inf\"" : "\"inf\"");
		return;
	}
	for (digits = 1; digits < (single ? 9 : 17); digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
			break;
	}
	snprintf(text, sizeof text, "%.*g", digits, v);
	buf_text(b, text);
	if (!strpbrk(text, ".e"))
		buf_text(b, ".0");
}

static int
by_text(const void *a, const void *b)
{
	const msgpack_object_str *x = *(const msgpack_object_str *const *)a;
	const msgpack_object_str *y = *(const msgpack_object_str *const *)b;
	size_t n = x->size < y->size ? x->size : y->size;
	int r = n ? memcmp(x->ptr, y->ptr, n) : 0;

	return r ? r : (x->size > y->size) - (x->size < y->size);
}

/* JSON has each name once, and only names that are text. b fails where memory runs out. */
static bool
is_object(const msgpack_object_map *m, struct buf *b)
{
	const msgpack_object_str **list = mem_array(m->size, sizeof *list);
	bool good = list != NULL;
	uint32_t i;

	b->failed |= !list;
	for (i = 0; good && i < m->size; i++) {
		list[i] = &m->ptr[i].key.via.str;
		good = m->ptr[i].key.type == MSGPACK_OBJECT_STR &&
		       text_utf8(list[i]->ptr, list[i]->size, false);
	}
	if (good)
		qsort(list, m->size, sizeof *list, by_text);
	for (i = 1; good && i < m->size; i++)
		good = by_text(&list[i - 1], &list[i]) != 0;
	free(list);
	return good;
}

/* 0, or -1: JSON cannot say it. */
static int
put_json(struct buf *b, const msgpack_object *o)
{
	uint32_t i;

	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		buf_text(b, "null");
		return 0;
	case MSGPACK_OBJECT_BOOLEAN:
		buf_text(b, o->via.boolean ? "true" : "false");
		return 0;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		buf_printf(b, "%" PRIu64, o->via.u64);
		return 0;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		buf_printf(b, "%" PRId64, o->via.i64);
		return 0;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		put_float(b, o->via.f64, o->type == MSGPACK_OBJECT_FLOAT32);
		return 0;
	case MSGPACK_OBJECT_STR:
		if (!text_utf8(o->via.str.ptr, o->via.str.size, false))
			return -1;
		json_quote(b, o->via.str.size ? o->via.str.ptr : "", o->via.str.size);
		return 0;
	case MSGPACK_OBJECT_ARRAY:
		buf_u8(b, '[');
		for (i = 0; i < o->via.array.size; i++) {
			if (i)
				buf_u8(b, ',');
			if (put_json(b, &o->via.array.ptr[i]) < 0)
				return -1;
		}
		buf_u8(b, ']');
		return 0;
	case MSGPACK_OBJECT_MAP:
		if (!is_object(&o->via.map, b))
			return -1;
		buf_u8(b, '{');
		for (i = 0; i < o->via.map.size; i++) {
			const msgpack_object_kv *x = &o->via.map.ptr[i];

			if (i)
				buf_u8(b, ',');
			put_json(b, &x->key);
			buf_u8(b, ':');
			if (put_json(b, &x->val) < 0)
				return -1;
		}
		buf_u8(b, '}');
		return 0;
	default:
		return -1;
	}
}

static void
put_f32(struct buf *b, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	buf_u32(b, bits);
}

static void
put_f64(struct buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	buf_u64(b, bits);
}

static int
to_wire(const msgpack_object *o, struct value_type *t, struct buf *b)
{
	*t = (struct value_type){ 0, VALUE_JSON };
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		t->leaf = VALUE_BOOL;
		buf_u8(b, o->via.boolean);
		return 0;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		t->leaf = VALUE_U64;
		buf_u64(b, o->via.u64);
		return 0;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		t->leaf = VALUE_I64;
		buf_u64(b, (uint64_t)o->via.i64);
		return 0;
	case MSGPACK_OBJECT_FLOAT32:
		t->leaf = VALUE_F32;
		put_f32(b, (float)o->via.f64);
		return 0;
	case MSGPACK_OBJECT_FLOAT64:
		t->leaf = VALUE_F64;
		put_f64(b, o->via.f64);
		return 0;
	case MSGPACK_OBJECT_STR:
		t->leaf = VALUE_STRING;
		buf_u64(b, o->via.str.size);
		buf_put(b, o->via.str.ptr, o->via.str.size);
		return text_utf8(o->via.str.ptr, o->via.str.size, false) ? 0 : -1;
	case MSGPACK_OBJECT_BIN:
		*t = (struct value_type){ 1, VALUE_U8 };
		buf_u32(b, VALUE_U8);
		buf_u64(b, o->via.bin.size);
		buf_put(b, o->via.bin.ptr, o->via.bin.size);
		return 0;
	default:
		return put_json(b, o);
	}
}

int
apr1_value(const struct apr1_entry *x, struct value_type *type, struct buf *wire,
           const char *what, struct err *e)
{
	msgpack_unpacked u;
	size_t at = 0;
	int r = -1;

	msgpack_unpacked_init(&u);
	if (msgpack_unpack_next(&u, (const char *)x->raw, x->raw_bytes, &at) ==
	    MSGPACK_UNPACK_SUCCESS && at == x->raw_bytes)
		r = to_wire(&u.data, type, wire);
	else
		err_memory(e); /* it was proved before */
	msgpack_unpacked_destroy(&u);
	if (!buf_ok(wire))
		return err_memory(e);
	if (r < 0)
		err_set(e, ERR_FORMAT, what, "InvalidFormat: metadata key %.*s has a value that "
		        "is neither text nor bytes nor JSON",
		        (int)(x->key_bytes < 100 ? x->key_bytes : 100), x->key);
	return r;
}

/* ---- and back ---- */

static int
append(void *to, const char *p, size_t n)
{
	buf_put(to, p, n);
	return 0;
}

static msgpack_packer
packer(struct buf *b)
{
	return (msgpack_packer){ b, append };
}

void
apr1_put_map(struct buf *b, size_t entries)
{
	msgpack_packer p = packer(b);

	msgpack_pack_map(&p, entries);
}

void
apr1_put_array(struct buf *b, size_t items)
{
	msgpack_packer p = packer(b);

	msgpack_pack_array(&p, items);
}

void
apr1_put_text(struct buf *b, const char *s, size_t n)
{
	msgpack_packer p = packer(b);

	msgpack_pack_str(&p, n);
	msgpack_pack_str_body(&p, s, n);
}

static void
from_json(msgpack_packer *p, const json_t *v)
{
	const char *name;
	json_t *x;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		msgpack_pack_map(p, json_object_size(v));
		json_object_foreach((json_t *)(uintptr_t)v, name, x) {
			msgpack_pack_str(p, strlen(name));
			msgpack_pack_str_body(p, name, strlen(name));
			from_json(p, x);
		}
		break;
	case JSON_ARRAY:
		msgpack_pack_array(p, json_array_size(v));
		json_array_foreach(v, i, x)
			from_json(p, x);
		break;
	case JSON_STRING:
		msgpack_pack_str(p, json_string_length(v));
		msgpack_pack_str_body(p, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
		msgpack_pack_int64(p, json_integer_value(v));
		break;
	case JSON_REAL:
		msgpack_pack_double(p, json_real_value(v));
		break;
	case JSON_TRUE:
		msgpack_pack_true(p);
		break;
	case JSON_FALSE:
		msgpack_pack_false(p);
		break;
	case JSON_NULL:
		msgpack_pack_nil(p);
		break;
	}
}

static int
put_json_value(struct buf *b, const uint8_t *text, size_t n)
{
	struct err ignored = ERR_INIT;
	json_t *v = json_parse_any(text, n, ERR_FORMAT, "", &ignored);
	msgpack_packer p = packer(b);

	if (!v)
		return ignored.code == ERR_MEMORY ? -1 : 1;
	from_json(&p, v);
	json_decref(v);
	return buf_ok(b) ? 0 : -1;
}

int
apr1_put_value(struct buf *b, struct value_type type, const uint8_t *wire, size_t n)
{
	msgpack_packer p = packer(b);
	uint64_t bits = n == 8 ? le64(wire) : 0;
	uint32_t half = n == 4 ? le32(wire) : 0;
	double f64;
	float f32;

	if (type.depth == 1 && type.leaf == VALUE_U8) {
		msgpack_pack_bin(&p, n - 12);
		msgpack_pack_bin_body(&p, wire + 12, n - 12);
		return buf_ok(b) ? 0 : -1;
	}
	if (type.depth)
		return 1;
	switch (type.leaf) {
	case VALUE_STRING:
		apr1_put_text(b, (const char *)wire + 8, n - 8);
		break;
	case VALUE_U64:
		msgpack_pack_uint64(&p, bits);
		break;
	case VALUE_I64:
		msgpack_pack_int64(&p, (int64_t)bits);
		break;
	case VALUE_F32:
		memcpy(&f32, &half, sizeof f32);
		msgpack_pack_float(&p, f32);
		break;
	case VALUE_F64:
		memcpy(&f64, &bits, sizeof f64);
		msgpack_pack_double(&p, f64);
		break;
	case VALUE_BOOL:
		if (*wire)
			msgpack_pack_true(&p);
		else
			msgpack_pack_false(&p);
		break;
	case VALUE_JSON:
		return put_json_value(b, wire, n);
	default:
		return 1;
	}
	return buf_ok(b) ? 0 : -1;
}
