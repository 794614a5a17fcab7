#include "cli/meta/edits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/meta/known.h"
#include "cli/near.h"
#include "cli/tool.h"
#include "core/json_items.h"
#include "core/mem.h"
#include "core/text.h"

static struct edit *
add(struct edits *x, enum edit_op op, const char *key, size_t n, struct err *e)
{
	struct edit *i;

	if (x->n == EDITS_MOST) {
		err_set(e, ERR_USAGE, NULL, "more than %d keys are changed at once", EDITS_MOST);
		return NULL;
	}
	if (mem_grow(&x->items, &x->cap, x->n + 1, sizeof *x->items) < 0) {
		err_memory(e);
		return NULL;
	}
	i = &x->items[x->n];
	*i = (struct edit){ .op = op };
	if (!(i->key = mem_text(key, n))) {
		err_memory(e);
		return NULL;
	}
	x->n++;
	if (n == 0 || strlen(i->key) != n || !text_utf8(key, n, false)) {
		err_set(e, ERR_USAGE, i->key, "is not a key: 1 or more characters of UTF-8");
		return NULL;
	}
	return i;
}

/* Appends the whole file to b. */
static int
read_file(struct buf *b, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	ssize_t got = 1;

	if (fd < 0)
		return err_errno(e, path, "cannot be opened");
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		err_set(e, ERR_IO, path, "is a directory");
	while (e->code == ERR_NONE && got != 0 && b->n <= EDITS_FILE) {
		uint8_t *to = buf_room(b, 1 << 16);

		got = to ? read(fd, to, 1 << 16) : 0;
		if (!to)
			err_memory(e);
		else if (got < 0 && errno != EINTR)
			err_errno(e, path, "cannot be read");
		b->n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (b->n > EDITS_FILE)
		err_set(e, ERR_USAGE, path, "has more than %" PRIu64 " MiB", EDITS_FILE >> 20);
	return e->code == ERR_NONE ? 0 : -1;
}

int
edits_set(struct edits *x, const char *text, struct err *e)
{
	const char *equals = strchr(text, '=');
	struct edit *i;

	if (!equals)
		return tool_misused(e, "%.80s is not KEY=VALUE", text);
	i = add(x, EDIT_SET, text, (size_t)(equals - text), e);
	if (!i)
		return -1;
	i->spells = true;
	if (equals[1] == '@' && equals[2] != '@')
		return read_file(&i->text, equals + 2, e);
	buf_text(&i->text, equals + 1 + (equals[1] == '@'));
	return buf_ok(&i->text) ? 0 : err_memory(e);
}

int
edits_delete(struct edits *x, const char *key, struct err *e)
{
	return add(x, EDIT_DELETE, key, strlen(key), e) ? 0 : -1;
}

int
edits_rename(struct edits *x, const char *key, const char *to, struct err *e)
{
	struct edit *i = add(x, EDIT_RENAME, key, strlen(key), e);

	if (!i)
		return -1;
	if (!*to || !text_utf8(to, strlen(to), false))
		return err_set(e, ERR_USAGE, to, "is not a key: 1 or more characters of UTF-8");
	i->to = mem_text(to, strlen(to));
	return i->to ? 0 : err_memory(e);
}

/* ---- import ---- */

int
edits_load(struct edits *x, const char *path, struct err *e)
{
	x->file_name = path;
	return read_file(&x->file, path, e);
}

static int
bad_file(const struct edits *x, const char *what, struct err *e)
{
	return err_set(e, ERR_CORRUPT, x->file_name, "%s", what);
}

/* Turns a JSON string into text. The caller frees it. NULL if it is not one. */
static char *
unquote(const struct edits *x, struct json_part p, struct err *e)
{
	json_t *v = json_parse_any(p.p, p.n, ERR_CORRUPT, x->file_name, e);
	char *text = NULL;

	if (v && !json_is_string(v))
		bad_file(x, "has something else where a key or a type is expected", e);
	else if (v && !(text = mem_text(json_string_value(v), json_string_length(v))))
		err_memory(e);
	json_decref(v);
	return text;
}

/* Appends the edit for one key. type: JSON, or no text. */
static int
import_one(struct edits *x, struct json_part key, struct json_part type,
           struct json_part value, struct err *e)
{
	char *name = unquote(x, key, e), *word = NULL;
	bool null = value.n == 4 && memcmp(value.p, "null", 4) == 0;
	struct edit *i = NULL;

	if (name && (type.n == 0 || (word = unquote(x, type, e))))
		i = add(x, null ? EDIT_DELETE : EDIT_SET, name, strlen(name), e);
	if (i && word && value_type_parse(word, &i->type) < 0) {
		err_set(e, ERR_CORRUPT, x->file_name, "the type of %.100s is not known: %.60s",
		        name, word);
		i = NULL;
	}
	if (i) {
		i->typed = word != NULL;
		i->quoted = i->optional = true;
		/* The list form of a value of type json is a string that contains it. */
		buf_put(&i->text, value.p, value.n);
		if (!buf_ok(&i->text))
			err_memory(e);
	}
	free(name);
	free(word);
	return e->code == ERR_NONE ? 0 : -1;
}

/* The members of an object that describes one value. */
struct described {
	struct json_part key, type, value;
	bool others; /* it has other members */
};

static bool
is_name(struct json_part name, const char *text)
{
	return name.n == strlen(text) + 2 && memcmp(name.p + 1, text, name.n - 2) == 0;
}

/* Reads the members key, type and value of an object. -1 if it is not an object, or is
 * malformed. */
static int
describe(struct json_part p, struct described *d)
{
	struct json_part name, item;
	struct json_items w;
	int more;

	*d = (struct described){ .others = false };
	if (!json_items_begin(&w, '{', p.p, p.n))
		return -1;
	while ((more = json_items_next(&w, &name, &item)) > 0) {
		struct json_part *to = is_name(name, "key") ? &d->key
		                       : is_name(name, "type") ? &d->type
		                       : is_name(name, "value") ? &d->value : NULL;

		if (to && to->n)
			return -1;
		if (to)
			*to = item;
		else
			d->others = true;
	}
	return more;
}

/* Whether the value of a member is {"type":T,"value":V}. */
static bool
is_typed(const struct described *d)
{
	return d->type.n && d->value.n && !d->key.n && !d->others && *d->type.p == '"';
}

static int
import_object(struct edits *x, struct json_part p, struct err *e)
{
	struct json_part name, item, none = { NULL, 0 };
	struct described d;
	struct json_items w;
	int more;

	json_items_begin(&w, '{', p.p, p.n);
	while ((more = json_items_next(&w, &name, &item)) > 0) {
		bool typed = describe(item, &d) == 0 && is_typed(&d);

		if (import_one(x, name, typed ? d.type : none, typed ? d.value : item, e) < 0)
			return -1;
	}
	return more < 0 ? bad_file(x, "is not valid JSON", e) : 0;
}

/* Imports a row [KEY,TYPE,VALUE], or an object with these members. */
static int
import_row(struct edits *x, struct json_part p, struct err *e)
{
	struct json_part name, cell[3];
	struct described d;
	struct json_items w;
	size_t n = 0;

	if (describe(p, &d) == 0 && d.key.n && d.value.n)
		return import_one(x, d.key, d.type, d.value, e);
	if (json_items_begin(&w, '[', p.p, p.n))
		while (n < 3 && json_items_next(&w, &name, &cell[n]) > 0)
			n++;
	if (n < 3)
		return bad_file(x, "has a row that is neither [KEY,TYPE,VALUE] nor an object "
		                "with key, type and value", e);
	return import_one(x, cell[0], cell[1], cell[2], e);
}

static int
import_rows(struct edits *x, struct json_part p, struct err *e)
{
	struct json_part name, item;
	struct json_items w;
	int more;

	json_items_begin(&w, '[', p.p, p.n);
	while ((more = json_items_next(&w, &name, &item)) > 0)
		if (import_row(x, item, e) < 0)
			return -1;
	return more < 0 ? bad_file(x, "is not valid JSON", e) : 0;
}

/* Imports one object per line. */
static int
import_lines(struct edits *x, struct json_part p, struct err *e)
{
	while (p.n > 0) {
		const char *end = memchr(p.p, '\n', p.n);
		size_t n = end ? (size_t)(end - p.p) : p.n;

		if (import_row(x, json_trim(p.p, n), e) < 0)
			return -1;
		p = json_trim(p.p + n, p.n - n);
	}
	return 0;
}

/* Refuses a key that occurs twice: only one of its values could be meant. */
static int
check_twice(const struct edits *x, struct err *e);

int
edits_import(struct edits *x, struct err *e)
{
	struct json_part p = json_trim((const char *)x->file.p, x->file.n), first = p;
	const char *end = p.n ? memchr(p.p, '\n', p.n) : NULL;
	struct described d;
	int r;

	if (!text_utf8(p.p, p.n, false))
		return bad_file(x, "is not UTF-8 text", e);
	if (end)
		first.n = (size_t)(end - p.p);
	first = json_trim(first.p, first.n);
	if (p.n > 0 && *p.p == '[')
		r = import_rows(x, p, e);
	else if (p.n > 0 && *p.p == '{' && describe(first, &d) == 0 && d.key.n && d.value.n &&
	         d.type.n)
		r = import_lines(x, p, e);
	else if (p.n > 0 && *p.p == '{')
		r = import_object(x, p, e);
	else
		r = bad_file(x, "is not a JSON object or array", e);
	buf_free(&x->file);
	return r < 0 ? -1 : check_twice(x, e);
}

static int
by_key(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int
check_twice(const struct edits *x, struct err *e)
{
	const char **names = mem_array(x->n, sizeof *names);
	size_t i;
	int r = 0;

	if (!names)
		return err_memory(e);
	for (i = 0; i < x->n; i++)
		names[i] = x->items[i].key;
	qsort(names, x->n, sizeof *names, by_key);
	for (i = 1; r == 0 && i < x->n; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			r = err_set(e, ERR_CORRUPT, x->file_name, "has the key %.200s twice",
			            names[i]);
	free(names);
	return r;
}

/* ---- copy ---- */

static bool
is_wanted(const char *key, char *const *keys, size_t count)
{
	size_t i;

	if (count == 0)
		return !known_of_tensors(key);
	for (i = 0; i < count; i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static int
add_copy(struct edits *x, const struct meta *k, struct err *e)
{
	struct edit *i = add(x, EDIT_SET, k->key, strlen(k->key), e);

	if (!i)
		return -1;
	i->typed = i->is_wire = true;
	i->type = k->type;
	i->at = x->wires.bytes;
	i->n = k->wire_bytes;
	return k->wire ? spool_put(&x->wires, k->wire, k->wire_bytes, e) : 0;
}

/* Appends the values that lie in blobs. first: the first of these edits. */
static int
copy_blobs(struct edits *x, size_t first, struct source *from, struct err *e)
{
	const struct model *m = from->plan;
	struct value_check check;
	struct item item;
	const uint8_t *p;
	size_t i, n;

	for (i = first; i < x->n; i++) {
		struct edit *to = &x->items[i];
		const struct meta *key = model_find(m, to->key);

		if (key->wire)
			continue;
		to->at = x->wires.bytes;
		value_check_begin(&check, key->type);
		do {
			if (source_next(from, &item, e) <= 0)
				return e->code != ERR_NONE ? -1 : err_set(e, ERR_CORRUPT, from->name,
				                                          "lacks a value of its plan");
			do {
				if (source_read(from, &p, &n, e) < 0)
					return -1;
				if (n == 0 || item.kind != ITEM_BLOB || item.index != key->blob)
					continue;
				value_check_add(&check, p, n);
				if (spool_put(&x->wires, p, n, e) < 0)
					return -1;
			} while (n > 0);
		} while (item.kind != ITEM_BLOB || item.index != key->blob);
		to->n = x->wires.bytes - to->at;
		if (!value_check_end(&check))
			return err_set(e, ERR_CORRUPT, from->name, "the value of %.200s is not of "
			               "its type", to->key);
	}
	return 0;
}

int
edits_copy(struct edits *x, struct source *from, char *const *keys, size_t count,
           struct err *e)
{
	const struct model *m = from->plan;
	size_t i, first = x->n;

	for (i = 0; i < count; i++)
		if (!model_find(m, keys[i]))
			return near_no_key(m, keys[i], from->name, e);
	/* In the order of the model, in which blobs come too. */
	for (i = 0; i < m->meta_count; i++)
		if (is_wanted(m->meta[i].key, keys, count) && add_copy(x, &m->meta[i], e) < 0)
			return -1;
	return copy_blobs(x, first, from, e);
}

void
edits_describe(struct edits *x, const char *verb)
{
	size_t i, n, room = sizeof x->operation - 8;
	int at = snprintf(x->operation, room, "apr-meta %s", verb);

	for (i = 0; i < x->n; i++) {
		n = strlen(x->items[i].key);
		if ((size_t)at + n + 1 >= room) {
			strcpy(x->operation + at, " ...");
			return;
		}
		at += sprintf(x->operation + at, " %s", x->items[i].key);
	}
}

void
edits_free(struct edits *x)
{
	size_t i;

	for (i = 0; i < x->n; i++) {
		free(x->items[i].key);
		free(x->items[i].to);
		buf_free(&x->items[i].text);
	}
	free(x->items);
	spool_free(&x->wires);
	buf_free(&x->file);
	*x = (struct edits){ 0 };
}
