#include "wire/toml.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "wire/toml_parts.h"

/* A path while it is read. */
struct path {
	char text[TOML_PATH];
	size_t n;
	unsigned depth;
	const char *last; /* of the document: the last part */
};

/* ---- keys ---- */

/* Appends a part to a path. */
static int
add_part(struct toml_in *in, struct path *path, const char *at, const char *s, size_t n)
{
	struct buf b = { 0 };
	bool bare = n > 0;
	size_t i;
	int r = 0;

	for (i = 0; i < n; i++)
		bare = bare && toml_bare(s[i]);
	if (path->n > 0)
		buf_u8(&b, '.');
	if (!bare)
		buf_u8(&b, '"');
	for (i = 0; i < n; i++) {
		if (s[i] == '"' || s[i] == '\\')
			buf_u8(&b, '\\');
		buf_u8(&b, (uint8_t)s[i]);
	}
	if (!bare)
		buf_u8(&b, '"');
	if (!buf_ok(&b))
		r = err_memory(in->e);
	else if (memchr(b.p, '\0', b.n))
		r = toml_fail(in, at, "a key with a NUL is not supported here");
	else if (path->n + b.n >= TOML_PATH)
		r = toml_fail(in, at, "a key longer than %d bytes, with its table", TOML_PATH - 1);
	else if (++path->depth > TOML_DEPTH)
		r = toml_fail(in, at, "a key with more than %d parts", TOML_DEPTH);
	if (r == 0) {
		memcpy(path->text + path->n, b.p, b.n);
		path->n += b.n;
		path->text[path->n] = '\0';
	}
	path->last = at;
	buf_free(&b);
	return r;
}

/* Reads one part, and appends it. */
static int
read_part(struct toml_in *in, struct path *path)
{
	const char *at = in->p;
	struct buf b = { 0 };
	int r;

	if (toml_peek(in, 0) == '"' || toml_peek(in, 0) == '\'') {
		r = toml_string(in, &b);
		if (r == 0 && !buf_ok(&b))
			r = err_memory(in->e);
		if (r == 0)
			r = add_part(in, path, at, b.p ? (char *)b.p : "", b.n);
		buf_free(&b);
		return r;
	}
	while (toml_bare(toml_peek(in, 0)))
		in->p++;
	if (in->p == at)
		return toml_fail(in, at, "a key was expected");
	return add_part(in, path, at, at, (size_t)(in->p - at));
}

static uint32_t
hash_of(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	while (n-- > 0)
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

/* Returns the node of the first n bytes of a path; a new one has the kind *made. NULL without
 * memory. */
static struct toml_node *
node_of(struct toml_in *in, const char *path, size_t n, enum toml_kind kind, bool *made)
{
	const uint32_t hash = hash_of(path, n);
	struct toml_node *x;
	size_t i;

	*made = false;
	for (i = 0; i < in->node_count; i++) {
		x = &in->nodes[i];
		if (x->hash == hash && strncmp(x->path, path, n) == 0 && !x->path[n])
			return x;
	}
	if (mem_grow(&in->nodes, &in->node_cap, in->node_count + 1, sizeof *in->nodes) < 0)
		return NULL;
	x = &in->nodes[in->node_count];
	*x = (struct toml_node){ mem_text(path, n), hash, kind, in->section, toml_line(in, in->p) };
	if (!x->path)
		return NULL;
	in->node_count++;
	*made = true;
	return x;
}

/* The parts of a header before the last. */
static int
pass_header(struct toml_in *in, const char *at, const char *path, size_t n)
{
	bool made;
	struct toml_node *x = node_of(in, path, n, TOML_IMPLIED, &made);

	if (!x)
		return err_memory(in->e);
	return x->kind == TOML_VALUE ? toml_fail(in, at, "%s is a value (line %u), not a table", x->path,
	                               x->line) : 0;
}

/* The parts of a dotted key before the last. */
static int
pass_key(struct toml_in *in, const char *at, const char *path, size_t n)
{
	bool made;
	struct toml_node *x = node_of(in, path, n, TOML_DOTTED, &made);

	if (!x)
		return err_memory(in->e);
	if (x->kind == TOML_VALUE)
		return toml_fail(in, at, "%s is a value (line %u), not a table", x->path, x->line);
	if (x->kind == TOML_IMPLIED) {
		x->kind = TOML_DOTTED;
		x->section = in->section;
	}
	if (x->kind != TOML_DOTTED || x->section != in->section)
		return toml_fail(in, at, "the table %s is defined already (line %u)", x->path, x->line);
	return 0;
}

/* Reads a dotted key. path holds its table, whose parts were passed before. pass: called for
 * each part before the last. */
static int
read_key(struct toml_in *in, struct path *path,
         int (*pass)(struct toml_in *in, const char *at, const char *path, size_t n))
{
	const char *at = in->p;

	for (;;) {
		if (read_part(in, path) < 0)
			return -1;
		toml_blanks(in);
		if (toml_peek(in, 0) != '.')
			return 0;
		if (pass(in, at, path->text, path->n) < 0)
			return -1;
		in->p++;
		toml_blanks(in);
	}
}

/* ---- lines ---- */

static int
read_header(struct toml_in *in)
{
	struct path path = { .n = 0 };
	const char *at = in->p++;
	struct toml_table *table;
	char *text;
	struct toml_node *x;
	bool made;

	if (toml_peek(in, 0) == '[')
		return toml_fail(in, at, "an array of tables ([[...]]) is not supported here");
	toml_blanks(in);
	in->section++;
	if (read_key(in, &path, pass_header) < 0)
		return -1;
	if (toml_peek(in, 0) != ']')
		return toml_fail(in, in->p, "] was expected after the name of a table");
	in->p++;
	if (!(x = node_of(in, path.text, path.n, TOML_HEADED, &made)))
		return err_memory(in->e);
	if (!made && x->kind != TOML_IMPLIED)
		return toml_fail(in, at, "%s is defined already (line %u)", x->path, x->line);
	x->kind = TOML_HEADED;
	x->line = toml_line(in, at);
	memcpy(in->table, path.text, path.n + 1);
	in->depth = path.depth;
	if (mem_grow(&in->t->tables, &in->t->table_cap, in->t->table_count + 1,
	             sizeof *in->t->tables) < 0 || !(text = mem_text(path.text, path.n)))
		return err_memory(in->e);
	table = &in->t->tables[in->t->table_count++];
	table->path = text;
	if (toml_end_line(in) < 0)
		return -1;
	table->line_end = (size_t)(in->p - in->begin);
	return 0;
}

/* The table of a path is all but its last part, whose text follows the last dot outside
 * quotes. */
static size_t
parent_length(const char *path)
{
	size_t i, at = 0;
	bool quoted = false;

	for (i = 0; path[i]; i++) {
		if (quoted && path[i] == '\\')
			i++;
		else if (path[i] == '"')
			quoted = !quoted;
		else if (path[i] == '.' && !quoted)
			at = i;
	}
	return at;
}

static int
read_entry(struct toml_in *in, const char *line)
{
	struct path path = { .n = strlen(in->table), .depth = in->depth };
	struct toml_entry *x;
	const char *at = in->p;
	struct toml_node *node;
	bool made;

	memcpy(path.text, in->table, path.n + 1);
	if (read_key(in, &path, pass_key) < 0)
		return -1;
	if (!(node = node_of(in, path.text, path.n, TOML_VALUE, &made)))
		return err_memory(in->e);
	if (!made)
		return toml_fail(in, at, "%s is defined already (line %u)", node->path, node->line);
	if (toml_peek(in, 0) != '=')
		return toml_fail(in, in->p, "= was expected after a key");
	in->p++;
	toml_blanks(in);
	if (mem_grow(&in->t->entries, &in->t->cap, in->t->n + 1, sizeof *in->t->entries) < 0)
		return err_memory(in->e);
	x = &in->t->entries[in->t->n++];
	*x = (struct toml_entry){ .path = mem_text(path.text, path.n), .line = node->line,
		.parent = parent_length(path.text), .line_at = (size_t)(line - in->begin),
		.key_at = (size_t)(at - in->begin), .last_at = (size_t)(path.last - in->begin),
		.value_at = (size_t)(in->p - in->begin) };
	if (!x->path)
		return err_memory(in->e);
	if (toml_value(in, &x->value) < 0)
		return -1;
	x->value_end = (size_t)(in->p - in->begin);
	if (toml_end_line(in) < 0)
		return -1;
	x->line_end = (size_t)(in->p - in->begin);
	return 0;
}

static int
read_document(struct toml_in *in)
{
	const char *line;
	int r = 0;

	while (r == 0 && in->p < in->end) {
		line = in->p;
		toml_blanks(in);
		if (in->t->n + in->t->table_count == TOML_KEYS)
			return toml_fail(in, in->p, "more than %d keys and tables", TOML_KEYS);
		if (in->p == in->end || strchr("#\r\n", *in->p))
			r = in->p == in->end || *in->p
			        ? toml_end_line(in) : toml_fail(in, in->p, "a control character");
		else
			r = *in->p == '[' ? read_header(in) : read_entry(in, line);
	}
	return r;
}

int
toml_parse(struct toml *t, const char *name, const void *p, size_t n, struct err *e)
{
	struct toml_in in = { .name = name, .begin = p, .p = p, .end = (const char *)p + n, .t = t,
		.e = e };
	uint32_t cp;
	size_t i, k;
	int r;

	*t = (struct toml){ 0 };
	if (n > TOML_BYTES)
		return err_set(e, ERR_CORRUPT, name, "has more than %u KiB", TOML_BYTES >> 10);
	for (i = 0; i < n; i += k)
		if ((k = text_character(in.p + i, n - i, &cp)) == 0)
			return toml_fail(&in, in.p + i, "bytes that are not UTF-8");
	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		in.p += 3;
	r = read_document(&in);
	for (i = 0; i < in.node_count; i++)
		free(in.nodes[i].path);
	free(in.nodes);
	return r;
}

static void
free_value(struct toml_value *v)
{
	size_t i;

	for (i = 0; v->items && i < v->n; i++)
		free(v->items[i].text);
	free(v->items);
	free(v->text);
}

void
toml_free(struct toml *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		free(t->entries[i].path);
		free_value(&t->entries[i].value);
	}
	for (i = 0; i < t->table_count; i++)
		free(t->tables[i].path);
	free(t->entries);
	free(t->tables);
	*t = (struct toml){ 0 };
}

const struct toml_entry *
toml_find(const struct toml *t, const char *path)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->entries[i].path, path) == 0)
			return &t->entries[i];
	return NULL;
}
