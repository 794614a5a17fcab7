#include "model/value_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_items.h"
#include "core/le.h"
#include "core/text.h"

#define HEAD 12          /* an array's item type and count */
#define FLUSH (64u << 10)
#define EXACT ((uint64_t)1 << 53)
#define NUMBER 64        /* bytes of the text of a number */

/* ---- text to wire ---- */

/* The value that is being parsed. */
struct parse {
	struct value_type type; /* of the whole value */
	const char *where;
	struct buf *wire;
	struct err *e;
};

static int
refuse(struct parse *p, const char *text, size_t n)
{
	char type[VALUE_TYPE_TEXT], quoted[100];

	return err_set(p->e, ERR_USAGE, p->where, "%s is not a value of type %s",
	               text_quote(quoted, sizeof quoted, text, n),
	               value_type_text(p->type, type));
}

/* Copies a number, which may be quoted. False if it is too long for one. */
static bool
number_text(char to[NUMBER], const char *text, size_t n, bool quoted)
{
	if (quoted && n >= 2 && *text == '"' && text[n - 1] == '"') {
		text++;
		n -= 2;
	}
	if (n == 0 || n >= NUMBER)
		return false;
	memcpy(to, text, n);
	to[n] = '\0';
	return true;
}

static bool
is_signed(unsigned leaf)
{
	return leaf == VALUE_I8 || leaf == VALUE_I16 || leaf == VALUE_I32 || leaf == VALUE_I64;
}

static int
parse_integer(struct parse *p, unsigned leaf, const char *text)
{
	unsigned bits = 8 * (unsigned)value_leaf_bytes(leaf);
	uint64_t most = UINT64_MAX >> (64 - bits), v;
	bool minus = *text == '-';

	if (is_signed(leaf))
		most = (most >> 1) + minus;
	else if (minus)
		return -1;
	if (text_u64(text + minus, 0, most, &v) < 0)
		return -1;
	buf_integer(p->wire, bits / 8, minus ? 0 - v : v);
	return 0;
}

/* Only decimal numbers: strtod also takes hexadecimal ones and leading blanks. */
static bool
is_decimal(const char *s)
{
	return *s && !s[strspn(s, "0123456789+-.eE")] && strpbrk(s, "0123456789");
}

static int
parse_float(struct parse *p, unsigned leaf, const char *text)
{
	bool named = strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0 ||
	             strcmp(text, "nan") == 0;
	char *end;
	double d;
	float f;
	uint64_t q;
	uint32_t w;

	if (!named && !is_decimal(text))
		return -1;
	if (leaf == VALUE_F64) {
		d = strtod(text, &end);
		memcpy(&q, &d, sizeof q);
		buf_u64(p->wire, isnan(d) ? 0x7ff8000000000000 : q);
		return *end || (!named && isinf(d)) ? -1 : 0;
	}
	f = strtof(text, &end);
	memcpy(&w, &f, sizeof w);
	buf_u32(p->wire, isnan(f) ? 0x7fc00000 : w);
	return *end || (!named && isinf(f)) ? -1 : 0;
}

static int
parse_bool(struct parse *p, const char *text)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return -1;
	buf_u8(p->wire, *text == 't');
	return 0;
}

static int
parse_string(struct parse *p, const char *text, size_t n, bool quoted)
{
	json_t *v;

	if (!quoted) {
		if (!text_utf8(text, n, false))
			return err_set(p->e, ERR_USAGE, p->where,
			               "its text is not UTF-8, or contains a NUL");
		buf_u64(p->wire, n);
		buf_put(p->wire, text, n);
		return 0;
	}
	if (n == 0 || *text != '"')
		return refuse(p, text, n);
	if (!(v = json_parse_any(text, n, ERR_USAGE, p->where, p->e)))
		return -1;
	buf_u64(p->wire, json_string_length(v));
	buf_put(p->wire, json_string_value(v), json_string_length(v));
	json_decref(v);
	return 0;
}

static int
parse_json(struct parse *p, const char *text, size_t n)
{
	json_t *v = json_parse_any(text, n, ERR_USAGE, p->where, p->e);

	json_decref(v);
	if (!v)
		return -1;
	buf_put(p->wire, text, n);
	return 0;
}

static int
parse_leaf(struct parse *p, unsigned leaf, const char *text, size_t n, bool quoted)
{
	char number[NUMBER];
	int r;

	if (leaf == VALUE_STRING)
		return parse_string(p, text, n, quoted);
	if (leaf == VALUE_JSON)
		return parse_json(p, text, n);
	if (!number_text(number, text, n, quoted && leaf != VALUE_BOOL))
		return refuse(p, text, n);
	if (leaf == VALUE_BOOL)
		r = parse_bool(p, number);
	else if (leaf == VALUE_F32 || leaf == VALUE_F64)
		r = parse_float(p, leaf, number);
	else
		r = parse_integer(p, leaf, number);
	return r < 0 ? refuse(p, text, n) : 0;
}

/* Parses an array whose items have the given depth and leaf. */
static int
parse_array(struct parse *p, struct value_type item, const char *text, size_t n)
{
	size_t at = p->wire->n;
	struct json_part name, part;
	struct json_items w;
	uint64_t count = 0;
	int more;

	buf_u32(p->wire, item.depth ? VALUE_ARRAY : item.leaf);
	buf_u64(p->wire, 0);
	if (!json_items_begin(&w, '[', text, n))
		return refuse(p, text, n);
	while ((more = json_items_next(&w, &name, &part)) > 0) {
		struct value_type inner = { (uint8_t)(item.depth - 1), item.leaf };

		if ((item.depth ? parse_array(p, inner, part.p, part.n)
		                : parse_leaf(p, item.leaf, part.p, part.n, true)) < 0)
			return -1;
		count++;
	}
	if (more < 0)
		return err_set(p->e, ERR_USAGE, p->where, "its array is not valid JSON");
	if (buf_ok(p->wire))
		le64_put(p->wire->p + at + 4, count);
	return 0;
}

int
value_parse(struct value_type t, const char *text, size_t n, bool quoted, const char *where,
            struct buf *wire, struct err *e)
{
	struct parse p = { .type = t, .where = where, .wire = wire, .e = e };
	struct value_type item = { (uint8_t)(t.depth - 1), t.leaf };
	struct json_part part = json_trim(text, n);
	struct value_check check;
	size_t at = wire->n;
	int r;

	if (t.leaf == VALUE_STRING && t.depth == 0 && !quoted)
		part = (struct json_part){ text, n };
	if (t.leaf == VALUE_ARRAY)
		return err_set(e, ERR_USAGE, where, "is an array of arrays whose type is open: "
		               "give a type");
	r = t.depth ? parse_array(&p, item, part.p, part.n)
	            : parse_leaf(&p, t.leaf, part.p, part.n, quoted);
	if (r < 0 || !buf_ok(wire))
		return r < 0 ? -1 : err_memory(e);
	if (t.depth < 2)
		return 0;
	/* An empty array of arrays has another type. */
	value_check_begin(&check, t);
	value_check_add(&check, wire->p + at, wire->n - at);
	return value_check_end(&check) ? 0 : refuse(&p, part.p, part.n);
}

/* ---- types of text ---- */

static int
guess_number(const char *text, size_t n, struct value_type *t)
{
	char number[NUMBER];
	uint64_t v;

	if (!number_text(number, text, n, false))
		return -1;
	if (*number == '-' && text_u64(number + 1, 0, (uint64_t)INT64_MAX + 1, &v) == 0)
		t->leaf = v <= (uint64_t)INT32_MAX + 1 ? VALUE_I32 : VALUE_I64;
	else if (text_u64(number, 0, UINT64_MAX, &v) == 0)
		t->leaf = v <= UINT32_MAX ? VALUE_U32 : VALUE_U64;
	else if (is_decimal(number))
		t->leaf = VALUE_F32;
	else
		return -1;
	return 0;
}

static bool
is_integer(unsigned leaf)
{
	return leaf != VALUE_F32 && leaf != VALUE_BOOL && leaf != VALUE_STRING &&
	       leaf != VALUE_JSON;
}

/* The leaf that holds values of both. */
static int
join_leaves(unsigned a, unsigned b)
{
	if (a == b)
		return (int)a;
	if (is_integer(a) && is_integer(b))
		return VALUE_I64;
	if ((is_integer(a) && b == VALUE_F32) || (a == VALUE_F32 && is_integer(b)))
		return VALUE_F32;
	return -1;
}

static int
guess_array(const char *text, size_t n, struct value_type *t)
{
	struct json_part name, part;
	struct value_type item;
	struct json_items w;
	int more, leaf = -1;
	bool any = false;

	if (!json_items_begin(&w, '[', text, n))
		return -1;
	while ((more = json_items_next(&w, &name, &part)) > 0) {
		/* An array in an array has no type that is guessed. */
		if (*part.p == '[' || value_guess(part.p, part.n, &item) < 0 ||
		    item.leaf == VALUE_JSON)
			return -1;
		/* Arrays of integers are usually signed. */
		if (item.leaf == VALUE_U32)
			item.leaf = strtoul(part.p, NULL, 10) > INT32_MAX ? VALUE_I64 : VALUE_I32;
		leaf = any ? join_leaves((unsigned)leaf, item.leaf) : item.leaf;
		if (leaf < 0)
			return -1;
		any = true;
	}
	if (more < 0 || !any)
		return -1;
	*t = (struct value_type){ 1, (uint8_t)leaf };
	return 0;
}

int
value_guess(const char *text, size_t n, struct value_type *t)
{
	struct json_part part = json_trim(text, n);

	*t = (struct value_type){ 0, VALUE_STRING };
	if (part.n == 0)
		return -1;
	switch (*part.p) {
	case '"':
		return 0;
	case '[':
		return guess_array(part.p, part.n, t);
	case '{':
		t->leaf = VALUE_JSON;
		return 0;
	case 't':
	case 'f':
		t->leaf = VALUE_BOOL;
		return 0;
	}
	return guess_number(part.p, part.n, t);
}

/* ---- wire bytes ---- */

/* Bytes of an item, or 0 if they do not fit into the n bytes that are left. */
static size_t
item_span(unsigned item, const uint8_t *p, size_t n, unsigned depth)
{
	size_t fixed = value_leaf_bytes(item), span = HEAD, one;
	uint64_t count;

	if (fixed)
		return fixed <= n ? fixed : 0;
	if (item == VALUE_STRING)
		return n < 8 || le64(p) > n - 8 ? 0 : 8 + (size_t)le64(p);
	if (n < HEAD || depth == VALUE_DEPTH)
		return 0;
	fixed = value_leaf_bytes(le32(p));
	count = le64(p + 4);
	if (fixed)
		return count <= (n - HEAD) / fixed ? HEAD + (size_t)count * fixed : 0;
	for (; count > 0; count--, span += one)
		if (!(one = item_span(le32(p), p + span, n - span, depth + 1)))
			return 0;
	return span;
}

uint64_t
value_count(struct value_type t, const uint8_t *wire, size_t n)
{
	return t.depth > 0 && n >= HEAD ? le64(wire + 4) : 0;
}

int
value_item(struct value_type t, const uint8_t *wire, size_t n, uint64_t index, size_t *at,
           size_t *span, struct value_type *item)
{
	unsigned kind = n >= HEAD ? le32(wire) : 0;
	size_t fixed = value_leaf_bytes(kind);
	uint64_t i;

	if (index >= value_count(t, wire, n))
		return -1;
	*item = t.leaf == VALUE_ARRAY ? (struct value_type){ 1, VALUE_ARRAY }
	                              : (struct value_type){ (uint8_t)(t.depth - 1), t.leaf };
	*at = HEAD;
	if (fixed) {
		if (index >= (n - HEAD) / fixed)
			return -1;
		*at += (size_t)index * fixed;
		*span = fixed;
		return 0;
	}
	for (i = 0;; i++, *at += *span) {
		if (!(*span = item_span(kind, wire + *at, n - *at, 1)))
			return -1;
		if (i == index)
			return 0;
	}
}

/* ---- wire to text ---- */

/* The fewest digits that give the same value. */
static void
show_float(struct buf *b, double v, bool wide)
{
	int digits = wide ? 15 : 6, most = wide ? 17 : 9;
	char text[40];

	if (!isfinite(v)) {
		buf_text(b, isnan(v) ? "\"nan\"" : v > 0 ? "\"inf\"" : "\"-inf\"");
		return;
	}
	do
		snprintf(text, sizeof text, "%.*g", digits, v);
	while (digits++ < most &&
	       (wide ? strtod(text, NULL) != v : (double)strtof(text, NULL) != v));
	buf_text(b, text);
}

static void
show_integer(struct buf *b, unsigned leaf, const uint8_t *p)
{
	static const uint64_t sign[] = { [1] = 0x80, [2] = 0x8000, [4] = 0x80000000 };
	size_t i, bytes = value_leaf_bytes(leaf);
	uint64_t v = 0, size;
	bool minus = false;
	const char *quote;

	for (i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	if (is_signed(leaf)) {
		if (bytes < 8)
			v = (v ^ sign[bytes]) - sign[bytes];
		minus = v >> 63;
	}
	size = minus ? 0 - v : v;
	quote = size > EXACT ? "\"" : "";
	buf_printf(b, "%s%s%" PRIu64 "%s", quote, minus ? "-" : "", size, quote);
}

/* Bytes that are not UTF-8 are shown as \xNN, which no JSON reader gives back. */
static void
show_string(struct buf *b, const uint8_t *p, size_t n)
{
	size_t room = 4 * n + 8;
	char *quoted;

	if (text_utf8(p, n, false)) {
		json_show_text(b, (const char *)p, n);
		return;
	}
	if (!(quoted = malloc(room))) {
		b->failed = true;
		return;
	}
	text_quote(quoted, room, (const char *)p, n);
	json_show_text(b, quoted, strlen(quoted));
	free(quoted);
}

static void
show_leaf(struct buf *b, unsigned leaf, const uint8_t *p, size_t n)
{
	switch (leaf) {
	case VALUE_STRING:
		show_string(b, p + 8, n - 8);
		break;
	case VALUE_BOOL:
		buf_text(b, *p ? "true" : "false");
		break;
	case VALUE_F32:
		show_float(b, (double)le_f32(p), false);
		break;
	case VALUE_F64:
		show_float(b, le_f64(p), true);
		break;
	default:
		show_integer(b, leaf, p);
	}
}

static int
flush_full(struct buf *b, int (*flush)(struct buf *b, struct err *e), struct err *e)
{
	return flush && b->n > FLUSH ? flush(b, e) : 0;
}

static int
show_array(const uint8_t *p, size_t n, struct buf *b,
           int (*flush)(struct buf *b, struct err *e), struct err *e)
{
	uint32_t item = le32(p);
	uint64_t i, count = le64(p + 4);
	size_t at = HEAD, span;

	buf_text(b, "[");
	for (i = 0; i < count; i++, at += span) {
		if (!(span = item_span(item, p + at, n - at, 1)))
			break;
		if (i > 0)
			buf_text(b, ",");
		if (item != VALUE_ARRAY)
			show_leaf(b, item, p + at, span);
		else if (show_array(p + at, span, b, flush, e) < 0)
			return -1;
		if (flush_full(b, flush, e) < 0)
			return -1;
	}
	buf_text(b, "]");
	return 0;
}

int
value_show(struct value_type t, const uint8_t *wire, size_t n, struct buf *b,
           int (*flush)(struct buf *b, struct err *e), struct err *e)
{
	if (t.depth > 0)
		return n < HEAD ? 0 : show_array(wire, n, b, flush, e);
	if (t.leaf == VALUE_JSON)
		text_show(b, wire, n);
	else
		show_leaf(b, t.leaf, wire, n);
	return 0;
}
