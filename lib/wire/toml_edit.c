#include <string.h>

#include "wire/toml.h"

void
toml_quote(struct buf *to, const char *text)
{
	buf_u8(to, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_printf(to, "\\%c", *text);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			buf_printf(to, "\\u%04X", (unsigned)*text);
		else
			buf_u8(to, (uint8_t)*text);
	}
	buf_u8(to, '"');
}

/* The last key of a table, or NULL. */
static const struct toml_entry *
last_of(const struct toml *t, const char *table)
{
	const struct toml_entry *x, *last = NULL;
	size_t i, n = strlen(table);

	for (i = 0; i < t->n; i++) {
		x = &t->entries[i];
		if (x->parent == n && strncmp(x->path, table, n) == 0)
			last = x;
	}
	return last;
}

static const struct toml_table *
header_of(const struct toml *t, const char *table)
{
	size_t i;

	for (i = 0; i < t->table_count; i++)
		if (strcmp(t->tables[i].path, table) == 0)
			return &t->tables[i];
	return NULL;
}

/* Where a new key comes. */
struct gap {
	size_t at;               /* offset in the document */
	const char *before;      /* indentation, and the parts before the last, as the key before */
	size_t before_n;
	bool header;             /* a header comes first */
};

static struct gap
gap_for(const struct toml *t, const char *p, size_t n, const char *table)
{
	const struct toml_entry *last = last_of(t, table);
	const struct toml_table *header = header_of(t, table);

	if (last)
		return (struct gap){ last->line_end, p + last->line_at, last->last_at - last->line_at,
			false };
	if (header)
		return (struct gap){ header->line_end, "", 0, false };
	return (struct gap){ n, "", 0, true };
}

/* Writes the document with a new key in the gap. */
static void
put_new(struct buf *to, const char *p, size_t n, const struct gap *gap, const char *table,
        const char *key, const char *value)
{
	const char *first = n ? memchr(p, '\n', n) : NULL;
	const char *end = first && first > p && first[-1] == '\r' ? "\r\n" : "\n";

	buf_put(to, p, gap->at);
	if (gap->at > 0 && p[gap->at - 1] != '\n')
		buf_text(to, end);
	if (gap->header)
		buf_printf(to, "%s[%s]%s", gap->at > 0 ? end : "", table, end);
	buf_put(to, gap->before, gap->before_n);
	buf_printf(to, "%s = %s%s", key, value, end);
	buf_put(to, p + gap->at, n - gap->at);
}

int
toml_set(const struct toml *t, const char *name, const void *doc, size_t n, const char *table,
         const char *key, const char *value, struct buf *to, struct err *e)
{
	const char *p = doc;
	const struct toml_entry *old;
	struct err why = ERR_INIT;
	struct toml proof;
	struct buf path = { 0 };
	struct gap gap;
	bool good;

	buf_printf(&path, "%s.%s", table, key);
	if (!buf_string(&path))
		return err_memory(e);
	old = toml_find(t, (char *)path.p);
	if (old) {
		buf_put(to, p, old->value_at);
		buf_text(to, value);
		buf_put(to, p + old->value_end, n - old->value_end);
	} else {
		gap = gap_for(t, p, n, table);
		put_new(to, p, n, &gap, table, key, value);
	}
	if (!buf_ok(to)) {
		buf_free(&path);
		return err_memory(e);
	}
	good = toml_parse(&proof, name, to->p, to->n, &why) == 0 &&
	       toml_find(&proof, (char *)path.p) && proof.n == t->n + !old;
	toml_free(&proof);
	buf_free(&path);
	if (good)
		return 0;
	return err_set(e, ERR_NO, name, "has no place for %s.%s: %s", table, key,
	               *why.fact ? why.fact : "the document is unusual");
}

void
toml_unset(const struct toml_entry *x, const void *p, size_t n, struct buf *to)
{
	buf_put(to, p, x->line_at);
	buf_put(to, (const char *)p + x->line_end, n - x->line_end);
}
