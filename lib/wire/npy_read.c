/* The header of an array: a Python dictionary with exactly three keys. */
#include <inttypes.h>
#include <string.h>

#include "core/le.h"
#include "core/num.h"
#include "wire/npy.h"

bool
npy_describe(struct npy *a, const char *p, size_t n)
{
	static const struct {
		const char *code, *name;
		uint8_t element, number; /* number: bytes of one of its numbers */
	} types[] = {
		{ "f2", "F16", 2, 2 }, { "f4", "F32", 4, 4 }, { "f8", "F64", 8, 8 },
		{ "c8", "C64", 8, 4 }, { "i1", "I8", 1, 1 },  { "i2", "I16", 2, 2 },
		{ "i4", "I32", 4, 4 }, { "i8", "I64", 8, 8 }, { "u1", "U8", 1, 1 },
		{ "u2", "U16", 2, 2 }, { "u4", "U32", 4, 4 }, { "u8", "U64", 8, 8 },
		{ "b1", "BOOL", 1, 1 },
	};
	size_t i;

	if (n != 3 || !strchr("<>|=", *p))
		return false;
	for (i = 0; i < sizeof types / sizeof *types; i++)
		if (memcmp(p + 1, types[i].code, 2) == 0) {
			a->name = types[i].name;
			a->element = types[i].element;
			a->swap = *p == '>' && types[i].number > 1 ? types[i].number : 0;
			return *p != '|' || types[i].number == 1;
		}
	return false;
}

/* ---- the literal ---- */

struct text {
	const char *p, *end;
};

static void
skip(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t'))
		t->p++;
}

/* Skip spaces and this word. */
static bool
take(struct text *t, const char *word)
{
	size_t n = strlen(word);

	skip(t);
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

/* A text in quotes, without escapes. */
static bool
take_text(struct text *t, const char **p, size_t *n)
{
	char quote;

	skip(t);
	if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
		return false;
	quote = *t->p++;
	*p = t->p;
	while (t->p < t->end && *t->p != quote && *t->p != '\\')
		t->p++;
	*n = (size_t)(t->p - *p);
	return t->p < t->end && *t->p++ == quote;
}

static bool
take_number(struct text *t, uint64_t *v)
{
	const char *from;

	skip(t);
	for (*v = 0, from = t->p; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
		if (num_mul(*v, 10, v) < 0 || num_add(*v, (uint64_t)(*t->p - '0'), v) < 0)
			return false;
	take(t, "L"); /* Python 2 */
	return t->p > from;
}

/* (), (3,), (3, 4) */
static bool
take_shape(struct text *t, struct npy *a)
{
	bool comma = true;

	if (!take(t, "("))
		return false;
	for (a->ndim = 0; !take(t, ")"); a->ndim++) {
		if (!comma || a->ndim == NPY_DIMS || !take_number(t, &a->dims[a->ndim]))
			return false;
		comma = take(t, ",");
	}
	return a->ndim != 1 || comma;
}

/* ---- the header ---- */

static int
bad(const char *where, struct err *e, const char *what)
{
	return err_set(e, ERR_CORRUPT, where, "is an array of NumPy whose header %s", what);
}

static int
read_type(struct npy *a, struct text *t, const char *where, struct err *e)
{
	const char *p;
	size_t n;

	if (take(t, "[")) {
		err_set(e, ERR_FORMAT, where, "is a structured array of NumPy, which is not read");
		return err_hint(e, "its fields can be saved as arrays of their own");
	}
	if (!take_text(t, &p, &n))
		return bad(where, e, "has a type that is not a text");
	if ((n == 2 && memcmp(p, "|O", 2) == 0) || (n == 1 && *p == 'O')) {
		a->name = NULL;
		a->element = 0;
		return 0;
	}
	if (npy_describe(a, p, n))
		return 0;
	return err_set(e, ERR_FORMAT, where, "is an array of NumPy's type %.*s, which no type of "
	               "tensors here holds", (int)(n < 40 ? n : 40), p);
}

static int
read_literal(struct npy *a, struct text *t, const char *where, struct err *e)
{
	unsigned seen = 0, bit = 0;
	const char *key;
	size_t n;

	if (!take(t, "{"))
		return bad(where, e, "is not a dictionary");
	while (!take(t, "}")) {
		if (!take_text(t, &key, &n) || !take(t, ":"))
			return bad(where, e, "is not a dictionary");
		if (n == 5 && memcmp(key, "descr", 5) == 0) {
			bit = 1;
			if (read_type(a, t, where, e) < 0)
				return -1;
		} else if (n == 13 && memcmp(key, "fortran_order", 13) == 0) {
			bit = 2;
			a->fortran = take(t, "True");
			if (!a->fortran && !take(t, "False"))
				return bad(where, e, "has an order that is neither True nor False");
		} else if (n == 5 && memcmp(key, "shape", 5) == 0) {
			bit = 4;
			if (!take_shape(t, a))
				return bad(where, e, "has no shape");
		} else {
			return bad(where, e, "has a key that is not known");
		}
		if (seen & bit)
			return bad(where, e, "has a key twice");
		seen |= bit;
		if (!take(t, ",") && (skip(t), t->p == t->end || *t->p != '}'))
			return bad(where, e, "is not a dictionary");
	}
	skip(t);
	return seen == 7 && t->p == t->end ? 0 : bad(where, e, "lacks a key, or has more behind it");
}

int
npy_read(struct npy *a, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	size_t front = 10, bytes;
	struct text t;

	*a = (struct npy){ .name = NULL };
	if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
		return err_set(e, ERR_CORRUPT, where, "is not an array of NumPy");
	if (p[6] < 1 || p[6] > 3)
		return err_set(e, ERR_VERSION, where, "is an array of NumPy's format %u.%u, which is not "
		               "known", p[6], p[7]);
	bytes = p[6] == 1 ? le16(p + 8) : le32(p + 8);
	if (p[6] > 1)
		front = 12;
	if (bytes > NPY_HEADER || bytes > n - front)
		return bad(where, e, "ends behind the file, or is too long");
	t = (struct text){ (const char *)p + front, (const char *)p + front + bytes };
	a->at = front + bytes;
	return read_literal(a, &t, where, e);
}
