#include "core/json.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* jansson needs up to about 60 bytes of memory per byte of text ("[0,0,0,..."). This
 * limit keeps the cost of any text below that of a plan of a million tensors. It applies
 * to all threads together. */
#define JSON_MEMORY ((size_t)1 << 30)
#define EXACT ((uint64_t)1 << 53)
#define DEPTH 2048 /* levels that json_pretty writes, as many as the library reads */

/* Precedes each block, so that frees are counted too. The blocks that a parse allocates
 * form a list, newest first; the links are meaningless after that parse. */
union head {
	struct {
		size_t bytes; /* including this head */
		union head *older, *newer;
		uint64_t parse; /* number of the parse; 0: none */
	} is;
	max_align_t align;
};

static atomic_size_t used;

/* The parse under way in this thread. When memory runs out, jansson's lexer continues
 * without the byte that it could not store and then writes past its buffer. So a failed
 * allocation never returns to jansson: longjmp leaves the parse, and its blocks are
 * freed. */
static _Thread_local struct {
	uint64_t number; /* 0: no parse is under way */
	union head *newest;
	jmp_buf out;
} parse;

static atomic_uint_fast64_t parses; /* the last number given to a parse */

/* Counts n more bytes, unless they exceed the limit. */
static bool
take(size_t n)
{
	if (atomic_fetch_add_explicit(&used, n, memory_order_relaxed) < JSON_MEMORY - n)
		return true;
	atomic_fetch_sub_explicit(&used, n, memory_order_relaxed);
	return false;
}

static void
enlist(union head *h)
{
	h->is.parse = parse.number;
	h->is.older = parse.newest;
	h->is.newer = NULL;
	if (parse.newest)
		parse.newest->is.newer = h;
	parse.newest = h;
}

static void
delist(union head *h)
{
	if (h->is.newer)
		h->is.newer->is.older = h->is.older;
	else
		parse.newest = h->is.older;
	if (h->is.older)
		h->is.older->is.newer = h->is.newer;
}

static void *
capped_malloc(size_t n)
{
	union head *h = NULL;

	if (n < JSON_MEMORY - sizeof *h && take(n + sizeof *h)) {
		h = malloc(n + sizeof *h);
		if (!h)
			atomic_fetch_sub_explicit(&used, n + sizeof *h, memory_order_relaxed);
	}
	if (!h) {
		if (parse.number)
			longjmp(parse.out, 1);
		return NULL;
	}
	h->is.bytes = n + sizeof *h;
	h->is.parse = 0;
	if (parse.number)
		enlist(h);
	return h + 1;
}

static void
capped_free(void *p)
{
	union head *h = p;

	if (!h)
		return;
	h--;
	if (h->is.parse && h->is.parse == parse.number)
		delist(h);
	atomic_fetch_sub_explicit(&used, h->is.bytes, memory_order_relaxed);
	free(h);
}

/* Runs before main: a value made with one allocator must not meet the free of another. */
__attribute__((constructor)) static void
setup(void)
{
	json_set_alloc_funcs(capped_malloc, capped_free);
	/* This opens the system's random numbers, which the sandbox forbids later. */
	json_object_seed(0);
}

/* Calls json_loadb. *denied tells whether memory ran out. */
static json_t *
load(const void *text, size_t n, size_t flags, json_error_t *je, bool *denied)
{
	json_t *v;

	*denied = true;
	parse.newest = NULL;
	if (setjmp(parse.out)) {
		while (parse.newest)
			capped_free(parse.newest + 1);
		parse.number = 0;
		return NULL;
	}
	parse.number = atomic_fetch_add(&parses, 1) + 1;
	/* The library's parser does not accept a null pointer, which an empty buffer
	 * has. */
	v = json_loadb(n ? text : "", n, flags | JSON_REJECT_DUPLICATES, je);
	parse.number = 0;
	*denied = false;
	return v;
}

static json_t *
parse_text(const void *text, size_t n, size_t flags, enum err_code code, const char *what,
      struct err *e)
{
	json_error_t je;
	json_t *v;
	bool denied;
	char said[JSON_ERROR_TEXT_LENGTH * 2];
	const char *nul = n ? memchr(text, 0, n) : NULL;

	/* The library ignores a NUL after a number, where other readers may see the end
	 * of the text. */
	if (nul) {
		err_set(e, code, what, "is not valid JSON at byte %td: a NUL",
		        nul - (const char *)text);
		return NULL;
	}
	v = load(text, n, flags, &je, &denied);
	if (v)
		return v;
	if (denied) {
		err_set(e, ERR_MEMORY, what, "its JSON needs too much memory");
		return NULL;
	}
	text_quote(said, sizeof said, je.text, strlen(je.text));
	err_set(e, code, what, "is not valid JSON at byte %d: %s", je.position, said);
	return NULL;
}

json_t *
json_parse_any(const void *text, size_t n, enum err_code code, const char *what,
               struct err *e)
{
	return parse_text(text, n, JSON_DECODE_ANY, code, what, e);
}

json_t *
json_parse(const void *text, size_t n, enum err_code code, const char *what,
           struct err *e)
{
	json_t *v = parse_text(text, n, 0, code, what, e);

	if (v && !json_is_object(v)) {
		json_decref(v);
		err_set(e, code, what, "is not a JSON object");
		return NULL;
	}
	return v;
}

/* ---- integers beyond 64 bits ---- */

/* Whether n characters of a number are digits of an integer that is, or may be by its sign,
 * beyond 64 bits. */
static bool
is_wide(const char *s, size_t n)
{
	static const char most[] = "9223372036854775807";
	size_t digits = sizeof most - 1, i;

	for (i = 0; i < n; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return n >= digits && (n > digits || memcmp(s, most, digits) > 0);
}

/* The end of a string; p is behind its first quote. */
static const char *
skip_string(const char *p, const char *end)
{
	for (; p < end && *p != '"'; p++)
		if (*p == '\\' && p + 1 < end)
			p++;
	return p < end ? p + 1 : end;
}

/* Copies JSON text; long integers get a fraction, which makes them real numbers. */
static void
widen(const char *p, size_t n, struct buf *b)
{
	const char *end = p + n, *from = p, *s;

	while (p < end) {
		if (*p == '"') {
			p = skip_string(p + 1, end);
		} else if (*p >= '0' && *p <= '9') {
			for (s = p; p < end && strchr("0123456789.eE+-", *p); p++)
				;
			if (!is_wide(s, (size_t)(p - s)))
				continue;
			buf_put(b, from, (size_t)(p - from));
			buf_text(b, ".0");
			from = p;
		} else {
			p++;
		}
	}
	buf_put(b, from, (size_t)(end - from));
}

json_t *
json_parse_wide(const void *text, size_t n, enum err_code code, const char *what,
                struct err *e)
{
	struct err first = ERR_INIT;
	json_t *v = json_parse(text, n, code, what, &first);
	struct buf b = { 0 };

	if (!v && strstr(first.fact, "too big")) {
		widen(text, n, &b);
		if (buf_ok(&b))
			v = json_parse(b.p, b.n, code, what, e);
		else
			err_memory(e);
		buf_free(&b);
	} else if (!v && e->code == ERR_NONE) {
		*e = first;
	}
	return v;
}

static int
append(const char *text, size_t n, void *b)
{
	buf_put(b, text, n);
	return buf_ok(b) ? 0 : -1;
}

int
json_write(const json_t *v, struct buf *b)
{
	return json_dump_callback(v, append, b, JSON_COMPACT | JSON_ENCODE_ANY);
}

void
json_put_real(struct buf *b, double v)
{
	char text[40];
	int digits = 0, power;

	do
		snprintf(text, sizeof text, "%.*e", digits, v);
	while (strtod(text, NULL) != v && ++digits < 17);
	power = atoi(strchr(text, 'e') ? strchr(text, 'e') + 1 : "0");
	if (power >= -4 && power < 16)
		snprintf(text, sizeof text, "%.*f", digits > power ? digits - power : 1, v);
	buf_text(b, text);
}

/* depth: number of objects and arrays around v. */
static int
pretty(const json_t *v, struct buf *b, int depth)
{
	bool object = json_is_object(v), first = true;
	const char *name;
	json_t *member;
	size_t i;

	if (json_is_real(v)) {
		json_put_real(b, json_real_value(v));
		return 0;
	}
	if (json_object_size(v) == 0 && json_array_size(v) == 0)
		return json_write(v, b);
	if (depth > DEPTH)
		return -1;
	buf_u8(b, object ? '{' : '[');
	json_object_foreach((json_t *)(uintptr_t)v, name, member) {
		buf_printf(b, "%s\n%*s", first ? "" : ",", 2 * (depth + 1), "");
		json_quote(b, name, strlen(name));
		buf_text(b, ": ");
		if (pretty(member, b, depth + 1) < 0)
			return -1;
		first = false;
	}
	json_array_foreach(v, i, member) {
		buf_printf(b, "%s\n%*s", first ? "" : ",", 2 * (depth + 1), "");
		if (pretty(member, b, depth + 1) < 0)
			return -1;
		first = false;
	}
	buf_printf(b, "\n%*s%c", 2 * depth, "", object ? '}' : ']');
	return 0;
}

int
json_pretty(const json_t *v, struct buf *b)
{
	return pretty(v, b, 0) < 0 || !buf_ok(b) ? -1 : 0;
}

void
json_quote(struct buf *b, const char *s, size_t n)
{
	json_t *v = json_stringn(s, n);

	if (!v || json_write(v, b) < 0)
		b->failed = true;
	json_decref(v);
}

/* Escapes dangerous characters outside ASCII, and DEL. In compact JSON these occur only
 * in strings, where the library has already escaped the characters below a space. */
static void
escape(struct buf *to, const struct buf *from)
{
	const uint8_t *p = from->p;
	size_t n = from->n, len;
	uint32_t c;

	for (; n > 0; p += len, n -= len) {
		for (len = 0; len < n && p[len] < 0x7f; len++)
			;
		if (len > 0) {
			buf_put(to, p, len);
			continue;
		}
		len = text_character(p, n, &c);
		if (len == 0) /* cannot happen: the library writes UTF-8 */
			len = 1, c = 0xfffd;
		if (!text_dangerous(c))
			buf_put(to, p, len);
		else if (c > 0xffff)
			buf_printf(to, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
		else
			buf_printf(to, "\\u%04x", c);
	}
}

int
json_show(const json_t *v, struct buf *b)
{
	struct buf text = { 0 };

	if (json_write(v, &text) < 0)
		b->failed = true;
	else
		escape(b, &text);
	buf_free(&text);
	return buf_ok(b) ? 0 : -1;
}

void
json_show_text(struct buf *b, const char *s, size_t n)
{
	json_t *v = json_stringn(s, n);

	if (!v || json_show(v, b) < 0)
		b->failed = true;
	json_decref(v);
}

int
json_value_u64(const json_t *v, uint64_t *n)
{
	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		*n = (uint64_t)json_integer_value(v);
		return 0;
	}
	if (json_is_string(v))
		return text_u64(json_string_value(v), 0, UINT64_MAX, n);
	return -1;
}

int
json_member_u64(const json_t *o, const char *name, uint64_t *v)
{
	return json_value_u64(json_object_get(o, name), v);
}

int
json_member_text(const json_t *o, const char *name, const char **s)
{
	json_t *v = json_object_get(o, name);

	if (!json_is_string(v))
		return -1;
	*s = json_string_value(v);
	return 0;
}

json_t *
json_from_u64(uint64_t v)
{
	char text[24];

	if (v <= EXACT)
		return json_integer((json_int_t)v);
	snprintf(text, sizeof text, "%" PRIu64, v);
	return json_string(text);
}
