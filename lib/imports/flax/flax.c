#include "imports/flax/flax.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

#define DEPTH 64      /* of maps in maps */
#define PATH 4096     /* bytes of all names around a value */
#define KEYS 65536u   /* maximum number of values that become keys */
#define CHUNKED "__msgpack_chunked_array__"

static int
fail(const struct flax *s, const char *what)
{
	return import_fail(&s->import, ERR_CORRUPT, "byte %" PRIu64 ": %s", s->in.at, what);
}

static int
next(struct flax *s, struct msgpack_token *t)
{
	int r = msgpack_next(&s->in, t);

	return r == 0 ? fail(s, "ends inside a map") : r;
}

int
flax_key(struct flax *s, struct msgpack_token *t)
{
	if (next(s, t) < 0)
		return -1;
	return t->kind == MSGPACK_TEXT ? 0 : fail(s, "the key of a map is not a text");
}

static bool
is_chunked(const struct msgpack_token *t)
{
	return t->n == strlen(CHUNKED) && memcmp(t->p, CHUNKED, (size_t)t->n) == 0;
}

/* ---- values ---- */

static int
add_array(struct flax *s, const char *name, const struct msgpack_token *t)
{
	struct import_place x = { .p = NULL };
	struct flax_array a;
	const char *dot = strrchr(name, '.');

	if (t->type == 2) {
		s->left_out++;
		return 0;
	}
	if (t->type != 1 && t->type != 3)
		return err_set(s->import.err, ERR_FORMAT, name, "is a value of type %d, which is not read",
		               t->type);
	if (flax_array(s, name, t, &a) < 0)
		return -1;
	x.p = a.p;
	s->kernels |= strcmp(dot ? dot + 1 : name, "kernel") == 0;
	return import_tensor(&s->import, name, strlen(name), a.type, a.ndim, a.dims, &x);
}

/* Add a number, a text or a truth value as a key. */
static int
add_key(struct flax *s, const char *name, const struct msgpack_token *t)
{
	struct value_type type = { 0, VALUE_STRING };
	struct buf key = { 0 }, wire = { 0 };
	uint64_t bits = t->number;
	int r;

	s->key_bytes += strlen(name) + t->n; /* both lie in the file */
	if (s->keys++ == KEYS || s->key_bytes > IMPORT_KEYS)
		return fail(s, "has too many values that are not arrays");
	if (t->kind == MSGPACK_BOOL) {
		type.leaf = VALUE_BOOL;
		buf_u8(&wire, t->number != 0);
	} else if (t->kind == MSGPACK_INT || t->kind == MSGPACK_FLOAT) {
		type.leaf = t->kind == MSGPACK_FLOAT ? VALUE_F64 : t->negative ? VALUE_I64 : VALUE_U64;
		if (t->kind == MSGPACK_FLOAT)
			memcpy(&bits, &t->real, sizeof bits);
		buf_u64(&wire, bits);
	} else {
		import_string(&wire, t->p, (size_t)t->n);
	}
	buf_printf(&key, "flax.%s", name);
	r = buf_string(&key) ? import_value(&s->import, (char *)key.p, type, &wire)
	                     : err_memory(s->import.err);
	buf_free(&key);
	buf_free(&wire);
	return r;
}

/* ---- maps ---- */

static int read_map(struct flax *s, uint64_t keys, unsigned depth);

/* Append the name of a value to the path. */
static int
push(struct flax *s, const struct msgpack_token *key)
{
	const size_t left = s->path.n < PATH ? PATH - s->path.n : 0; /* also for a dot */

	if (key->n == 0 || memchr(key->p, 0, (size_t)key->n) || key->n >= left)
		return fail(s, "a name is empty, has a NUL, or is too long");
	if (s->path.n)
		buf_u8(&s->path, '.');
	buf_put(&s->path, key->p, (size_t)key->n);
	return buf_string(&s->path) ? 0 : err_memory(s->import.err);
}

static int
read_value(struct flax *s, unsigned depth)
{
	const char *name = (const char *)s->path.p;
	struct msgpack_token t;

	if (next(s, &t) < 0)
		return -1;
	switch (t.kind) {
	case MSGPACK_NIL:
		return 0;
	case MSGPACK_MAP:
		return read_map(s, t.n, depth + 1);
	case MSGPACK_EXT:
		return add_array(s, name, &t);
	case MSGPACK_ARRAY:
	case MSGPACK_BYTES:
		return err_set(s->import.err, ERR_FORMAT, name, "is a list or bytes, which Flax does not "
		               "write");
	default:
		return add_key(s, name, &t);
	}
}

/* Read a map of this many keys, whose names follow the path. */
static int
read_map(struct flax *s, uint64_t keys, unsigned depth)
{
	const size_t around = s->path.n;
	struct msgpack_token key;
	uint64_t i;

	if (depth > DEPTH)
		return fail(s, "maps nest too deeply");
	for (i = 0; i < keys; i++) {
		if (flax_key(s, &key) < 0)
			return -1;
		if (i == 0 && depth > 0 && is_chunked(&key))
			return flax_chunked(s, (char *)s->path.p, keys);
		if (push(s, &key) < 0 || read_value(s, depth) < 0)
			return -1;
		s->path.n = around;
		if (!buf_string(&s->path))
			return err_memory(s->import.err);
	}
	return 0;
}

/* ---- the format ---- */

static int
read_file(struct import *im)
{
	struct flax *s = (struct flax *)im;
	struct msgpack_token t;

	msgpack_open(&s->in, im->p, im->n, 0, im->source.name, im->err);
	if (next(s, &t) < 0)
		return -1;
	if (t.kind != MSGPACK_MAP)
		return fail(s, "is not a map");
	if (read_map(s, t.n, 0) < 0)
		return -1;
	if (s->in.at != s->in.n)
		return fail(s, "is followed by other bytes");
	if (im->plan.tensor_count == 0)
		return import_fail(im, ERR_FORMAT, "is MessagePack, but holds no array of Flax");
	if (s->left_out)
		import_note(im, "left out: complex numbers that are not arrays: %" PRIu64, s->left_out);
	return s->kernels ? import_text(im, "flax.kernel_layout", "in,out", 6) : 0;
}

static void
close_all(struct import *im)
{
	struct flax *s = (struct flax *)im;

	flax_chunks_free(s);
	buf_free(&s->path);
}

static const struct import_kind kind = {
	.format = &format_flax, .bytes = sizeof(struct flax), .read = read_file, .close = close_all,
};

static struct source *
flax_open(struct reader *r, const struct format_options *options, void (*note)(const char *),
          struct err *e)
{
	return import_open(&kind, r, options, note, e);
}

/* True if the bytes are a text that can be a name. */
static bool
is_name(const uint8_t *p, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		if (p[i] < 0x20 || p[i] == 0x7f)
			return false;
	return n > 0;
}

/* Maps of names that lead to an array, or as far as the bytes go to a second map at least. An array
 * begins with a head of two to six bytes, 93 and its shape. */
static bool
probe(const uint8_t *head, size_t n)
{
	unsigned maps = 0;
	struct msgpack_token t;
	struct msgpack m;
	bool key = false;
	size_t at;

	msgpack_open(&m, head, n, 0, NULL, NULL);
	if (n < 8 || msgpack_next(&m, &t) <= 0 || t.kind != MSGPACK_MAP || t.n == 0)
		return false;
	while (m.at < n) {
		at = (size_t)m.at;
		key = !key;
		if (msgpack_next(&m, &t) < 0) { /* longer than the rest: a name, or an array */
			if (key)
				return maps > 0 && (head[at] & 0xe0) == 0xa0 && is_name(head + at + 1, n - at - 1);
			at += head[at] == 0xc7 ? 2 : head[at] == 0xc8 ? 3 : head[at] == 0xc9 ? 5 : n;
			return at + 1 < n ? (head[at] == 1 || head[at] == 3) && head[at + 1] == 0x93 : maps > 0;
		}
		if (key ? t.kind != MSGPACK_TEXT || !is_name(t.p, t.n) : t.kind == MSGPACK_ARRAY)
			return false;
		if (!key && t.kind == MSGPACK_EXT)
			return (t.type == 1 || t.type == 3) && t.n > 0 && t.p[0] == 0x93;
		if (!key && t.kind == MSGPACK_MAP) {
			maps++;
			if (t.n == 0)
				return false;
		}
	}
	return maps > 0;
}

static const struct format_reads reads = {
	.open = flax_open,
	.describe = import_describe,
	.tensor_offset = import_tensor_offset,
};

const struct format format_flax = {
	.name = "flax",
	.title = "Flax",
	.probe = probe,
	.reads = &reads,
};
