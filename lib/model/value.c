#include "model/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/text.h"

#define HEAD 12 /* an array's item type and count */

static const struct {
	const char *name;
	size_t bytes;
} leaves[] = {
	[VALUE_U8] = { "u8", 1 },     [VALUE_I8] = { "i8", 1 },
	[VALUE_U16] = { "u16", 2 },   [VALUE_I16] = { "i16", 2 },
	[VALUE_U32] = { "u32", 4 },   [VALUE_I32] = { "i32", 4 },
	[VALUE_F32] = { "f32", 4 },   [VALUE_BOOL] = { "bool", 1 },
	[VALUE_STRING] = { "string", 0 }, [VALUE_ARRAY] = { "array", 0 },
	[VALUE_U64] = { "u64", 8 },   [VALUE_I64] = { "i64", 8 },
	[VALUE_F64] = { "f64", 8 },
};
#define LEAVES (sizeof leaves / sizeof *leaves)

size_t
value_leaf_bytes(unsigned leaf)
{
	return leaf < LEAVES ? leaves[leaf].bytes : 0;
}

char *
value_type_text(struct value_type t, char dst[VALUE_TYPE_TEXT])
{
	size_t n = 0;
	unsigned i;

	for (i = 0; i < t.depth; i++)
		n += (size_t)snprintf(dst + n, VALUE_TYPE_TEXT - n, "array:");
	snprintf(dst + n, VALUE_TYPE_TEXT - n, "%s",
	         t.leaf == VALUE_JSON ? "json" : leaves[t.leaf].name);
	return dst;
}

int
value_type_parse(const char *text, struct value_type *t)
{
	struct value_type v = { 0, 0 };
	unsigned i;

	if (strcmp(text, "json") == 0) {
		*t = (struct value_type){ 0, VALUE_JSON };
		return 0;
	}
	while (strncmp(text, "array:", 6) == 0) {
		if (++v.depth >= VALUE_DEPTH)
			return -1;
		text += 6;
	}
	for (i = 0; i < LEAVES; i++)
		if (strcmp(text, leaves[i].name) == 0)
			break;
	if (i == LEAVES || (i == VALUE_ARRAY && v.depth == 0))
		return -1;
	v.leaf = (uint8_t)i;
	*t = v;
	return 0;
}

/* Bytes of the leaf at p; 0 if it does not fit into the n bytes that are left. */
static size_t
leaf_span(unsigned leaf, const uint8_t *p, size_t n)
{
	size_t fixed = value_leaf_bytes(leaf);

	if (fixed)
		return fixed <= n ? fixed : 0;
	if (leaf != VALUE_STRING || n < 8 || le64(p) > n - 8)
		return 0;
	return 8 + (size_t)le64(p);
}

static bool
leaf_is_sayable(unsigned leaf, const uint8_t *p, size_t n)
{
	switch (leaf) {
	case VALUE_BOOL:
		return *p < 2;
	case VALUE_STRING:
		return text_utf8(p + 8, n - 8, false);
	case VALUE_F32:
		return (le32(p) & 0x7fffffff) <= 0x7f800000 || le32(p) == 0x7fc00000;
	case VALUE_F64:
		return (le64(p) & INT64_MAX) <= 0x7ff0000000000000 ||
		       le64(p) == 0x7ff8000000000000;
	}
	return true;
}

bool
value_is_inline(struct value_type t, const uint8_t *wire, size_t n)
{
	uint64_t count = 1;
	const uint8_t *p = wire, *end = wire + n;

	if (n > VALUE_INLINE_BYTES || t.depth > 1 || t.leaf == VALUE_ARRAY)
		return false;
	if (t.leaf == VALUE_JSON)
		return text_utf8(wire, n, false);
	if (t.depth == 1) {
		if (n < HEAD || le32(wire) != t.leaf)
			return false;
		count = le64(wire + 4);
		p += HEAD;
	}
	if (count > VALUE_INLINE_ITEMS)
		return false;
	for (; count > 0; count--) {
		size_t span = leaf_span(t.leaf, p, (size_t)(end - p));

		if (span == 0 || !leaf_is_sayable(t.leaf, p, span))
			return false;
		p += span;
	}
	return p == end;
}

static json_t *
float_to_json(double v, int digits)
{
	char text[40];

	if (isnan(v))
		return json_string("nan");
	snprintf(text, sizeof text, "%.*g", digits, v);
	return json_string(text);
}

static json_t *
i64_to_json(int64_t v)
{
	char text[24];

	if (v <= (int64_t)1 << 53 && v >= -((int64_t)1 << 53))
		return json_integer(v);
	snprintf(text, sizeof text, "%" PRId64, v);
	return json_string(text);
}

static json_t *
leaf_to_json(unsigned leaf, const uint8_t *p, size_t n)
{
	switch (leaf) {
	case VALUE_U8:
		return json_integer(*p);
	case VALUE_I8:
		return json_integer((int8_t)*p);
	case VALUE_U16:
		return json_integer(le16(p));
	case VALUE_I16:
		return json_integer((int16_t)le16(p));
	case VALUE_U32:
		return json_integer(le32(p));
	case VALUE_I32:
		return json_integer((int32_t)le32(p));
	case VALUE_BOOL:
		return json_boolean(*p);
	case VALUE_STRING:
		return json_stringn((const char *)p + 8, n - 8);
	case VALUE_U64:
		return json_from_u64(le64(p));
	case VALUE_I64:
		return i64_to_json((int64_t)le64(p));
	case VALUE_F32:
		return float_to_json((double)le_f32(p), 9);
	case VALUE_F64:
		return float_to_json(le_f64(p), 17);
	}
	return NULL;
}

json_t *
value_to_json(struct value_type t, const uint8_t *wire, size_t n)
{
	const uint8_t *p = wire + HEAD, *end = wire + n;
	uint64_t i, count;
	json_t *a;

	if (t.leaf == VALUE_JSON)
		return json_stringn((const char *)wire, n);
	if (t.depth == 0)
		return leaf_to_json(t.leaf, wire, n);
	count = le64(wire + 4);
	a = json_array();
	for (i = 0; a && i < count; i++) {
		size_t span = leaf_span(t.leaf, p, (size_t)(end - p));

		if (json_array_append_new(a, leaf_to_json(t.leaf, p, span)) < 0) {
			json_decref(a);
			return NULL;
		}
		p += span;
	}
	return a;
}

/* Read a JSON integer or a decimal string within [lo, hi]. */
static int
integer_from_json(const json_t *j, int64_t lo, int64_t hi, int64_t *v)
{
	const char *s;
	uint64_t u;
	bool minus;

	if (json_is_integer(j)) {
		*v = json_integer_value(j);
		return *v >= lo && *v <= hi ? 0 : -1;
	}
	if (!json_is_string(j))
		return -1;
	s = json_string_value(j);
	minus = *s == '-';
	if (text_u64(s + minus, 0, minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX, &u) < 0)
		return -1;
	*v = minus ? (int64_t)(0 - u) : (int64_t)u;
	return *v >= lo && *v <= hi ? 0 : -1;
}

/* Read the text that float_to_json writes. Only strtod's decimal spelling is accepted: a
 * hexadecimal or padded number would be a second form of the same value. */
static int
float_from_json(const json_t *j, bool wide, struct buf *b)
{
	const char *s = json_string_value(j);
	char *end;
	float f;
	double d;
	uint32_t w;
	uint64_t q;

	if (!s)
		return -1;
	if (strcmp(s, "nan") == 0) {
		if (wide)
			buf_u64(b, 0x7ff8000000000000);
		else
			buf_u32(b, 0x7fc00000);
		return 0;
	}
	if (strcmp(s, "inf") != 0 && strcmp(s, "-inf") != 0 &&
	    (!*s || s[strspn(s, "0123456789+-.e")]))
		return -1;
	if (wide) {
		d = strtod(s, &end);
		memcpy(&q, &d, sizeof q);
		buf_u64(b, q);
	} else {
		f = strtof(s, &end);
		memcpy(&w, &f, sizeof w);
		buf_u32(b, w);
	}
	return *end || end == s ? -1 : 0;
}

static int
leaf_from_json(unsigned leaf, const json_t *j, struct buf *b)
{
	static const struct { int64_t lo, hi; } range[] = {
		[VALUE_U8] = { 0, UINT8_MAX },   [VALUE_I8] = { INT8_MIN, INT8_MAX },
		[VALUE_U16] = { 0, UINT16_MAX }, [VALUE_I16] = { INT16_MIN, INT16_MAX },
		[VALUE_U32] = { 0, UINT32_MAX }, [VALUE_I32] = { INT32_MIN, INT32_MAX },
		[VALUE_I64] = { INT64_MIN, INT64_MAX },
	};
	uint64_t u;
	int64_t v;

	switch (leaf) {
	case VALUE_BOOL:
		if (!json_is_boolean(j))
			return -1;
		buf_u8(b, json_is_true(j));
		return 0;
	case VALUE_STRING:
		if (!json_is_string(j))
			return -1;
		buf_u64(b, json_string_length(j));
		buf_put(b, json_string_value(j), json_string_length(j));
		return 0;
	case VALUE_F32:
	case VALUE_F64:
		return float_from_json(j, leaf == VALUE_F64, b);
	case VALUE_U64:
		if (json_value_u64(j, &u) < 0)
			return -1;
		buf_u64(b, u);
		return 0;
	}
	if (integer_from_json(j, range[leaf].lo, range[leaf].hi, &v) < 0)
		return -1;
	buf_integer(b, leaves[leaf].bytes, (uint64_t)v);
	return 0;
}

int
value_from_json(struct value_type t, const json_t *j, struct buf *b)
{
	size_t i;

	if (t.depth > 1 || t.leaf == VALUE_ARRAY)
		return -1;
	if (t.leaf == VALUE_JSON) {
		if (!json_is_string(j))
			return -1;
		buf_put(b, json_string_value(j), json_string_length(j));
		return 0;
	}
	if (t.depth == 0)
		return leaf_from_json(t.leaf, j, b);
	if (!json_is_array(j))
		return -1;
	buf_u32(b, t.leaf);
	buf_u64(b, json_array_size(j));
	for (i = 0; i < json_array_size(j); i++)
		if (leaf_from_json(t.leaf, json_array_get(j, i), b) < 0)
			return -1;
	return 0;
}

static bool
same_type(struct value_type a, struct value_type b)
{
	return a.depth == b.depth && a.leaf == b.leaf;
}

void
value_found_add(struct value_found *f, unsigned depth, uint32_t item)
{
	struct value_type t = { (uint8_t)depth, (uint8_t)item };

	if (!f->any)
		f->type = t;
	else if (!same_type(f->type, t))
		f->type = (struct value_type){ 1, VALUE_ARRAY };
	f->any = true;
}

struct value_type
value_found_type(const struct value_found *f)
{
	return f->any ? f->type : (struct value_type){ 1, VALUE_ARRAY };
}

/* The checker is a small stack machine: level[d] holds the item type of the array at depth
 * d and the number of its items still to come. The next bytes are either a token (an array
 * head of 12 bytes, a string length of 8) or a run that needs no check. */

static void
check_expect(struct value_check *c)
{
	while (c->depth > 0) {
		uint32_t item = c->level[c->depth].item;
		uint64_t left = c->level[c->depth].left;

		if (left == 0) {
			c->depth--;
			continue;
		}
		if (value_leaf_bytes(item)) {
			if (__builtin_mul_overflow(left, value_leaf_bytes(item), &c->skip))
				c->failed = true;
			c->level[c->depth].left = 0;
			return;
		}
		c->level[c->depth].left--;
		c->need = item == VALUE_STRING ? 8 : HEAD;
		return;
	}
	c->done = true;
}

static void
check_token(struct value_check *c)
{
	bool is_string = c->need == 8;
	uint32_t item;
	unsigned d;

	c->have = c->need = 0;
	if (is_string) {
		c->skip = le64(c->token);
		return;
	}
	item = le32(c->token);
	d = ++c->depth;
	if (item >= LEAVES || d >= VALUE_DEPTH ||
	    (item == VALUE_ARRAY && d + 1 >= VALUE_DEPTH)) {
		c->failed = true;
		return;
	}
	if (item != VALUE_ARRAY)
		value_found_add(&c->found, d, item);
	c->level[d].item = item;
	c->level[d].left = le64(c->token + 4);
}

void
value_check_begin(struct value_check *c, struct value_type t)
{
	*c = (struct value_check){ .type = t };
	if (t.depth > 0)
		c->need = HEAD;
	else if (t.leaf == VALUE_STRING)
		c->need = 8;
	else
		c->skip = value_leaf_bytes(t.leaf);
}

void
value_check_add(struct value_check *c, const uint8_t *p, size_t n)
{
	if (c->type.leaf == VALUE_JSON && c->type.depth == 0)
		return;
	while (n > 0 && !c->failed) {
		size_t part;

		if (c->done) {
			c->failed = true;
			return;
		}
		if (c->skip > 0) {
			part = c->skip < n ? (size_t)c->skip : n;
			c->skip -= part;
		} else {
			part = c->need - c->have < n ? c->need - c->have : n;
			memcpy(c->token + c->have, p, part);
			c->have += (unsigned)part;
			if (c->have == c->need)
				check_token(c);
		}
		p += part;
		n -= part;
		if (c->skip == 0 && c->have == 0 && c->need == 0)
			check_expect(c);
	}
}

bool
value_check_end(const struct value_check *c)
{
	if (c->type.leaf == VALUE_JSON && c->type.depth == 0)
		return true;
	if (!c->done || c->failed)
		return false;
	return c->type.depth == 0 || same_type(value_found_type(&c->found), c->type);
}

int
value_u64(struct value_type t, const uint8_t *wire, size_t n, uint64_t *v)
{
	const size_t bytes = value_leaf_bytes(t.leaf);
	const bool is_signed = t.leaf == VALUE_I8 || t.leaf == VALUE_I16 || t.leaf == VALUE_I32 ||
	                       t.leaf == VALUE_I64;
	uint64_t bits = 0;
	size_t i;

	if (t.depth || bytes == 0 || bytes > n || t.leaf == VALUE_F32 || t.leaf == VALUE_F64 ||
	    t.leaf == VALUE_BOOL)
		return -1;
	for (i = 0; i < bytes; i++)
		bits |= (uint64_t)wire[i] << (8 * i);
	if (is_signed && bits >> (8 * bytes - 1))
		return -1;
	*v = bits;
	return 0;
}

const char *
value_string(struct value_type t, const uint8_t *wire, size_t n, size_t *length)
{
	if (t.depth || t.leaf != VALUE_STRING || n < 8)
		return NULL;
	*length = n - 8;
	return (const char *)wire + 8;
}
