/* t_numpy: arrays of NumPy in every type and order, archives, objects, and their faults. */
#include "imports.h"

#include "../gen/numpy.h"

static const struct format_options usual;

/* Open a file of one array, and compare the only tensor. */
static void
becomes(const char *about, const char *header, const void *values, size_t n, const char *type,
        const char *shape, const void *want, size_t want_bytes)
{
	struct gen g = { 0 }, w = { 0 };
	struct brought b;
	int r;

	put_npy(&g, header, values, n);
	put(&w, want, want_bytes);
	r = bring(&b, &format_numpy, g.p, g.n, &usual, false);
	test_ok(r == 0 && holds(&b, "array", type, shape, &w), "%s: %s", about, b.err.fact);
	let_go(&b);
	gen_free(&g);
	gen_free(&w);
}

/* Both byte orders, and Fortran's order, which is turned. */
static void
types_and_orders(void)
{
	static const struct { const char *code, *name; size_t bytes, number; } types[] = {
		{ "f2", "F16", 2, 2 }, { "f4", "F32", 4, 4 }, { "f8", "F64", 8, 8 },
		{ "c8", "C64", 8, 4 }, { "i1", "I8", 1, 1 }, { "i2", "I16", 2, 2 },
		{ "i4", "I32", 4, 4 }, { "i8", "I64", 8, 8 }, { "u1", "U8", 1, 1 },
		{ "u2", "U16", 2, 2 }, { "u4", "U32", 4, 4 }, { "u8", "U64", 8, 8 },
	};
	uint8_t rows[48], stored[48];
	char header[128];
	size_t i, r, c, k, e;
	int way;

	for (i = 0; i < sizeof rows; i++)
		rows[i] = (uint8_t)(i * 5 + 1);
	for (i = 0; i < sizeof types / sizeof *types; i++)
		for (way = 0; way < 4; way++) {
			bool big = way & 1, fortran = way & 2;

			e = types[i].bytes;
			for (r = 0; r < 2; r++)
				for (c = 0; c < 3; c++)
					for (k = 0; k < e; k++) {
						size_t at = fortran ? c * 2 + r : r * 3 + c;
						size_t n = types[i].number;
						size_t byte = big ? k / n * n + n - 1 - k % n : k;

						stored[at * e + byte] = rows[(r * 3 + c) * e + k];
					}
			snprintf(header, sizeof header, "{'descr': '%s%s', 'fortran_order': %s, 'shape': "
			         "(2, 3), }\n", types[i].number == 1 ? "|" : big ? ">" : "<", types[i].code,
			         fortran ? "True" : "False");
			becomes(header, header, stored, 6 * e, types[i].name, "2x3", rows, 6 * e);
		}
	becomes("BOOL", NPY("|b1", "False", "(3,)"), "\0\1\1", 3, "BOOL", "3", "\0\1\1", 3);
	becomes("a scalar", NPY("<u2", "True", "()"), "\1\2", 2, "U16", "scalar", "\1\2", 2);
	becomes("no values", NPY("<u2", "True", "(0, 4)"), "", 0, "U16", "0x4", "", 0);
	becomes("one dimension in Fortran's order", NPY("<u2", "True", "(2,)"), "\1\2\3\4", 4, "U16",
	        "2", "\1\2\3\4", 4);
	becomes("three dimensions in Fortran's order", NPY("|u1", "True", "(2, 3, 2)"),
	        "\0\6\2\10\4\12\1\7\3\11\5\13", 12, "U8", "2x3x2", "\0\1\2\3\4\5\6\7\10\11\12\13", 12);
	becomes("keys in another order, Python 2's numbers",
	        "{\"shape\":(2L,),'fortran_order':False,'descr':'|i1'}", "\1\2", 2, "I8", "2", "\1\2", 2);
}

static void
archives_and_objects(void)
{
	struct gen one = { 0 }, two = { 0 }, g = { 0 }, want = { 0 };
	struct brought b;
	int r;

	put_npy(&one, NPY("<u2", "False", "(2,)"), "\1\2\3\4", 4);
	put_npy(&two, NPY("|u1", "True", "(2, 2)"), "\1\3\2\4", 4);
	const struct member list[] = { { "layer/w.npy", (char *)one.p, one.n, 0 },
		{ "b.npy", (char *)two.p, two.n, 0 }, { "notes.txt", "hello", 5, 0 } };

	put_zip(&g, list, 3);
	r = bring(&b, &format_numpy, g.p, g.n, &usual, true);
	put(&want, "\1\2\3\4", 4);
	test_ok(r == 0 && holds(&b, "layer/w", "U16", "2", &want) && holds(&b, "b", "U8", "2x2", &want) &&
	        strstr(noted, "not arrays: 1") && strstr(noted, "turned to rows first: 1"),
	        "an archive: %s", b.err.fact);
	let_go(&b);
	gen_free(&g);
	gen_free(&want);
	gen_free(&one);
	gen_free(&two);

	put_npy(&g, NPY("|O", "False", "()"), NP_OBJECTS, sizeof NP_OBJECTS - 1);
	r = bring(&b, &format_numpy, g.p, g.n, &usual, false);
	put(&want, "\1\0\2\0", 4);
	test_ok(r == 0 && holds(&b, "a", "I16", "2", &want) && strstr(noted, "not arrays: 1"),
	        "objects: %s", b.err.fact);
	gen_free(&want);
	put(&want, "\310", 1);
	test_ok(r == 0 && holds(&b, "b.0", "U8", "1", &want), "bytes of Python 2");
	let_go(&b);
	gen_free(&g);
	gen_free(&want);
}

/* A message names a member alone, whose name ends in the directory without a NUL. */
static void
a_member_is_named(void)
{
	struct gen one = { 0 }, g = { 0 };
	struct brought b;

	put_npy(&one, NPY("<u2", "False", "(3,)"), "\1\2\3\4", 4);
	const struct member list[] = { { "w.npy", (char *)one.p, one.n, 0 } };

	put_zip(&g, list, 1);
	bring(&b, &format_numpy, g.p, g.n, &usual, false);
	test_ok(strcmp(b.err.fact, "has an array w of 4 bytes, but its shape needs 6") == 0,
	        "a member is named: %s", b.err.fact);
	let_go(&b);
	gen_free(&g);
	gen_free(&one);
}

/* ---- faults ---- */

static void
mother(struct gen *g)
{
	put_npy(g, NPY("<u2", "False", "(2,)") "                              ", "\1\2\3\4", 4);
}

static void
mother_objects(struct gen *g)
{
	put_npy(g, NPY("|O", "False", "()"), NP_OBJECTS, sizeof NP_OBJECTS - 1);
}

#define HEADER(S) TEXT("header", S)

static const struct fault faults[] = {
	{ "version 4", 4, "format 4.0, which is not known", SET8("version", 4), { 0 } },
	{ "a header that is longer", 4, "ends behind the file", SET8("bytes", 255), { 0 } },
	{ "a header of 0 bytes", 4, "is not a dictionary", SET8("bytes", 0), { 0 } },
	{ "no dictionary", 4, "is not a dictionary", HEADER("["), { 0 } },
	{ "a list of fields", 4, "is a structured array", HEADER("{'descr': [('a'"), { 0 } },
	{ "texts", 4, "NumPy's type <U4", HEADER("{'descr': '<U4'"), { 0 } },
	{ "long doubles", 4, "NumPy's type <f9", HEADER("{'descr': '<f9'"), { 0 } },
	{ "two complex doubles", 4, "which no type of tensors here holds", HEADER("{'descr': '<c6'"), { 0 } },
	{ "a type without an order", 4, "NumPy's type |u2", HEADER("{'descr': '|u2'"), { 0 } },
	{ "a type that is a number", 4, "a type that is not a text", HEADER("{'descr': 12345"), { 0 } },
	{ "an unknown key", 4, "a key that is not known", HEADER("{'desca'"), { 0 } },
	{ "an escape in a text", 4, "is not a dictionary", HEADER("{'desc\\'"), { 0 } },
	{ "an order that is not a truth", 4, "neither True nor False", HEADER("{'descr': '<u2', 'fortran_order': Falsy"), { 0 } },
	{ "a shape of names", 4, "has no shape", HEADER("{'descr': '<u2', 'fortran_order': False, 'shape': (a,)"), { 0 } },
	{ "a negative shape", 4, "has no shape", HEADER("{'descr': '<u2', 'fortran_order': False, 'shape':(-2,)"), { 0 } },
	{ "a shape in brackets", 4, "has no shape", HEADER("{'descr': '<u2', 'fortran_order': False, 'shape': [2,]"), { 0 } },
	{ "fewer values", 4, "but its shape needs 6", HEADER("{'descr': '<u2', 'fortran_order': False, 'shape': (3,)"), { 0 } },
	{ "a shape of 10^19 values", 4, "its shape needs 18446744073709551615", HEADER("{'descr': '<u2','fortran_order':False,'shape':(9999999999999999999,),}"), { 0 } },
	{ "a shape beyond 64 bits", 4, "has no shape", HEADER("{'descr': '<u2','fortran_order':False,'shape':(99999999999999999999,),}"), { 0 } },
	{ "a byte more", 4, "an array array of 5 bytes", TAIL("\0"), { 0 } },
};

static const struct fault object_faults[] = {
	{ "a call of another function", 4, "posix.system", TEXT("values", "\200\003cposix\nsystem\nX\002\000\000\000id\205R."), { 0 } },
	{ "bytes behind the pickle", 4, "bytes behind the end of its pickle", TAIL("."), { 0 } },
};

static void
from_pickle(const char *about, const char *pickle, size_t n, const char *says)
{
	struct gen g = { 0 };
	struct brought b;

	put_npy(&g, NPY("|O", "False", "()"), pickle, n);
	bring(&b, &format_numpy, g.p, g.n, &usual, false);
	test_ok(err_exit(&b.err) == 4 && strstr(b.err.fact, says), "%s: %s", about, b.err.fact);
	let_go(&b);
	gen_free(&g);
}

#define PICKLE(ABOUT, TEXT, SAYS) from_pickle(ABOUT, TEXT, sizeof(TEXT) - 1, SAYS)

static void
faults_are_named(void)
{
	try_faults(&format_numpy, &usual, mother, faults, sizeof faults / sizeof *faults);
	try_faults(&format_numpy, &usual, mother_objects, object_faults,
	           sizeof object_faults / sizeof *object_faults);
	PICKLE("an array without a state", "\200\003" NP_ARRAY ".", "has no values");
	PICKLE("an array of too few bytes", "\200\003" NP_OF("K\002\205", "i2", "<", FALSE_, "C\003abc") ".",
	       "but its shape needs 4");
	PICKLE("a negative shape", "\200\003" NP_OF("J\377\377\377\377\205", "i2", "<", FALSE_, "C\002ab") ".",
	       "a shape that is not of numbers");
	PICKLE("letters beyond U+00FF", "\200\003" NP_OF("K\001\205", "u1", "|", FALSE_,
	       "c_codecs\nencode\nX" LENGTH("\003") "\342\202\254X" LENGTH("\006") "latin1\206R") ".",
	       "a text that is not bytes");
	PICKLE("a list in itself", "\200\003]q\000h\000a.", "nests too deeply");
	PICKLE("eval", "\200\003cbuiltins\neval\nX\001\000\000\0001\205R.", "eval");
	PICKLE("texts", "\200\003" NP_OF("K\001\205", "U4", "<", FALSE_, "C\004abcd") ".",
	       "that no type of tensors here holds");
}

int
main(void)
{
	types_and_orders();
	archives_and_objects();
	a_member_is_named();
	faults_are_named();
	try_cuts("npy", &format_numpy, &usual, mother, false);
	try_cuts("objects", &format_numpy, &usual, mother_objects, false);
	return test_done();
}
