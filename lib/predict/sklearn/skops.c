/* A file of skops is an archive: schema.json, a tree of nodes, and an array of NumPy for each node that has
 * one. Each node names a class of Python; here the tree becomes the pickle that has the same objects, and
 * the reader of pickles builds the estimator (sklearn.h). As there, nothing of it runs.
 *
 *     __loader__          what becomes of a node
 *     ObjectNode, …       an object of __module__.__class__, whose state is content
 *     DictNode            content: members by name; ListNode, TupleNode, SetNode: content: a list
 *     JsonNode            content: the text of a number, a string, true, false or null
 *     NdArrayNode         type numpy: file in the archive; type json: content of objects, and shape
 *     SparseMatrixNode    file: an archive; its data.npy is kept
 *     TypeNode, …         a name, which is not looked up
 *
 * Source: the documentation of skops.io, protocols from 1 on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/le.h"
#include "predict/readers.h"
#include "wire/zip.h"

#define MORE ((size_t)1 << 20) /* bytes of the pickle: this and TIMES those of the file */
#define TIMES 64

struct skops {
	struct zip zip;
	struct buf to;    /* the pickle */
	size_t most;
	const char *where;
	struct err *e;
};

static int
wrong(const struct skops *s, const char *what)
{
	return err_set(s->e, ERR_CORRUPT, s->where, "schema.json: %s", what);
}

/* ---- opcodes ---- */

static void
put_op(struct skops *s, const char *ops)
{
	buf_text(&s->to, ops);
}

static void
put_bytes(struct skops *s, char op, const void *p, size_t n)
{
	buf_u8(&s->to, (uint8_t)op);
	buf_u32(&s->to, (uint32_t)n);
	buf_put(&s->to, p, n);
}

static void
put_text(struct skops *s, const char *text)
{
	put_bytes(s, 'X', text, strlen(text));
}

static void
put_integer(struct skops *s, int64_t v)
{
	if (v >= INT32_MIN && v <= INT32_MAX) {
		put_op(s, "J");
		buf_u32(&s->to, (uint32_t)v);
	} else {
		put_op(s, "\x8a\x08"); /* LONG1, 8 bytes */
		buf_u64(&s->to, (uint64_t)v);
	}
}

static void
put_real(struct skops *s, double v)
{
	uint8_t bytes[8];
	size_t i;

	le_f64_put(bytes, v);
	put_op(s, "G");
	for (i = 8; i-- > 0; )
		buf_u8(&s->to, bytes[i]);
}

/* A name of a class or a function: it is not looked up. */
static void
put_name(struct skops *s, const char *module, const char *name)
{
	put_text(s, module);
	put_text(s, name);
	put_op(s, "\x93"); /* STACK_GLOBAL */
}

/* ---- values ---- */

static const char *
text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

/* A value of JSON, or a number that JSON lacks. */
static int
put_json(struct skops *s, const char *text)
{
	json_t *v;

	if (strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0) {
		put_real(s, strtod(text, NULL));
		return 0;
	}
	v = json_parse_any(text, strlen(text), ERR_CORRUPT, s->where, s->e);
	if (!v)
		return -1;
	if (json_is_string(v))
		put_bytes(s, 'X', json_string_value(v), json_string_length(v));
	else if (json_is_integer(v))
		put_integer(s, json_integer_value(v));
	else if (json_is_real(v))
		put_real(s, json_real_value(v));
	else
		put_op(s, json_is_true(v) ? "\x88" : json_is_false(v) ? "\x89" : "N");
	json_decref(v);
	return 0;
}

/* ---- arrays ---- */

/* What the header of an array says; the values begin at p. */
struct array {
	char type[16], order; /* "f8", '<' */
	bool fortran;
	size_t dims[8], ndim;
	const uint8_t *p;
	size_t n;
};

/* The shape behind "(": numbers with commas between them. -1 if it is something else. */
static int
read_shape(struct array *a, const char *p)
{
	size_t items = 1;
	char *end;

	for (a->ndim = 0; *p && *p != ')'; p += strspn(p, ", ")) {
		if (*p < '0' || *p > '9' || a->ndim == 4)
			return -1;
		a->dims[a->ndim] = strtoull(p, &end, 10);
		if (a->dims[a->ndim] > INT32_MAX || (a->dims[a->ndim] && items > SIZE_MAX / 64 / a->dims[a->ndim]))
			return -1;
		items *= a->dims[a->ndim++];
		p = end;
	}
	return *p == ')' ? 0 : -1;
}

static int
read_array(struct skops *s, const uint8_t *p, size_t n, struct array *a)
{
	char header[4096];
	const char *type, *shape;
	size_t length, at, i, items = 1;

	if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
		return wrong(s, "a file is not an array of NumPy");
	at = p[6] == 1 ? 10 : 12;
	length = p[6] == 1 ? le16(p + 8) : le32(p + 8);
	if (length > n - at || length >= sizeof header)
		return wrong(s, "the header of an array is too long");
	snprintf(header, sizeof header, "%.*s", (int)length, (const char *)p + at);
	*a = (struct array){ .p = p + at + length, .n = n - at - length, .order = '<',
		.fortran = strstr(header, "'fortran_order': True") != NULL };
	type = strstr(header, "'descr': ");
	shape = strstr(header, "'shape': (");
	if (!type || !shape || read_shape(a, shape + strlen("'shape': (")) < 0)
		return wrong(s, "an array has no type or no shape");
	type += strlen("'descr': ");
	for (i = 0; i < a->ndim; i++)
		items *= a->dims[i];
	if (*type == '\'') {
		a->order = type[1];
		snprintf(a->type, sizeof a->type, "%.*s", (int)strcspn(type + 2, "'"), type + 2);
	} else { /* of a structure only the size counts */
		snprintf(a->type, sizeof a->type, "V%zu", items && a->n % items == 0 ? a->n / items : 0);
	}
	return 0;
}

/* numpy.dtype(TYPE), and its state if the bytes stand in the other order. */
static void
put_type(struct skops *s, const char *type, char order)
{
	put_name(s, "numpy", "dtype");
	put_op(s, "(");
	put_text(s, type);
	put_op(s, "\x89\x88tR"); /* False, True; a tuple; a call */
	if (order == '>') {
		put_op(s, "(");
		put_integer(s, 3);
		put_text(s, ">");
		put_op(s, "tb");
	}
}

static void
put_shape(struct skops *s, const size_t *dims, size_t n)
{
	size_t i;

	put_op(s, "(");
	for (i = 0; i < n; i++)
		put_integer(s, (int64_t)dims[i]);
	put_op(s, "t");
}

/* The content of a member of the archive. 0 or -1. */
static int
get(struct skops *s, const struct zip *z, const char *name, struct buf *to)
{
	const struct zip_entry *x = zip_find(z, name, strlen(name));

	if (!x)
		return err_set(s->e, ERR_CORRUPT, s->where, "has no member %s", name);
	return zip_get(z, x, s->most - (s->to.n < s->most ? s->to.n : s->most), to, s->e);
}

/* An array, or with scalar the number in it. */
static int
put_array(struct skops *s, const uint8_t *p, size_t n, bool scalar)
{
	struct array a;

	if (read_array(s, p, n, &a) < 0)
		return -1;
	put_name(s, scalar ? "numpy.core.multiarray" : "numpy.core.numeric", scalar ? "scalar" : "_frombuffer");
	put_op(s, "(");
	if (scalar)
		put_type(s, a.type, a.order);
	put_bytes(s, 'B', a.p, a.n);
	if (!scalar) {
		put_type(s, a.type, a.order);
		put_shape(s, a.dims, a.ndim);
		put_text(s, a.fortran ? "F" : "C");
	}
	put_op(s, "tR");
	return 0;
}

static int
put_file(struct skops *s, const json_t *node)
{
	const char *class = text_of(node, "__class__");
	struct buf b = { 0 };
	int r = get(s, &s->zip, text_of(node, "file"), &b);

	if (r == 0)
		r = put_array(s, b.p, b.n, strcmp(class, "ndarray") != 0);
	buf_free(&b);
	return r;
}

/* The values of a sparse matrix, as its attribute data. */
static int
put_sparse(struct skops *s, const json_t *node)
{
	struct buf b = { 0 }, data = { 0 };
	struct zip inner = { .count = 0 };
	int r = get(s, &s->zip, text_of(node, "file"), &b);

	if (r == 0)
		r = zip_open(&inner, b.p, b.n, NULL, s->where, s->e);
	if (r == 0)
		r = get(s, &inner, "data.npy", &data);
	if (r == 0) {
		put_name(s, text_of(node, "__module__"), text_of(node, "__class__"));
		put_op(s, ")\x81}(");
		put_text(s, "data");
		r = put_array(s, data.p, data.n, false);
		put_op(s, "ub");
	}
	zip_free(&inner);
	buf_free(&data);
	buf_free(&b);
	return r;
}

/* ---- nodes ---- */

static int put_node(struct skops *s, const json_t *node);

static int
put_items(struct skops *s, const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (put_node(s, json_array_get(list, i)) < 0)
			return -1;
	return 0;
}

static int
put_members(struct skops *s, json_t *content)
{
	const char *name;
	json_t *v;

	json_object_foreach(content, name, v) {
		put_text(s, name);
		if (put_node(s, v) < 0)
			return -1;
	}
	return 0;
}

/* The objects of an array: lists in lists, as many as it has dimensions. */
static int
put_objects(struct skops *s, const json_t *list, size_t ndim)
{
	size_t i;

	if (ndim < 2)
		return put_items(s, list);
	for (i = 0; i < json_array_size(list); i++)
		if (put_objects(s, json_object_get(json_array_get(list, i), "content"), ndim - 1) < 0)
			return -1;
	return 0;
}

static int
put_object_array(struct skops *s, const json_t *node)
{
	const json_t *shape = json_object_get(json_object_get(node, "shape"), "content");
	size_t i, ndim = json_array_size(shape), dims[4] = { 0 };

	if (ndim == 0 || ndim > 4)
		return wrong(s, "an array of objects has no shape");
	for (i = 0; i < ndim; i++)
		dims[i] = strtoull(text_of(json_array_get(shape, i), "content"), NULL, 10);
	put_name(s, "numpy.core.numeric", "_frombuffer");
	put_op(s, "(](");
	if (put_objects(s, json_object_get(node, "content"), ndim) < 0)
		return -1;
	put_op(s, "e");
	put_type(s, "O8", '|');
	put_shape(s, dims, ndim);
	put_text(s, "C");
	put_op(s, "tR");
	return 0;
}

/* An object: its class, made without a call of its own, and its state. */
static int
put_object(struct skops *s, const json_t *node)
{
	const json_t *content = json_object_get(node, "content");

	put_name(s, text_of(node, "__module__"), text_of(node, "__class__"));
	put_op(s, ")\x81");
	if (!json_is_object(content))
		return 0;
	if (put_node(s, content) < 0)
		return -1;
	put_op(s, "b");
	return 0;
}

static int
put_node(struct skops *s, const json_t *node)
{
	static const char *const nothing[] = { "RandomStateNode", "RandomGeneratorNode", "DTypeNode", "SliceNode" };
	static const char *const objects[] = { "ObjectNode", "TreeNode", "LossNode", "ReduceNode" };
	const char *loader = text_of(node, "__loader__");
	json_t *content = json_object_get(node, "content");
	size_t i;
	int r;

	if (s->to.n > s->most || !buf_ok(&s->to))
		return s->to.n > s->most ? wrong(s, "its objects are much larger than the file") : err_memory(s->e);
	if (!*loader)
		return wrong(s, "a node has no __loader__, which skops writes from version 0.3 on");
	if (strcmp(loader, "JsonNode") == 0)
		return put_json(s, text_of(node, "content"));
	if (strcmp(loader, "NdArrayNode") == 0)
		return (strcmp(text_of(node, "type"), "json") == 0 ? put_object_array : put_file)(s, node);
	if (strcmp(loader, "SparseMatrixNode") == 0)
		return put_sparse(s, node);
	for (i = 0; i < sizeof nothing / sizeof *nothing; i++)
		if (strcmp(loader, nothing[i]) == 0) {
			put_op(s, "N");
			return 0;
		}
	for (i = 0; i < sizeof objects / sizeof *objects; i++)
		if (strcmp(loader, objects[i]) == 0)
			return put_object(s, node);
	if (strcmp(loader, "DefaultDictNode") == 0)
		return put_node(s, json_object_get(content, "main"));
	if (strcmp(loader, "DictNode") == 0) {
		put_op(s, "}(");
		r = put_members(s, content);
		put_op(s, "u");
	} else if (strcmp(loader, "ListNode") == 0 || strcmp(loader, "SetNode") == 0) {
		put_op(s, *loader == 'L' ? "](" : "\x8f(");
		r = put_items(s, content);
		put_op(s, *loader == 'L' ? "e" : "\x90");
	} else if (strcmp(loader, "TupleNode") == 0) {
		put_op(s, "(");
		r = put_items(s, content);
		put_op(s, "t");
	} else { /* a type, a function or a method: its name */
		put_name(s, text_of(node, "__module__"), text_of(node, "__class__"));
		r = 0;
	}
	return r;
}

/* ---- the file ---- */

static int
read_schema(struct skops *s)
{
	struct buf b = { 0 };
	json_t *o = NULL;
	int r = -1;

	if (get(s, &s->zip, "schema.json", &b) == 0)
		o = json_parse(b.p, b.n, ERR_CORRUPT, s->where, s->e);
	buf_free(&b);
	if (!o)
		return -1;
	put_op(s, "\x80\x04"); /* protocol 4 */
	r = put_node(s, o);
	put_op(s, ".");
	json_decref(o);
	return r < 0 ? -1 : buf_ok(&s->to) ? 0 : err_memory(s->e);
}

int
skops_read(struct predictor *m, const uint8_t *p, size_t n, const char *where, struct err *e)
{
	struct skops s = { .most = n < (PREDICT_BYTES - MORE) / TIMES ? TIMES * n + MORE : PREDICT_BYTES,
		.where = where, .e = e };
	int r = zip_open(&s.zip, p, n, NULL, where, e);

	if (r == 0)
		r = read_schema(&s);
	zip_free(&s.zip);
	if (r == 0)
		r = sklearn_read(m, s.to.p, s.to.n, where, e);
	buf_free(&s.to);
	return r;
}

/* The first member is the schema, or an array whose name is a number. */
bool
skops_probe(const uint8_t *p, size_t n)
{
	size_t i, length = n > 30 ? le16(p + 26) : 0;

	if (n < 42 || memcmp(p, "PK\3\4", 4) != 0 || length < 5 || length > n - 30)
		return false;
	if (length == 11 && memcmp(p + 30, "schema.json", 11) == 0)
		return true;
	for (i = 30; i < 30 + length - 4 && p[i] >= '0' && p[i] <= '9'; i++)
		;
	return i > 34 && i == 30 + length - 4 && (memcmp(p + i, ".npy", 4) == 0 || memcmp(p + i, ".npz", 4) == 0);
}
