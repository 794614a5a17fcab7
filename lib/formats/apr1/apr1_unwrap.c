#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/le.h"
#include "core/mem.h"
#include "core/num.h"
#include "core/text.h"
#include "formats/apr1/apr1_layout.h"

/* A cursor over a payload. Bytes that do not fit the layout set bad, and nothing is done after
 * that. The first pass (dry) only checks and keeps nothing. */
struct cursor {
	const uint8_t *p;
	uint64_t n, at;
	bool bad, dry;
	struct apr1_parts *parts;
	struct err *e;    /* for errors of memory or disk */
	char prefix[64];
};

static const uint8_t *
take(struct cursor *c, uint64_t n)
{
	if (c->bad || n > c->n - c->at) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return c->p + (c->at - n);
}

static uint64_t
take_u64(struct cursor *c)
{
	const uint8_t *p = take(c, 8);

	return p ? le64(p) : 0;
}

static uint32_t
take_u32(struct cursor *c)
{
	const uint8_t *p = take(c, 4);

	return p ? le32(p) : 0;
}

/* Take a count of items that have at least this many bytes each. */
static uint64_t
take_count(struct cursor *c, uint64_t least)
{
	uint64_t n = take_u64(c);

	if (n > (c->n - c->at) / least)
		c->bad = true;
	return c->bad ? 0 : n;
}

static bool
take_bool(struct cursor *c)
{
	const uint8_t *p = take(c, 1);

	c->bad |= p && *p > 1;
	return p && *p == 1;
}

/* ---- the tensors found ---- */

/* Add a part; NULL in the dry pass, or on an error. */
static struct apr1_part *
part(struct cursor *c, const char *name, const char *suffix, const char *type)
{
	struct apr1_parts *parts = c->parts;
	char text[128];
	struct apr1_part *x;

	if (c->bad || c->dry)
		return NULL;
	snprintf(text, sizeof text, "%s%s%s", c->prefix, name, suffix);
	if (mem_grow(&parts->list, &parts->cap, parts->count + 1, sizeof *x) < 0) {
		err_memory(c->e);
		c->bad = true;
		return NULL;
	}
	x = &parts->list[parts->count];
	x->name = mem_text(text, strlen(text));
	x->type = dtype_by_name(type);
	if (!x->name) {
		err_memory(c->e);
		c->bad = true;
		return NULL;
	}
	parts->count++;
	return x;
}

static void
found_as(struct cursor *c, const char *name, const char *suffix, const char *type,
         const uint8_t *p, unsigned ndim, uint64_t rows, uint64_t columns)
{
	struct apr1_part *x = part(c, name, suffix, type);

	if (!x)
		return;
	x->p = p;
	x->ndim = ndim;
	x->dims[0] = rows;
	x->dims[1] = columns;
	x->bytes = (ndim > 0 ? rows : 1) * (ndim > 1 ? columns : 1) * x->type->bytes;
}

static void
found(struct cursor *c, const char *name, const char *type, const uint8_t *p,
      unsigned ndim, uint64_t rows, uint64_t columns)
{
	found_as(c, name, "", type, p, ndim, rows, columns);
}

/* Begin a column: all values put from now on belong to it. */
static void
column(struct cursor *c, const char *name, const char *suffix, const char *type)
{
	struct apr1_part *x = part(c, name, suffix, type);

	if (!x)
		return;
	x->ndim = 1;
	x->at = c->parts->derived.bytes;
}

static void
column_put(struct cursor *c, const void *p, size_t n)
{
	if (!c->bad && !c->dry && spool_put(&c->parts->derived, p, n, c->e) < 0)
		c->bad = true;
}

static void
column_u64(struct cursor *c, uint64_t v)
{
	uint8_t p[8];

	le64_put(p, v);
	column_put(c, p, sizeof p);
}

static void
column_end(struct cursor *c)
{
	struct apr1_part *x;

	if (c->bad || c->dry)
		return;
	x = &c->parts->list[c->parts->count - 1];
	x->bytes = c->parts->derived.bytes - x->at;
	x->dims[0] = x->bytes / x->type->bytes;
}

/* ---- trees ---- */

struct node {
	bool leaf;
	uint64_t feature;
	const uint8_t *number; /* threshold, or a leaf's value: 4 bytes */
	uint64_t class, samples;
};

static struct node
take_node(struct cursor *c, bool classes)
{
	static const uint8_t zero[4];
	uint32_t variant = take_u32(c);
	struct node x = { .leaf = variant == 1, .number = zero };
	const uint8_t *p;

	c->bad |= variant > 1;
	if (!x.leaf || !classes) {
		if (!x.leaf)
			x.feature = take_u64(c);
		p = take(c, 4);
		if (p)
			x.number = p;
	} else {
		x.class = take_u64(c);
	}
	if (x.leaf)
		x.samples = take_u64(c);
	c->bad |= x.feature > INT64_MAX;
	return x;
}

/* Skip a tree and return the number of its nodes. */
static uint64_t
tree_nodes(struct cursor *c, bool classes)
{
	uint64_t open = 1, n = 0;

	while (open > 0 && !c->bad) {
		if (take_node(c, classes).leaf)
			open--;
		else
			open++;
		c->bad |= ++n > APR1_NODES;
	}
	return n;
}

/* Put the number of each node's right child. A node waits for it until its left subtree has
 * ended. */
static void
put_children(struct cursor *c, uint64_t start, uint64_t n, bool classes)
{
	int64_t *right = mem_array((size_t)n, sizeof *right);
	uint32_t *waits = mem_array((size_t)n, sizeof *waits);
	uint64_t i, waiting = 0;

	if (!right || !waits) {
		err_memory(c->e);
		c->bad = true;
	}
	c->at = start;
	for (i = 0; i < n && !c->bad; i++) {
		right[i] = -1;
		if (!take_node(c, classes).leaf)
			waits[waiting++] = (uint32_t)i;
		else if (waiting > 0)
			right[waits[--waiting]] = (int64_t)i + 1;
	}
	for (i = 0; i < n && !c->bad; i++)
		column_u64(c, (uint64_t)right[i]);
	free(right);
	free(waits);
}

enum tree_column { FEATURES, THRESHOLDS, LEAVES, SAMPLES, LEFT };

static void
put_tree_column(struct cursor *c, uint64_t n, bool classes, enum tree_column which)
{
	static const uint8_t zero[4];
	uint64_t i;

	for (i = 0; i < n && !c->bad; i++) {
		struct node x = take_node(c, classes);

		switch (which) {
		case FEATURES:
			column_u64(c, x.leaf ? UINT64_MAX : x.feature);
			break;
		case THRESHOLDS:
			column_put(c, x.leaf ? zero : x.number, 4);
			break;
		case LEAVES:
			if (classes)
				column_u64(c, x.class);
			else
				column_put(c, x.leaf ? x.number : zero, 4);
			break;
		case SAMPLES:
			column_u64(c, x.samples);
			break;
		case LEFT:
			column_u64(c, x.leaf ? UINT64_MAX : i + 1);
			break;
		}
	}
}

static void
unwrap_tree(struct cursor *c, const char *name, bool classes)
{
	static const struct {
		const char *suffix, *type;
	} columns[] = { { "_features", "I64" }, { "_thresholds", "F32" }, { "", NULL },
		{ "_samples", "U64" }, { "_left_child", "I64" } };
	uint64_t start = c->at, n = tree_nodes(c, classes), end = c->at;
	unsigned i;

	if (c->dry)
		return;
	for (i = 0; i < sizeof columns / sizeof *columns; i++) {
		if (i == LEAVES)
			column(c, name, classes ? "_classes" : "_values", classes ? "U64" : "F32");
		else
			column(c, name, columns[i].suffix, columns[i].type);
		c->at = start;
		put_tree_column(c, n, classes, (enum tree_column)i);
		column_end(c);
	}
	column(c, name, "_right_child", "I64");
	put_children(c, start, n, classes);
	column_end(c);
	c->at = end;
}

/* ---- lists and maps ---- */

static void
unwrap_lists(struct cursor *c, const char *name)
{
	uint64_t start = c->at, lists = take_count(c, 8), i, n;

	column(c, name, "", "U64");
	for (i = 0; i < lists && !c->bad; i++) {
		const uint8_t *p;

		n = take_count(c, 8);
		p = take(c, n * 8);
		for (; p && n > 0; n -= num_min(n, 4096)) {
			column_put(c, p, (size_t)num_min(n, 4096) * 8);
			p += num_min(n, 4096) * 8;
		}
	}
	column_end(c);
	if (c->dry)
		return;
	c->at = start + 8;
	column(c, name, "_lengths", "U64");
	for (i = 0; i < lists && !c->bad; i++) {
		n = take_u64(c);
		column_u64(c, n);
		take(c, n * 8);
	}
	column_end(c);
}

/* The part of each entry that goes into the column. */
enum map_column { TEXT, LENGTHS, COUNTS, NOTHING };

static void
put_text(struct cursor *c, enum map_column which)
{
	uint64_t n = take_count(c, 1);
	const uint8_t *p = take(c, n);

	c->bad |= p && !text_utf8(p, (size_t)n, true);
	if (which == LENGTHS)
		column_u64(c, n);
	if (which == TEXT && p)
		column_put(c, p, (size_t)n);
}

static void
put_counts(struct cursor *c, enum map_column which)
{
	uint64_t n = take_count(c, 12), i;
	const uint8_t *p;

	for (i = 0; i < n && !c->bad; i++) {
		put_text(c, which);
		p = take(c, 4);
		if (which == COUNTS && p)
			column_put(c, p, 4);
	}
}

static const struct {
	const char *suffix, *type;
} map_columns[] = { { "_text", "U8" }, { "_lengths", "U64" }, { "_counts", "U32" } };

static void
unwrap_counts(struct cursor *c, const char *name)
{
	uint64_t start = c->at;
	unsigned i;

	for (i = 0; i < 3 && !c->bad; i++) {
		c->at = start;
		column(c, name, map_columns[i].suffix, map_columns[i].type);
		put_counts(c, (enum map_column)i);
		column_end(c);
	}
}

/* Put columns of a map from text to maps of counts: three of the outer map, and three of all
 * inner maps together. */
static void
put_contexts(struct cursor *c, unsigned which)
{
	static const struct {
		enum map_column outer, inner;
	} what[] = { { TEXT, NOTHING }, { LENGTHS, NOTHING }, { NOTHING, NOTHING },
		{ NOTHING, TEXT }, { NOTHING, LENGTHS }, { NOTHING, COUNTS } };
	uint64_t n = take_count(c, 16), i, at;

	for (i = 0; i < n && !c->bad; i++) {
		put_text(c, what[which].outer);
		if (which == 2) {
			at = c->at;
			column_u64(c, take_u64(c));
			c->at = at;
		}
		put_counts(c, what[which].inner);
	}
}

static void
unwrap_contexts(struct cursor *c, const char *name)
{
	static const char *const names[][2] = { { "_text", "U8" }, { "_lengths", "U64" },
		{ "_sizes", "U64" }, { "_next_text", "U8" }, { "_next_lengths", "U64" },
		{ "_counts", "U32" } };
	uint64_t start = c->at;
	unsigned i;

	for (i = 0; i < sizeof names / sizeof *names && !c->bad; i++) {
		c->at = start;
		column(c, name, names[i][0], names[i][1]);
		put_contexts(c, i);
		column_end(c);
	}
}

/* ---- fields ---- */

static void unwrap_fields(struct cursor *c, const struct apr1_field *f);

static void
unwrap_many(struct cursor *c, const struct apr1_field *f)
{
	uint64_t n = take_count(c, 1), i;
	size_t length = strlen(c->prefix);

	c->bad |= n > APR1_ITEMS;
	found_as(c, f->name, "_count", "U64", c->bad ? NULL : c->p + c->at - 8, 0, 0, 0);
	for (i = 0; i < n && !c->bad; i++) {
		snprintf(c->prefix + length, sizeof c->prefix - length, "%s_%u_", f->name,
		         (unsigned)i);
		unwrap_fields(c, f->of);
	}
	c->prefix[length] = 0;
}

static void
unwrap_field(struct cursor *c, const struct apr1_field *f)
{
	size_t length = strlen(c->prefix);
	uint64_t n, rows, columns;
	const uint8_t *p;

	if (f->optional && !take_bool(c))
		return;
	switch (f->kind) {
	case APR1_F32:
		found(c, f->name, "F32", take(c, 4), 0, 0, 0);
		break;
	case APR1_U64:
		found(c, f->name, "U64", take(c, 8), 0, 0, 0);
		break;
	case APR1_BOOL:
		take_bool(c);
		found(c, f->name, "BOOL", c->bad ? NULL : c->p + c->at - 1, 0, 0, 0);
		break;
	case APR1_FLOATS:
		n = take_count(c, 4);
		found(c, f->name, "F32", take(c, n * 4), 1, n, 0);
		break;
	case APR1_WORDS:
		n = take_count(c, 8);
		found(c, f->name, "U64", take(c, n * 8), 1, n, 0);
		break;
	case APR1_MATRIX:
		n = take_count(c, 4);
		p = take(c, n * 4);
		rows = take_u64(c);
		columns = take_u64(c);
		/* rows × columns must be the number of values, even if it is 0. */
		c->bad |= num_mul(rows, columns, &columns) < 0 || columns != n;
		columns = c->bad ? 0 : le64(c->p + c->at - 8);
		found(c, f->name, "F32", p, 2, rows, columns);
		break;
	case APR1_CLASSES:
	case APR1_VALUES:
		unwrap_tree(c, f->name, f->kind == APR1_CLASSES);
		break;
	case APR1_WORD_LISTS:
		unwrap_lists(c, f->name);
		break;
	case APR1_COUNTS:
		unwrap_counts(c, f->name);
		break;
	case APR1_CONTEXTS:
		unwrap_contexts(c, f->name);
		break;
	case APR1_ONE:
		snprintf(c->prefix + length, sizeof c->prefix - length, "%s", f->name);
		unwrap_fields(c, f->of);
		c->prefix[length] = 0;
		break;
	case APR1_MANY:
		unwrap_many(c, f);
		break;
	}
}

static void
unwrap_fields(struct cursor *c, const struct apr1_field *f)
{
	for (; f->name && !c->bad; f++)
		unwrap_field(c, f);
}

int
apr1_unwrap(const struct apr1_layout *l, const uint8_t *p, uint64_t n,
            struct apr1_parts *parts, struct err *e)
{
	struct cursor c = { .p = p, .n = n, .dry = true, .parts = parts, .e = e };

	*parts = (struct apr1_parts){ 0 };
	unwrap_fields(&c, l->fields);
	if (c.bad || c.at != n)
		return e->code == ERR_NONE ? 0 : -1;
	c = (struct cursor){ .p = p, .n = n, .parts = parts, .e = e };
	unwrap_fields(&c, l->fields);
	if (!c.bad)
		return 1;
	apr1_parts_free(parts);
	return -1;
}

void
apr1_parts_free(struct apr1_parts *parts)
{
	size_t i;

	for (i = 0; i < parts->count; i++)
		free(parts->list[i].name);
	free(parts->list);
	spool_free(&parts->derived);
	*parts = (struct apr1_parts){ 0 };
}
