/* fuzz_value: one typed value as wire bytes, as JSON, and its type as text.
 * The first two bytes choose the type and where the bytes are cut.
 */
#include "fuzz.h"

static bool
is_value(struct value_type t, const uint8_t *p, size_t n, size_t cut)
{
	struct value_check c;

	value_check_begin(&c, t);
	for (; n > cut; p += cut, n -= cut)
		value_check_add(&c, p, cut);
	value_check_add(&c, p, n);
	return value_check_end(&c);
}

/* Wire, JSON and wire again. */
static void
through_json(struct value_type t, const uint8_t *p, size_t n)
{
	struct err e = ERR_INIT;
	struct buf text = { 0 }, wire = { 0 };
	json_t *j = value_to_json(t, p, n), *parsed;

	must(j && json_write(j, &text) == 0);
	parsed = json_parse_any(text.p, text.n, ERR_CORRUPT, "value", &e);
	must_say(parsed && json_equal(parsed, j), &e);
	must(value_from_json(t, parsed, &wire) == 0 && buf_ok(&wire));
	must(wire.n == n && (n == 0 || memcmp(wire.p, p, n) == 0));
	json_decref(parsed);
	json_decref(j);
	buf_free(&text);
	buf_free(&wire);
}

/* JSON that may be the value of this type, in whatever spelling. */
static void
from_json(struct value_type t, const uint8_t *p, size_t n)
{
	struct err e = ERR_INIT;
	struct buf wire = { 0 };
	json_t *j = json_parse_any(p, n, ERR_CORRUPT, "value", &e);

	if (j && value_from_json(t, j, &wire) == 0) {
		must(is_value(t, wire.p, wire.n, 1 << 20));
		if (value_is_inline(t, wire.p, wire.n))
			through_json(t, wire.p, wire.n);
	}
	json_decref(j);
	buf_free(&wire);
}

static void
type_text(struct value_type t, const uint8_t *p, size_t n)
{
	char text[VALUE_TYPE_TEXT];
	struct value_type back;

	must(value_type_parse(value_type_text(t, text), &back) == 0);
	must(back.depth == t.depth && back.leaf == t.leaf);
	if (n < sizeof text) {
		memcpy(text, p, n);
		text[n] = '\0';
		if (value_type_parse(text, &back) == 0)
			must(strcmp(value_type_text(back, (char[VALUE_TYPE_TEXT]){ 0 }),
			            text) == 0);
	}
}

static void
quoted(const uint8_t *p, size_t n)
{
	char whole[16384], cut[20];

	text_quote(whole, sizeof whole, (const char *)p, n);
	fuzz_printable(whole);
	text_quote(cut, sizeof cut, (const char *)p, n);
	fuzz_printable(cut);
	must(strlen(cut) < sizeof cut);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t leaves[] = { VALUE_U8, VALUE_I8, VALUE_U16, VALUE_I16,
		VALUE_U32, VALUE_I32, VALUE_F32, VALUE_BOOL, VALUE_STRING, VALUE_ARRAY,
		VALUE_U64, VALUE_I64, VALUE_F64, VALUE_JSON };
	struct value_type t;
	uint8_t *p;
	uint64_t v;
	size_t n, cut;
	bool whole;

	if (size < 2)
		return 0;
	t.leaf = leaves[(data[0] & 15) % sizeof leaves];
	t.depth = t.leaf == VALUE_JSON ? 0 : t.leaf == VALUE_ARRAY ? 1 : data[0] >> 4 & 3;
	cut = data[1] + 1u;
	n = size - 2;
	p = malloc(n + 1);
	must(p);
	memcpy(p, data + 2, n);
	p[n] = 0;

	type_text(t, p, n);
	quoted(p, n);
	from_json(t, p, n);
	whole = is_value(t, p, n, n + 1);
	must(whole == is_value(t, p, n, cut));
	must(whole == is_value(t, p, n, 1));
	if (value_is_inline(t, p, n)) {
		must(whole && n <= VALUE_INLINE_BYTES);
		through_json(t, p, n);
	}
	if (whole && t.depth == 0) {
		value_u64(t, p, n, &v);
		if (value_string(t, p, n, &cut))
			must(cut == n - 8);
	}
	free(p);
	return 0;
}
