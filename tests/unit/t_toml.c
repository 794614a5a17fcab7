/* toml: documents that TOML 1.0 allows and forbids, what this reader refuses, and editing. */
#include "wire/toml.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "test.h"

static void
show_value(struct buf *b, const struct toml_value *v)
{
	size_t i;

	switch (v->type) {
	case TOML_TEXT:
		buf_u8(b, '\'');
		buf_put(b, v->text, v->n);
		buf_u8(b, '\'');
		break;
	case TOML_INTEGER:
		buf_printf(b, "%" PRId64, v->integer);
		break;
	case TOML_FLOAT:
		buf_text(b, signbit(v->real) ? "-" : "+");
		buf_printf(b, isnan(v->real) ? "nan" : "%.6g", fabs(v->real));
		break;
	case TOML_BOOLEAN:
		buf_text(b, v->yes ? "true" : "false");
		break;
	case TOML_ARRAY:
		buf_u8(b, '[');
		for (i = 0; i < v->n; i++) {
			buf_text(b, i ? "," : "");
			show_value(b, &v->items[i]);
		}
		buf_u8(b, ']');
	}
}

/* Writes "PATH=VALUE PATH=VALUE", in the order of the document. */
static void
show(struct buf *b, const struct toml *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		buf_printf(b, "%s%s=", i ? " " : "", t->entries[i].path);
		show_value(b, &t->entries[i].value);
	}
}

struct good {
	const char *text, *shown;
};

static const struct good goods[] = {
	{ "", "" },
	{ "\xef\xbb\xbf", "" },
	{ "# a comment\n\n\t \n#\xc3\xbc\ttab", "" },
	{ "\xef\xbb\xbf# after a byte order mark\na=1", "a=1" },
	{ "a = 1\r\nb = 2\r\n", "a=1 b=2" },
	{ "a=1#c", "a=1" },
	{ "a=1\n \t", "a=1" },
	/* keys */
	{ "bare_key = 1\nbare-key = 2\n1234 = 3\nKEY=4\nkey=5", "bare_key=1 bare-key=2 1234=3 KEY=4 key=5" },
	{ "\"127.0.0.1\" = 1\n'quoted \"x\"' = 2\n\"\" = 3", "\"127.0.0.1\"=1 \"quoted \\\"x\\\"\"=2 \"\"=3" },
	{ "\"a\" = 1\n'b' = 2\n\"\\u0063\"=3", "a=1 b=2 c=3" },
	{ "a . b\t.  'c' = 1", "a.b.c=1" },
	{ "a.b = 1\na.c = 2\nd = 3\na.e = 4", "a.b=1 a.c=2 d=3 a.e=4" },
	{ "3.14 = 1\ninf = 2\ntrue = 3\nnan=4", "3.14=1 inf=2 true=3 nan=4" },
	{ "- = 1\n_ = 2\n-1=3", "-=1 _=2 -1=3" },
	/* tables */
	{ "[a]\nx=1\n[b]\nx=2\n[ c . \"d\" ]\nx=3", "a.x=1 b.x=2 c.d.x=3" },
	{ "[a.b.c]\nx=1\n[a]\ny=2\n[a.b]\nz=3", "a.b.c.x=1 a.y=2 a.b.z=3" },
	{ "[a]\n[a.b] # c\n", "" },
	{ "[a]\nb.c=1\nb.d.e=2\n[a.b.f]\nx=3", "a.b.c=1 a.b.d.e=2 a.b.f.x=3" },
	{ "[a.b]\nx=1\n[a]\nc.d=2", "a.b.x=1 a.c.d=2" },
	{ "[a.b.c]\n[a]\nb.d=1", "a.b.d=1" },
	/* strings */
	{ "a = \"\"\nb=''", "a='' b=''" },
	{ "a = \"\\b\\t\\n\\f\\r\\\"\\\\\"", "a='\b\t\n\f\r\"\\'" },
	{ "a = \"\\u00fc\\U0001F600\\u20AC\\u007f\"", "a='\xc3\xbc\xf0\x9f\x98\x80\xe2\x82\xac\x7f'" },
	{ "a = 'C:\\no\\escape\\'", "a='C:\\no\\escape\\'" },
	{ "a = '\ttab'\nb=\"\ttab\"", "a='\ttab' b='\ttab'" },
	{ "a = \"# [x] = 1\" # c", "a='# [x] = 1'" },
	{ "a = '\"'\nb = \"'\"", "a='\"' b='''" },
	/* integers */
	{ "a=0\nb=+0\nc=-0\nd=+99\ne=-17\nf=1_000\ng=5_3_4", "a=0 b=0 c=0 d=99 e=-17 f=1000 g=534" },
	{ "a=0xDEADbeef\nb=0xdead_beef\nc=0o755\nd=0b1101\ne=0x00f\nf=0x0",
	  "a=3735928559 b=3735928559 c=493 d=13 e=15 f=0" },
	{ "a=9223372036854775807\nb=-9223372036854775808\nc=0x7fff_ffff_ffff_ffff",
	  "a=9223372036854775807 b=-9223372036854775808 c=9223372036854775807" },
	/* floats */
	{ "a=1.0\nb=3.1415\nc=-0.01\nd=5e+22\ne=1e06\nf=-2E-2\ng=6.626e-34\nh=+1.5",
	  "a=+1 b=+3.1415 c=-0.01 d=+5e+22 e=+1e+06 f=-0.02 g=+6.626e-34 h=+1.5" },
	{ "a=224_617.445_991_228\nb=0.0\nc=-0.0\nd=+0.0\ne=0e0\nf=1e1_0", "a=+224617 b=+0 c=-0 d=+0 e=+0 f=+1e+10" },
	{ "a=inf\nb=+inf\nc=-inf\nd=nan\ne=+nan", "a=+inf b=+inf c=-inf d=+nan e=+nan" },
	{ "a=true\nb=false", "a=true b=false" },
	/* arrays */
	{ "a=[]\nb=[ ]\nc=[1,2 , 3,]\nd=['x',\"y\"]", "a=[] b=[] c=[1,2,3] d=['x','y']" },
	{ "a=[1,'x',true,0.5]", "a=[1,'x',true,+0.5]" },
	{ "a = [ # c ]\n\n  1, # one\r\n\t2\n # three\n , # c\n]\nb=1", "a=[1,2] b=1" },
};

static void
good(const struct good *x)
{
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct toml t;
	char text[200];
	/* Exactly as many bytes as there are, so that sanitizers find reading beyond them. */
	const size_t n = strlen(x->text);
	char *exact = malloc(n ? n : 1);
	int r = exact ? toml_parse(&t, "in", memcpy(exact, x->text, n), n, &e) : -1;

	show(&b, &t);
	test_ok(r == 0 && buf_string(&b) && strcmp((char *)b.p, x->shown) == 0, "good: %s%s%s",
	        text_quote(text, sizeof text, x->text, strlen(x->text)), *e.fact ? ": " : "", e.fact);
	buf_free(&b);
	toml_free(&t);
	free(exact);
}

struct bad {
	const char *text, *at, *fact;
};

static const struct bad bads[] = {
	/* what this reader does not support */
	{ "a = \"\"\"x\"\"\"", "1:5", "a string of several lines (\"\"\") is not supported" },
	{ "a = '''x'''", "1:5", "a string of several lines (''') is not supported" },
	{ "\n\n  a = 1979-05-27", "3:7", "a date or a time is not supported" },
	{ "a = 1979-05-27T07:32:00Z", "1:5", "a date or a time" },
	{ "a = 07:32:00", "1:5", "a date or a time" },
	{ "a = { b = 1 }", "1:5", "an inline table is not supported" },
	{ "a = [1, { b = 1 }]", "1:9", "an inline table is not supported" },
	{ "[[a]]\nb=1", "1:1", "an array of tables ([[...]]) is not supported" },
	{ "a = [[1], [2]]", "1:6", "an array in an array is not supported" },
	{ "a.b.c.d.e.f.g.h.i = 1", "1:17", "more than 8 parts" },
	{ "[a.b.c.d]\n'e'.f.g.h.i = 1", "2:11", "more than 8 parts" },
	/* lines */
	{ "a", "1:2", "= was expected" },
	{ "a = ", "1:5", "a value was expected" },
	{ "a = # c", "1:5", "a value was expected" },
	{ "a =\n1", "1:4", "a value was expected" },
	{ "= 1", "1:1", "a key was expected" },
	{ "a = 1 b = 2", "1:7", "more text after" },
	{ "a = 'x' 'y'", "1:9", "more text after" },
	{ "a = 1\rb = 2", "1:6", "a carriage return without a line feed" },
	{ "a = 1\r", "1:6", "a carriage return without a line feed" },
	{ "# c\r", "1:4", "a carriage return without a line feed" },
	{ "# \x01", "1:3", "a control character in a comment" },
	{ "# \x7f", "1:3", "a control character in a comment" },
	{ "a = 'x\x1fy'", "1:7", "a control character in a string" },
	{ "a = \"x\x7fy\"", "1:7", "a control character in a string" },
	{ "a = \"x\n\"", "1:5", "a string without its end quote" },
	{ "a = 'x", "1:5", "a string without its end quote" },
	{ "a = \"x\\\"", "1:5", "a string without its end quote" },
	{ "\x01", "1:1", "a key was expected" },
	{ "a = '\xc3(' # \xfc", "1:6", "bytes that are not UTF-8" },
	{ "a = \"\xed\xa0\x80\"", "1:6", "bytes that are not UTF-8" },
	{ "a=1\n\xef\xbb\xbf" "b=1", "2:1", "a key was expected" },
	{ "\xc3\xbc=1", "1:1", "a key was expected" },
	/* keys */
	{ "a = 1\na = 2", "2:1", "a is defined already (line 1)" },
	{ "a = 1\n\"a\" = 2", "2:1", "a is defined already (line 1)" },
	{ "a.b = 1\na.b = 2", "2:1", "a.b is defined already (line 1)" },
	{ "a = 1\na.b = 2", "2:1", "a is a value (line 1), not a table" },
	{ "a.b = 1\na = 2", "2:1", "a is defined already (line 1)" },
	{ "a. = 1", "1:4", "a key was expected" },
	{ ".a = 1", "1:1", "a key was expected" },
	{ "a..b = 1", "1:3", "a key was expected" },
	{ "a b = 1", "1:3", "= was expected" },
	{ "a\nb = 1", "1:2", "= was expected" },
	{ "'''a''' = 1", "1:1", "a string of several lines" },
	{ "\"a\\u0000\" = 1", "1:1", "a key with a NUL" },
	{ "a+b = 1", "1:2", "= was expected" },
	/* tables */
	{ "[a]\n[a]", "2:1", "a is defined already (line 1)" },
	{ "[a]\nb=1\n[a.b]", "3:1", "a.b is defined already (line 2)" },
	{ "[a]\nb=1\n[a.b.c]", "3:2", "a.b is a value (line 2), not a table" },
	{ "a=1\n[a]", "2:1", "a is defined already (line 1)" },
	{ "a.b=1\n[a]", "2:1", "a is defined already (line 1)" },
	{ "[a]\nb.c=1\n[a.b]", "3:1", "a.b is defined already (line 2)" },
	{ "[a.b.c]\nz=9\n[a]\nb.c.t=1", "4:1", "the table a.b.c is defined already (line 1)" },
	{ "[a.b]\n[a]\nb.c=1", "3:1", "the table a.b is defined already (line 1)" },
	{ "a.b=1\n[x]\n[a.c]\nd=1\n[a]", "5:1", "a is defined already (line 1)" },
	{ "[]", "1:2", "a key was expected" },
	{ "[a", "1:3", "] was expected" },
	{ "[a] b", "1:5", "more text after" },
	{ "[a.]", "1:4", "a key was expected" },
	{ "[a]]", "1:4", "more text after" },
	{ "[ [a] ]", "1:3", "a key was expected" },
	{ "[a\n]", "1:3", "] was expected" },
	/* strings */
	{ "a = \"\\x41\"", "1:6", "an escape that TOML does not have" },
	{ "a = \"\\e\"", "1:6", "an escape that TOML does not have" },
	{ "a = \"\\u12\"", "1:6", "too few hexadecimal digits" },
	{ "a = \"\\ud800\"", "1:6", "does not name a character" },
	{ "a = \"\\U00110000\"", "1:6", "does not name a character" },
	{ "a = text", "1:5", "text is not a value; a text needs quotes" },
	/* numbers */
	{ "a = 01", "1:5", "not a value" },
	{ "a = -01", "1:5", "not a value" },
	{ "a = 1__0", "1:5", "not a value" },
	{ "a = _1", "1:5", "not a value" },
	{ "a = 1_", "1:5", "not a value" },
	{ "a = +0x1", "1:5", "not a value" },
	{ "a = 0x", "1:5", "not a value" },
	{ "a = 0x_1", "1:5", "not a value" },
	{ "a = 0X1", "1:5", "not a value" },
	{ "a = 0o8", "1:5", "not a value" },
	{ "a = 0b2", "1:5", "not a value" },
	{ "a = +-1", "1:5", "not a value" },
	{ "a = 9223372036854775808", "1:5", "an integer beyond 64 bits" },
	{ "a = -9223372036854775809", "1:5", "an integer beyond 64 bits" },
	{ "a = 0xffffffffffffffff", "1:5", "an integer beyond 64 bits" },
	{ "a = 1.", "1:5", "not a value" },
	{ "a = .5", "1:5", "not a value" },
	{ "a = 1.e5", "1:5", "not a value" },
	{ "a = 1e", "1:5", "not a value" },
	{ "a = 1e5.0", "1:5", "not a value" },
	{ "a = 01.5", "1:5", "not a value" },
	{ "a = 1._5", "1:5", "not a value" },
	{ "a = 1e_5", "1:5", "not a value" },
	{ "a = Inf", "1:5", "not a value" },
	{ "a = True", "1:5", "not a value" },
	{ "a = 1 2", "1:7", "more text after" },
	{ "a = 1111111111111111111111111111111111111111111111111111111111111111111", "1:5", "64 characters" },
	/* arrays */
	{ "a = [1 2]", "1:8", "a comma or ] was expected" },
	{ "a = [1,,2]", "1:8", "a value was expected" },
	{ "a = [,1]", "1:6", "a value was expected" },
	{ "a = [1,\n", "1:5", "an array without its end" },
	{ "a = [1", "1:7", "a comma or ] was expected" },
	{ "a = [1\n\r]", "2:1", "a carriage return without a line feed" },
	{ "a = []]", "1:7", "more text after" },
};

static void
bad(const struct bad *x)
{
	struct err e = ERR_INIT;
	struct toml t;
	char text[200], at[40];

	snprintf(at, sizeof at, "in:%s", x->at);
	test_ok(toml_parse(&t, "in", x->text, strlen(x->text), &e) < 0 && e.code == ERR_CORRUPT &&
	        strcmp(e.object, at) == 0 && strstr(e.fact, x->fact), "bad: %s: %s: %s",
	        text_quote(text, sizeof text, x->text, strlen(x->text)), e.object, e.fact);
	toml_free(&t);
}

/* ---- limits ---- */

static void
limited(const char *about, struct buf *b, const char *fact)
{
	struct err e = ERR_INIT;
	struct toml t;
	int r = toml_parse(&t, "in", b->p, b->n, &e);

	test_ok(fact ? r < 0 && strstr(e.fact, fact) : r == 0, "%s: %s", about, e.fact);
	toml_free(&t);
	buf_clear(b);
}

/* A key whose value is a text of n bytes. */
static void
put_text(struct buf *b, size_t n)
{
	buf_text(b, "a='");
	while (n-- > 0)
		buf_u8(b, 'x');
	buf_u8(b, '\'');
}

static void
limits(void)
{
	struct buf b = { 0 };
	unsigned i;

	for (i = 0; i < TOML_KEYS; i++)
		buf_printf(&b, i % 2 ? "k%u=1\n" : "[t%u]\n", i);
	limited("as many keys as possible", &b, NULL);
	for (i = 0; i <= TOML_KEYS; i++)
		buf_printf(&b, "a%u.b.c.d.e.f.g.h=1\n", i);
	limited("one key more", &b, "more than 512 keys");
	buf_text(&b, "a=[");
	for (i = 0; i <= TOML_ITEMS; i++)
		buf_text(&b, "1,");
	limited("a long array", &b, "more than 1024 items");
	put_text(&b, TOML_BYTES - 4);
	limited("64 KiB", &b, NULL);
	put_text(&b, TOML_BYTES - 3);
	limited("a byte more", &b, "has more than 64 KiB");
	for (i = 0; i < TOML_PATH; i++)
		buf_u8(&b, 'k');
	buf_text(&b, "=1");
	limited("a long key", &b, "a key longer than 255 bytes");
	buf_put(&b, "a=1\n\0", 5);
	limited("a NUL", &b, "a control character");
	buf_put(&b, "a='\0'", 5);
	limited("a NUL in a string", &b, "a control character in a string");
	buf_free(&b);
}

/* ---- editing ---- */

static const struct edit {
	const char *text, *table, *key, *value, *result; /* value NULL: remove; result NULL: refused */
} edits[] = {
	{ "", "a", "b", "1", "[a]\nb = 1\n" },
	{ "# c", "a", "b", "1", "# c\n\n[a]\nb = 1\n" },
	{ "[a]\nb=1 # c\n", "a", "b", "22", "[a]\nb=22 # c\n" },
	{ "[a]\nb = [1, # one\n 2]\nc=1", "a", "b", "'x'", "[a]\nb = 'x'\nc=1" },
	{ "[a]\n  x = 1 # c\n# end\n[b]\ny=1\n", "a", "b", "1", "[a]\n  x = 1 # c\n  b = 1\n# end\n[b]\ny=1\n" },
	{ "[b]\ny=1", "a", "b", "1", "[b]\ny=1\n\n[a]\nb = 1\n" },
	{ "[a] # c\n[b]\n", "a", "b", "1", "[a] # c\nb = 1\n[b]\n" },
	{ "[a]", "a", "b", "1", "[a]\nb = 1\n" },
	{ "a.x=1\nz=2\n", "a", "b", "1", "a.x=1\na.b = 1\nz=2\n" },
	{ "'a' . x=1\n", "a", "b", "1", "'a' . x=1\n'a' . b = 1\n" },
	{ "a.b=1", "a", "b", "2", "a.b=2" },
	{ "[a]\r\nx=1\r\n[b]\r\n", "a", "b", "1", "[a]\r\nx=1\r\nb = 1\r\n[b]\r\n" },
	{ "[a.c]\nx=1\n", "a", "b", "1", "[a.c]\nx=1\n\n[a]\nb = 1\n" },
	{ "\xef\xbb\xbf[a]\nx=1\n", "a", "b", "1", "\xef\xbb\xbf[a]\nx=1\nb = 1\n" },
	{ "a=1\n", "a", "b", "1", NULL },
	{ "a.c.d=1\n", "a", "b", "1", NULL },
	{ "[a]\nb=1", "a", "b", "oops", NULL },
	{ "[a]\nb=1", "a", "b", "1\nc=2", NULL },
	{ "[a]\n# b\nb=1 # c\nc=2\n", "a", "b", NULL, "[a]\n# b\nc=2\n" },
	{ "[a]\nb=[1,\n2]\n[c]", "a", "b", NULL, "[a]\n[c]" },
};

static void
edit(const struct edit *x)
{
	const size_t n = strlen(x->text);
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct toml t;
	char text[200], path[40];
	int r = toml_parse(&t, "in", x->text, n, &e);

	snprintf(path, sizeof path, "%s.%s", x->table, x->key);
	if (r == 0 && x->value)
		r = toml_set(&t, "in", x->text, n, x->table, x->key, x->value, &b, &e);
	else if (r == 0)
		toml_unset(toml_find(&t, path), x->text, n, &b);
	buf_string(&b);
	test_ok(x->result ? r == 0 && strcmp((char *)b.p, x->result) == 0
	                  : r < 0 && e.code == ERR_NO && strstr(e.fact, "has no place for"),
	        "edit: %s, %s = %s%s%s", text_quote(text, sizeof text, x->text, n), path,
	        x->value ? "a value" : "nothing", *e.fact ? ": " : "", e.fact);
	buf_free(&b);
	toml_free(&t);
}

static void
quotes(void)
{
	static const char text[] = "a \"b\" \\ \n \x01 \x7f \xc3\xbc";
	struct err e = ERR_INIT;
	struct buf b = { 0 };
	struct toml t;

	buf_text(&b, "a = ");
	toml_quote(&b, text);
	test_ok(toml_parse(&t, "in", b.p, b.n, &e) == 0 && t.n == 1 &&
	        strcmp(t.entries[0].value.text, text) == 0, "a text is written as a string and read");
	toml_free(&t);
	buf_free(&b);
}

int
main(void)
{
	size_t i;

	for (i = 0; i < sizeof goods / sizeof *goods; i++)
		good(&goods[i]);
	for (i = 0; i < sizeof bads / sizeof *bads; i++)
		bad(&bads[i]);
	limits();
	for (i = 0; i < sizeof edits / sizeof *edits; i++)
		edit(&edits[i]);
	quotes();
	return test_done();
}
