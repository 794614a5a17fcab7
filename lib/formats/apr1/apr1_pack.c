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

/* ---- values ---- */

/* Append the shortest text that is read back as this number and not as an integer. */
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

/* True if JSON can hold the map as an object: all names are strings, and unique. b fails if
 * memory runs out. */
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

/* Append an object as JSON. 0, or -1 if JSON cannot hold it. */
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
		err_memory(e); /* the only possible failure: the bytes were proved before */
	msgpack_unpacked_destroy(&u);
	if (!buf_ok(wire))
		return err_memory(e);
	if (r < 0)
		err_set(e, ERR_FORMAT, what, "InvalidFormat: metadata key %.*s has a value that "
		        "is neither text nor bytes nor JSON",
		        (int)(x->key_bytes < 100 ? x->key_bytes : 100), x->key);
	return r;
}

/* ---- values to MessagePack ---- */

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
