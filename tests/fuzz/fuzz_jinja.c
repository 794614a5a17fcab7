/* fuzz_jinja: the structure of chat templates (check/jinja.h), and signs in them.
 *
 *     1. A text is accepted, or refused with a fact and a place inside of it.
 *     2. What is accepted is accepted twice in a row, and inside of a block.
 *     3. A template that is written whole is accepted; with one block that does not end, it is
 *        refused. Neither depends on what stands in texts, comments and raw blocks.
 *     4. Signs lie inside the text, in order.
 *
 * The first byte chooses: even, the rest is a text; odd, the rest are the dice that write a
 * template.
 */
#include "mutate.h"

#include "check/jinja.h"
#include "check/template.h"
#include "dice.h"

#define DEPTH 6
#define LONG 4096 /* a template that has become this long gets no more parts */

/* ---- a template, written whole ---- */

static const char *const texts[] = { "user: ", "}} ", "%} ", "#}", "'", "\"", "\n", "a } b", "\xc3\xa9" };
static const char *const quoted[] = { "'%}'", "\"}}\"", "'{% if %}'", "'\\''", "\"\\\\\"", "'#}'", "''" };
static const char *const names[] = { "message", "messages[0]", "x.role", "loop.index0", "tools",
	"a.b['c'].d", "f(x, y=1)", "x | trim", "x|tojson(indent=4)", "not x", "1", "x is defined",
	"x.__class__", "x|attr('__mro__')" };
static const char *const joins[] = { " + ", " == ", " ~ ", " and ", ", ", " != ", " >= ", " % " };
static const char *const opens[] = { "{%", "{%-", "{%+" };
static const char *const closes[] = { "%}", "-%}", " %}", " +%}" };

static void
put_expression(struct buf *b, struct dice *d, unsigned depth)
{
	unsigned kind = depth ? roll(d, 6) : roll(d, 2);

	if (kind == 0)
		buf_text(b, ONE_OF(d, quoted));
	else if (kind == 1)
		buf_text(b, ONE_OF(d, names));
	else if (kind == 2) {
		put_expression(b, d, depth - 1);
		buf_text(b, ONE_OF(d, joins));
		put_expression(b, d, depth - 1);
	} else {
		buf_text(b, kind == 3 ? "(" : kind == 4 ? "[" : "{'a': ");
		put_expression(b, d, depth - 1);
		buf_text(b, kind == 3 ? ")" : kind == 4 ? "]" : "}");
	}
}

static void
put_statement(struct buf *b, struct dice *d, const char *name, bool value)
{
	buf_text(b, ONE_OF(d, opens));
	buf_text(b, roll(d, 2) ? " " : "\n\t");
	buf_text(b, name);
	if (value) {
		buf_text(b, " ");
		put_expression(b, d, 2);
		buf_text(b, " ");
	}
	buf_text(b, ONE_OF(d, closes));
}

static void put_parts(struct buf *b, struct dice *d, unsigned depth);

/* A block and its end, or what else can stand in a template. */
static void
put_part(struct buf *b, struct dice *d, unsigned depth)
{
	static const struct { const char *name, *end; bool value; } blocks[] = {
		{ "if x", "endif", false }, { "if", "endif", true }, { "for m in", "endfor", true },
		{ "macro f(a, b=1)", "endmacro", false }, { "call", "endcall", true },
		{ "filter upper", "endfilter", false }, { "set x", "endset", false },
		{ "generation", "endgeneration", false }, { "block body", "endblock", false },
		{ "with x = 1", "endwith", false },
	};
	unsigned kind = roll(d, depth ? 8 : 5), i;

	if (kind == 0) {
		buf_text(b, ONE_OF(d, texts));
	} else if (kind == 1) {
		buf_text(b, roll(d, 2) ? "{{ " : "{{- ");
		put_expression(b, d, 3);
		buf_text(b, roll(d, 2) ? " }}" : " -}}");
	} else if (kind == 2) {
		put_statement(b, d, "set y =", true);
	} else if (kind == 3) {
		buf_text(b, "{# {% if {{ '");
		buf_text(b, ONE_OF(d, names));
		buf_text(b, " #}");
	} else if (kind == 4) {
		put_statement(b, d, "raw", false);
		buf_text(b, "{% if {{ {# '");
		put_statement(b, d, "endraw", false);
	} else {
		i = roll(d, sizeof blocks / sizeof *blocks);
		put_statement(b, d, blocks[i].name, blocks[i].value);
		put_parts(b, d, depth - 1);
		if (i < 2 && roll(d, 2)) {
			put_statement(b, d, roll(d, 2) ? "else" : "elif y", false);
			put_parts(b, d, depth - 1);
		}
		put_statement(b, d, blocks[i].end, false);
	}
}

static void
put_parts(struct buf *b, struct dice *d, unsigned depth)
{
	unsigned n = roll(d, 4);

	for (; n > 0 && b->n < LONG; n--)
		put_part(b, d, depth);
}

/* ---- properties ---- */

static bool
is_accepted(const struct buf *b)
{
	const char *fact = NULL;
	size_t at = 0;
	bool ok = jinja_check(b->n ? (const char *)b->p : "", b->n, &fact, &at);

	must(ok ? at == b->n : fact && at <= b->n);
	return ok;
}

static void
find_signs(const struct buf *b)
{
	struct template_sign sign;
	size_t at = 0, last = 0;

	while (template_next((const char *)b->p, b->n, &at, &sign)) {
		must(at > last && at <= b->n && sign.offset < at && sign.what);
		fuzz_printable(sign.text);
		last = at;
	}
}

/* A text that may end with half a sign of Jinja's. */
static void
text(const uint8_t *p, size_t n)
{
	struct buf one = { 0 }, two = { 0 };

	buf_put(&one, p, n);
	find_signs(&one);
	if (is_accepted(&one)) {
		buf_put(&two, p, n);
		buf_text(&two, "\n{% if x %}");
		must(!is_accepted(&two));
		buf_put(&two, p, n);
		buf_text(&two, "\n{% endif %}");
		must(is_accepted(&two) || n > JINJA_DEPTH * 5);
	}
	buf_free(&one);
	buf_free(&two);
}

static void
written(const uint8_t *p, size_t n)
{
	static const char *const broken[] = { "{% if x %}", "{% for m in y %}", "{{ x", "{# x", "{% x",
		"{% endif %}", "{{ (x }}", "{{ x] }}", "{{ 'x }}", "{% raw %}{{", "{% else %}", "{% %}" };
	struct dice d = { crc32_add(0, p, n), false };
	struct buf b = { 0 };

	put_parts(&b, &d, DEPTH);
	must(is_accepted(&b));
	find_signs(&b);
	buf_text(&b, "\n");
	buf_text(&b, ONE_OF(&d, broken));
	must(!is_accepted(&b));
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0)
		(data[0] % 2 ? written : text)(data + 1, size - 1);
	return 0;
}

/* A template that is written whole, or a part of one at any place. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct dice d = { seed, false };
	struct buf b = { 0 };
	size_t at;

	if (size < 2 || data[0] % 2 || seed % 3 == 0)
		return LLVMFuzzerMutate(data, size, max);
	at = seed % 3 == 1 ? 1 : 1 + roll(&d, (unsigned)size);
	at = at < size ? at : size;
	buf_put(&b, data, at);
	put_parts(&b, &d, roll(&d, DEPTH));
	if (seed % 3 == 2)
		buf_put(&b, data + at, size - at);
	return mutate_done(&b, data, size, max);
}
